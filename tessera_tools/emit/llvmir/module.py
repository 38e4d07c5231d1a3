"""Modules: header, type definitions, globals, functions, declarations of intrinsics, metadata."""

from __future__ import annotations

from typing import Literal

from tessera_tools.diagnostics import DiagnosticError, Refusal
from tessera_tools.dialects.cuda_tile.debug_info import DILocAttr
from tessera_tools.dialects.llvm.aggregates import InsertValue
from tessera_tools.dialects.llvm.attributes import (
    FLAG_BEHAVIORS,
    ModuleFlagAttr,
    PoisonAttr,
    UndefAttr,
    ZeroAttr,
)
from tessera_tools.dialects.llvm.constants import mismatch
from tessera_tools.dialects.llvm.module_ops import (
    UNNAMED,
    VISIBILITIES,
    Comdat,
    ComdatSelector,
    Global,
    LLVMFunc,
    ModuleFlags,
)
from tessera_tools.dialects.llvm.types import ArrayType, StructType, is_llvm_type
from tessera_tools.emit.llvmir import names as ll
from tessera_tools.emit.llvmir.constants import constant_text, leaf_type
from tessera_tools.emit.llvmir.debug import DebugInfo
from tessera_tools.emit.llvmir.function import (
    FunctionEmitter,
    HasLlvmConstant,
    HasLlvmText,
    Shared,
    no_translation,
    unexpected,
)
from tessera_tools.emit.llvmir.metadata import Metadata
from tessera_tools.emit.llvmir.parameters import attributes_text, function_attributes
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    DenseElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import FloatType, IndexType, IntegerType

DebugLevel = Literal["none", "directives", "lines", "full"]
MODULES = ("builtin.module", "gpu.module")
COMDAT_WORDS = ("any", "exactmatch", "largest", "nodeduplicate", "samesize")


def emit_llvm_ir(module: Operation, *, debug: DebugLevel = "none") -> str:
    """LLVM IR text of a `builtin.module` or `gpu.module` that has only ops of the llvm and nvvm dialects.

    debug: "none"; "directives", positions for `.loc` lines only, so that a PTX line maps to a source line;
    "lines", a line table; "full", DWARF for debuggers.  Raises DiagnosticError at the first op without
    translation; the message names the pass to run.
    """
    return ModuleEmitter(debug).run(module)


def emit_with_inlined(
    module: Operation, *, debug: DebugLevel
) -> tuple[str, dict[str, tuple[DILocAttr, ...]]]:
    """As `emit_llvm_ir`, with the positions in inlined functions (`DebugInfo.inlined`)."""
    emitter = ModuleEmitter(debug)
    text = emitter.run(module)
    return text, emitter.debug.inlined if emitter.debug is not None else {}


