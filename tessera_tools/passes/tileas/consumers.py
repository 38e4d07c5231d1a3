"""Which loops over tiles have two consumers that take its iterations in turn, and at what price.

    for %p { for %k { products }; epilogue }
      together:  both warpgroups of consumers have half of each tile     main loop + epilogue
      in turn:   each has tiles of its own, of half as many threads      max(main loop, main loop / 2 + epilogue)

The products of one consumer run beside the epilogue of the other.  `why_not` has the reason where an iteration must
not begin before the one in front of it has ended, or its consumers could not tell which stages belong to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.tile_costs import Cost, cost_of, in_threads
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory
from tessera_tools.passes.tileas.missed import place_of
from tessera_tools.planning.layout_rules import FREE
from tessera_tools.records import dataclass
from tessera_tools.target import Target

CONSUMERS = "nv_tileas.consumers"
"""The attribute of a loop over tiles that says how many consumers take its iterations in turn."""
_CONTROL = (scf.For, scf.If, scf.Yield)
_ACCESSES = (nv_tileas.TiledLoad, nv_tileas.TiledStore, nv_tileaa.Load, nv_tileaa.Store)
"""Accesses that nothing but tokens orders."""
_RENAMES = FREE | {"nv_tileaa.broadcast", "nv_tileaa.reshape", "nv_tileaa.permute"}
"""Ops whose tile takes no registers beside those of their operand."""


def alternating_loop(function: Operation) -> scf.For | None:
    """The loop whose iterations several consumers take in turn."""
    found = (op for op in function.walk() if isinstance(op, scf.For) and CONSUMERS in op.attributes)
    return next(found, None)


def loop_over_tiles(function: nv_tileaa.Func) -> scf.For | None:
    """The loop of a kernel, in no other one, that has loops with products; None if there is not exactly one."""
    dots = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
    found = {outermost(dot) for dot in dots}
    only = found.pop() if len(found) == 1 else None
    return only if isinstance(only, scf.For) and all(dot.parent_op is not only for dot in dots) else None


def outermost(op: Operation) -> Operation:
    """The op of the function's block that holds an op."""
    while isinstance(around := op.parent_op, Operation) and not isinstance(around, nv_tileaa.Func):
        op = around
    return op


def why_not(loop: scf.For, products: list[Any]) -> str | None:
    """Why two consumers cannot take the iterations of a loop over tiles in turn; None if they can.

    products: the asynchronous ones of its kernel (products.py).
    """
    if any(value.type is not MEM_TOKEN for value in loop.inits):
        return "a value goes from one iteration to the next"
    for op in ordered_accesses(loop):
        if not _is_behind_products(op, loop):
            return f"'{op.name}'{place_of(op)} may read what the iteration before has stored"
    for product in products:
        if product.staged:
            return "the consumer writes a factor to shared memory"
        if any(isinstance(load, ConvertedFill) for load in product.loads):
            return "an agent of its own computes a factor, which does not know turns in this version"
    for op in loop.walk():
        if isinstance(op, nv_tileas.ClusterOrder):
            return f"the CTAs of a cluster meet in each iteration{place_of(op)}"
        if not (isinstance(op, (*_CONTROL, *_ACCESSES)) or is_pure(op)):
            return f"'{op.name}'{place_of(op)} belongs to the order of the iterations"
    for op in loop.parent or ():
        if op is not loop and writes_memory(op):
            return f"'{op.name}'{place_of(op)}, in front of the iterations or behind them, would run twice"
    for product in products:
        for load in (*product.loads, *product.read):
            around = load.load.parent_op
            if not loop.is_ancestor_of(load.load):
                return "a tile of a product is loaded in front of the iterations"
            while around is not loop and around is not None:
                values = [around.condition] if isinstance(around, scf.If) else list(around.operands[:3])
                if not all(is_of_the_iteration(value, loop) for value in values):
                    return f"the consumer that leaves out an iteration does not know how often '{around.name}' loads"
                around = around.parent_op
    return None


def ordered_accesses(loop: scf.For) -> list[Operation]:
    """The accesses of a loop that carries a token which come after some of the iterations before: one of both is a
    store."""
    if all(value.type is not MEM_TOKEN for value in loop.inits):
        return []
    order = MemoryOrder()
    return [
        op
        for op in loop.walk()
        if isinstance(op, _ACCESSES)
        and any(
            loop.is_ancestor_of(other) and (writes_memory(op) or writes_memory(other))
            for other in order.before(op)
        )
    ]


