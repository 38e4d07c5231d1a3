"""Dialects and passes of other packages: examples/plugin, and what is refused."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from tessera_tools.cli.opt import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugin"
FILE = EXAMPLE / "tessera_toy" / "__init__.py"
pytestmark = pytest.mark.usefixtures("forget_plugins")


def opt(*argv: str, status: int = 0) -> tuple[str, str]:
    result = run([str(EXAMPLE / "twice.mlir"), *argv])
    assert result.exit_code == status, result.stderr.decode()
    return result.stdout.decode(), result.stderr.decode()


def test_a_file() -> None:
    out, _ = opt(f"--load-pass-plugin={FILE}", "--toy-expand")
    assert "arith.addi %a, %a : i32" in out
    assert "toy." not in out


def test_mlirs_name_for_dialects() -> None:
    assert "toy.twice %a : i32" in opt(f"--load-dialect-plugin={FILE}")[0]


def test_a_pass_has_options_and_remarks() -> None:
    out, err = opt("--load-pass-plugin", str(FILE), "--toy-expand=keep", "--remarks=text")
    assert "toy.twice" in out
    assert "remark[passed]: twice is a sum [expanded]" in err


def test_it_is_listed() -> None:
    out, _ = opt(f"--load-pass-plugin={FILE}", "--list-passes")
    assert "--toy-expand" in out


def test_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    point = importlib.metadata.EntryPoint("toy", "tessera_toy:PLUGIN", "tessera_tools.plugins")
    monkeypatch.setattr("tessera_tools.passes.plugins.entry_points", lambda group: [point])
    assert "arith.addi" in opt("--load-pass-plugin=toy", "--toy-expand")[0]


def test_a_variable_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    assert "arith.addi" in opt("--load-pass-plugin=tessera_toy:PLUGIN", "--toy-expand")[0]


def test_without_it_there_is_no_such_pass_and_no_such_dialect() -> None:
    assert "unknown option '--toy-expand'" in opt("--toy-expand", status=1)[1]
    assert "unknown dialect 'toy'" in opt(status=1)[1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no plugin"),
        ("1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        ("import no_such_module", "cannot be loaded: No module named 'no_such_module'"),
        ("def f(:", "cannot be loaded: invalid syntax"),
        ("no_such_name", "cannot be loaded: NameError: name 'no_such_name' is not defined"),
        ("raise KeyError", "cannot be loaded: KeyError"),
        (
            "from tessera_tools.passes.plugins import Plugin\nPLUGIN = Plugin(passes={'cse': ('x:Y', '')})",
            "has the pass 'cse', which exists already",
        ),
        (
            "from tessera_tools.passes.plugins import Plugin\nPLUGIN = Plugin(dialects={'arith': 'x'})",
            "has the dialect 'arith', which exists already",
        ),
    ],
)
def test_what_cannot_be_loaded(text: str, says: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    file = tmp_path / f"plugin_{abs(hash(text))}.py"
    file.write_text(text)
    assert says in opt(f"--load-pass-plugin={file}", status=1)[1]


FORGETFUL = """
from tessera_tools.opdef import CustomDirective, Dialect, Op, operand, ops_of, result
from tessera_tools.passes.plugins import Plugin

class Forgets(CustomDirective, name="Forgets"):
    grammar = "custom: VALUE"

    def read(self, state, node):
        pass

class Twice(Op, name="toy.twice"):
    value = operand()
    result = result()
    assembly = "custom<Forgets> attr-dict `:` type($result)"

DIALECT = Dialect("toy", "a dialect whose syntax forgets an operand", ops_of(globals()))
PLUGIN = Plugin(dialects={"toy": "forgetful"})
"""


def test_syntax_that_forgets_an_operand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    (tmp_path / "program.mlir").write_text("%a = toy.twice %b : i32")
    result = run([str(tmp_path / "program.mlir"), "--load-dialect-plugin=forgetful:PLUGIN"])
    assert "1:6: error: 'toy.twice' op expects one operand 'value', found 0" in result.stderr.decode()


def test_what_a_plugin_is() -> None:
    _, err = opt("--load-pass-plugin=json:dumps", status=1)
    assert "'json:dumps' has no plugin" in err
    assert "expected PLUGIN = Plugin(…), from tessera_tools.passes.plugins" in err


def test_a_name_that_nobody_has() -> None:
    _, err = opt("--load-pass-plugin=no_such_plugin", status=1)
    assert "the plugin 'no_such_plugin' cannot be loaded" in err
    assert "MODULE:VARIABLE" in err
