"""`launch`: compiles a cuTile kernel at its first launch with a new signature, as cuTile does.

launch(grid, kernel, args) ──signature──▶ compiled before? ──Kernel[grid]──▶ Result
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Unpack

from tessera_tools.api.compiling import Kernel, compile
from tessera_tools.api.cutile import Arguments, CutileKernel
from tessera_tools.diagnostics import plain_errors
from tessera_tools.runtime import Device, Result
from tessera_tools.runtime.interface import LaunchOptions

__all__ = ["launch"]


def launch(
    grid: int | Sequence[int],
    kernel: CutileKernel,
    args: Sequence[object],
    *,
    target: str | None = None,
    device: str | Device = "sim",
    check: bool = True,
    **options: Unpack[LaunchOptions],
) -> Result:
    """Compile a cuTile kernel for these arguments, and launch it: `ct.launch` without a GPU.

    grid: numbers of tile blocks. args: as in cuTile, including constants; arrays are modified in place.
    target: the GPU to compile for, by default sm_80. device, check, options: as for `Kernel[grid]`.

    A kernel is compiled once for each signature and target, and anew if other arguments are one array. Raises the
    errors of `compile` and `Launcher`.
    """
    with plain_errors():
        key = (id(kernel), target, Arguments(kernel, args, must_alias=True).key)
        made = _compiled.get(key)
        if made is None:
            made = (kernel, compile(kernel, target, args=args, must_alias=True))
            _compiled[key] = made
        return made[1][grid](*args, device=device, check=check, **options)


_compiled: dict[Hashable, tuple[object, Kernel]] = {}
"""Signature → kernel, and its cuTile kernel, whose identity is part of the key."""
