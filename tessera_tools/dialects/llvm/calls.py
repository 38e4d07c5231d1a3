"""Calls: of functions, of intrinsics by name, and inline assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera_tools.diagnostics import error
from tessera_tools.dialects.llvm.attributes import (
    ACCESS_GROUPS,
    ALIAS_SCOPES,
    ASM_DIALECT,
    TBAA_TAGS,
    CConvAttr,
    MemoryEffectsAttr,
    TailCallKindAttr,
)
from tessera_tools.dialects.llvm.base import (
    ANY,
    Emitter,
    LLVMOp,
    assembly_attributes,
    call_fastmath_text,
    fastmath,
    mangled,
)
from tessera_tools.dialects.llvm.debug_info import DISubprogramAttr
from tessera_tools.dialects.llvm.types import FunctionType, PointerType, StructType, VoidType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseArrayAttr,
    DictionaryAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    quote,
    symbol_text,
)
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.location import FusedLoc, UnknownLoc
from tessera_tools.ir.symbols import lookup_symbol, nearest_symbol_table
from tessera_tools.ir.types import I32
from tessera_tools.opdef import (
    ARRAY_ATTR,
    I32_ARRAY,
    NO_EFFECT,
    READ_WRITE,
    STRING_ATTR,
    SYMBOL_REF,
    TYPE_ATTR,
    UNIT_ATTR,
    CustomDirective,
    MemoryEffects,
    attribute,
    enum,
    of_class,
    optional_result,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.intrinsics import Assume
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

NO_BUNDLES = DenseArrayAttr(I32, ())
C_CONVENTION = CConvAttr("ccc")
NO_TAIL = TailCallKindAttr("none")

_BUNDLES = """
custom_bundles: "[" custom_bundle ("," custom_bundle)* "]" -> present
              | -> absent
custom_bundle: STRING "(" values ":" types ")" -> filled
             | STRING "(" ")" -> empty
"""


def read_bundles(state: OpState, node: Node) -> None:
    alias, bundles = node
    state.operands("op_bundle_operands", [])
    state.types("op_bundle_operands", [])
    if alias == "absent":
        return
    sizes: list[int] = []
    tags: list[StringAttr] = []
    for form, children in bundles:
        tags.append(StringAttr(children[0].text))
        tokens, types = (children[1], children[2]) if form == "filled" else ([], [])
        state.operands("op_bundle_operands", tokens)
        state.types("op_bundle_operands", types)
        sizes.append(len(tokens))
    state.attribute("op_bundle_sizes", DenseArrayAttr(I32, tuple(sizes)))
    state.attribute("op_bundle_tags", ArrayAttr(tuple(tags)))


def bundles(op: Call | CallIntrinsic | Assume) -> list[tuple[str, list[Value]]]:
    """(tag, operands) of each operand bundle."""
    found: list[tuple[str, list[Value]]] = []
    tags = op.op_bundle_tags
    if tags is None:
        return found
    rest = op.op_bundle_operands
    for tag, size in zip(tags, op.op_bundle_sizes.values, strict=True):
        assert isinstance(tag, StringAttr)
        found.append((tag.value, rest[:size]))
        rest = rest[size:]
    return found


def verify_bundles(op: Call | CallIntrinsic | Assume) -> None:
    """Tags and sizes of operand bundles must match, and the sizes the number of operands."""
    tags = op.op_bundle_tags
    sizes = op.op_bundle_sizes.values
    if len(tags or ()) != len(sizes):
        raise op.error(f"expected {len(sizes)} operand bundle tags, but actually got {len(tags or ())}")
    if any(not isinstance(tag, StringAttr) for tag in tags or ()) or min(sizes, default=0) < 0:
        raise op.error("expects operand bundle tags to be strings and their sizes not to be negative")
    if sum(sizes) != len(op.op_bundle_operands):
        raise op.error(f"has {len(op.op_bundle_operands)} operand bundle operands, but sizes of {sum(sizes)}")


def write_bundles(p: Printer, op: Call | CallIntrinsic | Assume) -> None:
    parts: list[str] = []
    for tag, values in bundles(op):
        inside = f"{p.names(values)} : {p.types([v.type for v in values])}" if values else ""
        parts.append(f"{quote(tag)}({inside})")
    if parts:
        p.write(f" [{', '.join(parts)}]")


def _bundles_text(op: Call | CallIntrinsic | Assume, e: Emitter) -> str:
    found = bundles(op)
    if not found:
        return ""
    return (
        " [ "
        + ", ".join(f"{quote(tag)}({', '.join(map(e.operand, values))})" for tag, values in found)
        + " ]"
    )


_SIGNATURE = """
custom_inputs: "(" ")" -> none
             | "(" custom_typed ("," custom_typed)* ")" -> several
