"""One run of `tessera-run`, after its options are parsed.

input ──▶ device.load ──▶ arguments ──▶ one launch per schedule ──▶ --out, --expect, --stats, --report ──▶ status
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools import runtime
from tessera_tools.cli.common import (
    FAILED,
    internal_fault,
    print_table,
    progress,
    report,
    use_color,
    write_stderr,
)
from tessera_tools.cli.run_arguments import Arguments, read_shape
from tessera_tools.cli.run_input import Loaded, load_input, registers
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Position, Remark, Sources, error, sink
from tessera_tools.emit.files import OutputSet
from tessera_tools.emit.tunables import is_of_compiler
from tessera_tools.records import replace
from tessera_tools.runtime.compare import same_bits
from tessera_tools.runtime.signature import Shape, with_names
from tessera_tools.sim.findings import Finding, Findings

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.runtime.interface import LaunchOptions
    from tessera_tools.runtime.simulated import SimulatedModule
    from tessera_tools.runtime.timing import Estimate
    from tessera_tools.runtime.workers import PartialLaunch

__all__ = ["FINDING", "WRONG", "Session"]

WRONG = 2
"""Exit status: a buffer differs from its expected value."""
FINDING = 3
"""Exit status: the simulator reported a finding."""

MAX_INSTRUCTIONS = 100_000_000


class Session:
    """The execution of one command line; `options` are click's."""

    def __init__(self, options: OptionValues) -> None:
        self.options = options
        self.sources = Sources()
        self.color = use_color(options["color"] or "auto")
        self.doing = "compiling"
        self.cuda = options["device"] == "cuda"
        self.results: list[runtime.Result] = []
        self.findings = Findings()
        self.outcome: Mapping[str, runtime.Buffer] = {}
        """The buffers after the first launch."""
        self.summary = ""
        """A line about the run."""
        self.disagreements: list[str] = []

    def run(self) -> int:
        """Run it; returns the exit status."""
        try:
            with sink(self._show):
                return self._run()
        except DiagnosticError as failure:
            report(failure.diagnostics, self.sources, self.color)
            return FAILED
        except (RecursionError, MemoryError, OSError):
            raise
        except Exception as fault:
            if os.environ.get("TESSERA_DEBUG") == "1":
                raise
            report(
                [Diagnostic("error", None, internal_fault(fault, f"while {self.doing}"))], None, self.color
            )
            return FAILED

    def _show(self, diagnostic: Diagnostic) -> None:
        # A report has the reasons of the compiler.
        if not (isinstance(diagnostic, Remark) and diagnostic.on_request):
            report([diagnostic], self.sources, self.color)

    def _run(self) -> int:
        options = self.options
        if options["timing"] is None and any(
            options[f"timing_{what}"] for what in ("svg", "trace", "warps", "clock")
        ):
            options["timing"] = ""
        if options["timing"] is not None:
            for name in ("out", "expect", "stats", "schedules", "modes", "ranks"):
                if options[name]:
                    raise error(
                        None,
                        f"--{name} cannot be combined with --timing, which may run only a sample of the CTAs",
                        f"run once more without --timing for --{name}",
                    )
        if options["ranks"] is not None:
            return self._run_ranks()
        arguments = Arguments(options)
        grid = read_shape("grid", options["grid"]) or arguments.grid or (1, 1, 1)
        schedules = self._schedules()
        if options["tuned"] is not None:
            options["shapes"] = arguments.shapes(grid)
        with progress(lambda: self.doing):
            loaded = load_input(options, self.sources, record=_is_page(options["report"]))
            if isinstance(loaded.code, str) and loaded.compiled:
                self.sources.add(loaded.name, loaded.code)
            if options["save_ptx"] is not None:
                self._save_ptx(loaded)
            self.doing = "loading"
            self._check_ranks(loaded, arguments)
            arguments.read()
            first = self._device(loaded)
            kernel = self._kernel(first, loaded, arguments)
        # Each schedule has new buffers; only those of the first run are written and compared.
        for number, (seed, mode) in enumerate(schedules):
            if number:
                kernel = self._kernel(self._device(loaded), loaded, arguments)
            found = self._launch(kernel, arguments, grid, seed, mode, number, len(schedules))
            if not number:
                self.outcome = found
            else:
                self._compare_runs(self.outcome, found, seed, mode)
        return self._finish(kernel, loaded, arguments, grid)

    def _check_ranks(self, loaded: Loaded, arguments: Arguments) -> None:
        """Refuse a host function without --ranks. Without --grid or --entry, no kernel of its module is meant."""
        plans = loaded.manifest.plans if loaded.manifest is not None else ()
        entry = self.options["entry"] or arguments.entry
        named = [plan for plan in plans if plan.name == entry]
        if not named and (entry or self.options["grid"] or arguments.grid):
            return
        for plan in named or plans:
            raise error(
                None,
                f"'{plan.name}' is a host function for {plan.ranks} rank{'s' if plan.ranks != 1 else ''}; run it "
                f"with --ranks={plan.ranks}",
                "to run one of the module's kernels instead, name it with --entry",
            )

    def _run_ranks(self) -> int:
        from tessera_tools.cli.run_ranks import Program, check_options, run_ranks
        from tessera_tools.runtime import ranks_mpi

        member = ranks_mpi.member()
        failure: DiagnosticError | None = None
        program: Program | None = None
        try:
            check_options(self.options)
            if member is not None and self.options["input"] == "-":
                raise error(None, "under mpiexec, every rank reads the input; expected a file name")
            with progress(lambda: self.doing):
                loaded = load_input(self.options, self.sources)
                if isinstance(loaded.code, str) and loaded.compiled:
                    self.sources.add(loaded.name, loaded.code)
                if self.options["save_ptx"] is not None and (member is None or not member.rank):
                    self._save_ptx(loaded)
            program = Program.of(loaded, self.options)
        except DiagnosticError as found:
            failure = found
        if failure is not None and member is None:
            raise failure
        if member is not None:
            member.agree(failure)
        assert program is not None
        self.doing = "running"
        limit = self.options["max_instructions"] or MAX_INSTRUCTIONS
        found, wrong = run_ranks(program, self.options, limit)
        return FINDING if found else WRONG if wrong else 0

    def _save_ptx(self, loaded: Loaded) -> None:
        if not isinstance(loaded.code, str):
            raise error(None, "--save-ptx: the input is a cubin, so there is no PTX to save")
        with OutputSet() as outputs:
            outputs.add(self.options["save_ptx"], loaded.code)
        if loaded.compiled:
            loaded.name = self.options["save_ptx"]
            self.sources.add(loaded.name, loaded.code)

    # -- the launches

    def _device(self, loaded: Loaded) -> runtime.Device:
        if self.cuda:
            return runtime.device("cuda")
        name = loaded.target.name if loaded.target is not None else None
        return runtime.device("sim", gpu_name=name)

    def _kernel(self, device: runtime.Device, loaded: Loaded, arguments: Arguments) -> runtime.Kernel:
        """The kernel on a device, with the buffers placed there."""
        manifest = loaded.manifest
        module = device.load(loaded.code, manifest, file=loaded.name)
        kernel = module.kernel(self.options["entry"] or arguments.entry)
        if self.options["param"]:
            kernel.signature = with_names(kernel.signature, self.options["param"])
        if loaded.compiled and kernel.signature.block is None:
            kernel.signature = replace(kernel.signature, block=(1, 1, 1))
        arguments.place(device, kernel, self.options["seed"] or 0)
        return kernel

    def _schedules(self) -> list[tuple[int, str]]:
        """Seed and mode of each run."""
        count, seed, modes = self.options["schedules"] or 1, self.options["seed"] or 0, self.options["modes"]
        if self.cuda:
            for name in ("schedules", "modes", "stats", "findings", "time_limit", "timing"):
                if self.options[name]:
                    raise error(
                        None,
                        f"--{name.replace('_', '-')} applies only to the simulated GPU, but --device is cuda",
                    )
            return [(seed, "")]
        if modes == "both":
            return [(seed + number, mode) for number in range(count) for mode in ("late", "early")]
        if modes is not None:
            return [(seed + number, modes) for number in range(count)]
        return [(seed + number, ("late", "early")[number % 2]) for number in range(count)]

    def _launch(
        self,
        kernel: runtime.Kernel,
        arguments: Arguments,
        grid: Shape,
        seed: int,
        mode: str,
        number: int,
        count: int,
    ) -> Mapping[str, runtime.Buffer]:
        options = self.options
        self.doing = "running"
        block = read_shape("block", options["block"]) or arguments.block
        given = None if is_of_compiler(options["cluster"]) else options["cluster"]
        cluster = read_shape("cluster", given) or arguments.cluster
        shared = options["shared"] if options["shared"] is not None else arguments.shared
        if not number:
            self._warn_of_shared(kernel, shared)
        settings: LaunchOptions = {}
        watch = None if self.cuda else _Watch(kernel.name, number, count)
        if watch is not None:
            settings = {
                "seed": seed,
                "mode": mode,
                "stats": options["stats"] and not number,
                "max_instructions": options["max_instructions"] or MAX_INSTRUCTIONS,
                "time_limit": options["time_limit"],
                "processes": self._processes(),
                "timing": options["timing"] is not None,
                "clock_mhz": options["timing_clock"],
                "watch": watch,
            }
        with watch or contextlib.nullcontext():
            result = kernel.launch(
                grid,
                arguments.values,
                block=block,
                shared=shared,
                cluster=cluster,
                resident=options["resident"],
                **settings,
            )
        self.results.append(result)
        for finding in result.findings.under(self.options["findings"] or "warnings"):
            if finding.kind == "limit":
                self._endless(kernel, finding)
            one = copy.copy(finding)
            if count > 1:
                one.notes = [*one.notes, f"with --seed={seed} --modes={mode}"]
            self.findings.add(one)
        return dict(arguments.buffers)

    def _warn_of_shared(self, kernel: runtime.Kernel, shared: int | None) -> None:
        """Warn if the PTX declares dynamic shared memory of unspecified size."""
        if shared is not None or kernel.signature.dynamic_shared:
            return
        module = _simulated(kernel)
        if module is None:
            return
        program = module.inner.program
        for variable in program.scope.variables.values():
            if variable.space == "shared" and variable.extern:
                what = f"'{variable.name}' is dynamic shared memory, but its size is 0"
                warning = Diagnostic("warning", Position(program.file, variable.line, 1), what)
                report([warning.note("specify --shared=BYTES or --manifest=FILE")], self.sources, self.color)
                return

    def _processes(self) -> int:
        from tessera_tools.runtime.workers import wanted_processes

        return self.options["processes"] or wanted_processes()

    def _endless(self, kernel: runtime.Kernel, finding: Finding) -> None:
        name = self._ptx_name(kernel)
        notes = [f"at {finding.location}"] if finding.location else []
        notes += [f"CTA {finding.cta} thread {finding.thread}", *finding.notes]
        option = "--time-limit" if "seconds" in finding.message else "--max-instructions"
        notes.append(f"raise the limit with {option} if the kernel needs more")
        raise error(Position(name, finding.line, 1), f"{finding.message}: {finding.instruction}", *notes)

    def _ptx_name(self, kernel: runtime.Kernel) -> str:
        module = _simulated(kernel)
        return module.inner.program.file if module is not None else "<ptx>"

    def _compare_runs(
        self, first: Mapping[str, runtime.Buffer], other: Mapping[str, runtime.Buffer], seed: int, mode: str
    ) -> None:
        for name, buffer in first.items():
            same, at = same_bits(buffer.array(), other[name].array())
            if not same:
                begin = self.results[0]
                place = np.unravel_index(at, buffer.shape) if buffer.shape else ()
                values = [one.values().reshape(-1)[at] for one in (buffer, other[name])]
                self.disagreements.append(
                    f"schedules disagree: {name}[{', '.join(map(str, place))}] is {values[0]} with "
                    f"--seed={begin.seed} --modes={begin.mode}, and {values[1]} with --seed={seed} --modes={mode}"
                )

    # -- results

    def _finish(
        self,
        kernel: runtime.Kernel,
        loaded: Loaded,
        arguments: Arguments,
        grid: Shape,
    ) -> int:
        first, buffers = self.results[0], self.outcome
        to_stdout = self.options["report"] == "-"
        (sys.stderr if to_stdout else sys.stdout).write(first.output)
        name = self._ptx_name(kernel)
        for finding in self.findings:
            write_stderr(finding.text(name))
        for text in self.disagreements:
            write_stderr(f"error: {text}\n")
        checks = arguments.check(buffers)
        for check in checks:
            write_stderr(f"{'error: ' if check.wrong else ''}{check.text}\n")
        wrong = any(check.wrong for check in checks)
        if first.estimate is not None:
            self._timing(first.estimate)
        status = FINDING if self.findings.of("error") or self.disagreements else WRONG if wrong else 0
        block = (
            read_shape("block", self.options["block"])
            or arguments.block
            or kernel.signature.block
            or (1, 1, 1)
        )
        self.summary = self._summary(kernel, grid, block)
        write_stderr(f"{self.summary}\n")
        with OutputSet() as outputs:
            for path, raw in arguments.outputs(buffers):
                outputs.add(path, raw)
            path = self.options["report"]
            if path is not None and _is_page(path):
                outputs.add(path, self._page(kernel, loaded))
            elif path is not None:
                outputs.add(path, self._report(kernel, grid, block, status))
        if self.options["stats"]:
            self._stats(kernel, loaded, arguments, block)
        return status

    def _summary(self, kernel: runtime.Kernel, grid: Shape, block: Shape) -> str:
        first = self.results[0]
        what = f"{kernel.name}: grid {'x'.join(map(str, grid))}, block {'x'.join(map(str, block))}"
        if self.cuda:
            return f"{what}: {first.seconds * 1e6:.1f} µs"
        instructions = sum(one.instructions for one in self.results)
        seconds = sum(one.seconds for one in self.results)
        seeds = f"seed {first.seed}, {first.mode}"
        if len(self.results) > 1:
            seeds = f"{len(self.results)} schedules from seed {first.seed}"
        return (
            f"{what}, {seeds}: {instructions:,} warp instructions in {seconds:.2f} s "
            f"({instructions / max(seconds, 1e-9):,.0f} a second), "
            f"{self.findings.summary(len(self.disagreements))}"
        )

    def _timing(self, estimate: Estimate) -> None:
        """Print the clock's estimate, and write it where `--timing=FILE` and its pictures say."""
        import json

        from rich.console import Console

        from tessera_tools.runtime.timing_picture import timeline_svg, trace_events
        from tessera_tools.runtime.timing_report import as_data, chart, roof_chart, summary, warp_lines

        path = self.options["timing"]
        stream = sys.stderr if path == "-" else sys.stdout
        write = write_stderr if path == "-" else sys.stdout.write
        write("".join(f"{line}\n" for line in summary(estimate)))
        console = Console(
            file=stream, no_color=bool(os.environ.get("NO_COLOR")), width=None if stream.isatty() else 120
        )
        console.print(chart(estimate))
        if self.options["timing_warps"]:
            write("".join(f"{line}\n" for line in warp_lines(estimate)))
        write("".join(f"{line}\n" for line in roof_chart(estimate)))
        with OutputSet() as outputs:
            if path:
                outputs.add(path, json.dumps(as_data(estimate), indent=2) + "\n")
            if self.options["timing_svg"]:
                outputs.add(self.options["timing_svg"], timeline_svg(estimate))
            if self.options["timing_trace"]:
                outputs.add(self.options["timing_trace"], json.dumps(trace_events(estimate)) + "\n")

    def _page(self, kernel: runtime.Kernel, loaded: Loaded) -> str:
        """The page of `--report=FILE.html`."""
        from tessera_tools.api.inputs import DEFAULT_GPU, find_target
        from tessera_tools.api.reports import clock_of, findings_of, record_input
        from tessera_tools.emit.compiled import Options
        from tessera_tools.report import report_page

        self.doing = "making the report"
        recording = loaded.recording
        if recording is None:  # code, of which there was no compilation
            given = self.options["input"]
            options = Options(loaded.target or find_target(DEFAULT_GPU))
            recording = record_input(
                loaded.read, "<stdin>" if given == "-" else given, options, loaded.target
            )
        return report_page(
            recording,
            clock=clock_of(self.results[0].estimate),
            findings=findings_of(self.findings, self._ptx_name(kernel)),
            run=self.summary,
        )

    def _report(self, kernel: runtime.Kernel, grid: Shape, block: Shape, status: int) -> str:
        from tessera_tools.runtime.report import as_json

        head = {
            "status": {0: "success", WRONG: "wrong answer", FINDING: "finding"}[status],
            "device": self.options["device"] or "sim",
            "entry": kernel.name,
            "grid": list(grid),
            "block": list(block),
            "ptx": self._ptx_name(kernel),
            "disagreements": self.disagreements,
        }
        return as_json(head, self.results, list(self.findings))

    def _stats(self, kernel: runtime.Kernel, loaded: Loaded, arguments: Arguments, block: Shape) -> None:
        from tessera_tools.runtime.report import stats_tables

        stats = self.results[0].stats
        module = _simulated(kernel)
        if stats is None or module is None:
            return
        target = module.target
        used = kernel.signature.registers
        if not used and target is not None and isinstance(loaded.code, str):
            used = registers(loaded.code, kernel.name, target)
        threads = block[0] * block[1] * block[2]
        shared = self.results[0].shared
        tables = stats_tables(stats, module.inner.program, target, threads, used, shared)
        for number, (title, columns, rows) in enumerate(tables):
            if number:
                sys.stdout.write("\n")
            print_table(title, columns, rows)


