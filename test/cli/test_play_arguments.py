"""What a user of the page writes, and the arguments that are used when nobody writes any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.cli.play_arguments import LAUNCH, arguments_of, element_types, read_passes, suggested
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.manifest import Kernel, Manifest, Parameter
from tessera_tools.parser import parse_module


def manifest(*parameters: str) -> Manifest:
    """A manifest of one kernel with parameters `name:type`."""
    made: list[Parameter] = []
    for number, text in enumerate(parameters):
        name, _, type = text.partition(":")
        made.append(Parameter(name, type, 8, 8 * number))
    return Manifest("sm_80", 80, (Kernel("k", tuple(made), (128, 1, 1)),))


def test_a_pointer_with_extents_and_strides_is_an_array() -> None:
    found = suggested(
        manifest("a:ptr", "m:i32", "n:i32", "s:i32", "t:i32", "b:ptr", "l:i32", "u:i32"), ["f16", "i8"]
    )
    assert found == ["a=rand:f16:128x128", *["i32:128"] * 3, "i32:1", "b=rand:i8:128", "i32:128", "i32:1"]


def test_pointers_alone_are_square_matrices_and_numbers_their_extents() -> None:
    found = suggested(manifest("a:ptr", "b:ptr", "n:i64", "x:f32"), [])
    assert found == ["a=rand:f32:128x128", "b=rand:f32:128x128", "i64:128", "f32:1"]


def test_without_a_kernel_there_are_none() -> None:
    assert suggested(None, []) == []
    assert suggested(Manifest("sm_80", 80, ()), []) == []


def test_element_types_come_from_pointers_and_memrefs() -> None:
    entry = parse_module(
        b"entry @k(%a: tile<ptr<bf16>>, %n: tile<i32>, %b: tile<ptr<i8>>) {\n  return\n}\n", "a"
    )
    assert element_types(entry) == ["bf16", "i8"]
    function = parse_module(b"func.func @f(%a: memref<?xf16>, %b: i32) {\n  return\n}\n", "b")
    assert element_types(function) == ["f16"]


def test_arguments_are_lines() -> None:
    text = "  a=rand:f32:4\n\n--arg i32:4\n--arg=f32:1\n"
    assert arguments_of(text, ["ignored"]) == ["--arg=a=rand:f32:4", "--arg=i32:4", "--arg=f32:1"]
    assert arguments_of(" \n", ["i32:1"]) == ["--arg=i32:1"]


def test_json_is_a_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert arguments_of(' {"args": []}', []) == [f"--launch={LAUNCH}"]
    assert (tmp_path / LAUNCH).read_text() == ' {"args": []}'


@pytest.mark.parametrize("text", ["a=@x.npy", "@x.npy", "--arg a=@/etc/passwd:u8:1", "i32:1\nb=@x.bin:f32:4"])
def test_files_are_refused(text: str) -> None:
    with pytest.raises(DiagnosticError, match="names a file; the page reads none") as caught:
        arguments_of(text, [])
    assert [note.message for note in caught.value.diagnostics[0].notes] == [
        "expected rand, zeros, full or arange"
    ]


def test_there_is_a_limit_on_arguments() -> None:
    with pytest.raises(DiagnosticError, match="257 arguments; at most 256"):
        arguments_of("i32:1\n" * 257, [])


@pytest.mark.parametrize(
    "text", ["--canonicalize --cse", "canonicalize -cse", "builtin.module(canonicalize,cse)"]
)
def test_passes_are_written_as_for_tessera_opt(text: str) -> None:
    assert [one.name for one in read_passes(text).passes()] == ["canonicalize", "cse"]


def test_passes_have_their_options() -> None:
    (made,) = read_passes("--canonicalize='max-iterations=4 top-down=false'").passes()
    assert "max-iterations=4" in made.text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--canonicalise", "there is no pass 'canonicalise'"),
        ("--canonicalize=nothing=1", "nothing"),
        ("--cse '", "the passes: no closing quotation"),
        ("--tile-analyze=output=x", "'output' of tile-analyze names a file; the page writes none"),
        ("builtin.module(tile-analyze{output=x})", "'output' of tile-analyze names a file"),
        ("builtin.module(", "expected"),
    ],
)
def test_wrong_passes_and_those_that_write_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        read_passes(text)
