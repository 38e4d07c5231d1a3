"""The table of passes and the pipelines: data only.  The ordering constraints are in order.py.

name ──PASSES──▶ "module:Class" ──find_pass()──▶ the class, imported at its first use
(target, stage) ──pipeline_for()──▶ [Step("cuda_tile", "canonicalize"), …]
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.passes.base import Pass

__all__ = [
    "PASSES",
    "PIPELINES",
    "STAGES",
    "Row",
    "Step",
    "find_pass",
    "pipeline_for",
    "stages_from",
]


@dataclass(frozen=True, slots=True)
class Row:
    """One pass: the module and class (below `tessera_tools.passes`), and the summary for `--help`."""

    where: str
    summary: str
    package: str = "tessera_tools.passes."
    """What stands before `where`; nothing for a pass of another package."""


PASSES: dict[str, Row] = {
    # Any dialect
    "canonicalize": Row(
        "builtin.canonicalize:Canonicalize", "fold and simplify operations, and erase dead ones"
    ),
    "control-flow-sink": Row(
        "builtin.control_flow_sink:ControlFlowSink", "sink operations into conditional blocks"
    ),
    "convert-scf-to-cf": Row(
        "builtin.convert_scf_to_cf:ConvertSCFToControlFlow",
        "convert scf to cf, structured control flow to branches",
    ),
    "cse": Row("builtin.cse:CSE", "eliminate common subexpressions"),
    "dce": Row("builtin.dce:DCE", "eliminate dead code"),
    "inline": Row("builtin.inline:Inline", "inline function calls"),
    "loop-invariant-code-motion": Row(
        "builtin.loop_invariant_code_motion:LoopInvariantCodeMotion",
        "hoist loop-invariant operations out of loops",
    ),
    "mem2reg": Row("builtin.mem2reg:Mem2Reg", "promote variables in memory to values"),
    "print-op-stats": Row("builtin.print_op_stats:PrintOpStats", "print statistics of operations"),
    "reconcile-unrealized-casts": Row(
        "builtin.reconcile_unrealized_casts:ReconcileUnrealizedCasts",
        "remove chains of unrealized casts that cancel out",
    ),
    "remove-dead-values": Row("builtin.remove_dead_values:RemoveDeadValues", "remove dead values"),
    "sccp": Row("builtin.sccp:SCCP", "sparse conditional constant propagation"),
    "sroa": Row("builtin.sroa:SROA", "scalar replacement of aggregates"),
    "strip-debuginfo": Row("builtin.strip_debuginfo:StripDebugInfo", "remove all source locations"),
    "symbol-dce": Row("builtin.symbol_dce:SymbolDCE", "eliminate unused private symbols"),
    "symbol-privatize": Row("builtin.symbol_privatize:SymbolPrivatize", "mark symbols private"),
    "topological-sort": Row(
        "builtin.topological_sort:TopologicalSort",
        "sort operations in graph regions so that definitions come before uses",
    ),
    # On cuda_tile
    "cuda-tile-lint": Row(
        "cuda_tile.cuda_tile_lint:CudaTileLint", "emit remarks about slow code and likely mistakes"
    ),
    "cuda-tile-rename-symbol": Row(
        "cuda_tile.cuda_tile_rename_symbol:CudaTileRenameSymbol",
        "rename a kernel or global, and its linkage name",
    ),
    "fuse-fma": Row("cuda_tile.fuse_fma:FuseFMA", "fuse multiplications and additions (changes rounding)"),
    "loop-split": Row(
        "cuda_tile.loop_split:LoopSplit", "split loops where a condition on the induction variable changes"
    ),
    "synthesize-debug-info-scopes": Row(
        "cuda_tile.synthesize_debug_info_scopes:SynthesizeDebugInfoScopes",
        "create debug info scopes from source locations",
    ),
    # cuda_tile to nv_tileaa
    "convert-cuda-tile-to-tileaa": Row(
        "tileaa.convert_cuda_tile_to_tileaa:ConvertCudaTileToTileAA",
        "lower cuda_tile to nv_tileaa: plain tensors, token chains, copy atoms",
    ),
    # On nv_tileaa
    "tileaa-uplift-loops": Row("tileaa.uplift_loops:UpliftLoops", "convert loops that count to scf.for"),
    "tileaa-drop-batches": Row(
        "tileaa.drop_batches:DropBatches", "make products of matrices of those of batches of one matrix"
    ),
    # nv_tileaa to nv_tileas
    "convert-tileaa-to-tileas": Row(
        "tileas.convert_tileaa_to_tileas:ConvertTileAAToTileAS", "lower nv_tileaa to nv_tileas"
    ),
    # On tile
    "tile-memory-management": Row(
        "tile.memory_management:TileMemoryManagement",
        "choose swizzles, mark coalesced accesses and spill fragments in the tile dialect",
    ),
    "tile-double-buffering": Row(
        "tile.double_buffering:DoubleBuffering",
        "copy the tiles of a loop's next iteration to a second buffer while it computes",
    ),
    "tile-collective-insertion": Row(
        "tile.collective_insertion:CollectiveInsertion",
        "shard tensors over a device mesh, and insert the collectives that this requires",
    ),
    "tile-intrinsic-lowering": Row(
        "tile.intrinsic_lowering:TileIntrinsicLowering",
        "select the target's instructions for matrix products, copies and reductions",
    ),
    "tile-register-coalescing": Row(
        "tile.register_coalescing:TileRegisterCoalescing",
        "merge and remove fragments of the tile dialect, and vectorize its global accesses",
    ),
    "tile-performance-annotation": Row(
        "tile.performance_annotation:TilePerformanceAnnotation",
        "add loop, cache and prefetch hints to the tile dialect, and optional profile markers",
    ),
    "tile-analyze": Row(
        "tile.analyze:TileAnalyze",
        "report the GPU resources that tile kernels use, and recommend a strategy",
    ),
    "tile-barrier-optimization": Row(
        "tile.barrier_optimization:BarrierOptimization",
        "remove redundant barriers, insert missing ones, and move waits for copies to their uses",
    ),
    # tile to nv_tileas
    "convert-tile-to-tileas": Row(
        "tile.convert_tile_to_tileas:ConvertTileToTileAS", "lower the tile dialect to nv_tileas"
    ),
    # On nv_tileas
    "plan-cta": Row("tileas.plan_cta:PlanCTA", "propagate CTA related layouts"),
    "tileas-join-loops": Row(
        "tileas.join_loops:JoinLoops",
        "join loops over consecutive ranges that have the same products",
    ),
    "tileas-split-k": Row(
        "tileas.split_k:SplitK",
        "split loops with products along K over the CTAs of clusters, which add their sums",
    ),
    "tileas-plan-cta": Row("tileas.plan_cta:TileASPlanCTA", "propagate CTA related layouts"),
    "tileas-dynamic-persistent": Row(
        "tileas.dynamic_persistent:DynamicPersistent", "make the kernel into dynamic persistent kernels"
    ),
    "tileas-resolve-program-ids": Row(
        "tileas.resolve_program_ids:ResolveProgramIds",
        "lower the loops of persistent kernels, and choose the order of programs",
    ),
    "tileas-deal-programs": Row(
        "tileas.deal_programs:DealPrograms",
        "let CTAs take their next programs from a counter, or from CTAs that have not begun",
    ),
    "tileas-prepare-for-scheduling": Row(
        "tileas.prepare_for_scheduling:PrepareForScheduling",
        "prepare accesses, loops and buffers for scheduling, in six steps",
    ),
    "tileas-slicing": Row(
        "tileas.slicing:Slicing", "make the iterations of loops with a sliceCount the slices of one iteration"
    ),
    "scf-for-loop-splitting": Row(
        "tileas.scf_for_loop_splitting:LoopSplitting",
        "split loops into iterations whose bounds and masks are known to hold, and the others",
    ),
    "sink-negf-through-shapes": Row(
        "tileas.sink_negf_through_shapes:SinkNegFThroughShapes", "move negf before shape operations"
    ),
    "tileas-materialize-schedule": Row(
        "tileas.materialize_schedule:MaterializeSchedule",
        "specialize warps: a TMA producer, and consumers that multiply by wgmma or read the tiles",
    ),
    "tileas-materialize-tensor-memory": Row(
        "tileas.materialize_tensor_memory:MaterializeTensorMemory",
        "specialize warps: a TMA producer, a thread that multiplies by tcgen05, and consumers of sums",
    ),
    "tileas-alternate-consumers": Row(
        "tileas.alternate_consumers:AlternateConsumers",
        "let two consumers take the tiles of a loop in turn, so that epilogues overlap products",
    ),
    "optimize-execution-unit-mapping": Row(
        "tileas.optimize_execution_unit_mapping:OptimizeExecutionUnitMapping",
        "optimize the numWarps and warpId alignment for each agent",
    ),
    "tileas-resolve-agent-boundary": Row(
        "tileas.resolve_agent_boundary:ResolveAgentBoundary", "legalize the values that cross an agent_switch"
    ),
    "propagate-execution-unit": Row(
        "tileas.propagate_execution_unit:PropagateExecutionUnit", "propagate the numWarps for each agent"
    ),
    "tileas-assign-layouts": Row("tileas.assign_layouts:AssignLayouts", "assign a layout to every tensor"),
    "tileas-remove-layout-conversions": Row(
        "tileas.remove_layout_conversions:RemoveLayoutConversions",
        "propagate layouts to remove conversions",
    ),
    "tileas-guard-masks": Row(
        "tileas.guard_masks:GuardMasks",
        "branch around masks where a comparison of scalars shows that they hold for a whole tile",
    ),
    "tileas-cut-products": Row(
        "tileas.cut_products:CutProducts",
        "compute the tiles of products in parts where an SM has no room for them",
    ),
    "tileas-round-loads": Row("tileas.round_loads:RoundLoads", "let TMA round factors of f32 to tf32"),
    "tileas-swap-operands": Row(
        "tileas.swap_operands:SwapOperands", "compute products of few rows transposed, by wgmma or tcgen05"
    ),
    "tileas-promote-accumulators": Row(
        "tileas.promote_accumulators:PromoteAccumulators",
        "add the partial sums of wgmma products of 8-bit floats in f32",
    ),
    "tileas-order-terms": Row(
        "tileas.order_terms:OrderTerms",
        "order the terms of wgmma products whose left factor follows from the sums of others",
    ),
    "tileas-schedule": Row(
        "tileas.schedule:ScheduleLoops", "compute a modulo schedule for each innermost loop"
    ),
    "tileas-remove-buffer-alias": Row(
        "tileas.remove_buffer_alias:RemoveBufferAlias", "remove the aliases of buffers in shared memory"
    ),
    "tileas-materialize-pipeline": Row(
        "tileas.materialize_pipeline:MaterializePipeline",
        "convert loads in loops to multi-buffered asynchronous copies",
    ),
    "tileas-materialize-tma-loads": Row(
        "tileas.materialize_tma_loads:MaterializeTmaLoads",
        "load tiles through shared memory by TMA where that costs less",
    ),
    "tileas-materialize-tma-stores": Row(
        "tileas.materialize_tma_stores:MaterializeTmaStores",
        "store tiles through shared memory by TMA where that costs less",
    ),
    "tileas-insert-barriers": Row(
        "tileas.insert_barriers:InsertBarriers",
        "allocate shared memory, and insert barriers between conflicting accesses",
    ),
    "tileas-unwrap-pipeline-iterators": Row(
        "tileas.unwrap_pipeline_iterators:UnwrapPipelineIterators",
        "replace the iterators of pipelines by slots and phases",
    ),
    "tileas-bind-named-barriers": Row(
        "tileas.bind_named_barriers:BindNamedBarriers",
        "bind the turns of consumer warpgroups to named barriers",
    ),
    # nv_tileas to llvm and nvvm
    "convert-nv-tile-func-to-llvm": Row(
        "llvm.convert_nv_tile_func_to_llvm:ConvertNVTileFuncToLLVM",
        "lower tile functions to func.func with kernel attributes",
    ),
    "convert-tileas-to-llvm": Row(
        "llvm.convert_tileas_to_llvm:ConvertTileASToLLVM", "lower nv_tileas to llvm and nvvm"
    ),
    "tileas-insert-OCG-knobs": Row(
        "llvm.insert_ocg_knobs:InsertOCGKnobs",
        "this pass emits OCG knobs as specific optimization hints for the backend OCG compiler",
    ),
}
"""Every pass, by its name."""

STAGES = ("tile", "cuda_tile", "nv_tileaa", "nv_tileas", "llvm")
"""The stages of IR up to LLVM IR, in order, by dialect; `tile` is lowered directly to nv_tileas."""


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of a pipeline: `text` has its name and options, `stage` is the stage of its input."""

    stage: str
    text: str


