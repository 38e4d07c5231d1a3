"""docs/dsl.md: its Python runs, in one go, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from docs.pages import ROOT

TEXT = (ROOT / "docs" / "dsl.md").read_text("utf-8")


def test_the_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "page.py"  # kernels are read from their source
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)))
    names: dict[str, object] = {"__name__": "page", "__file__": str(script)}
    exec(compile(script.read_text(), str(script), "exec"), names)
    a, b, d = (np.asarray(names[name], np.float64) for name in ("a", "b", "d"))
    np.testing.assert_allclose(d, a @ b, rtol=1e-2, atol=1e-2)
    printed = capsys.readouterr().out
    assert "entry @scale" in printed
    assert "rounded once" in printed
    names["ops"][1](np.zeros(8, np.float32), np.zeros(8, np.int32))  # type: ignore[index]
