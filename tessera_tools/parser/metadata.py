"""The file metadata: `{-# … #-}` sections, with the blobs of `dense_resource` attributes.

{-#
  dialect_resources: {
    builtin: { weights: "0x04000000…", … }          ──▶ Source.resources["weights"]
  },
  external_resources: { tool: { key: true, … } }      ──▶ Source.external["tool"]
#-}
"""

from __future__ import annotations

import re

from tessera_tools.ir.resources import BLOB_TEXT
from tessera_tools.parser.lexical import TextScanner
from tessera_tools.parser.source import Source

__all__ = ["METADATA", "read_metadata"]

METADATA = re.compile(r"\{-#.*?#-\}", re.DOTALL)
_AT_LINE_START = re.compile(r"^[ \t]*\{-#", re.MULTILINE)


def read_metadata(source: Source) -> None:
    """Read the sections of a file into `resources` and `external` of the source. Raises DiagnosticError."""
    if "{-#" in source.text:
        for found in _AT_LINE_START.finditer(source.text):
            _Section(source, found.end()).read()


class _Section(TextScanner):
    """One section, from after its `{-#` on."""

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
            self._groups(dialects=name == "dialect_resources")
            if not self.optional(","):
                self.expect("#-}")
                return

    def _groups(self, dialects: bool) -> None:
        self.expect("{")
        while not self.optional("}"):
            start = self.skip()
            group = self.optional_word()
            if group is None:
                raise self.error("expected identifier key for 'resource' entry", start)
            if dialects and not self._is_known(group):
                raise self.error(f"dialect '{group}' is unknown", start)
            self.expect(":")
            self.expect("{")
            while not self.optional("}"):
                self._entry(group, dialects)
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

    def _entry(self, group: str, of_dialect: bool) -> None:
        key = self._key()
        self.expect(":")
        start = self.skip()
        value = self.optional_string()
        of_builtin = of_dialect and group == "builtin"
        if value is None and not of_builtin:
            word = self.optional_word()
            if word not in ("true", "false"):
                raise self.error(f"expected string value for key '{key}', or true or false", start)
            self._keep(group, of_dialect, key, word == "true")
        elif value is None or ((of_builtin or value.startswith("0x")) and BLOB_TEXT.match(value) is None):
            raise self.error(f"expected hex string blob for key '{key}'", start)
        elif of_builtin:
            self.source.resources[key] = value
        else:
            self._keep(group, of_dialect, key, value)

    def _keep(self, group: str, of_dialect: bool, key: str, value: str | bool) -> None:
        if not of_dialect:
            self.source.external.setdefault(group, []).append((key, value))

    def _key(self) -> str:
        start = self.skip()
        key = self.optional_string()
        key = self.optional_word() if key is None else key
        if key is None:
            raise self.error("expected identifier key for 'resource' entry", start)
        return key
