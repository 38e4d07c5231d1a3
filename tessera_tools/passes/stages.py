"""The specs of the stages: the properties of a module after a pass, as lists of named checks.

    nv_tileaa   no op of another stage, plain tensors, a target
    nv_tileas   … a kernel_spec on each kernel, no access or product of the previous stage
    layouts     … every tile has a layout for its kernel's warps, the same if an op does not move elements
    placed      … buffers and scratch areas in use do not overlap
    unwrapped   … pipelines have slots and phases instead of iterators
    llvm        only llvm and nvvm ops, no cast

`PROMISES` maps a pass to the spec that it establishes, `NEEDS` to the spec that it requires. With --verify-each, the
pass manager checks the first after the pass and the second before it. After every other pass, it checks the spec
that held before. An error is at the op, and names the check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.dialects.nv_tileaa import Func
    from tessera_tools.dialects.nv_tileas import CreatePipeline
    from tessera_tools.ir.core import Operation, Value
    from tessera_tools.ir.types import RankedTensorType

__all__ = [
    "ENDS",
    "NEEDS",
    "PROMISES",
    "SPECS",
    "Check",
    "Contents",
    "dialects_of",
    "problems",
    "unknown_stage",
]


_MOST_ERRORS = 10
"""Errors of one check that are reported."""


class Contents:
    """A module as the checks look at it: its ops, and those of each kernel, are looked up once for all checks."""

    def __init__(self, module: Operation) -> None:
        from tessera_tools.planning.kernel import kernels

        self.module = module
        self.kernels = {function: list(function.walk()) for function in kernels(module)}
        """Each tile function with a body, and the ops in it."""
        self.ops: list[Operation] = []
        for op in (op for region in module.regions for block in region.blocks for op in block):
            self.ops += (op, *(self.kernels.get(op) or op.walk()))  # type: ignore[call-overload]
        self.names = {op.name for op in self.ops}

    @cached_property
    def tiles(self) -> dict[Func, list[tuple[Operation, RankedTensorType]]]:
        """For each kernel, (an op, a tile among its results or among the arguments of the block that it begins)."""
        from tessera_tools.ir.types import RankedTensorType

        found: dict[Func, list[tuple[Operation, RankedTensorType]]] = {}
        for function, ops in self.kernels.items():
            tiles = found[function] = []
            for op in ops:
                block = op.parent
                values: Sequence[Value] = op.results
                if block is not None and block.arguments and block.first_op is op:
                    values = (*values, *block.arguments)
                for value in values:
                    if isinstance(value.type, RankedTensorType):
                        tiles.append((op, value.type))
        return found


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of a stage: `find` yields an error for each violation."""

    name: str
    find: Callable[[Contents], Iterator[DiagnosticError]]
    at_entry: bool = False
    """Whether it is checked only before a pass that starts from the stage, on a module that no pass has made."""


def problems(module: Operation, spec: str, at_entry: bool = True) -> DiagnosticError | None:
    """The first errors of the first violated check of a spec; None if the module satisfies all."""
    contents = Contents(module)
    for check in SPECS[spec]:
        if check.at_entry and not at_entry:
            continue
        failures = islice(check.find(contents), _MOST_ERRORS)
        found = [d for failure in failures for d in failure.diagnostics]
        if found:
            for diagnostic in found:
                diagnostic.note(f"required in stage '{spec}': {check.name}")
            return DiagnosticError(*found)
    return None


# -- checks


def _none_of(*prefixes: str) -> Callable[[Contents], Iterator[DiagnosticError]]:
    def find(contents: Contents) -> Iterator[DiagnosticError]:
        refused = {name for name in contents.names if name.startswith(prefixes)}
        for op in contents.ops if refused else ():
            if op.name in refused:
                yield op.error("belongs to an earlier stage and must not remain here")

    return find


