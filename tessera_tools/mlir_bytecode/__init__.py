"""MLIR's own bytecode (`.mlirbc`), versions 0 to 6: reader and writer.

    bytes ──reader.Reader──▶ builtin.module ──writer──▶ bytes

version.py  container.py   sections, strings, dialects, op names      cursor.py       integers
forms.py  builtin.py  llvm.py   encodings of attributes and types     entries.py      their table
properties.py   encodings of the properties of upstream's ops         use_lists.py  resources.py  numbering.py

Attributes and types without an encoding are text. Ops of dialects that upstream does not have are written as
unregistered ones, which `mlir-opt --allow-unregistered-dialect` reads. Names of values are not part of the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.mlir_bytecode.version import MAGIC, VERSION, is_mlir_bytecode

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.resources import External

__all__ = ["MAGIC", "VERSION", "is_mlir_bytecode", "read_mlir_bytecode", "write_mlir_bytecode"]


def read_mlir_bytecode(
    data: bytes,
    filename: str = "<bytecode>",
    *,
    allow_unregistered: bool = False,
    verify: bool = True,
    implicit_module: bool = True,
    external: External | None = None,
) -> Operation:
    """The file's `builtin.module`, verified; other top-level ops are put into a new one. Without `implicit_module`, a
    file's only operation is returned as it is. `external` receives the resources of other tools.

    Raises DiagnosticError, with the byte offset, for malformed or unsupported input.
    """
    from tessera_tools.bytecode.locate import with_positions
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.verifier import verify_or_raise
    from tessera_tools.mlir_bytecode.reader import Reader

    reader = Reader(data, filename, allow_unregistered=allow_unregistered)
    module = reader.module(implicit_module=implicit_module)
    if external is not None:
        external.update(reader.external)
    if verify:
        try:
            verify_or_raise(module)
        except DiagnosticError:
            # Read again with the byte offset of each operation, for the error.
            try:
                verify_or_raise(
                    Reader(data, filename, allow_unregistered=allow_unregistered, locate=True).module()
                )
            except DiagnosticError as failure:
                raise with_positions(failure) from None
            raise
    return module


def write_mlir_bytecode(
    module: Operation,
    version: int = VERSION,
    *,
    elide_resources: bool = False,
    external: External | None = None,
) -> bytes:
    """The bytecode of an op, usually a `builtin.module`, in a version of the format.

    elide_resources: without the data of resources. external: resources of other tools to write.
    Raises DiagnosticError for an unsupported version.
    """
    from tessera_tools.mlir_bytecode.writer import write

    if not 0 <= version <= VERSION:
        raise module.error(f"unsupported version requested {version}, must be in range [0, {VERSION}]")
    return write(module, version, elide_resources=elide_resources, external=external)
