"""`make demo`: every stage of the GEMM leaves its file, for both GPUs, and the table names them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oracles import require_tool

ROOT = Path(__file__).resolve().parents[2]
KINDS = [
    "1-*.mlir",
    "2-*.mlir",
    "3-*.mlir",
    "4-*.mlir",
    "4b-*.ll",
    "5-*.mir",
    "6-*.ptx",
    "7-*.cubin",
    "7-*.sass",
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the demo left its files, and what it printed."""
    require_tool("ptxas")
    require_tool("nvdisasm")
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, str(ROOT / "tools" / "demo.py"), "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_every_stage_leaves_a_file(demo: tuple[Path, str], target: str) -> None:
    folder, _ = demo
    for kind in KINDS:
        assert list((folder / target).glob(kind)), kind


def test_the_tables_name_stages_and_resources(demo: tuple[Path, str]) -> None:
    _, printed = demo
    for word in (
        "cuda_tile",
        "nv_tileaa",
        "nv_tileas",
        "LLVM IR",
        "PTX",
        "cubin",
        "SASS",
        "registers",
        "spill",
    ):
        assert word in printed


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_the_kernel_uses_tensor_cores_and_asynchronous_copies(demo: tuple[Path, str], target: str) -> None:
    (sass,) = (demo[0] / target).glob("7-*.sass")
    text = sass.read_text()
    product, copy = ("HGMMA", "UTMALDG") if target == "sm_90a" else ("HMMA", "LDGSTS")
    assert product in text
    assert copy in text
