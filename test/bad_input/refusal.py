"""How the commands refuse: one line with its position, exit status 1, no traceback, no file left behind."""

from __future__ import annotations

import re
from pathlib import Path

from harness import COMMANDS, Result
from harness.commands import TRACEBACK

POSITION = re.compile(rb"^[^\n]*:\d+:\d+: error: \S", re.MULTILINE)
ERROR = re.compile(rb"\berror: \S")


def run(command: str, *argv: str, cwd: Path, stdin: bytes = b"") -> Result:
    """Run `command` in-process; no input may show a traceback or end in a status other than 0 and 1."""
    result = COMMANDS[command](list(argv), stdin, str(cwd))
    assert TRACEBACK not in result.stderr, result.stderr.decode(errors="replace")
    assert result.exit_code in (0, 1), (result.exit_code, result.stderr[:2000])
    return result


def refused(result: Result, says: str, positioned: bool = True) -> None:
    """Check an orderly refusal whose message holds `says`."""
    text = result.stderr.decode("utf-8", errors="replace")
    assert result.exit_code == 1, text
    assert (POSITION if positioned else ERROR).search(result.stderr), text
    assert re.search(says, text), text
    assert not result.stdout


def refuse_text(text: str | bytes, says: str, tmp_path: Path, positioned: bool = True) -> None:
    """Check that `tessera-opt` refuses the file `text`, and leaves no output behind."""
    source = tmp_path / "bad.mlir"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    result = run("tessera-opt", "bad.mlir", "-o", "out.mlir", cwd=tmp_path)
    refused(result, says, positioned)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.mlir"]
