"""The numbers of everything that a file refers to by number.

    ops ──▶ op names, attributes, types, with what their encodings refer to ──▶ most used first, grouped by dialect

As upstream: frequent entries get the numbers of one byte, and within these the entries of a dialect are together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseResourceAttr, DictionaryAttr, OpaqueAttr
from tessera_tools.ir.core import Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.location import UNKNOWN
from tessera_tools.ir.types import OpaqueType
from tessera_tools.mlir_bytecode.entries import FORMS
from tessera_tools.mlir_bytecode.forms import EntryWriter, Form
from tessera_tools.mlir_bytecode.properties import UPSTREAM, Part, merged, property_values
from tessera_tools.mlir_bytecode.version import ELIDED_LOCATIONS, NATIVE_PROPERTIES


def dialect_of(value: Attribute) -> str:
    """The dialect of an attribute or a type."""
    if isinstance(value, OpaqueAttr | OpaqueType):
        return value.dialect
    return value.name.partition(".")[0]


def form_of(value: Attribute) -> Form | None:
    """The encoding of an attribute or a type; None if it is written as text."""
    if isinstance(value, OpaqueAttr | OpaqueType):
        return None
    forms = FORMS.get((dialect_of(value), isinstance(value, Type)))
    return forms.of(value) if forms is not None else None


def resources_in(value: Attribute) -> Iterable[DenseResourceAttr]:
    """The resources that an attribute written as text mentions."""
    work: list[Attribute] = [value]
    seen: set[Attribute] = set()
    while work:
        item = work.pop()
        if isinstance(item, tuple):
            work += item
        elif isinstance(item, Attribute) and item not in seen:
            seen.add(item)
            if isinstance(item, DenseResourceAttr):
                yield item
            work += item.parameters()


KeyT = TypeVar("KeyT")


class _Table(Generic[KeyT]):
    """Entries with their dialects and how often they are used."""

    def __init__(self, dialects: dict[str, int]) -> None:
        self.dialects = dialects
        self.uses: dict[KeyT, int] = {}
        self.dialect: dict[KeyT, str] = {}
        self.order: list[KeyT] = []
        self.number: dict[KeyT, int] = {}

    def add(self, value: KeyT, dialect: str) -> bool:
        """Count a use; True if it is the first."""
        if value in self.uses:
            self.uses[value] += 1
            return False
        self.uses[value] = 1
        self.dialect[value] = dialect
        self.dialects.setdefault(dialect, len(self.dialects))
        return True

    def finish(self) -> None:
        """Decide the order, and number the entries."""
        by_use = sorted(self.uses, key=self.uses.__getitem__, reverse=True)
        start, first, size = 0, 0, 1 << 7
        while start < len(by_use):
            # As many entries as have numbers of one more byte.
            part = by_use[start : start + size]
            part.sort(key=lambda v, first=first: ((n := self.dialects[self.dialect[v]]) != first, n))
            first = self.dialects[self.dialect[part[-1]]]
            self.order += part
            start += size
            size <<= 7
        self.number = {value: number for number, value in enumerate(self.order)}

    def groups(self) -> Iterable[tuple[int, list[KeyT]]]:
        """The entries in order, in groups of one dialect; with the dialect's number."""
        group: list[KeyT] = []
        for value in self.order:
            if group and self.dialect[group[-1]] != self.dialect[value]:
                yield self.dialects[self.dialect[group[-1]]], group
                group = []
            group.append(value)
        if group:
            yield self.dialects[self.dialect[group[-1]]], group


class Written:
    """The parts of an op that its encoding depends on: the attributes, and the properties if they are separate."""

    __slots__ = ("attributes", "native", "properties")

    def __init__(self, op: Operation, version: int) -> None:
        attributes = op.attributes
        self.properties: DictionaryAttr | None = None
        """The properties of an op that upstream does not register."""
        self.native: list[tuple[Part, Attribute | None]] | None = None
        """Those of one that it registers."""
        if isinstance(op, UnregisteredOp):
            if version < NATIVE_PROPERTIES:
                attributes = {**op.properties, **attributes}
            elif op.properties:
                self.properties = DictionaryAttr.of(op.properties)
        elif version < NATIVE_PROPERTIES:
            attributes = merged(op, version) if is_upstream(op) else attributes
        else:
            if is_upstream(op):
                self.native = property_values(op, version) or None
                keys = {part.key for part, _ in self.native or ()}
            else:
                # Defaults are written, as in the generic form.
                keys = op.inherent_attributes
                inherent = {k: v for k, v in attributes.items() if k in keys}
                for field in op.definition.attributes:  # type: ignore[attr-defined]
                    if field.default is not None:
                        inherent.setdefault(field.key, field.default)
                self.properties = DictionaryAttr.of(inherent) if inherent else None
            attributes = {k: v for k, v in attributes.items() if k not in keys}
        self.attributes = DictionaryAttr.of(attributes) if attributes else None

    def referenced(self) -> Iterable[Attribute]:
        """The attributes that have numbers."""
        if self.attributes is not None:
            yield self.attributes
        if self.properties is not None:
            yield self.properties
        for part, value in self.native or ():
            if value is not None and part.coding in ("attribute", "optional"):
                yield value


