"""What the structured ops of `cuda_tile` share: the end of a block that may be left out, and `yield`."""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.dialects.cuda_tile.constraints import ANY_CUDA_TILE
from tessera_tools.ir.core import Block, Region
from tessera_tools.ir.location import Location
from tessera_tools.opdef import PURE, RETURN_LIKE, HasParent, Op, variadic_operand


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


class Structured(Op):
    """An op whose blocks end in `implicit` where nothing is written."""

    implicit: ClassVar[type[Op] | None] = None

    @classmethod
    def ensure_terminators(cls, regions: list[Region], location: Location) -> None:
        """End blocks that have no terminator (called by the parser)."""
        for place, body in enumerate(regions):
            if not body.blocks and place == 0:
                body.append(Block())
            if body.blocks and body.blocks[-1].terminator is None and cls.implicit is not None:
                body.blocks[-1].append(cls.implicit(location=location))


def write_body(p: Any, op: Any, body: Region) -> None:
    """Write ` { … }`, without the terminator where it is the implicit one."""
    last = body.blocks[-1].last_op if body.blocks else None
    silent = last is not None and isinstance(last, op.implicit or ()) and not last.operands
    p.write(" ")
    p.region(body, arguments=False, terminator=not silent)
