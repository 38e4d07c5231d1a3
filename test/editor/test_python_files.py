"""Diagnostics of Python files: never executed unless the user allows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tessera_tools.diagnostics import Diagnostic
from tessera_tools.editor.python_files import check_python

KERNEL = """\
import cuda.tile as ct

# tessera-check: add(f32[4096], f32[4096], f32[4096], 1024)
@ct.kernel
def add(a, b, c, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, index=(i,), tile=ct.load(a, index=(i,), shape=(T,)) + ct.load(b, index=(i,), shape=(T,)))
"""


@pytest.fixture(autouse=True)
def _modules_as_before() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path
    sys.modules.pop("tessera_checked", None)


def lines(found: list[Diagnostic]) -> list[tuple[int, str]]:
    places = [one.location.start() if one.location is not None else None for one in found]
    return [(place[1] if place else 0, one.message) for place, one in zip(places, found, strict=True)]


def test_nothing_is_executed_by_default(tmp_path: Path) -> None:
    witness = tmp_path / "executed"
    text = f"import cuda.tile\nopen({str(witness)!r}, 'w')\n"
    assert check_python(text, str(tmp_path / "k.py"), run=False) == []
    assert not witness.exists()


def test_syntax_errors_need_no_execution() -> None:
    ((line, message),) = lines(check_python("import cuda.tile\ndef f(:\n", "k.py", run=False))
    assert line == 2
    assert "invalid syntax" in message


@pytest.mark.parametrize("text", ["\0", "(" * 10_000])
def test_texts_that_python_does_not_read(text: str) -> None:
    assert len(check_python(text, "k.py", run=False)) == 1


def test_a_kernel_is_compiled_for_the_arguments_of_its_check(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    assert check_python(KERNEL, str(tmp_path / "good.py"), run=True) == []


def test_an_error_of_the_compiler_is_at_its_line(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    text = KERNEL.replace("shape=(T,)) + ct.load", "shape=(T, T)) + ct.load")
    found = lines(check_python(text, str(tmp_path / "bad.py"), run=True))
    assert [line for line, _ in found] == [7]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("sub(f32[4])", "the file defines no kernel 'sub'"),
        ("add(f99[4])", "'f99' is no element type"),
        ("add(f32[4096", "expected a kernel with its arguments"),
        ("add(what)", "found 'what', expected an array such as f32[4096], or a number"),
        ("add(f32[99999,99999])", "at most 268435456 are supported"),
    ],
)
def test_a_check_that_is_wrong(check: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    text = KERNEL.replace("add(f32[4096], f32[4096], f32[4096], 1024)", check)
    ((line, found),) = lines(check_python(text, str(tmp_path / "k.py"), run=True))
    assert line == 3
    assert message in found


DSL = """\
from tessera_tools.dsl import array, constexpr, f32, kernel, load, make_partition_view, program_id, store


@kernel
def twice(a: array[f32], c: array[f32]):
    tiles = make_partition_view(a, tile=1024)
    i = program_id(0)
    x = load(tiles, i)
    store(make_partition_view(c, tile=1024), i, x + x)
"""


def test_a_kernel_with_declared_types_needs_no_check(tmp_path: Path) -> None:
    path = str(tmp_path / "good.py")
    assert check_python(DSL, path, run=True) == []
    assert lines(check_python(DSL.replace("x + x", "x + unknown"), path, run=True)) == [
        (9, "unknown name 'unknown'")
    ]


def test_every_kernel_of_a_file_is_compiled(tmp_path: Path) -> None:
    first = DSL.replace("tile=1024)\n    i", "tile=1000)\n    i")
    second = DSL[DSL.index("\n@kernel") :].replace("twice", "thrice").replace("x + x", "x + unknown")
    found = lines(check_python(first + second, str(tmp_path / "k.py"), run=True))
    assert [line for line, _ in found] == [6, 16]


def test_a_kernel_with_an_open_constant_needs_a_check(tmp_path: Path) -> None:
    text = DSL.replace("c: array[f32]", "c: array[f32], T: constexpr").replace("1024", "T")
    path = str(tmp_path / "k.py")
    assert check_python(text, path, run=True) == []
    checked = "# tessera-check: twice(f32[64], f32[64], {})\n"
    assert check_python(checked.format(16) + text, path, run=True) == []
    found = lines(check_python(checked.format(17) + text, path, run=True))
    assert [line for line, _ in found] == [7]


def test_a_parameter_without_a_type(tmp_path: Path) -> None:
    text = DSL.replace("c: array[f32]", "c")
    ((line, message),) = lines(check_python(text, str(tmp_path / "k.py"), run=True))
    assert line == 5
    assert "the parameter 'c' has no type" in message


def test_kernels_are_compiled_for_the_gpu(tmp_path: Path) -> None:
    ((_, message),) = lines(check_python(DSL, str(tmp_path / "k.py"), run=True, gpu="sm_1"))
    assert "sm_1" in message


def test_kernels_of_other_files_are_theirs(tmp_path: Path) -> None:
    (tmp_path / "other_kernels.py").write_text(DSL.replace("x + x", "x + unknown"))
    text = "import tessera_tools\nfrom other_kernels import twice\n"
    assert check_python(text, str(tmp_path / "k.py"), run=True) == []


def test_a_file_that_fails_when_it_is_imported(tmp_path: Path) -> None:
    text = "import cuda.tile\n# tessera-check: f(1)\n\nraise OSError('no')\n"
    pytest.importorskip("cuda.tile")
    assert lines(check_python(text, str(tmp_path / "k.py"), run=True)) == [
        (4, "the file cannot be imported: OSError: no")
    ]
