"""Tiles of pointers: address arithmetic, loads and stores of elements that lie anywhere.

All ops here are elementwise: pointers, mask, padding and values have one shape (none for scalars).
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.nv_tileaa.base import COPY_ATOM, POINTER, TOKEN, OrderingAttr, ScopeAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import I1, IntegerType, RankedTensorType, with_element
from tessera_tools.opdef import (
    ANY_TYPE,
    I64_ATTR,
    PURE,
    READ,
    TYPE_ATTR,
    WRITE,
    Op,
    attribute,
    derived,
    enum,
    like,
    of,
    operand,
    optional_operand,
    result,
    same_as,
)

POINTERS = like(POINTER, "pointer or tile of pointers")
INTEGERS = like(of(IntegerType, summary="integer"), "integer or tile of integers")


def _mask_of(pointers: Type | None) -> Type | None:
    return None if pointers is None else with_element(pointers, I1)


class Offset(Op, name="nv_tileaa.offset", traits=(PURE,)):
    """Pointers moved by a number of elements each, read as signed: pointer + offset · size of `elem_type`."""

    source = operand(POINTERS)
    offset = operand(INTEGERS)
    elem_type = attribute(TYPE_ATTR)
    res = result(same_as("source"))
    assembly = "$source `,` $offset `,` $elem_type attr-dict `:` type($source) `,` type($offset)"

    def verify_op(self) -> None:
        _check_shapes(self, self.source.type, self.offset.type)


class Load(Op, name="nv_tileaa.load", traits=(READ,)):
    """The elements at pointers; where the mask is false, `padding`, or anything if there is none.

    `copy_atom` says how many neighbours along `axis` one instruction moves: so many aligned pointers follow one another
    there, under equal masks.  An `ordering` other than weak is for elements that others access at the same time, seen
    by all threads within `scope`; it moves one element at a time.
    """

    source = operand(POINTERS)
    mask = optional_operand(derived("i1 for each pointer", _mask_of, "source"))
    padding = optional_operand(same_as("res"))
    token = operand(TOKEN)
    ordering = attribute(enum(OrderingAttr), default=OrderingAttr("weak"))
    scope = attribute(enum(ScopeAttr), optional=True)
    copy_atom = attribute(COPY_ATOM)
    axis = attribute(I64_ATTR, optional=True)
    res = result(ANY_TYPE)
    out_token = result(TOKEN)
    assembly = (
        "$source (`mask` $mask^)? (`padding` $padding^)? `,` $token (`ordering` $ordering^)? (`scope` $scope^)? "
        "attr-dict `:` type($source) `->` type($res) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        _check_shapes(self, self.source.type, self.res.type)
        check_order(self, "load", "acquire")


class Store(Op, name="nv_tileaa.store", traits=(WRITE,)):
    """Elements to pointers, where the mask is true; `copy_atom`, `axis`, `ordering` and `scope` as in nv_tileaa.load.

    Of several elements for one address, any one may be the last.
    """

    dest = operand(POINTERS)
    value = operand(ANY_TYPE)
    mask = optional_operand(derived("i1 for each pointer", _mask_of, "dest"))
    token = operand(TOKEN)
    ordering = attribute(enum(OrderingAttr), default=OrderingAttr("weak"))
    scope = attribute(enum(ScopeAttr), optional=True)
    copy_atom = attribute(COPY_ATOM)
    axis = attribute(I64_ATTR, optional=True)
    out_token = result(TOKEN)
    assembly = (
        "$dest `,` $value (`mask` $mask^)? `,` $token (`ordering` $ordering^)? (`scope` $scope^)? attr-dict `:` "
        "type($dest) `,` type($value) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        _check_shapes(self, self.dest.type, self.value.type)
        check_order(self, "store", "release")


def _shape(type: Type) -> tuple[int, ...] | None:
    return type.shape if isinstance(type, RankedTensorType) else None


def _check_shapes(op: Op, pointers: Type, others: Type) -> None:
    if _shape(pointers) != _shape(others):
        raise op.error(f"takes operands of one shape, got {pointers} and {others}")


def check_order(op: Any, noun: str, last: str) -> None:
    """A load is weak, relaxed or acquire, a store weak, relaxed or release; a scope stands unless it is weak."""
    ordering = op.ordering.value
    if ordering not in ("weak", "relaxed", last):
        raise op.error(f"has the ordering '{ordering}'; a {noun} is weak, relaxed or {last}")
    if (ordering == "weak") != (op.scope is None):
        raise op.error(
            "is weak and has no scope" if ordering == "weak" else f"needs a scope, being {ordering}"
        )
