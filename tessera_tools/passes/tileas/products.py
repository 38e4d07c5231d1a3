"""Decides from facts which products run asynchronously, and how their operands reach shared memory.

    tiled_load ─▶ [reshape] ─▶ [permute] ─▶ [negf] ─▶ dot      by TMA, else by the threads of the producer
    load %pointers, … ─▶ … ─▶ dot                              by the threads of the producer
    tiled_load ─▶ … ─▶ dot                                     by TMA, computed by the consumer; else as above
    tiled_load of bytes that are not contiguous along K        by TMA, transposed by the consumer; else as above

wgmma negates its factors itself.  What fills the stages of the operands: fills.py.

wgmma must support the product, and something must bring its operands.  Otherwise a `Missed` has the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TypeGuard

from tessera_tools.analysis.access import contiguous_axis
from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.atoms import MMA, PRODUCTS, WGMMA
from tessera_tools.dialects.cute import CuteMmaAtomAttr
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import F32, RankedTensorType, Type
from tessera_tools.passes.tileas.agent_registers import (
    FEW_SUMS,
    MOST_COLUMNS,
    ConverterPlan,
    converter_plan,
    registers_of_one,
)
from tessera_tools.passes.tileas.consumer_warpgroups import (
    SLICE,
    WARPGROUPS,
    grid,
    group_in_turn,
    is_sliced,
    warpgroups,
)
from tessera_tools.passes.tileas.consumers import alternating_loop
from tessera_tools.passes.tileas.conversions import ConvertedFill, converted_fill
from tessera_tools.passes.tileas.fills import (
    FEW_ELEMENTS,
    MOST_ELEMENTS,
    REGISTER_BYTES,
    SIDES,
    WORD_BYTES,
    BoxLoad,
    Filler,
    ThreadFill,
    box_load,
    computed_fill,
    loaded_fill,
    loads_of,
    pointwise,
    read_load,
    staged_layout,
    trace_load,
)
from tessera_tools.passes.tileas.memory_order import MemoryOrder
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.precision import loses_precision, sums_of
from tessera_tools.passes.tileas.shared_stages import share_stages
from tessera_tools.passes.tileas.tied_sums import refuse_tied
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.records import dataclass, field
from tessera_tools.target import Feature, Target

IN_TURN = 2
"""Consumers that take tiles in turn, of one warpgroup each."""
MOST_STAGES = 4
FEWEST_STAGES = 2
"""The minimum number of buffers of a load in a loop: one is filled while the other is read."""

_MOST_ADDRESSES = 64
"""Addresses of a thread of the producer for one stage through registers, beside one warpgroup of consumers; more
warpgroups leave each thread fewer registers."""

_NONE: Mapping[Operation, Missed] = MappingProxyType({})


@dataclass(eq=False)
class AsyncProduct:
    """A product by wgmma, and the sources of its operands."""

    dot: nv_tileas.Dot
    atom_n: int
    grid: tuple[int, int]
    a: Filler | None
    """None if the consumer computes A."""
    b: Filler | None
    """None if the consumer computes B."""
    sliced: bool = False
    """Whether its sums are added in f32 slice by slice, so that it ends where it starts."""
    read: list[BoxLoad] = field(default_factory=list[BoxLoad])
    """Tiles that TMA loads and from which the consumer computes an operand."""
    is_written: bool = False
    """Whether the consumer writes A to shared memory: it transposes bytes, or a thread has other terms of it than the
    instruction reads.  Otherwise a computed A stays in registers."""

    @property
    def factors(self) -> list[Filler]:
        """What brings them."""
        return [load for load in (self.a, self.b) if load is not None]

    @property
    def shared(self) -> list[BoxLoad]:
        """The factors in stages of another product."""
        return [load for load in self.factors if isinstance(load, BoxLoad) and load.stage_of is not None]

    @property
    def loads(self) -> list[Filler]:
        """What fills stages of its own."""
        return [load for load in self.factors if load not in self.shared]

    def factor(self, position: int) -> Value:
        """A factor that is computed, before its sign is inverted."""
        return without_sign(self.dot.operand(position))[0]

    def negates(self, position: int) -> bool:
        """True if wgmma inverts the sign of a factor."""
        load = (self.a, self.b)[position]
        if load is None:
            return len(without_sign(self.dot.operand(position))[1]) % 2 == 1
        return sum(isinstance(step, arith.NegF) for step in load.steps) % 2 == 1

    @property
    def signs(self) -> list[Operation]:
        """The ops that invert signs in place of which wgmma does."""
        found: list[Operation] = [s for load in self.factors for s in load.steps if isinstance(s, arith.NegF)]
        for position, load in enumerate((self.a, self.b)):
            value = self.dot.operand(position)
            while load is None and isinstance(op := value.defining_op, arith.NegF) and value.has_one_use:
                found.append(op)
                value = op.operands[0]
        return found

    @property
    def staged(self) -> list[int]:
        """The operands that the consumer computes and writes to shared memory: B, and A unless it stays in
        registers."""
        return [0] * self.is_written + [1] * (self.b is None)

    @property
    def staged_bytes(self) -> int:
        """Bytes of shared memory that they take."""
        types = [self.dot.operand(position).type_as(RankedTensorType) for position in self.staged]
        return sum(type.num_elements * element_bytes(type.element) for type in types)

    def atom(self) -> CuteMmaAtomAttr:
        """The instruction."""
        old = self.dot.atom
        k = 32 // element_bytes(self.dot.a.type.element)
        return CuteMmaAtomAttr(WGMMA, 90, (64, self.atom_n, k), old.a, old.b, old.accumulator)


@dataclass(eq=False)
class Choice:
    """The asynchronous products of a kernel, the warpgroups that compute them, and the reasons for other products."""

    products: list[AsyncProduct] = field(default_factory=list[AsyncProduct])
    groups: int = 1
    why: str = ""
    """Why there are so many warpgroups."""
    streams: list[BoxLoad] = field(default_factory=list[BoxLoad])
    """Without products: the tiles that TMA brings."""
    stages: int = MOST_STAGES
    """The most stages of a pipeline."""
    refused: Mapping[Operation, Missed] = field(default_factory=dict[Operation, Missed])
    """Products, or without products loads, that stay as they are, and why."""
    consumers: int = 1
    """How many consumers of `groups` warpgroups take tiles in turn (consumers.py)."""

    @property
    def consumer_registers(self) -> int:
        """Registers of a consumer's thread."""
        return self._registers[1]

    @property
    def registers(self) -> tuple[int, int] | None:
        """Registers of the threads of the producer and of the consumer; None if there are enough for all."""
        return self._registers if self._registers[0] else None

    @property
    def by_threads(self) -> bool:
        """Whether the threads of the producer bring tiles, so that it has a warpgroup."""
        return any(is_by_threads(load) for product in self.products for load in product.loads)

    @property
    def has_other_agents(self) -> bool:
        """Whether an agent beside the consumer computes."""
        return self.by_threads or self.converter is not None

    def columns(self) -> int:
        """The columns of tensor memory that sums and factors take, at most."""
        return 0

    @property
    def converter(self) -> ConverterPlan | None:
        """The agent that computes factors."""
        if not any(isinstance(load, ConvertedFill) for product in self.products for load in product.loads):
            return None
        sums = sum(sums_of(p.dot, self.groups, p.sliced) for p in self.products)
        return converter_plan(self.groups * self.consumers, sums)

    @property
    def _registers(self) -> tuple[int, int]:
        converter = self.converter
        if converter is not None:
            return converter.registers[:2]
        sums = max((sums_of(p.dot, self.groups, p.sliced) for p in self.products), default=0)
        return registers_of_one(self.groups * self.consumers, self.by_threads, sums)


