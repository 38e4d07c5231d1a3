"""Types and attributes: a scanner over the source that reads them by recursive descent.

The grammar treats a type, an attribute, an attribute dictionary and a location as one terminal each; the lexer
calls this scanner where the parser's state expects one.  Dialects read their own with `parse(scanner)`.

    TextScanner (lexical.py)  ◀  TypeScanner (types.py)  ◀  AttributeScanner (attributes.py)  ◀  Scanner
"""

from __future__ import annotations

from tessera_tools.parser.aliases import Aliases
from tessera_tools.parser.attributes import AttributeScanner
from tessera_tools.parser.source import Source


class Scanner(AttributeScanner):
    """Reads types and attributes of `source` from `at` on; shared state (aliases) lives in `aliases`."""

    __slots__ = ()

    def __init__(
        self, source: Source, at: int = 0, *, aliases: Aliases | None = None, allow_unregistered: bool = False
    ) -> None:
        if aliases is None:
            aliases = Aliases(source, allow_unregistered)
        super().__init__(source, at, aliases, allow_unregistered)
