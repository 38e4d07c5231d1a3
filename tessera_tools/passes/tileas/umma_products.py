"""Decides from facts which products run by tcgen05.mma, and which of them add up in one buffer of tensor memory.

    for %k iter_args(%s = %c) { %d = dot %a, %b, %s; yield %d }     one accumulation: the loop, its sums from zero, + %c
    %d = dot %a, %b, %c; %e = dot %x, %y, %d                        one accumulation: both products, + %c

TMA brings the factors of such a product to shared memory, or the consumer computes them and hands them over: from
tiles that TMA brings to it, from other sums, as in attention.  Other tiles threads bring (umma_fills.py).  Sums start
from zero; what a product adds to is added to the sums behind them.  Products in one loop run by tcgen05.mma together or
not at all: otherwise the threads that compute the others would wait for them in each iteration.  Where a product does
not, a `Missed` has the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.atoms import MMA, PRODUCTS, UMMA, Product, signless
from tessera_tools.dialects.cute import CuteMmaAtomAttr
from tessera_tools.dialects.nv_tileaa.packing import packed_bits
from tessera_tools.dialects.nv_tileas import (
    TensorAttr,
    TmemType,
    allocated_columns,
    operand_layout,
    umma_layout,
)
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.folding import constant_integer, constant_value
from tessera_tools.ir.types import RankedTensorType, bit_width
from tessera_tools.layout.tensor_memory import LANES, are_atoms, has_atoms, scale_atoms
from tessera_tools.passes.tileas.fills import (
    WORD_BYTES,
    BoxLoad,
    Filler,
    ThreadFill,
    box_load,
    check_order,
    loads_of,
    pointwise,
    read_load,
    staged_layout,
    trace_load,
    why_computed,
)
from tessera_tools.passes.tileas.memory_order import MemoryOrder
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.packed_factors import is_packed, pack_factors, terms
from tessera_tools.passes.tileas.products import (
    AsyncProduct,
    Choice,
    carried_sums,
    check_exchanges,
    check_exits,
    loops_around,
    types_advice,
    why_not_alone,
    without_sign,
)
from tessera_tools.passes.tileas.shared_stages import share_stages
from tessera_tools.passes.tileas.umma_columns import MOST_COLUMNS, SCALES, reserve, scales_type
from tessera_tools.passes.tileas.umma_corrections import Correction, correct
from tessera_tools.passes.tileas.umma_fills import (
    check_threads,
    loads_of_fill,
    registers,
    thread_fill,
)
from tessera_tools.passes.tileas.umma_pairs import may_pair, pair
from tessera_tools.passes.tileas.umma_parts import computed_from
from tessera_tools.passes.tileas.umma_warpgroups import warpgroups
from tessera_tools.records import dataclass, field, replace
from tessera_tools.target import Target

_TRANSPOSED = (1, 2)
"""Bytes of the elements of factors that need not be contiguous along K, unless they are packed."""
_BYTES_OF_K = 32
"""K of every instruction, in bytes."""
_FEWEST_SCALED = 64
"""Columns of an instruction with factors of blocks."""
_MOST_AGENTS = 3
"""Agents that multiply, which share a warpgroup with the producer."""
_REGISTERS = {1: (0, 255), 2: (40, 232), 4: (32, 112)}
"""Registers of the threads of producer and multipliers, which share a warpgroup, and of a consumer, by number of
consumer warpgroups; 0 where there are enough for all.  Together they are those of the launch (launched_registers)."""
_CORRECTED = {1: (40, 232), 2: (32, 208)}
"""The same where an agent changes sums in tensor memory, which has a warpgroup as each part of the consumer has."""
_CORRECTOR = {1: 160, 2: 64}
"""Registers of its threads: for 64 sums, those that replace them, and addresses; of two parts, what the launch has
beside the others, and so half as many sums at once."""


@dataclass(eq=False)
class Handed(ThreadFill):
    """A factor that the consumer computes, and hands to the multiplier in a stage of shared memory."""

    position: int = 0
    """Which factor of its product it is."""
    before: Any = None
    """The op in the block of the factor before which the consumer hands it over: the product, or a loop around it."""
    in_tensor: bool = False
    """Whether the stage is in tensor memory."""
    stages: int = 1
    shares: Any = None
    """The accumulation in whose columns it is, from whose sums it is computed; None if it has its own."""

    @property
    def may_be_in_tensor(self) -> bool:
        """Whether tcgen05.mma reads it from tensor memory as threads hold it: a left factor, in whole words."""
        if self.is_scales:
            return not self.is_copied_on
        if is_packed(self.load):
            return False
        bits = bit_width(self.type.element)
        return self.position == 0 and (bits == 16 or (bits == 8 and instruction_rows(self.load) == LANES))

    @property
    def is_scales(self) -> bool:
        """Whether it is the factors of blocks of A or B, which products read from tensor memory only."""
        return self.position >= SCALES

    @property
    def is_copied_on(self) -> bool:
        """Whether the multiplier copies it from shared to tensor memory."""
        return self.is_scales and has_atoms(self.type.shape, self.position - SCALES)

    @property
    def tensor_type(self) -> TmemType:
        """The buffer in tensor memory."""
        type = self.type
        if self.is_scales:
            return scales_type(self.load, self.position, self.stages)
        step = self.shares.first.c.type.shape[1] if self.shares is not None else 0
        layout = operand_layout(type.shape, instruction_rows(self.load), type.element, step)
        return TmemType((1, *type.shape), type.element, TensorAttr(layout))

    @property
    def value(self) -> Value:
        """The factor, before inversions of its sign."""
        return without_sign(self.load.operand(self.position))[0]


@dataclass(eq=False)
class UmmaProduct(AsyncProduct):
    """A product by tcgen05.mma."""

    handed: Mapping[int, Handed] = field(default_factory=dict[int, Handed])
    """The factors that the consumer computes, by position."""
    scales: Mapping[int, BoxLoad] = field(default_factory=dict[int, BoxLoad])
    """The factors of blocks that TMA brings, by position."""

    @property
    def loads(self) -> list[Filler]:
        return [*super().loads, *self.scales.values()]

    @property
    def staged(self) -> list[int]:
        return [position for position, factor in self.handed.items() if not factor.in_tensor]

    @property
    def staged_bytes(self) -> int:
        return sum(self.handed[position].bytes * self.handed[position].stages for position in self.staged)

    def atom(self) -> CuteMmaAtomAttr:
        """The instruction."""
        old = self.dot.atom
        k = _BYTES_OF_K * 8 // packed_bits(old.a)
        return CuteMmaAtomAttr(UMMA, 100, (self.rows, self.atom_n, k), old.a, old.b, old.accumulator)

    @property
    def rows(self) -> int:
        """Rows of an instruction."""
        return instruction_rows(self.dot)


@dataclass(eq=False)
class Accumulation:
    """Products that add up in one buffer of tensor memory."""

    products: list[UmmaProduct]
    loop: scf.For | None = None
    """The loop whose iterations add up."""
    number: int = 0
    """Which of the values that the loop, or one around the products, carries the sums are."""
    stages: int = 1
    agent: int = 0
    """Which of the agents that multiply: one that waits for what the consumer computes from the sums of others does not
    keep those from multiplying ahead."""
    correction: Correction | None = None
    """How an agent of its own changes the sums between the products of a loop."""
    kept_until: Value | None = None
    """The end of this CTA's program in a loop that others run longer, behind which sums are not taken."""

    @property
    def first(self) -> nv_tileas.Dot:
        return self.products[0].dot

    @property
    def last(self) -> nv_tileas.Dot:
        return self.products[-1].dot

    @property
    def begin(self) -> Operation:
        """The op with which it begins."""
        return self.loop if self.loop is not None else self.first

    @property
    def end(self) -> Operation:
        """The op with which it ends."""
        return self.loop if self.loop is not None else self.last

    @property
    def start(self) -> Value:
        """What the sums are added to."""
        return self.loop.inits[self.number] if self.loop is not None else self.first.c

    @property
    def starts_from_zero(self) -> bool:
        """Whether there is nothing to add to."""
        return splat_of(constant_value(self.start)) == 0

    @property
    def used_first(self) -> Operation | None:
        """The op in the next iteration that first uses the sums of products that wait for other sums, if they are
        used for nothing but what the products then add to; None otherwise."""
        loop, end = self.last.parent_op, self.last.res
        if self.agent == 0 or self.loop is not None or not isinstance(loop, scf.For) or not end.has_one_use:
            return None
        kept = self.kept
        numbers = [
            n for n, value in enumerate(loop.yielded) if value is (end if kept is None else kept.result)
        ]
        if not numbers or (kept is not None and kept.false_value is not loop.iter_args[numbers[0]]):
            return None
        users = [_within(user, loop) for user in loop.iter_args[numbers[0]].users if user is not kept]
        if not users or not all(user.is_before_in_block(self.first) for user in users):
            return None
        self.number = numbers[0]
        return next(op for op in loop.body.entry if op in users)

    @property
    def kept(self) -> arith.Select | None:
        """The op that takes the sums in the iterations of this CTA's program only, where the loop has others
        (cluster_loops.py): it compares the loop's counter with the program's end."""
        loop, users = self.last.parent_op, list(self.last.res.users)
        if len(users) != 1 or not isinstance(op := users[0], arith.Select) or not isinstance(loop, scf.For):
            return None
        compared = op.condition.defining_op
        if (
            op.true_value is not self.last.res
            or not op.result.has_one_use
            or op.parent is not self.last.parent
        ):
            return None
        if not isinstance(compared, arith.CmpI) or compared.operands[0] is not loop.induction[0]:
            return None
        if constant_integer(loop.step) != 1 or compared.predicate_name != "slt":
            return None
        block = compared.rhs.owner_block
        return op if block is not None and not loop.is_ancestor_of(block.parent_op) else None

    @property
    def type(self) -> TmemType:
        """The buffer."""
        type = self.first.c.type
        layout = umma_layout(type.shape, instruction_rows(self.first))
        return TmemType((self.stages, *type.shape), type.element, layout)


