"""One run of `tessera-opt`, after its options are parsed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TextIO, TypeVar

from tessera_tools.api.inputs import is_binary, parse_input
from tessera_tools.cli.common import (
    FAILED,
    internal_fault,
    progress,
    read_input,
    report,
    start_seconds,
    use_color,
    write_reproducer,
)
from tessera_tools.cli.inspection import Inspection
from tessera_tools.cli.remarks import Remarks
from tessera_tools.diagnostics import (
    Diagnostic,
    DiagnosticError,
    InternalFault,
    Position,
    Sources,
    error,
    sink,
)
from tessera_tools.emit.files import write_output
from tessera_tools.ir.core import Operation
from tessera_tools.ir.resources import External
from tessera_tools.parser.source import Chunk, split_input
from tessera_tools.passes.base import Measured, OptionError, Pass
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.order import order_violations
from tessera_tools.passes.pipeline import SOURCE, Pipeline, make_pass, parse_options, parse_pipeline
from tessera_tools.passes.reproducer import ENTRY, Reproducer, find_reproducer
from tessera_tools.passes.timing import Timing
from tessera_tools.target import Target

T = TypeVar("T")

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.parser import ParseOptions
    from tessera_tools.passes.manager import Observer
    from tessera_tools.report import Recording, ValueLayout

__all__ = ["Session"]


class Session:
    """The execution of one command line. `options` are click's; `begin` is the start time of the command."""

    def __init__(self, options: OptionValues, begin: float) -> None:
        self.options = options
        self.timing = Timing(begin)
        if options["mlir_timing"]:
            self.timing.started(start_seconds(begin), begin)
        self.inspection = Inspection(options, self.timing, self._does)
        self.sources = Sources()
        self.color = use_color(options["color"] or "auto")
        self.failed = False
        self.doing = "reading"
        self.remarks = Remarks.of(options)
        self._input: tuple[str, bytes] | None = None
        self._recording: Recording | None = None
        self._page: str | None = None
        self._layouts: list[list[ValueLayout]] = []  # of each chunk
        self.source_text = ""
        self._external: External = {}
        self.input_name = ""

    def _does(self, what: str | None) -> None:
        self.doing = what or self.doing

    def run(self) -> int:
        """Run it; returns the exit status."""
        self.failed = False
        with progress(lambda: self.doing):
            try:
                with self._dialects_of_file():
                    return self._run()
            except DiagnosticError as failure:
                report(failure.diagnostics, self.sources, self.color)
                return FAILED

    @contextlib.contextmanager
    def _dialects_of_file(self) -> Iterator[None]:
        """With the dialects of each --irdl-file. Raises DiagnosticError."""
        if not self.options["irdl_file"]:
            yield
            return
        from tessera_tools.dialects.irdl.loading import dialects_of
        from tessera_tools.opdef.dialect import loaded_dialects

        with contextlib.ExitStack() as stack:
            for path in self.options["irdl_file"]:
                name, data = read_input(path)
                if not is_binary(data):
                    self.sources.add(name, data.decode("utf-8", "replace"))
                definitions = parse_input(data, name)
                _verify(definitions)
                stack.enter_context(loaded_dialects(dialects_of(definitions)))
            yield

    def _run(self) -> int:
        options = self.options
        self.inspection.check()
        if options["report"] is not None and (options["split_input_file"] or options["verify_diagnostics"]):
            raise _plain(
                "--report is of one module; it cannot be combined with --split-input-file or --verify-diagnostics"
            )
        self._check_output()
        pipeline = self._pipeline()
        name, data = self._read()
        self.input_name = name
        text: str | None = None
        if not is_binary(data):
            with contextlib.suppress(UnicodeDecodeError):
                text = data.decode("utf-8")
        if not is_binary(data):
            self.sources.add(name, data.decode("utf-8", "replace") if text is None else text)
        reproducer = None
        if text is not None:
            reproducer = find_reproducer(text, name)
        if options["run_reproducer"]:
            if reproducer is None:
                message = "the input has no reproducer; expected `{-# … mlir_reproducer … #-}`"
                raise error(Position(name, 1, 1), message)
            self.sources.add(SOURCE, reproducer.pipeline)
            pipeline = parse_pipeline(reproducer.pipeline)
            if options["verify_each"] is None:
                options["verify_each"] = str(reproducer.verify_each).lower()
        for broken in order_violations([p.name for p in pipeline.passes()]):
            report([Diagnostic("warning", None, broken)], self.sources, self.color)
        if options["tessera_pipeline"] is None:
            self.inspection.starts(pipeline, self._source_of(text))
        marker = options["split_input_file"]
        outputs: list[bytes] = []
        chunks: list[Chunk | bytes]
        if text is None:
            chunks = [data]
        else:
            chunks = list(split_input(text, marker)) if marker else [Chunk(text, 1)]
        for chunk in chunks:
            outputs.append(self._chunk(chunk, name, pipeline))
        if options["emit_bytecode"] and len(outputs) > 1:
            raise _plain(
                f"the input has {len(outputs)} chunks, but a file of bytecode has one module",
                "write text, or split the file first",
            )
        if not self.failed or len(outputs) > 1:
            with self.timing.scope("Output"):
                between = marker if options["output_split_marker"] is None else options["output_split_marker"]
                self._write(f"\n{between}\n".encode().join(outputs))
        self.remarks.write(self.sources)
        self.inspection.report()
        return FAILED if self.failed else 0

    def _check_output(self) -> None:
        """Options of bytecode belong to `--emit-bytecode`, and bytecode does not belong in a terminal."""
        options = self.options
        if not options["emit_bytecode"]:
            if options["emit_bytecode_version"] is not None:
                raise _plain("bytecode version while not emitting bytecode", "add --emit-bytecode")
            if options["elide_resource_data_from_bytecode"]:
                raise _plain(
                    "--elide-resource-data-from-bytecode is an option of bytecode, and the output is text",
                    "add --emit-bytecode, or use --mlir-elide-resource-strings-if-larger=N",
                )
            return
        if (options["output"] or "-") == "-" and not options["f"] and _stdout().isatty():
            raise _plain(
                "refusing to write bytecode to a terminal", "specify an output file with -o, or use -f"
            )

    def _write(self, data: bytes) -> None:
        output = self.options["output"] or "-"
        if self._page is not None and not self.failed:
            write_output(self.options["report"], self._page)
        # A file is written only if all chunks succeed; stdout shows the successful chunks.
        pictures = self.options["show_layout"] is not None
        if (output == "-" and not pictures) or (output != "-" and not self.failed):
            write_output(output, data)
        if pictures:  # after the files: the reader of the pictures may close the pipe
            from tessera_tools.cli.pictures import print_layouts

            for found in self._layouts:
                print_layouts(found, self.options["color"] or "auto")

    def _read(self) -> tuple[str, bytes]:
        """The input, read once: stdin would be empty in a second attempt on a larger stack."""
        if self._input is None:
            self._input = read_input(self.options["input"])
        return self._input

    # -- the pipeline

    def _pipeline(self) -> Pipeline:
        """From `--pass-pipeline` or from pass flags. Raises DiagnosticError."""
        text, flags = self.options["pass_pipeline"], self.options["run_pass"]
        if self.options["to"] is not None and self.options["tessera_pipeline"] is None:
            self.options["tessera_pipeline"] = ""
        if self.options["tessera_pipeline"] is not None and (text is not None or flags):
            raise _plain(
                "--tessera-pipeline and --to cannot be combined with other passes",
                "run the command on its output for further passes",
            )
        if text is not None:
            if flags:
                raise _plain(
                    "--pass-pipeline and individual pass options cannot be combined",
                    "put all passes in the pipeline",
                )
            self.sources.add(SOURCE, text)
            return parse_pipeline(text)
        pipeline = Pipeline("builtin.module")
        for flag in flags:
            name, _, given = flag.partition("=")
            try:
                made = make_pass(name, parse_options(given))
            except OptionError as failure:
                raise _plain(str(failure)) from None
            assert made is not None
            pipeline.add(made)
        return pipeline

    def _target_pipeline(self, module: Operation) -> Pipeline:
        """The pipeline of --tessera-pipeline for this module; the target is written on the module."""
        from tessera_tools.cli.target_pipeline import target_pipeline

        pipeline = target_pipeline(
            module, self.options["tessera_pipeline"], self.options["to"], self.inspection.verify_each
        )
        self.inspection.starts(pipeline, self._source)
        return pipeline

    # -- one chunk

    def _chunk(self, chunk: Chunk | bytes, name: str, pipeline: Pipeline) -> bytes:
        """Process one chunk; returns its output, empty if it failed."""
        which = self.options["verify_diagnostics"]
        reported: list[Diagnostic] = []

        def hear(diagnostic: Diagnostic) -> None:
            if which:
                reported.append(diagnostic)
            elif self._recording is not None:
                from tessera_tools.report import remark_of

                self._recording.remarks.append(remark_of(diagnostic))
                if not self.remarks.take(diagnostic) and diagnostic.severity != "remark":
                    report([diagnostic], self.sources, self.color)
            elif not self.remarks.take(diagnostic):
                report([diagnostic], self.sources, self.color)

        made = b""
        failed = False
        with sink(hear):
            try:
                made = self._process(chunk, name, pipeline)
            except DiagnosticError as failure:
                failed = True
                if which and not isinstance(failure, InternalFault):
                    reported += failure.diagnostics
                else:
                    report(failure.diagnostics, self.sources, self.color)
        if which:
            from tessera_tools.cli.expected import check

            part = Chunk("", 1) if isinstance(chunk, bytes) else chunk
            only = which == "only-expected"
            wrong = check(reported, name, part.text, first_line=part.first_line, only_expected=only)
            report(wrong, self.sources, self.color)
            failed = bool(wrong)
        self.failed |= failed
        return made

    def _process(self, chunk: Chunk | bytes, name: str, pipeline: Pipeline) -> bytes:
        options = self.options
        self.source_text = "" if isinstance(chunk, bytes) else chunk.text
        with self.timing.scope("Parser"):
            self.doing = "parsing"
            module = self._guard("while parsing", lambda: self._parse(chunk, name))
            self.doing = "verifying"
            self._guard("while verifying", lambda: _verify(module))
            if options["wunsupported_hints"]:
                _check_hints(module, options["werr_hints"])
        if options["verify_roundtrip"]:
            self.doing = "verifying the round trip"
            self._guard("while verifying the round trip", lambda: self._check_round_trip(module))
        if options["tessera_pipeline"] is not None:
            pipeline = self._target_pipeline(module)
        if options["report"] is not None:
            self._run_recorded(pipeline, module, name)
        elif pipeline.items:
            self._run_passes(pipeline, module)
        with self.timing.scope("Output"):
            self.doing = "printing"
            made = self._guard("while printing", lambda: self._output(module))
            if options["view_op_graph"] is not None:
                from tessera_tools.cli.pictures import write_graph

                write_graph(module, options["view_op_graph"])
            if options["show_layout"] is not None:
                from tessera_tools.cli.pictures import find_layouts

                self._layouts.append(find_layouts(module, options["show_layout"]))
        return made

    def _output(self, module: Operation) -> bytes:
        """The module as text, or as bytecode."""
        if self.options["emit_bytecode"]:
            from tessera_tools.mlir_bytecode import VERSION, write_mlir_bytecode

            given = self.options["emit_bytecode_version"]
            return write_mlir_bytecode(
                module,
                VERSION if given is None else given,
                elide_resources=self.options["elide_resource_data_from_bytecode"],
                external=self._external,
            )
        from tessera_tools.ir.printing import print_op

        text = print_op(module, style=self.inspection.style, external=self._external)
        return f"{text.removesuffix(chr(10))}\n".encode("utf-8", "surrogateescape")

    def _parse(self, chunk: Chunk | bytes, name: str) -> Operation:
        """The module of a chunk. What other tools left in the file is kept for the output."""
        self._external = {}
        module = self._parsed(chunk, name, self._external)
        if self.options["run_reproducer"]:
            self._external.pop(ENTRY, None)
        return module

    def _parsed(self, chunk: Chunk | bytes, name: str, external: External) -> Operation:
        common: ParseOptions = {
            "allow_unregistered": self.options["allow_unregistered_dialect"],
            "implicit_module": not self.options["no_implicit_module"],
            "external": external,
        }
        if isinstance(chunk, bytes) and is_binary(chunk):
            return parse_input(chunk, name, **common)
        from tessera_tools.parser import parse_module

        source, common["first_line"] = (
            (chunk, 1) if isinstance(chunk, bytes) else (chunk.text, chunk.first_line)
        )
        common["implicit_index_constants"] = self.options["implicit_index_constants"]
        return parse_module(source, name, **common)

    def _check_round_trip(self, module: Operation) -> None:
        """Print the module in each form, parse the text, and compare. Raises DiagnosticError if they differ."""
        from tessera_tools.cli.round_trip import check_round_trip

        check_round_trip(module, allow_unregistered=self.options["allow_unregistered_dialect"])

    def _source_of(self, text: str | None) -> Callable[[], str]:
        """The whole input as text, for a reproducer."""
        return self._source if text is None else lambda: text

    def _source(self) -> str:
        """The input as text, for a reproducer."""
        data = self._read()[1]
        if not is_binary(data):
            return self.source_text
        from tessera_tools.ir.printing import print_op

        return print_op(
            parse_input(data, self.input_name, allow_unregistered=self.options["allow_unregistered_dialect"])
        )

    def _guard(self, doing: str, work: Callable[[], T]) -> T:
        """Turn an unexpected exception into an error with a reproducer."""
        try:
            return work()
        except (DiagnosticError, RecursionError, MemoryError):
            raise
        except Exception as fault:
            if os.environ.get("TESSERA_DEBUG") == "1":
                raise
            failure = InternalFault(
                Diagnostic("error", Position(self.input_name, 1, 1), internal_fault(fault, doing))
            )
            note = self._reproduce(self._source(), "builtin.module()")
            failure.diagnostics[0].note(note)
            raise failure from None

    # -- passes

    def _run_recorded(self, pipeline: Pipeline, module: Operation, name: str) -> None:
        """Run the passes, and make the page of --report."""
        from tessera_tools.emit.driver import declared_target
        from tessera_tools.report import Recording, recorded, report_page

        self._recording = Recording(name, declared_target(module) or "no target yet")
        with recorded(self._recording, module, self.source_text or None) as recorder:
            self._run_passes(pipeline, module, (recorder,))
        self._recording.target = declared_target(module) or self._recording.target
        self._page = report_page(self._recording)

    def _run_passes(
        self, pipeline: Pipeline, module: Operation, observers: tuple[Observer, ...] = ()
    ) -> None:
        options = self.options
        before = None
        if options["crash_reproducer"]:
            from tessera_tools.ir.printing import print_op

            before = print_op(module)

        def on_failure(failure: DiagnosticError, pass_: Pass, op: Operation) -> str | None:
            if options["crash_reproducer"] or isinstance(failure, InternalFault):
                return self._reproduce(before or self._source(), pipeline.text())
            return None

        manager = PassManager(
            pipeline,
            off=self.inspection.off,
            explains=self.remarks.wanted or self._recording is not None,
            verify_each=self.inspection.verify_each,
            observers=(*self.inspection.observers(), *observers),
            timing=self.inspection.timing,
            statistics=self.inspection.statistics,
            on_failure=on_failure,
            measure=_measure,
        )
        with self.inspection.watching():
            manager.run(module)

    def _reproduce(self, ir: str, pipeline: str) -> str:
        """Write a reproducer; returns the note with its path."""
        flags = ["--allow-unregistered-dialect"] if self.options["allow_unregistered_dialect"] else []
        flags += [f"--irdl-file={path}" for path in self.options["irdl_file"]]
        ir, pipeline = self.inspection.reproducer(ir, pipeline)
        reproducer = Reproducer(pipeline, self.inspection.verify_each)
        return write_reproducer(self.options["crash_reproducer"], ir, reproducer, flags)


def _stdout() -> TextIO:
    return sys.stdout


def _measure(module: Operation, target: Target) -> Mapping[str, Measured]:
    """The resources of compiled kernels; the back end is imported on first use."""
    from tessera_tools.emit.measure import measure

    return measure(module, target)


def _plain(message: str, *notes: str) -> DiagnosticError:
    return error(None, message, *notes)


def _verify(module: Operation) -> None:
    from tessera_tools.ir.verifier import verify_or_raise

    verify_or_raise(module)


def _check_hints(module: Operation, refuse: bool) -> None:
    """Warn about unsupported hints, or raise DiagnosticError if requested."""
    from tessera_tools.diagnostics import emit
    from tessera_tools.dialects.cuda_tile.hints import problems

    failures: list[Diagnostic] = []
    for op in module.walk():
        found = list(problems(op))
        for problem in found:
            emit(Diagnostic("warning", op.location, problem))
        if found:
            failures += op.error("Optimization hints verification failed").diagnostics
    if failures and refuse:
        raise DiagnosticError(*failures)
