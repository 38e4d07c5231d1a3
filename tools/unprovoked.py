"""Errors and reasons of remarks whose text no test mentions: nobody has seen whether they come, and where.

```console
$ python tools/unprovoked.py                            # all, with their number
$ python tools/unprovoked.py tessera_tools/parser       # those of a file or folder
```

An error counts as provoked if a part of its text, between what is filled in, stands in a file of `test/`.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "tessera_tools"
RAISERS = frozenset(
    (
        "Conflict",
        "Missed",
        "NoRoom",
        "Refusal",
        "ToolError",
        "UsageError",
        "_Unknown",
        "error",
        "error_at",
        "report",
    )
)
"""The functions, methods and classes whose arguments are the text of an error, a finding or a missed remark."""
SUFFIXES = (".py", ".mlir", ".test", ".ptx", ".lua", ".el")
LEAST = 9
"""Characters of the shortest part that tells an error from others."""
_WINDOW = 24
"""Tests match parts of long texts."""


def text_of_tests() -> str:
    """What all tests say, each line once, with Python's strings joined and without escapes of regular expressions."""
    files = sorted(path for path in (ROOT / "test").rglob("*") if path.suffix in SUFFIXES)
    text = "\n".join(path.read_text("utf-8", errors="replace") for path in files)
    text = re.sub(r"[\"']\s*\n\s*f?r?[\"']", "", re.sub(r"\\(.)", r"\1", text))
    return "\n".join(dict.fromkeys(text.splitlines()))


def _shown(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression, without keys and what is cut off: nobody reads those."""
    yield node
    for inner in ast.iter_child_nodes(node):
        is_key = isinstance(node, ast.Subscript) and inner is node.slice
        is_cut = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("removeprefix", "removesuffix")
            and inner in node.args
        )
        if not is_key and not is_cut:
            yield from _shown(inner)


def _parts(call: ast.Call) -> list[str]:
    """The parts of the text of an error between what is filled in; of long ones, what a test may match."""
    given = [*call.args, *(word.value for word in call.keywords)]
    strings = (node.value for one in given for node in _shown(one) if isinstance(node, ast.Constant))
    parts = [part for value in strings if isinstance(value, str) and len(part := value.strip()) >= LEAST]
    return [
        window
        for part in parts
        for window in (
            (part[:_WINDOW], part[8 : 8 + _WINDOW], part[-_WINDOW:]) if len(part) > 40 else (part,)
        )
    ]


def _errors(only: str) -> Iterator[tuple[str, int, list[str]]]:
    """File, line and parts of the text of each error."""
    for path in sorted((ROOT / SOURCES).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if name.startswith(only) else ():
            if isinstance(node, ast.Call):
                called = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                if called in RAISERS and (parts := _parts(node)):
                    yield name, node.lineno, parts


def unprovoked(only: str = SOURCES) -> Iterator[tuple[str, int, str]]:
    """File, line and a part of the text of each error that no test mentions."""
    errors, tests = list(_errors(only)), text_of_tests()
    # Where each beginning of a part stands in the tests: thousands of searches through all of them take seconds.
    places: dict[str, list[int]] = {part[:LEAST]: [] for _, _, parts in errors for part in parts}
    for at in range(len(tests)):
        if (found := places.get(tests[at : at + LEAST])) is not None:
            found.append(at)
    for name, line, parts in errors:
        if not any(tests.startswith(part, at) for part in parts for at in places[part[:LEAST]]):
            yield name, line, max(parts, key=len)


def main() -> int:
    """Print the errors and their number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("only", nargs="?", default=SOURCES, help="a file or folder of the sources")
    found = list(unprovoked(parser.parse_args().only))
    for name, line, text in found:
        print(f"{name}:{line}: {text}")
    print(f"{len(found)} errors are in no test")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