def _within(op: Operation, loop: scf.For) -> Operation:
    """The op of a loop's block in which an op stands."""
    while op.parent_op is not loop:
        assert op.parent_op is not None
        op = op.parent_op
    return op


@dataclass(eq=False)
class UmmaChoice(Choice):
    """The products of a kernel by tcgen05.mma, and what adds up."""

    accumulations: list[Accumulation] = field(default_factory=list[Accumulation])
    in_pairs: bool = False
    """Whether the two CTAs of a cluster do them together."""
    not_in_pairs: Missed | None = None
    """Why they do not."""
    parts: int = 1
    """Parts of the rows whose products have pipelines of their own, with a consumer warpgroup each."""

    @property
    def has_other_agents(self) -> bool:
        return super().has_other_agents or self._is_corrected

    def columns(self) -> int:
        products = [p for p in self.products if isinstance(p, UmmaProduct)]
        factors = [factor for p in products for factor in p.handed.values()]
        found = [one.type for one in self.accumulations]
        found += [f.tensor_type for f in factors if f.is_copied_on or (f.in_tensor and f.shares is None)]
        found += [scales_type(p.dot, position, self.stages) for p in products for position in p.scales]
        return allocated_columns(found)

    @property
    def _is_corrected(self) -> bool:
        return any(one.correction is not None for one in self.accumulations)

    @property
    def _registers(self) -> tuple[int, int]:
        if self._is_corrected:
            return _CORRECTED[self.parts]
        if self.by_threads:
            carries = any(one.loop is None and loops_around(one.end) for one in self.accumulations)
            return registers(self.products, self.groups, carries)
        return _REGISTERS[self.groups]

    @property
    def corrector_registers(self) -> int:
        """Registers of a thread that changes sums."""
        return _CORRECTOR[self.parts]


