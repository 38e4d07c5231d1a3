"""Part B of the conversion, continued: tokens, the grid, assumptions, and the width of every access.

Copy atoms are chosen when the whole function stands (`choose_copy_atoms`), since what is known of an offset may depend
on the loop around it.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import place_of, vector_elements
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import i32, i64
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tileaa.lowering import GLOBAL_POINTER, Handlers, Lowering
from tessera_tools.passes.tileaa.pointers import atom


def populate_memory(handlers: Handlers) -> None:
    """Add the handlers of tokens, the grid and assumptions."""
    handlers.update(
        {
            ct.MakeToken: _make_token,
            ct.JoinTokens: _join_tokens,
            ct.Assume: _assume,
            ct.GetTileBlockId: _grid(aa.GetProgramId),
            ct.GetNumTileBlocks: _grid(aa.GetNumPrograms),
        }
    )


def _make_token(op: ct.MakeToken, to: Lowering) -> None:
    to.replace(op, to.emit(aa.CreateMemToken()).res)


def _join_tokens(op: ct.JoinTokens, to: Lowering) -> None:
    to.replace(op, to.emit(aa.JoinMemTokens(to.values(op.tokens))).res)


def _grid(kind: Any) -> Any:
    """One query for each coordinate that is used."""

    def handler(op: Any, to: Lowering) -> None:
        for axis, coordinate in enumerate(op.results):
            if coordinate.has_uses:
                to.define(coordinate, to.emit(kind(i32(axis))).res)

    return handler


def _assume(op: ct.Assume, to: Lowering) -> None:
    """Facts of scalars and pointers are kept, and so is the alignment of a view; those of larger tiles, and that
    elements are the same, may be forgotten."""
    value, predicate = to[op.value], op.predicate
    kind = value.type
    facts: dict[str, Any] = {}
    scalar = isinstance(op.value.type, ct.TileType) and not op.value.type.shape
    if scalar and isinstance(predicate, ct.DivByAttr):
        facts["divisor"] = i64(predicate.divisor)
    elif scalar and isinstance(predicate, ct.BoundedAttr):
        facts |= {
            key: i64(bound)
            for key, bound in (("lower", predicate.lower), ("upper", predicate.upper))
            if bound is not None
        }
    elif isinstance(predicate, ct.DivByAttr) and isinstance(op.value.type, ct.TensorViewType):
        view: Any = value.defining_op
        if isinstance(view, aa.MakeMemRef):
            base = to.emit(aa.Assume(view.base, divisor=i64(predicate.divisor), res=GLOBAL_POINTER)).res
            again = to.emit(view.clone())
            again.set_operand(0, base)
            value = again.results[0]
    if facts:
        value = to.emit(aa.Assume(value, **facts, res=kind)).res
    to.replace(op, value)


def choose_copy_atoms(function: Operation) -> None:
    """Give every tiled access the widest copy atom that is provably legal."""
    facts = Facts()
    for op in function.walk():
        if isinstance(op, aa.TiledLoad):
            primitive, tile = "ldg", op.res.type
        elif isinstance(op, aa.TiledStore):
            primitive, tile = "stg", op.value.type
        else:
            continue
        place = place_of(op.view)
        count = vector_elements(*place, tile, facts) if place is not None else 1
        op.attributes["copy_atom"] = atom(primitive, tile.element, count)
