"""Tensor memory and its products (PTX ISA, "Tensorcore 5th Generation Instructions"); targets with tcgen05 have them.

A pointer to tensor memory is `!llvm.ptr<6>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.base import pointer_in
from tessera_tools.dialects.nvvm.attributes import (
    BlockScaleKindAttr,
    CTAGroupAttr,
    Tcgen05CpMulticastAttr,
    Tcgen05CpShapeAttr,
    Tcgen05CpSrcFormatAttr,
    Tcgen05FenceAttr,
    Tcgen05LdStShapeAttr,
    Tcgen05MMABlockScaleAttr,
    Tcgen05MMACollectorBBufferAttr,
    Tcgen05MMACollectorOpAttr,
    Tcgen05MMAKindAttr,
    Tcgen05WaitAttr,
)
from tessera_tools.dialects.nvvm.base import (
    GENERIC_OR_SHARED,
    I1_TYPE,
    I8_TYPE,
    I16_TYPE,
    I32_TYPE,
    I64_TYPE,
    NVVMOp,
    flag,
    space,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64, IntegerType, VectorType
from tessera_tools.opdef import (
    PURE,
    READ_WRITE,
    SYNCHRONIZES,
    UNIT_ATTR,
    TypeConstraint,
    attribute,
    enum,
    of_class,
    operand,
    optional_operand,
    result,
)
from tessera_tools.opdef.fields import AttributeField, OperandField

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter

TENSOR = pointer_in(6)
ONE_CTA = CTAGroupAttr("cta_1")
_NO_MULTICAST = Tcgen05CpMulticastAttr("none")
_DISCARD = Tcgen05MMACollectorOpAttr("discard")
_COUNTS = tuple(1 << number for number in range(8))


def _is_words(type: Type) -> bool:
    return type is I32 or (isinstance(type, VectorType) and type.element is I32 and len(type.shape) == 1)


WORDS: TypeConstraint[IntegerType | VectorType] = TypeConstraint(
    "32-bit signless integer or vector of 32-bit signless integer values", _is_words
)
LANES: TypeConstraint[VectorType] = TypeConstraint(
    "fixed-length vector of 32-bit signless integer values of length 4/8",
    lambda t: _is_words(t) and isinstance(t, VectorType) and t.num_elements in (4, 8),
)
MATRIX: TypeConstraint[Type] = TypeConstraint(
    "LLVM pointer in address space 6 or 64-bit signless integer", lambda t: t is I64 or TENSOR.accepts(t)
)


class _Grouped(NVVMOp):
    """An op with `group`: of one CTA, or of a pair."""

    def suffix(self) -> str:
        """`cg1` or `cg2`."""
        group: CTAGroupAttr = self.attributes.get("group", ONE_CTA)  # type: ignore[assignment]
        return f"cg{group.value[-1]}"


class Tcgen05Alloc(_Grouped, name="nvvm.tcgen05.alloc", traits=(READ_WRITE,)):
    """Allocate columns of tensor memory; their address goes to `addr`."""

    addr = operand(GENERIC_OR_SHARED)
    columns = operand(I32_TYPE)
    group = attribute(of_class(CTAGroupAttr), default=ONE_CTA)
    assembly = "$addr `,` $columns attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        shared = "shared." if space(self.addr) == 3 else ""
        return f"llvm.nvvm.tcgen05.alloc.{shared}{self.suffix()}"


class Tcgen05Dealloc(_Grouped, name="nvvm.tcgen05.dealloc", traits=(READ_WRITE,)):
    """Free columns of tensor memory."""

    taddr = operand(TENSOR)
    columns = operand(I32_TYPE)
    group = attribute(of_class(CTAGroupAttr), default=ONE_CTA)
    assembly = "$taddr `,` $columns attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.tcgen05.dealloc.{self.suffix()}"


class Tcgen05RelinquishAllocPermit(
    _Grouped, name="nvvm.tcgen05.relinquish_alloc_permit", traits=(READ_WRITE,)
):
    """The CTA allocates no more tensor memory."""

    group = attribute(of_class(CTAGroupAttr), default=ONE_CTA)
    assembly = "attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.tcgen05.relinq.alloc.permit.{self.suffix()}"


class Tcgen05Fence(NVVMOp, name="nvvm.tcgen05.fence", traits=(SYNCHRONIZES,)):
    """Order tcgen05 operations before or after a synchronization of threads."""

    kind = attribute(enum(Tcgen05FenceAttr, angled=True))
    assembly = "$kind attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.tcgen05.fence.{self.kind.value}.thread.sync"


class Tcgen05Wait(NVVMOp, name="nvvm.tcgen05.wait", traits=(SYNCHRONIZES,)):
    """Wait for the loads or stores of tensor memory."""

    kind = attribute(enum(Tcgen05WaitAttr, angled=True))
    assembly = "$kind attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.tcgen05.wait.{'ld' if self.kind.value == 'load' else 'st'}"


class Tcgen05Commit(_Grouped, name="nvvm.tcgen05.commit", traits=(READ_WRITE,)):
    """Arrive at an mbarrier when the thread's products and copies so far are complete."""

    addr = operand(GENERIC_OR_SHARED)
    multicast_mask = optional_operand(I16_TYPE)
    group = attribute(of_class(CTAGroupAttr), default=ONE_CTA)
    assembly = "$addr (`,` `multicast_mask` `=` $multicast_mask^)? attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        multicast = "mc." if self.multicast_mask is not None else ""
        shared = "shared." if space(self.addr) == 3 else ""
        return f"llvm.nvvm.tcgen05.commit.{multicast}{shared}{self.suffix()}"


