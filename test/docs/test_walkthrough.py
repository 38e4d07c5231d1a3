"""The walkthrough quotes what the tools print today."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.pages import ROOT, Block, blocks, check_command, commands, missing_lines

from oracles import require_tool

PAGE = ROOT / "docs" / "walkthrough.md"
QUOTES = [block for block in blocks(PAGE) if block.mark]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's commands have been run."""
    require_tool("ptxas")
    require_tool("nvdisasm")
    folder = tmp_path_factory.mktemp("walkthrough")
    (folder / "examples").symlink_to(ROOT / "examples")
    for command in commands(PAGE, "mkdir", "tessera-translate", "tessera-opt"):
        check_command(command, folder)
    return folder


@pytest.mark.parametrize("block", QUOTES, ids=lambda block: f"line {block.line}: {block.mark}")
def test_every_quoted_line_is_printed(block: Block, folder: Path) -> None:
    (file,) = [path for path in (folder / "build" / "walk").glob(f"{block.mark}.*") if path.suffix != ".json"]
    absent = missing_lines(block.text, file.read_text("utf-8"))
    assert not absent, (
        f"docs/walkthrough.md:{block.line} quotes lines that {file.name} no longer has: {absent}"
    )


def test_every_stage_is_quoted() -> None:
    stages = {"1-cuda_tile", "2-nv_tileaa", "3-nv_tileas", "4-llvm", "4b-llvm", "5-mir", "6-ptx", "7-sass"}
    assert stages <= {block.mark for block in QUOTES}


def test_the_loop_has_the_instructions_that_the_table_counts(folder: Path) -> None:
    text = (folder / "build" / "walk" / "7-sass.sass").read_text("utf-8")
    first = text.index("HMMA")
    start = text.rindex("DEPBAR.LE SB0, 0x2", 0, first)
    loop = text[start : text.index("BRA", first)]
    counts = {name: loop.count(name) for name in ("LDGSTS", "LDGDEPBAR", "BAR.SYNC", "LDSM", "HMMA")}
    assert counts == {"LDGSTS": 4, "LDGDEPBAR": 1, "BAR.SYNC": 1, "LDSM": 8, "HMMA": 16}


def test_without_the_promise_on_the_stride_the_access_is_narrow(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "gemm.mlir").read_text("utf-8")
    promise = "%A_step = assume div_by<8>, %A_stride_pos"
    assert promise in text
    (tmp_path / "gemm.mlir").write_text(
        text.replace(promise, "%A_step = assume bounded<0, ?>, %A_stride_pos")
    )
    printed = check_command("tessera-opt gemm.mlir --convert-cuda-tile-to-tileaa=gpu-name=sm_80", tmp_path)
    assert "sm80_ldg_16_f16" in printed


def test_a_line_that_is_not_printed_is_found() -> None:
    printed = "  %a = f %b : i32\n  g\n"
    assert missing_lines("%a = f … : i32\n", printed) == []
    assert missing_lines("… = f %b", printed) == []
    assert missing_lines("%a = g\n", printed) == ["%a = g"]


def test_an_ellipsis_stays_within_its_line() -> None:
    assert missing_lines("a … b", "a 1\nb") == ["a … b"]
