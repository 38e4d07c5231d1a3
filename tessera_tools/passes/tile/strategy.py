"""Recommends a strategy for a kernel of the `tile` dialect, with reasons, from its resources.

Resources ──strategy_of()──▶ {"memory": [Choice("TMA for all 3 copies", "their boxes …")], "compute": […], …}
"""

from __future__ import annotations

from tessera_tools.passes.tile.resources import ProductUse, Resources
from tessera_tools.records import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """A recommendation, and its reason."""

    what: str
    why: str


def strategy_of(r: Resources) -> dict[str, list[Choice]]:
    """The recommendations for memory, compute, synchronization and registers."""
    return {
        "memory": _memory(r),
        "compute": _compute(r),
        "synchronization": _synchronization(r),
        "registers": _registers(r),
    }


def _memory(r: Resources) -> list[Choice]:
    found: list[Choice] = []
    for instruction in dict.fromkeys(copy.instruction for copy in r.copies):
        same = [copy for copy in r.copies if copy.instruction == instruction]
        copies = f"{len(same)} of {len(r.copies)} asynchronous copies"
        if instruction == "cp.async.bulk.tensor":
            why = f"{r.target.name} has TMA, and each is a box of a tensor with 16-byte aligned rows"
            found.append(Choice(f"TMA for {copies}", why))
        elif instruction == "cp.async.cg":
            why = "whole 16-byte pieces that bypass L1, as the program requests"
            found.append(Choice(f"cp.async.cg for {copies}", f"{same[0].without_tma}; " + why))
        else:
            found.append(Choice(f"cp.async.ca for {copies}", f"{same[0].without_tma}; through L1"))
    waiting = r.unoverlapped_copies
    if waiting:
        names = ", ".join(dict.fromkeys(c.buffer for c in waiting))
        room = f"{r.double_buffered_bytes} of {r.target.max_shared_per_block} bytes of shared memory"
        if r.benefits_from_double_buffering:
            found.append(
                Choice(
                    f"double buffering of {names}",
                    f"the loop does not compute while it copies them; a second buffer for each takes {room}",
                )
            )
        else:
            found.append(Choice(f"one buffer for {names}", f"a second one for each would take {room}"))
    elif any(c.in_loop for c in r.copies):
        found.append(Choice("the current buffers", "copies in loops overlap with the use of other stages"))
    if r.swizzled_away:
        found.append(
            Choice(
                f'swizzle = "xor" for {", ".join(r.swizzled_away)}',
                "products read eight rows at once, which are in the same banks without it",
            )
        )
    if not r.copies:
        found.append(Choice("plain loads and stores", "the kernel has no asynchronous copy"))
    return found


def _compute(r: Resources) -> list[Choice]:
    found: list[Choice] = []
    served = [p for p in r.products if p.instruction]
    for instruction in dict.fromkeys(p.instruction for p in served):
        uses = [p for p in served if p.instruction == instruction]
        shapes = ", ".join(dict.fromkeys(f"{p.m}x{p.n}x{p.k}" for p in uses))
        found.append(
            Choice(
                f"{instruction} for {number(len(uses), 'product')} of {shapes}",
                f"the widest that {r.target.name} has for {uses[0].operands} operands summed in "
                f"{uses[0].accumulator}; {sum(p.instructions for p in uses)} instructions per block and execution",
            )
        )
    plain: list[ProductUse] = [p for p in r.products if not p.instruction]
    if plain:
        why = f"no tensor core of {r.target.name} supports {plain[0].operands} operands without rounding them"
        found.append(Choice(f"fused multiply-adds for {number(len(plain), 'product')}", why))
    if r.reductions:
        where = "shuffles within warps" if r.products else "shuffles, and shared memory between warps"
        why = "rows of a product's result lie within a warp" if r.products else "rows may be in several warps"
        found.append(Choice(f"{number(r.reductions, 'reduction')} by row as {where}", why))
    intensity = r.flops_per_byte
    if intensity is not None and served:
        found.append(
            Choice(
                "operands from shared memory",
                f"{intensity:.4g} operations of products for each byte that is copied there",
            )
        )
    if not found:
        found.append(Choice("elementwise work on all threads", "the kernel multiplies no matrices"))
    return found


def _synchronization(r: Resources) -> list[Choice]:
    found: list[Choice] = []
    (all_now, looping), (all_needed, needed) = r.barriers, r.barriers_needed
    now = f"{number(all_now, 'barrier')}, {looping} in loops"
    wanted = f"{number(all_needed, 'barrier')}, {needed} in loops"
    if all_needed < all_now or needed < looping:
        found.append(Choice("--tile-barrier-optimization", f"{now}; {wanted} are enough"))
    elif all_needed > all_now:
        found.append(Choice("--tile-barrier-optimization", f"{now}, which allows races; {wanted} are needed"))
    elif all_now:
        found.append(Choice("the current barriers", f"{now}; none can be removed"))
    else:
        found.append(Choice("no barrier", "no two threads access the same shared memory"))
    if r.mbarriers:
        found.append(
            Choice(
                f"{number(r.mbarriers, 'mbarrier')} for the bytes of each group of copies",
                "TMA signals them when a copy is complete; threads wait for their data, not for each other",
            )
        )
    if r.copies and not r.can_use_tma:
        found.append(Choice("cp.async groups", f"{number(r.waits, 'wait')} for {len(r.copies)} copies"))
    return found


def _registers(r: Resources) -> list[Choice]:
    found: list[Choice] = []
    rest = r.registers - r.fragment_registers
    estimate = f"{r.fragment_registers} for fragments (line {r.peak_line}) and {rest} for the rest"
    if not r.fragment_registers:
        found.append(Choice("registers for scalars only", "the kernel has no fragments"))
    elif r.measured is not None and r.measured.spilled:
        found.append(
            Choice(
                "--tile-memory-management, or smaller fragments",
                f"ptxas spills {r.measured.spilled} bytes of each thread: {estimate}, of {r.register_limit}",
            )
        )
    elif r.measured is None and r.required_registers > r.register_limit:
        found.append(
            Choice(
                f"spill {r.required_registers - r.register_limit} registers of a thread, or smaller fragments",
                f"{estimate}, of {r.register_limit} that {r.threads} threads may have each",
            )
        )
    else:
        found.append(
            Choice("accumulators in registers", f"{estimate}, of {r.register_limit}: nothing is spilled")
        )
    if r.occupancy.blocks == 0:
        found.append(Choice("smaller tiles", "no block fits on an SM"))
    else:
        by = " and ".join(r.occupancy.limited_by)
        found.append(
            Choice(
                f"{number(r.occupancy.blocks, 'block')} on an SM",
                f"limited by {by}: {r.occupancy.warps} of {r.target.max_warps_per_sm} warps",
            )
        )
    return found


def number(count: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
