"""Tensor cores: ldmatrix, stmatrix, mma.sync, wgmma (PTX ISA, "Warp Level Matrix Instructions")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.base import ANY, assembly_attributes
from tessera_tools.dialects.llvm.types import StructType
from tessera_tools.dialects.nvvm.attributes import (
    LdStMatrixEltTypeAttr,
    LdStMatrixShapeAttr,
    MMAB1OpAttr,
    MMAIntOverflowAttr,
    MMALayoutAttr,
    MMAShapeAttr,
    MMATypeAttr,
    WGMMAScaleInAttr,
    WGMMAScaleOutAttr,
    WGMMATypeAttr,
)
from tessera_tools.dialects.nvvm.base import I32_TYPE, I64_TYPE, SHARED, NVVMOp, register_constraint
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import F16, F32, F64, I32, FloatType, IntegerType, VectorType
from tessera_tools.opdef import (
    ANY_TYPE,
    I32_ATTR,
    I64_ATTR,
    IN_ORDER,
    Completion,
    CustomDirective,
    MemoryEffects,
    arrive,
    attribute,
    enum,
    of,
    of_class,
    operand,
    read,
    result,
    same_as,
    variadic_operand,
    wait,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

STRUCT = of(StructType, summary="LLVM structure type")


def _fragment(op: LdMatrix | StMatrix, count: int) -> str:
    """`m8n8.x4[.trans].b16`: the part that ldmatrix and stmatrix share."""
    trans = ".trans" if op.layout.value == "col" else ""
    return f"m{op.shape.m}n{op.shape.n}.x{count}{trans}.{op.elt_type.value}"


class LdMatrix(NVVMOp, name="nvvm.ldmatrix", traits=(MemoryEffects(read("ptr")),)):
    """Load matrices across the warp."""

    ptr = operand(SHARED)
    num = attribute(I32_ATTR)
    layout = attribute(of_class(MMALayoutAttr))
    shape = attribute(of_class(LdStMatrixShapeAttr))
    elt_type = attribute(of_class(LdStMatrixEltTypeAttr), key="eltType")
    res = result(ANY_TYPE)
    assembly = "$ptr attr-dict `:` functional-type($ptr, $res)"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.ldmatrix.sync.aligned.{_fragment(self, self.num.value)}.p3"

    def verify_op(self) -> None:
        if self.num.value not in (1, 2, 4):
            raise self.error("expected num attribute to be 1, 2 or 4")
        registers = self.num.value * (2 if (self.shape.m, self.shape.n) == (16, 16) else 1)
        type = self.results[0].type
        found = len(type.types or ()) if isinstance(type, StructType) else 1
        if found != registers:
            raise self.error(f"expected destination type of {registers} i32, but got '{type}'")


class StMatrix(NVVMOp, name="nvvm.stmatrix", traits=(MemoryEffects(write("ptr")),)):
    """Store matrices across the warp."""

    ptr = operand(SHARED)
    sources = variadic_operand(I32_TYPE)
    layout = attribute(of_class(MMALayoutAttr))
    shape = attribute(of_class(LdStMatrixShapeAttr))
    elt_type = attribute(of_class(LdStMatrixEltTypeAttr), key="eltType")
    assembly = "$ptr `,` $sources attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.stmatrix.sync.aligned.{_fragment(self, len(self.sources))}.p3"

    def verify_op(self) -> None:
        if len(self.sources) not in (1, 2, 4):
            raise self.error("expected num attribute to be 1, 2 or 4")


def inferred_type(type: Type, accumulator: bool) -> MMATypeAttr | None:
    """The PTX element type that follows from an operand's type."""
    if isinstance(type, StructType) and type.types:
        type = type.types[0]
    if isinstance(type, VectorType) and type.shape == (2,) and type.element is F16:
        return MMATypeAttr("f16")
    if isinstance(type, FloatType):
        if type is F32:
            return MMATypeAttr("f32" if accumulator else "tf32")
        return MMATypeAttr(type.keyword) if type in (F16, F64) else None
    return MMATypeAttr("s32") if accumulator and isinstance(type, IntegerType) else None