class ModuleEmitter:
    """Writes one module."""

    def __init__(self, debug: DebugLevel) -> None:
        self.metadata = Metadata()
        self.debug = DebugInfo(self.metadata, debug) if debug != "none" else None
        self.shared = Shared(self.metadata, self.debug)
        self.head: list[str] = []
        self.comdats: list[str] = []
        self.globals: list[str] = []
        self.functions: list[str] = []
        self.flags: list[str] = []

    def run(self, module: Operation) -> str:
        """The text."""
        if module.name not in MODULES:
            raise module.error(f"is not a module to translate; expected {' or '.join(MODULES)}")
        self._operations(module)
        if self.debug is not None:
            self.flags.append(self.metadata.node('!{i32 2, !"Debug Info Version", i32 3}'))
        sections = [
            self.head,
            [f"%{ll.symbol(name)} = type {body}" for name, body in self.shared.types.identified.items()],
            self.comdats,
            self.globals,
            self.functions,
            [text for name, text in self.shared.declarations.items() if name not in self.shared.defined],
            self._metadata_lines(),
        ]
        return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"

    def _metadata_lines(self) -> list[str]:
        lines: list[str] = []
        if self.debug is not None and self.debug.unit:
            lines.append(f"!llvm.dbg.cu = !{{{self.debug.unit}}}")
        if self.flags:
            lines.append(f"!llvm.module.flags = !{{{', '.join(self.flags)}}}")
        return lines + self.metadata.lines

    def _operations(self, module: Operation) -> None:
        for key, text in (("llvm.data_layout", "datalayout"), ("llvm.target_triple", "triple")):
            value = module.attributes.get(key)
            if isinstance(value, StringAttr) and value.value:
                line = f"target {text} = {ll.quoted(value.value)}"
                if line not in self.head:
                    self.head.append(line)
        for block in module.regions[0].blocks:
            for op in block.operations:
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        try:
            if isinstance(op, LLVMFunc):
                self._function(op)
            elif isinstance(op, Global):
                self._global(op)
            elif isinstance(op, Comdat):
                for inner in op.body.block.operations if op.body.blocks else ():
                    if isinstance(inner, ComdatSelector):
                        name = ll.symbol(inner.sym_name.value)
                        self.comdats.append(f"${name} = comdat {COMDAT_WORDS[inner.comdat.value]}")
            elif isinstance(op, ModuleFlags):
                for flag in op.flags:
                    self._flag(op, flag)
            elif op.name in MODULES:
                self._operations(op)
            else:
                raise no_translation(op)
        except Refusal as problem:
            raise op.error(str(problem)) from None
        except (DiagnosticError, RecursionError, MemoryError):
            raise
        except Exception as fault:
            raise unexpected(fault, op) from fault

    def _flag(self, op: Operation, flag: Attribute) -> None:
        if not isinstance(flag, ModuleFlagAttr):
            raise op.error(f"has the entry '{flag}'; expected #llvm.mlir.module_flag<…>")
        value = flag.value
        if isinstance(value, IntegerAttr):
            text = f"{value.type} {value.value}"
        elif isinstance(value, StringAttr):
            text = f"!{ll.quoted(value.value)}"
        else:
            raise op.error(
                f"has the module flag value '{value}', which has no translation to LLVM IR; expected an integer or a "
                "string"
            )
        behavior = FLAG_BEHAVIORS[flag.behavior]
        self.flags.append(self.metadata.node(f"!{{i32 {behavior}, !{ll.quoted(flag.key)}, {text}}}"))

    # -- globals

    def _global(self, op: Global) -> None:
        types = self.shared.types
        type = op.global_type.value
        name = op.sym_name.value
        self.shared.defined.add(name)
        words: list[str] = []
        value = self._initial_value(op)
        linkage = op.linkage.value
        if linkage != "external" or value is None:
            words.append(linkage)
        words += ["dso_local"] if op.dso_local is not None else []
        words += [
            word for word in (VISIBILITIES[op.visibility_.value], UNNAMED[op.unnamed_addr.value]) if word
        ]
        if op.thread_local_ is not None:
            words.insert(len(words) - (1 if op.unnamed_addr.value else 0), "thread_local")
        words += [f"addrspace({op.addr_space.value})"] if op.addr_space.value else []
        words += ["externally_initialized"] if op.externally_initialized is not None else []
        words.append("constant" if op.constant is not None else "global")
        text = f"@{ll.symbol(name)} = {' '.join(words)} {types.text(type)}"
        text += f" {value}" if value is not None else ""
        text += f", section {ll.quoted(op.section.value)}" if op.section is not None else ""
        text += _comdat_text(op.comdat, ", ")
        text += f", align {op.alignment.value}" if op.alignment is not None else ""
        self.globals.append(text)

    def _initial_value(self, op: Global) -> str | None:
        """The initial value; None for a declaration."""
        if op.value is not None:
            if isinstance(op.value, IntegerAttr | FloatAttr | DenseElementsAttr) or isinstance(
                op.global_type.value, StructType
            ):
                # MLIR allows a global to have a value of another type; LLVM does not.
                problem = mismatch(op.value, op.global_type.value)
                if problem is not None and not isinstance(op.value, UndefAttr | PoisonAttr | ZeroAttr):
                    raise op.error(problem)
                _check_numbers(op, op.value)
            return constant_text(self.shared.types, op.value, op.global_type.value)
        if op.initializer.blocks:
            return ConstantRegion(self.shared).value(op)
        if op.linkage.value in ("external", "extern_weak"):
            return None
        return "undef"

    # -- functions

    def _function(self, op: LLVMFunc) -> None:
        types = self.shared.types
        name = op.sym_name.value
        self.shared.defined.add(name)
        emitter = FunctionEmitter(self.shared)
        function = op.signature
        declared = not op.body.blocks
        parameters: list[str] = []
        for i, type in enumerate(function.params):
            text = types.text(type)
            given = op.argument_attributes(i)
            if given:
                attributes = attributes_text(DictionaryAttr.of(given), types)
                text += f" {attributes}" if attributes else ""
            parameters.append(text if declared else f"{text} {emitter.argument(op.arguments[i])}")
        if function.variadic:
            parameters.append("...")
        words = ["declare" if declared else "define"]
        if op.linkage.value != "external":
            words.append(op.linkage.value)
        words += ["dso_local"] if op.dso_local is not None else []
        words += [VISIBILITIES[op.visibility_.value]] if op.visibility_.value else []
        convention = "ptx_kernel " if "nvvm.kernel" in op.attributes else op.c_conv.llvm_text()
        words += [convention[:-1]] if convention else []
        result = op.result_attributes()
        words += [attributes_text(DictionaryAttr.of(result), types)] if result else []
        words.append(f"{types.text(function.result)} @{ll.symbol(name)}({', '.join(parameters)})")
        words += [UNNAMED[op.unnamed_addr.value]] if op.unnamed_addr.value else []
        header = " ".join(words) + function_attributes(op)
        header += f" section {ll.quoted(op.section.value)}" if op.section is not None else ""
        header += _comdat_text(op.comdat, " ")
        header += f" align {op.alignment.value}" if op.alignment is not None else ""
        self.functions.append("")
        if declared:
            self.functions.append(header)
            return
        if self.debug is not None:
            header += self.debug.function(name, op.location)
        self.functions.append(f"{header} {{")
        self.functions += emitter.body(op.body)
        self.functions.append("}")


