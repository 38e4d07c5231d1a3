"""Aliases of long attributes in printed IR, as MLIR prints those of dialects that ask for them.

    tensor<64x64xf32, #layout1>      in place of tensor<64x64xf32, #nv_tileas.linear<{register = [[0, 1], …]}>>
    #layout1 = #nv_tileas.linear<…>  before the unit

The text of a unit is searched rather than its types, because each type keeps its text. Strings are skipped.
"""

from __future__ import annotations

import re

from tessera_tools.ir.attributes import ALIAS_WORDS

__all__ = ["with_aliases"]

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_BODY = r'<\{(?:[^{}<>"]|\{[^{}<>"]*\})*\}>'


def with_aliases(text: str) -> str:
    """The text of a unit with aliases for the attributes whose class has an `alias_word`, and their definitions."""
    present = [name for name in ALIAS_WORDS if f"#{name}<{{" in text]
    if not present:
        return text
    names = "|".join(re.escape(name) for name in present)
    pattern = re.compile(rf"{_STRING}|#(?P<name>{names}){_BODY}")
    aliases: dict[str, str] = {}
    counts: dict[str, int] = {}

    def alias(match: re.Match[str]) -> str:
        name, found = match["name"], match[0]
        if name is None:
            return found
        known = aliases.get(found)
        if known is None:
            word = ALIAS_WORDS[name]
            number = counts.get(word, 0)
            counts[word] = number + 1
            known = aliases[found] = f"#{word}{number or ''}"
        return known

    body = pattern.sub(alias, text)
    return "".join(f"{name} = {found}\n" for found, name in aliases.items()) + body