def is_upstream(op: Operation) -> bool:
    """True if upstream registers the op."""
    return not isinstance(op, UnregisteredOp) and op.name.partition(".")[0] in UPSTREAM


class Numbering:
    """All numbers of a file with the op `root`."""

    def __init__(self, root: Operation, version: int) -> None:
        self.version = version
        self.dialects: dict[str, int] = {}
        self.attributes = _Table(self.dialects)
        self.types = _Table(self.dialects)
        self.op_names = _Table(self.dialects)
        self.resources: dict[DenseResourceAttr, int] = {}
        self.values: dict[Value, int] = {}
        self.written: dict[Operation, Written] = {}
        self.isolated = _isolated(root)
        self._op(root)
        work: list[tuple[Region, int]] = [(region, 0) for region in root.regions]
        self.value_counts: dict[Region, int] = {}
        while work:
            region, first = work.pop()
            self._next = first
            for block in region.blocks:
                for argument in block.arguments:
                    self._value(argument)
                    if argument.location is not UNKNOWN or version < ELIDED_LOCATIONS:
                        self._add([argument.location])
                    self._add([argument.type])
                for op in block:
                    self._op(op)
            self.value_counts[region] = self._next - first
            for block in region.blocks:
                for op in block:
                    if op.regions:
                        start = 0 if op in self.isolated else self._next
                        work += [(nested, start) for nested in op.regions]
        for table in (self.attributes, self.types, self.op_names):
            table.finish()

    _next = 0

    def of(self, value: Attribute) -> int:
        """The number of an attribute or a type."""
        return (self.types if isinstance(value, Type) else self.attributes).number[value]

    def _value(self, value: Value) -> None:
        self.values[value] = self._next
        self._next += 1

    def _op(self, op: Operation) -> None:
        self.op_names.add((op.name, is_upstream(op)), op.name.partition(".")[0])
        for result in op.results:
            self._value(result)
            self._add([result.type])
        written = self.written[op] = Written(op, self.version)
        self._add([*written.referenced(), op.location])

    def _add(self, values: Sequence[Attribute]) -> None:
        """Number attributes and types, each before those that it refers to."""
        work = list(reversed(values))
        while work:
            value = work.pop()
            table = self.types if isinstance(value, Type) else self.attributes
            if not table.add(value, dialect_of(value)):
                continue
            form = form_of(value)
            if form is None:
                for resource in resources_in(value):
                    self._resource(resource)
                continue
            found: list[Attribute] = []

            def meet(part: Attribute, found: list[Attribute] = found) -> int:
                found.append(part)
                return 0

            form.write(EntryWriter(meet, lambda text: 0, self._resource), value)
            work += reversed(found)

    def _resource(self, resource: DenseResourceAttr) -> int:
        self.dialects.setdefault("builtin", len(self.dialects))
        return self.resources.setdefault(resource, len(self.resources))


def _isolated(root: Operation) -> set[Operation]:
    """The ops with regions that use no value from outside."""
    ops = [root, *root.walk()]
    depths: dict[Region, int] = {}
    """How many ops are around each region."""
    for op in ops:
        block = op.parent if op is not root else None
        depth = depths[block.parent] + 1 if block is not None and block.parent is not None else 0
        for region in op.regions:
            depths[region] = depth
    outermost: dict[Operation, int] = {}
    """The depth of the outermost region whose values are used inside an op."""
    found: set[Operation] = set()
    for op in reversed(ops):
        lowest = outermost.get(op, len(ops))
        if op.regions and lowest >= depths[op.regions[0]]:
            found.add(op)
        for use in op.op_operands:
            home = use.value.owner_block
            if home is not None and home.parent is not None:
                lowest = min(lowest, depths.get(home.parent, -1))
        around = op.parent_op
        if around is not None and op is not root:
            outermost[around] = min(outermost.get(around, lowest), lowest)
    return found
