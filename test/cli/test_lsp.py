"""`tessera-lsp` as an editor speaks with it, on stdin and stdout."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.lsp_client import Client
from tessera_tools.cli import lsp

ROOT = Path(__file__).parents[2]
URI = "file:///folder/program.mlir"
PROGRAM = """\
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    client = Client()
    yield client
    assert client.close() == 0
    assert client.garbage == b""
    assert b"Traceback" not in client.errors


def about(uri: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}}


def test_errors_come_and_go_while_the_text_changes(client: Client) -> None:
    client.open(URI, PROGRAM)
    assert client.diagnostics(URI) == []
    start, end = {"line": 1, "character": 18}, {"line": 1, "character": 20}
    client.change(URI, {"range": {"start": start, "end": end}, "text": "%nobody"})
    (found,) = client.diagnostics(URI)
    assert found["message"] == "use of undeclared SSA value name '%nobody'"
    assert found["range"] == {"start": start, "end": {"line": 1, "character": 25}}
    client.change(URI, {"text": PROGRAM})
    assert client.diagnostics(URI) == []


def test_a_document_that_is_opened_again_may_have_the_same_version(client: Client) -> None:
    uri = "file:///folder/again.mlir"
    for name in ("first", "second"):
        text = f"func.func @{name}() {{\n  return\n}}\n"
        client.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "mlir", "version": 1, "text": text}},
        )
        assert client.request("textDocument/documentSymbol", about(uri))[0]["name"] == f"@{name}"
        client.notify("textDocument/didClose", about(uri))


def test_many_documents_may_be_open(client: Client) -> None:
    uris = [f"file:///folder/many{number}.mlir" for number in range(20)]
    for number, uri in enumerate(uris):
        client.open(uri, f"func.func @f{number}() {{\n  return\n}}\n")
    for _ in range(2):
        for number, uri in enumerate(uris):
            assert client.request("textDocument/documentSymbol", about(uri))[0]["name"] == f"@f{number}"
    for uri in uris:
        client.notify("textDocument/didClose", about(uri))


def test_an_incremental_change_after_characters_of_two_units(client: Client) -> None:
    uri = "file:///folder/unicode.mlir"
    client.open(uri, 'func.func @f() attributes {a = "😀"} {\n  return\n}\n')
    assert client.diagnostics(uri) == []
    at = {"line": 0, "character": 35}
    client.change(uri, {"range": {"start": at, "end": at}, "text": ", b c"})
    (found,) = client.diagnostics(uri)
    assert found["range"]["start"] == {"line": 0, "character": 39}


def test_every_request_has_an_answer(client: Client) -> None:
    client.open(URI, PROGRAM)
    place = client.at(URI, 1, 3)
    assert "arith.addi" in client.request("textDocument/hover", place)["contents"]["value"]
    assert client.request("textDocument/definition", place)["range"]["start"] == {"line": 1, "character": 2}
    assert (
        len(client.request("textDocument/references", {**place, "context": {"includeDeclaration": True}}))
        == 2
    )
    assert len(client.request("textDocument/documentHighlight", place)) == 2
    assert client.request("textDocument/prepareRename", place)["placeholder"] == "b"
    assert len(client.request("textDocument/rename", {**place, "newName": "x"})["changes"][URI]) == 2
    assert client.request("textDocument/completion", place)["items"]
    assert client.request("textDocument/documentSymbol", about(URI))[0]["name"] == "@f"
    assert client.request("textDocument/foldingRange", about(URI))
    assert len(client.request("textDocument/semanticTokens/full", about(URI))["data"]) % 5 == 0
    assert len(client.request("textDocument/codeLens", about(URI))) == 2
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    assert client.request("textDocument/inlayHint", {**about(URI), "range": everything}) == []
    item = client.request("completionItem/resolve", {"label": "arith.addi", "kind": 3})
    assert "### `arith.addi`" in item["documentation"]["value"]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("a", "'%a' is already defined in line 1"),
        ("a b", "'a b' is not a name of a value: letters, digits and '_$.-', or a number"),
    ],
)
def test_a_refused_rename_is_an_error(client: Client, new: str, message: str) -> None:
    client.open(URI, PROGRAM)
    answer = client.ask("textDocument/rename", {**client.at(URI, 1, 3), "newName": new})
    assert answer["error"]["code"] == -32803  # RequestFailed
    assert answer["error"]["message"] == message


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (
            "textDocument/hover",
            {"textDocument": {"uri": "file:///never.mlir"}, "position": {"line": 0, "character": 0}},
        ),
        ("workspace/executeCommand", {"command": "tessera.unknown", "arguments": []}),
        ("workspace/executeCommand", {"command": "tessera.runLine", "arguments": [{"uri": 3}]}),
        ("workspace/executeCommand", {"command": "tessera.runLine", "arguments": []}),
    ],
)  # fmt: skip
def test_a_wrong_request_does_not_end_the_server(client: Client, method: str, params: Any) -> None:
    answer = client.ask(method, params)
    assert "error" in answer or answer["result"] is None
    client.open(URI, PROGRAM)
    assert client.request("textDocument/documentSymbol", about(URI))


