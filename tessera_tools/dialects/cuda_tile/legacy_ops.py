"""The ops of the older spelling of `cuda_tile`, into which it is read; `legacy.py` translates them into today's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.bodies import Yield
from tessera_tools.dialects.cuda_tile.types import LegacyPartitionViewType, LegacyTensorViewType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import DYNAMIC, I64
from tessera_tools.opdef import (
    ANY_TYPE,
    I32_ATTR,
    I64_ARRAY,
    CustomDirective,
    ImplicitTerminator,
    Op,
    attribute,
    of,
    operand,
    optional_operand,
    region,
    result,
    same_as,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class LegacyViewSyntax(CustomDirective, name="LegacyViewSyntax"):
    """`%A, shape = [%M, %K], stride = [%K, 1] : !cuda_tile.tensor_view<128x64xf16>`."""

    grammar = """
    custom: VALUE "," "shape" "=" custom_extents "," "stride" "=" custom_extents attr_dict ":" TYPE
    custom_extents: "[" "]" | "[" custom_extent ("," custom_extent)* "]"
    custom_extent: INTEGER -> constant | VALUE -> value
    """

    def read(self, state: OpState, node: Node) -> None:
        base, shape, strides, attributes, view = node
        state.operand("base", base)
        for field, extents in (("shape", shape), ("strides", strides)):
            state.operands(field, [token for kind, (token,) in extents if kind == "value"])
            values = tuple(
                integer_of(token.text) if kind == "constant" else DYNAMIC for kind, (token,) in extents
            )
            state.attribute(f"static_{field}", DenseArrayAttr(I64, values))
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("result", [view])

    def write(self, p: Printer, op: LegacyTensorView) -> None:
        lists = []
        for extents, values in ((op.static_shape, iter(op.shape)), (op.static_strides, iter(op.strides))):
            lists.append(", ".join(p.name(next(values)) if v == DYNAMIC else str(v) for v in extents))
        p.write(
            f" {p.name(op.base)}, shape = [{lists[0]}], stride = [{lists[1]}] : {op.result.type.short_text()}"
        )


class LegacyTensorView(Op, name="cuda_tile.tensor_view"):
    """A tensor in global memory (older spelling)."""

    base = operand()
    shape = variadic_operand()
    strides = variadic_operand()
    static_shape = attribute(I64_ARRAY)
    static_strides = attribute(I64_ARRAY)
    result = result(of(LegacyTensorViewType, summary="tensor_view without strides"))
    assembly = "custom<LegacyViewSyntax>"


class LegacyPartitionView(Op, name="cuda_tile.partition_view"):
    """A tensor cut into tiles (older spelling)."""

    tensor_view = operand()
    tile = attribute(I64_ARRAY)
    dim_map = attribute(I64_ARRAY)
    result = result(of(LegacyPartitionViewType, summary="partition_view without a tensor_view"))
    assembly = "$tensor_view `,` `tile` `=` $tile `,` `dim_map` `=` $dim_map attr-dict `:` type($result)"


class LegacyBlockId(Op, name="cuda_tile.legacy_get_tile_block_id"):
    """One coordinate of the tile block (older spelling)."""

    axis = attribute(I32_ATTR)
    coordinate = result()


class LegacyLoad(Op, name="cuda_tile.legacy_load_view_tko"):
    """Load of one tile (older spelling)."""

    view = operand()
    index = variadic_operand()
    token = optional_operand()
    tile = result(ANY_TYPE)
    result_token = result(ANY_TYPE)


class LegacyStore(Op, name="cuda_tile.legacy_store_view_tko"):
    """Store of one tile (older spelling)."""

    view = operand()
    index = variadic_operand()
    tile = operand()
    token = optional_operand()
    result_token = result(ANY_TYPE)


class LegacyFor(Op, name="cuda_tile.legacy_for", traits=(ImplicitTerminator(Yield),)):
    """Counted loop (older spelling)."""

    lowerBound = operand()
    upperBound = operand(same_as("lowerBound"))
    step = operand(same_as("lowerBound"))
    initValues = variadic_operand()
    resultValues = variadic_result()
    body = region()
    default_dialect = "cuda_tile"


LEGACY_OPS = (LegacyTensorView, LegacyPartitionView, LegacyBlockId, LegacyLoad, LegacyStore, LegacyFor)
