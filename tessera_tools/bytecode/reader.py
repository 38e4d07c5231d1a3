"""Bytecode in, IR out.

    bytes ──sections──▶ Tables (strings, types, constants, debug: decoded on first use)
                          └── function section ──body by body──▶ entries      global section ──▶ globals

Values are numbered in the order of definition: a function's arguments, then every result and block argument; the values
of a region are removed at its end. Bodies are read with an explicit stack, so that nesting cannot exhaust
Python's. Every count is compared with the remaining bytes before memory is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from tessera_tools.bytecode import attributes as coding
from tessera_tools.bytecode.cursor import Cursor
from tessera_tools.bytecode.debug import DebugTable
from tessera_tools.bytecode.elements import read_elements
from tessera_tools.bytecode.locate import located
from tessera_tools.bytecode.plans import OpPlan, plans
from tessera_tools.bytecode.tables import Slices, Strings
from tessera_tools.bytecode.types import TypeTable
from tessera_tools.bytecode.version import (
    ALIGNMENT,
    CONSTANT,
    DEBUG,
    END,
    FUNCTION,
    GLOBAL,
    HAS_HINTS,
    KERNEL,
    MAGIC,
    PRIVATE,
    PRODUCER,
    SECTION_NAMES,
    STRING,
    TYPE,
    VERSIONS,
    Version,
)
from tessera_tools.dialects.builtin import Module as BuiltinModule
from tessera_tools.dialects.cuda_tile.attributes import OptimizationHintsAttr, SymbolVisibilityAttr
from tessera_tools.dialects.cuda_tile.bytecode_numbers import OPCODES, PREVIEW_OPCODES
from tessera_tools.dialects.cuda_tile.structure import DEFAULT_MODULE_NAME, Entry, Global, Module
from tessera_tools.dialects.cuda_tile.types import TileType
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
)
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import I32, I64, FunctionType

MAX_REGIONS = 1000
"""The maximum nesting of regions."""

_SEGMENTS: dict[tuple[int, ...], DenseArrayAttr] = {}
"""Cached `operandSegmentSizes`."""

_SINCE = {opcode.number: opcode.since for opcode in OPCODES}
_WORDS = {opcode.number: opcode.word for opcode in OPCODES}


def read_sections(c: Cursor) -> tuple[Version, dict[int, Cursor]]:
    """The header and the sections' payloads. The file must end with the end section."""
    version = _read_header(c)
    sections: dict[int, Cursor] = {}
    while True:
        at = c.pos
        head = c.byte()
        number, aligned = head & 0x7F, head >> 7
        if number == END:
            if aligned:
                c.fail("the end section must not be aligned", at=at)
            if c.remaining:
                c.fail(f"end section is not the last section: {c.remaining} bytes follow")
            return version, sections
        if number >= len(SECTION_NAMES):
            c.fail(f"unknown section ID: {number}; expected 0 to {len(SECTION_NAMES) - 1}", at=at)
        name = SECTION_NAMES[number]
        if number in sections:
            c.fail(f"a second {name} section", at=at)
        length = c.varint()
        alignment = c.varint() if aligned else 1
        if alignment == 0 or alignment & (alignment - 1):
            c.fail(f"the alignment of the {name} section, {alignment}, is not a power of two", at=at)
        needed = ALIGNMENT.get(number, 1)
        if alignment % needed:
            c.fail(f"the {name} section must be aligned to {needed} bytes, found {alignment}", at=at)
        c.pad(alignment)
        base = c.offset
        sections[number] = Cursor(c.take(length, f"the {name} section"), base, c.file)


def _read_header(c: Cursor) -> Version:
    magic = c.take(min(len(MAGIC), c.remaining), "the magic number")
    if magic != MAGIC:
        at = next((i for i, (a, b) in enumerate(zip(magic, MAGIC, strict=False)) if a != b), len(magic))
        c.fail("invalid magic number; expected 7F 'TileIR' 00", at=at)
    at = c.pos
    major, minor = c.byte(), c.byte()
    tag = c.byte() | c.byte() << 8
    supported = f"this reader supports versions [{VERSIONS[0]} - {VERSIONS[-1]}]"
    if (major, minor) not in VERSIONS:
        c.fail(f"unsupported Tile version {major}.{minor}.{tag}, {supported}", at=at)
    if tag & 1:
        c.fail(
            "the file uses preview features, which have no stable encoding; export it without them", at=at + 2
        )
    if tag:
        c.fail(f"unsupported Tile version {major}.{minor}.{tag}, {supported}", at=at + 2)
    return Version(major, minor)


