"""What an input is: by its magic number, the ending of its name, or its first words."""

from __future__ import annotations

import pytest

from tessera_tools.api.inputs import is_binary, kind_of
from tessera_tools.bytecode import write_bytecode
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.mlir_bytecode import write_mlir_bytecode
from tessera_tools.parser import parse_module

TILE = write_bytecode(parse_module("cuda_tile.module @m { entry @k() { return } }"))
MLIR = write_mlir_bytecode(parse_module("func.func @f() { return }"))


@pytest.mark.parametrize("data", [TILE, MLIR])
def test_bytecode_is_binary_and_goes_before_the_ending(data: bytes) -> None:
    assert is_binary(data)
    assert kind_of("k.ptx", data) == "mlir"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("k.ptx", b"\x7fELF", "cubin"),
        ("k.ptx", b"", "ptx"),
        ("k.ll", b"", "llvmir"),
        ("k.mlir", b".version 8.0", "mlir"),
        ("k", b"// comment\n/* another */ .version 8.0", "ptx"),
        ("k", b"; comment\ndefine void @f() {", "llvmir"),
        ("k", b"func.func @f() { return }", "mlir"),
    ],
)
def test_text_has_the_kind_of_its_ending_or_of_its_first_words(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind
    assert not is_binary(data)


@pytest.mark.parametrize(("name", "data"), [("k.mir", b""), ("k", b"--- |\n")])
def test_machine_ir_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(DiagnosticError, match=f"'{name}' is machine IR"):
        kind_of(name, data)
