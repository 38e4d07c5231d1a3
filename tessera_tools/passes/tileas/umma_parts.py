"""Parts of the rows of products: each has a warpgroup of consumers, and waits for nobody else's rows.

    for k { s = dot q, k; p = exp(s); o = dot p, v, o * f }      of 256 rows, two instructions each
      ──▶  { for k { umma s[0]; umma s[1] } }                        the products of the parts follow each other
           { for k { wait p[0]; umma o[0]; wait p[1]; umma o[1] } }
           { for k { wait s[own]; p; hand p[own] over } }            two warpgroups with the same code

While the tensor cores do the products of one part, the threads of the other compute: the warpgroups take turns.  A
factor that is computed from sums is in their columns.  The products that read it are complete before those begin that
replace the sums, which is all that the threads wait for: the other acquires are implied (analysis/implied_waits.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects import nv_tileas, scf
from tessera_tools.ir.builtin_attributes import UNIT, i32, i64
from tessera_tools.ir.core import Builder, IRMapping, Operation, Value
from tessera_tools.ir.types import bit_width
from tessera_tools.layout.tensor_memory import LANES
from tessera_tools.passes.tileas.agent_control import State
from tessera_tools.passes.tileas.box_stages import following

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.umma_multipliers import Multiplier
    from tessera_tools.passes.tileas.umma_products import Accumulation, UmmaProduct

ROW_PARTS = 2
"""Parts of the rows, each of one instruction."""


def may_have_parts(accumulations: list[Accumulation]) -> bool:
    """Whether all products have as many instructions along the rows, and no factors of blocks."""
    products = [product for one in accumulations for product in one.products]
    return all(
        product.rows == LANES
        and product.dot.c.type.shape[0] == ROW_PARTS * LANES
        and not product.dot.scales
        and not product.read
        for product in products
    )


def share_columns(corrected: Accumulation, accumulations: list[Accumulation]) -> bool:
    """Put the factor of a product whose sums an agent changes into the columns of the sums from which it is computed in
    the same iteration; False if that cannot be."""
    others = [one for one in accumulations if one is not corrected]
    if len(corrected.products) != 1 or len(others) != 1:
        return False
    product, scores = corrected.products[0], others[0]
    if list(product.handed) != [0] or not product.handed[0].may_be_in_tensor:
        return False
    factor, source = product.handed[0], scores.last
    type = factor.type
    if (
        any(one.handed for one in scores.products)
        or scores.loop is not None
        or not scores.starts_from_zero
        or source.parent is not product.dot.parent
        or factor.before is not product.dot
        or not isinstance(product.dot.parent_op, scf.For)
        or source not in computed_from([factor.value])
        or type.shape[1] * bit_width(type.element) > 32 * source.c.type.shape[1]
    ):
        return False
    factor.shares = scores
    return True


def computed_from(values: list[Value]) -> set[Operation]:
    """The ops of the same iteration from which values are computed."""
    found: set[Operation] = set()
    work = list(values)
    while work:
        op = work.pop().defining_op
        if op is not None and op not in found:
            inner = [op, *op.walk()]
            found.update(inner)
            work += [value for other in inner for value in other.operands]
    return found


def start_parts(
    multiplier: Multiplier, product: UmmaProduct, builder: Builder, mapping: IRMapping, state: State
) -> None:
    """The products of the parts of the rows, each behind what it waits for."""
    kernel, dot = multiplier.kernel, product.dot
    one = multiplier.by_dot[dot]
    location = dot.location
    begins, ends = product is one.of.products[0], product is one.of.products[-1]
    handed = [p for p in kernel.handed_before.get(dot, ()) if p in multiplier.pipelines]
    sharing = multiplier.sharing.get(one, []) if begins else []
    usable = [multiplier.used_from[dot]] if dot in multiplier.used_from else []
    for pipeline in handed:
        for load in pipeline.loads:
            kernel.views[load] = kernel.view(pipeline, load, state[pipeline], builder)
    for part in range(kernel.parts):
        for pipeline in sharing:
            builder.insert(
                nv_tileas.ProducerTail(pipeline.token, state[pipeline], part=i32(part), location=location)
            )
        tokens = [
            builder.insert(
                nv_tileas.ConsumerWait(
                    pipeline.token,
                    state[pipeline],
                    i32(0),
                    part=i32(part),
                    res=nv_tileas.ConsumerTokenType(),
                    location=location,
                )
            ).res
            for pipeline in (*handed, *usable)
        ]
        if begins and one not in kernel.corrected:
            acquired = nv_tileas.ProducerAcquire(
                one.token, state[one], part=i32(part), res=nv_tileas.ProducerTokenType(), location=location
            )
            one.filled.append(builder.insert(acquired).res)
        multiplier.start_product(product, builder, mapping, state, row=i64(part * LANES))
        for token in tokens:
            builder.insert(nv_tileas.ConsumerRelease(token, UNIT, location=location))
        if ends and one not in kernel.corrected:
            builder.insert(nv_tileas.ProducerCommit(one.filled.pop(0), location=location))
    for pipeline in (*handed, *usable, *sharing):
        state[pipeline] = following(state[pipeline], builder)
    if ends and one not in kernel.corrected:
        state[one] = following(state[one], builder)
