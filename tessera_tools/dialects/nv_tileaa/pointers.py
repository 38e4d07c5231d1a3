"""Tiles of pointers: address arithmetic, loads and stores of elements at arbitrary addresses.

All ops here are elementwise: pointers, mask, padding and values have one shape (none for scalars).
"""

from __future__ import annotations

from tessera_tools.dialects.atoms import least_bits
from tessera_tools.dialects.nv_tileaa.base import COPY_ATOM, POINTER, TOKEN, OrderingAttr, ScopeAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.interfaces import TileAccess
from tessera_tools.ir.types import I1, IntegerType, RankedTensorType, element_type, with_element
from tessera_tools.opdef import (
    ANY_TYPE,
    I64_ATTR,
    PURE,
    SAME_SHAPE,
    TYPE_ATTR,
    MemoryEffects,
    Op,
    attribute,
    derived,
    enum,
    like,
    of,
    operand,
    optional_operand,
    read,
    result,
    same_as,
    write,
)

POINTERS = like(POINTER, "pointer or tile of pointers")
INTEGERS = like(of(IntegerType, summary="integer"), "integer or tile of integers")


def mask_of(pointers: Type | None) -> Type | None:
    """The type of a mask: an i1 for each pointer."""
    return None if pointers is None else with_element(pointers, I1)


class Offset(Op, name="nv_tileaa.offset", traits=(PURE, SAME_SHAPE)):
    """Pointers moved by a number of elements each, read as signed: pointer + offset · size of `elem_type`."""

    source = operand(POINTERS)
    offset = operand(INTEGERS)
    elem_type = attribute(TYPE_ATTR)
    res = result(same_as("source"))
    assembly = "$source `,` $offset `,` $elem_type attr-dict `:` type($source) `,` type($offset)"


class Load(TileAccess, Op, name="nv_tileaa.load", traits=(MemoryEffects(read("source")),)):
    """Loads the elements at pointers. If the mask is false, the result is `padding`, or undefined without padding.

    `copy_atom` defines how many elements along `axis` one instruction moves: that many aligned pointers are contiguous
    there, under equal masks.
    """

    word = "ldg"
    source = operand(POINTERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "source"))
    padding = optional_operand(same_as("res"))
    token = operand(TOKEN)
    copy_atom = attribute(COPY_ATOM)
    axis = attribute(I64_ATTR, optional=True)
    res = result(ANY_TYPE)
    out_token = result(TOKEN)
    assembly = (
        "$source (`mask` $mask^)? (`padding` $padding^)? `,` $token attr-dict `:` type($source) `->` type($res) `,` "
        "type($out_token)"
    )

    @property
    def moved(self) -> Value:
        """The loaded tile or scalar."""
        return self.res

    def verify_op(self) -> None:
        self.copy_atom.check(self, element_type(self.res.type))
        check_shapes(self, self.source.type, self.res.type)
        _check_axis(self, self.source.type)
        _check_width(self, self.res.type)


class Store(TileAccess, Op, name="nv_tileaa.store", traits=(MemoryEffects(write("dest")),)):
    """Stores elements to pointers if the mask is true; `copy_atom` and `axis` are as in nv_tileaa.load.

    If several elements have the same address, which one is stored is unspecified.
    """

    word = "stg"
    dest = operand(POINTERS)
    value = operand(ANY_TYPE)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "dest"))
    token = operand(TOKEN)
    copy_atom = attribute(COPY_ATOM)
    axis = attribute(I64_ATTR, optional=True)
    out_token = result(TOKEN)
    assembly = (
        "$dest `,` $value (`mask` $mask^)? `,` $token attr-dict `:` type($dest) `,` type($value) `,` "
        "type($out_token)"
    )

    @property
    def moved(self) -> Value:
        """The stored tile or scalar."""
        return self.value

    def verify_op(self) -> None:
        self.copy_atom.check(self, element_type(self.value.type))
        check_shapes(self, self.dest.type, self.value.type)
        _check_axis(self, self.dest.type)
        _check_width(self, self.value.type)


class AtomicLoad(Op, name="nv_tileaa.atomic_load", traits=(MemoryEffects(read("source"), write("source")),)):
    """Like nv_tileaa.load, for elements that others may access concurrently, one element at a time: `relaxed`, or
    `acquire`, which orders what follows by the token after what the others released."""

    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr))
    source = operand(POINTERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "source"))
    padding = optional_operand(same_as("res"))
    token = operand(TOKEN)
    res = result(ANY_TYPE)
    out_token = result(TOKEN)
    assembly = (
        "$ordering $scope $source (`mask` $mask^)? (`padding` $padding^)? `,` $token attr-dict `:` type($source) `->` "
        "type($res) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        check_shapes(self, self.source.type, self.res.type)
        _check_ordering(self, "load", "acquire")


class AtomicStore(Op, name="nv_tileaa.atomic_store", traits=(MemoryEffects(read("dest"), write("dest")),)):
    """Like nv_tileaa.store, for elements that others may access concurrently, one element at a time: `relaxed`, or
    `release`, which makes the accesses that its token follows visible to others that acquire it."""

    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr))
    dest = operand(POINTERS)
    value = operand(ANY_TYPE)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "dest"))
    token = operand(TOKEN)
    out_token = result(TOKEN)
    assembly = (
        "$ordering $scope $dest `,` $value (`mask` $mask^)? `,` $token attr-dict `:` type($dest) `,` type($value) `,` "
        "type($out_token)"
    )

    def verify_op(self) -> None:
        check_shapes(self, self.dest.type, self.value.type)
        _check_ordering(self, "store", "release")


def _shape(type: Type) -> tuple[int, ...] | None:
    return type.shape if isinstance(type, RankedTensorType) else None


def check_shapes(op: Op, pointers: Type, others: Type) -> None:
    """Raise unless there is an element for each pointer."""
    if _shape(pointers) != _shape(others):
        raise op.error(f"expects operands of one shape, got {pointers} and {others}")


def _check_axis(op: Load | Store, pointers: Type) -> None:
    if op.axis is not None and not 0 <= op.axis.value < len(_shape(pointers) or ()):
        raise op.error(f"has no axis {op.axis.value} in {pointers}")


def _check_width(op: Load | Store, moved: Type) -> None:
    if op.axis is None and op.copy_atom.bits > least_bits(element_type(moved)):
        raise op.error(f"moves several elements per access with its atom {op.copy_atom}; expected an 'axis'")


def _check_ordering(op: AtomicLoad | AtomicStore, noun: str, last: str) -> None:
    if op.ordering.value not in ("relaxed", last):
        raise op.error(f"has the ordering '{op.ordering.value}'; an atomic {noun} is relaxed or {last}")