def _only(*dialects: str) -> Callable[[Contents], Iterator[DiagnosticError]]:
    """Ops of these dialects in kernels, and no others."""
    expected = f"{', '.join(dialects[:-1])} and {dialects[-1]}"

    def find(contents: Contents) -> Iterator[DiagnosticError]:
        refused = {name for name in contents.names if name.partition(".")[0] not in dialects}
        for ops in contents.kernels.values():
            for op in ops if refused else ():
                if op.name in refused:
                    yield op.error(f"does not belong to this stage; expected ops of {expected}")

    return find


def _only_in_kernels_of_llvm(contents: Contents) -> Iterator[DiagnosticError]:
    refused = {name for name in contents.names if not name.startswith(("llvm.", "nvvm."))}
    for function in contents.ops if refused else ():
        for op in function.walk() if function.name == "llvm.func" else ():
            if op.name in refused:
                yield op.error("does not belong to this stage; expected ops of llvm and nvvm")


def _has_target(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.planning.kernel import target_of

    try:
        target_of(contents.module)
    except DiagnosticError as failure:
        if any(contents.tiles.values()):
            yield failure


def _plain_tiles(contents: Contents) -> Iterator[DiagnosticError]:
    for tiles in contents.tiles.values():
        for op, type in tiles:
            if type.encoding is not None:
                yield op.error(f"has a tile of type {type}; expected one without a layout")


def _specs_on_kernels(contents: Contents) -> Iterator[DiagnosticError]:
    for function, tiles in contents.tiles.items():
        if function.kernel_spec is None and tiles:
            yield function.error("has no 'nv_tileaa.kernel_spec'; run --convert-tileaa-to-tileas first")


def _tokens(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.dialects.nv_tileaa import MEM_TOKEN

    for ops in contents.kernels.values():
        for op in ops:
            for use in op.op_operands:
                if use.value.type is MEM_TOKEN:
                    maker = use.value.defining_op
                    if maker is not None and not _has_token_results(maker):
                        yield op.error(f"uses a token of '{maker.name}', which does not access memory")


def _has_token_results(op: Operation) -> bool:
    return op.name.startswith(("nv_tileaa.", "nv_tileas.", "scf.", "cf."))


def _layouts(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.dialects.nv_tileas import LinearAttr
    from tessera_tools.planning.kernel import unit_of

    for tiles in contents.tiles.values():
        for op, type in tiles:
            if not isinstance(type.encoding, LinearAttr):
                yield op.error(f"has a tile of type {type} without a layout; run --tileas-assign-layouts")
                continue
            layout = type.encoding.layout
            warps, found = unit_of(op).warps, layout.in_size("warp")
            if found != warps:
                yield op.error(
                    f"has a tile of type {type}, whose layout is for {found} warps, but {warps} execute it"
                )
            elif layout.in_size("block") != 1:
                yield op.error(
                    f"has a tile of type {type}, whose layout is for {layout.in_size('block')} CTAs; expected one"
                )


def _agreeing_layouts(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.planning.layout_rules import is_known, ties

    for ops in contents.kernels.values():
        for op in ops:
            if not is_known(op):
                continue
            for first, *rest in ties(op):
                other = next((v for v in rest if v.type.encoding is not first.type.encoding), None)
                if other is not None:
                    yield op.error(
                        f"does not move elements between threads, but has tiles of types {first.type} and "
                        f"{other.type}; convert one of them with nv_tileas.convert_layout"
                    )
                    break


def _sums_in_flight(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.dialects.nv_tileas import AsyncDot, AsyncDotResult, AsyncDotWait
    from tessera_tools.ir.traits import Terminator

    for ops in contents.kernels.values() if "nv_tileas.async.dot" in contents.names else ():
        for dot in ops:
            for user in dot.results[0].users if isinstance(dot, AsyncDot) else ():
                if (
                    isinstance(user, AsyncDotWait | AsyncDotResult)
                    or user.has_trait(Terminator)
                    or user.regions
                ):
                    continue
                if isinstance(user, AsyncDot) and user.c is dot.results[0]:
                    continue
                yield user.error("reads sums in flight; they are complete behind an nv_tileas.async.dot_wait")


def _places(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.planning.kernel import known_target
    from tessera_tools.planning.shared_memory import overlaps, recorded

    target = known_target(contents.module)
    if target is None:
        return
    for function in contents.kernels:
        try:
            allocation = recorded(function, target)
        except DiagnosticError as failure:
            yield failure
            continue
        yield from overlaps(function, target, allocation)


def _barriers(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.passes.tileas.barriers import missing_barrier
    from tessera_tools.planning.kernel import known_target
    from tessera_tools.planning.shared_memory import recorded

    target = known_target(contents.module)
    for function in contents.kernels if target is not None else ():
        assert target is not None
        found = missing_barrier(function, recorded(function, target))
        if found is not None:
            failure = found.op.error(
                f"accesses memory that '{found.earlier.name}' of other threads may access at the same time; insert an "
                "nv_tileas.barrier before it, or run --tileas-insert-barriers"
            )
            failure.diagnostics[0].note("the other access is here", found.earlier.location)
            yield failure


def _pipelines(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.analysis.pipelines import problems as unmatched

    for function, ops in contents.kernels.items():
        yield from unmatched(function, ops)


def _agents(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.dialects.nv_tileas import AgentSwitch

    for function, ops in contents.kernels.items():
        spec = function.kernel_spec
        for op in ops:
            if not isinstance(op, AgentSwitch) or spec is None:
                continue
            for number in range(len(op.regions)):
                unit = op.unit(number)
                if unit.first_warp + unit.warps > spec.num_warps:
                    yield op.error(
                        f"has agent {number} in warps {unit.first_warp} to {unit.first_warp + unit.warps - 1}, but "
                        f"the kernel has {spec.num_warps} warps"
                    )


def arrivals(contents: Contents) -> Iterator[DiagnosticError]:
    """A pipeline counts the arrivals of what fills a stage, and of each warp that releases it, of all agents."""
    from tessera_tools.dialects.nv_tileas import (
        ConsumerWait,
        CreatePipeline,
        Fill,
        ProducerAcquire,
        ProducerCommit,
        ProducerWrite,
        agent_of,
    )

    for function, ops in contents.kernels.items():
        for op in ops if function.kernel_spec is not None else ():
            if not isinstance(op, CreatePipeline):
                continue
            acquires = [user for user in op.res.users if isinstance(user, ProducerAcquire)]
            for write in (user for acquire in acquires for user in acquire.res.users):
                fills = write.fills if isinstance(write, ProducerWrite) else set[Fill]()
                if isinstance(write, ProducerCommit):
                    fills = {Fill.PRODUCTS}
                count = sum(fill.arrivals(_warps_of_part(op, write, function)) for fill in fills)
                if op.pair is not None and fills == {Fill.TILES}:
                    count *= 2
                if fills and op.producers.value != count:
                    failure = op.error(
                        f"has {op.producers.value} producers, but a stage is full after {count} "
                        f"arrival{'s' if count != 1 else ''}; expected producers = {count}"
                    )
                    failure.diagnostics[0].note("the stage is filled here", write.location)
                    yield failure
            readers = {agent_of(user): user for user in op.res.users if isinstance(user, ConsumerWait)}
            each = [_warps_of_part(op, user, function) for user in readers.values()]
            warps = sum(each) if op.in_turn is None else max(each, default=0)
            warps *= 1 + (len(op.peers.values) if op.peers is not None else 0)
            if op.pair is not None and op.is_of_products:
                warps *= 2
            if op.by_first is not None:
                warps *= prod(function.kernel_spec.cluster)  # type: ignore[union-attr]
            if readers and op.consumers.value != warps:
                yield op.error(
                    f"has {op.consumers.value} consumers, but {warps} warps release its stages; expected "
                    f"consumers = {warps}"
                )


def _warps_of_part(pipeline: CreatePipeline, user: Operation, function: Func) -> int:
    """The warps that arrive at one barrier of a pipeline: of several parts, those of a warpgroup."""
    from tessera_tools.target import WARPS_OF_WARPGROUP

    warps = _warps_around(user, function)
    if pipeline.parts is not None and warps == WARPS_OF_WARPGROUP * pipeline.parts.value:
        return WARPS_OF_WARPGROUP
    return warps


def _warps_around(op: Operation, function: Func) -> int:
    """The warps of the agent of an op, or of its kernel."""
    from tessera_tools.dialects.nv_tileas import AgentSwitch, agent_of

    region = agent_of(op)
    if region is None:
        assert function.kernel_spec is not None
        return function.kernel_spec.num_warps
    switch = region.parent
    assert isinstance(switch, AgentSwitch)
    return switch.unit(switch.regions.index(region)).warps


def _no_iterators(contents: Contents) -> Iterator[DiagnosticError]:
    from tessera_tools.dialects.nv_tileas import PipelineIterType

    for ops in contents.kernels.values():
        for op in ops:
            if any(isinstance(value.type, PipelineIterType) for value in (*op.results, *op.operands)):
                yield op.error("has an iterator of a pipeline; run --tileas-unwrap-pipeline-iterators")


_NO_ACCESSES = Check(
    "accesses and products are ops of nv_tileas with atoms",
    _none_of("nv_tileaa.tiled_", "nv_tileaa.dot", "nv_tileaa.addptr", "nv_tileaa.constant_tensor"),
)
_SHARED = ("arith", "math", "scf", "llvm", "nvvm")
"""The dialects beside its own whose ops a kernel has in every stage of nv_tileaa and nv_tileas."""
_BOTH = (
    Check("no op of cuda_tile or tile", _none_of("cuda_tile.", "tile.")),
    Check("the module says its target", _has_target),
    Check("tokens come from accesses of memory", _tokens),
)
_TILEAS = (
    Check("kernels have ops of the stage alone", _only("nv_tileas", "nv_tileaa", *_SHARED)),
    *_BOTH,
    _NO_ACCESSES,
    Check("each kernel has a kernel_spec", _specs_on_kernels),
    Check("agents have warps of the kernel", _agents),
    Check("each side of a pipeline uses every stage once and in order", _pipelines),
    Check("pipelines count the arrivals of the agents that use them", arrivals),
)
_LAID_OUT = (
    *_TILEAS,
    Check("every tile has a layout for the kernel's warps", _layouts),
    Check("an op that moves no elements between threads has tiles of one layout", _agreeing_layouts),
    Check("sums in flight are waited for before they are read", _sums_in_flight),
)
_PLACED = (
    *_LAID_OUT,
    Check("shared memory is in range, without overlapping uses", _places),
    Check("barriers stand between accesses that conflict", _barriers, at_entry=True),
)
SPECS: Mapping[str, tuple[Check, ...]] = {
    "nv_tileaa": (
        Check("kernels have ops of the stage alone", _only("nv_tileaa", *_SHARED)),
        *_BOTH,
        Check("tiles are plain tensors", _plain_tiles),
    ),
    "nv_tileas": _TILEAS,
    "layouts": _LAID_OUT,
    "placed": _PLACED,
    "unwrapped": (*_PLACED, Check("no value is an iterator of a pipeline", _no_iterators)),
    "llvm": (
        Check("no op of an earlier stage", _none_of("tile.", "cuda_tile.", "nv_tileaa.", "nv_tileas.")),
        Check("no cast", _none_of("builtin.unrealized_conversion_cast")),
        Check("kernels have ops of llvm and nvvm alone", _only_in_kernels_of_llvm),
    ),
}
"""Spec → its checks; later checks rely on earlier ones."""

PROMISES: Mapping[str, str] = {
    "convert-cuda-tile-to-tileaa": "nv_tileaa",
    "convert-tileaa-to-tileas": "nv_tileas",
    "convert-tile-to-tileas": "nv_tileas",
    "tileas-assign-layouts": "layouts",
    "tileas-insert-barriers": "placed",
    "tileas-unwrap-pipeline-iterators": "unwrapped",
    "convert-tileas-to-llvm": "llvm",
}
"""Pass → the spec that holds after it."""

NEEDS: Mapping[str, str] = {
    "tileas-schedule": "nv_tileas",
    "tileas-materialize-schedule": "nv_tileas",
    "tileas-materialize-tensor-memory": "nv_tileas",
    "tileas-assign-layouts": "nv_tileas",
    "tileas-remove-layout-conversions": "layouts",
    "tileas-materialize-pipeline": "layouts",
    "tileas-materialize-tma-stores": "layouts",
    "tileas-insert-barriers": "layouts",
    "tileas-unwrap-pipeline-iterators": "placed",
    "convert-nv-tile-func-to-llvm": "unwrapped",
}
"""Pass → the spec that must hold before it."""

ENDS = frozenset({"convert-nv-tile-func-to-llvm"})
"""Passes that invalidate the spec of their input."""


# -- passes on other stages

_WORKS_ON: Mapping[str, tuple[str, ...]] = {
    "convert-cuda-tile-to-tileaa": ("cuda_tile",),
    "convert-tileaa-to-tileas": ("nv_tileaa",),
    "convert-tile-to-tileas": ("tile",),
    "tileas-assign-layouts": ("nv_tileas", "nv_tileaa"),
    "tileas-remove-layout-conversions": ("nv_tileas", "nv_tileaa"),
    "tileas-materialize-pipeline": ("nv_tileas", "nv_tileaa"),
    "tileas-materialize-tensor-memory": ("nv_tileas", "nv_tileaa"),
    "tileas-materialize-tma-loads": ("nv_tileas", "nv_tileaa"),
    "tileas-materialize-tma-stores": ("nv_tileas", "nv_tileaa"),
    "tileas-insert-barriers": ("nv_tileas", "nv_tileaa"),
    "tileas-unwrap-pipeline-iterators": ("nv_tileas", "nv_tileaa"),
    "tileas-promote-accumulators": ("nv_tileas", "nv_tileaa"),
    "tileas-cut-products": ("nv_tileas", "nv_tileaa"),
    "tileas-round-loads": ("nv_tileas", "nv_tileaa"),
    "tileas-swap-operands": ("nv_tileas", "nv_tileaa"),
    "tileas-schedule": ("nv_tileas", "nv_tileaa"),
    "convert-nv-tile-func-to-llvm": ("nv_tileas", "nv_tileaa"),
    "convert-tileas-to-llvm": ("nv_tileas", "nv_tileaa"),
    "cuda-tile-lint": ("cuda_tile",),
    "fuse-fma": ("cuda_tile",),
    "loop-split": ("cuda_tile",),
    "tile-memory-management": ("tile",),
    "tile-intrinsic-lowering": ("tile",),
    "tile-register-coalescing": ("tile",),
    "tile-performance-annotation": ("tile",),
    "tile-barrier-optimization": ("tile",),
    "tile-double-buffering": ("tile",),
}
"""Pass → the dialects that it expects."""
_STAGES = ("tile", "cuda_tile", "nv_tileaa", "nv_tileas")


def dialects_of(module: Operation) -> set[str]:
    """The dialects of a module's ops, of stages before llvm."""
    return set(_dialects(module))


def _dialects(module: Operation) -> Iterator[str]:
    for op in module.walk():
        prefix = op.name.partition(".")[0]
        if prefix in _STAGES:
            yield prefix
        elif "tessera.kernel" in op.attributes:
            yield "tile"


def _is_llvm(module: Operation) -> bool:
    """True if the lowering of the module has ended: it has no op of another dialect."""
    dialects = {op.name.partition(".")[0] for op in module.walk()} - {"builtin"}
    return bool(dialects) and dialects <= {"llvm", "nvvm"}


def unknown_stage(name: str, module: Operation) -> str | None:
    """Why a pass does not apply to the stage of a module; None if it does."""
    known = _WORKS_ON.get(name)
    if known is None:
        return None
    if any(dialect in known for dialect in _dialects(module)):
        return None
    found = dialects_of(module)
    if not found and _is_llvm(module):
        found.add("llvm")
    if not found or found & set(known):
        return None
    stage = " and ".join(sorted(found))
    return f"pass '{name}' expects {known[0]}, but the module is in {stage}; the pass has no effect"