custom_outputs: TYPE -> single
              | "(" ")" -> none
              | "(" custom_typed ("," custom_typed)* ")" -> several
custom_typed: TYPE [ATTR_DICT]
"""
"""`(i32 {llvm.signext}, f32) -> (i32 {llvm.noundef})`."""


def read_signature(state: OpState, inputs: Node, outputs: Node) -> tuple[list[Type], list[Type]]:
    """Set `arg_attrs` and `res_attrs` from the nodes of _SIGNATURE's rules; the types of operands and results."""
    found: list[list[Type]] = []
    for key, (form, children) in (("arg_attrs", inputs), ("res_attrs", outputs)):
        entries = [(children[0], None)] if form == "single" else children
        found.append([type for type, _ in entries])
        if any(attributes for _, attributes in entries):
            state.attribute(
                key, ArrayAttr(tuple(DictionaryAttr.of(attributes or {}) for _, attributes in entries))
            )
    return found[0], found[1]


def verify_signature(op: Call | CallIntrinsic, inputs: Sequence[Type]) -> None:
    """Check that the attributes of the parameters and results are one dictionary for each."""
    for key, types in (("arg_attrs", inputs), ("res_attrs", op.result_types)):
        found = op.arg_attrs if key == "arg_attrs" else op.res_attrs
        if found is not None and len(found) != len(types):
            raise op.error(f"'{key}' has {len(found)} elements; expected {len(types)}")
        for entry in found or ():
            if not isinstance(entry, DictionaryAttr):
                raise op.error(f"'{key}' has the element `{entry}`; expected a dictionary")


def signature_text(p: Printer, op: Call | CallIntrinsic, inputs: Sequence[Type]) -> str:
    """`(i32 {llvm.signext}) -> i32`."""
    if op.arg_attrs is None and op.res_attrs is None:
        return p.function_type(inputs, op.result_types)
    parts: list[str] = []
    for types, attributes in ((inputs, op.arg_attrs), (op.result_types, op.res_attrs)):
        entries = attributes.elements if attributes is not None else [DictionaryAttr.of({})] * len(types)
        shown = [
            f"{p.type(type)} {entry}" if isinstance(entry, DictionaryAttr) and entry.entries else p.type(type)
            for type, entry in zip(types, entries, strict=True)
        ]
        parts.append(f"({', '.join(shown)})")
    if op.res_attrs is None and len(op.results) == 1:
        parts[1] = parts[1][1:-1]
    return " -> ".join(parts)


