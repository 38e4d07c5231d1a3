"""How attributes and types are encoded: a code, then members. One declaration is read and written.

    Form(4, (STRING_ATTRIBUTE,), build=lambda s: SymbolRefAttr(s.value), split=lambda a: (StringAttr(a.root),))

`EntryReader` reads the members of one entry; attributes and types that are not read yet are in its `missing`, and the
entry is read again when they are. `EntryWriter` writes members, or finds the attributes and types among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseResourceAttr, StringAttr
from tessera_tools.ir.location import Location
from tessera_tools.mlir_bytecode.cursor import Cursor, Writer

AttributeT = TypeVar("AttributeT", bound=Attribute)
T = TypeVar("T")


Kinds: TypeAlias = type[AttributeT] | tuple[type[AttributeT], ...]
"""A class of attributes or types, or several."""


class Entries(Protocol):
    """What a reader of entries asks of the tables."""

    def known(self, is_type: bool, index: int, c: Cursor) -> Attribute | None:
        """The attribute or type, None if it is not read yet; an error at the cursor if there is none."""
        ...

    def measure(self, is_type: bool, index: int) -> tuple[int, int]:
        """Nesting, and length when written out, of an attribute or type that is read."""
        ...

    def string(self, c: Cursor) -> str: ...

    def resource(self, c: Cursor) -> tuple[str, str | None]: ...

    def distinct(self) -> int: ...


class Incomplete(Exception):
    """What follows in an entry depends on one that is not read yet."""


class EntryReader:
    """One entry being read."""

    __slots__ = ("c", "depth", "missing", "size", "tables")

    def __init__(self, tables: Entries, c: Cursor) -> None:
        self.tables = tables
        self.c = c
        self.missing: list[tuple[bool, int]] = []
        """Whether it is a type, and the index, of what has to be read first."""
        self.depth = 0
        self.size = len(c.data)

    def _reference(self, is_type: bool, index: int, at: int) -> Attribute | None:
        here, self.c.pos = self.c.pos, at
        found = self.tables.known(is_type, index, self.c)
        self.c.pos = here
        if found is None:
            self.missing.append((is_type, index))
            return None
        depth, size = self.tables.measure(is_type, index)
        self.depth = max(self.depth, depth)
        self.size += size
        return found

    def _of(self, found: Attribute | None, kinds: Kinds[AttributeT], noun: str, at: int) -> AttributeT | None:
        if found is not None and not isinstance(found, kinds):
            self.c.fail(f"expected {noun}, found '{found}'", at=at)
        return found

    def attribute(self, kinds: Kinds[AttributeT], noun: str = "an attribute") -> AttributeT | None:
        """An attribute of a class; None if it is not read yet."""
        at = self.c.pos
        return self._of(self._reference(False, self.c.varint(), at), kinds, noun, at)

    def optional_attribute(self, kinds: Kinds[AttributeT], noun: str = "an attribute") -> AttributeT | None:
        """An attribute, or None."""
        at = self.c.pos
        index, present = self.c.flagged()
        return self._of(self._reference(False, index, at) if present else None, kinds, noun, at)

    def type(self, kinds: Kinds[AttributeT], noun: str = "a type") -> AttributeT | None:
        """A type of a class; None if it is not read yet."""
        at = self.c.pos
        return self._of(self._reference(True, self.c.varint(), at), kinds, noun, at)

    def needed(self, value: T | None) -> T:
        """A value on which the meaning of what follows depends."""
        if value is None:
            raise Incomplete
        return value

    def fail(self, message: str) -> NoReturn:
        self.c.fail(message, at=0)


class EntryWriter:
    """The members of an entry being written to `w`. `numbers` may also only collect what the entry refers to."""

    __slots__ = ("numbers", "resource", "string", "w")

    def __init__(
        self,
        numbers: Callable[[Attribute], int],
        string: Callable[[str], int],
        resource: Callable[[DenseResourceAttr], int],
    ) -> None:
        self.w = Writer()
        self.numbers = numbers
        self.string = string
        self.resource = resource

    def reference(self, value: Attribute) -> None:
        """The number of an attribute or a type."""
        self.w.varint(self.numbers(value))

    def optional_reference(self, value: Attribute | None) -> None:
        """The number of an attribute, or that there is none."""
        if value is None:
            self.w.varint(0)
        else:
            self.w.flagged(self.numbers(value), True)


class Member(NamedTuple, Generic[T]):
    """One part of an encoding, both ways."""

    read: Callable[[EntryReader], T]
    """An attribute or a type is None if it is not read yet."""
    write: Callable[[EntryWriter, Any], None]


class Form(NamedTuple):
    """The encoding of one kind of attribute or type. `build` takes the members, and may raise ValueError; `split`
    returns them."""

    code: int
    members: Sequence[Member[Any]]
    build: Callable[..., Attribute]
    split: Callable[[Any], Iterable[object]]

    def read(self, e: EntryReader) -> Attribute | None:
        """The attribute or type; None if others must be read first."""
        try:
            values = [member.read(e) for member in self.members]
        except Incomplete:
            return None
        if e.missing:
            return None
        try:
            return self.build(*values)
        except (ValueError, OverflowError) as problem:
            e.fail(str(problem))

    def write(self, e: EntryWriter, value: Attribute) -> None:
        """The code and the members of an attribute or a type."""
        e.w.varint(self.code)
        for member, part in zip(self.members, self.split(value), strict=True):
            member.write(e, part)


def attribute_of(kind: Kinds[AttributeT], noun: str) -> Member[AttributeT | None]:
    """An attribute of a class."""
    return Member(lambda e: e.attribute(kind, noun), EntryWriter.reference)


def optional_attribute_of(kind: Kinds[AttributeT], noun: str) -> Member[AttributeT | None]:
    """An attribute of a class, or None."""
    return Member(lambda e: e.optional_attribute(kind, noun), EntryWriter.optional_reference)


def type_of(kind: Kinds[AttributeT], noun: str) -> Member[AttributeT | None]:
    """A type of a class."""
    return Member(lambda e: e.type(kind, noun), EntryWriter.reference)


def listed(item: Member[T], noun: str) -> Member[tuple[T, ...]]:
    """A counted list, as a tuple."""

    def write(e: EntryWriter, values: Sequence[T]) -> None:
        e.w.varint(len(values))
        for value in values:
            item.write(e, value)

    return Member(lambda e: tuple([item.read(e) for _ in range(e.c.count(noun))]), write)


def _read_blob(e: EntryReader) -> bytes:
    return e.c.take(e.c.count("bytes"), "a blob")


def _write_blob(e: EntryWriter, data: bytes) -> None:
    e.w.varint(len(data))
    e.w.data += data


ATTRIBUTE = attribute_of(Attribute, "an attribute")
LOCATION = attribute_of(Location, "a location")
STRING_ATTRIBUTE = attribute_of(StringAttr, "a string attribute")
TYPE = type_of(Type, "a type")
NUMBER = Member(lambda e: e.c.varint(), lambda e, value: e.w.varint(value))
BOOL = Member(lambda e: bool(e.c.byte()), lambda e, value: e.w.byte(value))
STRING = Member(lambda e: e.tables.string(e.c), lambda e, value: e.w.varint(e.string(value)))
BLOB = Member(_read_blob, _write_blob)


class Forms:
    """The encodings of the attributes, or of the types, of a dialect."""

    def __init__(self, forms: Iterable[Form], choose: Callable[[Attribute], int | None]) -> None:
        self.by_code = {form.code: form for form in forms}
        self._choose = choose

    def of(self, value: Attribute) -> Form | None:
        """The form of an attribute or type; None if it is written as text."""
        code = self._choose(value)
        return None if code is None else self.by_code[code]
