"""A language for kernels in Python, whose operations are those of `cuda_tile`.

    from tessera_tools.dsl import *

    @kernel
    def add(a: ptr[f32], b: ptr[f32], c: ptr[f32], n: i32):
        a_view, b_view, c_view = (make_partition_view(p, [n], tile=(1024,)) for …)
        i = program_id(0)
        store(c_view, i, load(a_view, i) + load(b_view, i))

    function ──source──▶ syntax ──interpreter──▶ cuda_tile ──tessera_tools.compile──▶ Kernel

types.py        f16, ptr[f16], tile[128, 64, f16], array[f16, 2], constexpr
function.py     kernel: parameters, launches
source.py       the syntax of a function, with its place in the file
liveness.py     which variables loops carry and branches merge
interpreter.py  statements; expressions.py: expressions; callables.py: which functions a kernel calls
emitter.py      building ops; the order of accesses to memory
values.py       tiles with operators
library.py      functions of several ops
ops.py          a function for each op, from its declaration

Every op of `cuda_tile` without a region is a function here: `fma`, `ftof`, `atomic_cas_tko` … (`ops.py`). There is no
second compiler: the result is a module that goes through the same passes as text. docs/dsl.md is the guide.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

from tessera_tools.dsl import library, ops, reductions
from tessera_tools.dsl.function import Function, kernel
from tessera_tools.dsl.library import (
    Array,
    arange,
    assume,
    atomic,
    cdiv,
    constant,
    dot,
    full,
    gather,
    load,
    make_gather_scatter_view,
    make_partition_view,
    make_strided_view,
    make_tensor_view,
    maximum,
    minimum,
    mmaf,
    num_programs,
    num_tiles,
    ones,
    program_id,
    reshape,
    static_range,
    store,
    transpose,
    where,
    zeros,
)
from tessera_tools.dsl.reductions import reduce, scan, softmax
from tessera_tools.dsl.types import array, constexpr, dtypes, ptr, tile
from tessera_tools.dsl.values import Tile, View

__all__ = [
    "Array", "Function", "Tile", "View", "arange", "array", "assume", "atomic", "cdiv", "constant", "constexpr", "dot",
    "full", "gather", "kernel", "load", "make_gather_scatter_view", "make_partition_view", "make_strided_view",
    "make_tensor_view", "maximum", "minimum", "mmaf", "num_programs", "num_tiles", "ones", "program_id", "ptr",
    "reduce", "reshape", "scan", "softmax", "static_range", "store", "tile", "transpose", "where", "zeros",
]  # fmt: skip
_BUILTINS: dict[str, Callable[..., object]] = {
    "abs": library.absolute, "max": reductions.amax, "min": reductions.amin, "print": library.output,
    "range": library.range, "sum": reductions.total,
}  # fmt: skip
"""By `tl.sum`; `from … import *` leaves Python's names alone, which are these functions in a kernel."""

globals().update(dtypes)
__all__ += [*dtypes]  # noqa: PLE0604
__all__ += [name for name in ops.names() if name not in __all__ and not hasattr(builtins, name)]


def __getattr__(name: str) -> Callable[..., object]:
    if name in _BUILTINS:
        return _BUILTINS[name]
    if name in ops.classes():
        return ops.function(name)
    raise AttributeError(f"module 'tessera_tools.dsl' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_BUILTINS})
