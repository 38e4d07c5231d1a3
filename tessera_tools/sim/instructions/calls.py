"""call and ret (PTX ISA, "call", "ret", "Parameter State Space").

A device function's parameters are in the thread's local memory. A call copies the caller's .param variables to the
callee's; a return copies the results back. Frames are laid out for the whole module when it is loaded, so a thread
cannot call a function that is already active in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.builtins import BUILTINS
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.machine import StopLaunch
from tessera_tools.sim.program import Function, Group, Name, Operand, Variable
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import CHANGED, Mask, Outcome, Split, Warp, mask_of

Transfer = Callable[[Warp, Mask], None]


@instruction("call")
def call(ctx: Context) -> Execute:
    """call{.uni} (results), function, (arguments){, prototype or targets}."""
    ctx.flag("uni")
    ctx.blocks()
    operands = list(ctx.operands())
    results: tuple[Operand, ...] = ()
    arguments: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], Group):
        results = operands[0].elements
        del operands[0]
    if not operands or not isinstance(operands[0], Name):
        raise ctx.error("names no function")
    callee = operands.pop(0)
    assert isinstance(callee, Name)
    if operands and isinstance(operands[0], Group):
        arguments = operands[0].elements
    name = ctx.program.aliases.get(callee.name, callee.name)
    function = ctx.program.functions.get(name)
    if function is None:
        return _indirect(ctx, callee, arguments, results)
    actual, wanted = _variables(ctx, arguments), _variables(ctx, results)
    if not function.is_defined:
        builtin = BUILTINS.get(name)
        if builtin is None:
            raise ctx.error(
                f"calls '{name}', which is declared but not defined; link its PTX into the module"
            )
        return lambda warp, mask: builtin(warp, mask, actual, wanted)
    return _direct(ctx, function, actual, wanted)


def _variables(ctx: Context, operands: tuple[Operand, ...]) -> list[Variable]:
    found: list[Variable] = []
    for operand in operands:
        variable = ctx.variable(operand.name) if isinstance(operand, Name) else None
        if variable is None or variable.space != "param":
            raise ctx.error("passes something other than a .param variable")
        found.append(variable)
    return found


def _direct(ctx: Context, function: Function, actual: list[Variable], wanted: list[Variable]) -> Execute:
    enter = _transfer(ctx, actual, function.parameters)
    leave = _transfer(ctx, function.results, wanted)
    back = ctx.pc + 1
    frame = (back, function.start, leave)

    def execute(warp: Warp, mask: Mask) -> Outcome:
        split = warp.split
        if any(active[1] == function.start for active in split.stack):
            warp.report("illegal", f"'{function.name}' calls itself; recursion is not simulated", mask)
            raise StopLaunch
        enter(warp, mask)
        split.stack = (*split.stack, frame)
        split.pc = function.start
        return CHANGED

    return execute


def _transfer(ctx: Context, sources: list[Variable], targets: list[Variable]) -> Transfer:
    """Copies variables in the lanes' local memory, including their states."""
    if len(sources) != len(targets):
        raise ctx.error(f"passes {len(sources)} values where {len(targets)} are declared")
    pairs: list[tuple[int, int, int]] = []
    for source, target in zip(sources, targets, strict=True):
        if source.size != target.size:
            raise ctx.error(f"passes {source.size} bytes for '{target.name}', which has {target.size}")
        pairs.append((source.offset, target.offset, source.size))

    def transfer(warp: Warp, mask: Mask) -> None:
        for source, target, size in pairs:
            data, state = warp.local.rows(source, size)
            to_data, to_state = warp.local.rows(target, size)
            to_data[mask.array] = data[mask.array]
            to_state[mask.array] = state[mask.array]

    return transfer


def _indirect(
    ctx: Context, callee: Name, arguments: tuple[Operand, ...], results: tuple[Operand, ...]
) -> Execute:
    port = ctx.read(callee, TYPES["u64"])
    actual, wanted = _variables(ctx, arguments), _variables(ctx, results)
    sizes = [v.size for v in actual], [v.size for v in wanted]
    bodies = {
        function.start: _direct(ctx, function, actual, wanted)
        for function in ctx.program.functions.values()
        if function.is_defined
        and not function.is_entry
        and ([v.size for v in function.parameters], [v.size for v in function.results]) == sizes
    }

    def execute(warp: Warp, mask: Mask) -> Outcome:
        row = warp.ports[port]
        split = warp.split
        for value in np.unique(row[mask.array]):
            lanes = mask_of((row == value) & mask.array)
            body = bodies.get(int(value))
            if body is None:
                warp.report(
                    "illegal",
                    f"an indirect call of {int(value):#x}, which is not a function of this type",
                    lanes,
                )
                raise StopLaunch
            part = Split(split.pc, lanes, split.stack)
            warp.splits.append(part)
            warp.split = part
            body(warp, lanes)
        warp.splits.remove(split)
        return CHANGED

    return execute


@instruction("ret")
def ret(ctx: Context) -> Execute:
    """ret{.uni}: returns to the caller; in an entry, the thread exits."""
    ctx.flag("uni")
    ctx.blocks()
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> Outcome:
        split = warp.split
        if not split.stack:
            return warp.leave(mask)
        back, _, leave = split.stack[-1]
        leave(warp, mask)
        split.stack = split.stack[:-1]
        split.pc = back
        return CHANGED

    return execute
