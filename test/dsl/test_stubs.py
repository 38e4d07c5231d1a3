"""The signatures of the language for editors and type checkers."""

from __future__ import annotations

import ast
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tessera_tools.dsl as tl
from tessera_tools.dsl import ops, stubs

TREE = ast.parse(stubs.stub())
DECLARED = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}


def test_the_stub_is_that_of_the_declarations() -> None:
    assert stubs.FILE.read_text("utf-8") == stubs.stub(), f"the stub is stale: run `{stubs.COMMAND}`"


def test_every_public_name_is_in_the_stub() -> None:
    bound = {alias.asname for node in TREE.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    bound |= {node.name for node in TREE.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bound |= {
        node.target.id
        for node in TREE.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert bound >= set(vars(tl)["__all__"])


@pytest.mark.parametrize("name", ops.names())
def test_a_function_has_the_parameters_that_a_call_takes(name: str) -> None:
    if name not in DECLARED:
        return  # library.py has a function of this name
    node, parameters = DECLARED[name].args, inspect.signature(ops.function(name)).parameters.values()
    given = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "result"]
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert [arg.arg for arg in node.args if arg.arg != "result"] == given
    assert {arg.arg for arg in node.kwonlyargs} == named


PROGRAM = """\
import tessera_tools.dsl as tl
from tessera_tools.dsl import *

@kernel
def f(x: ptr[f32], a: array[f16, 2], s: array[f16, 2].strided, n: i32, b: constexpr = 128):
    t = load(make_partition_view(a, tile=(64, 64)), (program_id(0), 0))
    for k in range(n):
        t += sum(t, axis=1, keep_dims=True) * k + b
    t = max(tl.fma(t, a.shape[0], 1.0, rounding_mode="zero"), 0.0)
    w, token = tl.load_ptr_tko(x + arange(8), token=tl.make_token())
    store(s.pointer + arange(8), tl.bitcast(w, i32).to(f16))

f[4](1, 2, 3, 4)
"""


def test_a_type_checker_knows_the_ops(tmp_path: Path) -> None:
    checker = shutil.which("pyright", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if checker is None:
        pytest.skip("pyright is not installed; it is in the extra [dev]")
    wrong = PROGRAM.replace('"zero"', '"zer"').replace("t += sum", "t.elements\n        t += sum")
    wrong = wrong.replace("* k + b", "* 'k' + b").replace("(w, i32)", "(w, 32)")
    found: list[list[str]] = []
    for text in (PROGRAM, wrong):
        (tmp_path / "program.py").write_text(text)
        (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{Path(tl.__file__).parents[2]}"]}}')
        done = subprocess.run(
            [checker, "--pythonpath", sys.executable, "program.py"],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        found.append([line.partition("error: ")[2] for line in done.stdout.splitlines() if "error: " in line])
    assert found[0] == []
    assert len(found[1]) == 4
    assert found[1][0].startswith('Cannot access attribute "elements" for class "Tile"')
    assert found[1][1].startswith('Operator "*" not supported for types "Tile" and')
    assert found[1][2].startswith(
        'Argument of type "Literal[\'zer\']" cannot be assigned to parameter "rounding_mode"'
    )
    assert found[1][3].startswith('Argument of type "Literal[32]" cannot be assigned to parameter "result"')
