"""One run of `tessera-translate`, after its options are parsed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from tessera_tools.api.inputs import (
    DEFAULT_GPU,
    find_target,
    is_binary,
    kind_of,
    parse_input,
    tuned_for_input,
)
from tessera_tools.cli.common import (
    FAILED,
    internal_fault,
    progress,
    read_input,
    report,
    start_seconds,
    use_color,
    write_reproducer,
    write_stderr,
)
from tessera_tools.cli.inspection import Inspection
from tessera_tools.cli.remarks import Remarks
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, InternalFault, Remark, Sources, error, sink
from tessera_tools.emit.compile_cache import Entry, key_of, once
from tessera_tools.emit.compiled import FORMATS, Compiled, Options, Stage
from tessera_tools.emit.files import OutputSet, write_output
from tessera_tools.emit.tunables import given_config
from tessera_tools.passes.timing import Timing
from tessera_tools.target import lookup, occupancy

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.emit.worker import Worker
    from tessera_tools.ir.core import Operation
    from tessera_tools.passes.base import Pass
    from tessera_tools.passes.manager import Observer
    from tessera_tools.report import Recording

__all__ = ["Session"]

FILE_NAMES = {
    "tile": "1-tile.mlir",
    "cuda_tile": "1-cuda_tile.mlir",
    "nv_tileaa": "2-nv_tileaa.mlir",
    "nv_tileas": "3-nv_tileas.mlir",
    "llvm": "4-llvm.mlir",
    "llvmir": "4b-llvm.ll",
    "mir": "5-mir.mir",
    "ptx": "6-ptx.ptx",
    "cubin": "7-cubin.cubin",
    "sass": "7-sass.sass",
}
"""The file names of `--save-temps`, by stage."""


class Session:
    """The execution of one command line. `options` are click's; `begin` is the start time of the command."""

    def __init__(self, options: OptionValues, until: str, begin: float) -> None:
        self.options = options
        self.until = until
        self.timing = Timing(begin)
        if options["mlir_timing"]:
            self.timing.started(start_seconds(begin), begin)
        self.remarks = Remarks.of(options)
        self.sources = Sources()
        self.color = use_color(options["color"] or "auto")
        self.doing = "reading"
        self._input: tuple[str, bytes] | None = None
        self.worker: Worker | None = None
        self.inspection = Inspection(options, self.timing, self._does)
        self._recording: Recording | None = None
        self._reproduce: Callable[[], str] | None = None
        """Writes a reproducer of the input; returns the note with its path. None until the input is parsed as IR."""

    def _does(self, what: str | None) -> None:
        self.doing = what or "compiling"

    def close(self) -> None:
        """End LLVM's process."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def run(self) -> int:
        """Run it; returns the exit status."""
        try:
            if self.inspection.watches:
                self.inspection.check()
            if self.until in ("mlir", "cudatilebc"):
                if self.options["report"] is not None:
                    raise error(None, "--report is for a compilation; conversions of bytecode have none")
                from tessera_tools.cli.convert import Conversion

                name, data = self._read()
                return Conversion(self.options, self.until, self.sources, self.color).run(data, name)
            with progress(lambda: self.doing), sink(self._show), self.inspection.watching():
                try:
                    compiled = self._compile()
                finally:
                    self.remarks.write(self.sources)
                page = self._page() if self.options["report"] is not None else None
                with self.timing.scope("Output"):
                    self._write(compiled, page)
            self._reports(compiled)
            return 0
        except DiagnosticError as failure:
            if isinstance(failure, InternalFault) and not failure.diagnostics[-1].notes:
                self._add_reproducer(failure)
            report(failure.diagnostics, self.sources, self.color)
            return FAILED
        except (RecursionError, MemoryError, OSError):
            raise
        except Exception as fault:
            if os.environ.get("TESSERA_DEBUG") == "1":
                raise
            message = internal_fault(fault, f"while {self.doing}")
            failure = InternalFault(Diagnostic("error", None, message))
            self._add_reproducer(failure)
            report(failure.diagnostics, self.sources, self.color)
            return FAILED

    def _show(self, diagnostic: Diagnostic) -> None:
        unasked = isinstance(diagnostic, Remark) and diagnostic.on_request
        if not self.remarks.take(diagnostic) and not unasked:
            report([diagnostic], self.sources, self.color)

    def _add_reproducer(self, failure: InternalFault) -> None:
        """Write a reproducer if the input is IR, and add a note with its path."""
        if self._reproduce is not None:
            failure.diagnostics[-1].note(self._reproduce())

    def _compile(self) -> Compiled:
        options = self.asked()
        self._check_output()
        name, data = self._read()
        if data.startswith(b"\x7fELF"):
            raise error(
                None,
                f"'{name}' is a cubin, which cannot be compiled further",
                "expected bytecode, MLIR, LLVM IR or PTX",
            )
        if not is_binary(data):
            self.sources.add(name, data.decode("utf-8", "replace"))
        if self.options["tuned"] is not None:
            self._use_tuned(name, data)
            options = self.asked()
        key = self._key(name, data, options)
        return once(
            key, name, lambda: Entry(self._compile_ir(name, data, options)), on_stage=self._save
        ).compiled

    def _use_tuned(self, name: str, data: bytes) -> None:
        """Set the options that `--tuned` records for the input."""
        given = self.options
        found = tuned_for_input(
            given["tuned"],
            data,
            name,
            given["gpu_name"],
            given_config(given),
            shapes=given["shapes"],
            allow_unregistered=given["allow_unregistered_dialect"],
            implicit_index_constants=given["implicit_index_constants"],
        )
        given.update({one: str(value) for one, value in found.items()}, tuned=None)

    def _key(self, name: str, data: bytes, options: Options) -> str | None:
        """The key in the compile cache; None if the cache is off, or an intermediate result is requested."""
        given = self.options
        if given["cache"] == "off" or given["print_pipeline"] or given["report"] or self.inspection.watches:
            return None
        # Diagnostics of ptxas name the files of --save-temps.
        named = ("allow_unregistered_dialect", "implicit_index_constants", "save_temps")
        more = {one: given[one] for one in named}
        target = options.target if given["gpu_name"] is not None else None
        return key_of(data, name, options, target, **more)

    def _compile_ir(self, name: str, data: bytes, options: Options) -> Compiled:
        if self.until != "llvmir" and self.worker is None:
            from tessera_tools.emit.worker import Worker

            self.worker = Worker.start(time_limit=options.llvm_timeout)
        from tessera_tools.emit.driver import (
            compile_module,
            compile_text,
            declared_target,
            remaining_pipeline,
            stage_of,
            target_of_text,
        )

        binary = is_binary(data)
        text = "" if binary else data.decode("utf-8", "replace")
        kind = kind_of(name, data)
        if kind != "mlir":
            self.doing = "compiling"
            if self.options["gpu_name"] is None:
                self.options["gpu_name"] = target_of_text(text, kind)
                options = self.asked()
            made = compile_text(
                text, kind, options, worker=self.worker, timing=self.timing, on_stage=self._save, name=name
            )
            self._record_text(text, kind, options, made)
            return made
        self.doing = "parsing"
        with self.timing.scope("Parser"):
            module = self._parse(data, name)
        if self.options["gpu_name"] is None:
            self.options["gpu_name"] = declared_target(module)
            options = self.asked()
        if self.options["print_pipeline"]:
            self._print_pipeline(options, module)
        self.doing = "compiling"
        pipeline = remaining_pipeline(options, stage_of(module))

        def source() -> str:
            # The module changes in place: the bytecode is read again, because few compilations need its text.
            return _text_of(self._parse(data, name)) if binary else text

        self.inspection.starts(pipeline, source)

        def reproduce() -> str:
            from tessera_tools.passes.reproducer import Reproducer

            ir, passes = self.inspection.reproducer(source(), pipeline.text())
            return write_reproducer(self.options["crash_reproducer"], ir, Reproducer(passes))

        self._reproduce = reproduce

        def compiled(*observers: Observer) -> Compiled:
            return compile_module(
                module,
                options,
                worker=self.worker,
                timing=self.timing,
                observers=(*self.inspection.observers(), *observers),
                statistics=self.inspection.statistics,
                on_failure=self._on_failure,
                on_stage=self._save,
            )

        if self.options["report"] is None:
            return compiled()
        from tessera_tools.report import Recording, record_module

        self._recording = Recording(name)
        return record_module(module, self._recording, options, None if binary else text, compile=compiled)

    def _record_text(self, text: str, kind: Stage, options: Options, made: Compiled) -> None:
        """Record the compilation of LLVM IR or PTX, for --report."""
        if self.options["report"] is None:
            return
        from tessera_tools.report import Recording, record_text

        self._recording = Recording(self._read()[0])
        record_text(text, kind, self._recording, options, made=made if "ptx" in made.stages else None)

    def _read(self) -> tuple[str, bytes]:
        """The input, read once: stdin would be empty in a second attempt on a larger stack."""
        if self._input is None:
            self._input = read_input(self.options["input"])
        return self._input

    def _parse(self, data: bytes, name: str) -> Operation:
        from tessera_tools.ir.verifier import verify_or_raise

        module = parse_input(
            data,
            name,
            allow_unregistered=self.options["allow_unregistered_dialect"],
            implicit_index_constants=self.options["implicit_index_constants"],
        )
        if not is_binary(data):
            verify_or_raise(module)
        return module

    def asked(self) -> Options:
        """How to compile, as the options say. Raises DiagnosticError."""
        given = self.options
        target = find_target(given["gpu_name"] or DEFAULT_GPU)
        extra: list[str] = []
        if given["ptxas_options"]:
            import shlex

            try:
                extra = shlex.split(given["ptxas_options"])
            except ValueError as failure:
                raise error(None, f"--ptxas-options: {str(failure).lower()}") from None
        if given["debug_info"] and given["level"] not in (None, "0"):
            raise error(
                None, f"--debug-info requires -O0, but found -O{given['level']}",
                "use -O0, or use --lineinfo, which works with every level",
            )  # fmt: skip
        return Options(
            target,
            self.until,
            level=int(given["level"] or (0 if given["debug_info"] else 3)),
            lineinfo=given["lineinfo"],
            debug_info=given["debug_info"],
            ptxas=given["ptxas"],
            ptxas_options=tuple(extra),
            ptxas_timeout=given["ptxas_timeout"] or 300.0,
            nvdisasm=given["nvdisasm"],
            llvm_timeout=given["llvm_timeout"] or 120.0,
            llvm_pipeline=given["llvm_pipeline"] or "tile",
            verify_each=self.inspection.verification if given["report"] is None else True,
            **given_config(given),
            plain_abi=given["abi"] == "plain",
            off=self.inspection.off,
            explains=self.remarks.wanted or given["report"] is not None,
            all_stages=given["save_temps"] is not None,
        )

    def _check_output(self) -> None:
        """Check that the output can be written, before the compilation."""
        output = self.options["output"] or "-"
        if self.until == "cubin" and output != "-" and _manifest_path(output) == output:
            raise error(
                None,
                f"the output '{output}' has the same name as the cubin's launch manifest",
                "use another file extension, as in -o kernel.cubin",
            )
        if output == "-":
            if self.until == "cubin" and sys.stdout.isatty():
                raise error(None, "refusing to write a cubin to a terminal", "specify an output file with -o")
            return
        if os.path.isdir(output):
            raise error(None, f"the output '{output}' is a directory", "name a file in it")
        folder = os.path.dirname(os.path.abspath(output))
        if not os.path.isdir(folder):
            raise error(
                None,
                f"the output '{output}' cannot be written: no folder '{folder}'",
                "create the directory first",
            )

    def _on_failure(self, failure: DiagnosticError, pass_: Pass, op: Operation) -> str | None:
        """Writes a reproducer for a failing pass: the input and the whole pipeline."""
        wanted = isinstance(failure, InternalFault) or self.options["crash_reproducer"]
        if not wanted or self._reproduce is None:
            return None
        return self._reproduce()

    def _print_pipeline(self, options: Options, module: Operation) -> None:
        from tessera_tools.emit.driver import remaining_pipeline, stage_of

        stage = stage_of(module)
        passes = remaining_pipeline(options, stage).pretty()
        text = f"from {stage} to llvm for {options.target.cpu}:\n{passes}\n"
        steps = FORMATS[: FORMATS.index(self.until) + 1]
        steps = tuple(step for step in steps if step != "mir" or self.until == "mir")
        write_stderr(f"{text}then {' -> '.join(steps)}\n")

    def _save(self, stage: str, data: str | bytes) -> str | None:
        """Write the file of a stage immediately, so that the stages before a failure are saved."""
        folder = self.options["save_temps"]
        if folder is None:
            return None
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as failure:
            raise error(None, f"--save-temps: '{folder}' cannot be created: {failure.strerror}") from None
        path = os.path.join(folder, FILE_NAMES[stage])
        write_output(path, data)
        if isinstance(data, str):
            self.sources.add(path, data)
        return path

    # -- results

    def _page(self) -> str:
        """The page of --report."""
        from tessera_tools.report import report_page

        self.doing = "making the report"
        assert self._recording is not None
        return report_page(self._recording)

    def _write(self, compiled: Compiled, page: str | None) -> None:
        output = self.options["output"] or "-"
        data = compiled.stages[self.until]
        folder = self.options["save_temps"]
        if folder is not None and "cubin" in compiled.stages and compiled.manifest is not None:
            write_output(os.path.join(folder, "7-cubin.json"), compiled.manifest.to_json())
        with OutputSet() as outputs:
            if page is not None:
                outputs.add(self.options["report"], page)
            if output == "-" and folder is not None:
                return  # the file is already in the folder
            outputs.add(output, data)
            if self.until == "cubin" and output != "-" and compiled.manifest is not None:
                outputs.add(_manifest_path(output), compiled.manifest.to_json())

    def _reports(self, compiled: Compiled) -> None:
        for warning in compiled.warnings:
            report([Diagnostic("warning", None, warning)], self.sources, self.color)
        write_stderr(compiled.ptxas_output)
        if self.options["resource_usage"]:
            if compiled.report is None:
                write_stderr("no resource usage: ptxas did not run\n")
            else:
                write_stderr(_resources(compiled))
        self.inspection.report()


def _manifest_path(cubin: str) -> str:
    """The path of a cubin's launch manifest, next to it."""
    return f"{os.path.splitext(cubin)[0]}.json"


