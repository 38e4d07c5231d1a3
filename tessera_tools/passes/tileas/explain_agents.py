"""Remarks on what fills the stages of pipelines between agents, and on how many stages there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileas.box_stages import Pipeline
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.fills import SIDES, BoxLoad, why_computed
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.products import FEWEST_STAGES, AsyncProduct
from tessera_tools.passes.tileas.shared_stages import shared_text
from tessera_tools.passes.tileas.umma_products import UmmaProduct
from tessera_tools.planning.shared_memory import tile_text

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.materialize_schedule import Kernel
    from tessera_tools.passes.tileas.pipeline_plan import PipelinePlan


def explain_banned(function: nv_tileaa.Func, banned: Iterable[Missed], context: PassContext) -> None:
    """Remarks on the tiles of products that the consumer loads itself."""
    for refusal in banned:
        text = f"TMA does not load the tile, the consumer does: {refusal.text()}"
        context.failed(refusal.op, text, "tma", "memory", function=function)


def explain_fillers(function: nv_tileaa.Func, pipelines: Iterable[Pipeline], context: PassContext) -> None:
    """How each tile comes to its stage, and why not by TMA."""
    pipelines = list(pipelines)
    shared = dict.fromkeys((dot, pipeline.user) for pipeline in pipelines for dot in pipeline.shared.values())
    for dot, first in shared:
        context.passed(dot, shared_text(dot, first), "tma", "memory", function=function)
    for load in (load for pipeline in pipelines for load in pipeline.loads):
        if isinstance(load, BoxLoad):
            text = f"load by TMA in {load.boxes.text}"
            if load.rounds:
                text += f", rounded to {load.type.element}"
            context.passed(load.load, text, "tma", "memory", function=function)
            continue
        if isinstance(load, ConvertedFill):
            text = "an agent of its own computes the factor from what TMA brings, ahead of the product"
            context.passed(load.load, text, "staging", "memory", function=function)
            continue
        by = "by cp.async" if load.is_copied else "through registers"
        assert load.why is not None
        text = f"the producer's threads bring the tile {by}, not TMA: {load.why.text(load.load)}"
        context.missed(load.load, text, "tma", "memory", function=function)


def staged_texts(products: Iterable[AsyncProduct], context: PassContext) -> list[tuple[Operation, str]]:
    """If remarks are requested: the operands that the consumer writes to shared or tensor memory, and why, with their
    products, which are not rewritten yet."""
    found: list[tuple[Operation, str]] = []
    for product in products if context.explains else ():
        handed = product.handed if isinstance(product, UmmaProduct) else dict.fromkeys(product.staged)
        for position, factor in handed.items():
            why = why_computed(product.dot, position) if factor is None else factor.why
            if why is None:
                continue
            type = product.dot.operand(position).type_as(RankedTensorType)
            memory = "tensor" if factor is not None and factor.in_tensor else "shared"
            text = (
                f"{SIDES[position]} operand of {tile_text(type.shape, type.element)} goes to {memory} memory through "
                f"registers, not by TMA: {why.text(product.dot)}"
            )
            found.append((product.dot, text))
    return found


def explain_staged(
    function: nv_tileaa.Func, texts: Iterable[tuple[Operation, str]], context: PassContext
) -> None:
    """Why the consumer writes operands to memory."""
    for dot, text in texts:
        context.missed(dot, text, "staging", "memory", function=function)


def explain_stages(kernel: Kernel, context: PassContext) -> None:
    """The stages of each pipeline in a loop, and why it has as many."""
    looped = kernel.looped
    one_more = sum(one.bytes * (one.stages + 1) for one in looped)
    single = [one for one in looped if one.stages == 1]
    if single:
        twice = sum(one.bytes * FEWEST_STAGES for one in looped)
        why = f"two of each pipeline would take {twice} bytes of shared memory, and they have {kernel.room}"
    elif kernel.schedules.products:
        deeper = "more than the schedule needs, because they fit"
        why = deeper if kernel.deepened else "as many as the schedule needs"
    elif looped and looped[0].stages >= kernel.choice.stages:
        why = f"the maximum is {kernel.choice.stages}"
    elif one_more > kernel.room:
        why = f"one more would take {one_more} bytes of shared memory, and pipelines have {kernel.room}"
    else:
        why = "as many as are needed"
    for pipeline in looped:
        stages = "1 stage" if pipeline in single else f"{pipeline.stages} stages"
        own = "the others have no room for a second" if single and pipeline not in single else why
        text = f"pipeline of {stages} of {pipeline.bytes} bytes: {own}"
        context.passed(pipeline.user, text, "stages", "schedule", function=kernel.function)


def explain_refusal(tell: Callable[..., None], function: nv_tileaa.Func, refusal: Missed) -> None:
    """A remark, missed or failed, with the reason why an op does not become asynchronous."""
    text = f"TMA and wgmma are not used: {refusal.text()}"
    tell(refusal.op, text, "agents", "tensorcore", function=function)


def explain_refused_load(tell: Callable[..., None], function: nv_tileaa.Func, refusal: Missed) -> None:
    """A remark, missed or failed, that says why TMA does not make a load of a kernel without products."""
    if isinstance(refusal.op, nv_tileas.TiledLoad):
        text = f"TMA does not load the tile: {refusal.text()}"
        tell(refusal.op, text, "tma", "memory", function=function)


def explain_registers(
    function: nv_tileaa.Func, ctas: int, registers: tuple[int, int] | None, context: PassContext
) -> None:
    """A remark on a kernel of which several CTAs share the registers of a multiprocessor."""
    if ctas > 1 and registers is not None:
        text = (
            f"{ctas} CTAs on a multiprocessor: a thread of the producer has {registers[0]} registers, and one of the "
            f"consumer {registers[1]}"
        )
        context.passed(function, text, "registers", "schedule")


def explain_hint(function: nv_tileaa.Func, kernel: PipelinePlan, context: PassContext) -> None:
    """A remark on the hint `occupancy` of a kernel with agents that fewer CTAs follow."""
    if kernel.not_followed:
        followed = f"is followed by {kernel.resident} CTAs" if kernel.is_hinted else "is not followed"
        text = f"the hint occupancy = {kernel.hinted} {followed}: {kernel.not_followed}"
        context.failed(function, text, "occupancy", "schedule")


def explain_refused_umma(tell: Callable[..., None], function: nv_tileaa.Func, refusal: Missed) -> None:
    """A remark, missed or failed, with the reason why a product does not use tensor memory."""
    text = f"tcgen05.mma is not used: {refusal.text()}"
    tell(refusal.op, text, "agents", "tensorcore", function=function)


def explain_sums(function: nv_tileaa.Func, context: PassContext) -> None:
    """A remark with the columns of tensor memory that sums take."""
    for op in function.walk():
        if isinstance(op, nv_tileas.TmemLoad) and op.column is None:
            type = op.source.type
            tile = tile_text(type.tile, type.element)
            text = f"sums in tensor memory: {type.columns} columns for {type.stages} of {tile}"
            context.passed(op, text, "tensor-memory", "tensorcore", function=function)


def explain_pairs(function: nv_tileaa.Func, refusal: Missed | None, context: PassContext) -> None:
    """A remark on whether the two CTAs of a cluster do the products together, or why not."""
    if refusal is not None:
        text = f"each CTA multiplies alone: {refusal.text()}"
        context.missed(refusal.op, text, "pairs", "tensorcore", function=function)
    for op in function.walk():
        if isinstance(op, nv_tileas.Umma) and op.pair is not None:
            m, n = op.d.type.tile
            text = f"two CTAs multiply {2 * m}x{n} together, and each loads half of the right factor"
            context.passed(op, text, "pairs", "tensorcore", function=function)
