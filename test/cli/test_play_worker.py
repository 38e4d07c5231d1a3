"""What `tessera-play` answers: stages, passes, runs, errors; and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tessera_tools.cli import play_worker
from tessera_tools.cli.play_options import COMPILING, RUNNING, described
from tessera_tools.cli.play_server import read_program
from tessera_tools.diagnostics import DiagnosticError

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = (ROOT / "examples" / "vector_add.mlir").read_text()
EMPTY = "entry @k() {\n  return\n}\n"


def ask(program: str, **more: Any) -> dict[str, Any]:
    """What the page gets."""
    return json.loads(json.dumps(play_worker.answer({"program": program, **more})))


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run writes its program to the working directory, as the process of the server does."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The answer for a program that is compiled and run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("run"))
        return ask(VECTOR_ADD, options={"gpu-name": "sm_90"}, run=True)


def stages(answer: dict[str, Any]) -> list[str]:
    return [stage["id"] for stage in answer["data"]["stages"]]


def messages(answer: dict[str, Any]) -> list[str]:
    return [one["message"] for one in answer["diagnostics"]]


def test_a_program_is_compiled_through_all_stages(added: dict[str, Any]) -> None:
    assert added["diagnostics"] == []
    found = stages(added)
    assert [one for one in found if one != "sass"] == [
        "cuda_tile", "nv_tileaa", "nv_tileas", "llvm", "llvmir", "ptx"
    ]  # fmt: skip
    ptx = added["data"]["stages"][found.index("ptx")]
    assert any(".target sm_90a" in line for line in ptx["lines"])
    line = VECTOR_ADD.split("\n").index(next(one for one in VECTOR_ADD.split("\n") if "addf" in one)) + 1
    added_by = [text for text, key in zip(ptx["lines"], ptx["keys"], strict=True) if key == f"program:{line}"]
    assert any("add.rn.f32" in text or "add.f32" in text for text in added_by)


def test_each_pass_has_its_diff(added: dict[str, Any]) -> None:
    passes = {one["name"]: one["diff"] for one in added["data"]["passes"]}
    assert any(line.startswith("+") for line in passes["convert-cuda-tile-to-tileaa"])


def test_a_run_has_arguments_although_nobody_gave_any(added: dict[str, Any]) -> None:
    assert added["suggested"][:3] == ["a=rand:f32:128", "i32:128", "i32:1"]
    assert added["run"]["status"] == 0
    a, b, c = (list(map(float, one["values"])) for one in added["run"]["buffers"])
    assert c == pytest.approx([x + y for x, y in zip(a, b, strict=True)], rel=1e-4, abs=1e-5)


def test_findings_are_at_the_lines_of_the_program() -> None:
    short = [
        "a=rand:f32:100",
        *["i32:128", "i32:1", "b=rand:f32:128", "i32:128", "i32:1", "c=zeros:f32:128", "i32:128", "i32:1"],
    ]
    answer = ask(VECTOR_ADD, run=True, arguments="\n".join(short))
    assert answer["run"]["status"] == 3
    found = answer["data"]["findings"][0]
    assert found["kind"] == "out-of-bounds"
    assert "load" in VECTOR_ADD.split("\n")[int(found["key"].removeprefix("program:")) - 1]


def test_a_launch_may_be_json() -> None:
    launch = {
        "buffers": {name: {"size": 512} for name in "abc"},
        "args": [one for name in "abc" for one in ({"pointer": name}, {"i32": 128}, {"i32": 1})],
    }
    answer = ask(VECTOR_ADD, run=True, arguments=json.dumps(launch))
    assert answer["run"]["status"] == 0, answer["run"]["output"]


def test_errors_have_their_places_and_all_of_them_are_told() -> None:
    answer = ask(
        "func.func @f(%a: i32) {\n  %b = arith.addi %x, %a : i32\n  %c = arith.addi %y, %a : i32\n  return\n}\n"
    )
    assert [(one["line"], one["column"]) for one in answer["diagnostics"]] == [(2, 19), (3, 19)]
    assert "'%x'" in messages(answer)[0]
    assert answer["data"]["stages"] == []


def test_the_stages_before_an_error_are_shown() -> None:
    answer = ask(
        "entry @k() {\n  %0 = constant <f32: 1.0> : tile<16777216xf32>\n  %1 = sin %0 : tile<16777216xf32>\n"
        '  print_tko "%f", %1 : tile<16777216xf32> -> token\n  return\n}\n'
    )
    assert answer["diagnostics"][0]["severity"] == "error"
    assert answer["diagnostics"][0]["line"] in (2, 3, 4)
    assert "cuda_tile" in stages(answer)


def test_passes_run_alone() -> None:
    program = """
