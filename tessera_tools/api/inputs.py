"""Inputs of the tools: MLIR, cuda_tile bytecode, LLVM IR, PTX, a cubin.

data, name ──kind_of──▶ "mlir" ──parse_input──▶ module        target_of(…) ──▶ Target
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from tessera_tools.bytecode.version import is_bytecode
from tessera_tools.diagnostics import error
from tessera_tools.target import Target, UnknownTargetError, lookup

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation

__all__ = ["DEFAULT_GPU", "find_target", "kind_of", "parse_input"]

DEFAULT_GPU = "sm_80"
"""PTX for it runs on every later GPU, compiled by the driver."""

_ENDINGS = {".ll": "llvmir", ".ptx": "ptx", ".mlir": "mlir", ".cubin": "cubin"}
_ELF = b"\x7fELF"
_MIR = b"--- |"
_PTX_START = re.compile(rb"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*\.(?:version|target|address_size)\b", re.DOTALL)
_LLVM_START = re.compile(
    rb"\s*(?:;[^\n]*\n\s*)*(?:define|declare|target|source_filename|module asm|attributes #)\b"
)


def kind_of(name: str, data: bytes) -> str:
    """ "cubin", "ptx", "llvmir" or "mlir" (bytecode too): by the file's name, otherwise by the beginning of the data.

    Raises DiagnosticError for LLVM's machine IR, which is an output format only.
    """
    if data.startswith(_ELF):
        return "cubin"
    if is_bytecode(data):
        return "mlir"
    ending = os.path.splitext(name)[1]
    if ending == ".mir" or data.startswith(_MIR):
        raise error(
            None,
            f"'{name}' is machine IR, which can only be read by LLVM's own tools",
            "expected bytecode, MLIR, LLVM IR or PTX",
        )
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if _PTX_START.match(data):
        return "ptx"
    return "llvmir" if _LLVM_START.match(data) else "mlir"


def parse_input(data: bytes, name: str, **options: Any) -> Operation:
    """The module in MLIR text or in cuda_tile bytecode, distinguished by the magic number; bytecode is already
    verified.

    options: as `tessera_tools.parser.parse_module`'s, for text.
    """
    if is_bytecode(data):
        from tessera_tools.bytecode import read_bytecode

        return read_bytecode(data, name)
    from tessera_tools.parser import parse_module

    return parse_module(data, name, **options)


def find_target(name: str) -> Target:
    """The GPU called `name`. Raises DiagnosticError for one that is not supported."""
    try:
        return lookup(name)
    except UnknownTargetError as failure:
        raise error(None, failure.message, failure.hint) from None
