"""The grammar's text: structure.lark is handwritten, ops/<dialect>.lark are generated from the op classes.

    python -m tessera_tools.parser.grammar          rewrites grammar/ops/*.lark from the declared formats

An op's format becomes a rule; ops of one dialect with the same shape share a rule and its head terminal, so that the
number of grammar rules grows with the shapes, not with the ops (cuda_tile: about 100 ops, half as many shapes).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tessera_tools.lalr import grammar_folder
from tessera_tools.opdef.dialect import Dialect, all_dialects, find_dialect
from tessera_tools.opdef.elements import Helpers
from tessera_tools.opdef.registry import added_dialects

if TYPE_CHECKING:
    from pathlib import Path

HEADER = """// Generated from tessera_tools/dialects/{dialect} by `python -m tessera_tools.parser.grammar`; do not edit.
"""


_DEFAULTS = re.compile(r"^//: (\w+) is the default dialect inside (.*)$", re.MULTILINE)


def dialect_grammar(dialect: Dialect) -> str | None:
    """The text of ops/<dialect>.lark, or None if no op of the dialect has a custom format."""
    helpers = Helpers(dialect.name)
    shapes: dict[str, list[str]] = {}
    for name, op_class in dialect.ops.items():
        if (format := op_class.definition.format) is not None:
            shapes.setdefault(format.symbols(helpers), []).append(name)
    if not shapes:
        return None
    lines = [HEADER.format(dialect=dialect.name)]
    heads: list[str] = []
    for number, (symbols, names) in enumerate(shapes.items()):
        head = f"{dialect.name.upper()}_{number}"
        heads.append(head)
        lines.append(f"// {' '.join(names)}")
        lines.append(f"{dialect.name}_op_{number}: {head} {symbols}".rstrip())
        lines.append("")
    lines += [f"{name}: {' | '.join(body.split(' | '))}\n" for body, name in helpers.rules.items()]
    lines += [f"{body}\n" for body in helpers.fragments.values()]
    lines.insert(1, f"%declare {' '.join(heads)}\n")
    defaults: dict[str, list[str]] = {}
    for name, op_class in dialect.ops.items():
        if op_class.default_dialect is not None:
            defaults.setdefault(op_class.default_dialect, []).append(name)
    lines[1:1] = [
        f"//: {default} is the default dialect inside {' '.join(names)}\n"
        for default, names in defaults.items()
    ]
    return "\n".join(lines).rstrip() + "\n"


def heads(text: str, dialect: str) -> dict[str, str]:
    """Op name → head terminal, from the generated comments of ops/<dialect>.lark."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in text.split("\n"):
        if line.startswith("// "):
            names = line[3:].split()
        elif line.startswith(f"{dialect}_op_"):
            head = line.split(":", 1)[1].split()[0]
            found.update((name, head) for name in names)
    return found


def default_dialects(text: str) -> dict[str, str]:
    """Op name → the default dialect of its regions, from the generated comments."""
    return {name: match.group(1) for match in _DEFAULTS.finditer(text) for name in match.group(2).split()}


def added_grammars() -> list[tuple[str, str]]:
    """The dialects of plugins that have custom formats, and the text of their grammars."""
    found: list[tuple[str, str]] = []
    for name in added_dialects():
        dialect = find_dialect(name)
        text = dialect_grammar(dialect) if dialect is not None else None
        if text is not None:
            found.append((name, text))
    return found


def read_grammar() -> tuple[str, dict[str, str], dict[str, str]]:
    """The whole grammar as Lark text, op name → head terminal, and op name → default dialect of its regions."""
    folder = grammar_folder()
    parts = [(folder / "structure.lark").read_text("utf-8")]
    ops: dict[str, str] = {}
    defaults: dict[str, str] = {}
    rules: list[str] = ["generic"]
    generated = [(path.stem, path.read_text("utf-8")) for path in sorted((folder / "ops").glob("*.lark"))]
    for name, text in [*generated, *added_grammars()]:
        parts.append(text)
        ops.update(heads(text, name))
        defaults.update(default_dialects(text))
        rules += [line.split(":", 1)[0] for line in text.split("\n") if line.startswith(f"{name}_op_")]
    # `?op` is replaced by its only child: the statement's node is the format's.
    parts.append("?op: " + "\n    | ".join(rules) + "\n")
    return "\n".join(parts), ops, defaults


def write_generated(folder: Path) -> list[str]:
    """Regenerate every ops/<dialect>.lark; returns the names of those that changed."""
    changed: list[str] = []
    for dialect in all_dialects():
        text = dialect_grammar(dialect)
        path = folder / "ops" / f"{dialect.name}.lark"
        if text is not None and (not path.exists() or path.read_text("utf-8") != text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            changed.append(path.name)
    return changed


if __name__ == "__main__":
    for changed_name in write_generated(grammar_folder()):
        print(f"wrote grammar/ops/{changed_name}")
