"""Kernels of the tile dialect, compiled and run on the simulated GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from programs import Array, Compiled, compiled_module, fresh_seed, launch_ptx
from run_cache import once_in_a_run

from tessera_tools.emit.driver import Options
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.runtime import Result
from tessera_tools.target import lookup

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> str:
    """The text of an example."""
    return (EXAMPLES / f"{name}.mlir").read_text()


@once_in_a_run
def compiled(text: str, target: str = "sm_80", passes: tuple[str, ...] = ()) -> Compiled:
    """Compile tile text to PTX, after some passes on the tile dialect."""
    module = parse_module(text, "kernel.mlir", implicit_index_constants=True)
    if passes:
        pipeline = Pipeline("builtin.module")
        for name in passes:
            pipeline.add(parse_pass(name))
        PassManager(pipeline, verify_each=True).run(module)
    options = Options(lookup(target), until="ptx")
    return compiled_module(module, options, (compiled, text, target, passes))


def strided(array: Array) -> list[Any]:
    """A tensor as the parameters of a kernel: its address, extents, strides in elements."""
    return [array, *map(np.int32, array.shape), *(np.int32(s // array.itemsize) for s in array.strides)]


def launch(
    text: str,
    *args: Any,
    target: str = "sm_80",
    grid: Sequence[int] = (1,),
    passes: tuple[str, ...] = (),
    seed: int | None = None,
    **options: Any,
) -> tuple[list[Array], Result]:
    """Compile and run a kernel: (the arrays afterwards, the launch's result; its findings are the caller's to see)."""
    made = compiled(text, target, passes)
    seed = fresh_seed("schedule") if seed is None else seed
    return launch_ptx(made, args, target, grid, file="kernel.ptx", seed=seed, **options)
