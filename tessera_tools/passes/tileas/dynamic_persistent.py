"""tileas-dynamic-persistent: a CTA stays on its SM, and runs one program after another.

    %x = get_program_id {axis = 0}            %first = first_program_id
    body of %x                         ──▶    scf.while (%pid = %first) {
                                                %valid = is_valid_program_id %pid
                                                scf.condition(%valid) %pid
                                              } do {
                                              ^bb0(%pid: i32):
                                                %x = get_program_id of %pid {axis = 0}
                                                body of %x
                                                %next = cancel_next_program_id
                                                scf.yield %next
                                              }

What is the same for all programs, such as views and strides, stays in front of the loop, and so do loads of tiles
that all programs load, such as the gains of a norm, in kernels without products and while they take few registers.
Programs are not ordered, so that a load that no token orders behind an access of its own program reads the same for
all of them.  No barrier stands between two programs: where they use the same shared memory, tileas-insert-barriers
sees a loop.  How a CTA gets its next program depends on the target, and is decided by tileas-resolve-program-ids.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.persistent import WANTED
from tessera_tools.diagnostics import Diagnostic, emit
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.core import Block, Builder, Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I1, I32, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.planning.kernel import kernel_spec, kernels
from tessera_tools.records import dataclass

_LANES = 32
_REGISTERS = 65536 // 2
"""Registers of a CTA of which an SM runs two: with fewer, nothing is loaded while a CTA computes."""
_OTHERS = 32
"""Registers of a thread for addresses and numbers, by estimate."""
_TILES = 2
"""How many tiles as large as the largest one a program has at the same time, by estimate."""


@dataclass(frozen=True)
class DynamicPersistent(Pass):
    """Make kernels persistent."""

    name: ClassVar = "tileas-dynamic-persistent"
    summary: ClassVar = "make the kernel into dynamic persistent kernels"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, and a kernel_spec on each kernel"
    ensures: ClassVar = "the body of each kernel is a loop over the numbers of programs"
    statistics: ClassVar = {"persistent": "kernels that became persistent"}

    only_wanted: bool = option(False, "only kernels for which plan-cta has chosen it")

    def run(self, op: Operation, context: PassContext) -> None:
        for function in kernels(op):
            kernel_spec(function)
            if self.only_wanted and WANTED not in function.attributes:
                continue
            if is_persistent(function):
                emit(Diagnostic("warning", function.location, "Kernel is already dynamic persistent"))
                continue
            make_persistent(function)
            context.count("persistent")


def is_persistent(function: nv_tileaa.Func) -> bool:
    """Whether a loop of a kernel asks for the numbers of programs."""
    return any(
        isinstance(inner, nv_tileaa.IsValidProgramId)
        for op in function.walk()
        if isinstance(op, scf.While)
        for inner in op.before.entry
    )


def make_persistent(function: nv_tileaa.Func) -> None:
    """Put the body of a kernel into a loop.  DiagnosticError if it has early returns, or several blocks."""
    if len(function.body.blocks) != 1:
        raise function.error("has unstructured control flow and cannot be persistent")
    entry = function.body.entry
    end = entry.last_op
    assert end is not None
    for op in function.walk():
        if isinstance(op, nv_tileaa.Return) and op is not end:
            raise op.error(
                "returns early: the kernel cannot be persistent, because the CTA would skip its other programs",
                "put the rest of the program into the other branch",
            )
    inside = _of_a_program(function, entry, end)
    before = Builder.before(end)
    first = before.insert(nv_tileaa.FirstProgramId(res=I32, location=function.location)).res
    loop = scf.While([first], results=[I32], location=function.location)
    asking, body = Block([I32], [function.location]), Block([I32], [function.location])
    loop.before.append(asking)
    loop.after.append(body)
    before.insert(loop)
    (program,) = asking.arguments
    builder = Builder.at_end(asking, function.location)
    valid = builder.insert(nv_tileaa.IsValidProgramId(program, res=I1)).res
    builder.insert(scf.Condition(valid, [program]))
    for op in inside:
        op.detach()
        body.append(op)
    (own,) = body.arguments
    own.name_hint = "program"
    for op in loop.walk():
        if isinstance(op, nv_tileaa.GetProgramId) and op.program is None:
            op.set_field("program", [own])
    builder = Builder.at_end(body, end.location)
    following = builder.insert(nv_tileaa.CancelNextProgramId(res=I32)).res
    builder.insert(scf.Yield([following]))


def common_loads(function: nv_tileaa.Func) -> list[nv_tileas.TiledLoad]:
    """The loads that a CTA of the persistent kernel would do once for all programs."""
    entry = function.body.entry
    common = _of_all_programs(function, entry)
    return [op for op in entry if isinstance(op, nv_tileas.TiledLoad) and op in common]


def _of_a_program(function: nv_tileaa.Func, entry: Block, end: Operation) -> list[Operation]:
    """The ops of a body that each program executes: all but what is the same for all programs."""
    common = _of_all_programs(function, entry)
    return [op for op in entry if op is not end and op not in common]


def _of_all_programs(function: nv_tileaa.Func, entry: Block) -> set[Operation]:
    """The ops of a body that are the same for all programs.  Tiles that are computed are made again, so that no
    register holds them meanwhile."""
    shared: set[Value] = set(entry.arguments)
    found: set[Operation] = set()
    room = _room(function)
    for op in entry:
        if op.regions or any(value not in shared for value in op.operands):
            continue
        if isinstance(op, nv_tileas.TiledLoad):
            if op.res.type.num_elements > room:
                continue
            room -= op.res.type.num_elements
        elif (
            not is_pure(op)
            or isinstance(op, nv_tileaa.GetProgramId)
            or any(isinstance(value.type, RankedTensorType) for value in op.results)
        ):
            continue
        found.add(op)
        shared.update(op.results)
    return found


def _room(function: nv_tileaa.Func) -> int:
    """How many elements of tiles a CTA can hold while it runs its programs.  One takes a register: it may be held
    converted."""
    if any(isinstance(op, nv_tileas.Dot) for op in function.walk()):
        return 0
    types = (value.type for op in function.walk() for value in op.results)
    largest = max((t.num_elements for t in types if isinstance(t, RankedTensorType)), default=0)
    return _REGISTERS - _OTHERS * _LANES * kernel_spec(function).num_warps - _TILES * largest
