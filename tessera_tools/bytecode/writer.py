"""IR in, bytecode out.

    module ──functions──▶ bodies, and with them the tables (strings, types, constants, positions) in order of first use
           ──▶ header │ function │ global │ constant │ debug │ type │ producer │ string │ end

Tables are filled in the same order as in the Python frontend, so that its files are reproduced byte for
byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tessera_tools.bytecode import attributes as coding
from tessera_tools.bytecode.cursor import Writer
from tessera_tools.bytecode.debug import DebugWriter
from tessera_tools.bytecode.plans import OpPlan, plans_by_class
from tessera_tools.bytecode.tables import InternTable, StringWriter
from tessera_tools.bytecode.types import TypeWriter
from tessera_tools.bytecode.version import (
    CONSTANT,
    DEBUG,
    END,
    FUNCTION,
    GLOBAL,
    HAS_HINTS,
    KERNEL,
    MAGIC,
    PADDING,
    PRODUCER,
    STRING,
    TYPE,
    Version,
)
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Refusal, emit, error
from tessera_tools.dialects.cuda_tile.attributes import OptimizationHintsAttr, SymbolVisibilityAttr
from tessera_tools.dialects.cuda_tile.bytecode_numbers import OPCODES
from tessera_tools.dialects.cuda_tile.structure import Entry, GetGlobal, Global, Module
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr
from tessera_tools.ir.core import Block, Operation, Value

T = TypeVar("T")
_SINCE = {f"cuda_tile.{opcode.word}": opcode.since for opcode in OPCODES}
_PUBLIC = SymbolVisibilityAttr("public")


def write(module: Operation, version: Version) -> bytes:
    """See `tessera_tools.bytecode.write_bytecode`."""
    return Encoder(version).module(module)


class Encoder:
    """One file being written: its tables, and the bodies that fill them."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.plans = plans_by_class(version)
        self.strings = StringWriter()
        self.types = TypeWriter(version)
        self.constants = InternTable()
        self.debug = DebugWriter(self.strings, version)
        self.variables: dict[str, Global] = {}
        """The program's globals by name, in order."""
        self.defined: dict[str, bytes] = {}
        """Globals encoded so far."""

    def module(self, module: Operation) -> bytes:
        """The whole file."""
        holder, producer = _holder(module)
        kernels: list[Entry] = []
        variables: list[Global] = []
        for op in holder:
            if not isinstance(op, Entry | Global):
                raise _invalid(module, op, "only function and global ops are allowed in the body")
            if isinstance(op, Entry):
                kernels.append(op)
            else:
                variables.append(op)
        self.variables = {op.sym_name.value: op for op in variables}
        functions = Writer()
        functions.varint(len(kernels))
        for kernel in kernels:
            self._guarded(kernel, lambda kernel=kernel: self._function(functions, kernel))
        globals_ = Writer()
        globals_.varint(len(variables))
        for name in self.variables:
            self.define_global(name)
            globals_.data += self.defined[name]
        out = Writer()
        out.data += MAGIC + bytes([self.version.major, self.version.minor, 0, 0])
        _section(out, FUNCTION, 8, functions)
        if variables:
            _section(out, GLOBAL, 1, globals_)
        _section(out, CONSTANT, 8, _table(self.constants, 8))
        debug = Writer()
        self.debug.write_section(debug)
        _section(out, DEBUG, 8, debug)
        _section(out, TYPE, 4, _table(self.types, 4))
        if producer is not None and self.version.minor >= 3:
            name = Writer()
            name.varint(self.strings.index(producer))
            _section(out, PRODUCER, 1, name)
        _section(out, STRING, 4, _table(self.strings, 4))
        out.byte(END)
        return bytes(out.data)

    def _guarded(self, op: Operation, work: Callable[[], T]) -> T:
        """Convert a ValueError, for content that the version cannot represent, to an error at the operation."""
        try:
            return work()
        except Refusal as problem:
            raise op.error(f"cannot be written: {problem}") from None

    def define_global(self, name: str) -> None:
        """Encode a global, on first use."""
        op = self.variables.get(name)
        if op is not None and name not in self.defined:
            w = Writer()
            self._guarded(op, lambda: self._global(w, op))
            self.defined[name] = bytes(w.data)

    def _global(self, w: Writer, op: Global) -> None:
        name = op.sym_name.value
        if self.version.minor < 3:
            if op.symbol_visibility is not _PUBLIC:
                raise error(
                    op.location,
                    f"global `{name}` uses non-public symbol visibility, which cannot be encoded in bytecode version "
                    f"{self.version} (requires bytecode 13.3+)",
                )
            if op.constant is not None:
                raise error(
                    op.location,
                    f"constant global `{name}` cannot be encoded in bytecode version {self.version} (the `constant` "
                    "attribute requires bytecode 13.3+)",
                )
        w.varint(self.strings.index(name))
        w.varint(self.types.index(op.value.type))
        w.varint(coding.constant_index(self, op.value))
        w.varint(op.alignment.value)
        if self.version.minor >= 3:
            w.varint(SymbolVisibilityAttr.cases.index(op.symbol_visibility.value))
            w.varint(op.constant is not None)

    def _function(self, w: Writer, op: Entry) -> None:
        number = self.debug.begin(op.location)
        arguments = op.body.entry.arguments
        for argument in arguments:
            self.types.index(argument.type)
        w.varint(self.strings.index(op.sym_name.value))
        w.varint(self.types.index(op.function_type.value))
        hints = op.optimization_hints
        always = self.version.minor >= 5
        written = always or (hints is not None and bool(hints.value.entries))
        w.byte(KERNEL | (HAS_HINTS if written and not always else 0))
        w.varint(number)
        if written:
            coding.write_tagged(self, w, hints or OptimizationHintsAttr(DictionaryAttr(())))
        noted = any(isinstance(a, DictionaryAttr) and a.entries for a in op.arg_attrs or ())
        if noted and not always:
            raise Refusal(f"argument attributes require bytecode version 13.5+, but targeting {self.version}")
        if always:
            coding.write_tagged(self, w, op.arg_attrs or ArrayAttr(()))
        body = BodyWriter(self)
        body.define(arguments)
        body.operations(op.body.entry)
        w.varint(len(body.w.data))
        w.data += body.w.data


