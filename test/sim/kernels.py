"""Small PTX kernels for tests: a body in a module, run on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_tools import sim

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = """
  .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<32>; .reg .f64 %d<8>;
"""


def kernel(body: str, parameters: int = 1, module: str = "") -> str:
    """A module with one entry `k` of so many .u64 parameters, `p0` and on, loaded into %rd0 and on."""
    declared = ", ".join(f".param .u64 p{n}" for n in range(parameters))
    loads = "".join(f"  ld.param.u64 %rd{n}, [p{n}];\n" for n in range(parameters))
    return f"{HEADER}{module}\n.visible .entry k({declared}) {{{REGISTERS}{loads}{body}\n  ret;\n}}\n"


def run(ptx: str, *arrays: Any, block: Sequence[int] = (32,), **options: Any) -> tuple[sim.Result, list[Any]]:
    """Launch `k` on copies of the arrays; the result, and the arrays afterwards."""
    module = sim.load(ptx, file="k.ptx")
    buffers = [module.memory.allocate(np.asarray(array), f"array {n}") for n, array in enumerate(arrays)]
    result = module.launch(
        "k", options.pop("grid", (1,)), block, buffers, max_instructions=100_000, **options
    )
    return result, [buffer.array() for buffer in buffers]
