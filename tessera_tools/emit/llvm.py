"""LLVM IR text to PTX and MIR, for one target.

    LLVM IR ──compile_ir(target, level)──▶ optimized LLVM IR, PTX, seconds
            ──emit_mir(stop_after)──────▶ MIR, as `llc -stop-after=` prints it

This module chooses the PTX version and the LLVM passes; worker.py runs LLVM.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.worker import LlvmInfo, Reply, Worker
from tessera_tools.target.table import Target

__all__ = ["DEFAULT_MIR_PASS", "TILE_PIPELINE", "choose_ptx_version", "compile_ir", "emit_mir", "ptx_text"]

TILE_PIPELINE = ("SROA", "InstCombine", "SimplifyCFG")
"""The LLVM passes for a kernel that was lowered by the tile passes.

Loops are unrolled, invariants hoisted and addresses shared before LLVM sees them, and NVPTX's code generator
runs its own GVN, strength reduction and load vectorizer at -O3. On a GEMM of 128 mma.sync this takes a sixth of
the time of LLVM's -O3. The reassociation and hoisting of -O3 also increase the register count (204 instead of 168).
"""

DEFAULT_MIR_PASS = "finalize-isel"
"""After it, instruction selection is complete and the function is still in SSA form."""


def ptx_text(version: int) -> str:
    """`9.0` for 90."""
    return f"{version // 10}.{version % 10}"


def choose_ptx_version(llvm: LlvmInfo, target: Target, ptxas_max: int | None = None) -> int:
    """The newest PTX ISA version (times ten) that LLVM and ptxas both support and that has `target`; for a target that
    only ptxas knows, the first version that has it.

    If `ptxas_max` is None, only LLVM's limit applies, for PTX that is not assembled here. Raises ToolError if LLVM
    has neither the target nor its stand-in, or if LLVM or ptxas is too old for it.
    """
    cpu = _processor(llvm, target)
    newest = [version for version in llvm.ptx_versions if ptxas_max is None or version <= ptxas_max]
    wanted = ptx_text(target.min_ptx)
    if ptxas_max is not None and ptxas_max < target.min_ptx:
        raise ToolError(
            f"this ptxas supports at most PTX {ptx_text(ptxas_max)}; '{target.name}' needs PTX {wanted}",
            "pip install --upgrade nvidia-cuda-nvcc",
        )
    if cpu != target.cpu:
        return target.min_ptx
    if not newest or newest[-1] < target.min_ptx:
        raise ToolError(
            f"this LLVM emits at most PTX {ptx_text(llvm.max_ptx)}; '{target.name}' needs {wanted}"
        )
    return newest[-1]


def _processor(llvm: LlvmInfo, target: Target) -> str:
    """The processor for which LLVM generates the target's code.  Raises ToolError if there is none."""
    for cpu in (target.cpu, target.stand_in):
        if cpu in llvm.cpus:
            return cpu
    release = ".".join(map(str, llvm.version))
    raise ToolError(f"LLVM {release} does not know the GPU '{target.cpu}'")


def _features(llvm: LlvmInfo, ptx_version: int) -> str:
    """LLVM's feature for this version of PTX, or for its newest one if that is older."""
    return f"+ptx{min(ptx_version, llvm.max_ptx)}"


_HEADER = re.compile(r"^\.version \S+\n\.target \w+", re.MULTILINE)


def _retargeted(ptx: str, target: Target, ptx_version: int) -> str:
    """PTX that LLVM wrote for the stand-in, as PTX for the target.  A later architecture of the family has all its
    instructions."""
    header = f".version {ptx_text(ptx_version)}\n.target {target.cpu}"
    text, count = _HEADER.subn(header, ptx, count=1)
    assert count == 1, "LLVM's PTX starts with .version and .target"
    return text


MOST_LOOPS = 200
"""LLVM's code generator optimizes functions of at most this many loops.  For the bounds of a loop, ScalarEvolution uses
facts from all earlier loops, and recomputes them in three passes (straight-line strength reduction, n-ary
reassociation, freezes in loops): 200 consecutive loops take 2 seconds, 800 take two minutes.  LLVM has no option to
bound this, and only level 0 omits these passes."""
_ASYNCHRONOUS = ("wgmma.mma_async", "tcgen05.ld")
"""Instructions whose registers must not be touched before a wait.  At level 0, LLVM's code generator copies what an
instruction returns, and copies it again for the next one; from level 1 on, the copies are coalesced."""
_BLOCKS = re.compile(r"^(?:([-\w.$]+):|define )|label %([-\w.$]+)", re.MULTILINE)