_JOIN = "tileas-join-loops"
_MASKS = "tileas-guard-masks"
_SPLIT = "tileas-split-kSPLIT"
_PERSISTENT = "tileas-dynamic-persistentWANTED"
_PROGRAMS = "tileas-resolve-program-idsPROGRAMS"
_DEAL = "tileas-deal-programs"
_PIPELINE = "tileas-materialize-pipelineSTAGES"

_COMMON: Mapping[str, Sequence[str]] = {
    "tile": ("convert-tile-to-tileas{gpu-name=TARGETABI}",),
    "cuda_tile": ("canonicalize", "cse", "convert-cuda-tile-to-tileaa{gpu-name=TARGET}"),
    "nv_tileaa": (
        "canonicalize",
        "cse",
        "tileaa-uplift-loops",
        "tileaa-drop-batches",
        "loop-invariant-code-motion",
        "convert-tileaa-to-tileasFORM",
    ),
    "nv_tileas": (
        _JOIN,
        _SPLIT,
        "plan-ctaLAUNCHES",
        "tileas-slicing",
        _PERSISTENT,
        _PROGRAMS,
        _DEAL,
        _MASKS,
        "scf-for-loop-splitting",
        "tileas-assign-layouts",
        "tileas-remove-layout-conversions",
        "tileas-remove-buffer-alias",
        _PIPELINE,
        "canonicalize",
        "cse",
        "tileas-insert-barriers",
        "tileas-unwrap-pipeline-iterators",
        "convert-nv-tile-func-to-llvm",
        "convert-tileas-to-llvm",
        "reconcile-unrealized-casts",
    ),
    "llvm": (),
}

