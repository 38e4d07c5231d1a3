"""MLIR bytecode in, IR out.

    bytes ──Container──▶ strings, dialects, op names ──EntryTable──▶ attributes and types, on first use
                                                      ──IR section──▶ ops, by an explicit stack of regions

Values are numbered in the order of definition in each isolated region; operands may refer to later values.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.bytecode.locate import located
from tessera_tools.dialects.builtin import Module
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DictionaryAttr
from tessera_tools.ir.core import Block, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.location import UNKNOWN, FileLineColLoc, Location
from tessera_tools.ir.types import NONE
from tessera_tools.mlir_bytecode.container import Container, OpName, read_section
from tessera_tools.mlir_bytecode.cursor import Cursor
from tessera_tools.mlir_bytecode.entries import OWN_PRODUCER, EntryTable
from tessera_tools.mlir_bytecode.properties import UPSTREAM, has_properties, read_properties, without_defaults
from tessera_tools.mlir_bytecode.resources import Resources
from tessera_tools.mlir_bytecode.use_lists import CANONICAL, UseListOrder, apply_orders, read_orders
from tessera_tools.mlir_bytecode.version import (
    ELIDED_LOCATIONS,
    HAS_ATTRIBUTES,
    HAS_OPERANDS,
    HAS_PROPERTIES,
    HAS_REGIONS,
    HAS_RESULTS,
    HAS_SUCCESSORS,
    HAS_USE_LISTS,
    IR,
    LAZY_REGIONS,
    NATIVE_PROPERTIES,
    SECTION_NAMES,
    USE_LIST_ORDERS,
)
from tessera_tools.opdef import Op
from tessera_tools.opdef.dialect import find_dialect, find_op
from tessera_tools.parser.lexical import MAX_NESTING
from tessera_tools.records import dataclass, field

MAX_ENTRIES = 1 << 20
"""How many attributes the ops of a small file may have in all."""


PRODUCERS = ("MLIR22.", OWN_PRODUCER)
"""How the producer begins of files whose properties are encoded as `properties.py` says: other releases of LLVM have
other properties."""


class _Scope:
    """The values of an isolated region. `None` is one that is neither defined nor used yet."""

    __slots__ = ("next", "values")

    def __init__(self) -> None:
        self.values: list[Value | None] = []
        self.next: list[int] = []
        """For each open region, the number of the next value that it defines."""


@dataclass(slots=True)
class _Regions:
    """The regions of one op being read."""

    regions: list[Region]
    c: Cursor
    isolated: bool
    number: int = 0
    """The number of the current region."""
    value_count: int = 0
    blocks: list[Block] = field(default_factory=list)
    block: int = -1
    """The current block; -1 before the region's first."""
    ops_left: int = 0
    outermost: bool = False
    """The block of the file, whose values have no numbers."""


