"""The older spelling of `cuda_tile`, and its translation into today's.

    cuda_tile.tensor_view %A, shape = [%M, %K], stride = [%K, 1] : !cuda_tile.tensor_view<128x64xf16>
        ─▶ make_tensor_view %A, shape = [%M, %K], strides = [%K, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>

It is read into the ops of `legacy_ops`; `upgrade_legacy` replaces them.  Other differences than spelling:

- scalars are plain `i32`, pointers plain `ptr`; today they are tiles of rank 0.  `arith` ops on scalars are ops of
  this dialect today.
- the type of a tensor view names the tiles that are cut from it; the tensor's own shape is given by the op.
- a partition view loads zeros outside the tensor, so that ragged edges are right.
- `mmaf` expects B as N×K; the current op expects K×N, so B is permuted first.
- a loop's body ends in `yield`, today `continue`; `get_tile_block_id` has one result and an `axis`.
- the module has no name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tessera_tools.dialects.cuda_tile import core_ops, float_ops, integer_ops
from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING, PaddingValueAttr, SignednessAttr
from tessera_tools.dialects.cuda_tile.bodies import Yield
from tessera_tools.dialects.cuda_tile.control_flow import Continue, For
from tessera_tools.dialects.cuda_tile.legacy_ops import (
    LEGACY_OPS,
    LegacyBlockId,
    LegacyFor,
    LegacyLoad,
    LegacyPartitionView,
    LegacyStore,
    LegacyTensorView,
)
from tessera_tools.dialects.cuda_tile.structure import Entry
from tessera_tools.dialects.cuda_tile.types import (
    NUMBERS,
    LegacyPartitionViewType,
    LegacyTensorViewType,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
    scalar,
)
from tessera_tools.dialects.cuda_tile.views import (
    LoadViewTko,
    MakePartitionView,
    MakeTensorView,
    StoreViewTko,
)
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    DenseArrayAttr,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    TypeAttr,
)
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.types import I32, FunctionType
from tessera_tools.opdef import Op

if TYPE_CHECKING:
    pass

WEAK = MEMORY_ORDERING.build(("weak", 0))
ZERO_PADDING = PaddingValueAttr("zero")


def upgrade_legacy(module: Operation) -> bool:
    """Translate every entry of the older spelling into today's ops, in place; whether there was one.

    Entries are looked for at the top of `module` and in the modules there.  DiagnosticError where something has no
    counterpart today.
    """
    found = False
    for entry in list(_entries(module)):
        if _is_legacy(entry):
            found = True
            _Upgrade(entry).run()
    if LegacyTensorViewType._instances or LegacyPartitionViewType._instances:
        _refuse_older_types(module)
    return found


def _refuse_older_types(module: Operation) -> None:
    """Nothing but the ops of the older spelling, which are gone now, has its types. Raises DiagnosticError."""
    for op in module.walk():
        for value in op.results:
            if isinstance(value.type, LegacyTensorViewType):
                raise op.error(f"has the type '{value.type}': expected 'strides' after its element type")
            if isinstance(value.type, LegacyPartitionViewType):
                raise op.error(f"has the type '{value.type}': expected 'tile' and a tensor_view in it")


def _entries(op: Operation) -> Iterator[Entry]:
    for part in op.regions:
        for block in part.blocks:
            for inner in block.operations:
                if isinstance(inner, Entry):
                    yield inner
                elif inner.name in ("cuda_tile.module", "builtin.module"):
                    yield from _entries(inner)


def _is_legacy(entry: Entry) -> bool:
    inputs = entry.function_type.value.inputs
    try:
        if any(_today(kind) is not kind for kind in inputs):
            return True
    except ValueError as failure:
        raise entry.error(str(failure)) from None
    return any(isinstance(op, LEGACY_OPS) for op in entry.walk())


def _today(kind: Type) -> Type:
    """The type that a scalar or pointer has today."""
    return scalar(kind) if isinstance(kind, PointerType) or kind in NUMBERS else kind


class _Upgrade:
    """Translates the body of one entry."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.rules: dict[type[Operation], Callable[[Any], None]] = {
            LegacyTensorView: self._tensor_view,
            LegacyPartitionView: self._partition_view,
            LegacyBlockId: self._block_id,
            LegacyLoad: self._load,
            LegacyStore: self._store,
            LegacyFor: self._for,
            float_ops.MmaF: self._mmaf,
        }

    def run(self) -> None:
        """Retype the arguments, then translate the body in order (operands are translated before their users)."""
        signature = self.entry.function_type.value
        inputs = tuple(map(_today, signature.inputs))
        self.entry.function_type = TypeAttr(FunctionType(inputs, signature.results))
        for argument in self.entry.body.entry.arguments:
            argument.type = _today(argument.type)
        self._block(self.entry.body.entry)

    def _block(self, block: Block) -> None:
        for op in list(block.operations):
            rule = self.rules.get(type(op))
            if rule is not None:
                try:
                    # The verifier has not seen the older ops yet: the rules rely on what they declare.
                    op.verify_declared()  # type: ignore[attr-defined]
                    rule(op)
                except ValueError as problem:  # of a type that today's dialect refuses
                    raise op.error(str(problem)) from None
            elif op.name.startswith("arith."):
                self._arith(op)
            else:
                for part in op.regions:
                    for inner in part.blocks:
                        self._block(inner)

    def _replace(self, old: Operation, new: Operation, values: list[Value] | None = None) -> None:
        """Put `new` in the place of `old`; its results (or `values`) take over uses and names."""
        new.location = old.location
        assert old.parent is not None
        old.parent.insert_before(old, new)
        for before, after in zip(old.results, values if values is not None else new.results, strict=True):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        old.erase()

    def _tensor_view(self, op: LegacyTensorView) -> None:
        base = op.base.type
        if not isinstance(base, TileType) or not isinstance(base.element, PointerType):
            raise op.error(f"operand #0 must be a pointer, but got '{base}'")
        named = op.result.type
        shape, strides = op.static_shape.values, op.static_strides.values
        if len(shape) != len(named.shape) or len(strides) != len(named.shape):
            raise op.error(
                f"expects {len(named.shape)} extents and strides, as many as '{named}' has dimensions"
            )
        view = TensorViewType(shape, named.element, strides)
        self._replace(op, MakeTensorView(op.base, op.shape, op.strides, result=view))

    def _partition_view(self, op: LegacyPartitionView) -> None:
        view = op.tensor_view.type
        tile, dim_map = op.tile.values, op.dim_map.values
        if not isinstance(view, TensorViewType):
            raise op.error(f"operand #0 must be a tensor_view, but got '{view}'")
        if op.result.type is not LegacyPartitionViewType(tile, view.element):
            expected = LegacyPartitionViewType(tile, view.element)
            raise op.error(
                f"result #0 must be '{expected}' by its tile and tensor_view, but got '{op.result.type}'"
            )
        if dim_map == tuple(range(len(tile))):
            dim_map = ()
        try:
            partition = PartitionViewType(tile, view, dim_map, ZERO_PADDING)
        except ValueError as problem:
            raise op.error(str(problem)) from None
        self._replace(op, MakePartitionView(op.tensor_view, result=partition))

    def _block_id(self, op: LegacyBlockId) -> None:
        axis = op.axis.value
        if axis not in (0, 1, 2):
            raise op.error(f"axis must be 0, 1 or 2, but got: {axis}")
        new = core_ops.GetTileBlockId(blockId_x=scalar(I32))
        for letter, value in zip("xyz", new.results, strict=True):
            value.name_hint = f"blockId_{letter}"
        self._replace(op, new, [new.results[axis]])

    def _load(self, op: LegacyLoad) -> None:
        view = self._view(op)
        if op.tile.type is not view.tile_type:
            raise op.error(
                f"expected tile type to be '{view.tile_type}' (based on view type), got '{op.tile.type}'"
            )
        new = LoadViewTko(
            memory_ordering_semantics=WEAK,
            view=op.view,
            index=op.index,
            token=op.token,
            tile=view.tile_type,
            result_token=op.result_token.type,
        )
        self._replace(op, new)

    def _store(self, op: LegacyStore) -> None:
        self._view(op)
        new = StoreViewTko(
            memory_ordering_semantics=WEAK,
            tile=op.tile,
            view=op.view,
            index=op.index,
            token=op.token,
            result_token=op.result_token.type,
        )
        self._replace(op, new)

    def _view(self, op: LegacyLoad | LegacyStore) -> PartitionViewType:
        view = op.view.type
        if not isinstance(view, PartitionViewType):
            raise op.error(f"operand #0 must be a partition_view, but got '{view}'")
        return view

    def _for(self, op: LegacyFor) -> None:
        body = Region()
        body.take_blocks(op.body)
        argument = body.entry.arguments[0]
        argument.type = _today(argument.type)
        new = For(
            op.lowerBound, op.upperBound, op.step, op.initValues, resultValues=op.result_types, body=body
        )
        new.attributes.update(op.discardable_attributes)
        last = body.entry.last_op
        if isinstance(last, Yield):
            self._replace(last, Continue(last.values))
        self._replace(op, new)
        self._block(body.entry)

    def _mmaf(self, op: float_ops.MmaF) -> None:
        """B of N×K becomes K×N; `fastmath` is the behavior of `mmaf`."""
        kind = op.rhs.type
        if len(kind.shape) != 2:
            raise op.error(f"operand #1 must be a 2D tile in the older spelling, but got '{kind}'")
        rows, columns = kind.shape
        order = DenseArrayAttr(I32, (1, 0))
        permute = core_ops.Permute(
            op.rhs, order, result=TileType((columns, rows), kind.element), location=op.location
        )
        assert op.parent is not None
        op.parent.insert_before(op, permute)
        op.set_operand(1, permute.result)
        op.attributes.pop("fastmath", None)

    def _arith(self, op: Operation) -> None:
        """Arithmetic on scalars."""
        word = op.name.partition(".")[2]
        if word == "constant":
            value = _tile_constant(op.attributes.get("value"))
            if value is not None:
                self._replace(op, core_ops.Constant(value, result=value.type))
                return
        build = _ARITH.get(word)
        if build is None or any(not isinstance(v.type, TileType) for v in op.operands):
            raise op.error("has no counterpart in cuda_tile; use an op of cuda_tile on tiles")
        self._replace(op, build(*op.operands))


