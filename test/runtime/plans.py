"""Programs for several ranks: the matrix product of the passes' description, cut in one way or another."""

from __future__ import annotations

import functools
from pathlib import Path

from programs import worker

from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.plan import Exchange
from tessera_tools.parser import parse_module
from tessera_tools.runtime.ranks_torch import has_torch
from tessera_tools.target import lookup

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EMPTY = ".version 8.0\n.target sm_80\n.address_size 64\n"
NO_TORCH = "" if has_torch() else "torch cannot be imported"

CUTS = {
    "all_reduce": ("[{}, {x}]", "[{x}, {}]", "[{}, {}]"),
    "reduce_scatter": ("[{}, {x}]", "[{x}, {}]", "[{x}, {}]"),
    "all_gather": ("[{x}, {}]", "[{}, {}]", "[{}, {}]"),
    "all_to_all": ("[{x}, {}]", "[{}, {}]", "[{}, {x}]"),
    "nothing": ("[{x}, {}]", "[{}, {}]", "[{x}, {}]"),
    "whole": ("[{}, {}]", "[{}, {}]", "[{}, {}]"),
}
"""How A, B and D are cut, by the exchange that this needs."""


def matmul(mesh: str, a: str, b: str, d: str, shape: tuple[int, int, int]) -> str:
    """A module with D = A B on the ranks of a mesh; `shape` is M, N, K."""
    m, n, k = shape
    kernel = (EXAMPLES / "gemm_tile.mlir").read_text()
    for name, dimensions in (("A", '"m", "k"'), ("B", '"k", "n"')):
        kernel = kernel.replace(
            f"%{name}: memref<?x?xf16>", f"%{name}: memref<?x?xf16> {{tile.dimensions = [{dimensions}]}}", 1
        )
    kernel = kernel.replace("%D: memref<?x?xf32>", '%D: memref<?x?xf32> {tile.dimensions = ["m", "n"]}', 1)
    return f"""
module attributes {{tile.mesh = #tile.mesh<{mesh}>}} {{
  {kernel}
  func.func @main(%A: memref<{m}x{k}xf16> {{sharding = #tile.sharding<{a}>}},
                  %B: memref<{k}x{n}xf16> {{sharding = #tile.sharding<{b}>}})
      -> (memref<{m}x{n}xf32> {{sharding = #tile.sharding<{d}>}}) {{
    %d = tile.launch @gemm grid ["m / 128", "n / 128"] (%A, %B)
        : (memref<{m}x{k}xf16>, memref<{k}x{n}xf16>) -> memref<{m}x{n}xf32>
    return %d : memref<{m}x{n}xf32>
  }}
}}
"""


@functools.cache
def compiled(text: str) -> tuple[str, Manifest]:
    """PTX, and the manifest with plans."""
    module = parse_module(text, "plan.mlir")
    made = compile_module(module, Options(lookup("sm_80"), "ptx"), worker=worker())
    kernels = tuple(kernels_of_module(module))
    return made.text("ptx"), Manifest("sm_80", "8.0", kernels, plans=made.plans)


def kinds(manifest: Manifest) -> list[str]:
    """The exchanges of a manifest's only plan, in order."""
    (plan,) = manifest.plans
    return [step.kind for step in plan.steps if isinstance(step, Exchange)]