class Reader:
    """One file being read. With `locate`, every op's location also has its byte offset."""

    def __init__(
        self, data: bytes, file: str, *, allow_unregistered: bool = False, locate: bool = False
    ) -> None:
        self.container = Container(data, file)
        self.version = self.container.version
        self.allow_unregistered = allow_unregistered
        self.locate = locate
        resources = Resources(self.container)
        self.external = resources.external
        self.entries = EntryTable(self.container, resources, allow_unregistered=allow_unregistered)
        self.scopes: list[_Scope] = []
        self.orders: dict[Value, UseListOrder] = {}
        self.undefined = 0
        """How many values are used and not defined yet."""
        self.classes: dict[int, type[Op] | None] = {}
        self._parts = len(data)
        """How many more regions, blocks and values there may be: each takes at least a byte."""
        self._entries = MAX_ENTRIES + 4 * len(data)
        """How many more entries the dictionaries of all ops may have: ops share dictionaries."""

    def module(self, *, implicit_module: bool = True) -> Operation:
        """The file's `builtin.module`; other top-level ops are put into a new one, or without `implicit_module`, only
        if they are several."""
        c = self.container.ir
        block = Block()
        stack = [_Regions([Region([block])], c, True, blocks=[block], block=0, outermost=True)]
        self.scopes.append(_Scope())
        self.scopes[-1].next.append(0)
        self._block_header(stack[0])
        while stack:
            self._continue(stack)
        if self.undefined:
            c.fail(f"{self.undefined} values are used, but not defined")
        if c.remaining:
            c.fail(f"{c.remaining} unexpected bytes after the top-level operations")
        first = block.first_op
        if (
            first is not None
            and first is block.last_op
            and (isinstance(first, Module) or not implicit_module)
        ):
            first.detach()
            root: Operation = first
        else:
            region = block.parent
            assert region is not None
            region.parent = None
            root = Module.create(regions=[region], location=FileLineColLoc(c.file, 0, 0))
        if self.orders:
            apply_orders(root, self.orders, c)
        return root

    # -- regions

    def _continue(self, stack: list[_Regions]) -> None:
        """Read on in the innermost regions, to an op with regions or to their end."""
        state = stack[-1]
        while state.number < len(state.regions):
            if state.block < 0 and not self._begin_region(state):
                state.number += 1
                continue
            while True:
                while state.ops_left:
                    state.ops_left -= 1
                    nested = self._operation(state)
                    if nested is not None:
                        if len(stack) >= MAX_NESTING:
                            state.c.fail(f"regions nest deeper than {MAX_NESTING} levels")
                        stack.append(nested)
                        return
                state.block += 1
                if state.block == len(state.blocks):
                    break
                self._block_header(state)
            scope = self.scopes[-1]
            kept = len(scope.values) - state.value_count
            if any(type(value) is Value for value in scope.values[kept:]):
                state.c.fail("a value is used in a region, but not defined there")
            del scope.values[kept:]
            scope.next.pop()
            state.block = -1
            state.number += 1
        stack.pop()
        if state.isolated:
            self.scopes.pop()
            if stack and state.c is not stack[-1].c and state.c.remaining:
                state.c.fail(f"{state.c.remaining} unexpected bytes after the regions of an operation")

    def _spend(self, count: int, noun: str, c: Cursor, at: int) -> int:
        """Count regions, blocks or values; all of them together cannot be more than the bytes of the file."""
        self._parts -= count
        if self._parts < 0:
            c.fail(f"{count} {noun} cannot fit in the file", at=at)
        return count

    def _counted(self, noun: str, c: Cursor) -> int:
        at = c.pos
        return self._spend(c.varint(), noun, c, at)

    def _dictionary(self, found: DictionaryAttr, c: Cursor) -> dict[str, Attribute]:
        self._entries -= len(found.entries)
        if self._entries < 0:
            c.fail("the operations have too many attributes for a file of this size")
        return dict(found.entries)

    def _begin_region(self, state: _Regions) -> bool:
        """Read the counts of blocks and values, and the first block's header; False if the region is empty."""
        c = state.c
        count = self._counted("blocks", c)
        if not count:
            return False
        state.value_count = self._counted("values", c)
        region = state.regions[state.number]
        state.blocks = [region.append(Block()) for _ in range(count)]
        scope = self.scopes[-1]
        scope.next.append(len(scope.values))
        scope.values += [None] * state.value_count
        state.block = 0
        self._block_header(state)
        return True

    def _block_header(self, state: _Regions) -> None:
        c = state.c
        at = c.pos
        count, has_arguments = c.flagged()
        if 3 * count > c.remaining:
            c.fail(f"{count} operations cannot fit in the {c.remaining} remaining bytes", at=at)
        state.ops_left = count
        if not has_arguments:
            return
        block = state.blocks[state.block]
        for _ in range(c.count("block arguments")):
            at = c.pos
            location: Location = UNKNOWN
            if self.version >= ELIDED_LOCATIONS:
                index, has_location = c.flagged()
            else:
                index, has_location = c.varint(), True
            type = self.entries.type(c, index, at)
            if has_location:
                location = self.entries.attribute(c, Location, "a location")
            block.add_argument(type, location)
        self._define(block.arguments, c)
        if self.version >= USE_LIST_ORDERS and c.byte():
            self._orders(block.arguments, c)

    # -- values

    def _define(self, found: Sequence[Value], c: Cursor) -> None:
        scope = self.scopes[-1]
        first = scope.next[-1]
        after = first + len(found)
        if after > len(scope.values):
            c.fail(
                f"values {first} to {after - 1} are defined, but the region has only {len(scope.values)} in all"
            )
        for number, value in enumerate(found, first):
            forward = scope.values[number]
            if forward is not None:
                forward.replace_all_uses_with(value)
                self.undefined -= 1
                self.orders[value] = CANONICAL
            scope.values[number] = value
        scope.next[-1] = after

    def _operands(self, c: Cursor) -> list[Value]:
        values = self.scopes[-1].values
        found: list[Value] = []
        for _ in range(c.count("operands")):
            number = c.index(len(values), "value")
            value = values[number]
            if value is None:
                value = values[number] = Value(NONE)
                self.undefined += 1
            found.append(value)
        return found

    def _orders(self, values: Sequence[Value], c: Cursor) -> None:
        at = c.offset
        for number, order in read_orders(c, len(values)).items():
            self.orders[values[number]] = UseListOrder(at, *order)

    # -- operations

    def _operation(self, state: _Regions) -> _Regions | None:
        """Read one op at the end of the current block; its regions are returned to be read next."""
        c = state.c
        at = c.pos
        number = c.index(len(self.container.op_names), "operation name")
        name = self.container.op_names[number]
        if number not in self.classes:
            self.classes[number] = self._class(name, c, at)
        op_class = self.classes[number]
        mask = c.byte()
        location = self.entries.attribute(c, Location, "a location")
        if self.locate:
            location = located(location, c.file, c.base + at)
        attributes: dict[str, Attribute] = {}
        if mask & HAS_ATTRIBUTES:
            attributes = self._dictionary(
                self.entries.attribute(c, DictionaryAttr, "a dictionary attribute"), c
            )
        properties = self._properties(name, op_class, bool(mask & HAS_PROPERTIES), c)
        types: list[Type] = []
        if mask & HAS_RESULTS:
            for _ in range(c.count("results")):
                here = c.pos
                types.append(self.entries.type(c, c.varint(), here))
        operands = self._operands(c) if mask & HAS_OPERANDS else []
        successors: list[Block] = []
        if mask & HAS_SUCCESSORS:
            successors = [
                state.blocks[c.index(len(state.blocks), "successor")] for _ in range(c.count("successors"))
            ]
        orders_at = c.offset
        orders = (
            read_orders(c, len(types)) if self.version >= USE_LIST_ORDERS and mask & HAS_USE_LISTS else {}
        )
        region_count, isolated = 0, False
        if mask & HAS_REGIONS:
            here = c.pos
            region_count, isolated = c.flagged()
            self._spend(region_count, "regions", c, here)
        if mask & ~0x7F:
            c.fail(f"unknown parts of an operation: mask {mask:#x}", at=at)
        regions = [Region() for _ in range(region_count)]
        if op_class is None:
            op: Operation = UnregisteredOp.named(
                name.name, operands, types, attributes, regions, successors, location, properties=properties
            )
        else:
            for key in properties.keys() & attributes.keys():
                c.fail(f"'{key}' is both a property and an attribute of '{name.name}'", at=at)
            held = without_defaults(op_class, {**attributes, **properties})
            op = op_class.create(operands, types, held, regions, successors, location)
        state.blocks[state.block].append(op)
        if op.results and not state.outermost:
            self._define(op.results, c)
        for index, order in orders.items():
            self.orders[op.results[index]] = UseListOrder(orders_at, *order)
        if not regions:
            return None
        inner = c
        if isolated:
            self.scopes.append(_Scope())
            if self.version >= LAZY_REGIONS:
                here = c.pos
                section, inner = read_section(c)
                if section != IR:
                    c.fail(f"expected a section with regions, found {SECTION_NAMES[section]}", at=here)
        return _Regions(regions, inner, isolated)

    def _class(self, name: OpName, c: Cursor, at: int) -> type[Op] | None:
        """The class of an op; None for an unregistered one, if such are allowed."""
        found = find_op(name.name)
        if found is not None:
            return found
        prefix = name.name.partition(".")[0]
        dialect = find_dialect(prefix)
        advice = "use --allow-unregistered-dialect to allow it"
        if dialect is None:
            problem = f"op '{name.name}' has unregistered dialect '{prefix}'; {advice}"
        elif dialect.is_complete:
            problem = (
                f"unregistered operation '{name.name}' found in dialect ('{prefix}') that does not allow unknown "
                "operations"
            )
        else:
            problem = f"unknown op '{name.name}'; {advice}"
        if not self.allow_unregistered or (dialect is not None and dialect.is_complete):
            c.fail(problem, at=at)
        return None

    def _properties(
        self, name: OpName, op_class: type[Op] | None, present: bool, c: Cursor
    ) -> dict[str, Attribute]:
        """The properties of an op."""
        upstream = name.registered and name.name.partition(".")[0] in UPSTREAM
        if not present:
            if self.version >= NATIVE_PROPERTIES and upstream and op_class is not None:
                self._expect_none(op_class, c)
            return {}
        at = c.pos
        if self.version < NATIVE_PROPERTIES:
            c.fail(f"'{name.name}' has properties, which version {self.version} does not have", at=at)
        entry = self.container.properties[c.index(len(self.container.properties), "properties")]
        e = self.entries.reader(entry.inside(entry.data, entry.base))
        if not name.registered:
            found = e.attribute(DictionaryAttr, "a dictionary attribute")
            if e.c.remaining:
                e.c.fail(f"{e.c.remaining} unexpected bytes after the properties of '{name.name}'")
            return self._dictionary(e.needed(found), c)
        if op_class is None or not upstream:
            c.fail(
                f"the properties of '{name.name}' are encoded as its producer declares them, which is not known "
                "here; write bytecode of version 4 or older (--emit-bytecode-version=4)",
                at=at,
            )
        producer = self.container.producer
        if not producer.startswith(PRODUCERS):
            c.fail(
                f"the properties of '{name.name}' are encoded as its producer, '{producer}', declares them; only "
                "those of MLIR 22 are known; write bytecode of version 4 or older (--emit-bytecode-version=4)",
                at=at,
            )
        return read_properties(e, op_class, self.version)

    def _expect_none(self, op_class: type[Op], c: Cursor) -> None:
        if has_properties(op_class, self.version):
            c.fail(f"'{op_class.name}' has no properties; expected them")