class MmaSyntax(CustomDirective, name="Mma"):
    """`A[%a0, %a1] B[%b0] C[%c0, %c1] {…} : (type of A, type of B, type of C) -> struct`."""

    grammar = """
    custom: KEYWORD "[" values "]" KEYWORD "[" values "]" KEYWORD "[" values "]" attr_dict ":" FUNCTION_TYPE
    """

    def read(self, state: OpState, node: Node) -> None:
        *parts, dictionary, function = node
        if len(function.inputs) != 3 or len(function.results) != 1:
            raise state.error(parts[0], "expected one type for each of A, B and C, and one result type")
        for key, value in dictionary.items():
            state.attribute(key, value)
        for i, letter in enumerate("ABC"):
            word, values = parts[2 * i], parts[2 * i + 1]
            if word.text != letter:
                raise state.error(word, f"expected '{letter}', found '{word.text}'")
            field = f"operand_{letter.lower()}"
            state.operands(field, values)
            state.types(field, [function.inputs[i]] * len(values))
            key = f"multiplicand{letter}PtxType"
            inferred = inferred_type(function.inputs[i], False)
            if letter != "C" and key not in state.attributes and inferred is not None:
                state.attribute(key, inferred)
        state.types("res", list(function.results))

    def write(self, p: Printer, op: MmaSync) -> None:
        groups = (op.operand_a, op.operand_b, op.operand_c)
        # Upstream prints two spaces between the groups.
        p.write(
            " "
            + "".join(f"{letter}[{p.names(values)}]  " for letter, values in zip("ABC", groups, strict=True))[
                :-1
            ]
        )
        elide = {"operandSegmentSizes"}
        for letter, values in zip("AB", groups[:2], strict=True):
            if values and inferred_type(values[0].type, False) is not None:
                elide.add(f"multiplicand{letter}PtxType")
        p.attr_dict(op, elide)
        p.write(" : " + p.function_type([values[0].type for values in groups], op.result_types))


