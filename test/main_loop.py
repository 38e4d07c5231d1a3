"""The main loop of a kernel of the corpus, before it is scheduled."""

from __future__ import annotations

from pathlib import Path

from tessera_tools.dialects import nv_tileaa
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.tileas.schedule import innermost_loops
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.target import Target

CORPUS = Path(__file__).parent / "corpus"


def main_loop(name: str, target: str) -> tuple[nv_tileaa.Func, Operation, Target]:
    """The only kernel, its only innermost loop, and the GPU."""
    module = parse_module((CORPUS / f"{name}.mlir").read_text(), f"{name}.mlir")
    pipeline = Pipeline("builtin.module")
    for text in (
        f"convert-cuda-tile-to-tileaa{{gpu-name={target}}}",
        "canonicalize",
        "cse",
        "convert-tileaa-to-tileas",
    ):
        pipeline.add(parse_pass(text))
    PassManager(pipeline).run(module)
    [kernel] = kernels(module)
    [loop] = innermost_loops(kernel)
    return kernel, loop, target_of(module)