class Tcgen05Shift(_Grouped, name="nvvm.tcgen05.shift", traits=(READ_WRITE,)):
    """Move 32 bytes of 31 lanes to the previous lane."""

    taddr = operand(TENSOR)
    group = attribute(of_class(CTAGroupAttr), default=ONE_CTA)
    assembly = "$taddr attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.tcgen05.shift.down.{self.suffix()}"


class Tcgen05Cp(_Grouped, name="nvvm.tcgen05.cp", traits=(READ_WRITE,)):
    """Copy a matrix from shared to tensor memory."""

    taddr = operand(TENSOR)
    smem_desc = operand(I64_TYPE)
    shape = attribute(of_class(Tcgen05CpShapeAttr))
    group = attribute(of_class(CTAGroupAttr), default=ONE_CTA)
    multicast = attribute(of_class(Tcgen05CpMulticastAttr), default=_NO_MULTICAST)
    src_format = attribute(of_class(Tcgen05CpSrcFormatAttr), optional=True, key="srcFormat")
    assembly = "$taddr `,` $smem_desc attr-dict"

    def intrinsic_name(self) -> str:
        shape = self.shape.value.removeprefix("shape_")
        multicast = "" if self.multicast.value == "none" else f"_{self.multicast.value}"
        source = f".{self.src_format.value}" if self.src_format is not None else ""
        return f"llvm.nvvm.tcgen05.cp.{shape}{multicast}{source}.{self.suffix()}"

    def verify_op(self) -> None:
        shape, multicast = self.shape.value, self.multicast.value
        if shape == "shape_64x128b":
            if not multicast.startswith("warpx2"):
                raise self.error(
                    "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op"
                )
        elif shape == "shape_32x128b":
            if multicast != "warpx4":
                raise self.error("Shape 32x128b requires multicast warpx4 for tcgen05.cp Op")
        elif multicast != "none":
            raise self.error("Invalid multicast type for tcgen05.cp Op")


_REGISTERS = {"shape_16x128b": 2, "shape_16x256b": 4}
"""Registers of .x1, where it is not one."""


