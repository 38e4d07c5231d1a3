"""Ops at module level: functions, globals, comdats, module flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.diagnostics import error
from tessera_tools.dialects.arith.constants import bits_of
from tessera_tools.dialects.llvm.attributes import (
    COMDAT_KIND,
    NO_FLAGS,
    UNNAMED_ADDR,
    VISIBILITY,
    ZERO_I64,
    CConvAttr,
    FramePointerKindAttr,
    LinkageAttr,
    MemoryEffectsAttr,
    ModuleFlagAttr,
    TargetFeaturesAttr,
    UWTableKindAttr,
    VScaleRangeAttr,
    ZeroAttr,
    symbol_reference,
)
from tessera_tools.dialects.llvm.base import LLVMOp
from tessera_tools.dialects.llvm.calls import C_CONVENTION
from tessera_tools.dialects.llvm.constants import mismatch
from tessera_tools.dialects.llvm.types import (
    VOID,
    ArrayType,
    FunctionType,
    LabelType,
    MetadataType,
    TargetExtensionType,
    TokenType,
    VoidType,
    is_llvm_type,
)
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    dictionary_text,
    symbol_text,
)
from tessera_tools.ir.core import BlockArgument
from tessera_tools.ir.effects import memory_effects
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.symbols import lookup_symbol, nearest_symbol_table
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I8, I32, I64
from tessera_tools.opdef import (
    ANY_ATTR,
    ARRAY_ATTR,
    BOOL_ATTR,
    I32_ARRAY,
    I32_ATTR,
    I64_ATTR,
    ISOLATED_FROM_ABOVE,
    NO_TERMINATOR,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_REF,
    SYMBOL_TABLE,
    TYPE_ATTR,
    UNIT_ATTR,
    AttrKind,
    CustomDirective,
    attribute,
    of_class,
    region,
    verify_parameters,
)
from tessera_tools.opdef.directive import Token

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

EXTERNAL = LinkageAttr("external")
VISIBILITIES = ("", "hidden", "protected")
UNNAMED = ("", "local_unnamed_addr", "unnamed_addr")

STRING_ARRAY: AttrKind[ArrayAttr[StringAttr]] = AttrKind(
    "string array attribute", lambda a: isinstance(a, ArrayAttr) and all(isinstance(e, StringAttr) for e in a)
)
LLVM_FUNCTION_TYPE: AttrKind[TypeAttr[FunctionType]] = AttrKind(
    "type attribute of LLVM function type",
    lambda a: isinstance(a, TypeAttr) and isinstance(a.value, FunctionType),
)


def _read_words(state: OpState, words: list[Node], extra: dict[str, str]) -> None:
    """Linkage, visibility, `unnamed_addr`, calling convention, in any order; `extra`: keyword → unit attribute."""
    for (word,) in words:
        text = word.text
        if text in LinkageAttr.cases:
            state.attribute("linkage", LinkageAttr(text))
        elif text in VISIBILITIES:
            state.attribute("visibility_", IntegerAttr(VISIBILITIES.index(text), I64))
        elif text in UNNAMED:
            state.attribute("unnamed_addr", IntegerAttr(UNNAMED.index(text), I64))
        elif text in extra:
            state.attribute(extra[text], UNIT)
        elif text in CConvAttr.cases and not extra:
            state.attribute("CConv", CConvAttr(text))
        else:
            raise state.error(word, f"unknown linkage, visibility or calling convention '{text}'")


def _read_dictionary(state: OpState, dictionary: dict[str, Attribute]) -> None:
    for key, value in dictionary.items():
        if key in ("sym_name", "function_type", "global_type"):
            raise state.error(None, f"attribute '{key}' occurs more than once in the attribute list")
        state.attribute(key, value)


def _read_comdat(state: OpState, node: Node) -> None:
    alias, children = node
    if alias == "present":
        path = children[0][0]
        state.attribute("comdat", SymbolRefAttr(path[0], tuple(path[1:])))


_COMDAT = """
custom_comdat: "comdat" "(" SYMBOL ")" -> present
             | -> absent
"""


class LLVMFuncSyntax(CustomDirective, name="LLVMFunc"):
    """`internal fastcc @f(%a: i32 {llvm.noundef}, ...) -> f32 comdat(@c::@f) attributes {…} {…}`."""

    grammar = (
        "custom: custom_word* SYMBOL custom_parameters custom_results custom_vscale custom_comdat "
        """attr_dict_with_keyword custom_body
