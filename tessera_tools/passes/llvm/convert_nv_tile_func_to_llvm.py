"""convert-nv-tile-func-to-llvm: the function boundary.  nv_tileaa.func → func.func, its nv_tileaa.return → func.return.

A kernel's spec becomes nvvm attributes, if the module has a target (nv_tileaa.compute_capability and
nv_tileaa.target_spec); other functions are host-side helpers, of which only the signature changes
(index is i64, a float of 8 bits or an i4 is an i8, a tf32 is an f32):

kernel_spec (present)    cute.kernel          always
num_warps                nvvm.reqntid         32 · num_warps threads
cluster                  nvvm.cluster_dim, nvvm.blocksareclusters   if the target has clusters, product > 1
(1)                      nvvm.minctasm        always
nv_tileaa.occupancy      nvvm.maxnreg         registers for that many CTAs per multiprocessor
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.persistent import CLUSTER_PROGRAMS, PERSISTENT
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import arith, func, nv_tileaa
from tessera_tools.dialects.arith.attributes import ROUNDING_MODES
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, IntegerAttr, i32
from tessera_tools.ir.core import Builder, Operation, Region, Value
from tessera_tools.ir.types import I32, TF32, IndexType, bit_width
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.llvm.tiles import converted
from tessera_tools.planning.kernel import OCCUPANCY, known_target
from tessera_tools.target import Feature, Target, max_registers_for


class ConvertNVTileFuncToLLVM(Pass):
    """Lower the boundaries of tile functions."""

    name: ClassVar = "convert-nv-tile-func-to-llvm"
    summary: ClassVar = "lower tile functions to func.func with kernel attributes"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileaa.func with scalar and pointer parameters"
    ensures: ClassVar = "no nv_tileaa.func or nv_tileaa.return; kernels carry nvvm attributes"

    def run(self, op: Operation, context: PassContext) -> None:
        functions = [f for r in op.regions for b in r.blocks for f in b if isinstance(f, nv_tileaa.Func)]
        if not functions:
            return
        target = known_target(op)
        for function in functions:
            _convert(function, target)


def _convert(function: nv_tileaa.Func, target: Target | None) -> None:
    spec = function.kernel_spec
    try:
        inputs = [converted(t) for t in function.signature.inputs]
        results = [boundary_type(t) for t in function.signature.results]
    except Refusal as problem:
        raise function.error(f"region types conversion failed: {problem}") from None
    for op in function.walk():
        if isinstance(op, nv_tileaa.Return):
            if spec is not None and op.op_operands:
                raise op.error("Kernel functions do not support return with operands")
            if op.parent_op is not function:
                continue  # an early return, lowered with its enclosing op
            before = Builder.before(op)
            returned = [
                v if v.type is t else before.insert(arith.IndexCast(v, out=t)).results[0]
                for v, t in zip(op.operands, results, strict=True)
            ]
            before.insert(func.Return(returned, location=op.location))
            op.erase()
    kept = {k: v for k, v in function.attributes.items() if not k.startswith("nv_tileaa.") or k == PERSISTENT}
    new = func.Func.create([], [], kept, [_moved(function)], location=function.location)
    new.set_signature(inputs, results)
    for argument, type in zip(new.arguments, inputs, strict=True):
        old = argument.type
        if old is not type:
            argument.type = type
            cast = _read_parameter(argument, old)
            Builder.at_start(new.body.entry, new.location).insert(cast)
            argument.replace_all_uses_with(cast.results[0], keep=lambda use, cast=cast: use.owner is cast)
    if spec is not None and target is not None:
        new.attributes.update(kernel_attributes(function, spec, target))
    assert function.parent is not None
    function.parent.insert_before(function, new)
    function.erase()


def boundary_type(type: Type) -> Type:
    """The type of a result: index is i64, pointers and scalars are unchanged.  Raises Refusal for others."""
    new = converted(type)
    if new is not type and not isinstance(type, IndexType):
        raise Refusal(f"type {type} cannot be returned")
    return new


def _read_parameter(argument: Value, type: Type) -> Operation:
    """The op that converts a parameter to a value of a type: the bits of the type."""
    if isinstance(type, IndexType):
        return arith.IndexCast(argument, out=type)
    if type is TF32:
        toward_zero = IntegerAttr(ROUNDING_MODES.index("toward_zero"), I32)
        return arith.TruncF(argument, toward_zero, out=type)
    bits = bit_width(type)
    if bits == bit_width(argument.type):
        return arith.Bitcast(argument, out=type)
    return arith.TruncI(argument, out=type)


def _moved(function: Operation) -> Region:
    region = Region()
    region.take_blocks(function.regions[0])
    return region


def kernel_attributes(
    function: Operation, spec: nv_tileaa.KernelSpecAttr, target: Target
) -> dict[str, Attribute]:
    """The nvvm attributes of a kernel."""
    threads = 32 * spec.num_warps
    if threads > target.max_threads_per_block:
        raise function.error(
            f"has {spec.num_warps} warps; {target.name} allows {target.max_threads_per_block // 32} a CTA"
        )
    attributes: dict[str, Attribute] = {
        "cute.kernel": UNIT,
        "nvvm.reqntid": DenseArrayAttr(I32, (threads,)),
        "nvvm.minctasm": i32(1),
    }
    if CLUSTER_PROGRAMS in function.attributes:
        raise function.error(
            "has clusters of several programs; run --tileas-dynamic-persistent and --tileas-resolve-program-ids first"
        )
    product = spec.cluster[0] * spec.cluster[1] * spec.cluster[2]
    if product > 1 and target.has(Feature.CLUSTER):
        attributes["nvvm.cluster_dim"] = DenseArrayAttr(I32, spec.cluster)
        attributes["nvvm.blocksareclusters"] = UNIT
    occupancy = function.attributes.get(OCCUPANCY)
    if isinstance(occupancy, IntegerAttr):
        registers = (
            max_registers_for(target, threads=threads, blocks=occupancy.value) if occupancy.value > 0 else 0
        )
        if not registers:
            raise function.error(
                f"requests an occupancy of {occupancy.value} CTAs of {threads} threads on a multiprocessor, which "
                f"{target.name} cannot provide"
            )
        attributes["nvvm.maxnreg"] = i32(registers)
    return attributes
