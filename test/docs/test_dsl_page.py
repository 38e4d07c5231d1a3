"""docs/dsl.md: its Python runs, in one go, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.pages import ROOT
from programs import fresh_seed

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
    check_convolution(names["convolution"])


def check_convolution(kernel: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    height, width = (int(n) for n in rng.integers(3, 12, 2))
    x = rng.integers(-3, 4, (height, width, 32)).astype(np.float16)
    w = rng.integers(-3, 4, (9, 32, 64)).astype(np.float16)
    out = np.zeros((height * width, 64), np.float16)
    kernel[-(-height * width // 64),](x.reshape(-1, 32), w, out, height, width, target="sm_90a")
    padded = np.pad(x.astype(np.float64), ((1, 1), (1, 1), (0, 0)))
    taps = (padded[r // 3 : r // 3 + height, r % 3 : r % 3 + width].reshape(-1, 32) @ w[r] for r in range(9))
    np.testing.assert_array_equal(out, sum(taps))
