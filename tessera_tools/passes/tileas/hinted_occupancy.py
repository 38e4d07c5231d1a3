"""How many CTAs of a kernel without agents follow its hint `occupancy`: as many as a multiprocessor can run at once.

The limit of registers that follows from the number (convert-nv-tile-func-to-llvm) makes ptxas spill what it does not
hold, for CTAs that do not fit for another reason.
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileas.agent_schedule import OTHER_REGISTERS
from tessera_tools.passes.tileas.warps import largest_tile, sums_in_loops
from tessera_tools.planning.kernel import OCCUPANCY, occupancy_of, unit_of
from tessera_tools.target import FEWEST_REGISTERS, Target, occupancy


def limit_occupancy(function: nv_tileaa.Func, shared: int, target: Target, context: PassContext) -> None:
    """Lower the hint of a kernel whose CTAs take so many bytes of shared memory to what fits; a remark says why."""
    wanted, ops = occupancy_of(function), list(function.walk())
    if not wanted or any(isinstance(op, nv_tileas.AgentSwitch) for op in ops):
        return
    threads = unit_of(function).threads
    multiplies = any(isinstance(op, nv_tileas.Dot) for op in ops)
    tiles = max(largest_tile(function), sums_in_loops(function)[0])
    needed = -(-tiles // threads) + OTHER_REGISTERS if multiplies else FEWEST_REGISTERS
    found = occupancy(
        target, threads=threads, registers=min(needed, target.max_registers_per_thread), shared=shared
    )
    followed = max(1, found.blocks)
    if followed >= wanted:
        return
    function.attributes[OCCUPANCY] = i32(followed)
    reasons = {
        "registers": f"a thread needs about {needed} registers",
        "shared": f"a CTA takes {shared} bytes of shared memory",
        "threads": f"a CTA has {threads} threads",
        "blocks": "a multiprocessor runs no more",
    }
    plural = "s" if followed > 1 else ""
    text = (
        f"the hint occupancy = {wanted} is followed by {followed} CTA{plural}: {reasons[found.limited_by[0]]}"
    )
    context.failed(function, text, "occupancy", "schedule")
