"""Words, numbers, strings and brackets: the part of the scanner that knows characters only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir.scanner import integer_of
from tessera_tools.parser.source import Source

T = TypeVar("T")

SPACE = re.compile(r"(?:[ \t\r\n\0]+|//[^\n]*)*")
WORD = re.compile(r"[A-Za-z_][\w$.]*")
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|[0-9]+)")
_STRING = re.compile(r'"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"', re.DOTALL)
_SYMBOL = re.compile(r'@([A-Za-z_][\w$.]*|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+")')
_ESCAPE = re.compile(r'\\(n|t|"|\\|[0-9a-fA-F]{2})?')
_BRACKETS = re.compile(r'->|[<>()\[\]{}]|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"')
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}

MAX_NESTING = 256
"""How deep types, attributes and regions may nest; deeper input is refused."""

MAX_DIGITS = 4000
"""How many digits a number may have; Python takes quadratic time for more."""


class TextScanner:
    """A position in a source, and the readers of what stands there; white space and comments before it are skipped."""

    __slots__ = ("at", "depth", "source", "text")

    def __init__(self, source: Source, at: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.at = at
        self.depth = 0

    # -- characters and words

    def error(self, message: str, at: int | None = None) -> DiagnosticError:
        """An error where the scanner stands (or at an offset): `raise scanner.error("…")`."""
        return self.source.error(self.at if at is None else at, message)

    def skip(self) -> int:
        """Skip white space and comments; the new offset."""
        match = SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.at

    def found(self) -> str:
        """What stands here, in words for an error message."""
        self.skip()
        rest = self.text[self.at : self.at + 40]
        if not rest:
            return "end of file"
        if not rest[0].isprintable():
            return f"character U+{ord(rest[0]):04X}"
        match = WORD.match(rest) or re.match(r"->|[^\s]", rest)
        return f"'{match.group()}'" if match else "white space"

    def peek(self, text: str) -> bool:
        """True if `text` comes next."""
        self.skip()
        if not self.text.startswith(text, self.at):
            return False
        end = self.at + len(text)
        return not (
            text[-1].isalnum()
            and end < len(self.text)
            and (self.text[end].isalnum() or self.text[end] == "_")
        )

    def optional(self, text: str) -> bool:
        """Take `text` if it comes next."""
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def expect(self, text: str) -> None:
        """Take `text`, or fail."""
        if not self.optional(text):
            raise self.error(f"expected '{text}', found {self.found()}")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.skip())
        if match is not None:
            self.at = match.end()
        return match

    def optional_word(self) -> str | None:
        """A bare identifier (with dots), if one comes next."""
        match = self._match(WORD)
        return match.group() if match else None

    def word(self) -> str:
        """A bare identifier."""
        found = self.optional_word()
        if found is None:
            raise self.error(f"expected valid keyword, found {self.found()}")
        return found

    def keyword(self, *choices: str) -> str:
        """One of the given keywords."""
        start = self.skip()
        word = self.optional_word()
        if word not in choices:
            self.at = start
            raise self.error(f"expected {' or '.join(repr(c) for c in choices)}, found {self.found()}")
        return word

    def optional_integer(self) -> int | None:
        match = self._match(_INTEGER)
        if match is None:
            return None
        if len(match.group()) > MAX_DIGITS:
            raise self.error(f"integer literal is too long (limit {MAX_DIGITS} digits)", match.start())
        return integer_of(match.group())

    def integer(self) -> int:
        found = self.optional_integer()
        if found is None:
            raise self.error(f"expected an integer, found {self.found()}")
        return found

    def optional_string(self) -> str | None:
        match = self._match(_STRING)
        return self.unescape(match.group(1), match.start()) if match else None

    def string(self) -> str:
        found = self.optional_string()
        if found is None and self.peek('"'):
            raise self.error("the string is not closed on its line; expected '\"'")
        if found is None:
            raise self.error(f"expected a string, found {self.found()}")
        return found

    def unescape(self, body: str, start: int) -> str:
        """The text of a string literal's body; `\\XX` escapes are bytes of UTF-8 (lone ones become surrogates)."""
        if "\\" not in body:
            return body

        def replace(match: re.Match[str]) -> bytes:
            code = match.group(1)
            if code is None:
                raise self.error(
                    'unknown escape in string literal; expected \\n, \\t, \\", \\\\ or two hex digits', start
                )
            return {"n": b"\n", "t": b"\t", '"': b'"', "\\": b"\\"}.get(code) or bytes([int(code, 16)])

        out, at = bytearray(), 0
        for match in _ESCAPE.finditer(body):
            out += body[at : match.start()].encode("utf-8", "surrogateescape") + replace(match)
            at = match.end()
        out += body[at:].encode("utf-8", "surrogateescape")
        return out.decode("utf-8", "surrogateescape")

    def optional_symbol_name(self) -> str | None:
        match = self._match(_SYMBOL)
        if match is None:
            return None
        name = match.group(1)
        return self.unescape(name[1:-1], match.start()) if name.startswith('"') else name

    def symbol(self) -> ba.SymbolRefAttr:
        """`@root::@nested`."""
        parts: list[str] = []
        while True:
            name = self.optional_symbol_name()
            if name is None:
                raise self.error(f"expected a symbol '@name', found {self.found()}")
            parts.append(name)
            if not self.optional("::"):
                return ba.SymbolRefAttr(parts[0], tuple(parts[1:]))

    def list(self, open: str, item: Callable[[], T], close: str) -> list[T]:
        """`open item, item, … close`, possibly empty."""
        self.expect(open)
        items: list[T] = []
        if self.optional(close):
            return items
        while True:
            items.append(item())
            if not self.optional(","):
                self.expect(close)
                return items

    def balanced(self) -> str:
        """The text from an opening bracket to its closing one, both included."""
        start = self.skip()
        stack: list[str] = []
        for match in _BRACKETS.finditer(self.text, start):
            piece = match.group()
            if piece in _CLOSING:
                stack.append(_CLOSING[piece])
            elif piece in _CLOSING.values() and (not stack or stack.pop() != piece):
                raise self.error(f"unbalanced '{piece}'", match.start())
            if not stack:
                break
        else:
            raise self.error("unbalanced brackets: end of file before the closing one", start)
        self.at = match.end()
        return self.text[start : self.at]

    def nest(self) -> None:
        """Count one more level of nesting; refused beyond `MAX_NESTING`."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error(f"types and attributes nest deeper than {MAX_NESTING} levels")

    def guarded(self, make: Callable[[], T], start: int) -> T:
        """Make an interned object; its ValueError becomes an error at `start`."""
        try:
            return make()
        except (ValueError, OverflowError) as problem:
            raise self.error(str(problem), start) from None
