"""The pipelines between the producer of a kernel and its consumer: loads by TMA that fill one stage together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Block, Builder, Value
from tessera_tools.ir.types import I32
from tessera_tools.passes.tileas.products import AsyncProduct, BoxLoad


@dataclass(eq=False)
class LoadPipeline:
    """Loads that fill the stages of one pipeline together."""

    loads: list[BoxLoad]
    product: AsyncProduct
    read: bool = False
    """Whether the consumer reads the tile, which then need not stay."""
    stages: int = 1
    buffers: dict[BoxLoad, Value] = field(default_factory=dict[BoxLoad, Value])
    descriptors: dict[BoxLoad, Value] = field(default_factory=dict[BoxLoad, Value])
    token: Any = None

    @property
    def block(self) -> Block:
        """Where the loads stand."""
        block = self.loads[0].load.parent
        assert block is not None
        return block

    @property
    def bytes(self) -> int:
        return sum(load.bytes for load in self.loads)

    @property
    def is_inside(self) -> bool:
        """Whether the product takes the loads as they stand in its own block."""
        return not self.read and self.block is self.product.dot.parent


def first_stage(pipeline: LoadPipeline, builder: Builder) -> Value:
    """Where a side of the pipeline begins."""
    return builder.insert(nv_tileas.CreateIterator(pipeline.token, res=nv_tileas.PipelineIterType(I32))).res


def next_stage(iterator: Value, builder: Builder) -> Value:
    """The stage behind."""
    return builder.insert(nv_tileas.IncIter(iterator)).res
