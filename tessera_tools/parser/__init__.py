"""MLIR text in, IR out.

text ──driver.Parser (table-driven LALR)──▶ light tree ──build.Builder──▶ builtin.module
"""

from __future__ import annotations

from typing import Any

from tessera_tools.ir.core import Operation


def parse_module(
    text: str | bytes,
    filename: str = "<string>",
    *,
    allow_unregistered: bool = False,
    implicit_index_constants: bool = False,
) -> Operation:
    """The file's `builtin.module`; top-level operations are put into one where the file has none.

    Older spellings that a dialect still reads are translated into today's ops.
    Raises DiagnosticError with every error found.  Nothing is verified beyond what reading needs.
    """
    from tessera_tools.opdef.dialect import upgrade_spelling
    from tessera_tools.parser.build import Builder
    from tessera_tools.parser.driver import Parser
    from tessera_tools.parser.rules import default_table
    from tessera_tools.parser.source import Source, decode

    if isinstance(text, bytes):
        text = decode(text, filename)
    source = Source(text, filename)
    parser = Parser(source, default_table(), allow_unregistered=allow_unregistered)
    statements = parser.parse()
    builder = Builder(
        source, allow_unregistered=allow_unregistered, implicit_index_constants=implicit_index_constants
    )
    builder.errors += parser.errors
    block = builder.build(statements)
    first = block.first_op
    if first is not None and first is block.last_op and first.name == "builtin.module":
        first.detach()
        upgrade_spelling(first)
        return first
    from tessera_tools.dialects.builtin import Module
    from tessera_tools.ir.core import Region

    module: Any = Module.create(regions=[Region([block])], location=source.location(0))
    upgrade_spelling(module)
    return module


def parse_attribute(text: str, filename: str = "<string>", *, allow_unregistered: bool = False) -> Any:
    """One attribute or type from text (tests, options)."""
    from tessera_tools.parser.scanner import Scanner
    from tessera_tools.parser.source import Source

    scanner = Scanner(Source(text, filename), allow_unregistered=allow_unregistered)
    found = scanner.attribute()
    if scanner.skip() != len(text):
        raise scanner.error(f"expected the end of the attribute, found {scanner.found()}")
    return found


def parse_type(text: str, filename: str = "<string>", *, allow_unregistered: bool = False) -> Any:
    """One type from text."""
    from tessera_tools.parser.scanner import Scanner
    from tessera_tools.parser.source import Source

    scanner = Scanner(Source(text, filename), allow_unregistered=allow_unregistered)
    found = scanner.type()
    if scanner.skip() != len(text):
        raise scanner.error(f"expected the end of the type, found {scanner.found()}")
    return found
