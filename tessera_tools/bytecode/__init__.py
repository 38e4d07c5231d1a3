"""cuda_tile bytecode (`.tileirbc`), versions 13.1 to 13.5, both ways.

    bytes ──reader.Reader──▶ builtin.module ──writer──▶ bytes

version.py  the container: magic number, versions, sections        tables.py    counted tables, strings
types.py  attributes.py  elements.py  debug.py                     what the tables hold
plans.py    each op's encoding, derived from its class             reader.py  writer.py
names.py    the names that values get, as the reference prints them
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
    """The program in a `builtin.module`, verified, with the names that the reference gives to values.

    keep_module: put the kernels into a `cuda_tile.module @kernels`, as they were compiled; None does so only where
    it holds something: a producer. DiagnosticError, with the byte offset, for anything malformed or not supported.
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
            # Only now is it worth knowing at which byte each operation stands.
            try:
                verify_or_raise(Reader(data, filename, locate=True).module(keep_module))
            except DiagnosticError as failure:
                raise with_positions(failure) from None
            raise
    suggest_names(module)
    return module


def write_bytecode(module: Operation, version: Version = DEFAULT_VERSION) -> bytes:
    """The bytecode of a `builtin.module` that holds cuda_tile kernels and globals, or one `cuda_tile.module` with them.

    DiagnosticError, at the operation, for what the version of the format cannot say.
    """
    from tessera_tools.bytecode.writer import write

    return write(module, version)
