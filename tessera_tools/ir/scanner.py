"""`Scanner`: the interface from which types and attributes read their parameters; and integer literals.

`tessera_tools.parser` implements it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.attributes import Attribute, Type

T = TypeVar("T")


def integer_of(literal: str) -> int:
    """The value of an integer literal: hexadecimal with `0x`, otherwise decimal, even with zeros in front."""
    return int(literal, 0 if "x" in literal else 10)


class Scanner(Protocol):
    """A position in the text of a type or an attribute. If the expected text does not follow, the error is there."""

    aliases: Any
    """The aliases of the file; its `shared` keeps what is known of the whole file."""

    def error(self, message: str, at: int | None = None) -> DiagnosticError:
        """An error at the current position, or at an offset: `raise s.error("…")`."""
        ...

    def skip(self) -> int:
        """Skip white space and comments; the new offset."""
        ...

    def found(self) -> str:
        """A description of the next token, for an error message."""
        ...

    def peek(self, text: str) -> bool:
        """Whether `text` comes next."""
        ...

    def optional(self, text: str) -> bool:
        """Take `text` if it comes next."""
        ...

    def expect(self, text: str) -> None:
        """Take `text`."""
        ...

    def word(self) -> str:
        """A bare identifier, with dots."""
        ...

    def optional_word(self) -> str | None:
        """A bare identifier, if one comes next."""
        ...

    def keyword(self, *choices: str) -> str:
        """One of the given keywords."""
        ...

    def integer(self) -> int:
        """A decimal or hexadecimal integer."""
        ...

    def optional_integer(self) -> int | None:
        """An integer, if one comes next."""
        ...

    def string(self) -> str:
        """The contents of a string literal."""
        ...

    def optional_string(self) -> str | None:
        """The contents of a string literal, if one comes next."""
        ...

    def list(self, open: str, item: Callable[[], T], close: str) -> list[T]:
        """`open item, item, … close`, possibly empty."""
        ...

    def balanced(self) -> str:
        """The text from an opening bracket to its closing one, both included."""
        ...

    def type(self, short: str | None = None) -> Type:
        """A type; `short`: the dialect whose types may be written without its name."""
        ...

    def optional_type(self, short: str | None = None) -> Type | None:
        """A type, if one comes next."""
        ...

    def attribute(self, type: Type | None = None) -> Attribute:
        """An attribute; `type` is that of a number without one."""
        ...

    def dictionary(self) -> dict[str, Attribute]:
        """`{key = value, flag}`."""
        ...

    def dimensions(self) -> tuple[int, ...]:
        """`4x?x`: extents each followed by `x`; `DYNAMIC` for `?`."""
        ...

    def extent(self) -> int:
        """One extent with its `x`."""
        ...