def _comdat_text(comdat: SymbolRefAttr | None, before: str) -> str:
    if comdat is None:
        return ""
    return f"{before}comdat(${ll.symbol((comdat.root, *comdat.nested)[-1])})"


def _check_numbers(op: Global, value: Attribute) -> None:
    """Refuse numbers whose type is not that of the global: LLVM IR would keep only some of their bits."""
    if isinstance(value, DenseElementsAttr):
        given: Type = value.shaped.element
    elif isinstance(value, IntegerAttr | FloatAttr):
        given = value.type
    else:
        return
    wanted = leaf_type(op.global_type.value)
    if isinstance(wanted, IntegerType):
        if isinstance(given, IntegerType):
            fits = given.width == wanted.width
        elif isinstance(given, FloatType):
            # A format that LLVM does not have is stored as its bits.
            fits = given.width == wanted.width and not is_llvm_type(given)
        else:
            fits = not isinstance(given, IndexType) or wanted.width == _INDEX_BITS
    else:
        fits = not isinstance(wanted, FloatType) or given is wanted
    if not fits:
        raise op.error(
            f"has an initial value of type '{given}', but its own type is '{wanted}'; write the value as '{wanted}'"
        )


_INDEX_BITS = 64


class ConstantRegion(FunctionEmitter):
    """The initial value of a global, computed by its region of constants and constant expressions."""

    def value(self, op: Global) -> str:
        """The value that the region returns."""
        for inner in op.initializer.block.operations:
            if inner.name == "llvm.return":
                return self.names[inner.operands[0]]
            if isinstance(inner, HasLlvmConstant):
                self.names[inner.results[0]] = inner.llvm_constant(self)
            elif isinstance(inner, InsertValue):
                self.names[inner.results[0]] = self._inserted(inner)
            elif not isinstance(inner, HasLlvmText):
                raise no_translation(inner)
            else:
                before = len(self.lines)
                inner.llvm_ir(self)
                if len(self.lines) != before:
                    raise inner.error("is not a constant expression; a global's initial value must be one")
        raise op.error("initializer region has no llvm.return")

    def _inserted(self, op: InsertValue) -> str:
        container, value = op.operands
        parts = self._parts(self.names[container], container.type)
        (index, *rest) = op.position.values
        if rest:
            raise op.error("inserts into a nested aggregate, which a global's initial value cannot express")
        parts[index] = self.operand(value)
        return self._joined(parts, container.type)

    def _parts(self, text: str, type: Type) -> list[str]:
        assert isinstance(type, StructType | ArrayType)
        elements = list(type.types or ()) if isinstance(type, StructType) else [type.element] * type.count
        if text in ("undef", "poison", "zeroinitializer"):
            return [f"{self.type(t)} {text}" for t in elements]
        return self._aggregates[text]

    def _joined(self, parts: list[str], type: Type) -> str:
        brackets = ("[", "]")
        if isinstance(type, StructType):
            brackets = ("<{ ", " }>") if type.packed else ("{ ", " }")
        text = brackets[0] + ", ".join(parts) + brackets[1]
        self._aggregates[text] = list(parts)
        return text

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._aggregates: dict[str, list[str]] = {}
