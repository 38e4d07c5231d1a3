"""Reports of a run: the tables of `--stats`, and the JSON of `--report`.

Result, Signature, Target ──tables──▶ (title, columns, rows) …      ──as_json──▶ text
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tessera_tools.records import Json
from tessera_tools.runtime.interface import Result
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.findings import Finding, as_dict
from tessera_tools.sim.program import Program
from tessera_tools.target import Target, occupancy

__all__ = ["CLASSES", "Table", "as_json", "figures", "stats_tables"]

Table = tuple[str, Sequence[str], list[list[str]]]

CLASSES: dict[str, str] = {
    **dict.fromkeys(("bra", "brx", "call", "ret", "exit", "trap", "brkpt", "nanosleep"), "control"),
    **dict.fromkeys(
        ("mov", "cvt", "cvta", "isspacep", "selp", "slct", "prmt", "mapa", "getctarank"), "move, convert"
    ),
    **dict.fromkeys(("setp", "set", "testp"), "compare"),
    **dict.fromkeys(("ld", "st", "ldu", "prefetch", "prefetchu", "discard", "applypriority"), "load, store"),
    **dict.fromkeys(("atom", "red", "multimem"), "atomic"),
    **dict.fromkeys(("shfl", "vote", "match", "redux", "activemask", "elect"), "warp"),
    **dict.fromkeys(("mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"), "tensor core"),
    **dict.fromkeys(("bar", "barrier", "mbarrier", "membar", "fence", "griddepcontrol"), "synchronization"),
    **dict.fromkeys(("cp", "tensormap"), "asynchronous copy"),
    **dict.fromkeys(
        ("div", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign"), "special function"
    ),
    "fma": "floating point",
    "setmaxnreg": "control",
}
"""Opcode → class; all other opcodes are arithmetic and logic."""
_OTHER = "arithmetic, logic"


def figures(stats: Counters) -> dict[str, Any]:
    """The counters as numbers by name, for JSON."""
    classes: Counter[str] = Counter()
    for opcode, count in stats.instructions.items():
        classes[CLASSES.get(opcode, _OTHER)] += count
    wavefronts, ideal = sum(stats.wavefronts.values()), sum(stats.ideal_wavefronts.values())
    sectors, requests = sum(stats.sectors.values()), sum(stats.requests.values())
    conflicts = {
        str(line): [n, n - stats.ideal_wavefronts[line]] for line, n in sorted(stats.wavefronts.items())
    }
    used = sum(stats.used.values())
    return {
        "instructions": {"total": sum(classes.values()), "by_class": dict(classes.most_common())},
        "opcodes": dict(stats.instructions.most_common()),
        "shared": {
            "wavefronts": wavefronts,
            "conflicts": wavefronts - ideal,
            "by_line": conflicts,
        },
        "global": {
            "requests": requests,
            "sectors": sectors,
            "sectors_per_request": round(sectors / requests, 3) if requests else 0.0,
            "efficiency": round(used / (32 * sectors), 4) if sectors else 0.0,
            "by_line": {str(line): [n, stats.sectors[line]] for line, n in sorted(stats.requests.items())},
        },
        "bytes": dict(sorted(stats.bytes.items())),
        "flops": dict(stats.flops),
        "waits": dict(stats.waits),
    }  # fmt: skip


def stats_tables(
    stats: Counters,
    program: Program | None,
    target: Target | None,
    threads: int,
    registers: int,
    shared: int,
) -> list[Table]:
    """The tables of `--stats`. `registers` per thread are 0 if unknown; `shared` is bytes of a block."""
    data = figures(stats)
    total = data["instructions"]["total"]
    tables: list[Table] = [
        (
            "Warp instructions",
            ("class", "count", "%"),
            [
                [name, f"{n:,}", f"{100 * n / total:.1f}"]
                for name, n in data["instructions"]["by_class"].items()
            ]
            + [["total", f"{total:,}", "100.0"]],
        )
    ]
    if stats.wavefronts:
        rows = [
            [_line(program, line), f"{n:,}", f"{n - stats.ideal_wavefronts[line]:,}"]
            for line, n in sorted(stats.wavefronts.items())
        ]
        rows.append(["total", f"{data['shared']['wavefronts']:,}", f"{data['shared']['conflicts']:,}"])
        tables.append(("Shared memory", ("PTX line", "wavefronts", "of them bank conflicts"), rows))
    if stats.requests:
        rows = [
            [_line(program, line), f"{n:,}", f"{stats.sectors[line]:,}", f"{stats.sectors[line] / n:.2f}"]
            for line, n in sorted(stats.requests.items())
        ]
        whole = data["global"]
        rows.append(
            [
                "total",
                f"{whole['requests']:,}",
                f"{whole['sectors']:,}",
                f"{whole['sectors_per_request']:.2f}",
            ]
        )
        tables.append(
            ("Global memory", ("PTX line", "requests", "sectors of 32 bytes", "sectors per request"), rows)
        )
    if stats.bytes:
        rows = [[name, f"{count:,}"] for name, count in sorted(stats.bytes.items())]
        if stats.requests and data["global"]["efficiency"]:
            rows.append(["used of the sectors moved, %", f"{100 * data['global']['efficiency']:.1f}"])
        tables.append(("Bytes moved", ("by", "bytes"), rows))
    if stats.flops:
        rows = [[name, f"{count:,}"] for name, count in stats.flops.items()]
        tables.append(("Floating-point operations", ("unit", "operations"), rows))
    if stats.waits:
        rows = [[name, f"{count:,}"] for name, count in stats.waits.most_common()]
        tables.append(("Waits", ("at", "times a warp stalled"), rows))
    if target is not None:
        tables.append(_occupancy(target, threads, registers, shared))
    return tables


def _line(program: Program | None, line: int) -> str:
    for inst in program.instructions if program is not None else ():
        if inst.line == line:
            return f"{line}: {inst.name}"
    return str(line)


def _occupancy(target: Target, threads: int, registers: int, shared: int) -> Table:
    fits = occupancy(target, threads=threads, registers=registers, shared=shared)
    rows = [
        ["threads of a block", f"{threads:,}"],
        ["registers of a thread", f"{registers:,}" if registers else "unknown: ptxas did not run"],
        ["bytes of shared memory of a block", f"{shared:,}"],
        ["blocks on an SM", f"{fits.blocks}"],
        ["of its warps, %", f"{100 * fits.fraction:.0f}"],
        ["limited by", " and ".join(fits.limited_by)],
    ]
    return (f"Occupancy on {target.name}", ("of the kernel", "value"), rows)


def as_json(head: Mapping[str, Json], runs: Sequence[Result], findings: Sequence[Finding]) -> str:
    """The report: the launch, every finding, every run, and the counters of the first run."""
    data = dict(head)
    data["findings"] = [as_dict(finding) for finding in findings]
    data["runs"] = [
        {
            "seed": one.seed,
            "mode": one.mode,
            "instructions": one.instructions,
            "seconds": round(one.seconds, 6),
            "findings": len(one.findings),
        }
        for one in runs
    ]
    if runs:
        data["output"] = runs[0].output
        if runs[0].stats is not None:
            data["stats"] = figures(runs[0].stats)
    return json.dumps(data, indent=2) + "\n"
