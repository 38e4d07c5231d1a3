"""Lowering of one kernel: the state, and the table from op names to the functions that lower them.

@lowers("nv_tileas.dot")
def dot(low: Lowering, op: nv_tileas.Dot) -> None:
    low.define(op.res, Tile(…))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from math import prod
from typing import Any, TypeVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.tensor_maps import TensorMap
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileaa import MemTokenType
from tessera_tools.dialects.nv_tileas import ConsumerTokenType, layout_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, IRMapping, Operation, Value
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import BF16, F16, I32, FloatType, RankedTensorType, bit_width
from tessera_tools.layout import LayoutError
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.symbols import Symbols
from tessera_tools.passes.llvm.tensor_fences import TensorFences
from tessera_tools.passes.llvm.tiles import Buffer, Tile, View, converted
from tessera_tools.planning.shared_memory import Allocation
from tessera_tools.target import ExecutionUnit, Target, launched_registers

LOWERINGS: Registry[Callable[[Lowering, Any], None]] = Registry("lowering")
"""Op name → the function that lowers it."""
lowers = LOWERINGS.of
"""Register a lowering for op names."""
FAMILIES = (
    "elementwise", "constants", "global_memory", "control", "pointers", "shapes", "reductions", "packing", "shared_ops",
    "dots", "elements", "effects", "agents", "tma", "wgmma", "clusters", "mbarriers", "orders", "tensor_memory",
    "atomics", "launch_control", "cluster_sums", "cluster_order", "multimem", "heap", "assertions", "printing",
    "profiling",
)  # fmt: skip
"""The modules that register lowerings when they are imported, those of most kernels first."""
Lower = TypeVar("Lower", bound=Callable[..., None])
EMITTED: dict[Callable[..., None], frozenset[str]] = {}
"""Lowering → the primitives of atoms (dialects/atoms.py) that it has code for.  A test compares it with that table."""


def lowering_of(name: str) -> Callable[[Lowering, Any], None] | None:
    """The function that lowers an op; None if there is none. A family is imported when an op is in none before it."""
    if name not in LOWERINGS:
        for family in FAMILIES:
            import_module(f"tessera_tools.passes.llvm.{family}")
            if name in LOWERINGS:
                break
    return LOWERINGS.get(name)


def all_lowerings() -> Registry[Callable[[Lowering, Any], None]]:
    """The functions of all families by the names of their ops."""
    for family in FAMILIES:
        import_module(f"tessera_tools.passes.llvm.{family}")
    return LOWERINGS


def emits(*primitives: str) -> Callable[[Lower], Lower]:
    """State which primitives of atoms a lowering emits."""

    def enter(function: Lower) -> Lower:
        EMITTED[function] = frozenset(primitives)
        return function

    return enter


REFUSALS: dict[str, str] = {
    **dict.fromkeys(
        (
            "nv_tileaa.addptr",
            "nv_tileaa.tiled_load",
            "nv_tileaa.tiled_store",
            "nv_tileaa.dot",
            "nv_tileaa.constant_tensor",
        ),
        "an op of an earlier stage; run --convert-tileaa-to-tileas first",
    ),
    **dict.fromkeys(
        ("nv_tileas.async.pipeline.send", "nv_tileas.async.pipeline.receive"),
        "an op between agents; run --tileas-resolve-agent-boundary first",
    ),
    **dict.fromkeys(
        ("nv_tileas.async.pipeline.create_iterator", "nv_tileas.async.pipeline.inc_iter"),
        "an op on iterators of pipelines; run --tileas-unwrap-pipeline-iterators first",
    ),
    "nv_tileas.func": "an op of the older spelling, which the reader of the text replaces",
    "nv_tileaa.func": "a nested function; kernels cannot contain functions",
    "func.func": "a nested function; kernels cannot contain functions",
    **dict.fromkeys(
        ("func.call", "func.call_indirect", "func.constant"),
        "a call, which kernels cannot make; inline the function",
    ),
    **dict.fromkeys(
        ("arith.addui_extended", "arith.mulsi_extended"),
        "an operation with two results, which is not supported on tiles; compute both parts by themselves",
    ),
    **dict.fromkeys(
        ("arith.scaling_extf", "arith.scaling_truncf"),
        "a scaled conversion, which is not supported; convert and multiply by the scale instead",
    ),
    **dict.fromkeys(
        (
            "nv_tileaa.first_program_id",
            "nv_tileaa.is_valid_program_id",
            "nv_tileaa.cancel_next_program_id",
        ),
        "an op on numbers of programs; run --tileas-resolve-program-ids first",
    ),
    "scf.while": "a loop with a condition; use nv_tileaa.loop, and leave it by nv_tileaa.break",
    "scf.execute_region": "a region of its own; run --canonicalize first, or write its ops where it stands",
    "scf.index_switch": "a switch; use a chain of scf.if",
    **dict.fromkeys(
        ("scf.parallel", "scf.forall"),
        "a parallel loop; the threads of a kernel share tiles, not iterations",
    ),
    "cf.assert": "an assertion outside a tile program; use nv_tileaa.assert",
}
"""Op name → why an op of nv_tileaa, nv_tileas, arith, math, scf or func has no lowering here.  A test holds that each
has one or the other.  Branches of cf are refused with their function."""


class Lowering:
    """The lowering of one kernel to llvm: the emitter, and the lowered values."""

    def __init__(
        self,
        emitter: Emitter,
        target: Target,
        allocation: Allocation,
        symbols: Symbols,
        cluster: Sequence[int] = (1, 1, 1),
    ) -> None:
        self.e = emitter
        self.unit_of_kernel = emitter.unit
        self.symbols = symbols
        self.target = target
        self.cluster = tuple(cluster)
        """The CTAs of a cluster along each axis of the grid."""
        self.ctas = prod(cluster)
        """The CTAs of a cluster."""
        self.launched_registers = launched_registers(target, self.unit_of_kernel.threads)
        """Registers of each thread until it requests others."""
        self.allocation = allocation
        self.values: dict[Value, Any] = {}
        self.heap: dict[Value, Value] = {}
        """The pointer that malloc returned for each heap_alloc, as an integer."""
        self.facts = Facts()
        self.loops: dict[Operation, tuple[Block, Block]] = {}
        """The destinations of `continue` and `break` of each loop."""
        self.fences = TensorFences()
        """Where tcgen05.fence stands."""
        self.reached: set[Block] = set()
        """Blocks with a predecessor."""
        self.tensor_maps: list[TensorMap] = []
        """The ops for which the launcher creates hidden parameters, after the declared ones."""
        self.hidden: list[Value] = []
        self.prefetched = 0
        """How many of them are brought into a cache."""
        self.reachable = True
        """The current position is reachable; code after a branch that always exits is not lowered."""

    @property
    def unit(self) -> ExecutionUnit:
        """The execution unit of the current code."""
        return self.e.unit

    # -- values

    def define(self, value: Value, lowered: Any) -> None:
        """Set the lowered form of a source value."""
        self.values[value] = lowered

    def scalar(self, value: Value) -> Value:
        """The llvm value of a scalar."""
        found = self.values[value]
        assert isinstance(found, Value)
        return found

    def tile(self, value: Value) -> Tile:
        """The per-thread values of a tile."""
        found = self.values[value]
        assert isinstance(found, Tile)
        return found

    def view(self, value: Value) -> View:
        """A view of global memory."""
        found = self.values[value]
        assert isinstance(found, View)
        return found

    def buffer(self, value: Value) -> Buffer:
        """A buffer in shared memory."""
        found = self.values[value]
        assert isinstance(found, Buffer)
        return found

    def add_hidden(self, op: Operation) -> Value:
        """One more parameter of the kernel: a pointer to a tensor map."""
        entry = self.e.region.blocks[0]
        self.hidden.append(entry.add_argument(PointerType(0), op.location))
        return self.hidden[-1]

    def stage(self, value: Value) -> tuple[Value, ...]:
        """(stage,) of a consumer's token."""
        found = self.values[value]
        assert isinstance(found, tuple)
        return found

    # -- one value as many (control flow)

    def types_of(self, value: Value) -> list[Type]:
        """The llvm types that a source value takes as block arguments: one an element for a tile, or one a word of
        floats of 16 or 8 bits, and none for a token."""
        type = value.type
        if isinstance(type, RankedTensorType):
            count = layout_of(type).in_size("register")
            element = converted(type.element)
            return [I32] * (count * bit_width(element) // 32) if _fills_words(type) else [element] * count
        if isinstance(type, ConsumerTokenType):
            return [I32]
        return [converted(type)] if not isinstance(type, MemTokenType) else []

    def flatten(self, value: Value) -> list[Value]:
        """The llvm values of a source value, one an element for a tile."""
        lowered = self.values[value]
        if lowered is None:
            return []
        if isinstance(lowered, tuple):
            return list(lowered)
        return lowered.elements(self.e) if isinstance(lowered, Tile) else [lowered]

    def define_flat(self, value: Value, flat: list[Value]) -> None:
        """Define a source value from what `flatten` gives."""
        if isinstance(value.type, RankedTensorType):
            self.define(value, Tile(value.type, flat))
        elif isinstance(value.type, MemTokenType):
            self.define(value, None)
        elif isinstance(value.type, ConsumerTokenType):
            self.define(value, tuple(flat))
        else:
            (scalar,) = flat
            self.define(value, scalar)

    def flatten_all(self, values: Iterable[Value]) -> list[Value]:
        """Source values as block arguments, one after the other: of the types that `types_of` gives."""
        found: list[Value] = []
        for value in values:
            lowered = self.values[value]
            in_words = isinstance(lowered, Tile) and _fills_words(value.type)
            found += lowered.words(self.e) if in_words else self.flatten(value)
        return found

    def define_all(self, values: Iterable[Value], flat: Sequence[Value]) -> None:
        """Define several source values from the result of `flatten_all`."""
        left = list(flat)
        for value in values:
            count = len(self.types_of(value))
            if isinstance(value.type, RankedTensorType) and _fills_words(value.type):
                self.define(value, Tile(value.type, words=left[:count]))
            else:
                self.define_flat(value, left[:count])
            del left[:count]

    # -- operations

    def block(self, block: Block) -> None:
        """Lower the reachable operations of a block, except its terminator."""
        for op in block:
            if self.reachable and not op.has_trait(Terminator):
                self.op(op)

    def op(self, op: Operation) -> None:
        """Lower one operation."""
        self.e.location = op.location
        copied = op.name.startswith(("llvm.", "nvvm."))
        function = None if copied else lowering_of(op.name)
        if function is not None:
            try:
                function(self, op)
            except (LayoutError, Refusal) as problem:
                raise op.error(f"failed to legalize operation: {problem}") from None
        elif copied and not op.regions and not op.successors:
            mapping = IRMapping({value: self.scalar(value) for value in op.operands})
            copy = self.e.emit(op.clone(mapping))
            for old, new in zip(op.results, copy.results, strict=True):
                self.define(old, new)
        else:
            if op.name in REFUSALS:
                raise op.error(f"failed to legalize operation: it is {REFUSALS[op.name]}")
            raise op.error("failed to legalize operation: convert-tileas-to-llvm has no lowering for it")


def _fills_words(type: Type) -> bool:
    """Whether a tile's elements are floats of 16 or 8 bits that fill whole words: those go around loops and out of
    branches packed, as products and conversions of pairs take them."""
    if not isinstance(type, RankedTensorType):
        return False
    element = type.element
    if converted(element) not in (F16, BF16) and not (isinstance(element, FloatType) and element.width == 8):
        return False
    return layout_of(type).in_size("register") * bit_width(element) % 32 == 0
