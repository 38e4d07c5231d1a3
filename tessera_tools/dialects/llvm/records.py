"""Attributes written as `<key = value, …>`: MLIR's `struct(params)`.

    class LoopUnrollAttr(Record, name="llvm.loop_unroll"):
        disable: IntegerAttr | None = None
        count: IntegerAttr | None = None
        parameters_as = {"disable": FLAG, "count": NUMBER}

A parameter equal to its default is left away.  A parameter that is a record of one known class is written without
that class's name, `unroll = <disable = true>`, and read with or without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, IntegerAttr, StringAttr, quote

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.scanner import Scanner

ValueT = TypeVar("ValueT")


class Parameter(Generic[ValueT]):
    """Parsing and printing of one parameter; what it accepts where its text may be of any attribute."""

    __slots__ = ("accepts", "read", "write")

    def __init__(
        self,
        read: Callable[[Scanner], ValueT],
        write: Callable[[ValueT], str],
        accepts: Callable[[], type[Attribute]] = lambda: Attribute,
    ) -> None:
        self.read = read
        self.write = write
        self.accepts = accepts


def _read_bool(s: Scanner) -> bool:
    if s.optional("true"):
        return True
    s.expect("false")
    return False


ATTRIBUTE = Parameter(lambda s: s.attribute(), str)
NUMBER: Parameter[Attribute] = Parameter(lambda s: s.attribute(), str, lambda: IntegerAttr)
"""An integer as an attribute, `4 : i32`; `INTEGER` is a Python int."""
INTEGER = Parameter(lambda s: s.integer(), str)
BOOL = Parameter(_read_bool, lambda value: "true" if value else "false")
FLAG = Parameter(lambda s: TRUE if _read_bool(s) else FALSE, str, lambda: IntegerAttr)
"""A truth as an attribute; `BOOL` is a Python bool."""
WORD = Parameter(lambda s: s.word(), str)
TEXT = Parameter(lambda s: s.string(), quote)
"""A string as a Python str; `STRING` is an attribute."""
STRING = Parameter(lambda s: StringAttr(s.string()), lambda value: quote(value.value), lambda: StringAttr)


class Parametrized(Attribute):
    """The base of attributes that are written `#name<…>`, and `<…>` where their class is known."""

    def parameters_text(self) -> str:
        """`<…>`."""
        raise NotImplementedError

    def text(self) -> str:
        return f"#{self.name}{self.parameters_text()}"


def record(cls: Callable[[], type[Parametrized]]) -> Parameter[Parametrized]:
    """A record of one class (a function, so that classes may mention each other)."""

    def read(s: Scanner) -> Parametrized:
        found = cls().parse(s) if s.peek("<") else s.attribute()
        if not isinstance(found, Parametrized):
            raise s.error(f"expected a '#{cls().name}' attribute, found '{found}'")
        return found

    return Parameter(read, lambda value: value.parameters_text(), cls)


def listed(item: Parameter[ValueT]) -> Parameter[tuple[ValueT, ...]]:
    """The rest of the record: comma-separated items, a tuple."""

    def read(s: Scanner) -> tuple[ValueT, ...]:
        items = [item.read(s)]
        while s.optional(","):
            items.append(item.read(s))
        return tuple(items)

    return Parameter(read, lambda value: ", ".join(map(item.write, value)), item.accepts)


class Record(Parametrized):
    """The base of attributes with named parameters."""

    parameters_as: ClassVar[Mapping[str, Parameter]] = {}
    spelled: ClassVar[Mapping[str, str]] = {}
    """Parameters whose key in the text is another: `name` would hide the attribute's own."""

    def verify(self) -> None:
        for key, kind in self.parameters_as.items():
            value = getattr(self, key)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Attribute) and not isinstance(part, kind.accepts()):
                    expected = kind.accepts().name
                    raise ValueError(
                        f"expected a '#{expected}' attribute as '{key}' of '#{self.name}', found '{part}'"
                    )

    def parameters_text(self) -> str:
        """`<key = value, …>`."""
        parts: list[str] = []
        for key, kind in self.parameters_as.items():
            value = getattr(self, key)
            if key in type(self)._defaults and value == type(self)._defaults[key]:
                continue
            parts.append(f"{self.spelled.get(key, key)} = {kind.write(value)}")
        return f"<{', '.join(parts)}>"

    @classmethod
    def parse(cls, s: Scanner) -> Self:
        given: dict[str, object] = {}
        fields = {shown: key for key, shown in cls.spelled.items()}
        s.expect("<")
        while not s.peek(">"):
            shown: str = s.word()
            key = fields.get(shown, shown)
            kind = cls.parameters_as.get(key)
            if kind is None:
                raise s.error(
                    f"'{cls.name}' has no parameter '{key}'; expected one of {', '.join(cls.parameters_as)}"
                )
            s.expect("=")
            given[key] = kind.read(s)
            if not s.optional(","):
                break
        s.expect(">")
        missing = [k for k in cls.parameters_as if k not in given and k not in cls._defaults]
        if missing:
            raise s.error(f"'{cls.name}' needs the parameter '{missing[0]}'")
        return cls(**given)