def _text_of(module: Operation) -> str:
    from tessera_tools.ir.printing import print_op

    return print_op(module)


def _resources(compiled: Compiled) -> str:
    """One line per kernel, in the terms of ptxas."""
    assert compiled.report is not None and compiled.manifest is not None
    lines: list[str] = []
    target = lookup(compiled.manifest.target)
    kernels = {kernel.name: kernel for kernel in compiled.manifest.kernels}
    for name, used in compiled.report.entries.items():
        kernel = kernels.get(name)
        dynamic = kernel.dynamic_shared if kernel is not None else 0
        line = (
            f"kernel '{name}' for {target.cpu}: {used.registers} registers, {used.shared + dynamic} bytes smem, "
            f"{used.stack} bytes stack frame, {used.spill_stores} bytes spill stores, "
            f"{used.spill_loads} bytes spill loads"
        )
        if kernel is not None and kernel.block != (1, 1, 1):
            x, y, z = kernel.block
            fits = occupancy(
                target, threads=x * y * z, registers=used.registers, shared=used.shared + dynamic
            )
            line += (
                f"; {fits.blocks} block{'s' if fits.blocks != 1 else ''} of {x * y * z} threads on an SM "
                f"({fits.fraction:.0%} of its warps, "
                f"limited by {' and '.join(fits.limited_by)})"
            )
        lines.append(line + "\n")
    return "".join(lines)