def choose_umma(function: nv_tileaa.Func, target: Target, agents: str = "multipliers") -> UmmaChoice:
    """The products of a kernel by tcgen05.mma.  Raises Missed if there are none, or if the kernel cannot be split into
    agents.

    agents: `multipliers` leaves the sums of loops to the consumer, `correction` requires an agent that changes them.
    """
    dots = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
    if not dots:
        raise Missed(function, "has no product")
    check_exits(function)
    check_exchanges(function)
    facts, order = Facts(), MemoryOrder()
    found: dict[nv_tileas.Dot, UmmaProduct] = {}
    refused: dict[nv_tileas.Dot, Missed] = {}
    for dot in dots:
        try:
            found[dot] = _product(dot, target, facts, order)
        except Missed as refusal:
            refused[dot] = refusal
    for refusal in list(refused.values()):
        for dot in [dot for dot in found if _share_a_loop(dot, refusal.op)]:
            del found[dot]
            refused[dot] = Missed(
                dot,
                f"is in a loop with a product that tcgen05.mma does not compute, because {refusal.because(dot)}",
                refusal.advice,
            )
    if not found:
        raise next(iter(refused.values()))
    if not any(product.loads or product.read for product in found.values()):
        why = next(why for product in found.values() for one in product.handed.values() if (why := one.why))
        dot = dots[0]
        raise Missed(dot, f"has no operand that TMA brings, because {why.because(dot)}", why.advice)
    choice = UmmaChoice(products=list(found.values()), refused={**refused})
    choice.accumulations = _accumulations(found)
    for one in choice.accumulations:
        for product in one.products:
            for load in (op for filler in product.loads for op in loads_of_fill(filler, product.dot)):
                # The consumer waits for the sums, not for the tiles.
                check_order(load, one.end, order)
    _divide(choice.accumulations)
    if may_pair(function):
        try:
            pair(choice)
        except Missed as refusal:
            choice.not_in_pairs = refusal
    choice.groups = warpgroups(function, choice.accumulations)
    check_threads(choice.products, choice.groups)
    if agents == "correction":
        correct(function, choice)
    if not choice.in_pairs:
        share_stages((product.dot, load) for product in choice.products for load in product.factors)
    choice.stages = reserve(choice.accumulations, target)
    return choice


