"""The state of the conversion of one function: the new function, the value mapping, types, refusals.

    cuda_tile op ──handler(op, lowering)──▶ lowering.emit(new ops) ──▶ lowering.replace(op, values)

The old program is not modified, so a failed conversion leaves it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tessera_tools.analysis.facts import Facts
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Builder, Operation, OpT, Region, Value
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.opdef.dialect import find_op
from tessera_tools.records import dataclass
from tessera_tools.target import Target

PASS = "convert-cuda-tile-to-tileaa"

GLOBAL_POINTER = PointerType(1)
"""`!llvm.ptr<1>`: an address in global memory."""

Handler = Callable[[Any, "Lowering"], None]
HANDLERS: Registry[Handler] = Registry("handler")
"""Op name → the function that lowers it."""

_OLDER = "it is an older spelling in a position where none is supported"
_AT_TOP = "it is only allowed at the top level of a module"
REFUSALS: dict[str, str] = {
    **dict.fromkeys(("cuda_tile.module", "cuda_tile.entry", "cuda_tile.global"), _AT_TOP),
    **dict.fromkeys(
        (
            "cuda_tile.tensor_view",
            "cuda_tile.partition_view",
            "cuda_tile.legacy_get_tile_block_id",
            "cuda_tile.legacy_load_view_tko",
            "cuda_tile.legacy_store_view_tko",
            "cuda_tile.legacy_for",
        ),
        _OLDER,
    ),
    "cuda_tile.testing$func": "it is a function for tests, which nothing launches",
}
"""Op name → why an op of cuda_tile has no handler.  A test checks that each op has one or the other."""


def handles(*kinds: type[Operation]) -> Callable[[Handler], Handler]:
    """Register the lowering of ops of these classes."""
    return HANDLERS.of(*(kind.name for kind in kinds))


@dataclass
class Counter:
    """The counter of a `for` that became an `nv_tileaa.loop`: new values."""

    induction: Value
    upper: Value
    step: Value
    may_wrap: bool


class TileView(NamedTuple):
    """The lowered form of a view of tiles: a memref whose axes are those of the tile."""

    memref: Value
    type: ct.TileViewType


class Lowering:
    """The lowering of one entry."""

    def __init__(self, target: Target, entry: Block) -> None:
        self.target = target
        self.entry = entry
        self.builder = Builder.at_end(entry)
        self.facts = Facts()
        self.views: dict[Value, TileView] = {}
        self.left_early: dict[Operation, set[Operation]] = {}
        """The ops of an entry that a nested terminator ends early."""
        self.counters: dict[Operation, Counter] = {}
        """Loops in conversion that have an explicit counter."""
        self._values: dict[Value, Value] = {}
        self._start: Value | None = None

    # -- types

    def type_of(self, type: Type, op: Operation) -> Type:
        """The lowered type of a cuda_tile type.  Refuses views, which are lowered to other values."""
        if isinstance(type, ct.TokenType):
            return aa.MEM_TOKEN
        if isinstance(type, ct.TileType):
            if isinstance(type.element, ct.PointerType):
                element: Type = GLOBAL_POINTER
            else:
                element = type.element
            return RankedTensorType(type.shape, element) if type.shape else element
        if isinstance(type, ct.CudaTileType):
            raise self.refuse(op, f"no value of type '{type}' here")
        return type

    # -- values

    def __getitem__(self, value: Value) -> Value:
        """The lowered value."""
        return self._values[value]

    def values(self, values: Sequence[Value]) -> list[Value]:
        """The lowered values of several values."""
        return [self._values[value] for value in values]

    def define(self, old: Value, new: Value) -> None:
        """Map `old` to `new`; if `new` has no name, it gets the name of `old`."""
        self._values[old] = new
        if new.name_hint is None:
            new.name_hint = old.name_hint

    def replace(self, op: Operation, *values: Value) -> None:
        """Map the results of an op to values."""
        for old, new in zip(op.results, values, strict=True):
            self.define(old, new)

    # -- operations

    def emit(self, op: OpT) -> OpT:
        """Insert an operation at the insertion point, with the location of the current op."""
        return self.builder.insert(op)

    def emit_named(self, op: Operation, name: str, *operands: Value, **attributes: Any) -> Value:
        """Insert the op with that full name; its result types are inferred."""
        kind = find_op(name)
        if kind is None:
            raise self.refuse(op, f"no '{name}'")
        return self.emit(kind(*operands, **attributes)).results[0]

    def integer(self, value: int, type: Type) -> Value:
        """An integer constant."""
        return self.emit(arith.Constant(IntegerAttr.wrap(value, type))).result

    def start_token(self) -> Value:
        """The initial token, created at the top of the function on first use."""
        start = self._start
        if start is None:
            op = aa.CreateMemToken(location=self.builder.location)
            self.entry.insert_before(self.entry.first_op, op)
            self._start = start = op.results[0]
        return start

    def region(self, body: Block, types: Sequence[Type]) -> Region:
        """A region of one block whose arguments are mapped from those of `body`; its operations are not lowered yet."""
        block = Block(list(types), [a.location for a in body.arguments])
        for old, new in zip(body.arguments, block.arguments, strict=True):
            self.define(old, new)
        return Region([block])

    def lower_ops(self, ops: Sequence[Operation], block: Block) -> None:
        """Lower operations at the end of a block of the new function."""
        saved = self.builder
        self.builder = Builder.at_end(block)
        try:
            for op in ops:
                self.lower(op)
        finally:
            self.builder = saved

    def lower(self, op: Operation) -> None:
        """Lower one operation here."""
        self.builder.location = op.location
        handler = HANDLERS.get(op.name)
        if handler is not None:
            handler(op, self)
        elif op.name.startswith("cuda_tile."):
            raise self.refuse(op, REFUSALS.get(op.name, ""))
        elif op.regions or any(isinstance(t, ct.CudaTileType) for t in (*op.operand_types, *op.result_types)):
            raise self.refuse(
                op, "only cuda_tile ops and builtin-dialect ops without regions are allowed in an entry"
            )
        else:
            copy = self.emit(op.clone())
            for use in copy.op_operands:
                use.set(self._values[use.value])
            self.replace(op, *copy.results)

    def refuse(self, op: Operation, what: str = "") -> DiagnosticError:
        """The error for an unsupported op; `what` describes what is missing, or supported instead."""
        return refusal(op, what)


def refusal(op: Operation, what: str = "") -> DiagnosticError:
    """As `Lowering.refuse`."""
    return op.error(
        f"is not supported by {PASS} in this version: {what or 'it has no counterpart in nv_tileaa yet'}"
    )
