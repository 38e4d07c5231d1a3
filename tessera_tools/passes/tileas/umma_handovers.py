"""The pipelines of factors that the consumer computes, and the places where it hands them over."""

from __future__ import annotations

from tessera_tools.ir.core import Block, Operation
from tessera_tools.passes.tileas.box_stages import Pipeline
from tessera_tools.passes.tileas.fills import Filler
from tessera_tools.passes.tileas.umma_products import Handed, UmmaProduct


def handed_pipelines(product: UmmaProduct) -> list[Pipeline]:
    """The pipelines of what the consumer hands over for a product.  Factors of blocks that it hands over at the same
    place share one."""
    together: dict[tuple[Operation, int], list[Filler]] = {}
    found: list[list[Filler]] = []
    for factor in product.handed.values():
        if not factor.is_copied_on:
            found.append([factor])
            continue
        place = factor.before, factor.stages
        if place not in together:
            found.append(together.setdefault(place, []))
        together[place].append(factor)
    return [Pipeline(loads, product, stages=_stages(loads)) for loads in found]


def _stages(loads: list[Filler]) -> int:
    return next(factor.stages for factor in loads if isinstance(factor, Handed))


def before_which(pipeline: Pipeline) -> Operation:
    """The op before which the consumer fills a pipeline."""
    return next(factor.before for factor in pipeline.loads if isinstance(factor, Handed))


def last_in(block: Block, pipeline: Pipeline) -> Operation | None:
    """The last of the ops of a block that make what the consumer hands over; None if none is in it."""
    made = [factor.value.defining_op for factor in pipeline.loads if isinstance(factor, Handed)]
    last: Operation | None = None
    for op in made:
        if op is not None and op.parent is block and (last is None or last.is_before_in_block(op)):
            last = op
    return last