class _LoadOrStore(NVVMOp):
    """tcgen05.ld or st: the number of registers determines `.xN`."""

    def number(self, type: Type) -> int:
        """N of `.xN`."""
        count = type.num_elements if isinstance(type, VectorType) else 1
        shape: Tcgen05LdStShapeAttr = self.attributes["shape"]  # type: ignore[assignment]
        return count // _REGISTERS.get(shape.value, 1)

    def check(self, type: Type, offset: Value | None) -> None:
        """The registers and the offset of a shape."""
        shape: Tcgen05LdStShapeAttr = self.attributes["shape"]  # type: ignore[assignment]
        each = _REGISTERS.get(shape.value, 1)
        count = type.num_elements if isinstance(type, VectorType) else 1
        if count % each or count // each not in _COUNTS or count > 128:
            raise self.error(
                f"has {count} registers with {shape.value}; expected {each} times a power of two, 128 at most"
            )
        if (shape.value == "shape_16x32bx2") != (offset is not None):
            raise self.error("has an offset with, and only with, shape_16x32bx2")


class Tcgen05Ld(_LoadOrStore, name="nvvm.tcgen05.ld", traits=(READ_WRITE,)):
    """Load registers from tensor memory; they are valid after `tcgen05.wait`."""

    tmem_addr = operand(TENSOR)
    offset = optional_operand(I64_TYPE)
    pack = attribute(UNIT_ATTR, optional=True)
    shape = attribute(of_class(Tcgen05LdStShapeAttr))
    res = result(WORDS)
    assembly = "$tmem_addr (`,` $offset^)? (`pack` $pack^)? attr-dict `:` type($res)"

    def intrinsic_name(self) -> str:
        shape = self.shape.value.removeprefix("shape_")
        return f"llvm.nvvm.tcgen05.ld.{shape}.x{self.number(self.results[0].type)}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [*map(e.operand, self.operands), f"i1 {str(flag(self, 'pack')).lower()}"]

    def verify_op(self) -> None:
        self.check(self.results[0].type, self.offset)


class Tcgen05St(_LoadOrStore, name="nvvm.tcgen05.st", traits=(READ_WRITE,)):
    """Store registers to tensor memory."""

    tmem_addr = operand(TENSOR)
    val = operand(WORDS)
    offset = optional_operand(I64_TYPE)
    unpack = attribute(UNIT_ATTR, optional=True)
    shape = attribute(of_class(Tcgen05LdStShapeAttr))
    assembly = "$tmem_addr `,` $val (`,` $offset^)? (`unpack` $unpack^)? attr-dict `:` type($val)"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.tcgen05.st.{self.shape.value.removeprefix('shape_')}.x{self.number(self.val.type)}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        offset = [] if self.offset is None else [e.operand(self.offset)]
        unpack = f"i1 {str(flag(self, 'unpack')).lower()}"
        return [e.operand(self.tmem_addr), *offset, e.operand(self.val), unpack]

    def verify_op(self) -> None:
        self.check(self.val.type, self.offset)


_DESCRIPTOR = ((14, 0), (14, 16), (14, 32), (3, 49), (1, 52), (3, 61))
"""The number of bits of each field of a descriptor, and its first bit."""
_VERSION_BIT = 46
"""Bits 46 to 48 are 1."""
_KINDS = {"f16": 0, "tf32": 1, "f8f6f4": 2, "i8": 3}
_COLLECTOR = {"discard": 0, "lastuse": 1, "fill": 2, "use": 3}


def _source(op: _Product | _ScaledProduct | _StationaryProduct) -> str:
    return "tensor" if space(op.matrix_a) == 6 else "shared"


