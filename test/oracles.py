"""Programs that tests check our claims against. One that is missing skips a test here and fails it in CI."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

HINTS = {
    "emacs": "Debian's package emacs-nox",
    "llc-22": "Debian's package llvm-22",
    "mlir-opt-22": "Debian's package mlir-22-tools",
    "mlir-translate-22": "Debian's package mlir-22-tools",
    "nvcc": "pip install nvidia-cuda-nvcc nvidia-cuda-cccl",
    "ptxas": "pip install nvidia-cuda-nvcc",
    "nvdisasm": "pip install nvidia-cuda-nvdisasm",
    "tileiras": "pip install nvidia-cuda-tileiras",
    "tileirdisasm": "pip install nvidia-cuda-tileiras",
    "xdsl-opt": "pip install xdsl",
}
"""Where each oracle comes from, for the message when it is missing."""


def in_ci() -> bool:
    """True if this is a CI run, where every oracle must be there."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


@functools.cache
def find_tool(name: str) -> Path | None:
    """The program `name`: from the variable `TESSERA_<NAME>`, then NVIDIA's wheels, then PATH."""
    chosen = os.environ.get("TESSERA_" + name.upper().replace("-", "_"))
    if chosen:
        return Path(chosen)
    nvidia = importlib.util.find_spec("nvidia")
    for root in (nvidia.submodule_search_locations or ()) if nvidia else ():
        for folder in sorted(Path(root).glob("*/bin"), reverse=True):
            if os.access(folder / name, os.X_OK):
                return folder / name
    found = shutil.which(name)
    return Path(found) if found else None


def require_tool(name: str) -> str:
    """The path of `name`. When it is missing the test is skipped with the reason, and fails in CI."""
    found = find_tool(name)
    if found is None:
        missing(name, HINTS.get(name, "on PATH"))
    return str(found)


def missing(name: str, hint: str) -> NoReturn:
    """Skip the test, for which `name` is missing; in CI, it fails. hint: where it comes from."""
    reason = f"'{name}' was not found ({hint})"
    if in_ci():
        pytest.fail(reason + "; CI must have every oracle", pytrace=False)
    pytest.skip(reason)
