"""convert-tileaa-to-tileas: sets the offsets of memory ops, the mma atom of dots, and the number of warps of kernels.

addptr + tiled_load  →  nv_tileas.tiled_load view[offsets]        dot  →  nv_tileas.dot {atom}
addptr + tiled_store →  nv_tileas.tiled_store view[offsets]       constant_tensor → arith.constant
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from tessera_tools.analysis.hints import hint
from tessera_tools.analysis.persistent import BLOCKS, CLUSTER_PROGRAMS
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr, i32, i64
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import I32, I64
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tileas.cta_parts import PARTS, WARPS_ALONE
from tessera_tools.passes.tileas.heap import free_heap
from tessera_tools.passes.tileas.warps import choose_warps
from tessera_tools.planning.dot_layouts import piece_of, warp_grid
from tessera_tools.planning.kernel import OCCUPANCY, check_tiles, kernels, target_of, unit_of
from tessera_tools.planning.mma_atoms import is_chained, mma_atom
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target


@dataclass(frozen=True)
class ConvertTileAAToTileAS(Pass):
    """Lower nv_tileaa to nv_tileas; layouts come later."""

    name: ClassVar = "convert-tileaa-to-tileas"
    summary: ClassVar = "lower nv_tileaa to nv_tileas"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileaa functions and a target on the module"
    ensures: ClassVar = "tiled accesses and dots are nv_tileas ops; kernels have a kernel_spec"

    num_warps: int = option(0, "number of warps per kernel; 0 chooses from the tiles")
    cluster: str = option(
        "auto",
        "parts of each tile along rows x columns, each in a CTA of a cluster; blocks:X x Y: the CTAs of so many tile "
        "blocks; auto follows hints",
    )

    def run(self, op: Operation, context: PassContext) -> None:
        target = target_of(op)
        parts, programs = self._parts(op)
        for function in kernels(op):
            check_tiles(function)
            if function.kernel_spec is None:
                hinted = max(1, hint(function, "num_cta_in_cga") or 1)
                ctas = prod(parts) if parts is not None else hinted if target.has(Feature.CLUSTER) else 1
                choice = choose_warps(function, target, 1 if programs else ctas)
                warps = self.num_warps or choice.number
                why = "as set by num-warps" if self.num_warps else choice.why
                context.passed(
                    function, f"{warps} warp{'s' if warps != 1 else ''}: {why}", "warps", "schedule"
                )
                if choice.unfollowed and not self.num_warps:
                    context.failed(function, choice.unfollowed, "warps", "schedule")
                try:
                    function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(
                        warps, (ctas, 1, 1)
                    )
                except ValueError as problem:
                    raise function.error(str(problem)) from None
                if programs:
                    function.attributes[CLUSTER_PROGRAMS] = DenseArrayAttr(I64, parts or (1, 1))
                elif parts is not None:
                    function.attributes[PARTS] = DenseArrayAttr(I64, parts)
                elif ctas > 1:
                    alone = self.num_warps or choose_warps(function, target).number
                    function.attributes[WARPS_ALONE] = i64(alone)
            apply_hints(function)
            if not target.multiplies_asynchronously:
                _tell_of_latencies(function, target, context)
            convert(function, target)
            free_heap(function)

    def _parts(self, op: Operation) -> tuple[tuple[int, int] | None, bool]:
        """The option `cluster`, and whether its CTAs run a program each; None if hints decide."""
        if self.cluster == "auto":
            return None, False
        shape = self.cluster.removeprefix(BLOCKS)
        rows, mark, columns = shape.partition("x")
        if not (mark and rows.isdecimal() and columns.isdecimal() and int(rows) and int(columns)):
            raise op.error(
                f"option cluster={self.cluster} is invalid; expected ROWSxCOLUMNS, such as 2x1, blocks:XxY, or auto"
            )
        return (int(rows), int(columns)), shape != self.cluster and shape != "1x1"


def _tell_of_latencies(function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
    """Remarks on the loads whose latency the author hints at, for a target whose pipeline schedules no loads."""
    for op in function.walk():
        if isinstance(op, nv_tileaa.TiledLoad) and hint(op, "latency") is not None:
            why = f"the hint latency is not followed: loads are not scheduled for {target.name}"
            context.failed(op, why, "latency", "schedule")


def apply_hints(function: nv_tileaa.Func) -> None:
    """Note the hint `occupancy`. Agents follow it (pipeline_plan.py), or, where there are none, hinted_occupancy.py."""
    wanted = hint(function, "occupancy")
    if OCCUPANCY not in function.attributes and wanted is not None and wanted >= 1:
        function.attributes[OCCUPANCY] = i32(wanted)


def convert(function: nv_tileaa.Func, target: Target) -> None:
    """Rewrite the function's ops in place."""
    chained = {op for op in function.walk() if isinstance(op, nv_tileaa.Dot) and is_chained(op)}
    for op in function.walk():
        builder = Builder.before(op)
        if isinstance(op, nv_tileaa.TiledLoad):
            view, offsets = _place(op.view, builder)
            new = nv_tileas.TiledLoad(
                view,
                offsets,
                op.token,
                op.copy_atom,
                op.padding,
                res=op.res.type,
                out_token=op.out_token.type,
                attributes=dict(op.discardable_attributes),
            )
        elif isinstance(op, nv_tileaa.TiledStore):
            view, offsets = _place(op.view, builder)
            new = nv_tileas.TiledStore(
                view,
                offsets,
                op.value,
                op.token,
                op.copy_atom,
                out_token=op.out_token.type,
                attributes=dict(op.discardable_attributes),
            )
        elif isinstance(op, nv_tileaa.Dot):
            new = _product(op, op in chained, unit_of(function).warps, target)
        elif isinstance(op, nv_tileaa.ConstantTensor):
            new = arith.Constant(op.value)
        else:
            continue
        for old, fresh in zip(op.results, new.results, strict=True):
            fresh.name_hint = old.name_hint
        builder.insert(new)
        op.replace_all_uses_with(new.results)
        op.erase()
    for op in function.walk(reverse=True, post_order=True):
        if isinstance(op, nv_tileaa.AddPtr) and not op.results[0].has_uses:
            op.erase()


def _product(op: nv_tileaa.Dot, chained: bool, warps: int, target: Target) -> nv_tileas.Dot:
    """The product with its atom, and, if it is part of a chain, with its own warp grid."""
    atom = mma_atom(op, target)
    shape, piece = op.c.type.shape, piece_of(atom)
    grid = warp_grid(shape, warps, piece, along_rows=chained and not atom.is_fma)
    own = DenseArrayAttr(I64, grid) if grid != warp_grid(shape, warps, piece) else None
    return nv_tileas.Dot(op.a, op.b, op.c, op.scales, atom, own, op.fast_acc)


def _place(view: Value, builder: Builder) -> tuple[Value, list[Value]]:
    """The whole view behind chains of addptr, and the sum of their offsets (zeros if there is none)."""
    offsets: list[Value] = []
    while isinstance(op := view.defining_op, nv_tileaa.AddPtr):
        if offsets:
            offsets = [
                builder.insert(arith.AddI(a, b)).results[0] for a, b in zip(offsets, op.offsets, strict=True)
            ]
        else:
            offsets = [*op.offsets]
        view = op.view
    if not offsets:
        zero = builder.insert(arith.Constant(IntegerAttr(0, I32))).results[0]
        offsets = [zero] * view.type.rank  # type: ignore[attr-defined]
    return view, offsets
