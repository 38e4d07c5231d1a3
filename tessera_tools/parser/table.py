"""The parse table: Lark builds it (LALR(1), strict) from the grammar, we keep it as JSON and run it ourselves.

    grammar/*.lark ──Lark, strict──▶ table.json {states, gotos, rules, literals, ops}

The table is shipped in the wheel (`tessera_tools/_grammar/table.json`).  In a checkout it is made when first needed
and kept in the user's cache folder, keyed by the grammar's text.

    python -m tessera_tools.parser.table --output FILE        makes it
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from tessera_tools.cache import cache_folder
from tessera_tools.parser.grammar import grammar_folder, read_grammar

FORMAT = 4
"""Version of the JSON's shape."""


class GrammarConflict(ValueError):
    """The grammar can be read in two ways; the message names the ops whose format is to blame."""


def make() -> dict[str, Any]:
    """Build the table with Lark.  GrammarConflict where the grammar is not LALR(1)."""
    text, ops, defaults = read_grammar()
    lark = _lark(text, ops)
    parse_table = lark.parser.parser._parse_table
    literals = {t.pattern.value: t.name for t in lark.terminals if t.pattern.type == "str"}
    rules: list[list[Any]] = []
    numbers: dict[Any, int] = {}
    for rule in parse_table_rules(parse_table):
        numbers[rule] = len(rules)
        keep: list[int] = []
        for i, symbol in enumerate(rule.expansion):
            if symbol.is_term and getattr(symbol, "filter_out", False):
                continue
            keep.append(i if symbol.is_term or not symbol.name.startswith("__") else -1 - i)
        origin = str(rule.origin.name)
        placeholders = [int(b) for b in rule.options.empty_indices] if rule.options.empty_indices else []
        rules.append([origin, len(rule.expansion), keep, rule.alias, placeholders, int(rule.options.expand1)])
    states: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    for number in range(len(parse_table.states)):
        row: dict[str, int] = {}
        goto: dict[str, int] = {}
        for symbol, (action, argument) in parse_table.states[number].items():
            if action.name == "Shift":
                (row if symbol.isupper() or (symbol[0] in "_$" and symbol.upper() == symbol) else goto)[
                    symbol
                ] = argument
            else:
                row[symbol] = -1 - numbers[argument]
        states.append(row)
        gotos.append(goto)
    return {
        "format": FORMAT,
        "start": parse_table.start_states["start"],
        "end": parse_table.end_states["start"],
        "states": states,
        "gotos": gotos,
        "rules": rules,
        "literals": literals,
        "ops": ops,
        "defaults": defaults,
    }


def _lark(text: str, ops: dict[str, str]) -> Any:
    """Lark's parser for the grammar; GrammarConflict."""
    from lark.exceptions import GrammarError

    try:
        return _build(text)
    except GrammarError as conflict:
        structure, _, alternatives = text.rpartition("?op:")
        culprits = _smallest_conflict(structure, re.findall(r"\w+", alternatives))
        names = [name for name, head in ops.items() if any(f"{rule}: {head} " in text for rule in culprits)]
        raise GrammarConflict(f"the format of {', '.join(names)} is ambiguous: {conflict}") from None


def _smallest_conflict(structure: str, rules: list[str]) -> list[str]:
    """A small part of the ops' rules that conflicts already; by halves, so that it takes seconds."""
    from lark.exceptions import GrammarError

    while len(rules) > 1:
        middle = len(rules) // 2
        for half in (rules[:middle], rules[middle:]):
            try:
                _build(f"{structure}?op: {' | '.join({'generic': 0} | dict.fromkeys(half))}\n")
            except GrammarError:
                rules = half
                break
        else:
            break
    return rules


def _build(text: str) -> Any:
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Stands where Lark wants a lexer; ours runs with the table."""

        __future_interface__ = 2

        def __init__(self, conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Any:
            return iter(())

    return Lark(
        text, parser="lalr", lexer=NoLexer, strict=True, maybe_placeholders=True, keep_all_tokens=False
    )


def parse_table_rules(parse_table: Any) -> list[Any]:
    """Every rule that some state reduces, in a fixed order."""
    rules = {
        arg for row in parse_table.states.values() for action, arg in row.values() if action.name == "Reduce"
    }
    return sorted(rules, key=lambda r: (str(r.origin.name), r.order, str(r.expansion)))


def key() -> str:
    """What the table depends on, as a digest: the grammar's text.  The table is plain data that Lark's own version and
    Python's have no part in, and asking for Lark's version would take longer than loading the table."""
    digest = hashlib.sha256(f"{FORMAT}".encode())
    folder = grammar_folder()
    for path in [folder / "structure.lark", *sorted((folder / "ops").glob("*.lark"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def build(path: Path | str) -> None:
    """Write the table to a file, whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(make(), separators=(",", ":")), "utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load() -> dict[str, Any]:
    """The table: the wheel's own, else the cached one, else made now (and cached where the cache can be written)."""
    shipped = grammar_folder() / "table.json"
    if grammar_folder().name == "_grammar" and shipped.exists():
        return json.loads(shipped.read_bytes())
    cached = Path(cache_folder()) / f"table-{key()}.json"
    try:
        table = json.loads(cached.read_bytes())
        if table.get("format") == FORMAT:
            return table
    except (OSError, ValueError):
        pass
    if sys.stderr.isatty():
        print("building the parser table (once per grammar) …", file=sys.stderr)
    try:
        build(cached)
        return json.loads(cached.read_bytes())
    except OSError:
        return make()


if __name__ == "__main__":
    import argparse

    arguments = argparse.ArgumentParser(description="Build the parser table from the grammar.")
    arguments.add_argument("--output", required=True, help="the JSON file to write")
    build(arguments.parse_args().output)
