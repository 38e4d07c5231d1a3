"""The file metadata: `{-# … #-}` sections, with the blobs of `dense_resource` attributes.

{-#
  dialect_resources: {
    builtin: { weights: "0x04000000…", … }          ──▶ Source.resources["weights"]
  },
  external_resources: { … }                          parsed, and ignored here
#-}
"""

from __future__ import annotations

import re

from tessera_tools.parser.lexical import TextScanner
from tessera_tools.parser.source import Source

__all__ = ["METADATA", "read_metadata"]

METADATA = re.compile(r"\{-#.*?#-\}", re.DOTALL)
_AT_LINE_START = re.compile(r"^[ \t]*\{-#", re.MULTILINE)
_BLOB = re.compile(r"0x(?:[0-9a-fA-F]{2}){4,}\Z")


def read_metadata(source: Source) -> dict[str, str]:
    """The blobs of the sections of a file, as hex text, by their keys. Raises DiagnosticError."""
    blobs: dict[str, str] = {}
    if "{-#" in source.text:
        for found in _AT_LINE_START.finditer(source.text):
            _Section(source, found.end(), blobs).read()
    return blobs


class _Section(TextScanner):
    """One section, from after its `{-#` on."""

    def __init__(self, source: Source, at: int, blobs: dict[str, str]) -> None:
        super().__init__(source, at)
        self.blobs = blobs

    def read(self) -> None:
        """All of it, to its `#-}`."""
        while not self.optional("#-}"):
            start = self.skip()
            name = self.optional_word()
            if name is None:
                raise self.error("expected identifier key in file metadata dictionary", start)
            self.expect(":")
            if name not in ("dialect_resources", "external_resources"):
                raise self.error(f"unknown key '{name}' in file metadata dictionary", start)
            self._groups(keep=name == "dialect_resources")
            if not self.optional(","):
                self.expect("#-}")
                return

    def _groups(self, keep: bool) -> None:
        self.expect("{")
        while not self.optional("}"):
            start = self.skip()
            group = self._key()
            if keep and not self._is_known(group):
                raise self.error(f"dialect '{group}' is unknown", start)
            self.expect(":")
            self.expect("{")
            while not self.optional("}"):
                self._entry(keep and group == "builtin")
                if not self.optional(","):
                    self.expect("}")
                    break
            if not self.optional(","):
                self.expect("}")
                return

    @staticmethod
    def _is_known(dialect: str) -> bool:
        from tessera_tools.opdef.registry import DIALECT_MODULES

        return dialect in DIALECT_MODULES

    def _entry(self, blob: bool) -> None:
        key = self._key()
        self.expect(":")
        start = self.skip()
        value = self.optional_string()
        if blob:
            if value is None or _BLOB.match(value) is None:
                raise self.error(f"expected hex string blob for key '{key}'", start)
            self.blobs[key] = value
        elif value is None and self.optional_word() not in ("true", "false"):
            raise self.error(f"expected a string, true or false for key '{key}'", start)

    def _key(self) -> str:
        start = self.skip()
        key = self.optional_string()
        key = self.optional_word() if key is None else key
        if key is None:
            raise self.error("expected identifier key for 'resource' entry", start)
        return key
