"""tileas-remove-buffer-alias: a value that may be one of several buffers becomes one buffer and a number of a stage.

    %a, %b = alloc_tensor smem<1x64x64xf16>        %m = alloc_tensor smem<2x64x64xf16>
    for … iter_args(%x = %a, %y = %b) {       ──▶  for … iter_args(%x = 0, %y = 1) {
      load %x[%s]; yield %y, %x                      load %m[%s + %x]; yield %y, %x

A buffer gets a second name where it is selected, carried by a loop or given by a branch.  Everything behind this pass
finds the buffer of an access by its name: the places of buffers, the barriers, the addresses.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import SmemType
from tessera_tools.ir.builtin_attributes import i32, i64
from tessera_tools.ir.core import BlockArgument, Builder, Operation, Value
from tessera_tools.ir.flow import sources
from tessera_tools.ir.interfaces import HasFlow
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I32
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.planning.kernel import kernels
from tessera_tools.planning.shared_memory import ALIGN

_UNSUPPORTED = "RemoveBufferAlias: not supported operation type"


class RemoveBufferAlias(Pass):
    """Give every buffer one name."""

    name: ClassVar = "tileas-remove-buffer-alias"
    summary: ClassVar = "remove the aliases of buffers in shared memory"
    anchor: ClassVar = "builtin.module"
    ensures: ClassVar = "a buffer is the result of an alloc_tensor, or a stage that a view cuts of one"
    statistics: ClassVar = {"aliases": "aliases removed", "merged": "buffers merged into others"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            for aliases, buffers in _classes(function):
                _merge(function, aliases, buffers)
                context.count("aliases", len(aliases))
                context.count("merged", len(buffers) - 1)
                changed = True
        return changed


def _classes(function: nv_tileaa.Func) -> list[tuple[list[Value], list[nv_tileas.AllocTensor]]]:
    """(the aliases, the buffers that each of them may be): disjoint classes that have an alias."""
    parent: dict[Value, Value] = {}

    def root(value: Value) -> Value:
        while (up := parent.get(value, value)) is not value:
            value = up
        return value

    values = [v for v in _values(function) if isinstance(v.type, SmemType)]
    for value in values:
        for source in _sources(value) or ():
            parent[root(source)] = root(value)
    classes: dict[Value, tuple[list[Value], list[nv_tileas.AllocTensor]]] = {}
    for value in values:
        aliases, buffers = classes.setdefault(root(value), ([], []))
        made = value.defining_op
        if isinstance(made, nv_tileas.AllocTensor):
            buffers.append(made)
        else:
            aliases.append(value)
    found = [c for c in classes.values() if any(_sources(v) is not None for v in c[0])]
    for aliases, _ in found:
        for value in aliases:
            _check_source(value, function)
    return found


def _values(function: nv_tileaa.Func) -> list[Value]:
    found: list[Value] = list(function.body.entry.arguments)
    for op in function.walk():
        found += op.results
        for region in op.regions if op is not function else ():
            for block in region.blocks:
                found += block.arguments
    return found


def _sources(value: Value) -> list[Value] | None:
    """The buffers that a value may be; None if it is no alias."""
    made = value.defining_op
    if isinstance(made, arith.Select):
        return [made.true_value, made.false_value]
    return sources(value)


def _check_source(value: Value, function: nv_tileaa.Func) -> None:
    owner = value.block.parent_op if isinstance(value, BlockArgument) else value.defining_op
    if isinstance(owner, scf.While):
        raise owner.error("Yielded alias not implemented yet")
    if _sources(value) is None:
        what = f"'{(owner or function).name}' gives a buffer that has another name"
        raise (owner if owner is not None else function).error(f"{_UNSUPPORTED}: {what}")


def _merge(function: nv_tileaa.Func, aliases: list[Value], buffers: list[nv_tileas.AllocTensor]) -> None:
    """One buffer has the stages of all; what was a buffer is the number of its first stage in it."""
    type = buffers[0].res.type
    entry = Builder.at_start(function.body.entry, buffers[0].location)
    merged = nv_tileas.AllocTensor(
        res=SmemType((len(buffers) * type.stages, *type.tile), type.element, type.layout),
        location=buffers[0].location,
    )
    alignment = max((b.attributes[ALIGN].value for b in buffers if ALIGN in b.attributes), default=0)  # type: ignore[attr-defined]
    if alignment:
        merged.attributes[ALIGN] = i64(alignment)
    merged.res.name_hint = buffers[0].res.name_hint
    entry.insert(merged)
    for value in aliases:
        value.type = I32
        for use in list(value.uses):
            _rename(use.owner, use.index, value, merged.res)
    for number, buffer in enumerate(buffers):
        first = entry.insert(arith.Constant(i32(number * type.stages), location=buffer.location)).results[0]
        for use in list(buffer.res.uses):
            _rename(use.owner, use.index, first, merged.res)
        buffer.erase()


def _rename(op: Operation, index: int, first: Value, merged: Value) -> None:
    """An access of a buffer becomes one of the merged buffer, its stages behind `first`; what passes a buffer on passes
    the number."""
    if _passes_on(op):
        op.set_operand(index, first)
        return
    if not isinstance(op, nv_tileas.HasStage):
        raise op.error(f"{_UNSUPPORTED}: '{op.name}' has no stage number, and its buffer has another name")
    place = next(i for i, operand in enumerate(op.operands) if operand is op.stage and i != index)
    total = arith.AddI(op.stage, first, location=op.location)
    Builder.before(op).insert(total)
    op.set_operand(index, merged)
    op.set_operand(place, total.result)


def _passes_on(op: Operation) -> bool:
    """True if an op gives its operands another name."""
    return isinstance(op, HasFlow | arith.Select) or op.has_trait(Terminator)
