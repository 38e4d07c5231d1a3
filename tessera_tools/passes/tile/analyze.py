"""tile-analyze: reports the resources of the kernels of a `tile` program, and recommends a strategy. Does not change
the IR.

    kernel flash_attention_tile for sm_90a: 256 threads
      shared memory        98304 bytes    %smem_q 32768, %smem_k 32768, %smem_v 32768
      …
    memory strategy
      TMA for 3 of 3 asynchronous copies: …

JSON output: a list with an object for each kernel, with the keys of `data()`.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from tessera_tools.dialects import func
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Measured, Pass, PassContext, PassFailure, option
from tessera_tools.passes.tile.convert_tile_to_tileas import ConvertTileToTileAS, is_kernel
from tessera_tools.passes.tile.resources import Resources, resources_of
from tessera_tools.passes.tile.strategy import number, strategy_of
from tessera_tools.records import asdict, dataclass
from tessera_tools.target import Feature, Target


@dataclass(frozen=True)
class TileAnalyze(Pass):
    """Print the resources of kernels and a strategy, on stderr or to a file."""

    name: ClassVar = "tile-analyze"
    summary: ClassVar = "report the GPU resources that tile kernels use, and recommend a strategy"
    anchor: ClassVar = "builtin.module"
    ensures: ClassVar = "the IR is unchanged"

    arch: str = option("", "the GPU architecture (default: tessera.target, else sm_80)")
    format: str = option("text", "how to print", choices=("text", "json"))
    output: str = option("", "the output file (default: stderr)", writes_file=True)
    compile: bool = option(
        True, "compile the kernels to get register counts from ptxas; if false, estimate them"
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        functions = [
            f
            for f in op.regions[0].entry
            if isinstance(f, func.Func) and f.regions[0].blocks and is_kernel(f)
        ]
        found: list[Resources] = []
        compiled: dict[Target, Mapping[str, Measured]] = {}
        for function in functions:
            # Without the option, each kernel has its own target.
            target = ConvertTileToTileAS(gpu_name=self.arch).target([function])
            if target not in compiled:
                compiled[target] = context.measure(op, target) if self.compile else {}
            measured = compiled[target].get(function.sym_name.value)
            found.append(resources_of(function, target, measured))
        if self.format == "json":
            text = json.dumps([data(r) for r in found], indent=2) + "\n"
        else:
            text = "\n".join(report(r) for r in found)
        self._write(text)
        return False

    def _write(self, text: str) -> None:
        if not self.output:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(text)
                sys.stderr.flush()
            return
        try:
            with open(self.output, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            raise PassFailure(f"the report cannot be written to '{self.output}': {reason.lower()}") from None


def data(r: Resources) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "kernel": r.kernel,
        "target": r.target.cpu,
        "threads_per_block": r.threads,
        "shared_memory": {"bytes": r.shared, "buffers": [asdict(b) for b in r.buffers]},
        "registers_per_thread": {
            "measured": r.measured.registers if r.measured is not None else None,
            "spilled_bytes": r.measured.spilled if r.measured is not None else None,
            "estimate": r.estimate,
            "fragments": r.fragment_registers,
            "peak_line": r.peak_line,
            "limit": r.register_limit,
        },
        "tensor_cores": {
            "used": r.uses_tensor_cores,
            "products": [{**asdict(p), "flops": p.flops} for p in r.products],
        },
        "async_copies": {
            "used": bool(r.copies),
            "count": len(r.copies),
            "bytes": sum(c.bytes for c in r.copies),
            "copies": [asdict(c) for c in r.copies],
        },
        "row_reductions": r.reductions,
        "barriers": {
            "count": r.barriers[0],
            "in_loops": r.barriers[1],
            "needed": r.barriers_needed[0],
            "needed_in_loops": r.barriers_needed[1],
        },
        "requires_high_precision": r.high_precision,
        "flops_per_byte": r.flops_per_byte,
        "opportunities": {
            "can_use_tma": r.can_use_tma,
            "benefits_from_double_buffering": r.benefits_from_double_buffering,
            "requires_barrier_optimization": r.barriers != r.barriers_needed,
        },
        "target_features": {
            "wgmma": r.target.has(Feature.WGMMA),
            "tcgen05": r.target.has(Feature.TCGEN05),
            "tma": r.target.has(Feature.TMA),
            "async_barriers": r.target.has(Feature.MBARRIER_TRY_WAIT),
            "max_shared_memory_per_sm": r.target.max_shared_per_sm,
            "max_shared_memory_per_block": r.target.max_shared_per_block,
            "max_registers_per_thread": r.target.max_registers_per_thread,
        },
        "occupancy": {
            "blocks": r.occupancy.blocks,
            "warps": r.occupancy.warps,
            "fraction": r.occupancy.fraction,
            "limited_by": list(r.occupancy.limited_by),
        },
        "strategy": {part: [asdict(c) for c in choices] for part, choices in strategy_of(r).items()},
    }


ESTIMATED = "estimated: on the examples, ptxas takes up to 12 more or fewer for sm_80, and 12 for sm_90a"
"""What the report says of an estimate; docs/tile.md has the measurements."""


def report(r: Resources) -> str:
    """The report in aligned columns, with the strategy below."""
    t = r.target
    rows: list[tuple[str, str, str]] = [
        ("shared memory", f"{r.shared} bytes", ", ".join(f"{b.name} {b.bytes}" for b in r.buffers)),
        (
            "registers per thread",
            f"{r.registers}",
            f"{'by ptxas' if r.measured is not None else ESTIMATED}; "
            + (
                f"{r.measured.spilled} bytes spilled, "
                if r.measured is not None and r.measured.spilled
                else ""
            )
            + (f"{r.fragment_registers} of fragments at line {r.peak_line}, " if r.fragment_registers else "")
            + f"limit {r.register_limit}",
        ),
        ("tensor cores", _yes(r.uses_tensor_cores), number(len(r.products), "product")),
    ]
    rows += [
        (f"  line {p.line}", f"{p.m}x{p.n}x{p.k}", f"{p.instructions} {p.instruction}" if p.instruction else "fma")
        for p in r.products
    ]  # fmt: skip
    rows.append(
        ("async copies", f"{len(r.copies)}", f"{sum(c.bytes for c in r.copies)} bytes, counted once")
        if r.copies
        else ("async copies", "0", "")
    )
    rows += [
        (f"  line {c.line}", f"{c.bytes} bytes", f"{c.instruction} to {c.buffer}{_where(c.in_loop)}") for c in r.copies
    ]  # fmt: skip
    (all_now, looping), (all_needed, needed) = r.barriers, r.barriers_needed
    rows += [
        ("barriers", f"{all_now}", f"{looping} in loops; needed: {all_needed}, {needed} in loops"),
        ("high precision", _yes(r.high_precision), "sums are wider than operands" if r.high_precision else ""),
        ("TMA possible", _yes(r.can_use_tma), ""),
        ("double buffering", "helps" if r.benefits_from_double_buffering else "no", ""),
        (
            "occupancy",
            f"{r.occupancy.fraction:.0%}",
            f"{number(r.occupancy.blocks, 'block')}, {number(r.occupancy.warps, 'warp')} on an SM; limited by "
            f"{', '.join(r.occupancy.limited_by) or 'what a block may have'}",
        ),
    ]  # fmt: skip
    offers = [
        f"wgmma {_yes(t.has(Feature.WGMMA))}",
        f"TMA {_yes(t.has(Feature.TMA))}",
        f"async barriers {_yes(t.has(Feature.MBARRIER_TRY_WAIT))}",
        f"{t.max_shared_per_sm} bytes shared per SM, {t.max_shared_per_block} per block",
        f"{t.max_registers_per_thread} registers per thread",
    ]
    rows.append((f"{t.name} offers", "", ", ".join(offers)))
    first = max(len(name) for name, _, _ in rows)
    second = max(len(value) for _, value, _ in rows)
    lines = [f"kernel {r.kernel} for {t.cpu}: {r.threads} threads per block"]
    lines += [f"  {name:<{first}}  {value:>{second}}  {more}".rstrip() for name, value, more in rows]
    for part, choices in strategy_of(r).items():
        lines.append(f"{part} strategy")
        lines += [f"  {choice.what}: {choice.why}" for choice in choices]
    return "\n".join(lines) + "\n"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _where(in_loop: bool) -> str:
    return ", in a loop" if in_loop else ""
