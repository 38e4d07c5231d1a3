"""Common parts of the commands: processes, options, input, errors, color, progress.

main() ─▶ as_process(command)        run(argv, stdin, cwd) ─▶ in_process(command, …) ─▶ Result
                └──────── guarded(): every exception becomes a line on stderr and a status ────────┘
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Sources, closest, error, render, visible
from tessera_tools.process import end_all, leave
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.passes.reproducer import Reproducer

__all__ = [
    "Result",
    "as_process",
    "boolean",
    "fail",
    "guarded",
    "in_process",
    "internal_fault",
    "normalize",
    "print_table",
    "progress",
    "read_input",
    "report",
    "start_seconds",
    "usage_error",
    "use_color",
    "with_deep_stack",
    "write_reproducer",
    "write_stderr",
]

FAILED = 1
INTERRUPTED = 130
LARGEST_INPUT = 1 << 30
"""Bytes of an input, which may be a device or a pipe without an end."""
_DEEP_LIMIT = 150_000
_DEEP_STACK = 512 << 20
_interruptions: list[int] = []
"""The SIGINTs that this process has received: extension modules turn KeyboardInterrupt into other exceptions."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command."""

    exit_code: int
    stdout: bytes
    stderr: bytes


Command = Callable[[list[str]], int]
"""A command: takes the arguments without its name, and returns its exit status."""


def in_process(command: Command, argv: Sequence[str], stdin: bytes = b"", cwd: str | None = None) -> Result:
    """Run a command in this process, with the status and streams of a separate process."""
    out, err = io.BytesIO(), io.BytesIO()
    streams, folder = (sys.stdin, sys.stdout, sys.stderr), os.getcwd()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", errors="surrogateescape", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", write_through=True)
    ours = (sys.stdin, sys.stdout, sys.stderr)
    try:
        if cwd is not None:
            os.chdir(cwd)
        status = guarded(lambda: command(list(argv)))
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        if cwd is not None:
            os.chdir(folder)
        for stream in ours:
            stream.detach()  # otherwise the wrapper would close the buffers when it is deleted
    return Result(status, out.getvalue(), err.getvalue())


def as_process(command: Command) -> NoReturn:
    """Run a command as this process, and exit."""
    # The IR is a large graph of references that lives until the end: frequent garbage collections took a third of the
    # time at 100,000 operations. Erased operations are still collected, less frequently.
    gc.set_threshold(1_000_000, 50, 1000)
    _open_standard_streams()

    def body() -> int:
        _end_cleanly_on_signals()
        return command(sys.argv[1:])

    status = guarded(body)
    # From here on, Ctrl-C could only interrupt the last bytes of the output.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_all()
    try:
        sys.stdout.flush()
    except OSError as failure:
        # Python would report the same error again at exit, with a traceback.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(failure, BrokenPipeError):
            write_stderr(f"error: <stdout> cannot be written: {failure.strerror}\n")
            status = FAILED
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    # Skip the interpreter's shutdown, which only takes time (20 ms with a large module).
    leave(status)


def _end_cleanly_on_signals() -> None:
    """SIGTERM and SIGHUP end this process and its children, and remove temporary files; Ctrl-C raises an exception.

    A signal that the caller ignores, as nohup does, remains ignored.
    """

    def end(number: int, _frame: object) -> None:
        end_all()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # so that the parent sees the signal

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)

    def interrupt(number: int, _frame: object) -> None:
        _interruptions.append(number)
        raise KeyboardInterrupt

    def unraisable(found: sys.UnraisableHookArgs) -> None:
        if not issubclass(found.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(found)
            return
        # Raised where Python would only print it, as in a destructor.
        end_all()
        write_stderr("interrupted\n")
        leave(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):  # see start.py
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = unraisable


def _open_standard_streams() -> None:
    """Open a descriptor for each standard stream that the caller closed; using it is an error.

    Otherwise the next opened file or pipe would get its number, and Python's stream would be None.
    """
    for number, (name, mode, refusing) in enumerate(
        (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_RDONLY))
    ):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                opened = os.open(os.devnull, refusing)
                if opened != number:
                    os.dup2(opened, number)
                    os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def guarded(body: Callable[[], int]) -> int:
    """Call `body`; an exception becomes a message on stderr and a status."""

    def checked() -> int:
        try:
            return body()
        except Exception:
            if _interruptions:
                raise KeyboardInterrupt from None
            raise

    try:
        return checked()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except _of_click("Exit") as exit_:
        return exit_.exit_code
    except _of_click("ClickException") as failure:
        return fail(failure.format_message())
    except DiagnosticError as failure:
        report(failure.diagnostics, None)
        return FAILED
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        write_stderr("interrupted\n")
        return INTERRUPTED
    except MemoryError:
        return fail("out of memory")
    except RecursionError:
        return fail("the input is nested too deeply")
    except OSError as failure:
        place = f"'{failure.filename}': " if failure.filename else ""
        return fail(f"{place}{(failure.strerror or str(failure)).lower()}")
    except Exception as fault:
        if os.environ.get("TESSERA_DEBUG") == "1":
            raise
        return fail(internal_fault(fault, "while running the command"))