class CallSyntax(CustomDirective, name="Call"):
    """`fastcc tail @f(%a) vararg(!llvm.func<…>) ["tag"(…)] {…} : (i32) -> f32`; a value for an indirect callee."""

    grammar = (
        """custom: custom_word* custom_callee "(" [values] ")" custom_vararg custom_bundles attr_dict ":" custom_type
custom_word: KEYWORD
custom_callee: SYMBOL -> symbol
             | VALUE -> value
custom_vararg: "vararg" "(" TYPE ")" -> present
             | -> absent
custom_type: custom_inputs "->" custom_outputs -> direct
           | TYPE "," custom_inputs "->" custom_outputs -> indirect
"""
        + _BUNDLES
        + _SIGNATURE
    )

    def read(self, state: OpState, node: Node) -> None:
        *words, (kind, (callee,)), values, (has_vararg, vararg), bundle_node, dictionary, (form, types) = node
        for (word,) in words:
            if word.text in TailCallKindAttr.cases:
                state.attribute("TailCallKind", TailCallKindAttr(word.text))
            elif word.text in CConvAttr.cases:
                state.attribute("CConv", CConvAttr(word.text))
            else:
                raise state.error(word, f"unknown calling convention or tail call kind '{word.text}'")
        if kind == "symbol":
            state.attribute("callee", SymbolRefAttr(callee[0][0], tuple(callee[0][1:])))
        else:
            state.operand("callee_operands", callee)
        state.operands("callee_operands", values or [])
        if has_vararg == "present":
            state.attribute("var_callee_type", TypeAttr(vararg[0]))
        read_bundles(state, bundle_node)
        for key, value in dictionary.items():
            state.attribute(key, value)
        if (form == "indirect") is not (kind == "value"):
            expected = "the callee's pointer type before" if kind == "value" else "only"
            raise state.error(None, f"expected {expected} the function type")
        inputs, results = read_signature(state, *types[-2:])
        state.types("callee_operands", [*types[:-2], *inputs])
        if len(results) > 1:
            raise state.error(None, f"expected function with 0 or 1 results, found {len(results)}")
        if results and isinstance(results[0], VoidType):
            raise state.error(None, "expected a non-void result type")
        state.types("result", results)

    def write(self, p: Printer, op: Call) -> None:
        p.space()
        if op.c_conv is not C_CONVENTION:
            p.write(f"{op.c_conv.value} ")
        if op.tail_call_kind is not NO_TAIL:
            p.write(f"{op.tail_call_kind.value} ")
        arguments = op.callee_operands
        if op.callee is not None:
            p.write(symbol_text(op.callee.root))
        else:
            p.write(p.name(arguments[0]))
        passed = arguments if op.callee is not None else arguments[1:]
        p.write(f"({p.names(passed)})")
        if op.var_callee_type is not None:
            p.write(f" vararg({op.var_callee_type})")
        write_bundles(p, op)
        p.attr_dict(op, _CALL_ELIDED)
        p.write(" : ")
        if op.callee is None:
            p.write(f"{p.type(arguments[0].type)}, ")
        p.write(signature_text(p, op, [v.type for v in passed]))


_CALL_ELIDED = frozenset({
    "callee", "var_callee_type", "CConv", "TailCallKind", "op_bundle_sizes", "op_bundle_tags", "operandSegmentSizes",
    "arg_attrs", "res_attrs",
})  # fmt: skip


def _has_subprogram(function: Operation) -> bool:
    location = function.location
    return isinstance(location, FusedLoc) and isinstance(location.metadata, DISubprogramAttr)


