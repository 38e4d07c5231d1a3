"""MLIR text in, IR out.

text ──driver.Parser (table-driven LALR)──▶ light tree ──build.Builder──▶ builtin.module
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict, TypeVar

from tessera_tools.ir.core import Operation

if TYPE_CHECKING:
    from tessera_tools.ir.attributes import Attribute, Type
    from tessera_tools.ir.core import Block
    from tessera_tools.ir.resources import External
    from tessera_tools.parser.scanner import Scanner
    from tessera_tools.parser.source import Source

_FRAMES = 20_000
"""The recursion limit: sufficient for the maximum nesting (`MAX_NESTING` levels)."""


class ParseOptions(TypedDict, total=False):
    """The options of `parse_module`."""

    allow_unregistered: bool
    implicit_index_constants: bool
    first_line: int
    implicit_module: bool
    external: External | None


def parse_module(
    text: str | bytes,
    filename: str = "<string>",
    *,
    allow_unregistered: bool = False,
    implicit_index_constants: bool = False,
    first_line: int = 1,
    implicit_module: bool = True,
    external: External | None = None,
) -> Operation:
    """The file's `builtin.module`; if there is none, top-level operations are put into a new one. Without
    `implicit_module`, a file's only operation is returned as it is.

    `first_line` is the first line of the text, if it is a part of the file. `external` receives the resources of other
    tools (`external_resources`).
    Older spellings that a dialect still supports are converted to current ops.
    Raises DiagnosticError with all errors.  The result is not verified.
    """
    from tessera_tools.opdef.dialect import upgrade_spelling
    from tessera_tools.parser.source import Source, decode

    if isinstance(text, bytes):
        text = decode(text, filename)
    source = Source(text, filename, first_line)
    with _deep_recursion():
        block = _read(source, allow_unregistered, implicit_index_constants)
    if external is not None:
        external.update(source.external)
    first = block.first_op
    only = first if first is not None and first is block.last_op else None
    if only is not None and only.name == "builtin.module":
        only.detach()
        upgrade_spelling(only)
        return only
    from tessera_tools.dialects.builtin import Module
    from tessera_tools.ir.core import Region
    from tessera_tools.ir.location import FileLineColLoc

    # Upstream gives an implicit module the position 0:0.
    module = Module.create(regions=[Region([block])], location=FileLineColLoc(filename, 0, 0))
    upgrade_spelling(module)
    only = block.first_op
    if not implicit_module and only is not None and only is block.last_op:
        only.detach()
        return only
    return module


def _read(source: Source, allow_unregistered: bool, implicit_index_constants: bool) -> Block:
    from tessera_tools.parser.build import Builder
    from tessera_tools.parser.driver import Parser
    from tessera_tools.parser.metadata import read_metadata
    from tessera_tools.parser.rules import default_table

    read_metadata(source)
    parser = Parser(source, default_table(), allow_unregistered=allow_unregistered)
    statements = parser.parse()
    builder = Builder(
        source, allow_unregistered=allow_unregistered, implicit_index_constants=implicit_index_constants
    )
    builder.errors += parser.errors
    return builder.build(statements)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


AttributeT = TypeVar("AttributeT", bound="Attribute")


def parse_attribute(
    text: str,
    filename: str = "<string>",
    *,
    allow_unregistered: bool = False,
    resources: dict[str, str] | None = None,
) -> Attribute:
    """One attribute or type from text (tests, options, bytecode); `resources` are the blobs of the file, by key."""
    with _deep_recursion():
        scanner = _scanner(text, filename, allow_unregistered, resources)
        return _whole(scanner, scanner.attribute(), "attribute")


def parse_type(
    text: str,
    filename: str = "<string>",
    *,
    allow_unregistered: bool = False,
    resources: dict[str, str] | None = None,
) -> Type:
    """One type from text; `resources` are the blobs of the file, by key."""
    with _deep_recursion():
        scanner = _scanner(text, filename, allow_unregistered, resources)
        return _whole(scanner, scanner.type(), "type")


def _scanner(text: str, filename: str, allow_unregistered: bool, resources: dict[str, str] | None) -> Scanner:
    from tessera_tools.parser.scanner import Scanner
    from tessera_tools.parser.source import Source

    source = Source(text, filename)
    source.resources = resources or {}
    return Scanner(source, allow_unregistered=allow_unregistered)


def _whole(scanner: Scanner, found: AttributeT, noun: str) -> AttributeT:
    """The result, if nothing follows it."""
    if scanner.skip() != len(scanner.text):
        raise scanner.error(f"expected the end of the {noun}, found {scanner.found()}")
    return found
