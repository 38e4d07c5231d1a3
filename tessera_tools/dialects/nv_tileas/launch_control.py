"""Cluster launch control: a CTA takes the place of one that has not begun (PTX ISA, "clusterlaunchcontrol").

nv_tileas.async.cancel_launch %response, %mbarrier                         one thread asks
nv_tileas.async.mbarrier_wait %mbarrier[%zero], %parity                     the answer has arrived
%next = nv_tileas.canceled_program_id %response, %columns, %rows : i32      what it is

nv_tileas.async.request_launch %responses, %iter        the same, where the answer fills the stage of a pipeline
%number = nv_tileas.take_number %counter                without launch control: from a counter in global memory
%known = nv_tileas.of_first_lane %number                the number that one thread has taken, in its whole warp
"""

from __future__ import annotations

from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileas.base import SMEM, SmemType
from tessera_tools.dialects.nv_tileas.pipeline_types import STAGE
from tessera_tools.dialects.nv_tileas.pipelines import FULL, ProducerWrite, pipeline_at
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64
from tessera_tools.opdef import (
    IN_ORDER,
    Completion,
    MemoryEffects,
    Op,
    exactly,
    operand,
    read,
    result,
    write,
)

RESPONSE_WORDS = 4
"""Words of 32 bits of an answer."""


def _check_response(op: Op, response: Value[SmemType], several: bool = False) -> None:
    type = response.type
    if type.element is not I32 or type.tile != (RESPONSE_WORDS,) or not (several or type.stages == 1):
        expected = "responses are !nv_tileas.smem<N" if several else "a response is !nv_tileas.smem<1"
        raise op.error(f"has an operand of type {type}; {expected}x{RESPONSE_WORDS}xi32>")


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


class RequestLaunch(
    Op,
    name="nv_tileas.async.request_launch",
    traits=(MemoryEffects(write("buffer", by=Completion.MBARRIER, through="iter", phase=FULL)),),
):
    """Asks for the place of a CTA that has not begun; the answer arrives in the iterator's stage of a buffer.  In a
    producer_write, whose stage is full then.  In a pipeline that the first CTA of a cluster fills, that asks for the
    place of a cluster, and each CTA gets the answer.  After an answer that there is none, a CTA may not ask again."""

    buffer = operand(SMEM)
    iter = operand(STAGE)
    assembly = "$buffer `,` custom<Place>($iter) attr-dict `:` type($buffer)"

    def verify_op(self) -> None:
        _check_response(self, self.buffer, several=True)
        if not isinstance(self.parent_op, ProducerWrite) or self.iter is not self.parent_op.iter:
            raise self.error(
                "is not in an nv_tileas.async.pipeline.producer_write of its stage, which signals its completion"
            )
        pipeline = pipeline_at(self)
        if pipeline is not None and pipeline.stages.value != self.buffer.type.stages:
            raise self.error(
                f"has a buffer of {self.buffer.type.stages} stages, but its pipeline has {pipeline.stages.value}"
            )


class TakeNumber(Op, name="nv_tileas.take_number", traits=(IN_ORDER,)):
    """What a counter in global memory was before the first thread of the agent, in the first CTA of its cluster, has
    added 1 to it.  The other threads get 0."""

    counter = operand(exactly(PointerType(1)))
    res = result(exactly(I32))
    assembly = "$counter attr-dict"


class OfFirstLane(Op, name="nv_tileas.of_first_lane", traits=(IN_ORDER,)):
    """The number that the first lane of each warp has, in all of its lanes."""

    source = operand(exactly(I32))
    res = result(exactly(I32))
    assembly = "$source attr-dict"


class CanceledProgramId(Op, name="nv_tileas.canceled_program_id", traits=(MemoryEffects(read("response")),)):
    """The number of the program whose launch was canceled, in a grid of so many columns and rows of CTAs, or clusters;
    -1 if there was none left."""

    response = operand(SMEM)
    columns = operand(exactly(I32))
    rows = operand(exactly(I32))
    res = result(exactly(I32))
    assembly = "$response `,` $columns `,` $rows attr-dict `:` type($response) `->` type($res)"

    def verify_op(self) -> None:
        _check_response(self, self.response)