class Call(LLVMOp, name="llvm.call", traits=(READ_WRITE,)):
    """Call a function: `callee`, or the pointer that is the first operand."""

    var_callee_type = attribute(TYPE_ATTR, optional=True)
    callee = attribute(SYMBOL_REF, optional=True)
    callee_operands = variadic_operand(ANY)
    fastmath_flags = fastmath()
    c_conv = attribute(of_class(CConvAttr), default=C_CONVENTION, key="CConv")
    tail_call_kind = attribute(of_class(TailCallKindAttr), default=NO_TAIL, key="TailCallKind")
    memory_effects = attribute(of_class(MemoryEffectsAttr), optional=True)
    convergent = attribute(UNIT_ATTR, optional=True)
    no_unwind = attribute(UNIT_ATTR, optional=True)
    will_return = attribute(UNIT_ATTR, optional=True)
    op_bundle_operands = variadic_operand(ANY)
    op_bundle_sizes = attribute(I32_ARRAY, default=NO_BUNDLES)
    op_bundle_tags = attribute(ARRAY_ATTR, optional=True)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    no_inline = attribute(UNIT_ATTR, optional=True)
    always_inline = attribute(UNIT_ATTR, optional=True)
    inline_hint = attribute(UNIT_ATTR, optional=True)
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    result = optional_result(ANY)
    assembly = "custom<Call>"

    def llvm_ir(self, e: Emitter) -> None:
        arguments = self.callee_operands
        callee = self.callee
        target = e.symbol(callee.root) if callee is not None else e.names[arguments[0]]
        passed = arguments if callee is not None else arguments[1:]
        produced = e.type(self.results[0].type) if self.results else "void"
        signature = e.type(self.var_callee_type.value) if self.var_callee_type is not None else produced
        tail = "" if self.tail_call_kind is NO_TAIL else f"{self.tail_call_kind.value} "
        given = e.call_arguments(passed, self.arg_attrs)
        before = e.result_attributes(self.res_attrs)
        flags = "".join(f" {llvm}" for key, llvm in _CALL_FLAGS.items() if key in self.attributes)
        effects = self.attributes.get("memory_effects")
        flags += f" {effects.llvm_text()}" if isinstance(effects, MemoryEffectsAttr) else ""
        text = f"{tail}call {call_fastmath_text(self)}{self.c_conv.llvm_text()}{before}{signature} "
        text += f"{target}({given}){flags}" + _bundles_text(self, e)
        if self.results:
            e.define(self, text)
        else:
            e.emit(text)

    def verify_op(self) -> None:
        verify_bundles(self)
        arguments = self.callee_operands
        verify_signature(self, [value.type for value in arguments][self.callee is None :])
        if self.callee is None and (not arguments or not isinstance(arguments[0].type, PointerType)):
            raise self.error(
                "must have either a `callee` attribute or at least an operand, a pointer to the callee"
            )
        function = self.var_callee_type
        if function is not None:
            if not isinstance(function.value, FunctionType):
                raise self.error(f"'var_callee_type' must be a function type, but is '{function}'")
            self._verify_variadic(function.value)
        if self.callee is not None and nearest_symbol_table(self) is not None:
            self._verify_callee(lookup_symbol(self, self.callee))

    def _verify_variadic(self, type: FunctionType) -> None:
        """Check the operands and the result against the type of the variadic function."""
        if not type.variadic:
            raise self.error("expected var_callee_type to be a variadic function type")
        given = [value.type for value in self.callee_operands][self.callee is None :]
        if len(type.params) > len(given):
            raise self.error(f"expected var_callee_type to have at most {len(given)} parameters")
        for wanted, found in zip(type.params, given[: len(type.params)], strict=True):
            if wanted is not found:
                raise self.error(f"var_callee_type parameter type mismatch: '{wanted}' != '{found}'")
        if not self.results:
            if not isinstance(type.result, VoidType):
                raise self.error("expected var_callee_type to return void")
        elif type.result is not self.results[0].type:
            raise self.error(
                f"var_callee_type return type mismatch: '{type.result}' != '{self.results[0].type}'"
            )

    def _verify_callee(self, found: Any) -> None:
        """Check the operands and the result against the function that is called."""
        assert self.callee is not None
        if found is None:
            raise self.error(f"'{self.callee.root}' does not reference a symbol in the current scope")
        if found.name == "llvm.mlir.ifunc":
            return
        if found.name != "llvm.func":
            raise self.error(f"'{self.callee.root}' does not reference a valid LLVM function or IFunc")
        if found.body.blocks and _has_subprogram(found) and isinstance(self.location, UnknownLoc):
            caller = self.parent_op
            while caller is not None and caller.name != "llvm.func":
                caller = caller.parent_op
            if caller is not None and _has_subprogram(caller):
                raise error(
                    self.location,
                    "inlinable function call in a function with a DISubprogram location must have a debug location",
                )
        signature, given = found.signature, self.callee_operands
        if signature.variadic and self.var_callee_type is None:
            raise self.error("missing var_callee_type attribute for vararg call")
        if len(given) != len(signature.params) and not (
            signature.variadic and len(given) > len(signature.params)
        ):
            raise self.error(
                f"incorrect number of operands ({len(given)}) for callee (expecting: {len(signature.params)})"
            )
        for i, (value, type) in enumerate(zip(given[: len(signature.params)], signature.params, strict=True)):
            if value.type is not type:
                raise self.error(f"operand type mismatch for operand {i}: '{value.type}' != '{type}'")
        returns = not isinstance(signature.result, VoidType)
        if returns and not self.results:
            raise self.error("expected function call to produce a value")
        if not returns and self.results:
            raise self.error("calling function with void result must not produce values")
        if returns and self.results[0].type is not signature.result:
            raise self.error(f"result type mismatch: '{self.results[0].type}' != '{signature.result}'")


