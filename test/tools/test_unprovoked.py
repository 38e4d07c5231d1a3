"""tools/unprovoked.py: errors whose text no test mentions."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="tool")
def _tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module("unprovoked")


@pytest.fixture(name="tree")
def _tree(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project: its sources, and its tests."""
    (tmp_path / "tessera_tools").mkdir()
    (tmp_path / "test").mkdir()
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    return tmp_path


ERROR = 'def f(op, n):\n    raise op.error(f"has {n} rows, but at least two are expected")\n'


def test_an_error_that_no_test_mentions_is_found(tool: Any, tree: Path) -> None:
    (tree / "tessera_tools" / "a.py").write_text(ERROR)
    (tree / "test" / "a.mlir").write_text("// expected-error {{has no columns}}")
    assert list(tool.unprovoked()) == [("tessera_tools/a.py", 2, "rows, but at least two are expected")]
    assert list(tool.unprovoked("tessera_tools/b")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.mlir", "// expected-error {{has 1 rows, but at least two are expected}}"),
        ("test_a.py", 'match=r"rows, but at least "\n    "two are expected"'),
        ("test_a.py", 'match=r"rows\\, but at least two are expected"'),
    ],
)
def test_an_error_that_a_test_mentions_is_not(tool: Any, tree: Path, name: str, text: str) -> None:
    (tree / "tessera_tools" / "a.py").write_text(ERROR)
    (tree / "test" / name).write_text(text)
    assert list(tool.unprovoked()) == []


@pytest.mark.parametrize("text", ["names['a key of names']", "str(n).removesuffix(' and the rest')"])
def test_keys_and_what_is_cut_off_are_no_text(tool: Any, tree: Path, text: str) -> None:
    (tree / "tessera_tools" / "a.py").write_text(f"raise op.error({text})\n")
    assert list(tool.unprovoked()) == []


def test_every_error_is_provoked_by_a_test(tool: Any) -> None:
    """Each error and each reason of a remark; `python tools/unprovoked.py FOLDER` lists those that no test mentions."""
    assert list(tool.unprovoked()) == []
