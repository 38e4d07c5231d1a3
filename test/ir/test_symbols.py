"""Symbol tables: look-up, uses, renaming, unique names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ir.sample_ops import Store, block, const, func, module

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.builtin_attributes import StringAttr, SymbolRefAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import (
    SymbolTable,
    SymbolTables,
    lookup_symbol,
    replace_all_symbol_uses,
    shared_symbol_tables,
    symbol_name,
)
from tessera_tools.ir.traits import SYMBOL_TABLE
from tessera_tools.parser import parse_attribute


def call(callee: SymbolRefAttr) -> Operation:
    return Store.create((), (), {"callee": callee})


def test_a_reference_is_looked_up_in_the_nearest_table() -> None:
    user = call(SymbolRefAttr("g"))
    target = func(block(), name="g")
    module(func(block(user)), target)
    assert lookup_symbol(user, SymbolRefAttr("g")) is target
    assert lookup_symbol(user, "missing") is None


def test_nested_references_go_from_table_to_table() -> None:
    target = func(block(), name="k")
    inner = module(target, name="m")
    user = call(SymbolRefAttr("m", ("k",)))
    module(inner, func(block(user)))
    tables = SymbolTables()
    assert tables.lookup(user, SymbolRefAttr("m", ("k",))) is target
    assert tables.lookup(user, SymbolRefAttr("m", ("none",))) is None
    assert tables.lookup(user, SymbolRefAttr("f", ("k",))) is None


def test_tables_are_made_once() -> None:
    root = module(func(block()))
    tables = SymbolTables()
    assert tables.of(root) is tables.of(root)


def test_a_same_name_inside_another_table_is_another_symbol() -> None:
    target = func(block(), name="g")
    stranger = call(SymbolRefAttr("g"))
    module(target, module(func(block(stranger)), name="m"))
    replace_all_symbol_uses(target, "new")
    assert SymbolRefAttr("g") in stranger.attributes.values()


def test_renaming_changes_every_reference() -> None:
    target = func(block(), name="k")
    inner_user, outer_user = call(SymbolRefAttr("k")), call(SymbolRefAttr("m", ("k",)))
    inner = module(target, func(block(inner_user)), name="m")
    module(inner, func(block(outer_user)))
    table = SymbolTable(inner)
    table.rename(target, "fresh")
    assert symbol_name(target) == "fresh" and table.lookup("fresh") is target and table.lookup("k") is None
    assert inner_user.attributes["callee"] is SymbolRefAttr("fresh")
    assert outer_user.attributes["callee"] is SymbolRefAttr("m", ("fresh",))


def test_renaming_changes_references_within_attributes() -> None:
    user = call(parse_attribute('[@g, {inner = [@m::@g, @g], other = "g"}]'))  # type: ignore[arg-type]
    target = func(block(), name="g")
    module(func(block(user)), target)
    replace_all_symbol_uses(target, "h")
    assert str(user.attributes["callee"]) == '[@h, {inner = [@m::@g, @h], other = "g"}]'


def test_renaming_to_a_taken_name_is_refused() -> None:
    one, two = func(block(), name="a"), func(block(), name="b")
    with pytest.raises(ValueError, match="@b already exists"):
        SymbolTable(module(one, two)).rename(one, "b")


def test_insertion_makes_the_name_unique() -> None:
    root = module(func(block(), name="f"), func(block(), name="f_0"))
    table = SymbolTable(root)
    added = func(block(), name="f")
    assert table.insert(added) == "f_1"
    assert added.parent_op is root and added.attributes["sym_name"] is StringAttr("f_1")
    assert table.lookup("f_1") is added


def test_insertion_can_name_a_place() -> None:
    first = func(block(), name="f")
    root = module(first)
    added = func(block(), name="g")
    SymbolTable(root).insert(added, before=first)
    assert list(root.regions[0].block) == [added, first]


def test_only_symbols_are_inserted() -> None:
    with pytest.raises(DiagnosticError, match="requires string attribute 'sym_name'"):
        SymbolTable(module()).insert(const(1))


def test_a_removed_symbol_is_not_found() -> None:
    target = func(block())
    table = SymbolTable(module(target))
    table.remove(target)
    assert table.lookup("f") is None


def test_look_ups_share_tables_within_the_block_only() -> None:
    first, second = func(name="g"), func(name="f")
    module(first, second)
    with shared_symbol_tables():
        assert lookup_symbol(second, "g") is first
        first.attributes["sym_name"] = StringAttr("h")
        assert lookup_symbol(second, "g") is first
    assert lookup_symbol(second, "g") is None
    assert lookup_symbol(second, "h") is first


def test_a_quoted_name_is_read_without_its_quotes() -> None:
    found = parse_attribute(r'@"two words"::@plain::@"a\22b"')
    assert found == SymbolRefAttr("two words", ("plain", 'a"b'))
    assert parse_attribute(str(found)) == found


@pytest.mark.parametrize("made", [SymbolTable, SYMBOL_TABLE.verify])
def test_a_symbol_table_has_one_region(made: Callable[[Operation], object]) -> None:
    with pytest.raises(
        DiagnosticError, match=r"^error: 't\.store' op must have exactly one region to be a symbol table$"
    ):
        made(Store.create((), (), {}))
