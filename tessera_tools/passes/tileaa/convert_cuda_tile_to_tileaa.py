"""`convert-cuda-tile-to-tileaa`: stage 1 to stage 2.

    builtin.module { cuda_tile.module @m { entry @k … } }  ─▶  builtin.module { nv_tileaa.func @k … }

New functions are built next to the old program, which is replaced at the end: a failure does not change it.  The time
is linear in the size of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from tessera_tools.analysis.hints import HINTS
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import StringAttr, TypeAttr, i32
from tessera_tools.ir.core import Block, Operation
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.types import FunctionType
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.passes.tileaa import (
    arithmetic,
    atomics,
    casts,
    constants,
    control_flow,
    dots,
    effects,
    memory,
    multimem,
    pointers,
    reductions,
    tensors,
    views,
)
from tessera_tools.passes.tileaa import globals as globals_
from tessera_tools.passes.tileaa.bits import access_as_numbers
from tessera_tools.passes.tileaa.globals import global_variable
from tessera_tools.passes.tileaa.lowering import HANDLERS, Lowering, refusal
from tessera_tools.passes.tileaa.memory import choose_copy_atoms
from tessera_tools.passes.tileaa.pointers import hints_for
from tessera_tools.passes.tileaa.sub_byte import access_by_bytes
from tessera_tools.records import dataclass
from tessera_tools.target import Target, UnknownTargetError, lookup

COMPUTE_CAPABILITY = "nv_tileaa.compute_capability"
TARGET_SPEC = "nv_tileaa.target_spec"
FAMILIES = (
    arithmetic,
    atomics,
    casts,
    constants,
    control_flow,
    dots,
    effects,
    globals_,
    memory,
    multimem,
    pointers,
    reductions,
    tensors,
    views,
)
"""The modules whose handlers are in HANDLERS."""


@dataclass(frozen=True)
class ConvertCudaTileToTileAA(Pass):
    """Lower every cuda_tile.entry to nv_tileaa.func."""

    name = "convert-cuda-tile-to-tileaa"
    title = "ConvertCudaTileToTileAA"
    summary = "lower cuda_tile to nv_tileaa: plain tensors, token chains, copy atoms"
    anchor = "builtin.module"
    ensures = "no cuda_tile op remains; the module has a target; every tiled access has a copy atom"
    statistics: ClassVar = {"num-functions": "Number of entries lowered"}

    gpu_name: str = option("sm_90", "the GPU architecture to compile for")

    def run(self, op: Operation, context: PassContext) -> bool:
        try:
            target = lookup(self.gpu_name)
        except UnknownTargetError as problem:
            raise PassFailure(problem.message, None, problem.hint) from None
        ct.upgrade_legacy(op)
        members = list(_members(op))
        _check_names(op, members)
        made = [
            global_variable(member) if isinstance(member, ct.Global) else _function(member, target)
            for member in members
        ]
        _replace(op, made)
        op.attributes[COMPUTE_CAPABILITY] = i32(target.compute_capability)
        op.attributes[TARGET_SPEC] = StringAttr(target.cpu)
        context.count("num-functions", sum(isinstance(member, ct.Entry) for member in members))
        return True


def _members(module: Operation) -> Iterator[ct.Entry | ct.Global]:
    """The entries and globals at the top level of a module and of its cuda_tile.modules; refuses other ops of
    cuda_tile."""
    for block in module.regions[0].blocks:
        for op in block:
            if isinstance(op, ct.Entry | ct.Global):
                yield op
            elif isinstance(op, ct.Module):
                yield from _members(op)
            else:
                for inner in (op, *op.walk()):
                    if inner.name.startswith("cuda_tile."):
                        raise refusal(inner)
                if isinstance(module, ct.Module):
                    raise op.error(
                        "is not allowed in a cuda_tile.module; expected 'cuda_tile.entry' or 'cuda_tile.global'"
                    )


def _check_names(module: Operation, members: list[ct.Entry | ct.Global]) -> None:
    """Check that the members' names are free in the module to which they are moved."""
    taken = {
        name: op
        for op in module.regions[0].entry
        if not isinstance(op, ct.Module | ct.Entry | ct.Global) and (name := symbol_name(op)) is not None
    }
    for member in members:
        name = member.sym_name.value
        other = taken.setdefault(name, member)
        if other is not member:
            failure = member.error(
                f"cannot be moved to the module, which already defines @{name}; rename one of them"
            )
            failure.diagnostics[0].note("other definition is here", other.location)
            raise failure


def _function(entry: ct.Entry, target: Target) -> aa.Func:
    """The converted function of an entry, detached."""
    body = entry.body.entry
    block = Block()
    to = Lowering(target, block)
    to.builder.location = entry.location
    for argument in body.arguments:
        to.define(argument, block.add_argument(to.type_of(argument.type, entry), argument.location))
    *ops, last = body
    to.lower_ops(ops, block)
    if not isinstance(last, ct.Return):
        raise to.refuse(last)
    block.append(aa.Return(location=last.location))
    attributes: dict[str, Attribute] = dict(entry.discardable_attributes)
    hints = hints_for(entry.optimization_hints, target)
    if hints is not None:
        attributes[HINTS] = hints
    signature = FunctionType(tuple(a.type for a in block.arguments), ())
    function = aa.Func(
        entry.sym_name,
        TypeAttr(signature),
        entry.arg_attrs,
        body=block,
        attributes=attributes,
        location=entry.location,
    )
    access_as_numbers(function)
    access_by_bytes(function)
    choose_copy_atoms(function)
    return function


def _replace(module: Operation, made: Sequence[Operation]) -> None:
    """Replace entries and globals by their converted ops."""
    waiting = iter(made)
    block = module.regions[0].entry
    for op in list(block):
        if isinstance(op, ct.Entry | ct.Global | ct.Module):
            members = [op] if not isinstance(op, ct.Module) else list(_members(op))
            for _ in members:
                block.insert_before(op, next(waiting))
            op.erase()
    left = next((op for op in module.walk() if op.name.startswith("cuda_tile.")), None)
    if left is not None:
        raise AssertionError(f"'{left.name}' is left")


__all__ = ["FAMILIES", "HANDLERS", "ConvertCudaTileToTileAA"]