_CALL_FLAGS = {
    "convergent": "convergent", "no_unwind": "nounwind", "will_return": "willreturn", "no_inline": "noinline",
    "always_inline": "alwaysinline", "inline_hint": "inlinehint",
}  # fmt: skip


class CallIntrinsicSyntax(CustomDirective, name="CallIntrinsic"):
    """`"llvm.name"(%a) ["tag"(…)] {…} : (i32) -> f32`."""

    grammar = 'custom: STRING "(" [values] ")" custom_bundles attr_dict ":" custom_inputs "->" custom_outputs'
    grammar += "\n" + _BUNDLES + _SIGNATURE

    def read(self, state: OpState, node: Node) -> None:
        name, values, bundle_node, dictionary, inputs, outputs = node
        state.attribute("intrin", StringAttr(name.text))
        state.operands("args", values or [])
        read_bundles(state, bundle_node)
        for key, value in dictionary.items():
            state.attribute(key, value)
        operands, results = read_signature(state, inputs, outputs)
        state.types("args", operands)
        state.types("output", results)

    def write(self, p: Printer, op: CallIntrinsic) -> None:
        p.write(f" {quote(op.intrin.value)}({p.names(op.args)})")
        write_bundles(p, op)
        p.attr_dict(
            op,
            {"intrin", "op_bundle_sizes", "op_bundle_tags", "operandSegmentSizes", "arg_attrs", "res_attrs"},
        )
        p.write(" : " + signature_text(p, op, [v.type for v in op.args]))


class CallIntrinsic(LLVMOp, name="llvm.call_intrinsic", traits=(READ_WRITE,)):
    """Call an LLVM intrinsic by its name; the types complete an overloaded name without suffixes."""

    intrin = attribute(STRING_ATTR)
    args = variadic_operand(ANY)
    fastmath_flags = fastmath()
    op_bundle_operands = variadic_operand(ANY)
    op_bundle_sizes = attribute(I32_ARRAY, default=NO_BUNDLES)
    op_bundle_tags = attribute(ARRAY_ATTR, optional=True)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    output = optional_result(ANY)
    assembly = "custom<CallIntrinsic>"

    def llvm_ir(self, e: Emitter) -> None:
        name = self.intrin.value
        arguments = self.args
        produced = self.results[0].type if self.results else None
        suffixes = OVERLOADED.get(name)
        if suffixes is not None:
            types = {"result": produced, **{str(i): v.type for i, v in enumerate(arguments)}}
            name = ".".join([name, *(mangled(types[s]) for s in suffixes if types.get(s) is not None)])  # type: ignore[arg-type]
        e.call(
            self, name, e.type(produced) if produced is not None else "void", [e.operand(v) for v in arguments],
            flags=call_fastmath_text(self), trailer=_bundles_text(self, e),
        )  # fmt: skip

    def verify_op(self) -> None:
        if not self.intrin.value.startswith("llvm."):
            raise self.error(f"intrinsic name must start with 'llvm.', but is '{self.intrin.value}'")
        verify_signature(self, [value.type for value in self.args])


OVERLOADED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("llvm.fma", "llvm.fabs", "llvm.sqrt", "llvm.exp", "llvm.exp2", "llvm.log", "llvm.log2", "llvm.sin",
         "llvm.cos", "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.rint", "llvm.round", "llvm.roundeven",
         "llvm.maxnum", "llvm.minnum", "llvm.maximum", "llvm.minimum", "llvm.maximumnum", "llvm.minimumnum",
         "llvm.copysign", "llvm.pow", "llvm.umin",
         "llvm.umax", "llvm.smin", "llvm.smax", "llvm.ctpop", "llvm.ctlz", "llvm.cttz", "llvm.abs", "llvm.fshl",
         "llvm.fshr", "llvm.bswap", "llvm.bitreverse", "llvm.fmuladd", "llvm.expect"),
        ("result",),
    ),
    **dict.fromkeys(
        ("llvm.vector.reduce.add", "llvm.vector.reduce.mul", "llvm.vector.reduce.and", "llvm.vector.reduce.or",
         "llvm.vector.reduce.xor", "llvm.vector.reduce.smax", "llvm.vector.reduce.smin", "llvm.vector.reduce.umax",
         "llvm.vector.reduce.umin", "llvm.vector.reduce.fmax", "llvm.vector.reduce.fmin"),
        ("0",),
    ),
    **dict.fromkeys(
        ("llvm.nvvm.ldu.global.i", "llvm.nvvm.ldu.global.f", "llvm.nvvm.ldu.global.p"), ("result", "0")
    ),
}  # fmt: skip
"""What completes the name of an intrinsic that is called without suffix: "result" or an argument's number."""