def _share_a_loop(dot: nv_tileas.Dot, other: Operation) -> bool:
    return any(loop.is_ancestor_of(other) for loop in loops_around(dot))


def instruction_rows(dot: nv_tileas.Dot) -> int:
    """Rows of the instruction for a product of so many rows."""
    return 64 if dot.c.type.shape[0] == 64 else 128


def _product(dot: nv_tileas.Dot, target: Target, facts: Facts, order: MemoryOrder) -> UmmaProduct:
    """The product by tcgen05.mma.  Raises Missed if the instruction or TMA does not support it."""
    if dot.c.type.rank != 2:
        raise Missed(
            dot,
            "multiplies batches of matrices, which tcgen05.mma does not support",
            "use tiles of two dimensions",
        )
    row = _row(dot, target)
    m, k, n = dot.a.type.shape[0], terms(dot), dot.b.type.shape[1]
    columns = min(n, MOST_COLUMNS)
    if m % row.m or columns not in row.n or k % row.k:
        raise Missed(
            dot,
            f"multiplies {m}x{n}x{k}; tcgen05.mma has 64 or 128 rows, at least {row.n[0]} columns and {row.k} terms",
            "use larger tiles",
        )
    if dot.scales and (row.m != LANES or columns < _FEWEST_SCALED):
        raise Missed(
            dot,
            f"multiplies {m}x{n}x{k} with scales; tcgen05.mma has {LANES} rows then, and {_FEWEST_SCALED} columns",
            "use larger tiles",
        )
    around = dot.parent_op
    while around is not None and not isinstance(around, nv_tileaa.Func):
        if not isinstance(around, scf.For | scf.If):
            raise Missed(
                dot,
                f"is nested in a '{around.name}', which agents do not support in this version",
                "use a loop that counts",
            )
        around = around.parent_op
    pack_factors(dot)
    transposed = () if is_packed(dot) else _TRANSPOSED
    across = (*transposed, WORD_BYTES) if transposed else ()
    factors: list[Filler | None] = []
    scales: dict[int, BoxLoad] = {}
    read: list[BoxLoad] = []
    handed: dict[int, Handed] = {}
    for position in (0, 1):
        traced = trace_load(dot, position)
        try:
            if traced is None:
                raise why_computed(dot, position)
            factors.append(box_load(dot, position, *traced, facts, order, across))
        except Missed as refusal:
            known = len(read)
            try:
                handed[position] = _handed(dot, position, read, facts, order, refusal)
                factors.append(None)
            except Missed as why:
                del read[known:]
                factors.append(thread_fill(dot, position, refusal, why, order, transposed))
    for position in range(SCALES, SCALES + len(dot.scales)):
        brought = _atoms_load(dot, position, facts, order)
        if brought is not None:
            scales[position] = brought
        else:
            handed[position] = _handed_scales(dot, position, read, facts, order)
    a, b = factors
    alone = why_not_alone(dot, [*(load for load in factors if load is not None), *read, *scales.values()])
    if alone is not None:
        raise alone
    return UmmaProduct(dot, columns, (4, 1), a, b, read=read, handed=handed, scales=scales)


def _handed(
    dot: nv_tileas.Dot,
    position: int,
    read: list[BoxLoad],
    facts: Facts,
    order: MemoryOrder,
    refusal: Missed,
) -> Handed:
    """A factor that the consumer hands over, for the reason of `refusal`; the tiles from which it computes it are added
    to `read`.  Raises Missed if tcgen05.mma could not read it, or TMA does not bring the tiles."""
    memory, swizzle = staged_layout(dot, position)
    for load in loads_of(dot, position):
        if not isinstance(load, nv_tileas.TiledLoad):
            raise pointwise(load)
        _read(dot, load, read, facts, order)
    return Handed(
        dot,
        memory,
        swizzle,
        without_sign(dot.operand(position))[1],
        False,
        refusal,
        position=position,
        before=_before(dot, position),
    )