custom_word: KEYWORD
custom_parameters: "(" ")" -> fixed
                 | "(" custom_parameter ("," custom_parameter)* ")" -> fixed
                 | "(" custom_parameter ("," custom_parameter)* "," "." "." "." ")" -> variadic
                 | "(" "." "." "." ")" -> variadic
custom_parameter: VALUE ":" TYPE [ATTR_DICT] [LOC] -> named
                | TYPE [ATTR_DICT] -> unnamed
custom_results: "->" TYPE -> single
              | "->" "(" ")" -> several
              | "->" "(" custom_result ("," custom_result)* ")" -> several
              | -> none
custom_result: TYPE [ATTR_DICT]
custom_vscale: "vscale_range" "(" INTEGER "," INTEGER ")" -> present
             | -> absent
custom_body: region -> present
           | -> absent
""" + _COMDAT
    )

    def read(self, state: OpState, node: Node) -> None:
        *words, symbol, (form, parameters), (shape, outputs), vscale, comdat, dictionary, (has_body, body) = (
            node
        )
        _read_words(state, words, {})
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        named: list[tuple[Token, Type]] = []
        inputs: list[tuple[Type, Node]] = []
        for kind, children in parameters:
            if kind == "named":
                named.append((children[0], children[1]))
                state.argument_location(children[0], children[3])
                inputs.append((children[1], children[2]))
            else:
                inputs.append((children[0], children[1]))
        if named and len(named) != len(inputs):
            raise state.error(None, "expected a name for every parameter or for none")
        results = [(outputs[0], None)] if shape == "single" else [(o[0], o[1]) for o in outputs]
        if len(results) > 1:
            raise state.error(None, f"expected zero or one function result, found {len(results)}")
        output = results[0][0] if results else VOID
        try:
            signature = FunctionType(output, tuple(t for t, _ in inputs), form == "variadic")
        except ValueError as failure:
            raise state.error(None, str(failure)) from None
        state.attribute("function_type", TypeAttr(signature))
        for key, entries in (("arg_attrs", inputs), ("res_attrs", results)):
            if any(attributes for _, attributes in entries):
                state.attribute(key, ArrayAttr(tuple(DictionaryAttr.of(a or {}) for _, a in entries)))
        if vscale[0] == "present":
            least, most = (IntegerAttr(integer_of(token.text), I32) for token in vscale[1])
            state.attribute("vscale_range", VScaleRangeAttr(least, most))
        _read_comdat(state, comdat)
        _read_dictionary(state, dictionary)
        if has_body == "present":
            state.region("body", body[0], named)

    def write(self, p: Printer, op: LLVMFunc) -> None:
        p.space()
        if op.linkage is not EXTERNAL:
            p.write(f"{op.linkage.value} ")
        for words, index in ((VISIBILITIES, op.visibility_.value), (UNNAMED, op.unnamed_addr.value)):
            p.write(f"{words[index]} " if index else "")
        if op.c_conv is not C_CONVENTION:
            p.write(f"{op.c_conv.value} ")
        p.write(f"{symbol_text(op.sym_name.value)}(")
        function = op.signature
        arguments = op.arguments
        for i, type in enumerate(function.params):
            name = f"{p.name(arguments[i])}: " if arguments else ""
            place = p.argument_location(arguments[i]) if arguments else ""
            p.write(f"{', ' if i else ''}{name}{p.type(type)}{_braced(op.argument_attributes(i))}{place}")
        if function.variadic:
            p.write(", ..." if function.params else "...")
        p.write(")")
        if not isinstance(function.result, VoidType):
            attributes = _braced(op.result_attributes())
            p.write(
                f" -> ({p.type(function.result)}{attributes})"
                if attributes
                else f" -> {p.type(function.result)}"
            )
        if op.vscale_range is not None:
            bounds = op.vscale_range
            p.write(f" vscale_range({bounds.minRange.value}, {bounds.maxRange.value})")
        if op.comdat is not None:
            p.write(f" comdat({symbol_reference(op.comdat)})")
        p.attr_dict(op, _FUNC_ELIDED, keyword=True)
        if op.body.blocks:
            p.write(" ")
            p.region(op.body, arguments=False)


def _braced(attributes: dict[str, Attribute]) -> str:
    return f" {dictionary_text(sorted(attributes.items()))}" if attributes else ""


_FUNC_ELIDED = frozenset({
    "sym_name", "function_type", "arg_attrs", "res_attrs", "linkage", "CConv", "visibility_", "comdat",
    "unnamed_addr", "vscale_range",
})  # fmt: skip


class LLVMFunc(LLVMOp, name="llvm.func", traits=(ISOLATED_FROM_ABOVE, SYMBOL)):
    """A function with an LLVM function type; a declaration if the body is empty."""

    sym_name = attribute(SYMBOL_NAME)
    sym_visibility = attribute(STRING_ATTR, optional=True)
    function_type = attribute(LLVM_FUNCTION_TYPE)
    linkage = attribute(of_class(LinkageAttr), default=EXTERNAL)
    dso_local = attribute(UNIT_ATTR, optional=True)
    c_conv = attribute(of_class(CConvAttr), default=C_CONVENTION, key="CConv")
    comdat = attribute(SYMBOL_REF, optional=True)
    convergent = attribute(UNIT_ATTR, optional=True)
    personality = attribute(SYMBOL_REF, optional=True)
    garbage_collector = attribute(STRING_ATTR, optional=True, key="garbageCollector")
    passthrough = attribute(ARRAY_ATTR, optional=True)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    function_entry_count = attribute(I64_ATTR, optional=True)
    memory_effects = attribute(of_class(MemoryEffectsAttr), optional=True)
    visibility_ = attribute(VISIBILITY, default=ZERO_I64, key="visibility_")
    section = attribute(STRING_ATTR, optional=True)
    unnamed_addr = attribute(UNNAMED_ADDR, default=ZERO_I64)
    alignment = attribute(I64_ATTR, optional=True)
    vscale_range = attribute(of_class(VScaleRangeAttr), optional=True)
    frame_pointer = attribute(of_class(FramePointerKindAttr), optional=True)
    target_cpu = attribute(STRING_ATTR, optional=True)
    tune_cpu = attribute(STRING_ATTR, optional=True)
    reciprocal_estimates = attribute(STRING_ATTR, optional=True)
    prefer_vector_width = attribute(STRING_ATTR, optional=True)
    target_features = attribute(of_class(TargetFeaturesAttr), optional=True)
    no_infs_fp_math = attribute(BOOL_ATTR, optional=True)
    no_nans_fp_math = attribute(BOOL_ATTR, optional=True)
    no_signed_zeros_fp_math = attribute(BOOL_ATTR, optional=True)
    denormal_fp_math = attribute(STRING_ATTR, optional=True)
    denormal_fp_math_f32 = attribute(STRING_ATTR, optional=True)
    fp_contract = attribute(STRING_ATTR, optional=True)
    no_inline = attribute(UNIT_ATTR, optional=True)
    always_inline = attribute(UNIT_ATTR, optional=True)
    inline_hint = attribute(UNIT_ATTR, optional=True)
    no_unwind = attribute(UNIT_ATTR, optional=True)
    will_return = attribute(UNIT_ATTR, optional=True)
    optimize_none = attribute(UNIT_ATTR, optional=True)
    work_group_size_hint = attribute(I32_ARRAY, optional=True)
    reqd_work_group_size = attribute(I32_ARRAY, optional=True)
    uwtable_kind = attribute(of_class(UWTableKindAttr), optional=True)
    body = region()
    assembly = "custom<LLVMFunc>"

    @property
    def signature(self) -> FunctionType:
        """The function's type itself."""
        return self.function_type.value

    @property
    def arguments(self) -> list[BlockArgument]:
        """The entry block's arguments; empty for a declaration."""
        return self.body.entry.arguments if self.body.blocks else []

    @property
    def is_kernel(self) -> bool:
        """True if the host launches it."""
        return "nvvm.kernel" in self.attributes or self.c_conv.value == "ptx_kernelcc"

    def argument_attributes(self, index: int) -> dict[str, Attribute]:
        """The attributes of parameter `index`."""
        return entry_of(self.arg_attrs, index)

    def result_attributes(self) -> dict[str, Attribute]:
        """The attributes of the result."""
        return entry_of(self.res_attrs, 0)

    def verify_op(self) -> None:
        function = self.signature
        if self.linkage.value in ("common", "appending"):
            raise self.error(f"functions cannot have '{self.linkage.value}' linkage")
        for noun, types in (("arguments", function.params), ("results", (function.result,))):
            if not all(is_llvm_type(type) for type in types):
                raise error(
                    self.location,
                    f"failed to construct function type: expected LLVM type for function {noun}",
                )
        _verify_comdat(self)
        verify_parameters(self, "arg_attrs", "argument", function.params)
        verify_parameters(self, "res_attrs", "result", [] if function.result is VOID else [function.result])
        if not self.body.blocks:
            if self.linkage.value not in ("external", "extern_weak"):
                found = self.linkage.value
                raise self.error(
                    f"external functions must have 'external' or 'extern_weak' linkage, got '{found}'"
                )
            return
        if self.always_inline and self.no_inline:
            raise error(self.location, "no_inline and always_inline attributes are incompatible")
        if self.optimize_none and not self.no_inline:
            raise self.error("with optimize_none must also be no_inline")
        arguments = self.arguments
        if len(arguments) != len(function.params):
            raise self.error(
                f"entry block must have {len(function.params)} arguments to match LLVM signature"
            )
        for i, (argument, type) in enumerate(zip(arguments, function.params, strict=True)):
            if argument.type is not type:
                raise self.error(
                    f"type of entry block argument #{i}('{argument.type}') must match the type of the corresponding "
                    f"argument in function signature('{type}')"
                )


