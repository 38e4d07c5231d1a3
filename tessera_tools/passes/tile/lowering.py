"""The conversion of one kernel from `tile` to nv_tileas: its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.analysis.fragments import Fragments
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, tile
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr, TypeAttr, i32, i64
from tessera_tools.ir.builtin_attributes import index as index_attribute
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, OpT, Value
from tessera_tools.ir.effects import Effect, Kind, Resource, accesses
from tessera_tools.ir.location import Location
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.types import (
    DYNAMIC,
    I1,
    I32,
    I64,
    INDEX,
    IndexType,
    MemRefType,
    RankedTensorType,
)
from tessera_tools.passes.tile.rings import Ring
from tessera_tools.passes.tile.slices import Slice
from tessera_tools.passes.tile.tma_copies import Groups
from tessera_tools.records import dataclass
from tessera_tools.target import Target

HANDLERS: Registry[Callable[[Lowering, Any], None]] = Registry("handler")
"""Op name → the function that lowers it."""
handles = HANDLERS.of
"""Register the lowering of ops by name."""

_ON_HOST = "it is executed on the host, and not in a kernel"
REFUSALS: dict[str, str] = {
    **dict.fromkeys(
        (
            "tile.all_slice",
            "tile.all_to_all",
            "tile.allgather",
            "tile.allreduce",
            "tile.attention_divide",
            "tile.attention_rescale",
            "tile.flash_attention",
            "tile.iota",
            "tile.launch",
            "tile.reduce_scatter",
        ),
        _ON_HOST,
    ),
}
"""Op name → why an op of tile has no handler.  A test checks that each op has one or the other."""


@dataclass(slots=True)
class Matrix:
    """A matrix or vector in global memory: a view, and its start (row, column) in the view."""

    view: Value
    offsets: list[Value]
    slice: Slice | None = None
    """Its slice; None for a whole tensor."""
    tensor: Value | None = None
    """The parameter that it is a part of."""
    leading: Sequence[Value] = ()
    """Its indices along the leading dimensions."""

    @property
    def made(self) -> nv_tileaa.MakeMemRef:
        """The op that makes the view."""
        op = self.view.defining_op
        assert isinstance(op, nv_tileaa.MakeMemRef)
        return op


@dataclass(slots=True)
class Shared:
    """A stage of a buffer in shared memory: the nv_tileas value, and the stage's number."""

    buffer: Value
    stage: Value
    ring: Ring | None = None
    """The stages of a multi-stage buffer, which this value represents."""


