"""What the README and the pages say to paste works when pasted, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.pages import ROOT, check_command, commands

from oracles import require_tool

PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PASTED = [ROOT / "README.md", ROOT / "examples" / "README.md", ROOT / "docs" / "tile.md"]


def heading_anchors(page: Path) -> set[str]:
    """The fragments of the page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PASTED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_work_when_pasted(page: Path, tmp_path: Path) -> None:
    require_tool("ptxas")
    require_tool("nvdisasm")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    pasted = commands(page, "mkdir", "tessera-opt", "tessera-translate", "tessera-run")
    assert len(pasted) >= 3
    for command in pasted:
        check_command(command, tmp_path)


def test_the_make_targets_it_names_exist() -> None:
    made = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text("utf-8")))
    for page in (ROOT / "README.md", ROOT / "docs" / "testing.md"):
        named = set(re.findall(r"`?make ([a-z]+)\b(?=[`\s])", page.read_text("utf-8")))
        assert {name for name in named if name in made or f"`make {name}" in page.read_text("utf-8")} <= made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, fragment = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), f"{page.name} links to {target}"
        if fragment and found.suffix == ".md":
            assert fragment in heading_anchors(found), f"{page.name} links to {target}"


def test_every_file_of_examples_is_told_of() -> None:
    text = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert all(f"`{path.name}`" in text for path in (ROOT / "examples").glob("*.mlir"))


def test_the_versions_agree() -> None:
    from tessera_tools import __version__

    newest = re.search(r"(?m)^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert newest is not None and newest[1] == __version__
