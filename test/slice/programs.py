"""Small tile programs made from parameters, compiled and run in the executor: what the tests of shapes are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from execution.executor import GlobalMemory, prepare, run

from tessera_tools.dialects.builtin import Module
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for

DTYPES = {
    "i1": np.bool_, "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "tf32": np.float32,
}  # fmt: skip


def lowered(text: str, target: str = "sm_80", **options: str) -> Module:
    """The module after the target's pipeline; `options` adds options to passes by name, `-` written as `_`."""
    module = parse_module(text, "kernel.mlir")
    assert isinstance(module, Module)
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target, agents=False):
        extra = options.get(step.text.replace("-", "_"))
        pipeline.add(parse_pass(step.text + (f"{{{extra}}}" if extra else "")))
    PassManager(pipeline).run(module)
    return module


def by(shape: Sequence[object]) -> str:
    """`4x8`."""
    return "x".join(map(str, shape))


def view(
    name: str, pointer: str, extents: Sequence[object], strides: Sequence[object], element: str
) -> tuple[str, str]:
    """(the make_tensor_view, its type): extents and strides are numbers, or names of i32 values."""

    def static(items: Sequence[object]) -> list[str]:
        return [str(i) if isinstance(i, int) else "?" for i in items]

    type = f"tensor_view<{by(static(extents))}x{element}, strides=[{','.join(static(strides))}]>"
    dynamic = any(not isinstance(i, int) for i in (*extents, *strides))
    operands = f"shape = [{', '.join(map(str, extents))}], strides = [{', '.join(map(str, strides))}]"
    index = "tile<i32> -> " if dynamic else ""
    return f"  %{name} = make_tensor_view {pointer}, {operands} : {index}{type}\n", type


def strided(
    rng: np.random.Generator, shape: Sequence[int], strides: Sequence[int], dtype: type
) -> np.ndarray:
    """A flat buffer that holds an array of that shape at those strides, random throughout."""
    count = 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) if all(shape) else 0
    if dtype is np.bool_:
        return rng.integers(0, 2, count).astype(np.bool_)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True)
    return rng.standard_normal(count).astype(dtype)


def elements(flat: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """The array in such a buffer."""
    return np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in strides])


def launch(module: Module, grid: Sequence[int], memory: GlobalMemory, arguments: Sequence[int]) -> None:
    """Run the module's kernel."""
    x, y, z = [*grid, 1, 1][:3]
    run(prepare(module), (x, y, z), list(arguments), memory)
