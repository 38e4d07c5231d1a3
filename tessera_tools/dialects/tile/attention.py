"""Attention of whole tensors, in functions on the host, and what combines parts of it.

%O = tile.flash_attention %Q, %K, %V {causal} : (memref<2x8x512x64xf16>, …) -> memref<2x8x512x64xf16>

For a part of the keys it returns three results: the sum of the values by their weights exp(score - maximum), the
maximum of each row's scores, and the sum of its weights.  Parts with the same maximum can be added
(`tile.attention_rescale` gives them one), and are attention when the one sum is divided by the other
(`tile.attention_divide`).
"""

from __future__ import annotations

from tessera_tools.dialects.tile.base import ANY_BUFFER, MAKES
from tessera_tools.ir.types import F32, I32, FloatType, MemRefType
from tessera_tools.opdef import (
    F32_ATTR,
    UNIT_ATTR,
    Op,
    attribute,
    operand,
    result,
    same_as,
    variadic_operand,
    variadic_result,
)


class FlashAttention(Op, name="tile.flash_attention", traits=(MAKES,)):
    """softmax(scale · Q Kᵀ) V, for tensors of [batch, heads, sequence, depth], [heads, sequence, depth] or
    [sequence, depth]; V may have another depth than Q and K.  `scale` is 1/√depth by default.

    `causal` hides the keys after each query: those with a greater number, or, with `at`, a greater position.
    With two more results, those are the maximum of each row's scores and the sum of exp(score - maximum), and the first
    is not divided by the sum.  On the host.
    """

    q = operand(ANY_BUFFER)
    k = operand(ANY_BUFFER)
    v = operand(ANY_BUFFER)
    positions = variadic_operand(ANY_BUFFER, "the positions of queries and of keys, i32")
    scale = attribute(F32_ATTR, optional=True)
    causal = attribute(UNIT_ATTR, optional=True)
    res = result(ANY_BUFFER)
    statistics = variadic_result(ANY_BUFFER, "maxima and sums of the rows, f32")
    assembly = "$q `,` $k `,` $v (`at` $positions^)? attr-dict `:` functional-type(operands, results)"

    def verify_op(self) -> None:
        q, k, v, res = self.q.type, self.k.type, self.v.type, self.res.type
        wanted = (*q.shape[:-1], v.shape[-1])
        if (
            not 2 <= q.rank <= 4
            or k.rank != q.rank
            or v.rank != q.rank
            or k.shape[:-2] != q.shape[:-2]
            or k.shape[-1] != q.shape[-1]
            or v.shape[:-1] != k.shape[:-1]
        ):
            raise self.error(
                f"has operands {q}, {k} and {v}; expected Q of [batch, heads, queries, depth], K of [batch, heads, "
                "keys, depth] and V of [batch, heads, keys, depth of values], with or without batch and heads"
            )
        elements = {t.element for t in (q, k, v)}
        if (
            len(elements) != 1
            or not isinstance(q.element, FloatType)
            or not isinstance(res.element, FloatType)
        ):
            raise self.error(
                f"has operands {q}, {k} and {v}, and result {res}; expected floats, of one type in Q, K and V"
            )
        if res.shape != wanted:
            raise self.error(f"returns {res}; expected extents {'x'.join(map(str, wanted))}")
        statistics = [value.type for value in self.statistics]
        if len(statistics) not in (0, 2) or any(
            t.element is not F32 or t.shape != q.shape[:-1] for t in statistics
        ):
            raise self.error("returns statistics; expected maxima and sums, an f32 for each query")
        if statistics and res.element is not F32:
            raise self.error(f"returns statistics, and {res}; expected f32, which is divided later")
        places = [value.type for value in self.positions]
        if places and (
            self.causal is None
            or len(places) != 2
            or any(t.element is not I32 for t in places)
            or [t.shape for t in places] != [(q.shape[-2],), (k.shape[-2],)]
        ):
            raise self.error("has positions; expected causal, and an i32 for each query and for each key")


def _check_sums(op: AttentionRescale | AttentionDivide) -> None:
    if op.res.type.shape != op.source.type.shape or any(
        type.element is not F32 or type.shape != op.source.type.shape[:-1]
        for type in (value.type_as(MemRefType) for value in op.operands[1:])
    ):
        raise op.error("expected f32 for each row of the tensor, and a tensor of its extents")


class AttentionRescale(Op, name="tile.attention_rescale", traits=(MAKES,)):
    """Rescales a part of attention and its sums of weights to other maxima: multiplies both by exp(own - common).  On
    the host."""

    source = operand(ANY_BUFFER)
    sums = operand(ANY_BUFFER)
    own = operand(same_as("sums"))
    common = operand(same_as("sums"))
    res = result(same_as("source"))
    rescaled = result(same_as("sums"))
    assembly = "$source `,` $sums `,` $own `,` $common attr-dict `:` type($source) `,` type($sums)"

    def verify_op(self) -> None:
        _check_sums(self)


class AttentionDivide(Op, name="tile.attention_divide", traits=(MAKES,)):
    """Divides each row by its sum.  On the host."""

    source = operand(ANY_BUFFER)
    sums = operand(ANY_BUFFER)
    res = result(ANY_BUFFER)
    assembly = "$source `,` $sums attr-dict `:` type($source) `,` type($sums) `->` type($res)"

    def verify_op(self) -> None:
        _check_sums(self)


class Iota(Op, name="tile.iota", traits=(MAKES,)):
    """The numbers 0, 1, 2, … as a vector of i32.  On the host."""

    res = result(ANY_BUFFER)
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        if self.res.type.rank != 1 or self.res.type.element is not I32:
            raise self.error(f"returns {self.res.type}; expected a vector of i32")
