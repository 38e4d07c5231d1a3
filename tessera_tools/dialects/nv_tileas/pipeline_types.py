"""The types of pipelines, of a place in one, and of the right to use a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import I32
from tessera_tools.opdef import exactly

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class PipelineTokenType(Type, name="nv_tileas.pipeline_token"):
    """`!nv_tileas.pipeline_token`: a pipeline, its stages and barriers."""


class PipelineIterType(Type, name="nv_tileas.pipeline_iter"):
    """`!nv_tileas.pipeline_iter<i32>`: a stage of a pipeline and the parity of its round, as integers of a type."""

    element: Type

    def verify(self) -> None:
        if self.element is not I32:
            raise ValueError(f"counts stages in {self.element}; only i32 is supported")

    @classmethod
    def parse(cls, s: Scanner) -> PipelineIterType:
        s.expect("<")
        element = s.type()
        s.expect(">")
        return cls(element)

    def text(self) -> str:
        return f"!nv_tileas.pipeline_iter<{self.element}>"


class ProducerTokenType(Type, name="nv_tileas.producer_token"):
    """`!nv_tileas.producer_token`: the right to fill a stage."""


class ConsumerTokenType(Type, name="nv_tileas.consumer_token"):
    """`!nv_tileas.consumer_token`: the right to read a stage."""


PIPELINE = exactly(PipelineTokenType())
ITERATOR = exactly(PipelineIterType(I32))
STAGE = ITERATOR | exactly(I32)
"""A stage of a pipeline: an iterator, or the number alone after tileas-unwrap-pipeline-iterators."""
PRODUCER = exactly(ProducerTokenType())
CONSUMER = exactly(ConsumerTokenType())