class Tables:
    """The tables to which bodies refer by index."""

    def __init__(self, version: Version, sections: dict[int, Cursor], whole: Cursor) -> None:
        self.version = version
        file = whole.file

        def slices(number: int, width: int, noun: str) -> Slices:
            section = sections.get(number)
            return Slices.read(section, width, noun) if section is not None else Slices(file)

        if STRING not in sections:
            whole.fail("the file has no string section", at=len(MAGIC) + 4)
        self.strings = Strings(slices(STRING, 4, "strings"))
        self.types = TypeTable(slices(TYPE, 4, "types"), version)
        self.constants = slices(CONSTANT, 8, "constants")
        self.debug = DebugTable(sections.get(DEBUG), self.strings, version, file)
        self._elements: dict[tuple[int, Type], DenseElementsAttr] = {}

    def constant(self, index: int, type: Type | None, c: Cursor) -> DenseElementsAttr:
        """Constant number `index` as the elements of a tile of `type`; `c` is the position of the reference."""
        key = (index, type)
        known = self._elements.get(key)  # type: ignore[arg-type]
        if known is None:
            if index >= len(self.constants):
                c.fail(f"constant {index} is out of range: there are only {len(self.constants)}")
            if not isinstance(type, TileType):
                c.fail(f"a constant must be a tile, not '{type}'")
            known = self._elements[index, type] = read_elements(type, self.constants.cursor(index))
        return known


class Reader:
    """One file being read.  With `locate`, every op's location also has its byte offset."""

    def __init__(self, data: bytes, file: str, *, locate: bool = False) -> None:
        self.locate = locate
        self.cursor = Cursor(data, 0, file)
        self.version, self.sections = read_sections(self.cursor)
        self.tables = Tables(self.version, self.sections, self.cursor)
        self.plans = plans(self.version)

    def module(self, keep_module: bool | None = None) -> Operation:
        """The program as a `builtin.module`; see `tessera_tools.bytecode.read_bytecode`."""
        block = Block()
        for op in self._globals():
            block.append(op)
        for op in self._functions():
            block.append(op)
        producer = self._producer()
        if keep_module or (keep_module is None and producer is not None):
            attributes: dict[str, Attribute] = {"sym_name": StringAttr(DEFAULT_MODULE_NAME)}
            if producer is not None:
                attributes["producer"] = StringAttr(producer)
            inner = Module.create(attributes=attributes, regions=[Region([block])])
            block = Block()
            block.append(inner)
        return BuiltinModule.create(regions=[Region([block])])

    def _producer(self) -> str | None:
        section = self.sections.get(PRODUCER)
        return self.tables.strings.read(section) if section is not None else None

    # -- globals

    def _globals(self) -> Iterator[Operation]:
        c = self.sections.get(GLOBAL)
        if c is None:
            return
        extended = self.version.minor >= 3
        for _ in range(c.count("globals", 6 if extended else 4)):
            at = c.offset
            name = self.tables.strings.read(c)
            if not name:
                c.fail("the name of a global is empty")
            type = self.tables.types.read(c)
            attributes: dict[str, Attribute] = {
                "sym_name": StringAttr(name),
                "value": self.tables.constant(c.varint(), type, c),
            }
            alignment = c.varint()
            if alignment >> 63:
                c.fail(f"the alignment {alignment} does not fit in 63 bits")
            if alignment:
                attributes["alignment"] = IntegerAttr(alignment, I64)
            if extended:
                visibility, constant = c.varint(), c.varint()
                if visibility >= len(SymbolVisibilityAttr.cases):
                    c.fail(f"{visibility} is not a symbol visibility")
                if visibility:
                    attributes["symbol_visibility"] = SymbolVisibilityAttr(
                        SymbolVisibilityAttr.cases[visibility]
                    )
                if constant:
                    attributes["constant"] = UNIT
            op = Global.create(attributes=attributes)
            if self.locate:
                op.location = located(op.location, self.cursor.file, at)
            yield op

    # -- functions

    def _functions(self) -> Iterator[Operation]:
        c = self.sections.get(FUNCTION)
        if c is None:
            return
        for _ in range(c.count("functions", 5)):
            yield self._function(c)

    def _function(self, c: Cursor) -> Operation:
        at = c.offset
        name = self.tables.strings.read(c)
        if not name:
            c.fail("the name of a function is empty")
        signature = self.tables.types.read(c)
        if not isinstance(signature, FunctionType):
            c.fail(f"the signature of function '{name}' is not a function type, but '{signature}'")
        flags = c.byte()
        if not flags & KERNEL:
            c.fail(f"function '{name}' is not a kernel; only kernels are supported", at=c.pos - 1)
        if flags & ~(PRIVATE | KERNEL | HAS_HINTS):
            c.fail(f"unknown flags {flags:#x} of function '{name}'", at=c.pos - 1)
        locations = self.tables.debug.locations(c.varint(), c)
        attributes: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": TypeAttr(signature),
        }
        if flags & HAS_HINTS or self.version.minor >= 5:
            hints = coding.read_tagged(self.tables, c)
            if not isinstance(hints, OptimizationHintsAttr):
                c.fail(f"expected the optimization hints of function '{name}', found '{hints}'")
            if hints.value.entries:
                attributes["optimization_hints"] = hints
        if self.version.minor >= 5:
            argument_attributes = coding.read_tagged(self.tables, c)
            if not isinstance(argument_attributes, ArrayAttr):
                c.fail(
                    f"expected the argument attributes of function '{name}', found '{argument_attributes}'"
                )
            if any(not isinstance(a, DictionaryAttr) or a.entries for a in argument_attributes):
                attributes["arg_attrs"] = argument_attributes
        length = c.varint()
        base = c.offset
        body = Cursor(c.take(length, f"the body of function '{name}'"), base, c.file)
        block = Block(signature.inputs)
        location = next(locations)
        op = Entry.create(attributes=attributes, regions=[Region([block])], location=location)
        if self.locate:
            op.location = located(location, self.cursor.file, at)
        BodyReader(self, body, locations).run(block)
        return op


