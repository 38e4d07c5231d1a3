"""Part B of the conversion, continued: tokens, the grid, assumptions, and the width of every access.

Copy atoms are chosen after the conversion of the whole function (`choose_copy_atoms`), because facts about an offset
may depend on the enclosing loop.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import place_of, vector_elements
from tessera_tools.analysis.axis import Axes, pointer_vector
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32, i64
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import I64, RankedTensorType, element_type
from tessera_tools.passes.tileaa.lowering import GLOBAL_POINTER, Lowering, handles
from tessera_tools.passes.tileaa.pointers import atom


@handles(ct.MakeToken)
def _make_token(op: ct.MakeToken, to: Lowering) -> None:
    to.replace(op, to.emit(aa.CreateMemToken()).res)


@handles(ct.JoinTokens)
def _join_tokens(op: ct.JoinTokens, to: Lowering) -> None:
    to.replace(op, to.emit(aa.JoinMemTokens(to.values(op.tokens))).res)


def _grid(kind: Any) -> Any:
    """One query for each used coordinate."""

    def handler(op: Operation, to: Lowering) -> None:
        for axis, coordinate in enumerate(op.results):
            if coordinate.has_uses:
                to.define(coordinate, to.emit(kind(i32(axis))).res)

    return handler


@handles(ct.Assume)
def _assume(op: ct.Assume, to: Lowering) -> None:
    """Keeps facts about scalars, tiles and pointers, and the alignment of a view."""
    value, predicate = to[op.value], op.predicate
    facts: dict[str, Any] = {}
    if isinstance(op.value.type, ct.TensorViewType):
        view = value.defining_op
        if isinstance(predicate, ct.DivByAttr) and isinstance(view, aa.MakeMemRef):
            base = to.emit(aa.Assume(view.base, divisor=i64(predicate.divisor), res=GLOBAL_POINTER)).res
            again = to.emit(view.clone())
            again.set_operand(0, base)
            value = again.results[0]
    elif isinstance(predicate, ct.DivByAttr):
        facts["divisor"] = i64(predicate.divisor)
        if predicate.every is not None and predicate.along is not None:
            facts |= {"every": i64(predicate.every), "along": i64(predicate.along)}
    elif isinstance(predicate, ct.BoundedAttr):
        bounds = (("lower", predicate.lower), ("upper", predicate.upper))
        facts |= {key: i64(bound) for key, bound in bounds if bound is not None}
    elif isinstance(predicate, ct.SameElementsAttr) and isinstance(value.type, RankedTensorType):
        facts["same"] = DenseArrayAttr(I64, tuple(predicate.values))
    if facts:
        value = to.emit(aa.Assume(value, **facts, res=value.type)).res
    to.replace(op, value)


def choose_copy_atoms(function: Operation) -> None:
    """Give every access the widest copy atom that is provably legal; remove masks that are always true."""
    facts = Facts()
    axes = Axes(facts)
    for op in function.walk():
        if isinstance(op, aa.TiledLoad | aa.TiledStore):
            place = place_of(op.view)
            count = vector_elements(*place, op.moved.type, facts) if place is not None else 1
        elif isinstance(op, aa.Load | aa.Store):
            if op.mask is not None and facts.fact(op.mask).upper == -1:
                op.set_field("mask", [])
            axis, count = pointer_vector(op, axes)
            if axis is not None:
                op.attributes["axis"] = i64(axis)
        else:
            continue
        op.attributes["copy_atom"] = atom(op.word, element_type(op.moved.type), count)


for _kind, _handler in {
    ct.GetTileBlockId: _grid(aa.GetProgramId),
    ct.GetNumTileBlocks: _grid(aa.GetNumPrograms),
}.items():
    handles(_kind)(_handler)
