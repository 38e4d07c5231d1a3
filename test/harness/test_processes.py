"""The processes that tests start run the sources that the tests import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tessera_tools


def test_a_process_in_another_folder_runs_this_tree(tmp_path: Path) -> None:
    """A caller's PYTHONPATH may name another tree, whose results are then kept as those of another compiler."""
    program = "import tessera_tools; print(tessera_tools.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()).samefile(str(tessera_tools.__file__))
