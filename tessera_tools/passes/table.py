"""The table of passes, of the orders they must keep, and of the pipelines: data only.

name ──PASSES──▶ "module:Class" ──find_pass()──▶ the class, imported at its first use
(target, stage) ──pipeline_for()──▶ [Step("cuda_tile", "canonicalize"), …]
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessera_tools.passes.base import Pass

__all__ = [
    "ORDER",
    "PASSES",
    "PIPELINES",
    "STAGES",
    "Row",
    "Step",
    "find_pass",
    "order_violations",
    "pipeline_for",
    "stages_from",
]


@dataclass(frozen=True, slots=True)
class Row:
    """One pass: where its class lives (below `tessera_tools.passes`), and its summary for `--help`."""

    where: str
    summary: str


PASSES: dict[str, Row] = {
    # Any dialect
    "canonicalize": Row("builtin.canonicalize:Canonicalize", "fold, simplify, and drop what is unused"),
    "cse": Row("builtin.cse:CSE", "merge operations that compute the same value"),
    "dce": Row("builtin.dce:DCE", "drop operations whose results and effects nobody needs"),
    "inline": Row("builtin.inline:Inline", "replace calls by the bodies of the functions called"),
    "loop-invariant-code-motion": Row(
        "builtin.loop_invariant_code_motion:LoopInvariantCodeMotion",
        "move what does not change in a loop to before it",
    ),
    "reconcile-unrealized-casts": Row(
        "builtin.reconcile_unrealized_casts:ReconcileUnrealizedCasts",
        "remove chains of unrealized casts that lead back to their type",
    ),
    "strip-debuginfo": Row("builtin.strip_debuginfo:StripDebugInfo", "forget all source locations"),
    "symbol-dce": Row("builtin.symbol_dce:SymbolDCE", "drop private symbols that nobody refers to"),
    # On cuda_tile
    "cuda-tile-lint": Row(
        "cuda_tile.cuda_tile_lint:CudaTileLint", "remarks on what will be slow or surprising"
    ),
    "cuda-tile-rename-symbol": Row(
        "cuda_tile.cuda_tile_rename_symbol:CudaTileRenameSymbol",
        "rename a kernel or global, with its linkage name",
    ),
    "fuse-fma": Row(
        "cuda_tile.fuse_fma:FuseFMA", "fuse products with what they are added to (changes roundings)"
    ),
    "loop-split": Row(
        "cuda_tile.loop_split:LoopSplit", "split loops where a condition on their counter changes"
    ),
    "synthesize-debug-info-scopes": Row(
        "cuda_tile.synthesize_debug_info_scopes:SynthesizeDebugInfoScopes",
        "make debug info scopes from source locations",
    ),
    # cuda_tile to nv_tileaa
    "convert-cuda-tile-to-tileaa": Row(
        "tileaa.convert_cuda_tile_to_tileaa:ConvertCudaTileToTileAA",
        "lower cuda_tile to nv_tileaa: plain tensors, token chains, copy atoms",
    ),
    # nv_tileaa to nv_tileas
    "convert-tileaa-to-tileas": Row(
        "tileas.convert_tileaa_to_tileas:ConvertTileAAToTileAS", "lower nv_tileaa to nv_tileas"
    ),
    # On tile
    "tile-memory-management": Row(
        "tile.memory_management:TileMemoryManagement",
        "swizzles, coalescing hints and registers of the tile dialect",
    ),
    "tile-collective-insertion": Row(
        "tile.collective_insertion:CollectiveInsertion",
        "cut tensors along the axes of a mesh, and exchange what ranks need of each other",
    ),
    "tile-intrinsic-lowering": Row(
        "tile.intrinsic_lowering:TileIntrinsicLowering",
        "name the target's instructions for products, copies and reductions of the tile dialect",
    ),
    "tile-register-coalescing": Row(
        "tile.register_coalescing:TileRegisterCoalescing",
        "merge and remove fragments of the tile dialect, widen its accesses to global memory",
    ),
    "tile-performance-annotation": Row(
        "tile.performance_annotation:TilePerformanceAnnotation",
        "annotate hot loops, caching and prefetching of the tile dialect; markers on request",
    ),
    "tile-analyze": Row(
        "tile.analyze:TileAnalyze",
        "print what kernels of the tile dialect take of a GPU, and a strategy with reasons",
    ),
    "tile-barrier-optimization": Row(
        "tile.barrier_optimization:BarrierOptimization",
        "remove barriers that order nothing, insert missing ones, wait for copies where they are used",
    ),
    # tile to nv_tileas
    "convert-tile-to-tileas": Row(
        "tile.convert_tile_to_tileas:ConvertTileToTileAS", "lower the tile dialect to nv_tileas"
    ),
    # On nv_tileas
    "tileas-materialize-schedule": Row(
        "tileas.materialize_schedule:MaterializeSchedule",
        "turn kernels of products into agents: TMA in a producer, wgmma in a consumer",
    ),
    "tileas-assign-layouts": Row("tileas.assign_layouts:AssignLayouts", "give every tensor a layout"),
    "tileas-remove-layout-conversions": Row(
        "tileas.remove_layout_conversions:RemoveLayoutConversions",
        "propagate layouts so that fewer conversions remain",
    ),
    "tileas-schedule": Row("tileas.schedule:ScheduleLoops", "find a modulo schedule of each innermost loop"),
    "tileas-materialize-pipeline": Row(
        "tileas.materialize_pipeline:MaterializePipeline",
        "turn loads in loops into multi-buffered asynchronous copies",
    ),
    "tileas-insert-barriers": Row(
        "tileas.insert_barriers:InsertBarriers",
        "place buffers in shared memory, and barriers where threads would meet",
    ),
    # nv_tileas to llvm and nvvm
    "convert-nv-tile-func-to-llvm": Row(
        "llvm.convert_nv_tile_func_to_llvm:ConvertNVTileFuncToLLVM",
        "lower tile functions to func.func with kernel attributes",
    ),
    "convert-tileas-to-llvm": Row(
        "llvm.convert_tileas_to_llvm:ConvertTileASToLLVM", "lower nv_tileas to llvm and nvvm"
    ),
}
"""Every pass, by its name."""

ORDER: Sequence[tuple[str, str, str]] = (
    (
        "tile-collective-insertion",
        "convert-tile-to-tileas",
        "tensors are cut while they are whole tensors of the tile dialect",
    ),
    (
        "tile-intrinsic-lowering",
        "convert-tile-to-tileas",
        "it names instructions in the tile dialect, which the conversion leaves",
    ),
    (
        "tile-register-coalescing",
        "convert-tile-to-tileas",
        "fragments are buffers in the tile dialect only",
    ),
    ("tile-performance-annotation", "convert-tile-to-tileas", "the conversion carries the hints on"),
    (
        "tile-register-coalescing",
        "tile-memory-management",
        "what is counted are the fragments and the accesses, perhaps of vectors, that are left",
    ),
    (
        "tile-register-coalescing",
        "tile-performance-annotation",
        "hints follow from how many instructions and accesses there are",
    ),
    (
        "tile-memory-management",
        "tile-performance-annotation",
        "spilled fragments are instructions of a loop, too",
    ),
    (
        "tile-barrier-optimization",
        "convert-tile-to-tileas",
        "it places the barriers of the tile dialect, which the conversion leaves",
    ),
    ("convert-cuda-tile-to-tileaa", "convert-tileaa-to-tileas", "a stage is lowered from the one before it"),
    ("convert-tileaa-to-tileas", "tileas-assign-layouts", "layouts are given to nv_tileas ops"),
    ("convert-tileaa-to-tileas", "tileas-materialize-schedule", "products and loads are nv_tileas ops then"),
    (
        "tileas-materialize-schedule",
        "tileas-assign-layouts",
        "tiles are laid out over the warps of the agent that computes them",
    ),
    (
        "tileas-assign-layouts",
        "tileas-remove-layout-conversions",
        "there is no conversion to remove before layouts are assigned",
    ),
    (
        "tileas-assign-layouts",
        "tileas-materialize-pipeline",
        "a stage buffer has the swizzle that the layout of its tile decides",
    ),
    (
        "tileas-schedule",
        "tileas-materialize-pipeline",
        "a schedule is of loads and products, which the pipeline turns into copies and slices",
    ),
    (
        "tileas-materialize-pipeline",
        "tileas-insert-barriers",
        "buffers and copies are placed and ordered when all of them are there",
    ),
    (
        "tileas-insert-barriers",
        "convert-nv-tile-func-to-llvm",
        "barriers are inserted into nv_tileaa functions",
    ),
    (
        "tileas-insert-barriers",
        "convert-tileas-to-llvm",
        "the conversion expects every buffer to have its place, and adds no barrier between ops",
    ),
    (
        "convert-nv-tile-func-to-llvm",
        "convert-tileas-to-llvm",
        "the body conversion expects the function boundary in LLVM types",
    ),
    (
        "convert-tileas-to-llvm",
        "reconcile-unrealized-casts",
        "only the last conversion completes the chains of casts",
    ),
)
"""(before, after, why): where a pipeline has both, `before` stands first. A test checks every pipeline."""

STAGES = ("tile", "cuda_tile", "nv_tileaa", "nv_tileas", "llvm")
"""The stages of IR on the way to LLVM IR, in order, by dialect; from `tile` the way goes to nv_tileas at once."""


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of a pipeline: `text` is its spelling with options, `stage` the stage that it works on."""

    stage: str
    text: str


