"""RUN lines that an editor runs: the commands of Tessera tools in this process, FileCheck as a child.

// RUN: tessera-opt %s --cse | FileCheck %s        the output of each command is the input of the next one
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib import import_module

from tessera_tools.cli.common import Result
from tessera_tools.editor.document import Document
from tessera_tools.editor.runs import run_at
from tessera_tools.editor.text import Json, Refused
from tessera_tools.emit.tools import TemporaryFolder
from tessera_tools.process import run as run_program

__all__ = ["run_pipeline"]

_FILECHECK = ("FileCheck", "filecheck", "FileCheck-22")
_FILECHECK_SECONDS = 30.0
_PLUGINS = ("load-pass-plugin", "load-dialect-plugin")


def run_pipeline(document: Document, path: str, line: int) -> Json:
    """Run the RUN line at a line of a document, whose text may not be saved.

    Returns a title, the text that it prints, and the exit status. Raises Refused for what is not run.
    """
    run = run_at(document.text, line)
    if run is None:
        raise Refused(f"line {line + 1} is no RUN line")
    home, name = os.path.split(path)
    with TemporaryFolder("tessera-lsp") as folder:
        source = os.path.join(folder.path, name or "input.mlir")
        with open(source, "w", encoding="utf-8") as file:
            file.write(document.text.text)
        temporary = os.path.join(folder.path, "output")
        substitutions = {"%s": source, "%t": temporary, "%S": home, "%p": home, "%%": "%"}
        stdin, status, printed = b"", 0, ""
        for words in run.commands(substitutions):
            # The folder of a text that is not saved may not exist.
            done = _run(words, stdin, home if os.path.isdir(home) else None, folder.path)
            printed += done.stderr.decode("utf-8", "replace")
            stdin, status = done.stdout, done.exit_code
            if status:
                break
        for entry in os.listdir(folder.path):
            if os.path.isdir(inner := os.path.join(folder.path, entry)):
                shutil.rmtree(inner, ignore_errors=True)
    text = (printed + stdin.decode("utf-8", "replace")).replace(source, path)
    outcome = "succeeded" if status == 0 else f"exit status {status}"
    return {"title": f"RUN: {run.text} ({outcome})", "text": text, "language": "mlir", "status": status}


def _run(words: Sequence[str], stdin: bytes, home: str | None, folder: str) -> Result:
    inverted = False
    while words and words[0] == "not":
        words, inverted = words[1:], not inverted
    program, arguments = words[0], list(words[1:])
    if any(option in word for word in arguments for option in _PLUGINS):
        raise Refused("the line loads a plugin, whose code is not run from the editor")
    if program == "FileCheck":
        done = _filecheck(arguments, stdin, folder)
    else:
        command = import_module(f"tessera_tools.cli.{program.removeprefix('tessera-')}")
        done = command.run(arguments, stdin, home)
    if inverted:
        return Result(int(done.exit_code == 0), done.stdout, done.stderr)
    return done


def _filecheck(arguments: list[str], stdin: bytes, folder: str) -> Result:
    """Check the output; without a FileCheck the output is shown as it is."""
    program = next((found for name in _FILECHECK if (found := shutil.which(name)) is not None), None)
    if program is None:
        return Result(0, stdin, b"FileCheck is not on PATH: its input follows.\n")
    path = os.path.join(folder, "stdout")
    with open(path, "wb") as file:
        file.write(stdin)
    done = run_program([program, *arguments, f"--input-file={path}"], time_limit=_FILECHECK_SECONDS)
    if done.succeeded:
        return Result(0, stdin, b"")
    if done.timed_out:
        return Result(1, b"", b"FileCheck takes too long and was ended.\n")
    return Result(done.status or 1, b"", done.text.encode())
