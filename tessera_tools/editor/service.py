"""The questions of an editor by the names of the protocol's methods, and their answers.

    ("textDocument/hover", params) ──Service.answer──▶ the result

The process that has a service may be killed at any time: everything it knows follows from the texts it is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tessera_tools.api.inputs import find_target
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.editor import structure
from tessera_tools.editor.completion import CommandOptions, completion, resolved
from tessera_tools.editor.document import Document
from tessera_tools.editor.hover import hover
from tessera_tools.editor.lowered import Lowered
from tessera_tools.editor.program import Program
from tessera_tools.editor.text import Json
from tessera_tools.records import dataclass, field

__all__ = ["MOST_DOCUMENTS", "Service", "Settings"]

_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_DOCUMENTS = 16
"""How many documents are kept; the ones used least recently are forgotten."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user sets."""

    gpu: str = "sm_90a"
    """For layouts and later stages."""
    type_hints: bool = True
    fact_hints: bool = True
    run_python: bool = False
    """Whether Python files may be executed to compile their kernels."""

    @classmethod
    def read(cls, given: object) -> Settings:
        """The settings in what a client sends; anything unknown or of a wrong type is ignored."""
        found: Mapping[str, object] = given if isinstance(given, dict) else {}
        inner = found.get("tessera")
        found = inner if isinstance(inner, dict) else found
        hints = found.get("inlayHints")
        python = found.get("python")
        usual = cls()
        gpu = found.get("gpu")
        if not isinstance(gpu, str) or not _is_gpu(gpu):
            gpu = usual.gpu
        return cls(
            gpu,
            _flag(hints, "types", True),
            _flag(hints, "facts", True),
            _flag(python, "execute", False),
        )

    def json(self) -> Json:
        """The same, to send to the process that has the service."""
        return {
            "gpu": self.gpu,
            "inlayHints": {"types": self.type_hints, "facts": self.fact_hints},
            "python": {"execute": self.run_python},
        }


def _is_gpu(name: str) -> bool:
    try:
        find_target(name)
    except DiagnosticError:
        return False
    return True


def _flag(group: object, name: str, default: bool) -> bool:
    found = group.get(name) if isinstance(group, dict) else None
    return found if isinstance(found, bool) else default


@dataclass
class Service:
    """The documents of an editor."""

    encoding: str = "utf-16"
    settings: Settings = field(default_factory=Settings)
    commands: Mapping[str, CommandOptions] = field(default_factory=dict[str, CommandOptions])
    _documents: dict[str, Document] = field(default_factory=dict[str, Document])
    _lowered: dict[Program, Lowered] = field(default_factory=dict[Program, Lowered])

    def open(self, uri: str, text: str) -> None:
        """Take the text of a document; it replaces the previous one."""
        self._forget(uri)
        self._documents[uri] = Document(uri, _SURROGATE.sub("�", text), self.encoding)
        while len(self._documents) > MOST_DOCUMENTS:
            self._forget(next(iter(self._documents)))

    def _forget(self, uri: str) -> None:
        document = self._documents.pop(uri, None)
        if document is not None:
            for program in document.__dict__.get("programs", ()):
                self._lowered.pop(program, None)

    def document(self, uri: str) -> Document:
        """A document that was opened."""
        found = self._documents.pop(uri)
        self._documents[uri] = found
        return found

    def _facts(self, program: Program) -> Lowered:
        if program not in self._lowered:
            self._lowered[program] = Lowered(program, self.settings.gpu)
        return self._lowered[program]

    def answer(self, method: str, params: Json) -> object:
        """The result of a request. Raises Refused."""
        if method == "completionItem/resolve":
            return resolved(params)
        document = self.document(params["textDocument"]["uri"])
        return _METHODS[method](self, document, params)


def _complete(service: Service, document: Document, params: Json) -> Json:
    return {"isIncomplete": False, "items": completion(document, params["position"], service.commands)}


def _hints(service: Service, document: Document, params: Json) -> list[Json]:
    settings = service.settings
    return structure.hints(
        document, params["range"], service._facts, settings.type_hints, settings.fact_hints
    )


_METHODS: dict[str, Callable[[Service, Document, Json], object]] = {
    "textDocument/diagnostics": lambda s, d, p: d.diagnostics(),
    "textDocument/hover": lambda s, d, p: hover(d, p["position"], s._facts),
    "textDocument/definition": lambda s, d, p: d.definition(p["position"]),
    "textDocument/references": lambda s, d, p: d.references(
        p["position"], p["context"]["includeDeclaration"]
    ),
    "textDocument/documentHighlight": lambda s, d, p: d.highlights(p["position"]),
    "textDocument/prepareRename": lambda s, d, p: d.can_rename(p["position"]),
    "textDocument/rename": lambda s, d, p: d.rename(p["position"], p["newName"]),
    "textDocument/completion": _complete,
    "textDocument/documentSymbol": lambda s, d, p: structure.outline(d),
    "textDocument/foldingRange": lambda s, d, p: structure.folding(d),
    "textDocument/semanticTokens/full": lambda s, d, p: {"data": structure.semantic_tokens(d)},
    "textDocument/codeLens": lambda s, d, p: structure.lenses(d),
    "textDocument/inlayHint": _hints,
}
"""The methods of the protocol, and `diagnostics`, which the server publishes."""