def _of_click(name: str) -> Any:
    """An exception class of click's; none if click is not loaded, so that nothing raised it."""
    click = sys.modules.get("click.exceptions")
    return getattr(click, name, ()) if click is not None else ()


def internal_fault(fault: BaseException, doing: str) -> str:
    """The one-line message of an unexpected exception. Raises KeyboardInterrupt if that was the cause."""
    if _interruptions:
        raise KeyboardInterrupt from None
    what = " ".join(f"{type(fault).__name__}: {fault}".split())[:300]
    return f"internal fault {doing}: {what} (TESSERA_DEBUG=1 shows the traceback)"


def fail(message: str) -> int:
    """Print an error without a position; returns the exit status."""
    write_stderr(f"error: {visible(message)}\n")
    return FAILED


def write_stderr(text: str) -> None:
    """Write to stderr immediately; a closed or full stderr is ignored."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def report(diagnostics: Sequence[Diagnostic], sources: Sources | None, color: bool = False) -> None:
    """Print diagnostics with source line and caret."""
    for diagnostic in diagnostics:
        text = render(diagnostic, sources, color=color)
        if diagnostic.location is None:
            # The error is about the command, not about an unknown location.
            text = text.replace("<unknown>:0: ", "")
        write_stderr(text)


def write_reproducer(path: str | None, ir: str, reproducer: Reproducer, flags: Sequence[str] = ()) -> str:
    """Write a reproducer to `path`, by default a new temporary file; returns the note with its path."""
    from tessera_tools.emit.files import write_output
    from tessera_tools.passes.reproducer import with_reproducer

    if not path:
        import tempfile

        handle, path = tempfile.mkstemp(prefix="tessera-reproducer-", suffix=".mlir")
        os.close(handle)
    try:
        write_output(path, with_reproducer(ir, reproducer))
    except DiagnosticError as failure:
        return f"no reproducer: {failure.diagnostics[0].message}"
    command = " ".join(["tessera-opt --run-reproducer", *flags, path])
    return f"reproducer generated at `{path}`; repeat with {command}"


def use_color(choice: str) -> bool:
    """True if stderr is colored: "always", "never", or "auto" for a terminal (https://no-color.org)."""
    if choice != "auto":
        return choice == "always"
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def read_input(path: str) -> tuple[str, bytes]:
    """The file name for positions, and the bytes; `-` is stdin. Raises DiagnosticError if it cannot be read, or is
    larger than LARGEST_INPUT."""
    shown = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LARGEST_INPUT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LARGEST_INPUT + 1)
    except (OSError, ValueError) as failure:
        reason = (failure.strerror if isinstance(failure, OSError) else None) or str(failure)
        message = f"cannot open input file '{shown}': {reason[:1].lower()}{reason[1:]}"
        raise DiagnosticError(Diagnostic("error", None, message)) from None
    if len(data) > LARGEST_INPUT:
        message = f"input file '{shown}' is too large; at most {LARGEST_INPUT >> 20:,} MiB are supported"
        raise DiagnosticError(Diagnostic("error", None, message))
    return shown, data


def with_deep_stack(body: Callable[[], int]) -> int:
    """Call `body`; if it exceeds Python's recursion limit, call it again on a larger stack.

    `body` must not have effects before the recursion.
    """
    try:
        return body()
    except RecursionError:
        pass
    import threading

    outcome: list[int | BaseException] = []

    def call() -> None:
        try:
            outcome.append(body())
        except BaseException as failure:
            outcome.append(failure)

    limit, stack = sys.getrecursionlimit(), threading.stack_size(_DEEP_STACK)
    sys.setrecursionlimit(_DEEP_LIMIT)
    try:
        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(stack)
    (only,) = outcome
    if isinstance(only, BaseException):
        raise only
    return only


def boolean(options: OptionValues, key: str, default: bool) -> bool:
    """The value of an option that is true or false; `default` if it is not given. Raises DiagnosticError."""
    given = options[key]
    if given is None:
        return default
    if given.lower() not in ("true", "false", "1", "0"):
        raise error(None, f"--{key.replace('_', '-')} expects true or false, found '{given}'")
    return given.lower() in ("true", "1")