_COMMON: Mapping[str, Sequence[str]] = {
    "tile": ("convert-tile-to-tileas{gpu-name=TARGET}",),
    "cuda_tile": ("canonicalize", "cse", "convert-cuda-tile-to-tileaa{gpu-name=TARGET}"),
    "nv_tileaa": ("canonicalize", "cse", "loop-invariant-code-motion", "convert-tileaa-to-tileasWARPS"),
    "nv_tileas": (
        "tileas-assign-layouts",
        "tileas-remove-layout-conversions",
        "tileas-materialize-pipeline",
        "canonicalize",
        "cse",
        "tileas-insert-barriers",
        "convert-nv-tile-func-to-llvm",
        "convert-tileas-to-llvm",
        "reconcile-unrealized-casts",
    ),
    "llvm": (),
}

AGENTS = "tileas-materialize-schedule"
"""The pass that a pipeline may leave out, for kernels of one group of threads."""
_HOPPER: Mapping[str, Sequence[str]] = {**_COMMON, "nv_tileas": (AGENTS, *_COMMON["nv_tileas"])}

PIPELINES: Mapping[str, Mapping[str, Sequence[str]]] = {
    # Per target, what is run on the IR of each stage; TARGET is replaced by the target's own name, which the first
    # conversion writes into the module, where the later passes find it; WARPS by an option, if a number is given.
    "sm_80": _COMMON,
    "sm_86": _COMMON,
    "sm_89": _COMMON,
    "sm_90": _HOPPER,
    "sm_100": _COMMON,
    "sm_103": _COMMON,
    "sm_110": _COMMON,
    "sm_120": _COMMON,
    "sm_121": _COMMON,
}
"""Target name (without suffix) → stage → the passes that lead from it to the next stage."""