_PROMOTE = "tileas-promote-accumulators"
_TERMS = "tileas-order-terms"
_ROUND = "tileas-round-loads"
_CUT = "tileas-cut-products"
_SWAP = "tileas-swap-operands"
_SIGNS = "sink-negf-through-shapes"
_PREPARE = "tileas-prepare-for-scheduling"
_LOADS_OF_PRODUCTS = "tileas-prepare-for-scheduling{steps=decomposeTiledLoadStoreView}"
_SCHEDULE = "tileas-schedule{only-agentsDEPTHGROUPSTURNSKNOWN}"
_TENSOR_SCHEDULE = "tileas-schedule{only-agents between-loops=neverDEPTHASSIGNED}"
AGENTS = "tileas-materialize-scheduleAGENTS"
_ALTERNATE = "tileas-alternate-consumers"
_UNITS = "optimize-execution-unit-mapping"
_BOUNDARY = "tileas-resolve-agent-boundary"
TENSOR_MEMORY = "tileas-materialize-tensor-memoryAGENTS"
SPECIALIZES = frozenset(
    {
        _ROUND,
        _LOADS_OF_PRODUCTS,
        _SCHEDULE,
        _TENSOR_SCHEDULE,
        AGENTS,
        _ALTERNATE,
        TENSOR_MEMORY,
        _SWAP,
        _PROMOTE,
        _TERMS,
    }
)
"""The passes that make agents of a kernel, and those that prepare products for them."""
TMA_LOADS = "tileas-materialize-tma-loads"
TMA_STORES = "tileas-materialize-tma-stores"
_TURNS = "tileas-bind-named-barriers"
HIDDEN = (
    _ROUND, _SIGNS, _PREPARE, _LOADS_OF_PRODUCTS, _CUT, _SWAP, _PROMOTE, _TERMS, _SCHEDULE, _TENSOR_SCHEDULE, AGENTS,
    _ALTERNATE, TENSOR_MEMORY, _UNITS, _BOUNDARY, TMA_LOADS, TMA_STORES, _TURNS,
)  # fmt: skip
"""The passes that a pipeline may omit, for kernels with a single group of threads and no hidden parameters."""