def is_by_threads(load: Filler) -> TypeGuard[ThreadFill]:
    """Whether the threads of the producer bring a tile."""
    return isinstance(load, ThreadFill) and not isinstance(load, ConvertedFill)


def choose(function: nv_tileaa.Func, banned: Mapping[Operation, Missed] = _NONE) -> Choice:
    """The asynchronous products of a kernel, without TMA for `banned` loads.  Raises Missed if there are none, or if
    the kernel cannot be split into agents."""
    dots = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
    if not dots:
        raise Missed(function, "has no product")
    check_exits(function)
    facts, order = Facts(), MemoryOrder()
    found: dict[nv_tileas.Dot, _Factors] = {}
    refused: dict[nv_tileas.Dot, Missed] = {}
    for dot in dots:
        try:
            found[dot] = _operands(dot, facts, order, banned)
        except Missed as refusal:
            refused[dot] = refusal
    refuse_tied(function, found, refused)
    for dot in list(found):
        alone = why_not_alone(dot, found[dot].loads)
        if alone is not None:
            del found[dot]
            refused[dot] = alone
    if not any(factors.loads for factors in found.values()):
        raise next(iter(refused.values()), Missed(dots[0], "has no operand that is loaded"))
    choice = Choice(refused={**refused})
    chained = any(factors.a is None and not factors.is_written for factors in found.values())
    if alternating_loop(function) is not None:
        choice.consumers = IN_TURN
        choice.groups, choice.why = group_in_turn(list(found), chained), "each has tiles of its own"
    else:
        choice.groups, choice.why = warpgroups(list(found), chained)
    groups = choice.groups * choice.consumers
    few = all(sums_of(dot, groups, is_sliced(dot, groups)) <= FEW_SUMS for dot in found)
    fills = [load for factors in found.values() for load in factors.loads]
    check_addresses(fills, few, _MOST_ADDRESSES // groups)
    for dot, factors in found.items():
        places = grid(dot, choice.groups, chained)
        sliced = is_sliced(dot, choice.groups)
        if sliced:
            places = min(places[0], SLICE), places[1]
        choice.products.append(
            AsyncProduct(dot, *places, factors.a, factors.b, sliced, factors.read, factors.is_written)
        )
    if choice.converter is not None and choice.converter.has_warpgroup:
        for product in choice.products:
            product.atom_n = min(product.atom_n, MOST_COLUMNS)
    if choice.converter is None:
        share_stages((product.dot, load) for product in choice.products for load in product.factors)
    return choice


def check_addresses(loads: Iterable[Filler], few: bool, most: int) -> None:
    """Say how many elements a thread of the producer holds at a time.  Raises Missed if it has no registers for the
    addresses of what it loads, which LLVM computes ahead of the loop.

    few: whether the consumer leaves it registers for many elements; most: the addresses for which it has registers.
    """
    fills = [load for load in loads if is_by_threads(load)]
    for fill in fills:
        fill.most = MOST_ELEMENTS if few and not fill.is_converted else FEW_ELEMENTS
    addresses = sum(fill.addresses for fill in fills)
    if addresses > most:
        raise fills[0].missed(
            f"through registers, a thread of the producer would load from {addresses} addresses for each stage, more "
            f"than the {most} for which it has registers"
        )


def why_not_alone(dot: nv_tileas.Dot, loads: Sequence[Filler]) -> Missed | None:
    """Why threads do not bring the factors of a product outside of loops for which TMA brings nothing: they would bring
    nothing ahead of it.  None if the product is another one."""
    first = loads[0] if loads else None
    if (
        not isinstance(first, ThreadFill)
        or any(isinstance(load, BoxLoad) for load in loads)
        or loops_around(dot)
    ):
        return None
    return first.missed("without TMA and a loop, nothing comes ahead of its use")


def types_advice(types: Sequence[Type]) -> str:
    """What the author can do about a product of such types that tensor cores do not compute; empty if nothing."""
    known = F32 in types[:2]
    return "convert the operands to tf32, f16 or bf16 if their precision suffices" if known else ""


def loops_around(op: Operation) -> list[Operation]:
    """The loops around an op, innermost first."""
    found: list[Operation] = []
    outer = op.parent_op
    while outer is not None:
        if isinstance(outer, LoopLike):
            found.append(outer)
        outer = outer.parent_op
    return found


def asynchronous_products(function: nv_tileaa.Func, target: Target) -> Choice | None:
    """The asynchronous products of a kernel; None if it has none, or the target has none."""
    if not (target.has(Feature.WGMMA) and target.has(Feature.TMA)):
        return None
    try:
        return choose(function)
    except Missed:
        return None


def carried_sums(first: nv_tileas.Dot, last: nv_tileas.Dot) -> int | None:
    """Which of the values that a loop carries the sums of products in it are, the first of which adds to it, if its
    iterations do nothing else with them; None if they are none."""
    start, loop = first.c, last.parent_op
    if not isinstance(start, BlockArgument) or not isinstance(loop, scf.For) or start.index == 0:
        return None
    if start.block is not last.parent or not start.has_one_use or not last.res.has_one_use:
        return None
    number = start.index - 1
    return number if loop.yielded[number] is last.res else None


def check_exchanges(function: nv_tileaa.Func) -> None:
    """Raises Missed if the CTAs of a cluster exchange values, for which all of their threads wait."""
    for op in function.walk():
        if isinstance(op, nv_tileas.ClusterReduce):
            raise Missed(
                op,
                "exchanges values between CTAs, at a barrier of all their threads",
                "compute the kernel without a cluster (num_cta_in_cga = 1)",
            )


def check_exits(function: nv_tileaa.Func) -> None:
    """Missed where a kernel ends within a branch or a loop."""
    for op in function.walk():
        if isinstance(op, nv_tileaa.Return) and op.parent_op is not function:
            raise Missed(
                op,
                "exits the kernel early, which an agent cannot do",
                "put what follows in a branch",
            )


# -- products


def without_sign(value: Value) -> tuple[Value, list[Operation]]:
    """A value before its sign is inverted, and the ops that do, in order."""
    signs: list[Operation] = []
    while isinstance(op := value.defining_op, arith.NegF):
        signs.insert(0, op)
        value = op.operands[0]
    return value, signs


@dataclass(eq=False)
class _Factors:
    """What brings A and B, None for what the consumer computes; and the tiles from which it does."""

    a: Filler | None = None
    b: Filler | None = None
    read: list[BoxLoad] = field(default_factory=list[BoxLoad])
    is_written: bool = False
    """Whether the consumer writes A to shared memory."""

    @property
    def loads(self) -> list[Filler]:
        return [load for load in (self.a, self.b, *self.read) if load is not None]


def _operands(
    dot: nv_tileas.Dot, facts: Facts, order: MemoryOrder, banned: Mapping[Operation, Missed]
) -> _Factors:
    """The sources of A and B.  Raises Missed if wgmma does not support the product."""
    types = [v.type.element for v in (dot.a, dot.b, dot.c)]
    if dot.scales:
        raise Missed(dot, "has scales, which wgmma does not support", "scale the factors before the product")
    if dot.c.type.rank != 2:
        raise Missed(
            dot, "multiplies batches of matrices, which wgmma does not support", "use tiles of two dimensions"
        )
    rows = [r for r in PRODUCTS if r.primitive == WGMMA and types[0] in r.operands and types[1] in r.operands]
    if dot.atom.primitive != MMA or not any(types[2] in r.accumulators for r in rows):
        raise Missed(
            dot,
            f"multiplies {types[0]} by {types[1]} into {types[2]}, which wgmma does not support",
            types_advice(types),
        )
    around = dot.parent_op
    while around is not None and not isinstance(around, nv_tileaa.Func):
        if not isinstance(around, scf.For | scf.If):
            raise Missed(
                dot,
                f"is nested in a '{around.name}', which the consumer does not support in this version",
                "use a loop that counts",
            )
        around = around.parent_op
    (m, k), n = dot.a.type.shape, dot.b.type.shape[1]
    if m % 64 or n < 8 or k % rows[0].k:
        raise Missed(
            dot,
            f"multiplies {m}x{n}x{k}; wgmma has 64 rows, at least 8 columns and {rows[0].k} terms",
            "use larger tiles",
        )
    found = _Factors()
    found.a = _factor(dot, 0, found, facts, order, banned)
    found.b = _factor(dot, 1, found, facts, order, banned)
    return found


def _factor(
    dot: nv_tileas.Dot,
    position: int,
    found: _Factors,
    facts: Facts,
    order: MemoryOrder,
    banned: Mapping[Operation, Missed],
) -> Filler | None:
    """What brings an operand; None if the consumer computes it.  If TMA loads the tile from which it does, that is
    added to what is `found`.  Raises Missed if nothing brings it."""
    traced = trace_load(dot, position)
    if isinstance(traced, tuple):
        if traced[0] in banned:
            raise banned[traced[0]]
        try:
            return box_load(dot, position, *traced, facts, order)
        except Missed as refusal:
            size = element_bytes(traced[0].res.type.element)
            # The instruction takes words of 32 bits from registers one by one, wherever they lie.
            in_registers = position == 0 and size == WORD_BYTES
            if size != REGISTER_BYTES:
                # An element at a time would be what threads bring along another axis: others exchange them.
                with suppress(Missed):
                    if not in_registers:
                        converted = _converted(dot, position, facts, order, banned)
                        if converted is not None:
                            return converted
                        staged_layout(dot, position)
                    _read_all(dot, position, [traced[0]], found.read, facts, order, banned)
                    found.is_written |= position == 0 and not in_registers
                    return None
            return loaded_fill(dot, position, *traced, refusal, order)
    loads = loads_of(dot, position)
    # Why TMA does not bring what the operand is computed from.
    why: Missed | None = None
    try:
        tiled = [load for load in loads if isinstance(load, nv_tileas.TiledLoad)]
        for load in loads:
            if isinstance(load, nv_tileaa.Load):
                raise pointwise(load)
        if loads:
            converted = _converted(dot, position, facts, order, banned) if position == 1 else None
            if converted is not None:
                return converted
            _read_all(dot, position, tiled, found.read, facts, order, banned)
            return None
    except Missed as refusal:
        why = refusal
    value, signs = without_sign(dot.operand(position))
    if why is not None and value.defining_op not in banned:
        fill = computed_fill(dot, position, value, signs, why, order)
        if fill is not None:
            return fill
    found.is_written |= position == 0 and has_other_terms(dot)
    if position == 1 or found.is_written:
        staged_layout(dot, position)
        if why is not None:
            raise Missed(
                dot,
                f"has a {SIDES[position]} operand computed from what the consumer itself would load and wait for, "
                f"because {why.because(dot)}",
                why.advice,
            )
    return None


def _converted(
    dot: nv_tileas.Dot, position: int, facts: Facts, order: MemoryOrder, banned: Mapping[Operation, Missed]
) -> Filler | None:
    """A factor that an agent of its own computes ahead of a product in a loop; None if there is none."""
    if not loops_around(dot) or any(load in banned for load in loads_of(dot, position)):
        return None
    value, signs = without_sign(dot.operand(position))
    return converted_fill(dot, position, value, signs, facts, order)


def sums_behind(value: Value) -> nv_tileas.Dot | None:
    """The product from whose sums a tile is computed element by element, in the same threads; None without one."""
    seen: set[Value] = set()
    work = [value]
    while work:
        op = work.pop().defining_op
        if isinstance(op, nv_tileas.Dot):
            return op
        if op is not None and is_elementwise(op):
            work += [v for v in op.operands if isinstance(v.type, RankedTensorType) and v not in seen]
            seen.update(op.operands)
    return None


def has_other_terms(dot: nv_tileas.Dot) -> bool:
    """Whether a thread has other terms of A than the instruction reads, because those that it has of sums are of
    another number of bits; see order_terms.py."""
    return element_bytes(dot.a.type.element) != REGISTER_BYTES and sums_behind(dot.a) is not None


def _read_all(
    dot: nv_tileas.Dot,
    position: int,
    loads: Sequence[nv_tileas.TiledLoad],
    read: list[BoxLoad],
    facts: Facts,
    order: MemoryOrder,
    banned: Mapping[Operation, Missed],
) -> None:
    """Let TMA load all tiles from which the consumer computes an operand.  Raises Missed if it cannot."""
    made: list[BoxLoad] = []
    for load in loads:
        if load in banned:
            raise banned[load]
        if not any(load is other.load for other in read):
            made.append(read_load(dot, load, facts, order))
    if position == 1:
        staged_layout(dot, position)
    read += made


def has_room(
    dot: nv_tileas.Dot, shape: tuple[int, ...], target: Target, alone: bool, terms: int | None = None
) -> bool:
    """Whether an SM has registers and shared memory for a product on tensor cores, if only so many of its rows and
    columns, and of its terms, are computed at a time; `alone`: and nothing else comes before or after.  True of other
    products."""
    if dot.atom.primitive != MMA or dot.c.type.rank != 2:
        return True
    m, n = shape
    words = m * n * element_bytes(dot.c.type.element) // 4
    if not alone:
        # The addresses of what comes after are in registers, too, and what its factors pass through.
        turned = any(_is_turned(dot, position) for position in (0, 1))
        words *= 1 + (turned or loses_precision(dot))
    if not any(words <= most * 128 * groups for groups, most in WARPGROUPS):
        return False
    loads = [size for size, position in ((m, 0), (n, 1)) if trace_load(dot, position) is not None]
    stage = sum(loads) * (terms or dot.a.type.shape[1]) * element_bytes(dot.a.type.element)
    return not loops_around(dot) or FEWEST_STAGES * stage <= pipeline_room(target, at_most=alone)


def _is_turned(dot: nv_tileas.Dot, position: int) -> bool:
    """Whether a factor is loaded from a view that is not contiguous along K, and wgmma reads it along K only."""
    traced = trace_load(dot, position)
    if traced is None or element_bytes(dot.a.type.element) == REGISTER_BYTES:
        return False
    load, steps = traced
    axis = contiguous_axis(load.view.defining_op)
    for step in steps:
        if isinstance(step, nv_tileaa.Permute) and axis is not None:
            axis = step.permutation.values.index(axis)
    return axis != 1 - position
