"""docs/remarks.md quotes what the tools print today, and names every rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.pages import ROOT, Block, blocks, check_command, commands, missing_lines

from oracles import require_tool

PAGE = ROOT / "docs" / "remarks.md"
QUOTES = [block for block in blocks(PAGE) if block.mark]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's commands have been run; the remarks of both kernels are in files of it."""
    require_tool("ptxas")
    folder = tmp_path_factory.mktemp("remarks")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "build").mkdir()
    copy, compile, selection = commands(PAGE, "sed", "tessera-translate")
    check_command(copy, folder)
    check_command(f"{compile}:slow", folder)
    check_command(f"{compile.replace(' build/slow.mlir', ' examples/gemm.mlir')}:gemm", folder)
    check_command(f"{selection} --remarks=text:filtered", folder)
    return folder


@pytest.mark.parametrize("block", QUOTES, ids=lambda block: f"line {block.line}: {block.mark}")
def test_every_quoted_line_is_printed(block: Block, folder: Path) -> None:
    printed = (folder / block.mark).read_text("utf-8")
    absent = missing_lines(block.text, printed)
    assert not absent, f"docs/remarks.md:{block.line} quotes lines that are no longer printed: {absent}"
    if block.mark == "filtered":
        assert printed.count(": remark") == block.text.count(": remark")


def test_every_rule_is_in_the_table() -> None:
    named = set(re.findall(r"`([\w-]+)`", PAGE.read_text("utf-8").split("## Kinds and rules")[1]))
    calls = re.compile(
        r"(?:\.(?:passed|missed|failed|analyzed)|\btell)"
        r"\([^\"]*(?:f?\"[^\"]*\"|[\w, ])*?,\s*\"([a-z-]+)\",\s*\"[a-z]+\"",
        re.DOTALL,
    )
    used: set[str] = set()
    for path in (ROOT / "tessera_tools").rglob("*.py"):
        text = path.read_text("utf-8")
        used |= set(calls.findall(text)) | set(re.findall(r"\brule=\"([a-z-]+)\"", text))
    assert {"width", "layout", "tma", "agents", "shared-memory"} <= used
    assert used <= named


def test_every_rule_of_the_table_is_made() -> None:
    rows = PAGE.read_text("utf-8").split("| rule |")[1].split("\n\n")[0].splitlines()[2:]
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "tessera_tools").rglob("*.py"))
    assert len(named) > 15
    assert not [name for name in named if f'"{name}"' not in sources]
