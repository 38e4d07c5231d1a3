"""Wheel build hook: make the parser table, so that an installed command never builds it at start-up.

grammar/*.lark + op declarations  →  tessera_tools.parser.table  →  tessera_tools/_grammar/table.json

An editable install needs neither the table nor the copied grammars: it reads `grammar/` in the checkout
and keeps its table in the user's cache folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TABLE_SECONDS = 300
"""Time limit for making the table; it takes seconds, and the limit only keeps a hang from lasting."""


class ParserTableHook(BuildHookInterface[Any]):
    """Adds `tessera_tools/_grammar/`, the grammars and their table, to a standard wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the table in a scratch folder and add it to the wheel.

        `version` is hatch's name of the wheel kind; "editable" skips the work.
        Raises RuntimeError with the generator's own output when it fails.
        """
        if version == "editable":
            return
        self._scratch = tempfile.TemporaryDirectory(prefix="tessera-table-")
        table = Path(self._scratch.name) / "table.json"
        command = [sys.executable, "-m", "tessera_tools.parser.table", "--output", str(table)]
        # The generator's own requirements lie where this process finds them: an isolated build keeps them in a folder
        # that only `sys.path` names.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([self.root, *filter(None, sys.path)])}
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TABLE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"the parser table was not made within {TABLE_SECONDS} s") from None
        if done.returncode != 0 or not table.is_file():
            raise RuntimeError(
                f"the parser table was not made: `{' '.join(command)}` ended with status "
                f"{done.returncode}\n{done.stderr.strip() or done.stdout.strip()}"
            )
        build_data["force_include"][str(Path(self.root) / "grammar")] = "tessera_tools/_grammar"
        build_data["force_include"][str(table)] = "tessera_tools/_grammar/table.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the scratch folder once the wheel holds the table."""
        if version != "editable":
            self._scratch.cleanup()
