"""docs/architecture.md: the messages it quotes are in the sources, the files it names exist, every pass is told of."""

from __future__ import annotations

import ast
import re

import pytest
from docs.pages import ROOT
from run_cache import once_in_a_run

from tessera_tools.passes.table import PASSES, STAGES

TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
REFUSALS = TEXT.split("## What is not supported yet")[1]
PACKAGE = ROOT / "tessera_tools"


@once_in_a_run
def templates() -> str:
    """Every string of the sources; in an f-string, `…` for each expression."""
    found: list[str] = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
                    )
                )
    return "\n".join(" ".join(text.split()) for text in found)


MESSAGES = re.findall(
    r"`([^`]{12,})`", "\n".join(row.rsplit("|", 2)[1] for row in REFUSALS.splitlines() if row.startswith("|"))
)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_quoted_refusal_is_one_of_the_sources(message: str) -> None:
    # A gap at an end matches anything, and to look for one there would take a second a message.
    pattern = "[^\n]*?".join(re.escape(piece) for piece in message.strip("…").split("…"))
    assert re.search(pattern, templates()), (
        f"docs/architecture.md quotes a message that no source has: {message}"
    )


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", TEXT))))
def test_a_named_module_exists(name: str) -> None:
    assert (PACKAGE / name).exists() or (ROOT / name).exists()


@pytest.mark.parametrize("name", sorted(name for name in PASSES if name.startswith(("convert", "tileas"))))
def test_every_lowering_pass_is_told_of(name: str) -> None:
    assert f"`{name}`" in TEXT


def test_every_stage_is_told_of() -> None:
    assert all(f"`{stage}`" in TEXT for stage in STAGES)


def test_every_package_has_its_row() -> None:
    named = set(re.findall(r"^\| `(\w+)/` \|", TEXT, re.MULTILINE))
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert named == packages