class MmaSync(NVVMOp, name="nvvm.mma.sync", traits=(IN_ORDER,)):
    """D = A * B + C of one warp; operands are the lane's registers of each matrix."""

    shape = attribute(of_class(MMAShapeAttr))
    b1_op = attribute(of_class(MMAB1OpAttr), optional=True, key="b1Op")
    int_overflow_behavior = attribute(of_class(MMAIntOverflowAttr), optional=True, key="intOverflowBehavior")
    layout_a = attribute(of_class(MMALayoutAttr), key="layoutA")
    layout_b = attribute(of_class(MMALayoutAttr), key="layoutB")
    multiplicand_a_ptx_type = attribute(of_class(MMATypeAttr), optional=True, key="multiplicandAPtxType")
    multiplicand_b_ptx_type = attribute(of_class(MMATypeAttr), optional=True, key="multiplicandBPtxType")
    operand_a = variadic_operand(ANY)
    operand_b = variadic_operand(ANY)
    operand_c = variadic_operand(ANY)
    res = result(STRUCT)
    assembly = "custom<Mma>"

    def ptx_types(self) -> tuple[str, str, str, str]:
        """PTX's element types of A, B, C and D."""
        found: list[str] = []
        for given, values in (
            (self.multiplicand_a_ptx_type, self.operand_a),
            (self.multiplicand_b_ptx_type, self.operand_b),
        ):
            chosen = given if given is not None else inferred_type(values[0].type, False)
            if chosen is None:
                raise self.error(
                    "needs multiplicandAPtxType and multiplicandBPtxType, which cannot be inferred from the operands"
                )
            found.append(chosen.value)
        for type in (self.operand_c[0].type, self.results[0].type):
            chosen = inferred_type(type, True)
            if chosen is None:
                raise self.error(f"has no accumulator type for '{type}'")
            found.append(chosen.value)
        return (found[0], found[1], found[2], found[3])

    def intrinsic_name(self) -> str:
        a, b, c, d = self.ptx_types()
        shape = self.shape
        # Which types complete the name follows the instruction's own overloads (LLVM's MMA_SIGNATURE).
        signature = [d, c] if a == "f16" else [a, b] if a != b else [a]
        name = "llvm.nvvm.mma"
        if a == "b1":
            operation = self.b1_op.value if self.b1_op is not None else "xor_popc"
            name += f".{operation.replace('_', '.')}"
        name += f".m{shape.m}n{shape.n}k{shape.k}.{self.layout_a.value}.{self.layout_b.value}"
        if self.int_overflow_behavior is not None and self.int_overflow_behavior.value == "satfinite":
            name += ".satfinite"
        return ".".join([name, *signature])

    def verify_op(self) -> None:
        if not (self.operand_a and self.operand_b and self.operand_c):
            raise self.error("needs operands for A, B and C")
        a, b, c, d = self.ptx_types()
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        bits = _MULTIPLICAND_BITS.get(a)
        if bits is None:
            return
        if (m, n, k) not in _mma_shapes(a, bits):
            raise self.error(f"unimplemented variant for MMA shape <{m}, {n}, {k}>")
        if a == "b1" and self.b1_op is None:
            raise self.error("requires b1Op attribute")
        # The four quads of m8n8k4 multiply four matrices of f16 at once.
        together = 4 if (a, k) == ("f16", 4) else 1
        register = _REGISTERS.get(a, I32)
        for letter, type, values, size in (("A", a, self.operand_a, m * k), ("B", b, self.operand_b, n * k)):
            count = together * size * bits // 32 // (64 if type == "f64" else 32)
            if [value.type for value in values] != [register] * count:
                found = ", ".join(str(value.type) for value in values)
                raise self.error(
                    f"Could not match types for the {letter} operands; expected one of {count}x{register} "
                    f"but got {found}"
                )
        fragments = [
            [type] * (together * m * n // 32 // (2 if isinstance(type, VectorType) else 1))
            for type in _ACCUMULATORS.get(a, (F32,))
        ]
        found = [value.type for value in self.operand_c]
        if found not in fragments:
            wanted = ", ".join(f"{len(types)}x{types[0]}" for types in fragments)
            raise self.error(
                f"Could not match types for the C operands; expected one of {wanted} "
                f"but got {', '.join(map(str, found))}"
            )
        result = self.results[0].type
        structs = [StructType(tuple(types)) for types in fragments]
        if result not in structs:
            raise self.error(
                f"Could not match allowed types for the result; expected one of "
                f"{', '.join(map(str, structs))} but got {result}"
            )
        if together == 1 and c != d:
            raise self.error("ctype does not match dtype")


_MULTIPLICAND_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip
_HALVES = VectorType((2,), F16)
_REGISTERS: dict[str, Type] = {"f16": _HALVES, "f64": F64}
_ACCUMULATORS: dict[str, tuple[Type, ...]] = {
    "f16": (_HALVES, F32), "f64": (F64,), **dict.fromkeys(("s8", "u8", "s4", "u4", "b1"), (I32,)),
}  # fmt: skip
"""The register types of each multiplicand and of the accumulators that go with it."""


def _mma_shapes(type: str, bits: int) -> list[tuple[int, int, int]]:
    """The shapes (m, n, k) that upstream's op has for a type of multiplicand; of f64, PTX has three more."""
    if type == "f16":
        return [(8, 8, 4), (16, 8, 8), (16, 8, 16)]
    if type == "f64":
        return [(8, 8, 4)]
    wide = [(16, 8, 128 // bits), (16, 8, 256 // bits)]
    return wide if type in ("bf16", "tf32") else [(8, 8, 128 // bits), *wide]


class WgmmaFenceAligned(
    NVVMOp, name="nvvm.wgmma.fence.aligned", traits=(MemoryEffects(write(resource=Resource.REGISTERS)),)
):
    """Order register and shared memory accesses before wgmma."""

    intrinsic = "llvm.nvvm.wgmma.fence.sync.aligned"
    assembly = "attr-dict"


class WgmmaGroupSyncAligned(
    NVVMOp, name="nvvm.wgmma.commit.group.sync.aligned", traits=(MemoryEffects(arrive(Completion.WGMMA)),)
):
    """The wgmmas so far are a group."""

    intrinsic = "llvm.nvvm.wgmma.commit_group.sync.aligned"
    assembly = "attr-dict"


class WgmmaWaitGroupSync(
    NVVMOp, name="nvvm.wgmma.wait.group.sync.aligned", traits=(MemoryEffects(wait(Completion.WGMMA)),)
):
    """Wait until at most `group` wgmma groups are in flight."""

    intrinsic = "llvm.nvvm.wgmma.wait_group.sync.aligned"
    group = attribute(I64_ATTR)
    assembly = "attr-dict $group"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.WGMMA, pending=self.group.value))

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [f"i64 {self.group.value}"]


class ShapeSyntax(CustomDirective, name="MMAShape"):
    """`<m = 64, n = 128, k = 16>`."""

    grammar = """
    custom: "<" custom_extent "," custom_extent "," custom_extent ">"
    custom_extent: KEYWORD "=" INTEGER
    """

    def read(self, state: OpState, node: Node) -> None:
        given = {word.text: integer_of(number.text) for word, number in node}
        if set(given) != {"m", "n", "k"}:
            raise state.error(node[0][0], "expected 'm', 'n' and 'k'")
        state.attribute("shape", MMAShapeAttr(given["m"], given["n"], given["k"]))

    def write(self, p: Printer, op: WgmmaMmaAsync) -> None:
        p.write(f" {op.shape.parameters_text()}")


class WgmmaMmaAsync(
    NVVMOp,
    name="nvvm.wgmma.mma_async",
    traits=(
        MemoryEffects(
            read(resource=Resource.SHARED), write("inouts", Resource.REGISTERS, by=Completion.WGMMA)
        ),
    ),
):
    """D = A * B (+ D) of one warpgroup, A and B in shared memory through descriptors, D in a struct of registers."""

    inouts = operand(STRUCT)
    descriptor_a = operand(I64_TYPE)
    descriptor_b = operand(I64_TYPE)
    shape = attribute(of_class(MMAShapeAttr))
    type_a = attribute(enum(WGMMATypeAttr, angled=True), key="typeA")
    type_b = attribute(enum(WGMMATypeAttr, angled=True), key="typeB")
    type_d = attribute(enum(WGMMATypeAttr, angled=True), key="typeD")
    scale_d = attribute(enum(WGMMAScaleOutAttr, angled=True), key="scaleD")
    scale_a = attribute(enum(WGMMAScaleInAttr, angled=True), key="scaleA")
    scale_b = attribute(enum(WGMMAScaleInAttr, angled=True), key="scaleB")
    layout_a = attribute(enum(MMALayoutAttr, angled=True), key="layoutA")
    layout_b = attribute(enum(MMALayoutAttr, angled=True), key="layoutB")
    satfinite = attribute(enum(MMAIntOverflowAttr, angled=True), optional=True)
    out = result(same_as("inouts"))
    assembly = (
        "$descriptor_a `,` $descriptor_b `,` $inouts `,` custom<MMAShape>($shape) `,` "
        "`D` `[` $type_d `,` ` ` $scale_d (`,` ` ` $satfinite^)? `]` `,` "
        "`A` `[` $type_a `,` ` ` $scale_a `,` ` ` $layout_a `]` `,` "
        "`B` `[` $type_b `,` ` ` $scale_b `,` ` ` $layout_b `]` attr-dict `:` type($inouts) `->` type($out)"
    )

    def llvm_ir(self, e: Emitter) -> None:
        inouts = self.inouts
        registers = inouts.type.types or ()
        count = len(registers)
        struct = e.type(inouts.type)
        tied = [
            f"{e.type(t)} {e.temporary(f'extractvalue {e.operand(inouts)}, {i}')}"
            for i, t in enumerate(registers)
        ]
        shape = self.shape
        types = f"{self.type_d.value}.{self.type_a.value}.{self.type_b.value}"
        # The operands are in the order of the constraints: outputs, tied inputs, the rest.
        outputs = ", ".join([f"${i}" for i in range(count)])
        a, b, scale = (f"${2 * count + i}" for i in range(3))
        sat = ".satfinite" if self.satfinite is not None and self.satfinite.value == "satfinite" else ""
        signs = [1 if s.value == "one" else -1 for s in (self.scale_a, self.scale_b)]
        immediates = (
            [*map(str, signs)] if self.type_a.value in ("f16", "bf16", "tf32", "e4m3", "e5m2") else []
        )
        if self.type_a.value in ("f16", "bf16"):
            # PTX's transposition flags: 1 if the operand is not K-major (row for A, col for B).
            immediates += [str(int(self.layout_a.value == "col")), str(int(self.layout_b.value == "row"))]
        tail = f", {', '.join(immediates)}" if immediates else ""
        text = (
            f"{{\\0A.reg .pred p;\\0Asetp.ne.b32 p, {scale}, 0;\\0A"
            f"wgmma.mma_async.sync.aligned.m{shape.m}n{shape.n}k{shape.k}.{types}{sat} "
            f"{{{outputs}}}, {a}, {b}, p{tail};\\0A}}\\0A"
        )
        constraints = [f"={register_constraint(t)}" for t in registers] + [str(i) for i in range(count)]
        constraints += ["l", "l", "n"]
        keep = int(self.scale_d.value == "one")
        arguments = [*tied, e.operand(self.descriptor_a), e.operand(self.descriptor_b), f"i32 {keep}"]
        call = f'call {struct} asm sideeffect "{text}", "{",".join(constraints)}"({", ".join(arguments)})'
        e.define(self, call + assembly_attributes(text))

    def verify_op(self) -> None:
        if self.shape.m != 64:
            raise self.error("shape 'm' must be 64")
        if self.shape.n % 8 or not 8 <= self.shape.n <= 256:
            raise self.error(f"has shape n = {self.shape.n}; expected a multiple of 8 from 8 to 256")
        wanted = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
        k = wanted.get(self.type_a.value)
        if k is not None and self.shape.k != k:
            raise self.error(f"shape 'k' must be {k} for input type {self.type_a.value}")
