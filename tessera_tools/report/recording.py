"""What a compilation did, recorded for a report.

pass manager ──Recorder (an observer)──▶ times, diffs, each stage, layouts, shared memory
module or text ──record_module(), record_text()──▶ the same, with PTX, SASS, resources and remarks
"""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tessera_tools.diagnostics import Diagnostic, Remark, collect, emit
from tessera_tools.emit.compiled import Compiled, Options
from tessera_tools.passes.charts import Chart, recording_charts
from tessera_tools.passes.stages import ENDS
from tessera_tools.records import dataclass, field, replace
from tessera_tools.report.layouts import ValueLayout, layouts_of, names_of
from tessera_tools.report.lines import Lines, key_of, lines_of_text, printed, source_lines
from tessera_tools.target import occupancy

if TYPE_CHECKING:
    from tessera_tools.emit.manifest import Manifest
    from tessera_tools.ir.core import Operation
    from tessera_tools.passes.base import Pass
    from tessera_tools.passes.manager import Observer

__all__ = [
    "MemoryUse",
    "PassRun",
    "Recorder",
    "Recording",
    "RemarkAt",
    "add_python",
    "complete",
    "record_module",
    "record_text",
    "recorded",
]

MOST_DIFF_LINES = 400
"""Lines of one diff; the rest is counted."""
MOST_COMPARED = 4000
"""Lines of a module beyond which its passes are not compared."""
MOST_PRINTED = 48 << 20
"""Characters that all dumps of a run may have together."""


