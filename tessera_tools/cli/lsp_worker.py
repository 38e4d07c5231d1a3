"""The process that answers `tessera-lsp`: it may be killed, and it holds the limits on memory.

stdin: one JSON object a line, {"id", "method", "params"} ──▶ stdout: {"id", "result"} or {"id", "error"}
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import BinaryIO

from tessera_tools.cli.lsp_commands import run_pipeline
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.editor.completion import CommandOptions
from tessera_tools.editor.service import Service, Settings
from tessera_tools.editor.text import Json, Refused
from tessera_tools.process import end_with_parent

__all__ = ["command_options", "main"]


def command_options() -> dict[str, CommandOptions]:
    """The options of the commands, for RUN lines."""
    from tessera_tools.cli.manual import command_lines

    found: dict[str, CommandOptions] = {}
    for line in command_lines():
        names = [name for group in line.sections().values() for name in group]
        words = {name: kind for name, kind in line.kinds.items() if isinstance(kind, tuple)}
        options = {name: line.usage(name)[1] for name in names}
        found[line.name] = CommandOptions(options, words, bool(line.passes))
    return found


class Worker:
    """Answers requests, one after the other."""

    def __init__(self) -> None:
        self.service = Service()

    def configure(self, params: Json) -> None:
        """Start again with settings."""
        self.service = Service(params["encoding"], Settings.read(params["settings"]), command_options())

    def open(self, params: Json) -> None:
        """Take the text of a document."""
        self.service.open(params["uri"], params["text"])

    def warm(self, params: Json) -> None:
        """Load what the first questions need."""
        self.service.open("warm:", "entry @k() {\n  return\n}\n")
        self.service.answer("textDocument/diagnostics", {"textDocument": {"uri": "warm:"}})
        import tessera_tools.emit.driver
        import tessera_tools.opdef.documentation  # noqa: F401

    def run_line(self, params: Json) -> Json:
        """Run a RUN line."""
        return run_pipeline(self.service.document(params["uri"]), params["path"], params["line"])

    def show_stage(self, params: Json) -> Json:
        """Show a stage of a program."""
        from tessera_tools.editor.stages import show_stage

        document = self.service.document(params["uri"])
        return show_stage(document, params["line"], params["stage"], self.service.settings.gpu)

    def check_python(self, params: Json) -> list[Json]:
        """The diagnostics of a Python file."""
        from tessera_tools.editor.python_files import check_python
        from tessera_tools.editor.text import Text

        text, path = params["text"], params["path"]
        lines = Text(text, self.service.encoding)
        found: list[Json] = []
        settings = self.service.settings
        for one in check_python(text, path, settings.run_python, settings.gpu):
            place = one.location.start() if one.location is not None else None
            here = place is not None and place[0] == path
            line = place[1] - 1 if place is not None and here else 0
            line = min(max(line, 0), lines.lines - 1)
            start = min(
                lines.start_of_line(line) + (place[2] - 1 if place and here else 0), lines.end_of_line(line)
            )
            message = "\n".join([one.message, *(note.message for note in one.notes)])
            message = message if here or place is None else f"{place[0]}:{place[1]}: {message}"
            found.append(
                {
                    "range": lines.range(start, lines.end_of_line(line)),
                    "severity": 1 if one.severity == "error" else 2,
                    "source": "tessera",
                    "message": message,
                }
            )
        return found

    def answer(self, method: str, params: Json) -> object:
        """The result of one request."""
        own: dict[str, Callable[[Json], object]] = {
            "configure": self.configure,
            "open": self.open,
            "warm": self.warm,
            "runLine": self.run_line,
            "showStage": self.show_stage,
            "checkPython": self.check_python,
        }
        return own[method](params) if method in own else self.service.answer(method, params)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    worker = Worker()
    for line in requests:
        request = json.loads(line)
        answer: Json = {"id": request["id"]}
        try:
            answer["result"] = worker.answer(request["method"], request["params"])
        except Refused as refused:
            answer["error"] = str(refused)
        except DiagnosticError as failure:
            answer["error"] = str(failure)
        except (Exception, RecursionError) as fault:
            answer["error"] = f"internal fault: {type(fault).__name__}: {fault}"
            answer["trace"] = "".join(traceback.format_exception(fault))[-4000:]
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def main(argv: list[str]) -> None:
    """`PARENT MEMORY`: the process id of the server, and the limit of memory in MiB (0: none)."""
    end_with_parent(int(argv[0]))
    if int(argv[1]):
        import resource

        limit = int(argv[1]) << 20
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever else is printed, such as by a user's Python file, goes to stderr.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    import threading

    sys.setrecursionlimit(20_000)
    threading.stack_size(256 << 20)
    thread = threading.Thread(target=_serve, args=(requests, answers))
    try:
        thread.start()
    except RuntimeError:
        sys.exit("error: --memory-limit is too small to start")
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