def _is_behind_products(op: Operation, loop: scf.For) -> bool:
    """Whether an op of an iteration stands behind all of its products."""
    for last in reversed(list(loop.body.entry)):
        if any(isinstance(inner, nv_tileas.Dot) for inner in (last, *last.walk())):
            return False
        if last is op or last.is_ancestor_of(op):
            return True
    return False


def is_of_the_iteration(value: Value, loop: scf.For) -> bool:
    """Whether a number follows from the counter of a loop, and what is around the loop."""
    block = value.owner_block
    home = block.parent_op if block is not None else None
    if home is None or not (home is loop or loop.is_ancestor_of(home)):
        return True
    if isinstance(value, BlockArgument):
        return home is loop
    assert isinstance(value, OpResult)
    return is_computed_again(value.op) and all(is_of_the_iteration(v, loop) for v in value.op.operands)


def is_computed_again(op: Operation) -> bool:
    """Whether any agent can compute a number that an op gives, from what it takes."""
    tiles = any(isinstance(v.type, RankedTensorType) for v in (*op.operands, *op.results))
    return is_pure(op) and not op.regions and not tiles


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What an iteration of a loop over tiles does outside of its loops with products."""

    cycles: int
    """Until its end, if all consumers run it together."""
    busy: Mapping[str, int]
    """Cycles for which it occupies each resource of the SM."""
    bytes: int
    """The most bytes of tiles that are in registers at once."""

    @classmethod
    def of(cls, loop: scf.For, target: Target) -> Epilogue:
        cycles, busy, most = 0, Counter[str](), 0
        body = list(loop.body.entry)
        last: dict[Value, int] = {}
        for number, op in enumerate(body):
            for inner in (op, *op.walk()):
                last.update(dict.fromkeys(inner.operands, number))
        live: dict[Value, int] = {}
        for number, op in enumerate(body):
            if not _multiplies(op):
                cost = in_threads(cost_of(op, target))
                cycles += max(cost.cycles.get("threads", 0), cost.latency)
                busy.update({name: amount for name, amount in cost.cycles.items() if name != "threads"})
            made = {v: _held(v, live) for v in op.results if last.get(v, -1) > number}
            read = sum(size for v, size in live.items() if last[v] == number)
            live = {v: size for v, size in live.items() if last[v] > number}
            # Where an operand is read for the last time, a result takes its registers.
            most = max(most, sum(live.values()) + max(read, sum(made.values())))
            live |= made
        return cls(cycles, busy, most)


def busy_of(ops: Sequence[Operation], costs: Sequence[Cost]) -> Counter[str]:
    """Cycles for which one iteration of a loop with products occupies each resource of the SM, from the costs of its
    ops; CTAs of a cluster that share a load bring a part of the tile each."""
    busy = Counter[str]()
    for number, cost in enumerate(costs):
        bits = ops[number].attributes.get(nv_tileas.SHARED_BY) if number < len(ops) else None
        sharers = 1 << (bits.value.bit_count() if isinstance(bits, IntegerAttr) else 0)
        for name, cycles in cost.cycles.items():
            if name != "threads":
                busy[name] += cycles // (sharers if name == "memory" else 1)
    return busy


def price_in_turn(main: int, busy: Mapping[str, int], epilogue: Epilogue, barrier: int) -> int:
    """Cycles of a tile, if each consumer has tiles of its own: half as many threads take twice as long for an
    epilogue, beside the main loop of the other one.  Each turn has two barriers.

    main, busy: the cycles of the main loop, and those for which it occupies each resource.
    """
    shared = Counter(busy)
    shared.update(epilogue.busy)
    return max(main, main // 2 + epilogue.cycles, *shared.values()) + 2 * barrier


def _multiplies(op: Operation) -> bool:
    return any(isinstance(inner, nv_tileas.Dot) for inner in (op, *op.walk()))


def _held(value: OpResult, live: Mapping[Value, int]) -> int:
    """Bytes of registers for a tile that an op makes: none for a constant, and those of its operand for a tile that
    repeats or renames them."""
    if value.op.name not in _RENAMES:
        return _bytes(value)
    return min(_bytes(value), sum(live.get(operand, 0) for operand in value.op.operands))


def _bytes(value: Value) -> int:
    type = value.type
    return prod(type.shape) * storage_bits(type.element) // 8 if isinstance(type, RankedTensorType) else 0
