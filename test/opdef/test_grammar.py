"""The generated grammar: fresh, free of conflicts, and complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tessera_tools import lalr
from tessera_tools.cache import cache_folder
from tessera_tools.lalr import grammar_folder
from tessera_tools.opdef import Op, operand, variadic_operand
from tessera_tools.opdef.dialect import Dialect, all_dialects
from tessera_tools.parser import table
from tessera_tools.parser.grammar import dialect_grammar, heads, read_grammar

COMMAND = "python -m tessera_tools.parser.grammar"

GENERIC_ONLY = {"llvm": 30, "cuda_tile": 6}
"""How many ops of a dialect may have no format of their own, as upstream's have none."""


def test_the_committed_grammar_is_what_the_classes_say() -> None:
    stale: list[str] = []
    for dialect in all_dialects():
        text = dialect_grammar(dialect)
        path = grammar_folder() / "ops" / f"{dialect.name}.lark"
        if text is None:
            assert not path.exists(), f"{path.name} belongs to no dialect with formats"
        elif not path.exists() or path.read_text("utf-8") != text:
            stale.append(path.name)
    assert not stale, f"stale: {', '.join(stale)}; run `{COMMAND}`"


def test_every_committed_grammar_belongs_to_a_dialect() -> None:
    names = {dialect.name for dialect in all_dialects()}
    assert {path.stem for path in (grammar_folder() / "ops").glob("*.lark")} <= names


def test_the_table_builds_without_a_conflict() -> None:
    made = table.make()
    assert len(made["ops"]) > 500
    assert len(made["states"]) > 1000


def test_every_registered_op_has_a_format_or_is_generic_as_upstream_has_it() -> None:
    for dialect in all_dialects():
        generic = [name for name, op_class in dialect.ops.items() if op_class.assembly is None]
        assert len(generic) <= GENERIC_ONLY.get(dialect.name, 0), generic


def test_every_format_compiles_and_every_op_has_a_head() -> None:
    _, ops, _ = read_grammar()
    for dialect in all_dialects():
        for name, op_class in dialect.ops.items():
            if op_class.assembly is not None:
                assert op_class.definition.format is not None
                assert name in ops


def test_ops_with_the_same_format_share_a_rule() -> None:
    text = (grammar_folder() / "ops" / "arith.lark").read_text("utf-8")
    found = heads(text, "arith")
    assert found["arith.addf"] == found["arith.mulf"] != found["arith.constant"]


def add_dialect(monkeypatch: pytest.MonkeyPatch, *classes: type[Op]) -> None:
    """Let the table be made of the structure, one committed dialect and one more: all take ten times as long."""
    text = dialect_grammar(Dialect("clash", "", {cls.name: cls for cls in classes}))
    assert text is not None
    parts = [(grammar_folder() / name).read_text("utf-8") for name in ("structure.lark", "ops/cf.lark")] + [
        text
    ]
    rules = ["generic", *re.findall(r"^((?:cf|clash)_op_\d+):", "\n".join(parts), re.MULTILINE)]
    made = "\n".join([*parts, f"?op: {' | '.join(rules)}\n"])
    found = heads(parts[1], "cf") | heads(text, "clash")
    monkeypatch.setattr(table, "read_grammar", lambda: (made, found, {}))


def test_a_format_that_can_be_read_in_two_ways_is_refused_with_the_ops_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Fine(Op, name="clash.fine"):
        first = variadic_operand()
        second = variadic_operand()
        assembly = "$first `;` $second attr-dict `:` type(operands)"

    class Clash(Op, name="clash.clash"):
        first = variadic_operand()
        second = variadic_operand()
        assembly = "$first (`,` $second^)? attr-dict `:` type(operands)"

    add_dialect(monkeypatch, Fine)
    assert "clash.fine" in table.make()["ops"]
    add_dialect(monkeypatch, Fine, Clash)
    with pytest.raises(table.GrammarConflict, match="the format of clash.clash is ambiguous"):
        table.make()


def test_a_cached_table_is_read_and_not_made_again(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))
    monkeypatch.setattr(table, "make", lambda: {"format": lalr.FORMAT, "made": 1})
    assert table.load() == {"format": lalr.FORMAT, "made": 1}
    monkeypatch.setattr(table, "make", lambda: pytest.fail("made again"))
    assert table.load()["made"] == 1


def test_a_broken_cached_table_is_made_again(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))
    monkeypatch.setattr(table, "make", lambda: {"format": lalr.FORMAT, "made": 2})
    folder = cache_folder()
    assert folder is not None
    (Path(folder) / f"table-{table.key()}.json").write_text('{"format": ')
    assert table.load()["made"] == 2


def test_a_table_is_used_where_no_cache_can_be_written(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = f"{tmp_path}/file"
    with open(blocked, "w") as file:
        file.write("")
    monkeypatch.setenv("TESSERA_CACHE", blocked)
    monkeypatch.setattr(table, "make", lambda: {"format": lalr.FORMAT, "made": 3})
    assert table.load()["made"] == 3


def test_operands_may_be_declared_without_a_format() -> None:
    class Bare(Op, name="unit.bare"):
        value = operand()

    assert Bare.definition.format is None