func.func @f() -> i32 {
  %a = arith.constant 1 : i32
  %b = arith.addi %a, %a : i32
  return %b : i32
}
"""
    for passes in ("--canonicalize --cse", "builtin.module(canonicalize,cse)"):
        answer = ask(program, passes=passes)
        assert [one["name"] for one in answer["data"]["passes"]] == ["canonicalize", "cse"]
        (stage,) = answer["data"]["stages"]
        assert not any("addi" in line for line in stage["lines"])


def test_options_are_those_of_the_commands() -> None:
    answer = ask(VECTOR_ADD, options={"gpu-name": "sm_80", "num-warps": "8"})
    ptx = next(stage for stage in answer["data"]["stages"] if stage["id"] == "ptx")
    assert any(".reqntid 256" in line for line in ptx["lines"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ptxas": "/bin/sh"}, "the option 'ptxas' is not available here"),
        ({"load-pass-plugin": "x.py"}, "the option 'load-pass-plugin' is not available here"),
        ({"O": "7"}, "'7' is not one of"),
        (["O"], "the options are not an object"),
        ({"gpu-name": "sm_90 --ptxas=/bin/sh"}, "unknown GPU"),
        ({"gpu-name": ["sm_90"]}, "--gpu-name: expected a text of one line"),
    ],
)
def test_no_other_option_and_no_other_value_is_taken(options: Any, message: str) -> None:
    answer = ask(EMPTY, options=options)
    assert message in messages(answer)[0]
    assert answer["data"]["stages"] == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"entry @k() {}\n", "'k.mlir' has 14 bytes; the page takes at most 13"),
        (b"\xff", "'k.mlir' is not a text"),
    ],
)
def test_the_page_does_not_begin_with_every_file(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "k.mlir").write_bytes(data)
    with pytest.raises(DiagnosticError) as raised:
        read_program("k.mlir", 13)
    assert str(raised.value) == f"error: {message}"


# -- hostile programs


@pytest.mark.parametrize(
    ("program", "more", "message"),
    [
        pytest.param("entry @k() { %0 = constant " + "(" * 200_000, {}, "nest deeper", id="parentheses"),
        pytest.param(
            '"a.b"() ({\n' * 3000 + "}) : () -> ()\n" * 3000,
            {"options": {"allow-unregistered-dialect": "true"}},
            "nest deeper",
            id="regions",
        ),
        pytest.param(
            "entry @k() { %0 = constant <f32: 1.0> : tile<1073741824xf32>\n return }",
            {},
            "maximum",
            id="huge tile",
        ),
        pytest.param("\ud800", {}, "expected an operation", id="surrogate"),
        pytest.param("", {}, "there is no program", id="nothing"),
        pytest.param("\x7fELF", {}, "expected MLIR, LLVM IR or PTX; found a cubin", id="a cubin"),
        pytest.param(
            ".version 8.0\n.target sm_80\n.address_size 64\n",
            {"passes": "--cse"},
            "passes run on MLIR; this is LLVM IR or PTX",
            id="passes on PTX",
        ),
        pytest.param(
            "module {}",
            {"passes": "--tile-analyze=output=/tmp/pwned"},
            "names a file",
            id="a pass that writes",
        ),
        pytest.param(
            "module {}", {"passes": "--canonicalise"}, "there is no pass 'canonicalise'", id="a wrong pass"
        ),
        pytest.param(
            VECTOR_ADD,
            {"run": True, "arguments": "a=@/etc/passwd:u8:10"},
            "names a file",
            id="a file as argument",
        ),
    ],
)
def test_a_hostile_program_gets_an_error(program: str, more: dict[str, Any], message: str) -> None:
    answer = ask(program, **more)
    assert message in messages(answer)[0]


@pytest.mark.parametrize(
    "launch",
    ['{"buffers": {"a": {"file": "/etc/passwd"}}}', '{"buffers": {"a": {"size": 1, "out": "/tmp/pwned"}}}'],
)
def test_a_launch_reads_and_writes_no_files(launch: str) -> None:
    found = ask(VECTOR_ADD, run=True, arguments=launch)
    assert found["run"]["status"] == 1
    assert "outside the folder" in found["run"]["output"]


def test_the_page_has_the_options_of_the_commands() -> None:
    found = {one["name"]: one for one in described()}
    assert set(found) == {*COMPILING, *RUNNING}
    assert found["num-warps"]["words"] == ["1", "2", "4", "8", "16", "32"]
    assert found["timing"]["flag"] and found["stats"]["flag"]
    assert "sm_90" in found["gpu-name"]["words"]
    assert not any("FILE" in one["help"] for one in found.values())
