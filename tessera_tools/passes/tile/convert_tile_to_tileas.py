"""convert-tile-to-tileas: lowers kernels of the `tile` dialect to nv_tileas.

    func.func with tile ops                    ──▶  nv_tileaa.func with a kernel_spec
    memref argument                                 pointer, extents, strides (32 bits), make_memref
    buffer in shared memory                         nv_tileas.alloc_tensor with the buffer's swizzle
    fragment, modified in place                     tensor values, passed through loops and branches
    cp_async, commit, wait, barrier                 nv_tileas.async.tiled_copy, …
    mma of shared memory                            nv_tileas.load of fragments, nv_tileas.dot, for each step along K

A branch on a divergent condition may only modify fragments: it becomes a select on each thread's elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.analysis.divergence import divergent_values
from tessera_tools.analysis.fragments import Fragments, fragments_of
from tessera_tools.dialects import func, nv_tileaa, tile
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.tile.asynchronous import CopyLike
from tessera_tools.dialects.tile.collectives import is_host
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import StridedLayoutAttr, StringAttr, TypeAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Value
from tessera_tools.ir.types import I32, FloatType, FunctionType, IndexType, IntegerType, MemRefType
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.passes.tile import compute, control, copies, elements  # noqa: F401 - they register their handlers
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.groups import commit_boxes, wait_for_boxes
from tessera_tools.passes.tile.lowering import HANDLERS, Lowering, Matrix, index_of
from tessera_tools.passes.tile.tma_copies import Groups, boxes_of, has_boxes
from tessera_tools.records import dataclass
from tessera_tools.target import Target, UnknownTargetError, lookup

if TYPE_CHECKING:
    from tessera_tools.ir.location import Location

TARGET = "tessera.target"


@dataclass(frozen=True)
class ConvertTileToTileAS(Pass):
    """Lower kernels of the tile dialect to nv_tileas."""

    name: ClassVar = "convert-tile-to-tileas"
    summary: ClassVar = "lower the tile dialect to nv_tileas"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "func.func with tile ops"
    ensures: ClassVar = (
        "no tile op remains; kernels are nv_tileaa.func with a kernel_spec; the module has a target"
    )
    statistics: ClassVar = {"kernels": "kernels lowered"}

    abi: str = option("default", "the parameters of kernels: with tensor maps (default), or plain")
    gpu_name: str = option("", "the GPU architecture to compile for (default: tessera.target, else sm_80)")

    def run(self, op: Operation, context: PassContext) -> None:
        functions = [f for f in op.regions[0].entry if isinstance(f, func.Func) and is_kernel(f)]
        if not functions:
            return
        target = self.target(functions)
        if self.abi not in ("default", "plain"):
            raise PassFailure(f"unknown abi '{self.abi}'; expected default or plain")
        made = [_convert(function, target, self.groups(function, target, context)) for function in functions]
        for function, kernel in zip(functions, made, strict=True):
            assert function.parent is not None
            function.parent.insert_before(function, kernel)
            function.erase()
            context.count("kernels")
        op.attributes["nv_tileaa.compute_capability"] = i32(target.compute_capability)
        op.attributes["nv_tileaa.target_spec"] = StringAttr(target.cpu)

    def groups(self, function: func.Func, target: Target, context: PassContext) -> Groups:
        """The copies of a function by TMA; remarks say why others are not."""
        if self.abi == "plain" or not has_boxes(target):
            return Groups()
        found = boxes_of(function, target)
        for op, box in found.boxes.items():
            text = f"copy by TMA in boxes of {'x'.join(map(str, box))} elements"
            context.passed(op, text, "tma", "memory", function=function)
        for op, why in found.missed.items():
            context.missed(op, f"TMA does not copy the tile: {why}", "tma", "memory", function=function)
        return found

    def target(self, functions: Sequence[Operation]) -> Target:
        """The target of the option, or of the functions."""
        name = self.gpu_name
        for function in functions:
            declared = function.attributes.get(TARGET)
            if not name and isinstance(declared, StringAttr):
                name = declared.value
        try:
            return lookup(name or "sm_80")
        except UnknownTargetError as problem:
            raise PassFailure(problem.message, None, problem.hint) from None


def is_kernel(function: Operation) -> bool:
    """True if a function is a kernel of the tile dialect; others may run on the host."""
    return "tessera.kernel" in function.attributes or (
        any(op.name.startswith("tile.") for op in function.walk()) and not is_host(function)
    )


def _convert(function: func.Func, target: Target, groups: Groups) -> nv_tileaa.Func:
    fragments = fragments_of(function)
    if function.signature.results:
        raise function.error("is a kernel that returns values; a kernel must return nothing")
    if not function.body.blocks:
        raise function.error("is a kernel declaration; expected a body")
    if len(function.body.blocks) != 1:
        raise function.error("has unstructured control flow; only scf loops and branches are supported")
    entry = Block()
    by_threads = not groups.boxes or any(
        isinstance(op, CopyLike) and op not in groups.boxes for op in function.walk()
    )
    builder = Builder.at_end(entry, function.location)
    low = Lowering(builder, target, fragments, divergent_values(function), groups, by_threads)
    names: list[Type] = []
    alignment = alignment_of(function)
    for argument in function.arguments:
        _parameter(low, entry, argument, alignment)
    if any(isinstance(op, tile.ProfileMarker) for op in function.walk()):
        low.profile = _profile(entry, function.location)
    low.start()
    low.block(function.body.entry)
    for buffer in (b for b in low.shared if isinstance(b.defining_op, tile.AllocShared)):
        copies.check_written(buffer)
    low.builder.location = function.location
    commit_boxes(low, function)
    wait_for_boxes(low, groups.waits.get(function, ()))
    low.insert(nv_tileaa.Return())
    names = [a.type for a in entry.arguments]
    attributes = {
        k: v for k, v in function.attributes.items() if k not in _OWN and not k.startswith("tessera.")
    }
    kernel = nv_tileaa.Func(
        function.sym_name,
        TypeAttr(FunctionType(tuple(names), ())),
        None,
        body=entry,
        attributes=attributes,
        location=function.location,
    )
    try:
        kernel.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(fragments.threads // 32)
    except ValueError as problem:
        raise function.error(str(problem)) from None
    return kernel


_OWN = ("sym_name", "function_type", "arg_attrs", "res_attrs", "sym_visibility")


def _profile(entry: Block, location: Location) -> tuple[Value, Value]:
    """The last parameters of a kernel with markers: the address of the records, and their maximum number per block."""
    pointer, records = entry.add_argument(PointerType(1), location), entry.add_argument(I32, location)
    pointer.name_hint, records.name_hint = "profile", "records"
    return pointer, records


def _parameter(low: Lowering, entry: Block, argument: Value, alignment: int) -> None:
    """The lowered parameters of one parameter: for a tensor, its address, extents and strides in elements."""
    type = argument.type
    location = argument.location
    if not isinstance(type, MemRefType):
        if not isinstance(type, IndexType | IntegerType | FloatType):
            raise low.error(
                argument, f"a parameter of type {type}; tensors in global memory and numbers are supported"
            )
        new = entry.add_argument(type, location)
        new.name_hint = argument.name_hint
        low.values[argument] = new
        return
    if tile.space_of(type) != 0:
        raise low.error(argument, f"a parameter of type {type}; expected a tensor in global memory")
    if not tile.GLOBAL_BUFFER.accepts(type):
        raise low.error(argument, f"a parameter of type {type}; expected a tensor of numbers")
    if type.layout is not None and not (
        isinstance(type.layout, StridedLayoutAttr) and type.layout.strides[-1:] in ((), (1,))
    ):
        raise low.error(
            argument,
            f"a parameter of type {type}; expected unit stride in the last dimension",
        )
    pointer = entry.add_argument(PointerType(1), location)
    pointer.name_hint = argument.name_hint
    sizes = [entry.add_argument(I32, location) for _ in range(2 * type.rank)]
    low.tensors[argument] = (pointer, sizes[: type.rank], sizes[type.rank :], alignment)


__all__ = ["HANDLERS", "ConvertTileToTileAS", "Fragments", "IRMapping", "Matrix", "i64", "index_of"]