def stages_from(stage: str) -> tuple[str, ...]:
    """The stages that a module in `stage` goes through, that one first."""
    if stage == "tile":
        return (stage, *STAGES[STAGES.index("nv_tileas") :])
    return STAGES[STAGES.index(stage) :]


def pipeline_for(
    target: str, stage: str = "cuda_tile", num_warps: int = 0, agents: bool = True
) -> list[Step]:
    """The passes from `stage` down to llvm for a target of the target table (`sm_90`), for so many warps (0: chosen
    by the conversion to nv_tileas); with agents where the target has them, unless told otherwise."""
    steps = PIPELINES[target]
    warps = f"{{num-warps={num_warps}}}" if num_warps else ""
    return [
        Step(name, text.replace("TARGET", target).replace("WARPS", warps))
        for name in stages_from(stage)
        for text in steps[name]
        if agents or text != AGENTS
    ]


def find_pass(name: str) -> type[Pass] | None:
    """The class of a pass, imported if need be; None if the table has no such pass."""
    row = PASSES.get(name)
    if row is None:
        return None
    module, _, class_name = row.where.partition(":")
    return getattr(importlib.import_module(f"tessera_tools.passes.{module}"), class_name)


def order_violations(names: Iterable[str], order: Sequence[tuple[str, str, str]] = ORDER) -> list[str]:
    """What a list of pass names does against the constraints, one sentence each; empty if nothing."""
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        first.setdefault(name, position)
    return [
        f"'{before}' must run before '{after}': {why}"
        for before, after, why in order
        if before in first and after in first and first[before] > first[after]
    ]
