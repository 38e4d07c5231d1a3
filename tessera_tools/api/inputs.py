"""Inputs of the tools: MLIR text and bytecode, cuda_tile bytecode, LLVM IR, PTX, a cubin.

data, name ──kind_of──▶ "mlir" ──parse_input──▶ module        find_target(…) ──▶ Target
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from tessera_tools.bytecode.version import is_bytecode
from tessera_tools.diagnostics import Diagnostic, emit, error
from tessera_tools.emit.tunables import config_text
from tessera_tools.mlir_bytecode.version import is_mlir_bytecode
from tessera_tools.target import Target, UnknownTargetError, lookup

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation
    from tessera_tools.parser import ParseOptions

__all__ = [
    "DEFAULT_GPU",
    "digest_of_input",
    "find_target",
    "is_binary",
    "kind_of",
    "parse_input",
    "tuned_for_input",
]

DEFAULT_GPU = "sm_80"
"""PTX for it runs on every later GPU, compiled by the driver."""

_ENDINGS = {".ll": "llvmir", ".ptx": "ptx", ".mlir": "mlir", ".cubin": "cubin"}
_KINDS = {"llvmir": "LLVM IR", "ptx": "PTX", "cubin": "a cubin"}
_ELF = b"\x7fELF"
_MIR = b"--- |"
_PTX_START = re.compile(rb"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*\.(?:version|target|address_size)\b", re.DOTALL)
_LLVM_START = re.compile(
    rb"\s*(?:;[^\n]*\n\s*)*(?:define|declare|target|source_filename|module asm|attributes #)\b"
)


def is_binary(data: bytes) -> bool:
    """True for bytecode, of cuda_tile or of MLIR: `parse_input` verifies it, and it has no lines to show."""
    return is_bytecode(data) or is_mlir_bytecode(data)


def kind_of(name: str, data: bytes) -> str:
    """ "cubin", "ptx", "llvmir" or "mlir" (bytecode too): by the file's name, otherwise by the beginning of the data.

    Raises DiagnosticError for LLVM's machine IR, which is an output format only.
    """
    if data.startswith(_ELF):
        return "cubin"
    if is_binary(data):
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


def parse_input(data: bytes, name: str, **options: Unpack[ParseOptions]) -> Operation:
    """The module in MLIR text, in cuda_tile bytecode or in MLIR bytecode, distinguished by the magic number; bytecode
    is already verified.

    options: as `tessera_tools.parser.parse_module`'s, for text; `allow_unregistered`, `implicit_module` and `external`
    for MLIR bytecode too.
    """
    if is_bytecode(data):
        from tessera_tools.bytecode import read_bytecode

        return read_bytecode(data, name)
    if is_mlir_bytecode(data):
        from tessera_tools.mlir_bytecode import read_mlir_bytecode

        return read_mlir_bytecode(
            data,
            name,
            allow_unregistered=options.get("allow_unregistered", False),
            implicit_module=options.get("implicit_module", True),
            external=options.get("external"),
        )
    from tessera_tools.parser import parse_module

    return parse_module(data, name, **options)


def find_target(name: str) -> Target:
    """The GPU called `name`. Raises DiagnosticError for one that is not supported."""
    try:
        return lookup(name)
    except UnknownTargetError as failure:
        raise error(None, failure.message, failure.hint) from None


def digest_of_input(data: bytes, name: str, **options: Unpack[ParseOptions]) -> tuple[str, str | None]:
    """The key of an input in files of tuning results, and the GPU that it declares, if any.

    options: as those of `parse_input`. Raises DiagnosticError for input that is not MLIR or bytecode: there is nothing
    to tune in LLVM IR and PTX.
    """
    kind = kind_of(name, data)
    if kind != "mlir":
        raise error(
            None,
            f"'{name}' is {_KINDS[kind]}, whose stages and warps are decided",
            "expected MLIR or bytecode",
        )
    from tessera_tools.emit.driver import declared_target
    from tessera_tools.emit.tuned import kernel_digest
    from tessera_tools.ir.printing import print_op

    module = parse_input(data, name, **options)
    return kernel_digest(print_op(module)), declared_target(module)


def tuned_for_input(
    path: str,
    data: bytes,
    name: str,
    gpu_name: str | None,
    given: Mapping[str, int],
    *,
    entry: str | None = None,
    shapes: str | None = None,
    **options: Unpack[ParseOptions],
) -> dict[str, Any]:
    """The tunables that the file `path` records for an input; a warning and nothing if it records none.

    gpu_name: the requested GPU; None for the one that the input declares, or the default.
    given: the tunables that are requested otherwise; together with `path` they are an error.
    entry, shapes: as those of `tuned_config`. Raises DiagnosticError.
    """
    from tessera_tools.emit.tuned import tuned_config

    if given:
        raise error(
            None, f"{config_text(given)} and --tuned both choose how to compile; use only one",
        )  # fmt: skip
    digest, declared = digest_of_input(data, name, **options)
    target = find_target(gpu_name or declared or DEFAULT_GPU)
    found = tuned_config(path, digest, target.name, entry=entry, shapes=shapes)
    if found is None:
        where = f" and shapes {shapes}" if shapes is not None else ""
        what = f"'{path}' has no result for '{name}' on {target.name}{where}"
        emit(Diagnostic("warning", None, what).note("the compiler's own choices are used"))
    return found or {}
