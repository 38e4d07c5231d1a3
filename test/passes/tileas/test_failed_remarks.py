"""Remarks of what a pass has tried in vain; what a rule or a price speaks against is missed instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.cli.opt import run

HERE = Path(__file__).parent

FAILED = {
    "tileas-cut-products": "256x256 sums are not computed in parts, as an SM needs",
    "tileas-swap-operands": "not computed transposed by wgmma: its threads would have to transpose a factor",
    "tileas-bind-named-barriers": "do not take turns with the tensor cores: they meet at 'nv_tileas.barrier'",
}


def remarks(name: str, kind: str, *before: str) -> str:
    """The remarks of a kind on the programs of the pass's own test, some of which it refuses."""
    text = (HERE / f"{name}.mlir").read_bytes()
    flags = [*before, f"--{name}", "--split-input-file", f"--remarks-filter-{kind}=.*"]
    return run(["-", *flags, "-o", "/dev/null"], text).stderr.decode()


@pytest.mark.parametrize("name", FAILED)
def test_what_was_tried_in_vain_has_failed(name: str) -> None:
    assert FAILED[name] in remarks(name, "failed")
    assert FAILED[name] not in remarks(name, "missed")


def test_what_is_not_tried_is_missed() -> None:
    text = "TMA does not store the tile: nv_tileas.tiled_store writes to a base that is not known"
    before = ("--tileas-assign-layouts", "--tileas-remove-layout-conversions")
    assert text in remarks("tileas-materialize-tma-stores", "missed", *before)
    assert text not in remarks("tileas-materialize-tma-stores", "failed", *before)
