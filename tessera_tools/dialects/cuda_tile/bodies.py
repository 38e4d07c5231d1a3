"""What the structured ops of `cuda_tile` share: the end of a block that may be left out, and `yield`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.constraints import ANY_CUDA_TILE
from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.traits import implied
from tessera_tools.opdef import PURE, RETURN_LIKE, HasParent, Op, variadic_operand

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer


class CarriesValues(Op):
    """The end of a block that passes values on."""

    values = variadic_operand(ANY_CUDA_TILE)
    assembly = "attr-dict ($values^ `:` type($values))?"


class Yield(
    CarriesValues,
    name="cuda_tile.yield",
    traits=(PURE, RETURN_LIKE, HasParent("cuda_tile.if", "cuda_tile.reduce", "cuda_tile.scan")),
):
    """Gives the values of the enclosing `if`, `reduce` or `scan`."""


def write_body(p: Printer, op: Operation, body: Region) -> None:
    """Write ` { … }`, without the terminator where it is the implicit one."""
    p.write(" ")
    p.region(body, arguments=False, terminator=not implied(op, body))
