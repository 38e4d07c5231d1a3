"""Each dimension of a search changes a kernel, and values that change nothing count once."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import tessera_tools as tt
from tessera_tools.cli import tune
from tessera_tools.emit.tunables import TUNABLES

ROOT = Path(__file__).resolve().parents[2]
GEMM = "gemm_f16_128x256x64"
CASES: dict[str, tuple[str, str, Any]] = {
    "num_warps": ("vector_add_f32", "sm_80", 2),
    "num_consumer_warpgroups": (GEMM, "sm_90a", 4),
    "ping_pong": (GEMM, "sm_90a", "always"),
    "agents": (GEMM, "sm_90a", "none"),
    "cluster": (GEMM, "sm_90a", "blocks:2x1"),
    "num_stages": (GEMM, "sm_80", 2),
    "split_k": ("gemm_f16_64x64x32", "sm_90a", 2),
    "persistent": (GEMM, "sm_90a", "static"),
    "raster": (GEMM, "sm_90a", "grouped:8"),
    "launches": (GEMM, "sm_90a", "large"),
}
"""Dimension → a program of the corpus, a target and a value with which it is another kernel."""


@pytest.mark.parametrize("name", [one.name for one in TUNABLES])
def test_each_dimension_changes_a_kernel(name: str) -> None:
    program, target, value = CASES[name]
    source = str(ROOT / "test" / "corpus" / f"{program}.mlir")
    options: dict[str, Any] = {name: value}
    assert tt.compile(source, target, **options).ptx != tt.compile(source, target).ptx


def test_agents_are_searched_by_the_command(tmp_path: Path) -> None:
    """On sm_90a, a producer is what the compiler chooses for a product, and two values are of other GPUs."""
    file = tmp_path / "t.sqlite"
    launch = [str(ROOT / "test" / "corpus" / "gemm_f16_64x64x32.mlir"), "--gpu-name=sm_90a", "--grid=1,1"]
    for name, rows in (("a", 64), ("b", 64), ("d", 64)):
        fill = "zeros" if name == "d" else "rand"
        launch += [f"--arg={name}={fill}:f16:{rows}x64", *(f"--arg=i32:{one}" for one in (64, 64, 64, 1))]
    done = tune.run([*launch, "--search=agents", "-o", str(file)])
    assert done.exit_code == 0, done.stderr.decode()
    database = sqlite3.connect(file)
    rows = database.execute("SELECT config, outcome, digest FROM trials").fetchall()
    database.close()
    found = {json.loads(config).get("agents", ""): (outcome, digest) for config, outcome, digest in rows}
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "": "measured", "none": "measured", "producer": "measured", "multipliers": "refused", "correction": "refused",
    }  # fmt: skip
    assert found["producer"] == found[""] and found["none"][1] != found[""][1]
    told = done.stdout.decode()
    assert "5 configurations (4 now): 2 refused, 1 with the code of another" in told
    assert told.count("--agents=producer") == 0 and told.count("--agents=none") == 1
