"""cuda_tile bytecode (`.tileirbc`), versions 13.1 to 13.5: reader and writer.

    bytes ──reader.Reader──▶ builtin.module ──writer──▶ bytes

version.py  the container: magic number, versions, sections        tables.py    counted tables, strings
types.py  attributes.py  elements.py  debug.py                     entries of the tables
plans.py    each op's encoding, derived from its class             reader.py  writer.py
names.py    names of values, as in the reference's output
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.bytecode.version import DEFAULT_VERSION, MAGIC, VERSIONS, Version, is_bytecode

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation

__all__ = [
    "DEFAULT_VERSION",
    "MAGIC",
    "VERSIONS",
    "Version",
    "is_bytecode",
    "read_bytecode",
    "write_bytecode",
]


def read_bytecode(
    data: bytes, filename: str = "<bytecode>", *, keep_module: bool | None = None, verify: bool = True
) -> Operation:
    """The program in a `builtin.module`, verified, with the value names of the reference.

    keep_module: put the kernels into a `cuda_tile.module @kernels`, as compiled; None does so only if the module
    has a producer. Raises DiagnosticError, with the byte offset, for malformed or unsupported input.
    """
    from tessera_tools.bytecode.locate import with_positions
    from tessera_tools.bytecode.names import suggest_names
    from tessera_tools.bytecode.reader import Reader
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.verifier import verify_or_raise

    module = Reader(data, filename).module(keep_module)
    if verify:
        try:
            verify_or_raise(module)
        except DiagnosticError:
            # Read again with the byte offset of each operation, for the error.
            try:
                verify_or_raise(Reader(data, filename, locate=True).module(keep_module))
            except DiagnosticError as failure:
                raise with_positions(failure) from None
            raise
    suggest_names(module)
    return module


def write_bytecode(module: Operation, version: Version = DEFAULT_VERSION) -> bytes:
    """The bytecode of a `builtin.module` that holds cuda_tile kernels and globals, or one `cuda_tile.module` with them.

    Raises DiagnosticError, at the operation, for content that the version of the format cannot represent.
    """
    from tessera_tools.bytecode.writer import write

    return write(module, version)