def entry_of(attributes: ArrayAttr | None, index: int) -> dict[str, Attribute]:
    """The dictionary at `index` of an array of dictionaries."""
    if attributes is None or index >= len(attributes):
        return {}
    entry = attributes.elements[index]
    return dict(entry.entries) if isinstance(entry, DictionaryAttr) else {}


class GlobalSyntax(CustomDirective, name="Global"):
    """`internal constant @name(value) {…} : type {…}`."""

    grammar = (
        """custom: custom_word* SYMBOL "(" [ATTRIBUTE] ")" custom_comdat attr_dict custom_type
custom_word: KEYWORD
custom_type: ":" TYPE -> typed
           | ":" TYPE region -> initialized
           | -> untyped
"""
        + _COMDAT
    )

    def read(self, state: OpState, node: Node) -> None:
        *words, symbol, value, comdat, dictionary, (form, typed) = node
        _read_words(state, words, {"thread_local": "thread_local_", "constant": "constant"})
        state.attributes.setdefault("linkage", EXTERNAL)
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        if value is not None:
            state.attribute("value", value)
        _read_comdat(state, comdat)
        _read_dictionary(state, dictionary)
        if form != "untyped":
            state.attribute("global_type", TypeAttr(typed[0]))
        elif isinstance(value, StringAttr):
            count = len(value.value.encode("utf-8", "surrogateescape"))
            state.attribute("global_type", TypeAttr(ArrayType(count, I8)))
        else:
            raise state.error(None, "type can only be omitted for string globals")
        if form == "initialized":
            state.region("initializer", typed[1])

    def write(self, p: Printer, op: Global) -> None:
        p.write(f" {op.linkage.value} ")
        p.write(f"{VISIBILITIES[op.visibility_.value]} " if op.visibility_.value else "")
        p.write("thread_local " if op.thread_local_ else "")
        p.write(f"{UNNAMED[op.unnamed_addr.value]} " if op.unnamed_addr.value else "")
        p.write("constant " if op.constant else "")
        p.write(f"{symbol_text(op.sym_name.value)}({'' if op.value is None else op.value})")
        if op.comdat is not None:
            p.write(f" comdat({symbol_reference(op.comdat)})")
        shown = {k: v for k, v in op.attributes.items() if k not in _GLOBAL_ELIDED}
        # Upstream also prints the default address space of a global.
        shown["addr_space"] = op.addr_space
        p.write(f" {dictionary_text(sorted(shown.items()))}")
        if not isinstance(op.value, StringAttr):
            p.write(f" : {p.type(op.global_type.value)}")
        if op.initializer.blocks:
            p.write(" ")
            p.region(op.initializer)


