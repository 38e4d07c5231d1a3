"""Names and strings in LLVM IR text (LLVM LangRef, "Identifiers")."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")


def escaped(text: str) -> str:
    """The text with every byte that is not plain ASCII, and quotes and backslashes, as `\\XX`."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    out: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        out.append(char if 32 <= byte < 127 and char not in '"\\' else f"\\{byte:02X}")
    return "".join(out)


def quoted(text: str) -> str:
    """A string literal."""
    return f'"{escaped(text)}"'


def file_name(text: str) -> str:
    """A part of a file's path as a string literal.

    PTX has no escape for a quote in the name after `.file`, and LLVM does not check the name: such characters are
    replaced.
    """
    return quoted("".join("_" if char == '"' or not char.isprintable() else char for char in text))


def symbol(name: str) -> str:
    """A name after `@` or `%`, quoted if necessary."""
    return name if _PLAIN.fullmatch(name) else quoted(name)
