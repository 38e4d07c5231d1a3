"""Products with factors of blocks by mma.sync, on targets whose mma.sync multiplies by them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from dots.test_scaled import check as check_tile
from dots.test_scaled import shapes_of, text_of
from programs import assembled, compiled, empty, encode, fresh_seed, run

from tessera_tools.cli.translate import run as run_translate

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_scales import Scaled
from test_block_scales import check

TARGETS = ["sm_120a", "sm_121a"]
PROGRAMS = {
    "mxfp8": Scaled(64, 64, 128, "f8E4M3FN", "f8E8M0FNU", 32),
    "mxfp8, e5m2": Scaled(64, 64, 64, "f8E5M2", "f8E8M0FNU", 32),
    "mxfp4": Scaled(64, 64, 128, "f4E2M1FN", "f8E8M0FNU", 32),
    "nvfp4": Scaled(64, 64, 128, "f4E2M1FN", "f8E4M3FN", 16),
}
INSTRUCTIONS = {
    "mxfp8": "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
    "mxfp8, e5m2": "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0",
    "mxfp4": "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "nvfp4": "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
}
KEPT = {
    "exponents for blocks of 16": (32, 16, 64, "f4E2M1FN", "f8E8M0FNU", 16),
    "tiles of fewer terms than the instruction": (32, 16, 32, "f4E2M1FN", "f8E8M0FNU", 32),
}
"""(M, N, K, elements, factors, block) of products whose factors the instruction does not take."""


@dataclass(frozen=True)
class Hinted(Scaled):
    """With a hint on the entry."""

    hint: str = ""

    def text(self) -> str:
        return super().text().replace(") {", self.hint, 1)


def translated(text: str, target: str) -> tuple[str, str]:
    """(PTX, remarks)"""
    flags = ["-", "--mlir-to-ptx", f"--gpu-name={target}", "--remarks=text"]
    result = run_translate(flags, text.encode())
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode(), result.stderr.decode()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_instruction_multiplies_by_the_factors(name: str, target: str) -> None:
    """No other instruction is left, and ptxas takes it without a warning or a spill."""
    ptx = compiled(PROGRAMS[name].text(), target).ptx
    assert set(re.findall(r"mma\.sync\.aligned\.(\S+)", ptx)) == {INSTRUCTIONS[name]}
    used = assembled(ptx, target)
    assert used.report is not None and used.warnings == []
    assert {r.spill_stores for r in used.report.entries.values()} == {0}


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, mode: str) -> None:
    product = PROGRAMS[name]
    check(product, (product.m + 16, product.n + 8, 3 * product.k), mode, target="sm_120a")


@pytest.mark.parametrize("types", [("f8E5M2", "f8E8M0FNU", 32), ("f4E2M1FN", "f8E4M3FN", 16)], ids=str)
@pytest.mark.parametrize("size", [(1, 2), (8, 64), (64, 4)], ids=str)
def test_tiles_smaller_than_the_instruction(size: tuple[int, int], types: tuple[str, str, int]) -> None:
    element, scale, block = types
    check_tile(shapes_of(*size, 64, block), element, scale, "sm_120a", 0)


def test_batches() -> None:
    shapes = shapes_of(16, 8, 64, 16, [4])
    assert "block_scale" in compiled(text_of(shapes, "f4E2M1FN", "f8E4M3FN"), "sm_120a").ptx
    check_tile(shapes, "f4E2M1FN", "f8E4M3FN", "sm_120a", 0)


@pytest.mark.parametrize("spread", [-120, 120])
def test_large_factors_of_opposite_signs(spread: int) -> None:
    check_tile(shapes_of(16, 8, 64, 32), "f8E4M3FN", "f8E8M0FNU", "sm_120a", spread)


def test_a_factor_that_is_no_number() -> None:
    shapes = shapes_of(16, 8, 64, 32)
    ones = [encode("f8E4M3FN", np.ones(shapes[v])) for v in "ab"]
    codes = np.full(shapes["sa"], 127, np.uint8)
    codes[3, 1] = 255
    dtype = empty("f8E8M0FNU", (1,)).dtype
    scales = [codes.view(dtype), np.full(shapes["sb"], 127, np.uint8).view(dtype)]
    c = np.zeros(shapes["c"], np.float32)
    text = text_of(shapes, "f8E4M3FN", "f8E8M0FNU")
    y = run(text, *ones, c, *scales, empty("f32", shapes["c"]), target="sm_120a")[-1]
    expected = np.full(shapes["c"], 64.0)
    expected[3] = np.nan
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_any_grid_of_warps(warps: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    product = PROGRAMS[str(rng.choice(list(PROGRAMS)))]
    rows, columns = (int(rng.choice([16, 32, 64, 128])) for _ in range(2))
    hint = f") optimization_hints = <default = {{num_worker_warps_per_cta = {warps}}}> {{"
    product = Hinted(rows, columns, product.k, product.element, product.scale, product.block, hint=hint)
    assert f".reqntid {32 * warps}" in compiled(product.text(), "sm_120a").ptx
    check(product, (rows, columns, 2 * product.k), "late", target="sm_120a")


@pytest.mark.parametrize("name", KEPT)
def test_other_factors_multiply_the_sums_of_their_blocks(name: str) -> None:
    m, n, k, element, scale, block = KEPT[name]
    text = text_of(shapes_of(m, n, k, block), element, scale)
    ptx, remarks = translated(text, "sm_120a")
    assert "block_scale" not in ptx and "mma.sync" in ptx
    assert f"of {block} of {k} terms: mma.sync takes no such scales with f4E2M1FN" in remarks
    check_tile(shapes_of(m, n, k, block), element, scale, "sm_120a", 0)


@pytest.mark.parametrize("gpu", ["sm_89", "sm_90a"])
def test_other_targets_have_no_such_instruction(gpu: str) -> None:
    ptx, remarks = translated(PROGRAMS["mxfp8"].text(), gpu)
    assert "block_scale" not in ptx and "takes no such scales" not in remarks


def test_a_remark_names_the_instruction() -> None:
    _, remarks = translated(PROGRAMS["nvfp4"].text(), "sm_120a")
    assert "product by #cute_nvgpu.mma_atom<sm120_m16n8k64, f4E2M1FN, f4E2M1FN, f32>" in remarks
    assert "takes no such scales" not in remarks