def test_a_position_outside_of_the_text(client: Client) -> None:
    client.open(URI, PROGRAM)
    assert client.request("textDocument/hover", client.at(URI, 99, 99)) is None


def command(client: Client, name: str, **argument: Any) -> Any:
    return client.request("workspace/executeCommand", {"command": name, "arguments": [argument]})


def test_the_next_stage_and_the_ptx(client: Client) -> None:
    uri = "file:///folder/kernel.mlir"
    client.open(uri, (ROOT / "examples/vector_add.mlir").read_text())
    shown = command(client, "tessera.showStage", uri=uri, line=6, stage="next")
    assert shown["title"].startswith("nv_tileaa")
    assert "nv_tileaa.func @vector_add" in shown["text"]
    assert (
        ".visible .entry vector_add("
        in command(client, "tessera.showStage", uri=uri, line=6, stage="ptx")["text"]
    )


def test_a_run_line_runs_on_the_text_of_the_editor(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "never_saved.mlir").as_uri()
    text = "// RUN: tessera-opt %s --canonicalize \\\n// RUN:   --cse | tessera-opt\n" + PROGRAM.replace(
        "%b", "%twice"
    )
    client.open(uri, text)
    shown = command(client, "tessera.runLine", uri=uri, line=1)
    assert shown["status"] == 0
    assert "%twice = arith.addi" in shown["text"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("uri", ["file:///no/such/folder/never_saved.mlir", "untitled:Untitled-1"])
def test_a_run_line_of_a_text_without_a_folder(client: Client, uri: str) -> None:
    client.open(uri, f"// RUN: tessera-opt %s\n{PROGRAM}")
    assert command(client, "tessera.runLine", uri=uri, line=0)["status"] == 0


def test_a_run_line_that_fails_names_the_file(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    client.open(path.as_uri(), "// RUN: tessera-opt %s\noops\n")
    shown = command(client, "tessera.runLine", uri=path.as_uri(), line=0)
    assert shown["status"] == 1
    assert f"{path}:2:1: error: " in shown["text"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rm -rf %s", "'rm' is not run here"),
        ("tessera-opt %s > /tmp/x", "the line has '>'"),
        ("tessera-opt %s; ls", "the line has ';'"),
        ("tessera-opt %s --load-pass-plugin=evil.py", "loads a plugin"),
        ("tessera-opt 'open", "cannot be read"),
    ],
)
def test_a_run_line_that_is_refused(client: Client, line: str, message: str) -> None:
    client.open(URI, f"// RUN: {line}\n{PROGRAM}")
    assert command(client, "tessera.runLine", uri=URI, line=0) is None
    assert message in client.wait("window/showMessage")["message"]


def test_python_files_have_syntax_errors_and_are_not_executed(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    client.open(path.as_uri(), f"import cuda.tile\nopen({str(tmp_path / 'executed')!r}, 'w')\n", "python")
    assert client.diagnostics(path.as_uri()) == []
    assert not (tmp_path / "executed").exists()
    client.change(path.as_uri(), {"text": "def f(:\n"})
    assert len(client.diagnostics(path.as_uri())) == 1


DSL = """\
from tessera_tools.dsl import array, f32, kernel, load, make_partition_view, program_id, store


@kernel
def twice(a: array[f32], c: array[f32]):
    i = program_id(0)
    x = load(make_partition_view(a, tile=1024), i)
    store(make_partition_view(c, tile=1024), i, x + {})
"""
CUTILE = """\
import cuda.tile as ct


# tessera-check: twice(f32[4096], f32[4096], 1024)
@ct.kernel
def twice(a, c, T: ct.Constant[int]):
    x = ct.load(a, index=(ct.bid(0),), shape=(T,))
    ct.store(c, index=(ct.bid(0),), tile=x + {})
"""


@pytest.mark.parametrize("text", [DSL, CUTILE], ids=["dsl", "cutile"])
def test_kernels_of_python_files_are_compiled_when_they_are_saved(text: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    client = Client(settings={"python": {"execute": True}})
    uri = (tmp_path / "kernel.py").as_uri()
    client.open(uri, text.format("x"), "python")
    assert client.diagnostics(uri) == []
    client.change(uri, {"text": text.format("unknown")})
    client.notify("textDocument/didSave", about(uri))
    (found,) = client.diagnostics(uri)
    assert found["range"]["start"]["line"] == 7
    assert "unknown" in found["message"]
    assert client.close() == 0
    assert client.garbage == b""


def test_a_python_file_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    client = Client("--time-limit=0.3", settings={"python": {"execute": True}})
    uri = (tmp_path / "kernel.py").as_uri()
    client.open(
        uri, "import tessera_tools\nprint('noise')\nimport time\nwhile True:\n    time.sleep(1)\n", "python"
    )
    (found,) = client.diagnostics(uri)
    assert "stopped after 6 s" in found["message"]
    assert client.close() == 0
    assert client.garbage == b""


def test_every_prefix_of_a_program(client: Client) -> None:
    uri = "file:///folder/prefix.mlir"
    client.open(uri, "")
    for end, char in enumerate(PROGRAM):
        line, column = PROGRAM.count("\n", 0, end), end - (PROGRAM.rfind("\n", 0, end) + 1)
        at = {"line": line, "character": column}
        client.change(uri, {"range": {"start": at, "end": at}, "text": char})
        assert "error" not in client.ask("textDocument/completion", client.at(uri, line, column + 1))
    assert client.diagnostics(uri) == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.mlir")), ids=lambda path: path.stem)
def test_the_examples_have_no_errors(client: Client, path: Path) -> None:
    client.open(path.as_uri(), path.read_text())
    found = client.diagnostics(path.as_uri())
    expected = 2 if path.stem == "flash_attention_listing" else 0  # needs --implicit-index-constants
    assert len(found) == expected


# -- limits and settings


def test_an_analysis_that_takes_too_long_is_stopped() -> None:
    client = Client("--time-limit=0.1")
    client.open(URI, PROGRAM.replace("  return", "  %c = arith.addi %a, %a : i32\n" * 50_000 + "  return"))
    (found,) = client.diagnostics(URI)
    assert "stopped after 0.1 s; set --time-limit for more" in found["message"]
    assert client.request("textDocument/hover", client.at(URI, 1, 3)) is None
    assert client.close() == 0


def test_an_analysis_that_needs_too_much_memory_is_a_message() -> None:
    client = Client("--memory-limit=64")
    client.open(URI, PROGRAM)
    (found,) = client.diagnostics(URI)
    assert "--memory-limit=64" in found["message"]
    assert client.close() == 0


def test_settings_come_at_the_start_and_later() -> None:
    client = Client(settings={"inlayHints": {"types": False}}, encodings=("utf-8",))
    assert client.initialized["capabilities"]["positionEncoding"] == "utf-8"
    client.open(URI, "func.func @f(%a: i32) {\n  %c = arith.cmpi slt, %a, %a : i32\n  return\n}\n")
    everything = {
        **about(URI),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}},
    }
    assert client.request("textDocument/inlayHint", everything) == []
    client.notify("workspace/didChangeConfiguration", {"settings": {"tessera": {"gpu": "no such GPU"}}})
    assert [one["label"] for one in client.request("textDocument/inlayHint", everything)] == [": i1"]
    assert client.close() == 0


@pytest.mark.parametrize("settings", [{}, None, [], {"python": {"execute": True}}, {"tessera": None}])
def test_settings_of_others_change_nothing(settings: Any) -> None:
    client = Client(settings={"inlayHints": {"types": False}})
    client.open(URI, "func.func @f(%a: i32) {\n  %c = arith.cmpi slt, %a, %a : i32\n  return\n}\n")
    client.notify("workspace/didChangeConfiguration", {"settings": settings})
    everything = {
        **about(URI),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}},
    }
    assert client.request("textDocument/inlayHint", everything) == []
    assert client.close() == 0


# -- the command


def test_the_help_names_the_settings() -> None:
    assert b"python.execute" in lsp.run(["--help"]).stdout


def test_an_argument_is_an_error() -> None:
    done = lsp.run(["file.mlir"])
    assert done.exit_code != 0
    assert b"file.mlir" in done.stderr


def test_a_missing_package_is_named() -> None:
    script = (
        "import importlib.util as util, sys\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'pygls' else find(name, *more)\n"
        "from tessera_tools.cli.lsp import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, stdin=subprocess.DEVNULL, timeout=60
    )
    assert done.returncode == 1
    assert b"tessera-lsp needs the package pygls" in done.stderr
    assert b"pip install 'tessera-tools[lsp]'" in done.stderr