def _simulated(kernel: runtime.Kernel) -> SimulatedModule | None:
    """The module of a kernel on the simulated GPU."""
    from tessera_tools.runtime.simulated import SimulatedKernel

    return kernel.owner if isinstance(kernel, SimulatedKernel) else None


class _Watch:
    """A progress bar on stderr, on a terminal, for a launch that takes more than two seconds."""

    def __init__(self, name: str, number: int, count: int) -> None:
        self.title = name if count == 1 else f"{name}, schedule {number + 1} of {count}"
        self.launch: PartialLaunch | None = None
        self.done = threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self, launch: PartialLaunch) -> None:
        self.launch = launch

    def __enter__(self) -> _Watch:
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self.thread = threading.Thread(target=self._show, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        if self.thread is not None:
            self.thread.join()

    def _show(self) -> None:
        if self.done.wait(2.0) or self.launch is None:
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(self.title, total=self.launch.count)
            for _ in self._ticks():
                # A started cluster is not done; a single process is still executing its last one.
                begun = int(self.launch.tally.sum()) - len(self.launch.tally)
                bar.update(task, completed=max(begun, 0))

    def _ticks(self) -> Iterator[float]:
        while not self.done.wait(0.2):
            yield time.monotonic()


def _is_page(report: str | None) -> bool:
    """Whether `--report` asks for a page, not for JSON."""
    return report is not None and report.endswith(".html")