def _tile_constant(value: Attribute | None) -> DenseElementsAttr | None:
    if isinstance(value, IntegerAttr) and value.type in NUMBERS:
        return DenseElementsAttr.of(scalar(value.type), [value.value])
    if isinstance(value, FloatAttr) and value.type in NUMBERS:
        return DenseElementsAttr.of(scalar(value.type), [value.bits])
    return None


def _with_sign(op_class: type[Op], sign: str) -> Callable[..., Operation]:
    return lambda *operands: op_class(*operands, signedness=SignednessAttr(sign))


_ARITH: dict[str, Callable[..., Operation]] = {
    "addi": integer_ops.AddI,
    "subi": integer_ops.SubI,
    "muli": integer_ops.MulI,
    "andi": integer_ops.AndI,
    "ori": integer_ops.OrI,
    "xori": integer_ops.XOrI,
    "shli": integer_ops.ShLI,
    "divsi": _with_sign(integer_ops.DivI, "signed"),
    "divui": _with_sign(integer_ops.DivI, "unsigned"),
    "remsi": _with_sign(integer_ops.RemI, "signed"),
    "remui": _with_sign(integer_ops.RemI, "unsigned"),
    "shrsi": _with_sign(integer_ops.ShRI, "signed"),
    "shrui": _with_sign(integer_ops.ShRI, "unsigned"),
    "maxsi": _with_sign(integer_ops.MaxI, "signed"),
    "maxui": _with_sign(integer_ops.MaxI, "unsigned"),
    "minsi": _with_sign(integer_ops.MinI, "signed"),
    "minui": _with_sign(integer_ops.MinI, "unsigned"),
    "addf": float_ops.AddF,
    "subf": float_ops.SubF,
    "mulf": float_ops.MulF,
    "divf": float_ops.DivF,
}
