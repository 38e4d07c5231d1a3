"""Products of one warp with a sparse left factor, and with scales of blocks: mma.sp.sync, mma.block_scale
(PTX ISA, "Matrix multiply-accumulate operation using mma.sp instruction with sparse matrix A", "Block Scaling for
mma.sync").

    nvvm.mma.sp.sync A[%a0, %a1] B[%b0, %b1] C[%c0, %c1] sparseMetadata[%e] selector[%f] {…} : (A, B, C) -> struct

They become inline PTX, so that ptxas says which targets have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm import constants
from tessera_tools.dialects.llvm.base import ANY
from tessera_tools.dialects.llvm.types import StructType
from tessera_tools.dialects.nvvm.attributes import (
    BlockScaleFormatAttr,
    BlockScaleKindAttr,
    MMAIntOverflowAttr,
    MMAKindAttr,
    MMAShapeAttr,
    MMATypeAttr,
    ScaleVecSizeAttr,
)
from tessera_tools.dialects.nvvm.base import I16_TYPE, I32_TYPE, NVVMOp, inline_ptx_values
from tessera_tools.dialects.nvvm.mma import STRUCT, inferred_type
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F16, F32, I32, VectorType
from tessera_tools.opdef import (
    IN_ORDER,
    UNIT_ATTR,
    CustomDirective,
    Op,
    attribute,
    of_class,
    operand,
    result,
    variadic_operand,
)
from tessera_tools.opdef.fields import OperandField

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

_HALVES = VectorType((2,), F16)
_SMALL_FLOATS = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, **dict.fromkeys(_SMALL_FLOATS, 8),
}  # fmt: skip
"""The bits of an element in the registers of mma.sp; the small floats fill a byte."""
_SPARSE_K = {
    "f16": (16, 32), "bf16": (16, 32), "tf32": (8, 16), "s8": (32, 64), "u8": (32, 64), "s4": (64, 128),
    "u4": (64, 128), **dict.fromkeys(_SMALL_FLOATS, (64,)),
}  # fmt: skip
_GROUPS = {
    "A": ("operand_a",),
    "B": ("operand_b",),
    "C": ("operand_c",),
    "sparseMetadata": ("sparse_metadata",),
    "selector": ("sparsity_selector",),
    "scaleA": ("scale_a_data", "byte_id_a", "thread_id_a"),
    "scaleB": ("scale_b_data", "byte_id_b", "thread_id_b"),
}
"""The groups of operands in the text, and their fields."""


class GroupsSyntax(CustomDirective, name="MmaGroups"):
    """`A[%a0, %a1] B[%b0] C[%c0] … {…} : (type of A, type of B, type of C) -> struct`: groups of operands by name."""

    grammar = """custom: custom_group+ attr_dict ":" FUNCTION_TYPE