class Lowering:
    """The new kernel, and the mapping of the program's values."""

    def __init__(
        self,
        builder: Builder,
        target: Target,
        fragments: Fragments,
        divergent: set[Value],
        groups: Groups,
        by_threads: bool,
    ) -> None:
        self.builder = builder
        self.target = target
        self.fragments = fragments
        self.divergent = divergent
        """Divergent values."""
        self.values: dict[Value, Value] = {}
        """Numbers."""
        self.tiles: dict[Value, Value] = {}
        """Fragment → its current tile."""
        self.tensors: dict[Value, tuple[Value, Sequence[Value], Sequence[Value], int]] = {}
        """Tensors that are parameters: address, extents, strides, alignment in bytes."""
        self.matrices: dict[Value, Matrix] = {}
        self.shared: dict[Value, Shared] = {}
        self.token: Value | None = None
        self.folded: set[Operation] = set()
        """tile.accumulate ops that are fused into their product."""
        self.profile: tuple[Value, Value] | None = None
        """The address of the records of markers, and their maximum number per block."""
        self.markers = 0
        """The number of markers so far."""
        self.by_thread = 0
        """The number of enclosing divergent loops and branches."""
        self.copies = False
        """A copy by cp.async has been started."""
        self.groups = groups
        """The copies by TMA."""
        self.by_threads = by_threads
        """Whether the groups of cp.async count: some copy is cp.async, or none is TMA."""
        self.pipeline: Value | None = None
        """The mbarriers of the groups of boxes."""
        self.filled: Any = None
        """The group of boxes that is committed next."""
        self.drained: Any = None
        """The group of boxes that is waited for next."""

    # -- building

    def start(self) -> None:
        """Create the first token, and the mbarriers of the groups of boxes."""
        self.token = self.insert(nv_tileaa.CreateMemToken()).res
        if self.groups.boxes:
            made = nv_tileas.CreatePipeline(
                i32(self.groups.slots), i32(1), i32(1), res=nv_tileas.PipelineTokenType()
            )
            self.pipeline = self.insert(made).res
            first, other = (
                nv_tileas.CreateIterator(self.pipeline, res=nv_tileas.PipelineIterType(I32)) for _ in range(2)
            )
            self.filled, self.drained = self.insert(first).res, self.insert(other).res

    def insert(self, op: OpT) -> OpT:
        """Append an op."""
        return self.builder.insert(op)

    def number(self, value: int, type: Type = INDEX) -> Value:
        """A constant."""
        attribute = index_attribute(value) if isinstance(type, IndexType) else IntegerAttr(value, type)
        return self.insert(arith.Constant(attribute)).result

    def narrow(self, value: Value) -> Value:
        """An index as an i32."""
        if value.type is I32:
            return value
        if isinstance(value.type, IndexType):
            return self.insert(arith.IndexCast(value, out=I32)).results[0]
        kind = arith.TruncI if value.type is I64 else arith.ExtSI
        return self.insert(kind(value, out=I32)).results[0]

    def index(self, value: Value) -> Value:
        """An integer as an index."""
        return (
            value
            if isinstance(value.type, IndexType)
            else self.insert(arith.IndexCast(value, out=INDEX)).results[0]
        )

    # -- values

    def tile_type(self, fragment: Value) -> RankedTensorType:
        """The type of a fragment's tile."""
        type = fragment.type_as(MemRefType)
        return RankedTensorType(self.fragments.shape(fragment), type.element)

    def tile(self, op: Operation, fragment: Value) -> Value:
        """The current tile of a fragment; raises an error if it has not been written."""
        found = self.tiles.get(fragment)
        if found is None:
            raise op.error("reads a fragment before it is written; initialize it with tile.fill")
        return found

    def scalar(self, op: Operation, value: Value) -> Value:
        """The converted value of a scalar."""
        found = self.values.get(value)
        if found is None:
            raise op.error(
                f"uses a value of type {value.type} in a way that convert-tile-to-tileas does not support"
            )
        return found

    def stage(self, op: Operation, buffer: Value) -> Shared:
        """The stage of a single-stage buffer in shared memory; raises an error if it has several."""
        found = self.shared.get(buffer)
        if found is None:
            raise op.error(f"uses {buffer.type}; expected the result of tile.alloc_shared, or a part of it")
        if found.ring is not None:
            raise op.error("uses all stages of a multi-stage buffer; select one stage with memref.subview")
        own = found.buffer.type
        if own.tile != buffer.type.shape:  # type: ignore[attr-defined]
            raise op.error(f"uses {buffer.type}, which has dimensions of extent 1; drop them")
        return found

    def error(self, value: Value, message: str) -> DiagnosticError:
        """An error at the definition of a value."""
        return error(value.location, message)

    # -- operations

    def block(self, block: Block, skipped: Sequence[str] = ()) -> None:
        """Lower the operations of a block, except its terminator and ops with a name in `skipped`."""
        last = block.last_op
        # A view defined in a region is not available after it.
        matrices = dict(self.matrices)
        for op in block:
            if op.name not in skipped and (op is not last or not op.name.endswith(("yield", "return"))):
                self.op(op)
        self.matrices = matrices

    def op(self, op: Operation) -> None:
        """Lower one operation."""
        self.builder.location = op.location
        _check_passed_on(op)
        handler = HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        elif op.name.startswith(("arith.", "math.")) and not any(
            isinstance(t, MemRefType) for t in op.operand_types
        ):
            mapping = IRMapping({v: self.scalar(op, v) for v in op.operands})
            copy = self.insert(op.clone(mapping))
            self.values.update(zip(op.results, copy.results, strict=True))
        else:
            why = REFUSALS.get(op.name)
            raise op.error("is not supported by convert-tile-to-tileas" + (f": {why}" if why else ""))

    def ordered(self, region_owner: Operation) -> bool:
        """True if an op with regions accesses tiles of global memory, so that later ops must be ordered after it."""
        return any(isinstance(op, tile.StoreGlobal | tile.LoadGlobalTile) for op in region_owner.walk())

    def written(self, region_owner: Operation) -> list[Value]:
        """Fragments defined outside an op with regions that nested ops write, in order."""
        inside = {r for op in region_owner.walk() for r in op.results}
        found: dict[Value, None] = {}
        for op in region_owner.walk():
            for value in writes_of(op):
                if value not in inside:
                    found[value] = None
        return list(found)

    # -- global memory

    def matrix(self, tensor: Value, leading: list[Value], start: list[Value], location: Location) -> Matrix:
        """A matrix of the last one or two dimensions of a tensor, for given leading indices and start."""
        pointer, _, strides, alignment = self.tensors[tensor]
        type = tensor.type_as(MemRefType)
        rank, element = type.rank, type.element
        bytes = storage_bits(element) // 8
        if storage_bits(element) % 8 or element is I1:
            raise error(
                location,
                f"a matrix of {element} in global memory; only elements of whole bytes are supported",
            )
        base = self.insert(nv_tileaa.Assume(pointer, divisor=i64(alignment), res=pointer.type)).res
        for index, stride in zip(leading, strides, strict=False):
            wide = self.insert(arith.ExtSI(stride, out=I64)).out
            place = self.insert(arith.IndexCast(index, out=I64)).results[0]
            moved = self.insert(arith.MulI(place, wide)).result
            base = self.insert(nv_tileaa.Offset(base, moved, elem_type_of(element), res=PointerType(1))).res
        if leading:
            base = self.insert(nv_tileaa.Assume(base, divisor=i64(alignment), res=pointer.type)).res
        whole = max(1, alignment // bytes)
        axes = range(rank - len(start), rank)
        own = [
            self.insert(nv_tileaa.Assume(strides[axis], divisor=i64(whole), lower=i64(0), res=I32)).res
            for axis in axes[:-1]
        ]
        view = self.view(base, [self.extent(tensor, axis) for axis in axes], own, element)
        return Matrix(view, [self.narrow(place) for place in start], None, tensor, leading)

    def extent(self, tensor: Value, axis: int) -> Value | int:
        """The extent of a parameter along an axis: static, or a kernel parameter (i32) with its assumptions."""
        _, extents, _, alignment = self.tensors[tensor]
        type = tensor.type_as(MemRefType)
        if type.shape[axis] != DYNAMIC:
            return type.shape[axis]
        whole = max(1, alignment // max(1, storage_bits(type.element) // 8))
        divisor = i64(whole) if axis == type.rank - 1 else None
        return self.insert(nv_tileaa.Assume(extents[axis], divisor=divisor, lower=i64(0), res=I32)).res

    def view(
        self, base: Value, shape: Sequence[Value | int], strides: Sequence[Value], element: Type
    ) -> Value:
        """A view of a matrix with a row stride, or of a vector; the last dimension is contiguous."""
        static = tuple(n if isinstance(n, int) else nv_tileaa.DYNAMIC_INDEX for n in shape)
        return self.insert(
            nv_tileaa.MakeMemRef(
                base,
                [n for n in shape if isinstance(n, Value)],
                list(strides),
                DenseArrayAttr(I64, static),
                DenseArrayAttr(I64, (*(nv_tileaa.DYNAMIC_INDEX for _ in strides), 1)),
                nv_tileaa.GlobalSpaceAttr(),
                res=nv_tileaa.MemRefType(
                    tuple(DYNAMIC if isinstance(n, Value) else n for n in shape), element
                ),
            )
        ).res


def elem_type_of(element: Type) -> TypeAttr:
    """The attribute for an element type."""
    return TypeAttr(element)


def index_of(value: int) -> IntegerAttr:
    """An i32 attribute."""
    return i32(value)


def fragment_accesses(op: Operation) -> list[tuple[Effect, Value]]:
    """The effects of an op on fragments that it accesses in place; none if it declares no effects."""
    if op.effects() is None:
        return []
    return [
        (effect, value)
        for effect, value in accesses(op)
        if effect.resource is Resource.REGISTERS and value is not None
    ]


def writes_of(op: Operation) -> list[Value]:
    """The fragments that an op modifies in place."""
    return [value for effect, value in fragment_accesses(op) if effect.kind is Kind.WRITE]


_PASSED_ON = {
    0: "tensors in global memory, which are parameters or slices of them; pass on where a slice begins",
    3: "buffers, whose places in shared memory are fixed; pass on the number of a part",
}
"""Memory space → what loops and branches cannot have as results, and what they can have."""


def _check_passed_on(op: Operation) -> None:
    """Raises an error for a loop, a branch or an op on numbers with memory as a result."""
    if not op.name.startswith(("scf.", "arith.")):
        return
    for type in op.result_types:
        if isinstance(type, MemRefType) and (what := _PASSED_ON.get(tile.space_of(type))) is not None:
            raise op.error(f"passes on {what} instead, and take it with memref.subview")
