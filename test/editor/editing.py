"""A document with marks: `<1>` stands at a position of the text, and is not part of it."""

from __future__ import annotations

import re
from typing import Any

from tessera_tools.editor.service import Service, Settings

URI = "file:///program.mlir"


class Marked:
    """A service with one document; positions are those of its marks."""

    def __init__(
        self, text: str, encoding: str = "utf-16", settings: Settings | None = None, **commands: Any
    ) -> None:
        self.marks: dict[str, int] = {}
        parts = re.split(r"<(\d)>", text)
        self.text = parts[0]
        for name, part in zip(parts[1::2], parts[2::2], strict=True):
            self.marks[name] = len(self.text)
            self.text += part
        self.service = Service(encoding, settings or Settings(), commands.get("commands", {}))
        self.service.open(URI, self.text)
        self.lines = self.service.document(URI).text

    def ask(self, method: str, mark: str | None = None, **params: Any) -> Any:
        """The answer to `textDocument/METHOD`, about the position of a mark."""
        given: dict[str, Any] = {"textDocument": {"uri": URI}, **params}
        if mark is not None:
            given["position"] = self.lines.position(self.marks[mark])
        return self.service.answer(f"textDocument/{method}", given)

    def at(self, range: Any) -> str:
        """The text of a range."""
        return self.text[self.lines.offset(range["start"]) : self.lines.offset(range["end"])]

    def start(self, range: Any) -> str:
        """The mark at which a range starts, or its offset."""
        offset = self.lines.offset(range["start"])
        return next((name for name, mark in self.marks.items() if mark == offset), str(offset))

    def errors(self) -> list[tuple[int, str]]:
        """(line from 1, message) of each diagnostic."""
        return [(one["range"]["start"]["line"] + 1, one["message"]) for one in self.ask("diagnostics")]