custom_group: KEYWORD "[" values "]"
"""

    def _groups(self, cls: type[Op]) -> list[str]:
        return [name for name, fields in _GROUPS.items() if fields[0] in cls.definition.fields]

    def read(self, state: OpState, node: Node) -> None:
        *groups, dictionary, function = node
        expected = self._groups(state.definition.op_class)
        if len(function.inputs) != 3 or len(function.results) != 1:
            raise state.error(
                groups[0][0], "expected one type for each operand segment A, B and C, and one result type"
            )
        for key, value in dictionary.items():
            state.attribute(key, value)
        for i, name in enumerate(expected):
            if i >= len(groups):
                raise state.error(groups[-1][0], f"expected '{name}[…]' after '{groups[-1][0].text}[…]'")
            word, values = groups[i]
            if word.text != name:
                raise state.error(word, f"expected '{name}', found '{word.text}'")
            fields = _GROUPS[name]
            if i < 3:
                state.operands(fields[0], values)
                state.types(fields[0], [function.inputs[i]] * len(values))
                self._infer(state, name, function.inputs[i])
                continue
            if len(values) != len(fields):
                raise state.error(word, f"expected {len(fields)} operands in '{name}', found {len(values)}")
            for field, value in zip(fields, values, strict=True):
                state.operand(field, value)
        if len(groups) > len(expected):
            raise state.error(groups[len(expected)][0], "expected attributes or ':' here")
        if "orderedMetadata" not in state.attributes and issubclass(
            state.definition.op_class, MmaSpBlockScale
        ):
            state.attribute("orderedMetadata", UNIT)
        state.types("res", list(function.results))

    def _infer(self, state: OpState, name: str, type: Type) -> None:
        key = f"multiplicand{name}PtxType"
        inferred = inferred_type(type, False)
        if name != "C" and key not in state.attributes and inferred is not None:
            state.attribute(key, inferred)

    def write(self, p: Printer, op: MmaBlockScale | MmaSp | MmaSpBlockScale) -> None:
        elide = {"operandSegmentSizes"}
        matrices = (op.operand_a, op.operand_b, op.operand_c)
        for name, values in zip("AB", matrices[:2], strict=True):
            if inferred_type(values[0].type, False) is not None:
                elide.add(f"multiplicand{name}PtxType")
        for i, name in enumerate(self._groups(type(op))):
            values = (
                matrices[i] if i < 3 else [value for field in _GROUPS[name] for value in op.values_of(field)]
            )
            p.write(f" {name}[{p.names(values)}]")
        p.attr_dict(op, elide)
        p.write(" : " + p.function_type([values[0].type for values in matrices], op.result_types))


class _Product(NVVMOp):
    """The base: D = A * B + C."""

    operand_a: OperandField[list[Value]]
    operand_b: OperandField[list[Value]]
    operand_c: OperandField[list[Value]]

    shape = attribute(of_class(MMAShapeAttr))
    multiplicand_a_ptx_type = attribute(of_class(MMATypeAttr), optional=True, key="multiplicandAPtxType")
    multiplicand_b_ptx_type = attribute(of_class(MMATypeAttr), optional=True, key="multiplicandBPtxType")

    def factor_types(self) -> tuple[str, str]:
        """PTX's element types of A and B."""
        found: list[str] = []
        for letter, values in (("A", self.operand_a), ("B", self.operand_b)):
            key = f"multiplicand{letter}PtxType"
            chosen = self.attributes.get(key)
            if chosen is None and values:
                chosen = inferred_type(values[0].type, False)
            if not isinstance(chosen, MMATypeAttr):
                raise self.error(f"attribute {key} is not provided explicitly and cannot be inferred")
            found.append(chosen.value)
        return found[0], found[1]

    def geometry(self) -> str:
        """`m16n8k32`"""
        return f"m{self.shape.m}n{self.shape.n}k{self.shape.k}"

    def emit_product(self, e: Emitter, name: str, groups: Sequence[Sequence[Value]], tail: str) -> None:
        """Inline PTX whose outputs are the struct of results; `tail` comes after the groups of operands, and names
        further operands `{0}`, `{1}`, … after them."""
        outputs = _parts(self.results[0].type)
        number = len(outputs)
        texts = [f"{{{', '.join(f'${i}' for i in range(number))}}}"]
        for group in groups[:3]:
            texts.append(f"{{{', '.join(f'${number + i}' for i in range(len(group)))}}}")
            number += len(group)
        rest = [f"${number + i}" for i in range(len(groups[3]))]
        text = f"{name} {', '.join(texts)}, {tail.format(*rest)};"
        inputs = [value for group in groups for value in group]
        values = inline_ptx_values(self, e, text, outputs, inputs, ())
        whole = "poison"
        struct = e.type(self.results[0].type)
        *first, last = zip(outputs, values, strict=True)
        for i, (type, value) in enumerate(first):
            whole = e.temporary(f"insertvalue {struct} {whole}, {e.type(type)} {value}, {i}")
        e.define(self, f"insertvalue {struct} {whole}, {e.type(last[0])} {last[1]}, {len(first)}")

    def immediate(self, value: Value, what: str) -> int:
        """The number of an operand that is an immediate in PTX."""
        definition = value.defining_op
        number = definition.value if isinstance(definition, constants.Constant) else None
        if not isinstance(number, IntegerAttr):
            raise self.error(f"needs a constant as {what}, which is an immediate of the instruction")
        return number.value

    def check_registers(self, found: Sequence[Value], wanted: list[list[Type]], letter: str) -> None:
        """Refuse operands that are none of the fragments."""
        types = [value.type for value in found]
        if types not in wanted:
            expected = ", ".join(f"{len(one)}x{one[0]}" for one in wanted)
            failure = self.error(
                f"Could not match types for the {letter} operands; expected one of {expected} but got "
                f"{', '.join(map(str, types))}"
            )
            failure.diagnostics[0].note("these are the registers of the instruction in the PTX ISA")
            raise failure


