"""`--verify-diagnostics`: comments in the input announce its diagnostics, as in MLIR.

    // expected-error@+1 {{custom op 'x.y' is unknown}}      also -warning, -remark, -note
    // expected-error-re@below {{found {{[0-9]+}} operands}}     `{{…}}` inside is a regular expression

`@+N`, `@-N`, `@above`, `@below` (the nearest line without such a comment) and `@unknown` (no position) select
another line than that of the comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from tessera_tools.diagnostics import Diagnostic, Position
from tessera_tools.records import dataclass

__all__ = ["check"]

_DESIGNATOR = re.compile(
    r"expected-(?P<severity>error|note|remark|warning)(?P<re>-re)? *"
    r"(?:@(?P<place>[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)
_INNER = re.compile(r"\{\{(.*?)\}\}")


@dataclass(slots=True)
class _Expected:
    severity: str
    line: int | None
    """The line of the diagnostic; None for one without position."""
    text: str
    matches: Callable[[str], bool]
    place: Position
    seen: bool = False


def check(
    diagnostics: Iterable[Diagnostic],
    file: str,
    text: str,
    *,
    first_line: int = 1,
    only_expected: bool = False,
) -> list[Diagnostic]:
    """Compare diagnostics with those announced in `text`; returns the differences.

    `first_line` is the line of the file at which `text` begins.
    `only_expected` ignores diagnostics that are not announced.
    """
    expected, wrong = _read(file, text, first_line)
    for found in _flat(diagnostics):
        place = found.location.start() if found.location is not None else None
        line = (place[1] or first_line) if place is not None and place[0] == file else None
        match = next(
            (
                e
                for e in expected
                if not e.seen and e.severity == found.severity and e.line == line and e.matches(found.message)
            ),
            None,
        )
        if match is not None:
            match.seen = True
        elif not only_expected:
            wrong.append(Diagnostic("error", found.location, f"unexpected {found.severity}: {found.message}"))
    for e in expected:
        if not e.seen:
            wrong.append(Diagnostic("error", e.place, f'expected {e.severity} "{e.text}" was not produced'))
    return wrong


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(diagnostic.notes)


def _read(file: str, text: str, first_line: int) -> tuple[list[_Expected], list[Diagnostic]]:
    """The announcements, and their errors."""
    expected: list[_Expected] = []
    wrong: list[Diagnostic] = []
    below: list[_Expected] = []
    last_plain = 0
    for number, line in enumerate(text.split("\n"), first_line):
        found = _DESIGNATOR.search(line) if "expected-" in line else None
        if found is None:
            for waiting in below:
                waiting.line = number
            below.clear()
            last_plain = number
            continue
        place = Position(file, number, found.start() + 1)
        try:
            matches = _matcher(found["text"], bool(found["re"]))
        except re.error as failure:
            wrong.append(Diagnostic("error", place, f"invalid regular expression: {failure}"))
            continue
        where = found["place"]
        target: int | None = number
        if where == "unknown":
            target = None
        elif where == "above":
            target = last_plain
        elif where is not None and where != "below":
            target = number + int(where)
        entry = _Expected(found["severity"], target, found["text"], matches, place)
        if where == "below":
            below.append(entry)
        expected.append(entry)
    return expected, wrong


def _matcher(text: str, expressions: bool) -> Callable[[str], bool]:
    """Returns a function that is true for messages that contain the announced text. Raises re.error."""
    if not expressions:
        return lambda message: text in message
    from tessera_tools.cli.matcher import Matcher

    return Matcher(_pattern(text)).search


def _pattern(text: str) -> str:
    """Plain text with regular expressions in `{{…}}`, as one regular expression."""
    parts = _INNER.split(text)
    return "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
