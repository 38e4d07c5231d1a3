"""assert: what is false is printed with its place, and the host is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, fresh_seed, program

from tessera_tools.runtime import Result, device


def _launch(
    text: str, *args: Any, grid: tuple[int, ...] = (1,), mode: str = "late", target: str = "sm_80"
) -> Result:
    """As programs.launch, with findings."""
    made = compiled(text, target)
    gpu = device("sim", gpu_name=target, processes=1)
    given = [gpu.buffer(a, "argument") if isinstance(a, np.ndarray) else a for a in args]
    kernel = gpu.load(made.ptx, made.manifest, file="program.ptx").kernel(None)
    return kernel.launch(grid, given, seed=fresh_seed("schedule"), mode=mode)


@pytest.mark.parametrize("shape", [(4,), (256,), (8, 16), (2, 4, 8)])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_each_element_that_is_false_is_printed_once_in_order(shape: tuple[int, ...], mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    conditions = rng.integers(0, 4, shape).astype(bool)
    conditions.reshape(-1)[rng.integers(conditions.size)] = False
    types = f"tile<{'x'.join(map(str, shape))}xi1>"
    text = program(f'  assert %a, "100% wrong" : {types}', {"a": ("i1", shape)}, {})
    line = text[: text.index("assert")].count("\n") + 1
    result = _launch(text, conditions.astype(np.uint8), mode=mode)
    expected = [
        f"program.mlir:{line}: tile block [0, 0, 0], element [{', '.join(map(str, place))}]: 100% wrong\n"
        for place in np.argwhere(~conditions).tolist()
    ]
    assert result.output == "".join(expected)
    (finding,) = result.findings
    assert finding.kind == "assert"
    assert finding.message == f"program.mlir:{line}: kernel: `100% wrong` failed"


def test_a_large_tile_is_looked_through_part_by_part() -> None:
    conditions = np.ones((128, 128), np.uint8)
    places = [(0, 0), (63, 127), (64, 0), (127, 127)]
    for place in places:
        conditions[place] = 0
    text = program('  assert %a, "m" : tile<128x128xi1>', {"a": ("i1", (128, 128))}, {})
    shown = [line.partition("element ")[2] for line in _launch(text, conditions).output.splitlines()]
    assert shown == [f"{list(place)}: m" for place in places]


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_true_says_nothing(target: str) -> None:
    text = program(
        '  assert %a, "m" : tile<8x8xi1>\n  assert %c, "s" : tile<i1>', {"a": ("i1", (8, 8))}, {}, {"c": "i1"}
    )
    result = _launch(text, np.ones((8, 8), np.uint8), np.bool_(True), target=target, grid=(3,))
    assert not result.findings
    assert result.output == ""
    check_tools(text, target)


def test_a_scalar_has_no_place() -> None:
    text = program('  assert %c, "scalar" : tile<i1>', {}, {}, {"c": "i1"})
    result = _launch(text, np.bool_(False), grid=(1, 2))
    line = text[: text.index("assert")].count("\n") + 1
    assert sorted(result.output.splitlines()) == [
        f"program.mlir:{line}: tile block [0, {y}, 0]: scalar" for y in (0, 1)
    ]
    (finding,) = result.findings
    assert finding.count == 2


def test_only_the_tile_blocks_that_fail_say_so() -> None:
    body = """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %ok = cmpi not_equal %x, %three, signed : tile<i32> -> tile<i1>
  assert %ok, "three" : tile<i1>
"""
    result = _launch(program(body, {}, {}), grid=(8,))
    assert "tile block [3, 0, 0]: three" in result.output
    assert result.output.count("\n") == 1
