"""Cluster launch control: a CTA takes the place of one that has not begun (PTX ISA, "clusterlaunchcontrol").

nv_tileas.async.cancel_launch %response, %mbarrier                         one thread asks
nv_tileas.async.mbarrier_wait %mbarrier[%zero], %parity                     the answer has arrived
%next = nv_tileas.canceled_program_id %response, %columns, %rows : i32      what it is
"""

from __future__ import annotations

from tessera_tools.dialects.nv_tileas.base import SMEM
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64
from tessera_tools.opdef import MemoryEffects, Op, exactly, operand, read, result, write

RESPONSE_WORDS = 4
"""Words of 32 bits of an answer."""


def _check_response(op: Op, response: Value) -> None:
    type = response.type
    if type.element is not I32 or type.tile != (RESPONSE_WORDS,) or type.stages != 1:  # type: ignore[attr-defined]
        raise op.error(
            f"has an operand of type {type}; a response is !nv_tileas.smem<1x{RESPONSE_WORDS}xi32>"
        )


class CancelLaunch(
    Op,
    name="nv_tileas.async.cancel_launch",
    traits=(MemoryEffects(write("response"), write("mbarrier")),),
):
    """One thread asks for the place of a CTA that has not begun.  The phase of the mbarrier is complete when the answer
    is in the buffer.  After an answer that there is none, a CTA may not ask again."""

    response = operand(SMEM)
    mbarrier = operand(SMEM)
    assembly = "$response `,` $mbarrier attr-dict `:` type($response) `,` type($mbarrier)"

    def verify_op(self) -> None:
        _check_response(self, self.response)
        type = self.mbarrier.type
        if type.element is not I64 or type.tile != (1,) or type.stages != 1:
            raise self.error(f"has an operand of type {type}; its mbarrier is !nv_tileas.smem<1x1xi64>")


class CanceledProgramId(Op, name="nv_tileas.canceled_program_id", traits=(MemoryEffects(read("response")),)):
    """The number of the program whose launch was canceled, in a grid of so many columns and rows; -1 if there was none
    left."""

    response = operand(SMEM)
    columns = operand(exactly(I32))
    rows = operand(exactly(I32))
    res = result(exactly(I32))
    assembly = "$response `,` $columns `,` $rows attr-dict `:` type($response) `->` type($res)"

    def verify_op(self) -> None:
        _check_response(self, self.response)
