"""Formats of printf (C standard, "The fprintf function"; CUDA C++ Programming Guide, "Formatted Output"), in pieces.

"x = %5.2f, y = %d\\n"  ─▶  ["x = ", ", y = ", "\\n"], [Conversion("%5.2", "", "f"), Conversion("%", "", "d")]
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CONVERSION = re.compile(r"%(?P<head>[-+ #0]*\d*(?:\.\d*)?)(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>[a-zA-Z%])")
KINDS = "diouxXeEfFgGaAcsp"
"""What a kernel's printf converts."""


class Conversion(NamedTuple):
    """One conversion: the percent sign with flags, width and precision; the length; the letter."""

    head: str
    length: str
    kind: str


def pieces(text: str) -> tuple[list[str], list[Conversion]]:
    """The texts around the conversions (one more than those; `%%` stays in them), and the conversions.

    Raises ValueError for text that begins with a percent sign but is not a conversion.
    """
    texts = [""]
    conversions: list[Conversion] = []
    at = 0
    while (percent := text.find("%", at)) >= 0:
        texts[-1] += text[at:percent]
        if text.startswith("%%", percent):
            texts[-1] += "%%"
            at = percent + 2
            continue
        found = _CONVERSION.match(text, percent)
        if found is None or found["kind"] not in KINDS:
            shown = found[0] if found is not None else text[percent : percent + 4]
            raise ValueError(
                f"'{shown}' is not a supported printf conversion; expected '%' with optional flags, width, "
                f"precision and length, and one of the letters {' '.join(KINDS)}"
            )
        conversions.append(Conversion("%" + found["head"], found["length"] or "", found["kind"]))
        texts.append("")
        at = found.end()
    texts[-1] += text[at:]
    return texts, conversions