@dataclass(slots=True)
class PassRun:
    """One run of a pass. `diff` are unified lines; `note` says why it is incomplete or missing."""

    name: str
    shown: str
    seconds: float
    changed: bool
    diff: list[str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of shared memory from `first` to `last`, which are positions in the walk of a kernel."""

    kernel: str
    what: str
    place: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RemarkAt:
    """A remark or warning. `key` is its `file:line` in the source."""

    kind: str
    category: str
    source: str
    message: str
    notes: tuple[str, ...]
    key: str


@dataclass
class Recording:
    """Everything that a report shows of a compilation. Stages are in order."""

    name: str
    target: str = ""
    stages: dict[str, Lines] = field(default_factory=dict[str, Lines])
    passes: list[PassRun] = field(default_factory=list[PassRun])
    layouts: list[ValueLayout] = field(default_factory=list[ValueLayout])
    memory: list[MemoryUse] = field(default_factory=list[MemoryUse])
    positions: dict[str, int] = field(default_factory=dict[str, int])
    """The length of the walk of each kernel."""
    charts: list[Chart] = field(default_factory=list[Chart])
    remarks: list[RemarkAt] = field(default_factory=list[RemarkAt])
    resources: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    left_out: list[str] = field(default_factory=list[str])
    manifest: Manifest | None = None
    """How the kernels are launched."""


class Recorder:
    """Observes the passes of one run, and fills a Recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._aliases: dict[str, str] = {}
        self._last: Lines | None = None
        self._began: list[float] = []
        self._printed = 0
        self._lowers = False
        """Set after nv_tileas: what follows is the stage llvm, which begins with ops of both."""

    def before(self, pass_: Pass, op: Operation) -> None:
        module = _root(op)
        if self._last is None:
            self._keep(module)
        if pass_.name in ENDS:
            self._read_kernels(module)
            self._lowers = True
        self._began.append(time.perf_counter())

    def after(self, pass_: Pass, op: Operation) -> None:
        seconds = time.perf_counter() - self._began.pop()
        before = self._last or Lines()
        if self._printed > MOST_PRINTED:
            run = PassRun(
                pass_.name, pass_.shown, seconds, True, [], "not compared: the program is too large"
            )
            self.recording.passes.append(run)
            return
        now = self._keep(_root(op))
        changed = now.texts != before.texts
        diff, note = _diff(before.texts, now.texts) if changed else ([], "")
        self.recording.passes.append(PassRun(pass_.name, pass_.shown, seconds, changed, diff, note))

    def failed(self, pass_: Pass, op: Operation) -> None:
        if self._began:
            self._began.pop()

    def finish(self, module: Operation) -> None:
        """Record the module after the last pass."""
        self._keep(module)
        if not self.recording.layouts:
            self._read_kernels(module)

    def _keep(self, module: Operation) -> Lines:
        now = printed(module, self._aliases)
        self._printed += sum(map(len, now.texts))
        self._last = now
        stage = "llvm" if self._lowers else _stage_of(module)
        self.recording.stages.pop(
            stage, None
        )  # the last text of a stage; stages in the order of their last texts
        self.recording.stages[stage] = now
        return now

    def _read_kernels(self, module: Operation) -> None:
        """The layouts and the shared memory of a module in nv_tileas."""
        from tessera_tools.diagnostics import DiagnosticError, Refusal
        from tessera_tools.emit.driver import declared_target
        from tessera_tools.ir.symbols import symbol_name
        from tessera_tools.planning.shared_memory import lives_of, recorded
        from tessera_tools.target import lookup

        names = names_of(module)
        self.recording.layouts = layouts_of(module, names)
        declared = declared_target(module)
        if declared is None:
            return
        target = lookup(declared)
        for function in module.walk():
            if function.name != "nv_tileaa.func":
                continue
            kernel = symbol_name(function) or ""
            try:
                places = recorded(function, target).offsets
                lives = lives_of(function, target)
            except (DiagnosticError, Refusal):
                continue  # a module before tileas-insert-barriers has no places yet
            self.recording.positions[kernel] = sum(1 for _ in function.walk())
            for life in lives:
                value = names.get(life.op.results[0], "") if life.op.results else ""
                what = f"{value} {life.need.what}".strip()
                where = key_of(life.op.location)
                self.recording.memory.append(
                    MemoryUse(kernel, what, where, places[life.op], life.bytes, life.first, life.last)
                )


def _stage_of(module: Operation) -> str:
    """The stage of a module. One in nv_tileas still has ops of nv_tileaa, such as its functions."""
    from tessera_tools.emit.driver import stage_of

    stage = stage_of(module)
    if stage == "nv_tileaa" and any(op.name.startswith("nv_tileas.") for op in module.walk()):
        return "nv_tileas"
    return stage


def _root(op: Operation) -> Operation:
    while op.parent_op is not None:
        op = op.parent_op
    return op


def _diff(before: list[str], now: list[str]) -> tuple[list[str], str]:
    if max(len(before), len(now)) > MOST_COMPARED:
        return [], f"not compared: more than {MOST_COMPARED} lines"
    lines = list(difflib.unified_diff(before, now, n=2, lineterm=""))[2:]
    if len(lines) > MOST_DIFF_LINES:
        return lines[:MOST_DIFF_LINES], f"{len(lines) - MOST_DIFF_LINES} more lines"
    return lines, ""


def remark_of(diagnostic: Diagnostic) -> RemarkAt:
    """A remark or warning as the report shows it."""
    kind, category, source = diagnostic.severity, "", ""
    if isinstance(diagnostic, Remark):
        kind, category, source = diagnostic.kind, diagnostic.category, diagnostic.source
    notes = tuple(note.message for note in diagnostic.notes)
    return RemarkAt(kind, category, source, diagnostic.message, notes, key_of(diagnostic.location))


@contextmanager
def recorded(recording: Recording, module: Operation, source: str | None) -> Iterator[Recorder]:
    """Record the passes that run inside the `with` block with the Recorder as an observer; after an error, what ran.

    source: the text of the module, if its locations refer to it.
    """
    recorder = Recorder(recording)
    with recording_charts() as charts:
        try:
            yield recorder
            recorder.finish(module)
        finally:
            recording.charts = charts
            add_source(recording, source)


def record_module(
    module: Operation,
    recording: Recording,
    options: Options,
    source: str | None = None,
    *,
    compile: Callable[[Observer], Compiled] | None = None,
    add_code: bool = True,
) -> Compiled:
    """Compile IR, and record what happens; the module is changed in place.

    recording: a new one, with the name of the input. options: as for a compilation to PTX, with the target; what they
    ask for besides is ignored. source: the text of the input, if its locations refer to it. compile: compiles the
    module for a purpose of its own, with `options` that explain and with this observer; remarks and warnings are told
    then, too. add_code: also record PTX, SASS and resources (`complete`). Lines come from its
    code if it has them. Otherwise LLVM runs once more, on the lowered module.
    Raises DiagnosticError as the compilation does; the recording has what happened before. A missing ptxas or nvdisasm
    only leaves out what it makes.
    """
    from tessera_tools.emit.driver import compile_module

    asked = _asked(options)
    with (
        _remarked(recording, options, tell=compile is not None),
        recorded(recording, module, source) as recorder,
    ):
        made = compile_module(module, asked, observers=(recorder,)) if compile is None else compile(recorder)
    if not add_code:
        return made
    lined = made
    if compile is not None and not (options.lineinfo and "ptx" in made.stages):
        lined = compile_module(module, replace(asked, explains=False))
    complete(recording, lined, options)
    return made


def record_text(
    text: str, kind: str, recording: Recording, options: Options, *, made: Compiled | None = None
) -> None:
    """As `record_module`, of LLVM IR (`llvmir`) or PTX (`ptx`). made: the result of its compilation, if it has PTX."""
    from tessera_tools.emit.driver import compile_text

    recording.target = options.target.cpu
    if made is None:
        with _remarked(recording, options):
            made = compile_text(text, kind, _asked(options), name=recording.name)
    made = replace(made, stages={kind: text, **made.stages})
    complete(recording, made, options)
    if kind == "ptx" and not any(recording.stages["ptx"].keys):
        recording.stages["ptx"] = source_lines(text, recording.name)


@contextmanager
def _remarked(recording: Recording, options: Options, tell: bool = False) -> Iterator[None]:
    """Record the target, and the remarks and warnings; `tell` passes these on."""
    recording.target = options.target.cpu
    told: list[Diagnostic] = []
    try:
        with collect() as told:
            yield
    finally:
        recording.remarks = [remark_of(one) for one in told]
        for one in told if tell else ():
            emit(one)


def add_source(recording: Recording, source: str | None) -> None:
    """Show the text of the input in place of its first stage."""
    if source is None or not recording.stages:
        return
    first, *rest = recording.stages
    recording.stages = {
        first: source_lines(source, recording.name),
        **{stage: recording.stages[stage] for stage in rest},
    }


def add_python(recording: Recording, text: str) -> None:
    """Show the lines of a Python file that the program comes from before the first stage. text: the whole file."""
    found = source_lines(text, recording.name)
    known = set(found.keys)
    places = {key for lines in recording.stages.values() for key in lines.keys if key in known}
    if not places:
        return
    numbers = [found.numbers[found.keys.index(key)] for key in places]
    first, last = max(min(numbers) - 2, 0), max(numbers)
    shown = Lines(found.texts[first:last], found.keys[first:last], found.numbers[first:last])
    recording.stages = {"python": shown, **recording.stages}


def _asked(options: Options) -> Options:
    return replace(options, until="ptx", lineinfo=True, debug_info=False, explains=True, all_stages=False)


def complete(recording: Recording, made: Compiled, options: Options) -> None:
    """Add the code and the resources to what was recorded of the passes."""
    recording.manifest = made.manifest
    names = {
        os.path.basename(recording.name): recording.name,
        os.path.abspath(recording.name): recording.name,
    }
    for stage in ("llvmir", "ptx"):
        if stage in made.stages:
            recording.stages[stage] = lines_of_text(stage, made.text(stage), names)
    _assemble(recording, made, options, names)


def _assemble(recording: Recording, made: Compiled, options: Options, names: dict[str, str]) -> None:
    from tessera_tools.emit.driver import compile_text
    from tessera_tools.emit.errors import ToolError

    ptx = made.text("ptx")
    report, manifest = made.report, made.manifest
    for until in ("sass", "cubin"):  # without nvdisasm, ptxas still tells the resources
        try:
            asked = replace(_asked(options), until=until, explains=False)
            code = compile_text(ptx, "ptx", asked, name=recording.name)
        except ToolError as failure:
            if report is not None and until == "cubin":
                break
            recording.left_out.append(f"{until}: {failure.message}")
            continue
        report = code.report
        if until == "sass":
            recording.stages["sass"] = lines_of_text("sass", code.text("sass"), names)
        break
    if report is None or manifest is None:
        return
    for kernel in manifest.kernels:
        used = report.entries.get(kernel.name)
        if used is None:
            continue
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        shared = used.shared + kernel.dynamic_shared
        row: dict[str, Any] = {
            "kernel": kernel.name, "threads": threads, "registers": used.registers, "shared": shared,
            "stack": used.stack, "spills": used.spill_stores + used.spill_loads,
            "most registers": options.target.max_registers_per_thread,
            "most shared": options.target.max_shared_per_block,
        }  # fmt: skip
        if threads > 1:
            fits = occupancy(options.target, threads=threads, registers=used.registers, shared=shared)
            row |= {"blocks": fits.blocks, "occupancy": fits.fraction, "limits": fits.limits}
            row["limited by"] = list(fits.limited_by)
        recording.resources.append(row)
