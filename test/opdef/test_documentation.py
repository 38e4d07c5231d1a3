"""The committed pages of docs/dialects are those that the declarations give today."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tessera_tools.dialects import arith, nv_tileas, scf
from tessera_tools.opdef import documentation
from tessera_tools.opdef.dialect import Dialect, find_dialect
from tessera_tools.opdef.op import Op

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "dialects"
NAMES = sorted(documentation.names())
page = cache(documentation.page)


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_page_is_fresh(name: str) -> None:
    path = FOLDER / name
    committed = path.read_text("utf-8") if path.exists() else ""
    assert committed == page(name), f"docs/dialects/{name} is stale: run `{documentation.COMMAND}`"


def test_no_page_is_left_of_a_dialect_that_is_gone() -> None:
    extra = {path.name for path in FOLDER.glob("*.md")} - set(NAMES)
    assert not extra, f"{extra} belong to no dialect: run `{documentation.COMMAND}`"


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_says_from_what_and_how_a_page_is_made(name: str) -> None:
    first = page(name).split("\n", 1)[0]
    assert "Generated from tessera_tools/dialects" in first
    assert documentation.COMMAND in first


@pytest.mark.parametrize("name", NAMES)
def test_links_within_a_page_lead_to_headings(name: str) -> None:
    headings = {documentation.anchor(h) for h in re.findall(r"(?m)^#+ `?([^`\n]+)`?$", page(name))}
    assert set(re.findall(r"\(#([\w-]+)\)", page(name))) <= headings


def test_every_op_of_a_dialect_has_a_heading() -> None:
    dialect = find_dialect("cuda_tile")
    assert dialect is not None
    headings = set(re.findall(r"(?m)^## `([\w.$]+)`$", page("cuda_tile.md")))
    assert headings == set(documentation.own_ops(dialect))


def test_syntax_is_shown_as_it_is_typed() -> None:
    shown = documentation.template(arith.AddF)
    assert shown == "%result = arith.addf %lhs, %rhs [fastmath<$fastmath>] [{…}] : type(result)"


def test_optional_operands_stand_in_brackets() -> None:
    shown = documentation.template(nv_tileas.AsyncTiledCopy)
    assert shown is not None
    assert "%buffer[%stage] [when %when?]" in shown


def test_a_custom_directive_is_named_and_explained() -> None:
    shown = documentation.template(scf.For)
    assert shown is not None and "<For>" in shown
    text = page("scf.md")
    assert "- `<For>`: `unsigned %i = %lo to %hi step %st" in text


def test_defaults_are_shown() -> None:
    assert "| default `<none>` |" in page("arith.md")


def test_ops_of_another_dialect_are_left_out() -> None:
    ops: dict[str, type[Op]] = {"arith.addf": arith.AddF, "scf.for": scf.For}
    assert list(documentation.own_ops(Dialect("arith", "arithmetic", ops))) == ["arith.addf"]


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    assert set(documentation.write_pages(tmp_path)) == set(NAMES)
    assert documentation.write_pages(tmp_path) == []


def test_a_page_of_a_dialect_that_is_gone_is_dropped(tmp_path: Path) -> None:
    documentation.write_pages(tmp_path)
    (tmp_path / "gone.md").write_text("…")
    assert documentation.write_pages(tmp_path) == ["gone.md"]
    assert not (tmp_path / "gone.md").exists()


def test_the_overview_has_one_line_a_dialect() -> None:
    lines = documentation.overview().splitlines()
    assert [line.split()[0] for line in lines] == [name[:-3] for name in NAMES if name != "README.md"]
