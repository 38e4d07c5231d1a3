"""The registry of dialects: name prefix → module.  Data only; dialects are imported on first use."""

from __future__ import annotations

DIALECT_MODULES = {
    "arith": "tessera_tools.dialects.arith",
    "builtin": "tessera_tools.dialects.builtin",
    "cf": "tessera_tools.dialects.cf",
    "cuda_tile": "tessera_tools.dialects.cuda_tile",
    "cute": "tessera_tools.dialects.cute",
    "cute_nvgpu": "tessera_tools.dialects.cute_nvgpu",
    "func": "tessera_tools.dialects.func",
    "gpu": "tessera_tools.dialects.gpu",
    "irdl": "tessera_tools.dialects.irdl",
    "llvm": "tessera_tools.dialects.llvm",
    "math": "tessera_tools.dialects.math",
    "memref": "tessera_tools.dialects.memref",
    "nv_tileaa": "tessera_tools.dialects.nv_tileaa",
    "nv_tileas": "tessera_tools.dialects.nv_tileas",
    "nvvm": "tessera_tools.dialects.nvvm",
    "scf": "tessera_tools.dialects.scf",
    "tile": "tessera_tools.dialects.tile",
    "ub": "tessera_tools.dialects.ub",
    "vector": "tessera_tools.dialects.vector",
}
"""Name → module. Plugins add to it (passes/plugins.py)."""

_OWN = frozenset(DIALECT_MODULES)


def added_dialects() -> tuple[str, ...]:
    """The names of the dialects of plugins, sorted."""
    return tuple(sorted(DIALECT_MODULES.keys() - _OWN))
