"""The process that answers one request of the page of `tessera-play`, and ends.

stdin: {"program", "options", "passes", "run"} ──▶ compile, record, run on the simulated GPU ──▶ stdout: JSON

It starts before the request comes, so that everything is loaded. The server limits its time and its output; the limits
on memory and files are its own. It reads no file that a program or a request names.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import click

from tessera_tools.api.inputs import find_target, kind_of, parse_input
from tessera_tools.api.reports import clock_of, findings_of
from tessera_tools.cli import run as run_command
from tessera_tools.cli import translate as translate_command
from tessera_tools.cli.common import in_process, internal_fault
from tessera_tools.cli.play_arguments import arguments_of, element_types, read_passes, suggested
from tessera_tools.cli.play_confinement import confine
from tessera_tools.cli.play_options import Given, checked
from tessera_tools.cli.run_session import Session as RunSession
from tessera_tools.cli.translate_session import Session as TranslateSession
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, collect, error
from tessera_tools.emit.compiled import Options
from tessera_tools.emit.driver import begin_lowering, declared_target, pipeline_to, target_of_text
from tessera_tools.ir.core import Operation
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.passes.manager import PassManager
from tessera_tools.process import end_all, end_with_parent
from tessera_tools.records import replace
from tessera_tools.report import (
    Clock,
    FindingAt,
    Recording,
    record_module,
    record_text,
    recorded,
    remark_of,
    report_parts,
)
from tessera_tools.runtime import Buffer

__all__ = ["NAME", "answer", "main"]

Json = dict[str, Any]

NAME = "program"
"""The program in locations; without an ending, its kind follows from its text."""
LARGEST_FILE = 64 << 20
"""Bytes of a temporary file."""
_MOST_DIAGNOSTICS = 200
_MOST_OUTPUT = 200_000
"""Characters that a run may print."""
_MOST_SHOWN = 16
"""Elements of a buffer that are shown."""
_DEEPEST = 20_000
_STACK = 256 << 20


def answer(request: Json) -> Json:
    """The answer to a request: what the page shows. Errors in the program and in the options are part of it."""
    recording = Recording(NAME)
    told: list[Diagnostic] = []
    launch: list[str] = []
    ran: Json | None = None
    clock = findings = None
    try:
        given = checked(request.get("options", {}), request.get("running", {}))
        program = _text(request, "program").encode("utf-8", "replace").decode()
        passes = _text(request, "passes").strip()
        launch = _record(program, passes, given, recording)
        if request.get("run"):
            ran, clock, findings = _run(program, given, _text(request, "arguments"), launch)
    except DiagnosticError as failure:
        told += failure.diagnostics
    except click.ClickException as failure:
        told.append(Diagnostic("error", None, failure.format_message()))
    except MemoryError:
        told.append(Diagnostic("error", None, "out of memory; --memory-limit allows more"))
    except RecursionError:
        told.append(Diagnostic("error", None, "the program is nested too deeply"))
    except Exception as fault:
        told.append(Diagnostic("error", None, internal_fault(fault, "while compiling")))
    parts = report_parts(
        recording, clock=clock, findings=findings, run=ran["summary"] if ran is not None else ""
    )
    return {
        "diagnostics": [_placed(one) for one in told[:_MOST_DIAGNOSTICS]],
        "data": parts.data,
        "sections": parts.sections,
        "facts": parts.facts,
        "leftOut": parts.left_out,
        "suggested": launch,
        "run": ran,
    }


def _text(request: Json, name: str) -> str:
    value = request.get(name, "")
    if not isinstance(value, str):
        raise error(None, f"the request's '{name}' is not a text")
    return value


def _placed(one: Diagnostic) -> Json:
    """A diagnostic as the page shows it: line 0 is no line of the program."""
    place = one.location.start() if one.location is not None else None
    line, column, message = 0, 0, one.message
    if place is not None and place[0] == NAME:
        line, column = max(place[1], 1), max(place[2], 1)
    elif place is not None:
        message = f"{place[0]}:{place[1]}:{place[2]}: {message}"
    return {
        "severity": one.severity,
        "line": line,
        "column": column,
        "message": message,
        "notes": [_placed(note) for note in one.notes],
    }


def _record(program: str, passes: str, given: Given, recording: Recording) -> list[str]:
    """Record the compilation, or the passes; returns arguments for a launch. Raises DiagnosticError."""
    command = translate_command.COMMAND_LINE.read([*given.translate(), "--cache=off"])
    assert command is not None
    options = TranslateSession(command, "ptx", time.perf_counter()).asked()
    data = program.encode("utf-8", "replace")
    if not program.strip():
        raise error(None, "there is no program", "choose an example, or type one")
    kind = kind_of(NAME, data)
    if kind == "cubin":
        raise error(None, "expected MLIR, LLVM IR or PTX; found a cubin")

    def chosen(declared: str | None) -> Options:
        name = command["gpu_name"] or declared
        return options if name is None else replace(options, target=find_target(name))

    if kind != "mlir":
        if passes:
            raise error(None, "passes run on MLIR; this is LLVM IR or PTX")
        record_text(program, kind, recording, chosen(target_of_text(program, kind)))
        return suggested(recording.manifest, [])
    module = parse_input(
        data,
        NAME,
        allow_unregistered=command["allow_unregistered_dialect"],
        implicit_index_constants=command["implicit_index_constants"],
    )
    verify_or_raise(module)
    if passes:
        _run_passes(module, passes, recording)
        return []
    types = element_types(module)
    record_module(module, recording, chosen(declared_target(module)))
    return suggested(recording.manifest, types)


def _run_passes(module: Operation, text: str, recording: Recording) -> None:
    """Run the passes that the user asks for, as tessera-opt does. Raises DiagnosticError."""
    from tessera_tools.emit.measure import measure

    pipeline = read_passes(text)
    recording.target = declared_target(module) or "no target yet"
    with collect() as told:
        try:
            with recorded(recording, module, None) as recorder:
                PassManager(pipeline, explains=True, observers=(recorder,), measure=measure).run(module)
        finally:
            recording.remarks = [remark_of(one) for one in told]


def _run(
    program: str, given: Given, arguments: str, otherwise: Sequence[str]
) -> tuple[Json, Clock | None, list[FindingAt]]:
    """Run on the simulated GPU; (what it prints, the clock's estimate, the findings). Raises DiagnosticError."""
    with open(NAME, "w", encoding="utf-8", errors="replace") as file:
        file.write(program)
    words = arguments_of(arguments, otherwise)
    argv = [*words, *given.run(), "--cache=off", "--processes=1", "--color=never", NAME]
    options = run_command.COMMAND_LINE.read(argv)
    assert options is not None
    session = RunSession(options)
    done = in_process(lambda _: session.run(), [])
    result = session.results[0] if session.results else None
    printed = (done.stdout + done.stderr).decode("utf-8", "replace")
    answered = {
        "status": done.exit_code,
        "output": printed[:_MOST_OUTPUT],
        "cut": max(0, len(printed) - _MOST_OUTPUT),
        "summary": session.summary,
        "arguments": [word.partition("=")[2] for word in words if word.startswith("--arg=")],
        "buffers": [] if options["timing"] is not None else [_shown(*one) for one in session.outcome.items()],
    }
    estimate = clock_of(result.estimate) if result is not None else None
    return answered, estimate, findings_of(session.findings, f"<ptx of {NAME}>")


def _shown(name: str, buffer: Buffer) -> Json:
    """The first elements of a buffer."""
    values = buffer.values().reshape(-1)[:_MOST_SHOWN]
    return {
        "name": name,
        "type": buffer.type.name if buffer.type is not None else "u8",
        "shape": "x".join(map(str, buffer.shape)),
        "values": [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values.tolist()],
        "more": int(buffer.values().size) > _MOST_SHOWN,
    }


def _answered(line: bytes) -> bytes:
    request = json.loads(line)
    return json.dumps(answer(request)).encode()


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    answers.write(b"ready\n")
    answers.flush()
    line = requests.readline()
    if line:
        answers.write(_answered(line))
        answers.flush()


def main(argv: Sequence[str]) -> None:
    """`PARENT MEMORY FOLDER`: the process id of the server, the limit of memory in MiB, and an empty folder, the only
    one in which files are written."""
    end_with_parent(int(argv[0]))
    memory, folder = int(argv[1]) << 20, argv[2]
    for limit, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    os.chdir(folder)
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    empty = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(empty, descriptor)
    _warm()
    confine(folder)
    sys.setrecursionlimit(_DEEPEST)
    threading.stack_size(_STACK)
    thread = threading.Thread(target=_serve, args=(requests, answers))
    try:
        thread.start()
    except RuntimeError:
        sys.exit("error: --memory-limit is too small to start")
    thread.join()
    end_all()
    os._exit(0)


def _warm() -> None:
    """Load what the first compilation and the first run would load, such as the parse tables in the user's cache."""
    import tessera_tools.runtime.timing_picture
    import tessera_tools.runtime.timing_report  # noqa: F401
    from tessera_tools.sim import syntax

    module = parse_input(b"entry @warm() {\n  return\n}\n", NAME)
    verify_or_raise(module)
    options = Options(find_target("sm_90a"))
    PassManager(pipeline_to(options, begin_lowering(module, options), "llvm")).run(module)
    syntax.parse(".version 8.0\n.target sm_80\n.address_size 64\n", NAME)


if __name__ == "__main__":
    main(sys.argv[1:])