class _Open:
    """An op whose regions are being read."""

    __slots__ = ("block", "blocks", "left", "op", "outside", "region")

    def __init__(self, op: Operation, outside: int) -> None:
        self.op = op
        self.outside = outside
        """The number of values before the op's regions."""
        self.region = -1
        self.blocks = 0
        """Blocks still to be read of the current region."""
        self.block: Block | None = None
        self.left = 0
        """Ops still to be read of the current block."""


class BodyReader:
    """The body of one function."""

    def __init__(self, reader: Reader, c: Cursor, locations: Iterator[Location]) -> None:
        self.tables = reader.tables
        self.plans = reader.plans
        self.version = reader.version
        self.locate = reader.locate
        self.c = c
        self.next_location = locations.__next__
        self.values: list[Value] = []

    def run(self, block: Block) -> None:
        """Read all ops into the function's block."""
        c, values = self.c, self.values
        values += block.arguments
        size = len(c.data)
        while c.pos < size:
            op = self.operation()
            block.append(op)
            if op.regions:
                self._regions(op)

    def _regions(self, outermost: Operation) -> None:
        """Read the regions of an op, and of all nested ops; then define its results."""
        c, values = self.c, self.values
        stack = [self._open(outermost)]
        while stack:
            top = stack[-1]
            block = top.block
            while top.left:
                top.left -= 1
                op = self.operation()
                assert block is not None
                block.append(op)
                if op.regions:
                    if len(stack) >= MAX_REGIONS:
                        c.fail(f"regions nest deeper than {MAX_REGIONS} levels")
                    stack.append(self._open(op))
                    break
            else:
                del values[top.outside :]
                if top.blocks:
                    top.blocks -= 1
                    top.block, top.left = self._block(top.op.regions[top.region])
                elif top.region + 1 < len(top.op.regions):
                    top.region += 1
                    top.blocks = c.count("blocks", 2)
                else:
                    stack.pop()
                    values += top.op.results

    def _open(self, op: Operation) -> _Open:
        c = self.c
        at = c.pos
        count = c.varint()
        if count != len(op.regions):
            c.fail(f"'{op.name}' has {len(op.regions)} regions, found {count}", at=at)
        return _Open(op, len(self.values))

    def _block(self, region: Region) -> tuple[Block, int]:
        """Read a block's arguments and its number of ops."""
        c = self.c
        block = Block([self.tables.types.read(c) for _ in range(c.count("block arguments"))])
        region.append(block)
        self.values += block.arguments
        at = c.pos
        count = c.count("operations")
        if count == 0:
            c.fail("a block has no operations; expected at least a terminator", at=at)
        return block, count

    def operation(self) -> Operation:
        """Read one op, with empty regions; define its results, unless its regions must be read first."""
        c, tables = self.c, self.tables
        at = c.pos
        number = c.varint()
        plan = self.plans.get(number)
        if plan is None:
            self._refuse(number, at)
        if plan.sized_results:
            types = [tables.types.read(c) for _ in range(c.count("result types"))]
        elif plan.result_count == 1:
            types = [tables.types.read(c)]
        else:
            types = [tables.types.read(c) for _ in range(plan.result_count)]
        types += plan.hidden_results
        flags = c.varint() if plan.has_flags else 0
        attributes: dict[str, Attribute] = {}
        for key, codec, bit, default in plan.attributes:
            if bit and not flags & bit:
                continue
            if codec is None:
                attributes[key] = UNIT
            else:
                value = codec.read(tables, c, types[0] if types else None)
                if value is not None and value is not default:
                    attributes[key] = value
        operands = self._segments(plan, flags, attributes) if plan.segments else self._operands(plan)
        location = self.next_location()
        if self.locate:
            location = located(location, c.file, c.base + at)
        regions = [Region() for _ in range(plan.region_count)] if plan.region_count else ()
        op_class = plan.op_class
        op = op_class.__new__(op_class)
        op._init(operands, types, attributes, regions, (), location)
        if not regions:
            # Results that a later version added are not values of this file.
            hidden = len(plan.hidden_results)
            self.values += op.results[:-hidden] if hidden else op.results
        return op

    def _operands(self, plan: OpPlan) -> list[Value]:
        """The operands of an op with at most one field of variable length."""
        c, values = self.c, self.values
        count = c.count("operands") if plan.counted else len(plan.operands)
        data, pos = c.data, c.pos
        operands: list[Value] = []
        try:
            for _ in range(count):
                # Nearly every number is below 128, most others below 16384.
                number = data[pos]
                pos += 1
                if number > 127:
                    high = data[pos]
                    pos += 1
                    if high > 127:
                        number, pos = self._long(pos - 2)
                    else:
                        number = number & 127 | high << 7
                operands.append(values[number])
        except IndexError:
            # Repeat slowly to find the error: end of data, or an undefined value.
            while c.varint() < len(values):
                pass
            self._undefined()
        c.pos = pos
        return operands

    def _long(self, at: int) -> tuple[int, int]:
        """The varint at position `at`, and the position after it; does not move the cursor."""
        c = self.c
        here, c.pos = c.pos, at
        number = c.varint()
        after, c.pos = c.pos, here
        return number, after

    def _segments(self, plan: OpPlan, flags: int, attributes: dict[str, Attribute]) -> list[Value]:
        """The operands of an op with several fields of variable length; their sizes become an attribute."""
        c, values = self.c, self.values
        operands: list[Value] = []
        sizes: list[int] = []
        try:
            for _, arity, bit in plan.operands:
                if arity == "single":
                    count = 1
                elif arity == "optional":
                    count = 1 if flags & bit else 0
                else:
                    count = c.count("operands")
                for _ in range(count):
                    operands.append(values[c.varint()])
                sizes.append(count)
        except IndexError:
            self._undefined()
        # Fields that this version lacks are last.
        sizes += [0] * (len(plan.op_class.definition.operands) - len(sizes))
        key = tuple(sizes)
        known = _SEGMENTS.get(key)
        if known is None:
            known = DenseArrayAttr(I32, key)
            if len(_SEGMENTS) < 1000:
                _SEGMENTS[key] = known
        attributes["operandSegmentSizes"] = known
        return operands

    def _undefined(self) -> NoReturn:
        self.c.fail(f"use of an undefined value; there are {len(self.values)}", at=self.c.pos - 1)

    def _refuse(self, number: int, at: int) -> NoReturn:
        since = _SINCE.get(number)
        if since is not None and since > self.version.minor:
            self.c.fail(
                f"opcode {number} ('{_WORDS[number]}') was added in 13.{since}, but the file has version "
                f"{self.version}",
                at=at,
            )
        if since is not None:
            self.c.fail(f"opcode {number} ('{_WORDS[number]}') is not allowed in a function", at=at)
        if number in PREVIEW_OPCODES:
            self.c.fail(f"opcode {number} belongs to a preview feature, which has no stable encoding", at=at)
        self.c.fail(f"unknown opcode {number}", at=at)