class Tcgen05MmaSmemDesc(NVVMOp, name="nvvm.tcgen05.mma_smem_desc", traits=(PURE,)):
    """A descriptor of a matrix in shared memory, packed from its fields."""

    start_addr = operand(I32_TYPE)
    leading_dim_offset = operand(I32_TYPE)
    stride_dim_offset = operand(I32_TYPE)
    base_offset = operand(I8_TYPE)
    leading_dim_mode = operand(I1_TYPE)
    swizzle_mode = operand(I8_TYPE)
    res = result(I64_TYPE)
    assembly = "`(` operands `)` attr-dict `:` `(` type(operands) `)` `->` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        packed = str(1 << _VERSION_BIT)
        for number, (field, (bits, first)) in enumerate(zip(self.operands, _DESCRIPTOR, strict=True)):
            wide = e.temporary(f"zext {e.operand(field)} to i64")
            kept = e.temporary(f"and i64 {wide}, {(1 << bits) - 1}")
            placed = e.temporary(f"shl i64 {kept}, {first}")
            text = f"or i64 {packed}, {placed}"
            if number + 1 == len(_DESCRIPTOR):
                e.define(self, text)
            else:
                packed = e.temporary(text)


class _Product(NVVMOp):
    """A product, dense or of a sparse A: its intrinsic starts with `intrinsic`."""

    matrix_a: OperandField[Value]
    scale_input_d: OperandField[Value | None]
    disable_output_lane: OperandField[Value[VectorType] | None]
    kind: AttributeField[Tcgen05MMAKindAttr]
    cta_group: AttributeField[CTAGroupAttr]
    collector_op: AttributeField[Tcgen05MMACollectorOpAttr]

    def intrinsic_name(self) -> str:
        name = f"{self.intrinsic}.{_source(self)}"
        name += ".scale_d" if self.scale_input_d is not None else ""
        if self.disable_output_lane is not None:
            name += f".disable_output_lane.cg{self.cta_group.value[-1]}"
        return name + (".ashift" if flag(self, "aShift") else "")

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        arguments = [*map(e.operand, self.operands), f"i32 {_KINDS[self.kind.value]}"]
        if self.disable_output_lane is None:
            arguments.append(f"i32 {self.cta_group.value[-1]}")
        return [*arguments, f"i32 {_COLLECTOR[self.collector_op.value]}"]

    def verify_op(self) -> None:
        lanes = self.disable_output_lane
        if lanes is not None and lanes.type.num_elements != 4 * int(self.cta_group.value[-1]):
            raise self.error(
                f"Disable Output Lane of length {lanes.type.num_elements} is incompatible with CtaGroupAttr"
            )
        if self.scale_input_d is not None and self.kind.value not in ("f16", "tf32"):
            raise self.error("scale-input-d needs kind f16 or tf32")
        if flag(self, "aShift") and (_source(self) != "tensor" or self.collector_op.value in ("fill", "use")):
            raise self.error(
                "a shift of A needs A in tensor memory, and no fill or use of the collector buffer"
            )


class _ScaledProduct(NVVMOp):
    """A product with scale factors of blocks, dense or of a sparse A."""

    matrix_a: OperandField[Value]
    kind: AttributeField[BlockScaleKindAttr]
    cta_group: AttributeField[CTAGroupAttr]
    block_scale: AttributeField[Tcgen05MMABlockScaleAttr]
    collector_op: AttributeField[Tcgen05MMACollectorOpAttr]

    def intrinsic_name(self) -> str:
        block = "" if self.block_scale.value == "default" else f".{self.block_scale.value}"
        return f"{self.intrinsic}.{_source(self)}.{self.kind.value}.block_scale{block}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        numbers = int(self.cta_group.value[-1]), _COLLECTOR[self.collector_op.value]
        return [*map(e.operand, self.operands), *(f"i32 {number}" for number in numbers)]

    def verify_op(self) -> None:
        kind, block = self.kind.value, self.block_scale.value
        if block == "block16" and kind != "mxf4nvf4":
            raise self.error("mxf8f6f4 and mxf4 kinds do not support block16 attribute")
        if block == "default" and kind == "mxf4nvf4":
            raise self.error("mxf4nvf4 requires block scale attribute")