class BodyWriter:
    """The body of one function."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.w = Writer()
        self.numbers: dict[Value, int] = {}
        self.count = 0

    def define(self, values: Iterable[Value]) -> None:
        """Number values, in order."""
        for value in values:
            self.numbers[value] = self.count
            self.count += 1

    def operations(self, block: Block) -> None:
        """All ops of a block."""
        for op in block:
            try:
                self._operation(op)
            except Refusal as problem:
                raise op.error(f"cannot be written: {problem}") from None

    def _operation(self, op: Any) -> None:
        e, w = self.encoder, self.w
        plan = e.plans.get(type(op))
        if plan is None:
            raise self._refusal(op)
        e.debug.add(op.location)
        if isinstance(op, GetGlobal):
            e.define_global(op.name_.root)
        hidden = len(plan.hidden_results)
        results = op.results[: len(op.results) - hidden]
        # The frontend adds the types before anything else.
        types = [e.types.index(result.type) for result in results]
        w.varint(plan.number)
        if plan.sized_results:
            w.varint(len(types))
        for number in types:
            w.varint(number)
        self._check_absent(op, plan)
        if plan.has_flags:
            w.varint(self._flags(op, plan))
        for entry in plan.attributes:
            value = op.attributes.get(entry.key, entry.default)
            if entry.codec is None:
                continue
            if value is not None:
                entry.codec.write(e, w, value)
            elif entry.codec.absent is not None:
                entry.codec.absent(w, op)
        self._operands(op, plan)
        if plan.region_count:
            w.varint(plan.region_count)
            for region in op.regions:
                w.varint(len(region.blocks))
                outside = self.count
                for block in region.blocks:
                    self._block(block)
                    self.count = outside
        for result in op.results[len(results) :]:
            if result.has_uses:
                raise Refusal(
                    f"the result of '{op.name}' is used, but version {e.version} of bytecode has none"
                )
        self.define(results)

    def _refusal(self, op: Operation) -> DiagnosticError:
        since = _SINCE.get(op.name)
        if since is not None and since > self.encoder.version.minor:
            return op.error(
                f"cannot be written: operation '{op.name}' is not available in bytecode version "
                f"{self.encoder.version} (since 13.{since})"
            )
        return _invalid(op, op, "only ops from the 'cuda_tile' dialect are allowed")

    def _check_absent(self, op: Operation, plan: OpPlan) -> None:
        for name, is_attribute, default, since in plan.absent:
            if is_attribute:
                value = op.attributes.get(name)
                given = value is not None and value is not default and any(getattr(value, "values", (1,)))
            else:
                given = getattr(op, name) is not None
            if given:
                noun = "attribute" if is_attribute else "operand"
                raise Refusal(
                    f"{noun} '{name}' requires bytecode version 13.{since}+, but targeting {self.encoder.version}"
                )

    def _flags(self, op: Operation, plan: OpPlan) -> int:
        flags = 0
        for entry in plan.attributes:
            if entry.bit and entry.key in op.attributes:
                flags |= entry.bit
        for field in plan.operands:
            if field.bit and getattr(op, field.name) is not None:
                flags |= field.bit
        return flags

    def _operands(self, op: Operation, plan: OpPlan) -> None:
        w, numbers = self.w, self.numbers
        if not plan.segments:
            uses = op.op_operands
            if plan.counted:
                w.varint(len(uses))
            for use in uses:
                w.varint(numbers[use.value])
            return
        for field in plan.operands:
            value = getattr(op, field.name)
            if field.arity == "variadic":
                w.varint(len(value))
                for item in value:
                    w.varint(numbers[item])
            elif value is not None:
                w.varint(numbers[value])

    def _block(self, block: Block) -> None:
        e, w = self.encoder, self.w
        w.varint(len(block.arguments))
        for argument in block.arguments:
            w.varint(e.types.index(argument.type))
        self.define(block.arguments)
        w.varint(len(block))
        self.operations(block)


def _invalid(module: Operation, op: Operation, message: str) -> DiagnosticError:
    """An error at the program, and a remark at the op that bytecode cannot represent."""
    around = op
    while around.parent_op is not None and not isinstance(around, Module):
        around = around.parent_op
    program = around if isinstance(around, Module) else module
    emit(Diagnostic("remark", op.location, f"invalid op: {op.name}"))
    return program.error(f"{message}; write bytecode before lowering")


def _holder(module: Operation) -> tuple[Block, str | None]:
    """The block with kernels and globals, and the producer, of a module that may contain a `cuda_tile.module`."""
    if isinstance(module, Module):
        producer = module.producer.value if module.producer is not None else None
        return module.regions[0].entry, producer
    block = module.regions[0].entry
    modules = [op for op in block if isinstance(op, Module)]
    if not modules:
        return block, None
    for op in block:
        if op is not modules[0]:
            raise op.error("is not part of the program; bytecode contains a single 'cuda_tile.module'")
    return _holder(modules[0])


def _table(table: InternTable, width: int) -> Writer:
    w = Writer()
    table.write(w, width)
    return w


def _section(out: Writer, number: int, alignment: int, payload: Writer) -> None:
    out.byte(number | (0x80 if alignment > 1 else 0))
    out.varint(len(payload.data))
    if alignment > 1:
        out.varint(alignment)
        out.pad(alignment, PADDING)
    out.data += payload.data
