"""mbarrier instructions (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.mbarrier import MAXIMUM, MBarrier, create, destroy, lookup
from tessera_tools.sim.program import Address, Name, Operand
from tessera_tools.sim.tensor_memory import relaxed_arrival, relaxed_wait
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Outcome, Warp, mask_of

_POLLS = 32
"""The number of failed tests of an mbarrier after which an awaited copy completes: they may be a polling loop."""
_EARLY = 0.125
_EARLY_FIRST_WAIT = 0.984375
"""The probabilities that a test that may fail does: in general, and when a warp first executes the instruction."""


def _space(ctx: Context, *, cluster: bool = True) -> str:
    spaces = ("shared", "shared::cta", "shared::cluster") if cluster else ("shared", "shared::cta")
    space = ctx.choose(*spaces, default="generic")
    return "shared" if space == "shared::cta" else space


def _lanes(mask: Mask) -> list[tuple[int, Mask]]:
    return [(lane, mask_of(1 << lane)) for lane in map(int, mask.lanes)]


def _is_uniform(row: Array) -> bool:
    """Whether all values are equal. The values are few, and bytes are compared in a fraction of the time."""
    return row.tobytes() == row[:1].tobytes() * len(row)


def _alike(mask: Mask, *rows: Array) -> list[tuple[int, Mask]]:
    """Partition the lanes into groups with equal values in all rows: the first lane of each group, and the group."""
    first = mask.first
    if mask.count == 1 or all(_is_uniform(row if mask.full else row[mask.array]) for row in rows):
        return [(first, mask)]
    groups: dict[tuple[int, ...], int] = {}
    for lane in map(int, mask.lanes):
        key = tuple(int(row[lane]) for row in rows)
        groups[key] = groups.get(key, 0) | 1 << lane
    return [(group.first, group) for group in map(mask_of, groups.values())]


@instruction("mbarrier.init")
def init(ctx: Context) -> Execute:
    """mbarrier.init{.shared{::cta}}.b64 [addr], count."""
    space = _space(ctx, cluster=False)
    ctx.type("b64")
    target, source = ctx.operands(2)
    address, count = ctx.address(target), ctx.read(source, TYPES["u32"])

    def execute(warp: Warp, mask: Mask) -> None:
        addresses, counts = address(warp), warp.ports[count]
        for lane, one in _lanes(mask):
            create(warp, one, space, int(addresses[lane]), int(counts[lane]))

    return execute


@instruction("mbarrier.inval")
def inval(ctx: Context) -> Execute:
    """mbarrier.inval{.shared{::cta}}.b64 [addr]."""
    space = _space(ctx, cluster=False)
    ctx.type("b64")
    address = ctx.address(ctx.operands(1)[0])

    def execute(warp: Warp, mask: Mask) -> None:
        addresses = address(warp)
        for lane, one in _lanes(mask):
            destroy(warp, one, space, int(addresses[lane]))

    return execute


def _order(ctx: Context, *usual: str) -> bool:
    """Take the order and the scope; whether the order is .relaxed instead of the usual one."""
    order = ctx.choose(*usual, "relaxed", default="")
    scope = ctx.choose("cta", "cluster", default="")
    if order and not scope:
        raise ctx.error(f"has .{order} without a scope; expected .cta or .cluster")
    if scope and not order:
        raise ctx.error(f"has the scope .{scope} without .{' or .'.join((*usual, 'relaxed'))}")
    return order == "relaxed"


@instruction("mbarrier.arrive", "mbarrier.arrive_drop")
def arrive(ctx: Context) -> Execute:
    """mbarrier.arrive{_drop}{.expect_tx}{.noComplete}{.sem}{.scope}{.space}.b64 state|_, [addr]{, count}."""
    drop = "arrive_drop" in ctx.inst.modifiers
    expects = ctx.flag("expect_tx")
    no_complete = ctx.flag("noComplete")
    relaxed = _order(ctx, "release")
    space = _space(ctx)
    ctx.type("b64")
    operands = list(ctx.operands())
    target: Operand | None = None
    if operands and not isinstance(operands[0], Address):
        target = operands.pop(0)
    if not 1 <= len(operands) <= 2 or (len(operands) == 1 and (expects or no_complete)):
        raise ctx.error("needs an address" + (" and a count" if expects or no_complete else ""))
    sink = target is None or (isinstance(target, Name) and target.name == "_")
    if space == "shared::cluster" and not sink:
        raise ctx.error("returns no state for .shared::cluster; write to '_'")
    address = ctx.address(operands[0])
    amount = ctx.read(operands[1], TYPES["u32"]) if len(operands) == 2 else None
    destination = ctx.write(target, TYPES["b64"]) if target is not None and not sink else None

    def execute(warp: Warp, mask: Mask) -> None:
        addresses = address(warp)
        amounts = warp.ports[amount] if amount is not None else None
        # Released after the lookups, which use the objects.
        groups = _alike(mask, addresses, *([amounts] if amounts is not None else ()))
        found = [(lane, group, lookup(warp, group, space, int(addresses[lane]))) for lane, group in groups]
        seen = relaxed_arrival(warp) if relaxed else warp.cta.cluster.clocks.release(warp)
        states = np.zeros(32, np.uint64)
        for first, group, barrier in found:
            if barrier is None:
                continue
            if destination is not None and barrier.cta is not warp.cta:
                warp.report("mbarrier", f"arrive at {barrier.place}, of another CTA, returns no state", group)
            value = int(amounts[first]) if amounts is not None else 1
            count = 1 if expects else value
            if 0 < count * group.count <= barrier.pending and not drop and not no_complete:
                # Only the last arrival of a phase changes more than the counts.
                states[group.lanes] = barrier.token() - count * np.arange(group.count)
                if expects:
                    barrier.expect(warp, group, _signed(value) * group.count)
                barrier.arrive(warp, group, count * group.count, seen)
                continue
            for lane, one in _lanes(group):
                states[lane] = barrier.token()
                if expects:
                    barrier.expect(warp, one, _signed(value))
                if not 1 <= count <= MAXIMUM:
                    warp.report("mbarrier", f"arrive with a count of {count}; expected 1 to {MAXIMUM}", one)
                elif no_complete and count >= barrier.pending:
                    warp.report("mbarrier", f".noComplete at {barrier.place} completes its phase", one)
                else:
                    barrier.arrive(warp, one, count, seen, drop=drop)
        if destination is not None:
            put(warp, mask, destination, states)

    return execute


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


@instruction("mbarrier.expect_tx", "mbarrier.complete_tx")
def transaction(ctx: Context) -> Execute:
    """mbarrier.{expect_tx,complete_tx}{.relaxed}{.scope}{.space}.b64 [addr], bytes."""
    completes = "complete_tx" in ctx.inst.modifiers
    _order(ctx)
    space = _space(ctx)
    ctx.type("b64")
    target, source = ctx.operands(2)
    address, amount = ctx.address(target), ctx.read(source, TYPES["u32"])

    def execute(warp: Warp, mask: Mask) -> None:
        addresses, amounts = address(warp), warp.ports[amount]
        for lane, one in _lanes(mask):
            barrier = lookup(warp, one, space, int(addresses[lane]))
            if barrier is None:
                continue
            if completes:
                barrier.complete(_signed(int(amounts[lane])), None)
            else:
                barrier.expect(warp, one, _signed(int(amounts[lane])))

    return execute


@instruction("mbarrier.pending_count")
def pending_count(ctx: Context) -> Execute:
    """mbarrier.pending_count.b64 count, state: the pending arrivals that an opaque state contains."""
    ctx.type("b64")
    target, source = ctx.operands(2)
    destination, state = ctx.write(target, TYPES["u32"]), ctx.read(source, TYPES["u64"])
    return lambda warp, mask: put(warp, mask, destination, warp.ports[state] & np.uint64(MAXIMUM))


@instruction("mbarrier.test_wait", "mbarrier.try_wait")
def wait(ctx: Context) -> Execute:
    """mbarrier.{test_wait,try_wait}{.parity}{.sem}{.scope}{.space}.b64 p, [addr], state|parity {, time}."""
    blocking = "try_wait" in ctx.inst.modifiers
    by_parity = ctx.flag("parity")
    relaxed = _order(ctx, "acquire")
    space = _space(ctx, cluster=False)
    ctx.type("b64")
    operands = ctx.operands(*((3, 4) if blocking else (3,)))
    destination = ctx.write(operands[0], TYPES["pred"])
    address = ctx.address(operands[1])
    phase = ctx.read(operands[2], TYPES["u32" if by_parity else "u64"])
    pc = ctx.pc
    ctx.blocks()

    def execute(warp: Warp, mask: Mask) -> Outcome:
        addresses, phases = address(warp), warp.ports[phase]
        tests: list[tuple[Array, MBarrier, int]] = []
        # A state contains the phase, which is compared, in the high bits, and the pending arrivals in the low bits.
        for first, group in _alike(mask, addresses, phases if by_parity else phases >> np.uint64(32)):
            barrier = lookup(warp, group, space, int(addresses[first]))
            if barrier is not None:
                wanted = int(phases[first])
                if barrier.cta is not warp.cta:
                    warp.report("mbarrier", f"a wait at {barrier.place}, of another CTA", group)
                if not by_parity:
                    _check_state(warp, group, barrier, wanted >> 32)
                elif wanted > 1:
                    warp.report("mbarrier", f"the parity is {wanted}; expected 0 or 1", group)
                wanted = wanted & 1 if by_parity else wanted >> 32
                if by_parity and warp.stats is not None:
                    wanted = warp.stats.parity(warp, pc, int(addresses[first]), wanted)
                tests.append((group.lanes, barrier, wanted))

        def passed(barrier: MBarrier, wanted: int) -> bool:
            if warp.stats is not None and warp.stats.passing:
                return True
            # While phase k is incomplete, parity k & 1 waits for it; the other parity is that of phase k-1.
            return (barrier.phase & 1 if by_parity else barrier.phase & 0xFFFFFFFF) != wanted

        def finish(warp: Warp, mask: Mask, early: Sequence[MBarrier] = ()) -> None:
            row = np.ones(32, np.bool_)
            for lanes, barrier, wanted in tests:
                over = row[lanes] = barrier not in early and passed(barrier, wanted)
                if not over and warp.stats is not None:
                    warp.stats.gave_up(warp)
                if over and barrier.released is not None:
                    if relaxed:
                        relaxed_wait(warp, barrier.released)
                    else:
                        warp.cta.cluster.clocks.acquire(warp, barrier.released)
            put(warp, mask, destination, row)

        def ready() -> bool:
            return all(passed(barrier, wanted) for _, barrier, wanted in tests)

        if warp.stats is not None and tests:
            barrier, wanted = tests[0][1:]
            kind, cta, place, current = barrier.key
            warp.stats.wait(kind, cta, place, current - passed(barrier, wanted))
        late = [(barrier, wanted) for _, barrier, wanted in tests if not passed(barrier, wanted)]
        if not late:
            unordered = (
                [] if relaxed else [barrier for _, barrier, _ in tests if not barrier.is_ordered(warp)]
            )
            finish(warp, mask, unordered if unordered and _fails_early(warp, pc) else ())
            return None
        barrier, wanted = late[0]
        if not blocking or _fails_early(warp, pc):
            barrier.polled += 1
            if barrier.polled % _POLLS == 0:
                barrier.waiting += 1
                warp.cta.cluster.engine.complete_wanted()
                barrier.waiting -= 1
            finish(warp, mask)
            return None
        if len(tests) == 1:  # While the warp waits, this is asked often.
            ready = partial(passed, barrier, wanted)
        return barrier.wait(ready, finish, f"{'parity' if by_parity else 'phase'} {wanted}", timed=True)

    return execute


def _fails_early(warp: Warp, pc: int) -> bool:
    """Whether a test that may fail does so at once; more likely at a warp's first such test at `pc`."""
    launch = warp.cta.cluster.launch
    if launch.timed:
        return False
    failed: set[int] = warp.state.setdefault("try_wait", set())
    likely = _EARLY if pc in failed else _EARLY_FIRST_WAIT
    failed.add(pc)
    return launch.random.random() < likely


def _check_state(warp: Warp, mask: Mask, barrier: MBarrier, phase: int) -> None:
    if not 0 <= barrier.phase - phase <= 1:
        warp.report(
            "mbarrier",
            f"a state of phase {phase} of {barrier.place}, which is in phase {barrier.phase}; a state is valid in "
            "its own phase and in the next one",
            mask,
        )
