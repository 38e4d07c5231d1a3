"""tile-memory-management: chooses the memory layout of a `tile` program.

    shared memory    for each buffer the swizzle with the fewest wavefronts, counted; predictions on its accesses
    global memory    coalesce = true if the lanes of a warp provably access adjacent elements
    registers        fragments with disjoint live ranges are merged; excess ones are spilled to shared memory

A buffer with an unknown access is not changed, and a remark reports it.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.bank_conflicts import NOTHING, Wavefronts, touches_neighbors
from tessera_tools.analysis.divergence import divergent_values
from tessera_tools.analysis.fragments import fragments_of
from tessera_tools.analysis.lane_values import trips
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, tile
from tessera_tools.ir.builtin_attributes import TRUE, DenseArrayAttr, StringAttr, i64
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import I64
from tessera_tools.layout import LayoutError, LinearLayout, swizzled
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.convert_tile_to_tileas import ConvertTileToTileAS, is_kernel
from tessera_tools.passes.tile.registers import Spiller, share
from tessera_tools.passes.tile.shared_accesses import Accesses, SharedAccess
from tessera_tools.passes.tile.swizzles import swizzle_bytes
from tessera_tools.passes.tile.tma_copies import box_or_reason
from tessera_tools.records import dataclass

PREDICTED = "tile.predicted_wavefronts"
"""Attribute of an access of shared memory: total wavefronts of all warps of a block, per execution."""
IDEAL = "tile.ideal_wavefronts"
"""The same without bank conflicts."""
_MODES = (0, 128, 64, 32)
"""Swizzle widths in bytes, the preferred first."""
_BY_ELEMENT = (tile.LoadGlobal, tile.StoreGlobalElement, tile.LoadGlobalVector, tile.StoreGlobalVector)


@dataclass(frozen=True)
class TileMemoryManagement(Pass):
    """Choose swizzles without bank conflicts, mark coalesced accesses, and keep fragments within the registers."""

    name: ClassVar = "tile-memory-management"
    summary: ClassVar = "choose swizzles, mark coalesced accesses and spill fragments in the tile dialect"
    anchor: ClassVar = "builtin.module"
    ensures: ClassVar = (
        "for known accesses, no other swizzle has fewer bank conflicts; coalesced accesses are marked"
    )
    statistics: ClassVar = {
        "swizzled": "buffers whose swizzle was changed",
        "unknown": "buffers with unknown accesses",
        "coalesced": "global accesses marked as coalesced",
        "shared": "fragments that reuse the registers of another",
        "spilled": "fragments spilled to shared memory",
    }

    gpu_name: str = option("", "the GPU architecture (default: tessera.target, else sm_80)")
    swizzle: bool = option(True, "choose swizzles; if false, only predict bank conflicts")
    compile: bool = option(
        True, "compile kernels that were spilled or are near the register limit, to check the result"
    )

    def run(self, op: Operation, context: PassContext) -> None:
        functions = [f for f in op.regions[0].entry if isinstance(f, func.Func) and is_kernel(f)]
        if not functions:
            return
        target = ConvertTileToTileAS(gpu_name=self.gpu_name).target(functions)
        for function in functions:
            if not function.body.blocks:
                continue
            if len(function.body.blocks) != 1:
                raise function.error(
                    "has unstructured control flow; only scf loops and branches are supported"
                )
            accesses = Accesses(
                function, fragments_of(function, partly=True), divergent_values(function), target
            )
            self.registers(function, accesses, op, context)
            self.shared_memory(function, accesses, context)
            _coalesce(function, accesses, context)

    def registers(
        self, function: func.Func, accesses: Accesses, module: Operation, context: PassContext
    ) -> None:
        """Merge fragments with disjoint live ranges, and spill others until the rest fits and ptxas does not spill
        itself."""
        context.count("shared", share(function, accesses.fragments))
        spiller = Spiller(function, accesses.fragments, accesses.lanes.divergent, accesses.target)
        name = function.sym_name.value

        def spilled_by_ptxas() -> int | None:
            found = context.measure(module, accesses.target).get(name) if self.compile else None
            return found.spilled if found is not None else None

        if spiller.peak()[0] <= spiller.limit // 2 or spilled_by_ptxas() == 0:
            return
        while True:
            spilled, peak, place = spiller.run()
            context.count("spilled", spilled)
            left = spilled_by_ptxas()
            if not left or place is not None:
                break
            # The estimate was too low: reserve as many more registers as ptxas lacks.
            spiller.limit = min(spiller.limit, peak) - max(8, left // 4)
        if place is not None and left != 0:
            still = f"ptxas spills {left} bytes of each thread: " if left else ""
            context.remark(
                place.location,
                f"{still}fragments and operands need {peak} registers of each thread here, but only {spiller.limit} "
                "are available; no other fragment can be spilled to shared memory",
                source=self.name, rule="registers", kind="failed", function=name,
            )  # fmt: skip

    def shared_memory(self, function: func.Func, accesses: Accesses, context: PassContext) -> None:
        """Choose the swizzle of each buffer, and annotate the accesses with their wavefronts."""
        predictions: dict[Operation, Wavefronts | None] = {}
        for alloc in [op for op in function.walk() if isinstance(op, tile.AllocShared)]:
            size = alloc.res.type.num_elements * storage_bits(alloc.res.type.element) // 8
            if size > accesses.target.max_shared_per_block:
                # Counting is limited to buffers that fit; the pass that allocates shared memory reports larger ones.
                context.count("unknown")
                context.remark(
                    alloc.location,
                    f"the bank conflicts of its accesses are not counted: {alloc.res.type} takes {size} bytes, and "
                    f"{accesses.target.name} has {accesses.target.max_shared_per_block} bytes of shared memory per CTA",
                    source=self.name, rule="too-large", kind="missed", function=function.sym_name.value,
                )  # fmt: skip
                predictions |= dict.fromkeys(use.owner for use in alloc.res.uses)
                continue
            found = accesses.of(alloc.res)
            unknown = next((access for access in found if access.cost is None), None)
            if unknown is not None:
                context.count("unknown")
                context.remark(
                    unknown.op.location,
                    f"the bank conflicts of this access are not known; keeping the swizzle of {alloc.res.type}",
                    source=self.name, rule="unknown-access", kind="missed", function=function.sym_name.value,
                )  # fmt: skip
            elif self.swizzle and found:
                _choose(alloc, found, alignment_of(function), context)
            memory = _layout(alloc, swizzle_bytes(alloc))
            for access in found:
                cases = (
                    access.cost.wavefronts(memory) if access.cost is not None and memory is not None else []
                )
                before = predictions.get(access.op, NOTHING)
                one = cases[0] if len(cases) == 1 else None
                predictions[access.op] = before + one if one is not None and before is not None else None
        for op, predicted in predictions.items():
            for key in (PREDICTED, IDEAL):
                op.attributes.pop(key, None)
            if predicted is not None:
                op.attributes[PREDICTED] = i64(predicted.total)
                op.attributes[IDEAL] = i64(predicted.ideal)


def _layout(alloc: tile.AllocShared, size: int) -> LinearLayout | None:
    """The layout with a swizzle of `size` bytes; None if the buffer has none."""
    type = alloc.res.type
    try:
        return swizzled(type.shape, storage_bits(type.element), swizzle_bytes=size)
    except LayoutError:
        return None


def _choose(
    alloc: tile.AllocShared, accesses: list[SharedAccess], alignment: int, context: PassContext
) -> None:
    """The swizzle with the fewest bank conflicts over all accesses, weighted by frequency.  Among equals: the current
    one, then the simplest, then the widest."""
    now = swizzle_bytes(alloc)
    best: tuple[float, int] | None = None
    for size in sorted(_MODES, key=lambda mode: mode != now):
        memory = _layout(alloc, size)
        if memory is None:
            continue
        conflicts = 0.0
        for access in accesses:
            assert access.cost is not None
            cases = access.cost.wavefronts(memory)
            conflicts += trips(access.op) * sum(case.conflicts for case in cases) / len(cases)
        if best is None or conflicts < best[0]:
            best = conflicts, size
    if best is None or best[1] == now:
        return
    context.count("swizzled")
    loads = [user for user in alloc.res.users if isinstance(user, tile.TmaLoad)]
    boxes = [box_or_reason(load, alignment, named=False) for load in loads]
    if best[1] == 0:
        alloc.attributes["swizzle"] = StringAttr("none")
        alloc.attributes.pop("swizzle_size", None)
    else:
        alloc.attributes["swizzle"] = StringAttr("xor")
        alloc.attributes["swizzle_size"] = i64(best[1])
    for load, old in zip(loads, boxes, strict=True):
        # The rows of a box are at most as wide as the swizzle; an explicit box is reduced if necessary.
        new = box_or_reason(load, alignment, named=False)
        if not isinstance(new, str) and (load.box == old or load.box[-1] > new[-1]):
            box = new if load.box == old else (*load.box[:-1], new[-1])
            load.attributes["tile_size"] = DenseArrayAttr(I64, box)


def _coalesce(function: Operation, accesses: Accesses, context: PassContext) -> None:
    for op in function.walk():
        if isinstance(op, _BY_ELEMENT) and op.coalesce is None and touches_neighbors(op, accesses.lanes):
            op.attributes["coalesce"] = TRUE
            context.count("coalesced")