def start_seconds(begin: float) -> float:
    """The run time of this process at `begin` (time.perf_counter): loading Python and the command.

    In steps of 10 ms, from /proc; 0.0 if the system does not provide it, and for a command run in-process.
    """
    if sys.stdout is not sys.__stdout__:
        return 0.0
    try:
        with open("/proc/self/stat", "rb") as file:
            started = int(file.read().rsplit(b")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
        running = time.clock_gettime(time.CLOCK_BOOTTIME) - started
        return max(0.0, running - (time.perf_counter() - begin))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def usage_error(message: str) -> Exception:
    """click's error for a wrong command line."""
    import click

    return click.UsageError(message)


def normalize(
    argv: Sequence[str],
    values: Mapping[str, str | None],
    passes: Mapping[str, object],
    marker: str = "--run-pass",
) -> list[str]:
    """Convert arguments for click: MLIR's single dashes, optional values, and passes in order.

    values: option name → None if it requires a value, otherwise its value if given without one. A pass flag
    `--cse=…` becomes `marker=cse=…`. Raises click.UsageError, with a suggestion, for unknown options.
    """
    out: list[str] = []
    rest = iter(argv)
    inputs: list[int] = []
    """Indices in `out` of positional arguments."""
    values_perhaps: list[int] = []
    """Those right after an option whose optional value is omitted."""
    bare_at = -1
    for argument in rest:
        if argument == "--":
            out += [argument, *rest]
            break
        dashes = len(argument) - len(argument.lstrip("-"))
        name, equals, value = argument[dashes:].partition("=")
        if dashes == 0 or not name:
            if bare_at == len(out) - 1 >= 0:
                values_perhaps.append(len(out))
            inputs.append(len(out))
            out.append(argument)
        elif name in passes and dashes <= 2:
            out.append(f"{marker}={name}={value}" if equals else f"{marker}={name}")
        elif name in values and dashes <= 2:
            bare = values[name]
            prefix = "-" if len(name) == 1 else "--"
            if equals:
                out += [prefix + name, value] if len(name) == 1 else [f"--{name}={value}"]
            elif bare is not None:
                bare_at = len(out) if bare != "true" else -1
                out += [prefix + name, bare] if len(name) == 1 else [f"--{name}={bare}"]
            else:
                following = next(rest, None)
                if following is None:
                    raise usage_error(f"option '{prefix}{name}' requires a value")
                out += [prefix + name, following] if len(name) == 1 else [f"--{name}={following}"]
        elif dashes == 1 and name[0] in values and values[name[0]] is None:
            out += [argument[:2], argument[2:]]  # -O3, -oFILE
        else:
            raise usage_error(
                f"unknown option '{argument.partition('=')[0]}'{_suggest(name, values, passes)}"
            )
    if len(inputs) > 1:
        # There is one input, so an argument right after `--report` is its file.
        for place in reversed(values_perhaps[: len(inputs) - 1]):
            out[place - 1] = f"{out[place - 1].partition('=')[0]}={out.pop(place)}"
    return out


def _suggest(name: str, values: Mapping[str, object], passes: Mapping[str, object]) -> str:
    """A suggestion for an unknown option."""
    owners: list[str] = []
    if passes:
        from tessera_tools.passes.table import find_pass

        classes = ((row, find_pass(row)) for row in passes)
        owners = [row for row, cls in classes if cls and name in {entry.name for entry in cls.options()}]
    if owners:
        others = f" (also of {', '.join(f'--{owner}' for owner in owners[1:])})" if len(owners) > 1 else ""
        return f"; it is a pass option: --{owners[0]}='{name}=…'{others}"
    close = closest(name, [*values, *passes])
    return f"; did you mean '--{close}'?" if close else "; --help shows every option"


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, to_stderr: bool = False
) -> None:
    """A table: drawn by rich on a terminal, plain aligned text elsewhere."""
    stream = sys.stderr if to_stderr else sys.stdout
    if stream.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title or None, title_justify="left")
        for number, column in enumerate(columns):
            table.add_column(column, justify="right" if number and _numeric(rows, number) else "left")
        for row in rows:
            table.add_row(*row)
        Console(file=stream, no_color=bool(os.environ.get("NO_COLOR"))).print(table)
        return
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    text = f"{title}\n" if title else ""
    for row in (columns, *rows):
        cells = [
            cell.rjust(widths[i]) if i and _numeric(rows, i) else cell.ljust(widths[i])
            for i, cell in enumerate(row)
        ]
        text += "  ".join(cells).rstrip() + "\n"
    stream.write(text)


def _numeric(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(row[column].replace(",", "").replace(".", "").isdigit() for row in rows if row[column])


@contextlib.contextmanager
def progress(doing: Callable[[], str], after: float = 2.0) -> Iterator[None]:
    """On a terminal, a progress line on stderr after `after` seconds."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    done = threading.Event()
    begin = time.monotonic()

    def show() -> None:
        shown = False
        while not done.wait(after if not shown else 0.5):
            write_stderr(f"\r\x1b[K{doing()} ({time.monotonic() - begin:.0f} s)")
            shown = True
        if shown:
            write_stderr("\r\x1b[K")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
