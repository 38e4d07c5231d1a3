"""tileas-prepare-for-scheduling: accesses and loops as the schedule wants them, in six steps.

decomposeTiledLoadStoreView    a tile that several products take is loaded for each: TMA brings it where they read it
refineVecSizeOfAtoms           an access gets the widest atom that the facts allow by now
sliceAndFuse                   slices of loops (tileas-slicing); what slices have in common is computed once
runCanonicalizer               canonicalize
compactMemLayout               a buffer has the stages that are used, and none without an access
refreshBoxDim                  a TMA descriptor has boxes as wide as its swizzle, for the buffer that is copied
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tessera_tools.analysis.access import vector_elements
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import element_bytes, storage_bits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType, TmaDescType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import I64
from tessera_tools.layout.shared import swizzled
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tileas.dot_sources import MOVES_NOTHING, is_factor
from tessera_tools.passes.tileas.slicing import Slicing
from tessera_tools.planning.boxes import box_of
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target

Step = Callable[[nv_tileaa.Func, Target, PassContext], None]


@dataclass(frozen=True)
class PrepareForScheduling(Pass):
    """Bring accesses and loops into the form that is scheduled."""

    name: ClassVar = "tileas-prepare-for-scheduling"
    summary: ClassVar = "prepare accesses, loops and buffers for scheduling, in six steps"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = "the ops are what is scheduled; see the steps"
    statistics: ClassVar = {
        "decomposed": "loads made for one more product",
        "widened": "accesses with a wider atom",
        "compacted": "stages of buffers removed",
        "boxes": "descriptors with other boxes",
    }

    steps: tuple[str, ...] = option(
        (
            "decomposeTiledLoadStoreView",
            "refineVecSizeOfAtoms",
            "sliceAndFuse",
            "runCanonicalizer",
            "compactMemLayout",
            "refreshBoxDim",
        ),
        "the steps to run, in the order of the list",
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        unknown = [name for name in self.steps if name not in _STEPS]
        if unknown:
            raise op.error(
                f"option steps has '{unknown[0]}'; the steps of {self.name} are {', '.join(_STEPS)}"
            )
        functions = kernels_with(op)
        before, changed = dict(context.counters), False
        for name in self.steps if functions else ():
            step = _STEPS[name]
            if name == "sliceAndFuse":
                if Slicing().run(op, context):
                    context.run_pipeline("cse", op)
                    changed = True
            elif step is None:
                changed |= context.run_pipeline("canonicalize", op)
            else:
                for function, target in functions:
                    step(function, target, context)
        # The other steps count what they change.
        return changed or dict(context.counters) != before


# -- loads


def decompose_tiled_load_store_view(function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
    """A load whose tile several products take as a factor becomes a load for each of them.

    wgmma and tcgen05.mma read a factor in shared memory, in the order of its product.  TMA brings it there, once for
    each product or for several (shared_stages.py); otherwise the threads would have to read it and write it there.
    """
    if not (target.has(Feature.TMA) and target.multiplies_asynchronously):
        return
    for load in [op for op in function.walk() if isinstance(op, nv_tileas.TiledLoad)]:
        if all(is_factor(use.owner, load.res) for use in load.res.uses):
            context.count("decomposed", _copy_for_each_use(load))


def _copy_for_each_use(op: Operation) -> int:
    """Copy an op for each use of its tile but one, with the ops in between; how often."""
    for user in list(op.results[0].users):
        if isinstance(user, MOVES_NOTHING):
            _copy_for_each_use(user)
    uses = list(op.results[0].uses)
    for use in uses[1:]:
        copy = Builder.before(op).insert(op.clone())
        use.owner.set_operand(use.index, copy.results[0])
    return max(0, len(uses) - 1)


def refine_vec_size_of_atoms(function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
    """Accesses get the widest atom that is legal: 16 bytes at most, which is what ld and st move."""
    facts = Facts()
    for op in function.walk():
        if not isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore):
            continue
        type, view = op.moved.type, op.view.defining_op
        if not isinstance(view, nv_tileaa.MakeMemRef):
            continue
        bits = storage_bits(type.element) * vector_elements(view, op.indices, type, facts)
        if bits > op.atom.bits and op.atom.primitive == op.word:
            op.atom = CopyAtomAttr.make(80, op.word, bits, type.element)
            context.count("widened")


# -- buffers


def compact_mem_layout(function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
    """Buffers of whose stages only some are used, by constant numbers, keep those."""
    for alloc in [op for op in function.walk() if isinstance(op, nv_tileas.AllocTensor)]:
        stages: dict[nv_tileas.HasStage, int] = {}
        for use in alloc.res.uses:
            op = use.owner
            if not isinstance(op, nv_tileas.HasStage) or (number := constant_integer(op.stage)) is None:
                break
            stages[op] = number
        else:
            type = alloc.res.type
            used = sorted(set(stages.values()))
            if len(used) == type.stages or any(not 0 <= n < type.stages for n in used):
                continue
            context.count("compacted", type.stages - len(used))
            if not used:
                alloc.erase()
                continue
            alloc.res.type = SmemType((len(used), *type.tile), type.element, type.layout)
            for op, number in stages.items():
                place = used.index(number)
                if place != number:
                    fresh = Builder.before(op).insert(arith.Constant(i32(place), location=op.location))
                    _set_stage(op, fresh.results[0])


def _set_stage(op: Operation, stage: Value) -> None:
    assert isinstance(op, nv_tileas.HasStage)
    old = op.stage
    op.set_operand(next(i for i, v in enumerate(op.operands) if v is old), stage)


def refresh_box_dim(function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
    """Descriptors get the boxes by which TMA copies the tile of their buffer: the rows of a box are as wide as the
    swizzle, or the addresses that TMA writes would not be those of the buffer's layout."""
    for made in [op for op in function.walk() if isinstance(op, nv_tileas.MakeTiledTmaDesc)]:
        copies = [
            user
            for user in made.res.users
            if isinstance(user, nv_tileas.TiledTmaLoad | nv_tileas.TiledTmaStore)
        ]
        tiles = {copy.buffer.type.tile for copy in copies}
        if len(tiles) != 1:
            continue
        (tile,) = tiles
        size = element_bytes(made.res.type.element)
        box = box_of(tile, size, made.atom.swizzle)
        if box is None or box == tuple(made.box.values):
            continue
        made.box = DenseArrayAttr(I64, box)
        made.res.type = TmaDescType(box, made.res.type.element)
        for copy in copies:
            buffer = copy.buffer
            if isinstance(buffer.defining_op, nv_tileas.AllocTensor) and buffer.type.layout is None:
                layout = SharedAttr(swizzled(tile, 8 * size, None, made.atom.swizzle, made.atom.atomicity))
                buffer.type = SmemType(buffer.type.shape, buffer.type.element, layout)
        context.count("boxes")


_STEPS: dict[str, Step | None] = {
    "decomposeTiledLoadStoreView": decompose_tiled_load_store_view,
    "refineVecSizeOfAtoms": refine_vec_size_of_atoms,
    "sliceAndFuse": None,
    "runCanonicalizer": None,
    "compactMemLayout": compact_mem_layout,
    "refreshBoxDim": refresh_box_dim,
}
"""The steps by name; None for those on the whole module."""
