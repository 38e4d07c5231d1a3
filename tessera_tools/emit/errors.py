"""Errors of external programs and of the file system, as one line for the user."""

from __future__ import annotations

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, HasStart

__all__ = ["ToolError"]


class ToolError(DiagnosticError):
    """An external program failed, or a file cannot be written.

    `message` states what was found, `hint` how to fix it. `line` and `column` count from 1 in the input text of the
    program (LLVM IR, PTX). `location` is the position in the user's source, if known. `details` is the output of
    the program, for `--verbose` or a reproducer.
    """

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
        location: HasStart | None = None,
        details: str = "",
    ) -> None:
        diagnostic = Diagnostic("error", location, message)
        if hint:
            diagnostic.note(hint)
        super().__init__(diagnostic)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column
        self.location = location
        self.details = details

    def __str__(self) -> str:
        return self.message
