"""Tessera tools: an open tile compiler from `cuda_tile` programs to PTX and cubins.

import tessera_tools as tt

kernel = tt.compile("gemm.mlir", "sm_90a")
kernel[(8, 8)](a, b, c)

Each name is imported on first use, so `import tessera_tools` is cheap.
"""

from __future__ import annotations

# The commands import this package before they can handle Ctrl-C: as little as possible is imported here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tessera_tools.api.compiling import Kernel, Layout, compile
    from tessera_tools.api.jit import launch
    from tessera_tools.api.launching import FindingsError
    from tessera_tools.api.modules import parse, parse_file, rewrite, run_passes, to_text
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.builder import Builder
    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.rewriter import RewritePattern
    from tessera_tools.runtime import Result, device
    from tessera_tools.target import targets

__version__ = "0.1.0"

_HOMES = {
    "api.compiling": ("Kernel", "Layout", "compile"),
    "api.jit": ("launch",),
    "api.launching": ("FindingsError",),
    "api.modules": ("parse", "parse_file", "rewrite", "run_passes", "to_text"),
    "diagnostics": ("DiagnosticError",),
    "ir.builder": ("Builder",),
    "ir.core": ("Operation",),
    "ir.rewriter": ("RewritePattern",),
    "runtime": ("Result", "device"),
    "target": ("targets",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Builder",
    "DiagnosticError",
    "FindingsError",
    "Kernel",
    "Layout",
    "Operation",
    "Result",
    "RewritePattern",
    "compile",
    "device",
    "launch",
    "parse",
    "parse_file",
    "rewrite",
    "run_passes",
    "targets",
    "to_text",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
