"""docs/python.md: its Python runs, in one go, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.pages import ROOT

TEXT = (ROOT / "docs" / "python.md").read_text("utf-8")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cuda.tile")
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 6
    script = tmp_path / "page.py"  # cuTile reads the sources of its kernels
    script.write_text("\n".join(blocks))
    monkeypatch.chdir(ROOT)
    (ROOT / "build").mkdir(exist_ok=True)
    names: dict[str, object] = {"__name__": "page", "__file__": str(script)}
    exec(compile(script.read_text(), str(script), "exec"), names)
    x, y = names["x"], names["y"]
    assert (y == 3 * x).all()  # type: ignore[attr-defined, operator]


def test_every_public_name_is_told_of() -> None:
    import tessera_tools as tt

    for name in tt.__all__:
        assert f"tt.{name}" in TEXT or f"`{name}`" in TEXT, f"docs/python.md lacks {name}"