def _read(
    dot: nv_tileas.Dot, load: nv_tileas.TiledLoad, read: list[BoxLoad], facts: Facts, order: MemoryOrder
) -> None:
    """Add a tile that TMA brings to the consumer, if it is not there yet.  Raises Missed if TMA does not."""
    if any(load is other.load for other in read):
        return
    read.append(read_load(dot, load, facts, order))


def _atoms_load(dot: nv_tileas.Dot, position: int, facts: Facts, order: MemoryOrder) -> BoxLoad | None:
    """Factors of blocks that TMA brings in the order from which tcgen05.cp copies them; None if it does not."""
    steps: list[Operation] = []
    value = dot.operand(position)
    while value.has_one_use and isinstance(op := value.defining_op, nv_tileaa.Reshape | nv_tileaa.Permute):
        steps.insert(0, op)
        value = op.operands[0]
    load = value.defining_op
    if not value.has_one_use or not isinstance(load, nv_tileas.TiledLoad):
        return None
    with suppress(Missed):
        made = replace(read_load(dot, load, facts, order, (0,)), steps=steps)
        if are_atoms(made.seen, position - SCALES):
            return made
    return None


def _handed_scales(
    dot: nv_tileas.Dot, position: int, read: list[BoxLoad], facts: Facts, order: MemoryOrder
) -> Handed:
    """Factors of blocks, which the consumer loads, from what TMA brings if it can, and hands over."""
    for load in loads_of(dot, position):
        with suppress(Missed):
            if isinstance(load, nv_tileas.TiledLoad):
                _read(dot, load, read, facts, order)
    type = dot.operand(position).type_as(RankedTensorType)
    axis = position - SCALES
    in_order = has_atoms(type.shape, axis)
    layout = scale_atoms(type.shape, axis) if in_order else scales_type(dot, position, 1).layout.layout
    return Handed(dot, layout, 0, [], False, None, position=position, before=_before(dot, position))


def _before(dot: nv_tileas.Dot, position: int) -> Operation:
    """The op before which a factor is handed over: the product, or the loop or branch around it behind the factor."""
    value = without_sign(dot.operand(position))[0]
    before: Operation = dot
    block = value.block if isinstance(value, BlockArgument) else value.defining_op.parent  # type: ignore[union-attr]
    while before.parent is not block:
        assert before.parent_op is not None
        before = before.parent_op
    return before


def _row(dot: nv_tileas.Dot, target: Target) -> Product:
    """The entry of the table.  Raises Missed if there is none for the types."""
    a, b, c = (signless(element) for element in (dot.atom.a, dot.atom.b, dot.atom.accumulator))
    for row in PRODUCTS:
        known = a in row.operands and b in row.operands and c in row.accumulators
        if (
            row.primitive == UMMA
            and row.m == instruction_rows(dot)
            and known
            and dot.atom.primitive == MMA
            and row.feature is not None
            and target.has(row.feature)
        ):
            return row
    raise Missed(
        dot,
        f"multiplies {a} by {b} into {c}, which tcgen05.mma does not support on {target.name}",
        types_advice((a, b, c)),
    )


# -- what adds up


def _accumulations(found: dict[nv_tileas.Dot, UmmaProduct]) -> list[Accumulation]:
    """The accumulations of products, in the order of the program."""
    chains: dict[nv_tileas.Dot, Accumulation] = {}
    for dot, product in found.items():
        before = dot.c.defining_op
        if (
            isinstance(before, nv_tileas.Dot)
            and before in chains
            and before.parent is dot.parent
            and before.res.has_one_use
        ):
            chain = chains[before]
            chain.products.append(product)
        else:
            chain = Accumulation([product])
        chains[dot] = chain
    made = list(dict.fromkeys(chains.values()))
    for chain in made:
        _find_loop(chain)
    return made


def _find_loop(chain: Accumulation) -> None:
    """Let the iterations of a loop add up that carries the sums of products, and does nothing else with them."""
    number, loop = carried_sums(chain.first, chain.last), chain.last.parent_op
    if number is not None and isinstance(loop, scf.For):
        chain.loop, chain.number = loop, number


def _divide(accumulations: list[Accumulation]) -> None:
    """Give products in loops whose factors are computed from sums another agent than those that leave the sums."""
    agents: dict[Operation, int] = {}
    for one in accumulations:
        if loops_around(one.end):
            factors = [factor.value for product in one.products for factor in product.handed.values()]
            before = (agents[op] + 1 for op in computed_from(factors) if op in agents)
            one.agent = min(max(before, default=0), _MOST_AGENTS - 1)
        agents.update((product.dot, one.agent) for product in one.products)