class _StationaryProduct(NVVMOp):
    """A product with B in a collector buffer, dense or of a sparse A."""

    matrix_a: OperandField[Value]
    zero_col_mask: OperandField[Value | None]
    kind: AttributeField[Tcgen05MMAKindAttr]
    collector_b_buffer: AttributeField[Tcgen05MMACollectorBBufferAttr]
    collector_op: AttributeField[Tcgen05MMACollectorOpAttr]

    def intrinsic_name(self) -> str:
        mask = ".zero_col_mask" if self.zero_col_mask is not None else ""
        return f"{self.intrinsic}.{_source(self)}{mask}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        numbers = (
            _KINDS[self.kind.value],
            int(self.collector_b_buffer.value[-1]),
            _COLLECTOR[self.collector_op.value],
        )
        return [*map(e.operand, self.operands), *(f"i32 {number}" for number in numbers)]


class Tcgen05Mma(_Product, name="nvvm.tcgen05.mma", traits=(READ_WRITE,)):
    """D = A * B (+ D), with D in tensor memory, and A there or in shared memory."""

    intrinsic = "llvm.nvvm.tcgen05.mma"
    matrix_d = operand(TENSOR)
    matrix_a = operand(MATRIX)
    matrix_b = operand(I64_TYPE)
    idesc = operand(I32_TYPE)
    enable_input_d = operand(I1_TYPE)
    scale_input_d = optional_operand(I64_TYPE)
    disable_output_lane = optional_operand(LANES)
    kind = attribute(of_class(Tcgen05MMAKindAttr))
    cta_group = attribute(of_class(CTAGroupAttr), key="ctaGroup")
    collector_op = attribute(of_class(Tcgen05MMACollectorOpAttr), default=_DISCARD, key="collectorOp")
    a_shift = attribute(UNIT_ATTR, optional=True, key="aShift")
    assembly = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d "
        "(`scale` `=` $scale_input_d^)? (`mask` `=` $disable_output_lane^)? attr-dict `:` `(` type(operands) `)`"
    )


class Tcgen05MmaBlockScale(_ScaledProduct, name="nvvm.tcgen05.mma.block_scale", traits=(READ_WRITE,)):
    """D = A * B (+ D) with the scale factors of blocks in tensor memory."""

    intrinsic = "llvm.nvvm.tcgen05.mma"
    matrix_d = operand(TENSOR)
    matrix_a = operand(MATRIX)
    matrix_b = operand(I64_TYPE)
    idesc = operand(I32_TYPE)
    enable_input_d = operand(I1_TYPE)
    scale_a = operand(TENSOR)
    scale_b = operand(TENSOR)
    kind = attribute(of_class(BlockScaleKindAttr))
    cta_group = attribute(of_class(CTAGroupAttr), key="ctaGroup")
    block_scale = attribute(
        of_class(Tcgen05MMABlockScaleAttr), default=Tcgen05MMABlockScaleAttr("default"), key="blockScale"
    )
    collector_op = attribute(of_class(Tcgen05MMACollectorOpAttr), default=_DISCARD, key="collectorOp")
    assembly = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $scale_a `,` $scale_b attr-dict "
        "`:` `(` type(operands) `)`"
    )


class Tcgen05MmaWs(_StationaryProduct, name="nvvm.tcgen05.mma.ws", traits=(READ_WRITE,)):
    """D = A * B (+ D) with B in a collector buffer."""

    intrinsic = "llvm.nvvm.tcgen05.mma.ws"
    matrix_d = operand(TENSOR)
    matrix_a = operand(MATRIX)
    matrix_b = operand(I64_TYPE)
    idesc = operand(I32_TYPE)
    enable_input_d = operand(I1_TYPE)
    zero_col_mask = optional_operand(I64_TYPE)
    kind = attribute(of_class(Tcgen05MMAKindAttr))
    collector_b_buffer = attribute(
        of_class(Tcgen05MMACollectorBBufferAttr),
        default=Tcgen05MMACollectorBBufferAttr("b0"),
        key="collectorBBuffer",
    )
    collector_op = attribute(of_class(Tcgen05MMACollectorOpAttr), default=_DISCARD, key="collectorOp")
    assembly = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d (`,` $zero_col_mask^)? attr-dict "
        "`:` `(` type(operands) `)`"
    )