def _parts(type: Type) -> list[Type]:
    return list(type.types or ()) if isinstance(type, StructType) else [type]


class MmaSp(_Product, name="nvvm.mma.sp.sync", traits=(IN_ORDER,)):
    """D = A * B + C of one warp, where two of four neighboring elements of a row of A are zero.

    A holds the others, and `sparse_metadata` says which they are, in the lanes that the constant `sparsity_selector`
    chooses. The registers are those of the PTX ISA. Upstream expects half as many for floats of 8 bits and fewer, and
    has shapes with 8 rows. No instruction has either, and both are refused.
    """

    int_overflow_behavior = attribute(of_class(MMAIntOverflowAttr), optional=True, key="intOverflowBehavior")
    ordered_metadata = attribute(UNIT_ATTR, optional=True, key="orderedMetadata")
    kind = attribute(of_class(MMAKindAttr), optional=True)
    operand_a = variadic_operand(ANY)
    operand_b = variadic_operand(ANY)
    operand_c = variadic_operand(ANY)
    sparse_metadata = operand(I32_TYPE)
    sparsity_selector = operand(I32_TYPE)
    res = result(STRUCT)
    assembly = "custom<MmaGroups>"

    def llvm_ir(self, e: Emitter) -> None:
        a, b = self.factor_types()
        variant = "::ordered_metadata" if self.ordered_metadata is not None else ""
        name = f"mma.sp{variant}.sync.aligned.{self.geometry()}.row.col"
        name += f".kind::{self.kind.value}" if self.kind is not None else ""
        if self.int_overflow_behavior is not None and self.int_overflow_behavior.value == "satfinite":
            name += ".satfinite"
        accumulator = inferred_type(self.results[0].type, True)
        assert accumulator is not None
        name += f".{accumulator.value}.{a}.{b}.{accumulator.value}"
        selector = self.immediate(self.sparsity_selector, "selector")
        groups = (self.operand_a, self.operand_b, self.operand_c, [self.sparse_metadata])
        self.emit_product(e, name, groups, f"{{0}}, {selector}")

    def verify_op(self) -> None:
        a, b = self.factor_types()
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        if a not in _SPARSE_K or b not in _SPARSE_K:
            raise self.error(f"invalid shape or multiplicand type: {a}")
        if (m, n) != (16, 8) or k not in _SPARSE_K[a]:
            raise self.error(f"unimplemented variant for MMA shape <{m}, {n}, {k}>")
        self._verify_types(a, b)
        bits = _BITS[a]
        register = _HALVES if a == "f16" else I32
        self.check_registers(self.operand_a, [[register] * (m * k // 2 * bits // 1024)], "A")
        self.check_registers(self.operand_b, [[register] * (n * k * bits // 1024)], "B")
        is_integer = a[0] in "su"
        sums: list[list[Type]] = [[I32] * 4] if is_integer else [[_HALVES] * 2, [F32] * 4]
        self.check_registers(self.operand_c, sums, "C")
        results = [[I32] * 4] if is_integer else [[F32] * 4] if a in ("bf16", "tf32") else sums
        found = _parts(self.results[0].type)
        if found not in results:
            wanted = ", ".join(str(StructType(tuple(one))) for one in results)
            raise self.error(
                f"Could not match allowed types for the result; expected one of {wanted} but got "
                f"{self.results[0].type}"
            )
        if found != [value.type for value in self.operand_c]:
            raise self.error("ctype does not match dtype")
        if is_integer and self.int_overflow_behavior is None:
            raise self.error("requires intOverflowBehavior attribute")
        if not is_integer and self.int_overflow_behavior is not None:
            raise self.error(f"has intOverflowBehavior with {a}; only integers saturate")
        self._verify_kind(a, b, found)

    def _verify_types(self, a: str, b: str) -> None:
        together = next(group for group in (("s8", "u8"), ("s4", "u4"), _SMALL_FLOATS, (a,)) if a in group)
        if b not in together:
            raise self.error(f"multiplies {a} by {b}; expected {' or '.join(together)}")

    def _verify_kind(self, a: str, b: str, sums: list[Type]) -> None:
        if a not in _SMALL_FLOATS:
            if self.kind is not None:
                raise self.error(
                    f"has kind {self.kind.value} with {a}; expected one of {', '.join(_SMALL_FLOATS)}"
                )
            return
        if self.kind is None:
            narrow = next((one for one in (a, b) if one not in ("e4m3", "e5m2")), None)
            if narrow is not None:
                raise self.error(f"multiplies {narrow}, which needs kind = #nvvm.mma_kind<f8f6f4>")
            if sums[0] is not F32:
                raise self.error("has sums of f16, which need kind = #nvvm.mma_kind<f8f6f4>")
        elif self.ordered_metadata is None:
            raise self.error(f"has kind {self.kind.value}, which needs orderedMetadata")


class _BlockScaled(_Product):
    """The base of products with scales of blocks."""

    scale_a_data: OperandField[Value]
    byte_id_a: OperandField[Value]
    thread_id_a: OperandField[Value]
    scale_b_data: OperandField[Value]
    byte_id_b: OperandField[Value]
    thread_id_b: OperandField[Value]

    scale_vec_size = attribute(of_class(ScaleVecSizeAttr), key="scaleVecSize")
    block_scale_format = attribute(of_class(BlockScaleFormatAttr), key="blockScaleFormat")
    kind = attribute(of_class(BlockScaleKindAttr))

    def emit_scaled(self, e: Emitter, start: str, more: list[Value], tail: str) -> None:
        """The instruction; `more` are operands before the scales, which `tail` names."""
        a, b = self.factor_types()
        sparse = 2 if more else 1
        bits = 4 if self.kind.value != "mxf8f6f4" else 8
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        self.check_registers(self.operand_a, [[I32] * (m * k // sparse * bits // 1024)], "A")
        self.check_registers(self.operand_b, [[I32] * (n * k * bits // 1024)], "B")
        self.check_registers(self.operand_c, [[F32] * 4], "C")
        if _parts(self.results[0].type) != [F32] * 4:
            raise self.error(
                f"Could not match allowed types for the result; expected one of !llvm.struct<(f32, f32, f32, f32)> "
                f"but got {self.results[0].type}"
            )
        size = f"{self.scale_vec_size.value[1:]}X"
        name = f"{start}.sync.aligned.{self.geometry()}.row.col.kind::{self.kind.value}.block_scale"
        name += f".scale_vec::{size}.f32.{a}.{b}.f32.{self.block_scale_format.value}"
        scales = [self.scale_a_data, self.byte_id_a, self.thread_id_a]
        scales += [self.scale_b_data, self.byte_id_b, self.thread_id_b]
        at = len(more)
        tail += (
            f"{{{at}}}, {{{{{{{at + 1}}}, {{{at + 2}}}}}}}, {{{at + 3}}}, {{{{{{{at + 4}}}, {{{at + 5}}}}}}}"
        )
        self.emit_product(e, name, (self.operand_a, self.operand_b, self.operand_c, [*more, *scales]), tail)

    def verify_scales(self, small: int, sparse: str) -> None:
        """Check the attributes; `small` is the extent k of elements of 4 bits."""
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        kind, size, format = self.kind.value, self.scale_vec_size.value, self.block_scale_format.value
        if (m, n, k) == (16, 8, small):
            where = f"mma.m16n8k{small}"
            if self.factor_types() != ("e2m1", "e2m1"):
                raise self.error(f"unsupported MMATypes attribute for {where}.(mxf4nvf4|mxf4)")
            if kind == "mxf4":
                if size != "x2":
                    raise self.error(f"unsupported ScaleVecSize attribute for {where}.mxf4")
                if format != "ue8m0":
                    raise self.error(f"unsupported BlockScaleFormat attribute for {where}.mxf4")
            elif kind != "mxf4nvf4":
                raise self.error(f"unsupported Kind attribute for {where}")
            elif (size, format) not in (("x2", "ue8m0"), ("x4", "ue4m3")):
                raise self.error(
                    f"unsupported ScaleVecSize and BlockScaleFormat attributes for {where}.mxf4nvf4"
                )
        elif (m, n, k) == (16, 8, small // 2):
            if (kind, size, format) != ("mxf8f6f4", "x1", "ue8m0"):
                raise self.error(
                    f"unsupported Kind, ScaleVecSize and BlockScaleFormat attributes for mma.m16n8k{k}"
                )
            for found in self.factor_types():
                if found not in _SMALL_FLOATS:
                    raise self.error(f"multiplies {found}; expected one of {', '.join(_SMALL_FLOATS)}")
        else:
            raise self.error(f"unsupported Geom for {sparse}mma with block scaling")


class MmaBlockScale(_BlockScaled, name="nvvm.mma.block_scale", traits=(IN_ORDER,)):
    """D = (A * scales) * (B * scales) + C of one warp; a scale belongs to 16 or 32 elements of a row or column.

    `byte_id` and `thread_id` say which bytes of which lanes hold the scales. As upstream, the op takes any registers;
    its translation requires those of the instruction, 32-bit integers and four f32.
    """

    operand_a = variadic_operand(ANY)
    operand_b = variadic_operand(ANY)
    operand_c = variadic_operand(ANY)
    scale_a_data = operand(I32_TYPE)
    byte_id_a = operand(I16_TYPE)
    thread_id_a = operand(I16_TYPE)
    scale_b_data = operand(I32_TYPE)
    byte_id_b = operand(I16_TYPE)
    thread_id_b = operand(I16_TYPE)
    res = result(STRUCT)
    assembly = "custom<MmaGroups>"

    def llvm_ir(self, e: Emitter) -> None:
        self.emit_scaled(e, "mma", [], "")

    def verify_op(self) -> None:
        self.verify_scales(64, "")


class MmaSpBlockScale(_BlockScaled, name="nvvm.mma.sp.block_scale", traits=(IN_ORDER,)):
    """`nvvm.mma.block_scale` with a sparse A, as in `nvvm.mma.sp.sync`."""

    ordered_metadata = attribute(UNIT_ATTR, optional=True, key="orderedMetadata")
    operand_a = variadic_operand(ANY)
    operand_b = variadic_operand(ANY)
    operand_c = variadic_operand(ANY)
    sparse_metadata = operand(I32_TYPE)
    sparsity_selector = operand(I32_TYPE)
    scale_a_data = operand(I32_TYPE)
    byte_id_a = operand(I16_TYPE)
    thread_id_a = operand(I16_TYPE)
    scale_b_data = operand(I32_TYPE)
    byte_id_b = operand(I16_TYPE)
    thread_id_b = operand(I16_TYPE)
    res = result(STRUCT)
    assembly = "custom<MmaGroups>"

    def llvm_ir(self, e: Emitter) -> None:
        selector = self.immediate(self.sparsity_selector, "selector")
        self.emit_scaled(e, "mma.sp::ordered_metadata", [self.sparse_metadata], f"{{0}}, {selector}, ")

    def verify_op(self) -> None:
        if self.ordered_metadata is None:
            raise self.error("'orderedMetadata' attribute is mandatory")
        self.verify_scales(128, "sparse ")