def _hopper(steps: Sequence[str]) -> Sequence[str]:
    """The passes on nv_tileas with agents and loads by TMA first, TMA stores after the pipelines of operands, and the
    named barriers of agents after all others."""
    steps = [name for name in steps if name != _DEAL]
    first, masks, place, bound = (
        steps.index(name) + 1 for name in ("tileas-slicing", _MASKS, _PIPELINE, "tileas-insert-barriers")
    )
    prepared = (_SIGNS, _PREPARE, _CUT, _SWAP, _PROMOTE, _TERMS)
    agents = (_SCHEDULE, AGENTS, _ALTERNATE, _UNITS, _BOUNDARY, _DEAL, TMA_LOADS)
    return (
        _ROUND, *steps[:first], *prepared, *steps[first:masks], *agents, *steps[masks:place], TMA_STORES,
        *steps[place:bound], _TURNS, *steps[bound:],
    )  # fmt: skip


def _blackwell(steps: Sequence[str]) -> Sequence[str]:
    """The passes on nv_tileas with loads for each product, products in parts, agents of tensor memory as soon as the
    loops over programs have bounds and masks are behind branches, and TMA stores after the pipelines of operands."""
    steps = [name for name in steps if name != _DEAL]
    cut, first, place = (steps.index(name) + 1 for name in ("tileas-slicing", _MASKS, _PIPELINE))
    return (
        _ROUND, *steps[:cut], _LOADS_OF_PRODUCTS, _CUT, _SWAP, *steps[cut:first], _TENSOR_SCHEDULE, TENSOR_MEMORY,
        _UNITS, _BOUNDARY, _DEAL, *steps[first:place], TMA_STORES, *steps[place:],
    )  # fmt: skip