class Tcgen05MmaSparse(_Product, name="nvvm.tcgen05.mma.sp", traits=(READ_WRITE,)):
    """D = A * B (+ D) with a sparse A, which is stored as half of its columns; its metadata is in tensor memory."""

    intrinsic = "llvm.nvvm.tcgen05.mma.sp"
    matrix_d = operand(TENSOR)
    matrix_a = operand(MATRIX)
    matrix_b = operand(I64_TYPE)
    idesc = operand(I32_TYPE)
    enable_input_d = operand(I1_TYPE)
    sparse_metadata = operand(TENSOR)
    scale_input_d = optional_operand(I64_TYPE)
    disable_output_lane = optional_operand(LANES)
    kind = attribute(of_class(Tcgen05MMAKindAttr))
    cta_group = attribute(of_class(CTAGroupAttr), key="ctaGroup")
    collector_op = attribute(of_class(Tcgen05MMACollectorOpAttr), default=_DISCARD, key="collectorOp")
    a_shift = attribute(UNIT_ATTR, optional=True, key="aShift")
    assembly = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $sparse_metadata "
        "(`scale` `=` $scale_input_d^)? (`mask` `=` $disable_output_lane^)? attr-dict `:` `(` type(operands) `)`"
    )


class Tcgen05MmaSparseBlockScale(
    _ScaledProduct, name="nvvm.tcgen05.mma.sp.block_scale", traits=(READ_WRITE,)
):
    """D = A * B (+ D) with a sparse A and the scale factors of blocks."""

    intrinsic = "llvm.nvvm.tcgen05.mma.sp"
    matrix_d = operand(TENSOR)
    matrix_a = operand(MATRIX)
    matrix_b = operand(I64_TYPE)
    idesc = operand(I32_TYPE)
    enable_input_d = operand(I1_TYPE)
    sparse_metadata = operand(TENSOR)
    scale_a = operand(TENSOR)
    scale_b = operand(TENSOR)
    kind = attribute(of_class(BlockScaleKindAttr))
    cta_group = attribute(of_class(CTAGroupAttr), key="ctaGroup")
    block_scale = attribute(
        of_class(Tcgen05MMABlockScaleAttr), default=Tcgen05MMABlockScaleAttr("default"), key="blockScale"
    )
    collector_op = attribute(of_class(Tcgen05MMACollectorOpAttr), default=_DISCARD, key="collectorOp")
    assembly = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $sparse_metadata `,` $scale_a `,` "
        "$scale_b attr-dict `:` `(` type(operands) `)`"
    )


class Tcgen05MmaWsSparse(_StationaryProduct, name="nvvm.tcgen05.mma.ws.sp", traits=(READ_WRITE,)):
    """D = A * B (+ D) with a sparse A, and B in a collector buffer."""

    intrinsic = "llvm.nvvm.tcgen05.mma.ws.sp"
    matrix_d = operand(TENSOR)
    matrix_a = operand(MATRIX)
    matrix_b = operand(I64_TYPE)
    idesc = operand(I32_TYPE)
    enable_input_d = operand(I1_TYPE)
    sparse_metadata = operand(TENSOR)
    zero_col_mask = optional_operand(I64_TYPE)
    kind = attribute(of_class(Tcgen05MMAKindAttr))
    collector_b_buffer = attribute(
        of_class(Tcgen05MMACollectorBBufferAttr),
        default=Tcgen05MMACollectorBBufferAttr("b0"),
        key="collectorBBuffer",
    )
    collector_op = attribute(of_class(Tcgen05MMACollectorOpAttr), default=_DISCARD, key="collectorOp")
    assembly = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $sparse_metadata "
        "(`,` $zero_col_mask^)? attr-dict `:` `(` type(operands) `)`"
    )
