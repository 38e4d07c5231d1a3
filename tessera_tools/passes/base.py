"""The base of passes: a frozen dataclass whose fields are its command-line options. A pass without options inherits
the generated methods, which take a millisecond to generate, and has no decorator.

    @dataclass(frozen=True)
    class Canonicalize(Pass):
        '''Fold, and apply every dialect's canonicalization patterns, until nothing changes.'''

        name: ClassVar = "canonicalize"
        summary: ClassVar = "fold, simplify, and erase dead ops"
        top_down: bool = option(True, "visit operations from the top")

        def run(self, op: Operation, context: PassContext) -> bool | None: ...

    "canonicalize{top-down=false}" ─read_options()─▶ Canonicalize(top_down=False) ─text()─▶ the same text

A pass fails by raising `DiagnosticError` (`op.error(…)`, `PassFailure`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tessera_tools.diagnostics import (
    Diagnostic,
    DiagnosticError,
    HasStart,
    InternalFault,
    Remark,
    closest,
    emit,
)
from tessera_tools.records import dataclass, field, fields

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation
    from tessera_tools.target import Target

__all__ = ["OptionError", "Pass", "PassContext", "PassFailure", "option"]


class PassFailure(DiagnosticError):
    """A pass cannot process this input; the message has the reason."""

    def __init__(self, message: str, location: HasStart | None = None, *notes: str) -> None:
        diagnostic = Diagnostic("error", location, message)
        for note in notes:
            diagnostic.note(note)
        super().__init__(diagnostic)


class OptionError(ValueError):
    """An unknown option of a pass, or an invalid value.

    `name` is the option as written.
    """

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


def option(default: Any, summary: str, *, choices: tuple[str, ...] = (), writes_file: bool = False) -> Any:
    """A dataclass field that is a command-line option.

    The option has the type of `default` (bool, int, str, or a tuple of str for a comma-separated list).
    `choices` are the valid values of a str option. One that `writes_file` is the path of a file to write. On the
    command line, a trailing underscore of the field's name is dropped, and other underscores become hyphens.
    """
    return field(
        default=default, metadata={"summary": summary, "choices": choices, "writes_file": writes_file}
    )


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """One option of a pass class, as `--list-passes` shows it."""

    name: str
    field: str
    default: Any
    summary: str
    choices: tuple[str, ...]
    writes_file: bool

    def read(self, text: str) -> Any:
        """The value of `text`. Raises OptionError."""
        if isinstance(self.default, bool):
            values = {"": True, "true": True, "1": True, "false": False, "0": False}
            if text.lower() not in values:
                raise OptionError(f"option '{self.name}' expects true or false, found '{text}'", self.name)
            return values[text.lower()]
        if isinstance(self.default, int):
            try:
                return int(text, 0)
            except ValueError:
                raise OptionError(
                    f"option '{self.name}' expects an integer, found '{text}'", self.name
                ) from None
        if isinstance(self.default, tuple):
            return tuple(part.strip() for part in text.split(",") if part.strip())
        if self.choices and text not in self.choices:
            known = ", ".join(self.choices)
            raise OptionError(f"option '{self.name}' expects one of {known}; found '{text}'", self.name)
        return text

    def write(self, value: Any) -> str:
        """The text that `read` parses to `value`."""
        if isinstance(value, bool):
            return str(value).lower()
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        needs_quotes = text == "" or any(char in " \t'\"{}" for char in text)
        return f"{{{text}}}" if needs_quotes else text


@dataclass(frozen=True, slots=True)
class Measured:
    """The resources of a compiled kernel: registers per thread, spilled bytes per thread, shared memory of a block in
    bytes."""

    registers: int
    spilled: int
    shared: int


Measure = Callable[["Operation", "Target"], Mapping[str, Measured]]
"""Compiles a copy of a module; returns the resources of the kernels that could be compiled, by name."""


def measure_nothing(module: Operation, target: Target) -> Mapping[str, Measured]:
    """Used if there is no back end."""
    return {}


def run_no_pipeline(text: str, op: Operation) -> bool:
    """Where there is no pass manager."""
    raise InternalFault(Diagnostic("error", op.location, f"no pass manager can run the pipeline '{text}'"))


class PassContext:
    """The context of one run of a pass.

    counters: the pass's statistics, by name. `count` adds to one.
    measure: returns the resources of compiled kernels.
    explains: the user requested remarks; passes then explain their decisions.
    source: the name of the pass, for remarks.
    """

    __slots__ = ("_runner", "counters", "explains", "measure", "source")

    def __init__(
        self,
        counters: Counter[str] | None = None,
        runner: Callable[[str, Operation], bool] = run_no_pipeline,
        measure: Measure = measure_nothing,
        *,
        explains: bool = False,
        source: str = "",
    ) -> None:
        self.source = source
        self.counters: Counter[str] = Counter() if counters is None else counters
        self._runner = runner
        self.measure = measure
        self.explains = explains

    def count(self, name: str, amount: int = 1) -> None:
        """Increment a statistic that the pass class declares."""
        self.counters[name] += amount

    def remark(
        self,
        location: HasStart | None,
        message: str,
        *,
        source: str = "",
        rule: str = "",
        category: str = "",
        function: str = "",
        kind: str = "analysis",
        notes: Sequence[str] = (),
        on_request: bool = False,
    ) -> Diagnostic:
        """Emit a remark: what was done, what was missed and why, or an analysis; see `Remark` for the parameters."""
        remark = Remark("remark", location, message)
        remark.source, remark.rule, remark.category = source or self.source, rule, category
        remark.function, remark.kind, remark.on_request = function, kind, on_request
        for note in notes:
            remark.note(note)
        return emit(remark)

    def passed(
        self,
        op: Operation,
        message: str,
        rule: str,
        category: str,
        *notes: str,
        function: Operation | None = None,
    ) -> None:
        """If remarks are requested: a decision for an op, and the reason. `function`: for an op that is erased."""
        self._explain(op, message, rule, category, "passed", notes, function)

    def missed(
        self,
        op: Operation,
        message: str,
        rule: str,
        category: str,
        *notes: str,
        function: Operation | None = None,
    ) -> None:
        """If remarks are requested: what was not done for an op, and the reason."""
        self._explain(op, message, rule, category, "missed", notes, function)

    def failed(
        self,
        op: Operation,
        message: str,
        rule: str,
        category: str,
        *notes: str,
        function: Operation | None = None,
    ) -> None:
        """If remarks are requested: what this pass has tried, or the author has asked for, and why it is not possible.
        What was not tried, because a rule or its price speaks against it, is missed."""
        self._explain(op, message, rule, category, "failed", notes, function)

    def analyzed(self, op: Operation, message: str, rule: str, category: str, *notes: str) -> None:
        """If remarks are requested: a fact about an op."""
        self._explain(op, message, rule, category, "analysis", notes, None)

    def _explain(
        self,
        op: Operation,
        message: str,
        rule: str,
        category: str,
        kind: str,
        notes: Sequence[str],
        function: Operation | None,
    ) -> None:
        if self.explains:
            from tessera_tools.ir.symbols import enclosing_name

            name = enclosing_name(op if function is None else function)
            self.remark(
                op.location,
                message,
                rule=rule,
                category=category,
                function=name,
                kind=kind,
                notes=notes,
                on_request=True,
            )

    def run_pipeline(self, text: str, op: Operation) -> bool:
        """Run a pipeline on `op`, a descendant of the pass's op, with the same instrumentation. False means no change.

        `text` is the text between the parentheses: `canonicalize,cse`.
        """
        return self._runner(text, op)


@dataclass(frozen=True)
class Pass:
    """The base of passes."""

    name: ClassVar[str] = ""
    """The command-line flag, and the name in a pipeline's text."""
    title: ClassVar[str] = ""
    """The name in IR dumps and timing reports: MLIR's class name if MLIR has the pass, otherwise `name`."""
    summary: ClassVar[str] = ""
    """One line, without a full stop."""
    anchor: ClassVar[str | None] = None
    """The name of the op that the pass runs on, or None for any op."""
    requires: ClassVar[str] = ""
    """The precondition of the pass; "" if the verifier checks all of it."""
    ensures: ClassVar[str] = ""
    """The postcondition of the pass."""
    statistics: ClassVar[Mapping[str, str]] = {}
    """Counter name → description."""

    def run(self, op: Operation, context: PassContext) -> bool | None:
        """Transform `op` in place. False means no change; None means a possible change.

        Raises DiagnosticError if the transformation is not possible.
        """
        raise AssertionError(f"{type(self).__name__} has no summary")

    @classmethod
    def options(cls) -> Iterator[OptionInfo]:
        """The options in declaration order."""
        for entry in fields(cls):
            yield OptionInfo(
                entry.name.rstrip("_").replace("_", "-"),
                entry.name,
                entry.default,
                entry.metadata.get("summary", ""),
                entry.metadata.get("choices", ()),
                entry.metadata.get("writes_file", False),
            )

    @classmethod
    def with_options(cls, given: Mapping[str, str]) -> Self:
        """The pass with options from text. Raises OptionError, with a suggestion, for an unknown option or value."""
        known = {entry.name: entry for entry in cls.options()}
        values: dict[str, Any] = {}
        for name, text in given.items():
            entry = known.get(name)
            if entry is None:
                raise OptionError(_no_such_option(cls.name, name, list(known)), name)
            values[entry.field] = entry.read(text)
        return cls(**values)

    def text(self) -> str:
        """The text of the pass in a pipeline, with all its options: `cse`, `canonicalize{top-down=true}`."""
        given = " ".join(f"{o.name}={o.write(getattr(self, o.field))}" for o in type(self).options())
        return f"{self.name}{{{given}}}" if given else self.name

    @property
    def shown(self) -> str:
        """The name of the pass in dumps and reports."""
        return self.title or self.name


def _no_such_option(pass_name: str, name: str, known: list[str]) -> str:
    if not known:
        return f"pass '{pass_name}' takes no options, found '{name}'"
    close = closest(name, known)
    hint = f"did you mean '{close}'?" if close else f"expected one of {', '.join(known)}"
    return f"pass '{pass_name}' has no option '{name}'; {hint}"
