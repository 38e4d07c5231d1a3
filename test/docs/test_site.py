"""The site of the documentation: built without warnings, searchable, with the reference of the interface."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import ROOT


def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "api.html").read_text("utf-8")
    assert 'id="tessera_tools.api.compiling.compile"' in reference
    assert "no GPU is needed" in reference
    entries = json.loads((tmp_path / "search" / "search_index.json").read_text())["docs"]
    for term in ("split-k", "cta_group"):
        assert any(term in entry["text"].lower() for entry in entries)
    places = {entry["location"] for entry in entries}
    assert {"dsl.html", "dialects/cuda_tile.html", "tutorial/3_gemm.html"} <= places
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= {
        path.stem for path in tmp_path.glob("*.html")
    }
