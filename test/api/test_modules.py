"""`parse`, `run_passes`, `to_text`, and the names that `import tessera_tools` gives."""

from __future__ import annotations

import doctest
import importlib
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import tessera_tools as tt

ROOT = Path(__file__).resolve().parents[2]


PACKAGES = ("api", "dsl", "target", "runtime")
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in PACKAGES
    for path in sorted((ROOT / "tessera_tools" / package).glob("*.py"))
    if ">>> " in path.read_text("utf-8")
]
"""The modules of the Python interface whose docstrings have examples."""


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_of_docstrings_are_true(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, run = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert run and not failed


def test_every_public_name_can_be_imported() -> None:
    for name in tt.__all__:
        assert getattr(tt, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="compil"):
        tt.compil  # noqa: B018


def test_the_import_loads_nothing_else() -> None:
    code = "import sys, tessera_tools; print([m for m in sys.modules if m.startswith(('tessera_tools.', 'numpy'))])"
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert made.stdout == "[]\n"


def test_text_and_parse_are_inverse() -> None:
    text = "module {\n  func.func @f(%arg0: i32) -> i32 {\n    return %arg0 : i32\n  }\n}\n"
    assert tt.to_text(tt.parse(text)) == text


def test_parse_reads_mlir_bytecode() -> None:
    from tessera_tools.mlir_bytecode import write_mlir_bytecode

    module = tt.parse("func.func @f(%arg0: i32) -> i32 { return %arg0 : i32 }")
    assert tt.to_text(tt.parse(write_mlir_bytecode(module))) == tt.to_text(module)


def test_a_syntax_error_has_its_place() -> None:
    with pytest.raises(tt.DiagnosticError, match=r"f\.mlir:1:15: error: "):
        tt.parse("func.func @f( {", name="f.mlir")


def test_an_unknown_pass_is_refused() -> None:
    with pytest.raises(tt.DiagnosticError, match="canonicalise"):
        tt.run_passes(tt.parse("module {}"), "canonicalise")


GOOD = "func.func @f() { return }"
KERNEL = "cuda_tile.module @m { entry @k(%n: tile<i32>) { return } }"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tt.parse("oops"),
        lambda: tt.run_passes(tt.parse(GOOD), "oops"),
        lambda: tt.compile("oops {}"),
        lambda: tt.compile(KERNEL, "sm_80")[1](1, 2),
        lambda: tt.compile(KERNEL, "sm_80", ptxas="/nowhere/ptxas").cubin,
    ],
    ids=["parse", "run_passes", "compile", "launch", "cubin"],
)
def test_an_uncaught_error_has_the_frame_of_the_user_and_one_of_the_interface(
    wrong: Callable[[], object],
) -> None:
    with pytest.raises(tt.DiagnosticError) as found:
        wrong()
    files = [frame.filename for frame in traceback.extract_tb(found.value.__traceback__)][1:]
    assert files[0] == __file__
    assert len([name for name in files if "tessera_tools" in name]) == 1 == len(files) - 1