def compile_ir(
    worker: Worker,
    ir: str,
    target: Target,
    *,
    ptx_version: int,
    level: int = 3,
    want: Sequence[str] = ("ptx",),
    pipeline: str = "tile",
    time_passes: bool = False,
) -> Reply:
    """Optimize LLVM IR and generate code. `want`: `ptx`, `llvm` (the optimized IR), or both.

    `pipeline` is `tile` (TILE_PIPELINE, from -O1 on; no passes at -O0) or `llvm` (LLVM's default for this level).
    Raises ToolError as `Worker.compile` does.
    """
    if pipeline not in ("tile", "llvm"):
        raise ValueError(f"there is no LLVM pipeline named '{pipeline}'")
    llvm = worker.info()
    cpu = _processor(llvm, target)
    code_level, loops = _code_level(ir, level)
    try:
        reply = worker.compile(
            ir,
            want,
            cpu=cpu,
            features=_features(llvm, ptx_version),
            level=level,
            code_level=code_level,
            optimize=pipeline == "llvm" or level > 0,
            passes=TILE_PIPELINE if pipeline == "tile" and level > 0 else (),
            time_passes=time_passes,
        )
    except ToolError as failure:
        if loops <= MOST_LOOPS or code_level == 0 or "was stopped" not in failure.message:
            raise
        raise ToolError(
            f"{failure.message}: the time of its loop analyses grows with the cube of the {loops} loops of a function",
            "use fewer loops beside wgmma and tcgen05; --llvm-timeout sets the limit",
            details=failure.details,
        ) from None
    if cpu != target.cpu and "ptx" in reply.texts:
        reply.texts["ptx"] = _retargeted(reply.texts["ptx"], target, ptx_version)
    if loops > MOST_LOOPS and code_level == 0:
        reply.warnings.append(
            f"a function has {loops} loops; LLVM generates its code without optimization, because the time of its "
            f"loop analyses grows with the cube of their number (limit {MOST_LOOPS})"
        )
    return reply


def _code_level(ir: str, level: int) -> tuple[int, int]:
    """(the level of the code generator, the largest number of loops of a function)."""
    loops = most_loops(ir) if level > 0 else 0
    least = 1 if any(name in ir for name in _ASYNCHRONOUS) else 0
    return max(0 if loops > MOST_LOOPS else level, least), loops


def most_loops(ir: str) -> int:
    """The largest number of back edges (branches to an earlier block) of any function."""
    if ir.count("label %") <= MOST_LOOPS:
        return 0
    most = loops = 0
    blocks: set[str] = set()
    for label, target in _BLOCKS.findall(ir):
        if target:
            loops += target in blocks
        elif label:
            blocks.add(label)
        else:
            most, loops = max(most, loops), 0
            blocks.clear()
    return max(most, loops)


def emit_mir(
    ir: str,
    target: Target,
    *,
    ptx_version: int,
    level: int = 3,
    stop_after: str = DEFAULT_MIR_PASS,
    pipeline: str = "tile",
    time_limit: float = 120.0,
) -> Reply:
    """NVPTX MIR after the code generator's pass `stop_after`, as LLVM's `.mir` text, under `mir`.

    Uses a separate process, because the option that stops the code generator cannot be reset. Raises ToolError
    as `Worker.compile` does, and if LLVM does not have the pass.
    """
    with Worker.start(time_limit=time_limit) as worker:
        llvm = worker.info()
        try:
            return worker.compile(
                ir,
                ("mir",),
                cpu=_processor(llvm, target),
                features=_features(llvm, ptx_version),
                level=level,
                code_level=_code_level(ir, level)[0],
                optimize=pipeline == "llvm" or level > 0,
                passes=TILE_PIPELINE if pipeline == "tile" and level > 0 else (),
                stop_after=stop_after,
            )
        except ToolError as failure:
            if f'"{stop_after}" pass is not registered' not in failure.details:
                raise
            raise ToolError(
                f"LLVM's code generator has no pass '{stop_after}'",
                f"use a name that llc -stop-after= accepts, such as '{DEFAULT_MIR_PASS}'",
                details=failure.details,
            ) from None
