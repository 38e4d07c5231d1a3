"""tileas-swap-operands: a product of few rows is computed transposed, by wgmma or tcgen05.mma.

    d = dot a, b, c        16x128x64  ──▶  dᵀ = dot bᵀ, aᵀ, cᵀ        128x16x64

wgmma has 64 rows, tcgen05.mma 64 or 128, and from 8 columns on.  The transpositions cost nothing: the instructions read
factors of 16 bits in both orders, tcgen05.mma also those of 8 bits, and the sums have the transposed layout, also
around loops and in what follows.  A loop that only adds to the sums carries them transposed, so that a product need not
wait for the one before.

A product is swapped if agents can compute it then (products.py, umma_products.py), and if that costs no more than
`mma.sync`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.analysis.tile_costs import async_product_cost, cost_of
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.atoms import MMA
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.fills import REGISTER_BYTES, BoxLoad, Filler, ThreadFill
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.products import AsyncProduct, Choice, choose
from tessera_tools.passes.tileas.umma_products import UmmaChoice, choose_umma
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.target import Feature, Target

ROWS = 64
"""The fewest rows of an instruction."""
_INSTRUCTIONS = {Feature.WGMMA: ("wgmma", "64"), Feature.TCGEN05: ("tcgen05.mma", "64 or 128")}
"""The name of the instruction, and its rows."""
_FEWEST_COLUMNS = 8


class SwapOperands(Pass):
    """Compute products of few rows transposed."""

    name: ClassVar = "tileas-swap-operands"
    summary: ClassVar = "compute products of few rows transposed, by wgmma or tcgen05"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = "a product that is transposed runs on wgmma or tcgen05.mma"
    statistics: ClassVar = {"swapped": "products that are computed transposed"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function, target in kernels_with(op, Feature.TMA):
            found = next((one for feature, one in _INSTRUCTIONS.items() if target.has(feature)), None)
            if found is None:
                continue
            name, rows = found
            numbers = [n for n, dot in enumerate(_dots(function)) if _may_swap(dot)]
            while numbers:
                trial, made = _swapped(function, numbers)
                left, why = _accepted(trial, made, target)
                if left == numbers:
                    self.replace(function, trial, made, f"{name} has {rows} rows", context)
                    changed = True
                    break
                for number in set(numbers) - set(left):
                    dot = _dots(function)[number]
                    text = f"not computed transposed by {name}: {why[number].text}"
                    tell = context.failed if why[number].fails else context.missed
                    tell(dot, text, "product", "tensorcore", function=function)
                numbers = left
        return changed

    def replace(
        self,
        function: nv_tileaa.Func,
        trial: nv_tileaa.Func,
        made: Sequence[nv_tileas.Dot],
        why: str,
        context: PassContext,
    ) -> None:
        """Put the function with swapped products in place of the other."""
        assert function.parent is not None
        function.parent.insert_before(function, trial)
        function.erase()
        for dot in made:
            n, m = dot.c.type.shape
            text = f"computed transposed, as {n}x{m}x{dot.a.type.shape[1]}: {why}"
            context.passed(dot, text, "product", "tensorcore", function=trial)
        context.count("swapped", len(made))


def _dots(function: nv_tileaa.Func) -> list[nv_tileas.Dot]:
    return [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]


def _may_swap(dot: nv_tileas.Dot) -> bool:
    """Whether a product has too few rows for an instruction, and enough columns."""
    type = dot.c.type
    if type.rank != 2 or dot.scales or dot.atom.primitive != MMA or dot.warps is not None:
        return False
    m, n = type.shape
    return _FEWEST_COLUMNS <= m < ROWS and n % ROWS == 0


def _swapped(function: nv_tileaa.Func, numbers: Sequence[int]) -> tuple[nv_tileaa.Func, list[nv_tileas.Dot]]:
    """A copy of a function in which some of its products are swapped, and these."""
    trial = function.clone()
    dots = _dots(trial)
    made = [_swap(dots[number]) for number in numbers]
    for loop in [op for op in trial.walk() if isinstance(op, scf.For)]:
        for number in range(len(loop.iter_args)):
            _carry_transposed(loop, number)
    return trial, made


def _swap(dot: nv_tileas.Dot) -> nv_tileas.Dot:
    builder = Builder.before(dot)
    a, b, c = (_transposed(v, builder) for v in (dot.a, dot.b, dot.c))
    old = dot.atom
    atom = type(old)(old.primitive, old.since, old.mnk, old.b, old.a, old.accumulator)
    made = nv_tileas.Dot(b, a, c, [], atom, None, dot.fast_acc, location=dot.location)
    builder.insert(made)
    made.res.name_hint = dot.res.name_hint
    dot.res.replace_all_uses_with(_transposed(made.res, builder))
    dot.erase()
    return made


def _transposed(value: Value, builder: Builder) -> Value:
    """The transposed tile."""
    old = value.type_as(RankedTensorType)
    type = RankedTensorType(old.shape[::-1], old.element)
    constant = constant_value(value)
    location = value.location
    if isinstance(constant, DenseElementsAttr) and splat_of(constant) is not None:
        made = arith.Constant(DenseElementsAttr(type, constant.data), location=location)
        return builder.insert(made).results[0]
    order = DenseArrayAttr(I64, (1, 0))
    return builder.insert(nv_tileaa.Permute(value, order, res=type, location=location)).res


def _carry_transposed(loop: scf.For, number: int) -> None:
    """Let a loop carry a tile transposed, if only its transposed form is used in the loop, and yielded."""
    argument, end = loop.iter_args[number], loop.body.entry.last_op
    turned = loop.yielded[number].defining_op
    uses = [use.owner for use in argument.uses]
    if end is None or not uses or not all(_is_transposition(op) for op in (turned, *uses)):
        return
    assert turned is not None
    type = uses[0].results[0].type_as(RankedTensorType)
    init = _transposed(loop.inits[number], Builder.before(loop))
    loop.set_operand(3 + number, init)
    argument.type = type
    for op in uses:
        op.results[0].replace_all_uses_with(argument)
        op.erase()
    end.set_operand(number, turned.operands[0])
    result = loop.results[number]
    result.type = type
    builder = Builder.after(loop)
    order = DenseArrayAttr(I64, (1, 0))
    back_type = RankedTensorType(type.shape[::-1], type.element)
    back = builder.insert(nv_tileaa.Permute(result, order, res=back_type, location=loop.location))
    result.replace_all_uses_with(back.res, keep=lambda use: use.owner is back)
    if not turned.results[0].has_uses:
        turned.erase()


def _is_transposition(op: Operation | None) -> bool:
    return isinstance(op, nv_tileaa.Permute) and tuple(op.permutation.values) == (1, 0)


class _Reason(NamedTuple):
    """Why a product is not swapped."""

    text: str
    fails: bool = True
    """Whether agents cannot compute it; otherwise it takes longer."""


def _accepted(
    trial: nv_tileaa.Func, made: Sequence[nv_tileas.Dot], target: Target
) -> tuple[list[int], dict[int, _Reason]]:
    """The swapped products that agents compute, by their number in the function, and why not the others."""
    dots = _dots(trial)
    found: list[int] = []
    why: dict[int, _Reason] = {}
    try:
        products, refused = _chosen(trial, target)
    except Missed as refusal:
        return [], {dots.index(dot): _Reason(refusal.text(dot)) for dot in made}
    for dot in made:
        number = dots.index(dot)
        product = products.get(number)
        narrow = element_bytes(dot.a.type.element) == REGISTER_BYTES
        # What tcgen05.mma reads as it is, and wgmma also from registers.
        kinds = (BoxLoad, ConvertedFill, *([ThreadFill] if narrow else []))
        wide = target.has(Feature.TCGEN05) or not narrow
        if product is None:
            why[number] = _Reason(refused[number])
        elif wide and not all(
            isinstance(load, kinds) or _is_read(load, product) for load in (product.a, product.b)
        ):
            why[number] = _Reason("its threads would have to transpose a factor")
        elif (price := _price(dot, target))[0] > price[1]:
            why[number] = _Reason(f"it takes {price[0]} cycles so, and {price[1]} by mma.sync", fails=False)
        else:
            found.append(number)
    return found, why


def _chosen(function: nv_tileaa.Func, target: Target) -> tuple[dict[int, AsyncProduct], dict[int, str]]:
    """The products that agents compute, and why not the others, by their number in the function.  Raises Missed."""
    trial = function
    choice: Choice | UmmaChoice
    if target.has(Feature.TCGEN05):
        # The choice changes factors of 4 bits.
        trial = function.clone()
    dots: list[Operation] = list(_dots(trial))
    choice = choose_umma(trial, target) if target.has(Feature.TCGEN05) else choose(trial)
    products: dict[int, AsyncProduct] = {dots.index(product.dot): product for product in choice.products}
    return products, {dots.index(dot): one.text(dot) for dot, one in choice.refused.items()}


def _is_read(load: Filler | None, product: AsyncProduct) -> bool:
    """Whether the consumer transposes bytes that TMA brings."""
    return load is None and bool(product.read) and element_bytes(product.dot.a.type.element) == 1


def _price(dot: nv_tileas.Dot, target: Target) -> tuple[int, int]:
    """(cycles of a swapped product by wgmma or tcgen05.mma, cycles of the product by mma.sync)."""
    columns = dot.c.type.shape[1]
    fast = async_product_cost(dot, columns, target, "tcgen05" if target.has(Feature.TCGEN05) else "wgmma")
    return max(fast.cycles.values()), max(cost_of(dot, target).cycles.values())
