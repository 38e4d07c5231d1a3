"""Tiles that all programs of a kernel load: in large launches, its CTAs stay and load them once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, decode, empty, fresh_seed, launch, random
from trials import Trial, changed_lines, missed, near, without

from tessera_tools.diagnostics import collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

Array = np.ndarray[Any, Any]
CORPUS = Path(__file__).parents[1] / "corpus"
LAYER_NORM = (CORPUS / "layer_norm_bf16_1024.mlir").read_text()
LARGE: dict[str, Any] = {"target": "sm_90a", "launches": "large"}

SCALE = """entry @scale(%p: tile<ptr<f32>>, %w: tile<ptr<f32>>, %rows: tile<i32>) {{
  %zero = constant <i32: 0> : tile<i32>
  %first = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape = [%rows, {n}], strides = [{n}, 1] : tile<i32> -> tensor_view<?x{n}xf32, strides=[{n},1]>
  %g = make_tensor_view %w, shape = [1, {n}], strides = [{n}, 1] : tensor_view<1x{n}xf32, strides=[{n},1]>
  %vp = make_partition_view %v : partition_view<tile=(1x{n}), tensor_view<?x{n}xf32, strides=[{n},1]>>
  %gp = make_partition_view %g : partition_view<tile=(1x{n}), tensor_view<1x{n}xf32, strides=[{n},1]>>
  %a, %t = load_view_tko weak %vp[%x, %zero] token = %first : partition_view<tile=(1x{n}), tensor_view<?x{n}xf32, strides=[{n},1]>>, tile<i32> -> tile<1x{n}xf32>, token
  {before}
  %b, %u = load_view_tko weak %gp[{row}, %zero] token = {token} : partition_view<tile=(1x{n}), tensor_view<1x{n}xf32, strides=[{n},1]>>, tile<i32> -> tile<1x{n}xf32>, token
  %c = mulf %a, %b : tile<1x{n}xf32>
  %s = store_view_tko weak %c, %vp[%x, %zero] token = %t : tile<1x{n}xf32>, partition_view<tile=(1x{n}), tensor_view<?x{n}xf32, strides=[{n},1]>>, tile<i32> -> token
  return
}}
"""  # noqa: E501
"""Each program multiplies its row by the gains."""


def scale(n: int = 1024, before: str = "", row: str = "%zero", token: str = "%first") -> str:
    return SCALE.format(n=n, before=before, row=row, token=token)


def stays(text: str, **options: Any) -> bool:
    return compiled(text, "sm_90a", **options).manifest.kernels[0].persistent is not None


def normalized(rows: int, rng: np.random.Generator) -> tuple[list[Any], Array]:
    """(the arguments of layer norm, the expected result)."""
    x, w, b = (random("bf16", shape, rng) for shape in ((rows, 1024), (1024,), (1024,)))
    args: list[Any] = []
    for array in (x, w, b, empty("bf16", x.shape)):
        strides = (1024, 1) if array.ndim == 2 else (1,)
        args += [array, *(np.int32(n) for n in (*array.shape, *strides))]
    wide, gain, bias = (decode("bf16", one).astype(np.float64) for one in (x, w, b))
    d = wide - wide.mean(axis=1, keepdims=True)
    return [*args, np.float32(1e-5)], d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gain + bias


RESULT = 11
"""The number of the parameter that layer norm writes."""


@pytest.mark.parametrize("mode", ["late", "early"])
def test_results_of_large_launches(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    rows = int(rng.integers(1, 9))
    args, expected = normalized(rows, rng)
    for resident in (1, 3, rows):
        found, result = launch(LAYER_NORM, *args, **LARGE, grid=(rows,), resident=resident, mode=mode)
        assert near(_place(args), expected, 0.1, "bf16")(found) and not result.findings


def _place(args: list[Any]) -> int:
    """The place of the result among the arrays."""
    return sum(isinstance(value, np.ndarray) for value in args[:RESULT])


def test_the_loads_are_in_front_of_the_loop() -> None:
    made = compiled(LAYER_NORM, "sm_90a", launches="large")
    kernel = made.manifest.kernels[0]
    assert kernel.persistent is not None and kernel.persistent.scheduler == "static"
    front, _, _ = made.ptx.partition("shfl.sync")
    assert front.count("ld.global.v4.b32") == 3 and made.ptx.count("ld.global.v4.b32") == 3
    assembled(made.ptx, "sm_90a")


def test_every_barrier_between_programs_is_needed() -> None:
    rng = np.random.default_rng(fresh_seed())
    args, expected = normalized(5, rng)
    made = compiled(LAYER_NORM, "sm_90a", launches="large")
    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(4)]
    trial = Trial(args, "sm_90a", (5,), near(_place(args), expected, 0.1, "bf16"), schedules, {"resident": 2})
    removed = list(changed_lines(made.ptx, without(r"bar\.sync")))
    assert len(removed) == 2 and missed(made, removed, trial) == []


def test_the_remark_names_the_bytes() -> None:
    with collect() as told:
        made = Options(lookup("sm_90a"), until="llvm", explains=True, launches="large")
        compile_module(parse_module(LAYER_NORM, "norm.mlir"), made)
    assert any("4096 of 8192 bytes of each program are the same for all" in one.message for one in told)


def test_other_launches_stay_as_they_are() -> None:
    assert not stays(LAYER_NORM)
    assert not stays(LAYER_NORM, launches="large", persistent="never")


def test_a_kernel_without_common_tiles_ends_with_its_program() -> None:
    assert not stays((CORPUS / "softmax_f32_1024.mlir").read_text(), launches="large")


STORE = """%d = store_view_tko weak %a, %gp[%zero, %zero] token = %t : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<1x1024xf32, strides=[1024,1]>>, tile<i32> -> token"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (scale(), True),
        (scale(row="%x"), False),
        (scale(before=STORE, token="%d"), False),
        (scale(32768), False),
    ],
    ids=["the same", "a row of each program", "behind a store", "more than the registers"],
)
def test_which_loads_are_common(text: str, kept: bool) -> None:
    assert stays(text, launches="large") == kept


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_results_of_any_target(target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, w = random("f32", (7, 1024), rng), random("f32", (1, 1024), rng)
    options: dict[str, Any] = {"target": target, "grid": (7,), "launches": "large", "resident": 2}
    for mode in ("late", "early"):
        found = launch(scale(), x.copy(), w, np.int32(7), **options, mode=mode)[0][0]
        np.testing.assert_array_equal(found, x * w)
