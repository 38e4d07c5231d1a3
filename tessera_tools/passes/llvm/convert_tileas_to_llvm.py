"""convert-tileas-to-llvm: kernel bodies.  Lowers each tile value to its per-thread values in llvm and nvvm.

offsets in shared memory  →  lower each kernel into an llvm.func, op by op (lowering.LOWERINGS)  →  declare global_smem
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.analysis.persistent import PERSISTENT
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import func, llvm, nv_tileaa
from tessera_tools.dialects.llvm.types import ArrayType, FunctionType, VoidType
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    DenseArrayAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
    i32,
    i64,
)
from tessera_tools.ir.core import Block, Operation, Region
from tessera_tools.ir.types import I8
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.llvm.emitter import SHARED_POINTER, Emitter
from tessera_tools.passes.llvm.explain import explain_conversions
from tessera_tools.passes.llvm.lowering import Lowering, converted
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.symbols import Symbols
from tessera_tools.passes.llvm.tensor_fences import tensor_fences
from tessera_tools.passes.llvm.tensor_maps import hidden_parameters
from tessera_tools.planning.kernel import target_of
from tessera_tools.planning.shared_memory import ALIGNMENT, recorded
from tessera_tools.target import ExecutionUnit, Feature, Target

DYNAMIC_SHARED = "nv_tileaa.dynamic_shared_memory"
"""Attribute of a kernel's llvm.func: bytes of dynamic shared memory that a launch must provide."""


class ConvertTileASToLLVM(Pass):
    """Lower kernel bodies to llvm and nvvm."""

    name: ClassVar = "convert-tileas-to-llvm"
    summary: ClassVar = "lower nv_tileas to llvm and nvvm"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "func.func kernels; layouts, buffers and copies explicit"
    ensures: ClassVar = "only llvm and nvvm ops in kernels"
    statistics: ClassVar = {"kernels": "kernels lowered"}

    def run(self, op: Operation, context: PassContext) -> None:
        left = next(
            (inner for inner in op.walk() if inner.name.startswith(("nv_tileaa.", "nv_tileas."))), None
        )
        functions = [f for r in op.regions for b in r.blocks for f in b if _is_kernel(f)]
        if left is None and not functions:
            return
        target = target_of(op)
        shared = 0
        symbols = Symbols(op)
        for function in functions:
            if context.explains:
                explain_conversions(function, target, context)
            shared = max(shared, _lower(function, target, symbols))
            context.count("kernels")
        for inner in op.walk():
            if inner.name.startswith(("nv_tileaa.", "nv_tileas.")):
                raise inner.error(
                    "failed to legalize operation: it is not in a kernel; run --convert-nv-tile-func-to-llvm on an "
                    "nv_tileaa.func with an 'nv_tileaa.kernel_spec' first"
                )
        block = op.regions[0].blocks[0]
        if shared and not any(_defines_smem(inner) for inner in block):
            block.insert_before(block.first_op, _global_smem(op))


def _is_kernel(op: Operation) -> bool:
    return isinstance(op, func.Func) and "cute.kernel" in op.attributes


def _defines_smem(op: Operation) -> bool:
    """True if an op is the kernels' shared memory; raises an error for another symbol of that name."""
    name = op.attributes.get("sym_name")
    if not isinstance(name, StringAttr) or name.value != GLOBAL_SMEM:
        return False
    if not isinstance(op, llvm.Global) or op.addr_space.value != SHARED_POINTER.address_space:
        raise op.error(
            f"has the name @{GLOBAL_SMEM}, which is reserved for the kernels' shared memory; rename it"
        )
    return True


def _global_smem(module: Operation) -> Operation:
    """`global_smem`, whose size is specified at launch: static arrays are limited to 48 KiB."""
    return llvm.Global.create(
        [],
        [],
        {
            "global_type": TypeAttr(ArrayType(0, I8)),
            "sym_name": StringAttr(GLOBAL_SMEM),
            "linkage": llvm.LinkageAttr("external"),
            "addr_space": i32(3),
            "alignment": i64(ALIGNMENT),
        },
        [Region()],
        location=module.location,
    )


def _returns_nothing(function: Operation) -> None:
    """Raises an error if a kernel returns a value."""
    for op in function.walk():
        if isinstance(op, func.Return | nv_tileaa.Return) and op.op_operands:
            raise op.error("Kernel functions do not support return with operands")


def _lower(function: Any, target: Target, symbols: Symbols) -> int:
    """Replace one kernel by an llvm.func; returns its size of shared memory in bytes."""
    threads = function.attributes.get("nvvm.reqntid")
    if not isinstance(threads, DenseArrayAttr) or len(threads.values) != 1 or threads.values[0] % 32:
        raise function.error(
            "is a kernel without a block size: expected nvvm.reqntid = array<i32: N>, whole warps"
        )
    _returns_nothing(function)
    allocation = recorded(function, target)
    try:
        types = [converted(t) for t in function.signature.inputs]
    except Refusal as problem:
        raise function.error(f"region types conversion failed: {problem}") from None
    entry = Block(types, [a.location for a in function.arguments])
    region = Region([entry])
    emitter = Emitter(region, function.location, ExecutionUnit(threads.values[0] // 32))
    cluster = function.attributes.get("nvvm.cluster_dim")
    shape = cluster.values if isinstance(cluster, DenseArrayAttr) else (1, 1, 1)
    low = Lowering(emitter, target, allocation, symbols, shape)
    limit = function.attributes.get("nvvm.maxnreg")
    if isinstance(limit, IntegerAttr):
        low.launched_registers = limit.value // 8 * 8
    for old, new in zip(function.arguments, entry.arguments, strict=True):
        new.name_hint = old.name_hint
        low.define(old, new)
    if len(function.body.blocks) != 1:
        raise function.error(
            "has unstructured control flow; convert-tileas-to-llvm supports only structured control flow"
        )
    if target.has(Feature.TCGEN05):
        low.fences = tensor_fences(function)
    low.block(function.body.entry)
    if low.reachable:
        end = function.body.entry.last_op.location
        emitter.location = end if end.start() is not None else function.location
        emitter.emit(llvm.Return())
    attributes = {
        k: v
        for k, v in function.attributes.items()
        if k.startswith("nvvm.") or k in ("sym_name", "arg_attrs", PERSISTENT)
    }
    attributes["nvvm.kernel"] = UNIT
    types += hidden_parameters(low, attributes, len(types))
    attributes["function_type"] = TypeAttr(FunctionType(VoidType(), tuple(types)))
    if allocation.total:
        attributes[DYNAMIC_SHARED] = i32(allocation.total)
    kernel = llvm.LLVMFunc.create([], [], attributes, [region], location=function.location)
    assert function.parent is not None
    function.parent.insert_before(function, kernel)
    function.erase()
    return allocation.total


__all__ = ["ConvertTileASToLLVM"]
