"""The tests of `tessera-reduce`: whether a candidate still fails as the input does.

COMMAND, file ──run──▶ status, messages ──signature──▶ the same as that of the input?
              a command of Tessera tools runs in a copy of this process, which has loaded it
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.cli.common import guarded
from tessera_tools.diagnostics import error
from tessera_tools.emit.tunables import TUNABLES
from tessera_tools.process import Finished, run, run_forked, signal_name
from tessera_tools.runtime.arguments import BufferSpec, parse_argument
from tessera_tools.runtime.types import Array, Type

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["Test", "make_test"]

FINDING = 3
"""The exit status of tessera-run for findings."""
TOLERANCE = 0.01
MEMORY = 8 << 30
"""Bytes of address space of one test."""

_FAULT = re.compile(r"internal fault (?P<doing>in pass '[\w-]+'|while [\w ]+|[^:]*)[^:]*: (?P<what>\w+)")
_ERROR = re.compile(r"^(?:[^\n]*?[:;] )?error *: (?P<text>.*)$", re.MULTILINE)
"""Of our commands and MLIR, and of ptxas: `ptxas k.ptx, line 7; error   : …`."""
_WARNING = re.compile(r"^(?:[^\n]*?: )?warning: (?P<text>.*)$", re.MULTILINE)
_FOUND = re.compile(r"^[^\n:]+:\d+: (?P<severity>error|warning): (?P<kind>[\w -]+): ", re.MULTILINE)
_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|%[\w#]+|@\w+|\d+")
"""What differs between two messages of the same cause: names and numbers."""

Signature = Callable[[Finished], "str | None"]
"""What identifies the failure of a run; None if it does not fail so."""


class Test:
    """Decides whether a file is interesting."""

    def start(self, path: str) -> str:
        """Look at the input; returns what its failure is. Raises DiagnosticError if it does not fail."""
        raise NotImplementedError

    def fails(self, path: str) -> bool:
        """Whether a candidate fails as the input does."""
        raise NotImplementedError


def make_test(options: OptionValues, folder: str, seconds: float) -> Test:
    """The test that the options describe; it may use files in `folder`. Raises DiagnosticError."""
    command = list(options["rest"])
    if options["test"] is not None:
        if command or options["fails"]:
            raise error(None, "--test and a COMMAND that fails are two tests; use one of them")
        return _Script([options["test"], *options["test_arg"]], seconds)
    if not command:
        raise error(
            None,
            "there is no test of what is interesting",
            "expected --test=SCRIPT, or the command that fails: tessera-reduce FILE -- tessera-translate --mlir-to-ptx",
        )
    if options["fails"] == "wrong-result":
        return _WrongResult(command, options, folder, seconds)
    return _Same(command, options["fails"], options["message"], seconds)


class _Script(Test):
    """The script of --test: 0 is interesting, as for llvm-reduce."""

    def __init__(self, argv: list[str], seconds: float) -> None:
        self._argv = [os.path.abspath(argv[0]) if os.path.exists(argv[0]) else argv[0], *argv[1:]]
        self._seconds = seconds

    def start(self, path: str) -> str:
        if not self.fails(path):
            raise error(None, f"the test '{self._argv[0]}' does not return 0 for the input")
        return f"'{self._argv[0]}' finds it interesting"

    def fails(self, path: str) -> bool:
        return _run([*self._argv, path], self._seconds).succeeded


class _Same(Test):
    """A command that fails with the same signature."""

    def __init__(self, command: list[str], kind: str | None, message: str | None, seconds: float) -> None:
        self._command = command
        self._kind = kind
        self._message = _pattern(message)
        self._seconds = seconds
        self._signature = ""

    def start(self, path: str) -> str:
        done = self._run(path)
        for kind in [self._kind] if self._kind else _SIGNATURES:
            found = self._signature_of(done, kind)
            if found is not None:
                self._kind, self._signature = kind, found
                return f"{kind}: {found}"
        what = self._kind or "failure"
        note = done.text.strip().splitlines()
        raise error(None, f"the command shows no {what} for the input", *note[:1])

    def fails(self, path: str) -> bool:
        assert self._kind is not None
        return self._signature_of(self._run(path), self._kind) == self._signature

    def _run(self, path: str) -> Finished:
        return _run(_with_file(self._command, path), self._seconds)

    def _signature_of(self, done: Finished, kind: str) -> str | None:
        if self._message is None:
            return _SIGNATURES[kind](done)
        found = self._message.search(done.text)
        return None if found is None else f"a message matches '{self._message.pattern}'"


def _crash(done: Finished) -> str | None:
    if done.timed_out:
        return "the time limit of the test"
    if done.signal is not None:
        return signal_name(done.signal)
    found = _FAULT.search(done.text)
    if found is not None:
        return f"internal fault {found['doing']}: {found['what']}"
    if "Traceback (most recent call last)" in done.text or "PLEASE submit a bug report" in done.text:
        return "a crash"
    return None


def _same_message(pattern: re.Pattern[str]) -> Signature:
    def signature(done: Finished) -> str | None:
        found = pattern.search(done.text)
        return None if found is None else _DETAIL.sub("…", found["text"])

    return signature


def _finding(done: Finished) -> str | None:
    found = _FOUND.search(done.text)
    return None if found is None else f"{found['severity']}: {found['kind']}"


_SIGNATURES: dict[str, Signature] = {
    "crash": _crash,
    "finding": _finding,
    "error": _same_message(_ERROR),
    "warning": _same_message(_WARNING),
}
"""Each kind of failure; without --fails, the first one that the input shows."""


class _WrongResult(Test):
    """tessera-run leaves other buffers than a reference does."""

    def __init__(self, command: list[str], options: OptionValues, folder: str, seconds: float) -> None:
        if os.path.basename(command[0]) != "tessera-run":
            raise error(None, f"--fails=wrong-result compares runs of tessera-run, found '{command[0]}'")
        self._command = command
        self._seconds = seconds
        self._folder = folder
        self._tolerance = TOLERANCE if options["tolerance"] is None else options["tolerance"]
        self._buffers = _named_buffers(command)
        if not self._buffers:
            raise error(
                None, "the arguments name no buffer to compare", "name them, as in --arg a=rand:f32:64"
            )
        reference = options["reference"]
        self._reference = [*shlex.split(reference), *command[1:]] if reference else _simplest(command)

    def start(self, path: str) -> str:
        for side, command in self._sides():
            if self._leaves(command, path, side) is None:
                raise error(
                    None,
                    f"the command has no result for the input to compare: {shlex.join(command)}",
                    "expected a run that ends with status 0, of the command and of the reference",
                )
        found = self._difference(path)
        if found is None:
            raise error(None, "the results of the input and of the reference agree")
        return f"wrong-result: {found}"

    def fails(self, path: str) -> bool:
        return self._difference(path) is not None

    def _difference(self, path: str) -> str | None:
        """The first buffer that differs; None if none does, or if one of the programs fails."""
        left, right = (self._leaves(command, path, side) for side, command in self._sides())
        if left is None or right is None:
            return None
        for (name, type), a, b in zip(self._buffers, left, right, strict=True):
            if _differ(a, b, type, self._tolerance):
                return f"the buffer '{name}' differs"
        return None

    def _sides(self) -> list[tuple[str, list[str]]]:
        return [("found", self._command), ("reference", self._reference)]

    def _leaves(self, command: list[str], path: str, side: str) -> list[bytes] | None:
        """The buffers after a run, or None if it does not end with success."""
        files = [os.path.join(self._folder, f"{side}{n}.bin") for n in range(len(self._buffers))]
        outs = [f"--out={name}={file}" for (name, _), file in zip(self._buffers, files, strict=True)]
        if not _run(_with_file([*command, *outs], path), self._seconds).succeeded:
            return None
        return [_bytes(file) for file in files]


def _named_buffers(command: Sequence[str]) -> list[tuple[str, Type | None]]:
    """The names and types of the buffers of a command line of tessera-run."""
    found: list[tuple[str, Type | None]] = []
    words = iter(command[1:])
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if name == "arg" and word.startswith("-"):
            given = parse_argument(value if equals else next(words, ""))
            if isinstance(given, BufferSpec) and given.name:
                found.append((given.name, given.type))
    return found


def _simplest(command: Sequence[str]) -> list[str]:
    """The command, for the oldest GPU and in the simplest form of code."""
    dropped = {"abi", "gpu-name", "tuned", *(one.option for one in TUNABLES)}
    kept: list[str] = []
    words = iter(command)
    for word in words:
        name, equals, _ = word.lstrip("-").partition("=")
        if word.startswith("-") and name in dropped:
            if not equals:
                next(words, "")
            continue
        kept.append(word)
    return [*kept, "--gpu-name=sm_80", "--abi=plain", "--num-stages=1"]


def _differ(a: bytes, b: bytes, type: Type | None, tolerance: float) -> bool:
    if a == b:
        return False
    if type is None or type.kind != "f" or len(a) != len(b):
        return True
    x, y = (_values(raw, type) for raw in (a, b))
    with np.errstate(all="ignore"):
        finite = y[np.isfinite(y)]
        scale = float(np.abs(finite).max()) if finite.size else 0.0
        close = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tolerance * scale)
    return not bool(close.all())


def _values(raw: bytes, type: Type) -> Array:
    return np.asarray(type.decode(np.frombuffer(raw, type.storage)), np.float64)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# -- running


def _pattern(message: str | None) -> re.Pattern[str] | None:
    if message is None:
        return None
    try:
        return re.compile(message)
    except (re.error, RecursionError, OverflowError) as problem:
        raise error(None, f"--message: '{message}' is not a regular expression: {problem}") from None


def _with_file(command: Sequence[str], path: str) -> list[str]:
    if any("%s" in word for word in command[1:]):
        return [command[0], *(word.replace("%s", path) for word in command[1:])]
    return [*command, path]


_OURS = {"tessera-opt": "opt", "tessera-run": "run", "tessera-translate": "translate"}


def _run(command: Sequence[str], seconds: float) -> Finished:
    """Run a command. Raises DiagnosticError if it cannot be started."""
    ours = _OURS.get(command[0])
    if ours is not None:
        execute = importlib.import_module(f"tessera_tools.cli.{ours}").execute

        def body() -> int:
            _limit()
            os.environ["TESSERA_CACHE_LIMIT"] = "0"
            return guarded(lambda: execute(list(command[1:])))

        return run_forked(body, time_limit=seconds)
    try:
        return run([shutil.which(command[0]) or command[0], *command[1:]], time_limit=seconds)
    except OSError as failure:
        raise error(
            None, f"cannot run '{command[0]}': {(failure.strerror or str(failure)).lower()}"
        ) from None


def _limit() -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
