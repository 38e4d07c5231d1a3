"""Wheel build hook: make the parser tables, so that an installed command never builds one at start-up.

grammar/structure.lark, grammar/ops/*.lark  →  tessera_tools.parser.table  →  tessera_tools/_grammar/table.json
grammar/ptx.lark                            →  tessera_tools.sim.syntax    →  tessera_tools/_grammar/ptx.json
examples/*.mlir                         →  tessera_tools/_examples/

An editable install needs neither the tables nor the copied grammars: it reads `grammar/` in the checkout
and keeps its tables in the user's cache folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TABLES = {"table.json": "tessera_tools.parser.table", "ptx.json": "tessera_tools.sim.syntax"}
"""File in the wheel → the module that makes it."""

TABLE_SECONDS = 300
"""Time limit for making one table; it takes seconds, and the limit only keeps a hang from lasting."""


class ParserTableHook(BuildHookInterface[Any]):
    """Adds to a standard wheel: `tessera_tools/_grammar/`, the grammars and their tables, and `_examples/`, the menu of
    tessera-play."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the tables in a scratch folder and add them to the wheel.

        `version` is hatch's name of the wheel kind; "editable" skips the work.
        Raises RuntimeError with the generator's own output when it fails.
        """
        if version == "editable":
            return
        self._scratch = tempfile.TemporaryDirectory(prefix="tessera-table-")
        build_data["force_include"][str(Path(self.root) / "grammar")] = "tessera_tools/_grammar"
        for example in sorted((Path(self.root) / "examples").glob("*.mlir")):
            build_data["force_include"][str(example)] = f"tessera_tools/_examples/{example.name}"
        for name, module in TABLES.items():
            table = Path(self._scratch.name) / name
            self._make(module, table)
            build_data["force_include"][str(table)] = f"tessera_tools/_grammar/{name}"

    def _make(self, module: str, table: Path) -> None:
        command = [sys.executable, "-m", module, "--output", str(table)]
        # An isolated build has the generator's requirements in a folder that is only on `sys.path` of this process.
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
            raise RuntimeError(f"{table.name} was not made within {TABLE_SECONDS} s") from None
        if done.returncode != 0 or not table.is_file():
            raise RuntimeError(
                f"{table.name} was not made: `{' '.join(command)}` ended with status "
                f"{done.returncode}\n{done.stderr.strip() or done.stdout.strip()}"
            )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the scratch folder once the wheel holds the tables."""
        if version != "editable":
            self._scratch.cleanup()