_GLOBAL_ELIDED = frozenset({
    "sym_name", "global_type", "constant", "value", "linkage", "unnamed_addr", "thread_local_", "visibility_", "comdat",
})  # fmt: skip


class Global(LLVMOp, name="llvm.mlir.global", traits=(ISOLATED_FROM_ABOVE, SYMBOL)):
    """A global variable, with its initial value as an attribute or computed in the region."""

    global_type = attribute(TYPE_ATTR)
    constant = attribute(UNIT_ATTR, optional=True)
    sym_name = attribute(SYMBOL_NAME)
    linkage = attribute(of_class(LinkageAttr))
    dso_local = attribute(UNIT_ATTR, optional=True)
    thread_local_ = attribute(UNIT_ATTR, optional=True, key="thread_local_")
    externally_initialized = attribute(UNIT_ATTR, optional=True)
    value = attribute(ANY_ATTR, optional=True)
    alignment = attribute(I64_ATTR, optional=True)
    addr_space = attribute(I32_ATTR, default=NO_FLAGS)
    unnamed_addr = attribute(UNNAMED_ADDR, default=ZERO_I64)
    section = attribute(STRING_ATTR, optional=True)
    comdat = attribute(SYMBOL_REF, optional=True)
    dbg_exprs = attribute(ARRAY_ATTR, optional=True)
    visibility_ = attribute(VISIBILITY, default=ZERO_I64, key="visibility_")
    target_specific_attrs = attribute(ARRAY_ATTR, optional=True)
    initializer = region()
    assembly = "custom<Global>"

    def verify_op(self) -> None:
        if self.value is not None and self.initializer.blocks:
            raise self.error("cannot have both initializer value and region")
        alignment = self.alignment
        if alignment is not None and (alignment.value <= 0 or alignment.value & (alignment.value - 1)):
            raise self.error(f"alignment attribute is not a power of 2: {alignment.value}")
        if self.addr_space.value < 0:
            raise self.error("address space must not be negative")
        self._verify_value()

    def _verify_value(self) -> None:
        """Check that the initial value is one of the global's type."""
        value, type = self.value, self.global_type.value
        if isinstance(type, LabelType | TokenType | VoidType | MetadataType) or not is_llvm_type(type):
            raise self.error("expects type to be a valid element type for an LLVM global")
        linkage = self.linkage.value
        if linkage == "appending" and not isinstance(type, ArrayType):
            raise self.error(f"expected array type for 'appending' linkage, but got '{type}'")
        if linkage == "common" and value is not None and not _is_zero(value):
            raise self.error("expected zero value for 'common' linkage")
        if isinstance(type, TargetExtensionType) and not type.may_be_global:
            raise self.error("this target extension type cannot be used in a global")
        if isinstance(type, TargetExtensionType) and value is not None and not isinstance(value, ZeroAttr):
            raise self.error(
                "global with target extension type can only be initialized with zero-initializer"
            )
        if isinstance(value, StringAttr) and mismatch(value, type):
            raise self.error("requires an i8 array type of the length equal to that of the string attribute")
        _verify_comdat(self)
        last = self.initializer.blocks[-1].last_op if self.initializer.blocks else None
        if last is None:
            return
        if last.name == "llvm.return" and last.operand_types != [type]:
            found = last.operand_types[0] if last.operands else "void"
            raise self.error(f"initializer region type '{found}' does not match global type '{type}'")
        for inner in self.initializer.walk():
            if not inner.has_trait(Terminator) and memory_effects(inner) != frozenset():
                raise inner.error("ops with side effects not allowed in global initializers")


