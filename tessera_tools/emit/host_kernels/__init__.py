"""Ops of host functions that compute: each becomes the launch of a kernel that is generated here, in `tile`.

%D = tile.mma %A, %B : memref<128x16xbf16>, …  ─▶  tile.launch @tile_mma_bf16_f32 grid [2, 2] (%A, %B)
%E = tile.add %D, %C                           ─▶  tile.launch @tile_add_f32 grid [4, 2] (%D, %C)
%O = tile.flash_attention %Q, %K, %V           ─▶  tile.launch @tile_attention_f16_64_64 grid [8, 4, 2] (%Q, %K, %V)
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any

from tessera_tools.dialects import func, tile
from tessera_tools.dialects.tile.compute import ByRow, Elementwise, Product, RowReduction
from tessera_tools.emit.host_kernels.attention import attention, divide, iota, rescale
from tessera_tools.emit.host_kernels.elementwise import elementwise, fill, row_reduction
from tessera_tools.emit.host_kernels.kernel import HostKernel
from tessera_tools.emit.host_kernels.products import product
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, SymbolRefAttr, i64
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.passes.tile.host_values import as_values, replace_after

__all__ = ["launch_ops"]

_MAKERS: tuple[tuple[type[Operation] | UnionType, Callable[[Any], HostKernel]], ...] = (
    (Product, product),
    (RowReduction, row_reduction),
    (tile.FlashAttention, attention),
    (tile.AttentionRescale, rescale),
    (tile.AttentionDivide, divide),
    (tile.Iota, iota),
    (Elementwise | ByRow | tile.Broadcast | tile.Fma | tile.Cast | tile.Apply, elementwise),
)
"""Classes of ops, and the functions that generate their kernels."""


def launch_ops(module: Operation, functions: list[func.Func]) -> None:
    """Replace the computing ops of host functions by launches; the kernels are added to the module.

    Raises DiagnosticError for an op without a kernel.
    """
    made: dict[str, str] = {}
    for function in functions:
        as_values(function)
        for op in list(function.walk()):
            for classes, maker in _MAKERS:
                if isinstance(op, classes):
                    _launch(module, op, maker(op), made)
                    break
        for op in [op for op in function.walk() if isinstance(op, tile.Fill)]:
            _launch_fill(module, op, made)


def _launch(module: Operation, op: Operation, kernel: HostKernel, made: dict[str, str]) -> None:
    _add(module, kernel, made)
    launch = _call(op, kernel, [value.type for value in op.results])
    Builder.before(op).insert(launch)
    for old, new in zip(op.results, launch.results, strict=True):
        new.name_hint = old.name_hint
    op.replace_all_uses_with(launch.results)
    op.erase()


def _launch_fill(module: Operation, op: tile.Fill, made: dict[str, str]) -> None:
    """Replace a filled buffer by a new one for the following ops; nothing if it is not used."""
    if any(not isinstance(user, tile.Fill) for user in op.dest.users):
        kernel = fill(op)
        _add(module, kernel, made)
        launch = _call(op, kernel, [op.dest.type])
        Builder.before(op).insert(launch)
        launch.results[0].name_hint = op.dest.name_hint
        replace_after(op, op.dest, launch.results[0])
    op.erase()


def _call(op: Operation, kernel: HostKernel, types: list[Type]) -> tile.Launch:
    grid = ArrayAttr(tuple(i64(extent) for extent in kernel.grid))
    launch = tile.Launch(SymbolRefAttr(kernel.name), grid, kernel.operands, results=types)
    launch.location = op.location
    return launch


def _add(module: Operation, kernel: HostKernel, made: dict[str, str]) -> None:
    from tessera_tools.parser import parse_module

    if kernel.name in made:
        assert made[kernel.name] == kernel.text, kernel.name
        return
    made[kernel.name] = kernel.text
    parsed = parse_module(kernel.text, f"<{kernel.name}>").regions[0].entry.first_op
    assert parsed is not None
    for other in module.regions[0].entry:
        if isinstance(other, func.Func) and other.sym_name.value == kernel.name:
            raise other.error("has the name of a kernel that is generated for host functions; rename it")
    parsed.detach()
    module.regions[0].entry.append(parsed)
