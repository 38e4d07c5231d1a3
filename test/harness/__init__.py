"""Runs the `// RUN:` lines of a test file inside pytest, the way lit runs them.

    file.mlir ─run_file─▶ RunFile ─substitute─▶ command line ─shell─▶ pipelines of stages, bytes in and out
                                                     │                     │
                                                     └─▶ bash (the rest)   └─▶ commands (in-process), programs

A line that uses more of the shell than pipes, redirections, `&&` and `||` goes to bash; the result is the
same either way (`test_both_ways.py` compares).
"""

from harness.commands import COMMANDS, Result
from harness.execute import Outcome, RunFailure, run_in_process, run_in_shell, run_line
from harness.run_file import BadTestFile, RunFile, parse_run_file, substitute
from harness.shell import NeedsShell, parse_command_line

__all__ = [
    "COMMANDS",
    "Result",
    "Outcome",
    "RunFailure",
    "run_in_process",
    "run_in_shell",
    "run_line",
    "BadTestFile",
    "RunFile",
    "parse_run_file",
    "substitute",
    "NeedsShell",
    "parse_command_line",
]
