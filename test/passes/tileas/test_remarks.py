"""What `--remarks` of tessera-opt says of layouts; without it, nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tessera_tools.cli import translate
from tessera_tools.cli.opt import run

GEMM = Path(__file__).parents[2] / "corpus/gemm_nt_bias_f16_128x128x64.mlir"
PASSES = ["--convert-cuda-tile-to-tileaa", "--convert-tileaa-to-tileas", "--tileas-assign-layouts"]


def remarks(*flags: str) -> list[str]:
    """The lines with remarks, without the path."""
    result = run([str(GEMM), *PASSES, *flags, "-o", "-"], b"", None)
    assert result.exit_code == 0, result.stderr.decode()
    return [
        line.replace(str(GEMM), "gemm") for line in result.stderr.decode().splitlines() if ": remark" in line
    ]


FOUND = remarks("--remarks=text")


def at(what: str) -> str:
    """`line:column` of the first statement of the GEMM with that text."""
    for number, line in enumerate(GEMM.read_text().splitlines(), 1):
        if what in line:
            return f"{number}:{line.index(what) + 1}"
    raise AssertionError(what)


def test_a_layout_names_the_op_that_it_comes_from():
    product = at("mmaf")
    assert any(
        re.search(rf"layout of \d+ tiles of type 128x128xf32: from mma_atom at gemm:{product}", line)
        for line in FOUND
    )


def test_a_layout_that_came_by_a_copy_says_so():
    assert any(
        re.search(r"of type 64x128xf16: from copy_atom at gemm:\d+:\d+, through 1 copy", line)
        for line in FOUND
    )


def test_an_op_that_was_overruled_is_named():
    assert any(
        "'nv_tileas.tiled_store' prefers another layout for its tile of type 128x128xf32" in line
        for line in FOUND
    )


def test_a_conversion_says_what_it_takes():
    assert any(
        "'nv_tileas.dot' needs a tile of type 128x64xf16 in a different layout than it has" in line
        and line.endswith("the conversion uses a round trip through shared memory [conversion]")
        for line in FOUND
    )


def test_nothing_is_said_unless_asked():
    assert remarks() == []


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize(("stages", "says"), [(1, True), (2, False)])
def test_agents_that_need_more_stages_than_asked_for_say_so(target: str, stages: int, says: bool) -> None:
    options = [f"--gpu-name={target}", f"--num-stages={stages}", "--remarks=text", "-o", "-"]
    result = translate.run(["--mlir-to-ptx", str(GEMM), *options], b"", None)
    assert result.exit_code == 0, result.stderr.decode()
    assert (b"2 stages, more than num-stages=1: the agents" in result.stderr) == says
