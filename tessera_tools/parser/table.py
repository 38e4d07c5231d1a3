"""The parse table of MLIR's text: structure.lark and every dialect's ops as one LALR(1) grammar.

    grammar/structure.lark, grammar/ops/*.lark ──Lark──▶ table.json {states, gotos, rules, literals, ops, defaults}

The wheel contains the table (`tessera_tools/_grammar/table.json`).  In a checkout it is built on first use and stored
in the user's cache folder, keyed by the grammar's text.

    python -m tessera_tools.parser.table --output FILE        builds it
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tessera_tools import cache as caches
from tessera_tools import lalr
from tessera_tools.lalr import grammar_path
from tessera_tools.parser.grammar import added_grammars, read_grammar

if TYPE_CHECKING:
    from lark import Lark


class GrammarConflict(ValueError):
    """The grammar is ambiguous; the message names the responsible ops."""


def make() -> lalr.TableData:
    """Build the table with Lark.  Raises GrammarConflict if the grammar is not LALR(1)."""
    text, ops, defaults = read_grammar()
    return lalr.make_table(_lark(text, ops)) | {"ops": ops, "defaults": defaults}


def _lark(text: str, ops: dict[str, str]) -> Lark:
    """Lark's parser for the grammar; GrammarConflict."""
    from lark.exceptions import GrammarError

    try:
        return lalr.build_lark(text)
    except GrammarError as conflict:
        structure, _, alternatives = text.rpartition("?op:")
        culprits = _smallest_conflict(structure, re.findall(r"\w+", alternatives))
        names = [name for name, head in ops.items() if any(f"{rule}: {head} " in text for rule in culprits)]
        raise GrammarConflict(f"the format of {', '.join(names)} is ambiguous: {conflict}") from None


def _smallest_conflict(structure: str, rules: list[str]) -> list[str]:
    """A small subset of the ops' rules with a conflict, found by bisection, which takes seconds."""
    from lark.exceptions import GrammarError

    while len(rules) > 1:
        middle = len(rules) // 2
        for half in (rules[:middle], rules[middle:]):
            try:
                lalr.build_lark(f"{structure}?op: {' | '.join({'generic': 0} | dict.fromkeys(half))}\n")
            except GrammarError:
                rules = half
                break
        else:
            break
    return rules


def key() -> str:
    """The digest of the table's inputs."""
    ops = grammar_path("ops")
    names = sorted(name for name in os.listdir(ops) if name.endswith(".lark"))
    return lalr.digest([grammar_path("structure.lark"), *(os.path.join(ops, name) for name in names)])


def load() -> lalr.TableData:
    """The table: from the wheel, otherwise from the cache, otherwise built (and cached if possible)."""
    added = "".join(text for _, text in added_grammars())
    if not added:
        return lalr.load("table", key, make)
    # With the ops of plugins it is another table, which no wheel has.
    return lalr.load("plugins", lambda: f"{key()}-{caches.digest(added.encode(), 8).hex()}", make)


if __name__ == "__main__":
    import argparse

    arguments = argparse.ArgumentParser(description="Build the parser table from the grammar.")
    arguments.add_argument("--output", required=True, help="the JSON file to write")
    lalr.build(arguments.parse_args().output, make())