_HOPPER: Mapping[str, Sequence[str]] = {**_COMMON, "nv_tileas": _hopper(_COMMON["nv_tileas"])}

_BLACKWELL: Mapping[str, Sequence[str]] = {**_COMMON, "nv_tileas": _blackwell(_COMMON["nv_tileas"])}

PIPELINES: Mapping[str, Mapping[str, Sequence[str]]] = {
    # The passes for each target and stage. TARGET is replaced by the target's name, which the first conversion writes
    # to the module for the later passes; FORM, PROGRAMS, STAGES, DEPTH, GROUPS, TURNS and KNOWN by options, if given.
    "sm_80": _COMMON,
    "sm_86": _COMMON,
    "sm_87": _COMMON,
    "sm_88": _COMMON,
    "sm_89": _COMMON,
    "sm_90": _HOPPER,
    "sm_100": _BLACKWELL,
    "sm_103": _BLACKWELL,
    "sm_107": _BLACKWELL,
    "sm_110": _BLACKWELL,
    "sm_120": _COMMON,
    "sm_121": _COMMON,
}
"""Target name (without suffix) → stage → the passes to the next stage."""


def stages_from(stage: str) -> tuple[str, ...]:
    """The stages from `stage` on, that one first."""
    if stage == "tile":
        return (stage, *STAGES[STAGES.index("nv_tileas") :])
    return STAGES[STAGES.index(stage) :]


