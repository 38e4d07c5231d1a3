"""Every kernel that cuTile exported, compiled and run on the simulated GPU, against its interpretation in NumPy.

Fresh numbers, target and schedule each time; whole tiles, and arrays that end within a tile.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, assembled, check_tools, compiled, decode, empty, fresh_seed, run
from reference.interpreter import UnsupportedError, interpret

from tessera_tools.bytecode import read_bytecode
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.printing import print_op

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from arguments import Parameter, make, parameters_of  # noqa: E402

NAMES = sorted({path.stem for path in HERE.glob("*/*.tileirbc")})
SINCE_SM_90 = {"bf16_atomics"}
"""Kernels that older targets cannot run."""
ONE_BLOCK = {"atomics", "bf16_atomics", "float_atomics", "view_atomics"}
"""Kernels whose results depend on the order of tile blocks."""
ALIGNED = {"unchecked", "signed_division"}
"""Kernels that promise not to reach over an edge, or divide by what lies there."""
TOLERANCE = {"f64": 1e-9, "f32": 2e-4, "f16": 2e-2, "bf16": 6e-2, "f8e4m3": 0.15, "f8e5m2": 0.3, "tf32": 2e-3}
"""Of the largest number in a result: sums in another order, and the roundings on the way."""


def newest(name: str) -> Path:
    """The file of a kernel of the newest version that has it."""
    return max(HERE.glob(f"*/{name}.tileirbc"), key=lambda path: path.parent.name)


def prepared(name: str, args: list[Any], groups: list[Parameter]) -> list[Any]:
    """The arguments within what the kernel asks of them."""
    if name == "printed":
        return [np.abs(a) + 1 if isinstance(a, np.ndarray) else a for a in args]
    if name == "signed_division":
        return [a + 1 if isinstance(a, np.ndarray) else a for a in args]
    if name == "mma_scaled_f4":
        # The result of a negative factor of blocks is undefined: mma.sync with such factors ignores the sign.
        factor = empty("f8e4m3", (1,)).dtype
        return [
            (a.view(np.uint8) & 0x7F).view(factor) if isinstance(a, np.ndarray) and a.dtype == factor else a
            for a in args
        ]
    return args


def compare(element: str, found: Any, expected: Any) -> None:
    """Raises AssertionError if an array is not as expected, up to the tolerance of its elements."""
    tolerance = TOLERANCE.get(element)
    if tolerance is None:
        np.testing.assert_array_equal(found, expected)
        return
    x, y = decode(element, expected), decode(element, found)
    largest = np.max(np.abs(x), initial=1e-3, where=np.isfinite(x))
    np.testing.assert_allclose(y, x, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("ragged", [False, True], ids=["whole", "ragged"])
@pytest.mark.parametrize("name", NAMES)
def test_results(name: str, ragged: bool) -> None:
    if ragged and name in ALIGNED:
        return
    module = read_bytecode(newest(name).read_bytes(), name)
    entry = next(op for op in module.walk() if isinstance(op, ct.Entry))
    groups = parameters_of(entry)
    rng = np.random.default_rng(fresh_seed())
    args = prepared(name, make(groups, 2, ragged, rng), groups)
    grid = (1, 1, 1) if name in ONE_BLOCK else (2, 2, 2)
    target = str(rng.choice(TARGETS[1:] if name in SINCE_SM_90 else TARGETS))
    print(f"target: {target}")
    found = run(print_op(module), *args, target=target, grid=grid, mode=str(rng.choice(["late", "early"])))
    try:
        expected = interpret(module, args, grid)
    except UnsupportedError as problem:
        pytest.fail(f"the interpreter does not do {problem}")
    arrays = [group for group in groups if group.rank >= 0]
    for group, a, b in zip(arrays, expected, found, strict=True):
        compare(group.element, b, a)


@pytest.mark.parametrize("name", NAMES)
def test_upstream_tools_take_every_kernel(name: str) -> None:
    text = print_op(read_bytecode(newest(name).read_bytes(), name))
    check_tools(text, *TARGETS[name in SINCE_SM_90 :])


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, target) for name in NAMES if name.startswith("mma_") for target in TARGETS),
        *((name, "sm_90a") for name in NAMES if not name.startswith("mma_")),
    ],
)
def test_nothing_is_spilled_or_serialized(name: str, target: str) -> None:
    made = assembled(compiled(print_op(read_bytecode(newest(name).read_bytes(), name)), target).ptx, target)
    report = made.report
    assert report is not None
    assert [text for text in (*made.warnings, *(m.text for m in report.messages)) if "C75" in text] == []
    for resources in report.entries.values():
        assert (resources.spill_stores, resources.spill_loads) == (0, 0), resources