class InlineAsm(LLVMOp, name="llvm.inline_asm", traits=(READ_WRITE,)):
    """Assembly text.  `$0` … are the outputs, then the operands, as defined by `constraints`."""

    asm_operands = variadic_operand(ANY)
    asm_string = attribute(STRING_ATTR)
    constraints = attribute(STRING_ATTR)
    has_side_effects = attribute(UNIT_ATTR, optional=True)
    is_align_stack = attribute(UNIT_ATTR, optional=True)
    tail_call_kind = attribute(enum(TailCallKindAttr, angled=True), default=NO_TAIL)
    asm_dialect = attribute(ASM_DIALECT, optional=True)
    operand_attrs = attribute(ARRAY_ATTR, optional=True)
    res = optional_result(ANY)
    assembly = (
        "(`has_side_effects` $has_side_effects^)? (`is_align_stack` $is_align_stack^)? "
        "(`tail_call_kind` `=` ` ` $tail_call_kind^)? (`asm_dialect` `=` $asm_dialect^)? "
        "(`operand_attrs` `=` $operand_attrs^)? attr-dict $asm_string `,` $constraints custom<AsmOperands>"
    )

    def effects(self) -> MemoryEffects | None:
        return super().effects() if self.has_side_effects else NO_EFFECT

    def llvm_ir(self, e: Emitter) -> None:
        marks = ("sideeffect " if self.has_side_effects else "") + (
            "alignstack " if self.is_align_stack else ""
        )
        if self.asm_dialect is not None and self.asm_dialect.value == 1:
            marks += "inteldialect "
        produced = e.type(self.results[0].type) if self.results else "void"
        text = f"{_ll_string(self.asm_string.value)}, {_ll_string(self.constraints.value)}"
        tail = "" if self.tail_call_kind is NO_TAIL else f"{self.tail_call_kind.value} "
        text = f"{tail}call {produced} asm {marks}{text}({', '.join(map(e.operand, self.operands))})"
        text += assembly_attributes(self.asm_string.value)
        if self.results:
            e.define(self, text)
        else:
            e.emit(text)

    def verify_op(self) -> None:
        if self.tail_call_kind.value == "musttail":
            raise self.error("tail call kind 'musttail' is not supported by this operation")
        outputs = sum(c.startswith(("=", "+")) for c in self.constraints.value.split(","))
        produced = self.results[0].type if self.results else None
        count = len(produced.types or ()) if isinstance(produced, StructType) else int(produced is not None)
        if outputs != count:
            raise self.error(f"has {outputs} outputs in its constraints, but {count} in its result")


class AsmOperands(CustomDirective, name="AsmOperands"):
    """`%a, %b : (i32, i32) -> i32`; a single space if there are no operands, as upstream."""

    grammar = 'custom: value_list ":" FUNCTION_TYPE'

    def read(self, state: OpState, node: Node) -> None:
        values, function = node
        state.operands("asm_operands", list(values))
        state.types("asm_operands", list(function.inputs))
        state.types("res", list(function.results))

    def write(self, p: Printer, op: Operation) -> None:
        p.write(f" {p.names(op.operands)} : {p.function_type(op.operand_types, op.result_types)}")

    def covers(self) -> tuple[set[str], set[str]]:
        return set(), {"asm_operands", "res"}


def _ll_string(text: str) -> str:
    """A string in LLVM IR: everything that is not plain ASCII, and quotes, as `\\XX`."""
    out: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        out.append(char if 32 <= byte < 127 and char not in '"\\' else f"\\{byte:02X}")
    return f'"{"".join(out)}"'


__all__ = ["Call", "CallIntrinsic", "InlineAsm", "bundles"]
