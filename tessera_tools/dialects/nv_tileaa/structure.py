"""Functions, the grid, and facts that the program guarantees."""

from __future__ import annotations

from tessera_tools.dialects.func import FunctionLike
from tessera_tools.dialects.func import FunctionSyntax as _FunctionSyntax
from tessera_tools.dialects.nv_tileaa.base import INTEGER_SCALAR, POINTER, KernelSpecAttr
from tessera_tools.ir.traits import Leaves
from tessera_tools.ir.types import I1, I32, ShapedType
from tessera_tools.opdef import (
    I32_ATTR,
    I64_ARRAY,
    I64_ATTR,
    IN_ORDER,
    ISOLATED_FROM_ABOVE,
    PURE,
    RETURN_LIKE,
    SAME_SHAPE,
    STRING_ATTR,
    SYMBOL,
    HasParent,
    Op,
    attribute,
    exactly,
    like,
    operand,
    optional_operand,
    result,
    same_as,
    variadic_operand,
)


class FunctionSyntax(_FunctionSyntax, name="TileFunction"):
    """The signature syntax of func.func."""


class Func(FunctionLike, name="nv_tileaa.func", traits=(ISOLATED_FROM_ABOVE, SYMBOL)):
    """A tile function; a kernel if it carries `nv_tileaa.kernel_spec`."""

    sym_visibility = attribute(STRING_ATTR, optional=True)
    assembly = "custom<TileFunction>"

    @property
    def kernel_spec(self) -> KernelSpecAttr | None:
        spec = self.attributes.get("nv_tileaa.kernel_spec")
        return spec if isinstance(spec, KernelSpecAttr) else None


class Return(
    Op,
    name="nv_tileaa.return",
    traits=(
        RETURN_LIKE,
        PURE,
        Leaves("nv_tileaa.if", "nv_tileaa.loop"),
        HasParent("nv_tileaa.func", "nv_tileaa.if", "nv_tileaa.loop"),
    ),
):
    """Returns from a tile function, also from within loops and branches."""

    operands_ = variadic_operand()
    assembly = "attr-dict ($operands^ `:` type($operands))?"

    def verify_op(self) -> None:
        function = self.parent_op
        while function is not None and function.name in ("nv_tileaa.if", "nv_tileaa.loop"):
            function = function.parent_op
        if (
            isinstance(function, Func)
            and (expected := list(function.signature.results)) != self.operand_types
        ):
            given, wanted = (", ".join(map(str, types)) for types in (self.operand_types, expected))
            raise self.error(f"returns ({given}) from a function whose results are ({wanted})")


def _check_axis(op: GetProgramId | GetNumPrograms) -> None:
    if not 0 <= op.axis.value <= 2:
        raise op.error(f"axis must be 0, 1 or 2, got {op.axis.value}")


class GetProgramId(Op, name="nv_tileaa.get_program_id", traits=(PURE,)):
    """The index of this program (tile block) along an axis of the grid; `axis` is 0, 1 or 2.  With `of`, that of the
    program with this number, as `first_program_id` counts."""

    axis = attribute(I32_ATTR)
    program = optional_operand(exactly(I32))
    res = result(exactly(I32))
    assembly = "(`of` $program^)? attr-dict `:` type($res)"

    def verify_op(self) -> None:
        _check_axis(self)


class GetNumPrograms(Op, name="nv_tileaa.get_num_programs", traits=(PURE,)):
    """The number of programs along an axis of the grid; `axis` is 0, 1 or 2."""

    axis = attribute(I32_ATTR)
    res = result(exactly(I32))
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        _check_axis(self)


class FirstProgramId(Op, name="nv_tileaa.first_program_id", traits=(PURE,)):
    """The number of the first program that this CTA, or cluster of CTAs, runs.  Programs are numbered along axis 0
    first, then along 1 and 2.  The number need not be one of a program: `is_valid_program_id` tells."""

    res = result(exactly(I32))
    assembly = "attr-dict `:` type($res)"


class IsValidProgramId(Op, name="nv_tileaa.is_valid_program_id", traits=(PURE,)):
    """Whether there is a program with this number left for this CTA."""

    program = operand(exactly(I32))
    res = result(exactly(I1))
    assembly = "$program attr-dict `:` type($program) `->` type($res)"


class CancelNextProgramId(Op, name="nv_tileaa.cancel_next_program_id", traits=(IN_ORDER,)):
    """The number of the next program that this CTA, or cluster, runs instead of a launch of its own: one that no other
    CTA runs, or one that is not valid if none is left."""

    res = result(exactly(I32))
    assembly = "attr-dict `:` type($res)"


class Assume(Op, name="nv_tileaa.assume", traits=(PURE, SAME_SHAPE)):
    """The operand with facts that the program guarantees about it, or about all elements of a tile: a divisor (in units
    of the value; bytes for a pointer) and inclusive bounds.

    With `every` and `along`, the divisor applies to the first of every `every` elements along that axis, and the others
    increase by one. `same` has the size of groups of equal elements for each axis.
    """

    source = operand(like(INTEGER_SCALAR | POINTER))
    divisor = attribute(I64_ATTR, optional=True)
    lower = attribute(I64_ATTR, optional=True)
    upper = attribute(I64_ATTR, optional=True)
    every = attribute(I64_ATTR, optional=True)
    along = attribute(I64_ATTR, optional=True)
    same = attribute(I64_ARRAY, optional=True)
    res = result(same_as("source"))
    assembly = "$source attr-dict `:` type($res)"

    def verify_op(self) -> None:
        rank = self.source.type.rank if isinstance(self.source.type, ShapedType) else 0
        if (self.every is None) != (self.along is None):
            raise self.error("requires 'every' and 'along' together")
        if self.along is not None and self.every is not None and not 0 <= self.along.value < rank:
            raise self.error(f"has no axis {self.along.value} along which every {self.every.value} count up")
        if self.same is not None and len(self.same.values) != rank:
            raise self.error(f"expected {rank} groups in 'same', got {len(self.same.values)}")