def pipeline_for(
    target: str,
    stage: str = "cuda_tile",
    num_warps: int = 0,
    agents: bool = True,
    num_consumer_warpgroups: int = 0,
    num_stages: int = 0,
    ping_pong: str = "auto",
    assignment: str = "auto",
    cluster: str = "auto",
    persistent: str = "auto",
    raster: str = "auto",
    large: bool = False,
    split_k: int = 0,
    tile_blocks: int = 0,
    arguments: Sequence[str] = (),
) -> list[Step]:
    """The passes from `stage` down to llvm for a target of the target table (`sm_90`) or a family (`sm_100f`, without
    what only sm_100a has), for so many warps (0: chosen by the conversion to nv_tileas); with agents where the target
    has them, by default, and then for so many warpgroups of consumers (0: chosen by the products); with so many stages
    of loops (0: as many as fit); whose consumers take turns `always`, `never`, or where that takes less time (`auto`);
    with the agents that `assignment` names (agents_of), or that take less time (`auto`); with tile blocks of as many
    CTAs as `cluster` says, rows x columns, or hints (`auto`); whose CTAs get one program after another as `persistent`
    says, or `never`, in the order `raster`; for `large` launches, plan-cta chooses what is left to it (`auto`); with
    loops split among `split_k` CTAs (1: not; 0: by price, if the launch is known: its `tile_blocks`, and the integers
    of its `arguments`, `?` for any other)."""
    steps = PIPELINES[target.removesuffix("f")]
    form = [f"num-warps={num_warps}"] * bool(num_warps) + [f"cluster={cluster}"] * (cluster != "auto")
    groups = f" num-consumer-warpgroups={num_consumer_warpgroups}" if num_consumer_warpgroups else ""
    stages = f"num-stages={num_stages}" if num_stages else ""
    # plan-cta may choose clusters of tile blocks, and that CTAs stay for several.
    may_price = agents and assignment != "none" and persistent in ("auto", "never", "static")
    priced = large and may_price and cluster == "auto"
    by_price = priced and persistent == "auto"
    scheduler = "auto" if by_price else persistent
    programs = [f"scheduler={scheduler}"] * (by_price or persistent not in ("auto", "never", "static"))
    programs += [f"raster={raster}"] * (raster != "rows" and (raster != "auto" or priced))
    left_out = {_PERSISTENT} if persistent == "never" or (persistent == "auto" and not priced) else set()
    plain = not programs and not cluster.startswith("blocks:") and persistent in ("auto", "never")
    left_out |= {_PROGRAMS} if plain and not priced else set()
    left_out |= set() if by_price or persistent in ("counter", "cancel") else {_DEAL}
    left_out |= set() if agents else set(HIDDEN)
    left_out |= SPECIALIZES if assignment == "none" else set()
    assigned = f"agents={assignment}" if assignment not in ("auto", "none") else ""
    known = tile_blocks > 0 and cluster == "auto" and not priced
    launch = f"tile-blocks={tile_blocks} arguments={','.join(arguments) or '?'}"
    split = launch if known else "tile-blocks=0"
    left_out |= set() if split_k > 1 or (known and not split_k) else {_SPLIT}
    words = {
        "TARGET": target,
        "ABI": "" if agents else " abi=plain",
        "SPLIT": f"{{parts={split_k}}}" if split_k else f"{{{split}}}",
        "LAUNCHES": f"{{launches=large{'' if by_price else ' stay=false'}}}" if priced else "",
        "WANTED": "{only-wanted}" if persistent == "auto" else "",
        "FORM": f"{{{' '.join(form)}}}" if form else "",
        "GROUPS": groups,
        "TURNS": f" ping-pong={ping_pong}" if ping_pong != "auto" else "",
        "KNOWN": f" {launch}" if known else "",
        "AGENTS": f"{{{assigned}}}" if assigned else "",
        "ASSIGNED": f" {assigned}" if assigned else "",
        "STAGES": f"{{{stages}}}" if stages else "",
        "DEPTH": f" {stages}" if stages else "",
        "PROGRAMS": f"{{{' '.join(programs)}}}" if programs else "",
    }
    return [
        Step(name, _filled(text, words))
        for name in stages_from(stage)
        for text in steps[name]
        if text not in left_out
    ]


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def find_pass(name: str) -> type[Pass] | None:
    """The class of a pass, imported on first use; None if the table has no such pass."""
    row = PASSES.get(name)
    if row is None:
        return None
    module, _, class_name = row.where.partition(":")
    return getattr(importlib.import_module(f"{row.package}{module}"), class_name)


def agents_of(target: str) -> tuple[str, ...]:
    """What agents the kernels of a target of the target table may have: `none`, a `producer` beside consumers, and with
    tensor memory `multipliers`, whose consumers carry sums, or also an agent for the `correction` of sums."""
    steps = PIPELINES[target]["nv_tileas"]
    found = ("none", *("producer",) * (AGENTS in steps))
    return (*found, *("multipliers", "correction") * (TENSOR_MEMORY in steps))


def has_agents(target: str) -> bool:
    """Whether the kernels of a target of the target table may have agents."""
    return AGENTS in PIPELINES[target]["nv_tileas"]
