"""Programs that tools/fuzz_programs.py once failed on: each does what its interpretation says, on every target."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from programs import TARGETS, decode, empty, fresh_seed, random, run
from reference.interpreter import interpret

from tessera_tools.parser import parse_module

FOUND = sorted((Path(__file__).parent / "inputs").glob("*.mlir"))
FLOATS = ("f16", "bf16", "f32", "f64")


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_program(path: Path, level: int) -> None:
    text = path.read_text()
    views = re.findall(r"= make_tensor_view %p(\w+),.*tensor_view<([0-9x]+)x(\w+), strides", text)
    stored = set(re.findall(r"store_view_tko weak \S+ %q(\w+)", text))
    blocks = re.search(r"^// grid: (\d+)$", text, re.MULTILINE)
    grid = (int(blocks[1]) if blocks is not None else 1,)
    rng = np.random.default_rng(fresh_seed())
    args = []
    for number, shape, element in views:
        extents = tuple(map(int, shape.split("x")))
        args.append(empty(element, extents) if number in stored else random(element, extents, rng))
    expected = interpret(parse_module(text, path.name), args, grid)
    for target in TARGETS:
        found = run(text, *args, target=target, level=level, grid=grid)
        for (_, _, element), a, b in zip(views, expected, found, strict=True):
            if element in FLOATS:
                np.testing.assert_allclose(decode(element, b), decode(element, a), rtol=1e-2, atol=1e-6)
            else:
                np.testing.assert_array_equal(b, a)