def _verify_comdat(op: LLVMFunc | Global) -> None:
    """Check that the comdat of a function or a global is a selector."""
    if op.comdat is None or nearest_symbol_table(op) is None:
        return
    found = lookup_symbol(op, op.comdat)
    if found is None or found.name != "llvm.comdat_selector":
        raise error(op.location, "expected comdat symbol")


def _is_zero(value: Attribute) -> bool:
    bits = bits_of(value)
    return isinstance(value, ZeroAttr) or (bits is not None and not any(bits))


class ComdatSelector(LLVMOp, name="llvm.comdat_selector", traits=(SYMBOL,)):
    """One comdat and how duplicates are chosen from."""

    sym_name = attribute(SYMBOL_NAME)
    comdat = attribute(COMDAT_KIND)
    assembly = "$sym_name $comdat attr-dict"


class Comdat(LLVMOp, name="llvm.comdat", traits=(NO_TERMINATOR, SYMBOL_TABLE, SYMBOL)):
    """A group of comdats."""

    sym_name = attribute(SYMBOL_NAME)
    body = region()
    assembly = "$sym_name $body attr-dict"

    def verify_op(self) -> None:
        for op in self.body.entry.operations if self.body.blocks else ():
            if not isinstance(op, ComdatSelector):
                raise error(op.location, "only comdat selector symbols can appear in a comdat region")


class ModuleFlags(LLVMOp, name="llvm.module_flags"):
    """The entries of `llvm.module.flags`."""

    flags = attribute(ARRAY_ATTR)
    assembly = "$flags attr-dict"

    def verify_op(self) -> None:
        if not all(isinstance(flag, ModuleFlagAttr) for flag in self.flags):
            raise self.error("expected a module flag attribute")


class LinkerOptions(LLVMOp, name="llvm.linker_options"):
    """Options for the linker."""

    options = attribute(STRING_ARRAY)
    assembly = "$options attr-dict"
