"""Every synchronization of a pipeline is needed: without it, the simulated GPU finds a race, or an endless wait."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import compiled, fresh_seed

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime import device

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product

Array = np.ndarray[Any, Any]
_WAIT = re.compile(r"\t\{\n(?:(?!\t\}).*\n)*?.*mbarrier\.try_wait(?:(?!\t\}).*\n)*\t\}\n")
_ONE = (
    "mbarrier.init.shared", "fence.mbarrier_init", "bar.sync", "mbarrier.arrive.shared",
    "mbarrier.arrive.expect_tx", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
)  # fmt: skip
_COUNTED = re.compile(r"(mov\.b32 \t(%r\d+), )(\d+)(;\n\tmbarrier\.arrive\.expect_tx\S+ \S+ \S+ )")


def mutants(ptx: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the text): each wait, arrival, fence and count, one at a time."""
    for number, found in enumerate(_WAIT.finditer(ptx)):
        yield f"wait {number} removed", ptx[: found.start()] + ptx[found.end() :]
    lines = ptx.split("\n")
    for number, line in enumerate(lines):
        words = line.split()
        name = next((word for word in words[:2] if word.startswith(_ONE)), None)
        if name is not None:
            yield f"{line.strip()} removed", "\n".join([*lines[:number], *lines[number + 1 :]])
    for found in _COUNTED.finditer(ptx):
        for count in (int(found[3]) - 16, int(found[3]) + 16):
            changed = f"{found[1]}{count}{found[4]}"
            yield f"expect_tx of {count} bytes", ptx[: found.start()] + changed + ptx[found.end() :]


def is_found(ptx: str, manifest: Any, product: Product) -> bool:
    """Whether the simulated GPU says that something is wrong, in one of its modes."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = product.m, product.n, 6 * product.k
    for mode in ("late", "early"):
        gpu = device("sim", gpu_name="sm_90a", processes=1)
        arrays = [rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n))]
        arrays.append(np.zeros((m, n), np.float32))
        buffers = [gpu.buffer(array, f"argument {i}") for i, array in enumerate(arrays)]
        args: list[Any] = []
        for array, buffer in zip(arrays, buffers, strict=True):
            args += [buffer, *map(np.int32, array.shape), np.int32(array.shape[1])]
        try:
            result = (
                gpu.load(ptx, manifest, file="k.ptx")
                .kernel()
                .launch((1,), args, mode=mode, max_instructions=20_000)
            )
        except DiagnosticError:
            return True
        expected = arrays[0].astype(np.float64) @ arrays[1].astype(np.float64)
        if result.findings or np.abs(buffers[2].array() - expected).max() > 0.1:
            return True
    return False


@pytest.mark.parametrize(
    "product",
    [
        pytest.param(Product(m=64, n=32, k=32), id="one group"),
        pytest.param(Product(m=128, n=128, k=32), id="two groups", marks=pytest.mark.slow),
    ],
)
def test_every_synchronization_is_needed(product: Product) -> None:
    made = compiled(product.text(), "sm_90a")
    assert not is_found(made.ptx, made.manifest, product)
    missed = [what for what, ptx in mutants(made.ptx) if not is_found(ptx, made.manifest, product)]
    assert missed == []
