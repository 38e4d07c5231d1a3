"""Aliases of long attributes in printed IR, as MLIR prints those of dialects that ask for them.

    tensor<64x64xf32, #layout1>      in place of tensor<64x64xf32, #nv_tileas.linear<{register = [[0, 1], …]}>>
    #layout1 = #nv_tileas.linear<…>  before the unit

The text of a unit is searched rather than its types, because each type keeps its text. Strings are skipped.
"""

from __future__ import annotations

import re
from collections import Counter

from tessera_tools.ir.attributes import ALIAS_WORDS

__all__ = ["with_aliases"]

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_BODY = r'<\{(?:[^{}<>"]|\{[^{}<>"]*\})*\}>'


def with_aliases(text: str, known: dict[str, str] | None = None) -> tuple[str, str]:
    """(the definitions of aliases for the attributes whose class has an `alias_word`, the text of a unit with them).

    known: aliases of earlier texts, by attribute; they are used again, and new ones are added.
    """
    present = [name for name in ALIAS_WORDS if f"#{name}<{{" in text]
    if not present:
        return "", text
    names = "|".join(re.escape(name) for name in present)
    pattern = re.compile(rf"{_STRING}|#(?P<name>{names}){_BODY}")
    every = {} if known is None else known
    aliases: dict[str, str] = {}
    counts = Counter(name.rstrip("0123456789")[1:] for name in every.values())

    def alias(match: re.Match[str]) -> str:
        name, found = match["name"], match[0]
        if name is None:
            return found
        short = every.get(found)
        if short is None:
            word = ALIAS_WORDS[name]
            short = every[found] = f"#{word}{counts[word] or ''}"
            counts[word] += 1
        aliases[found] = short
        return short

    body = pattern.sub(alias, text)
    return "".join(f"{name} = {found}\n" for found, name in aliases.items()), body
