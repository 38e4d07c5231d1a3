"""The compiler driver: lowers IR from any stage through the target's passes to LLVM IR, MIR, PTX, cubin and SASS.

    cuda_tile ─▶ nv_tileaa ─▶ nv_tileas ─▶ llvm ─▶ LLVM IR ─▶ PTX ─▶ cubin ─▶ SASS
        └ starts at the stage of the input (`stage_of`), ends at `until`           └▶ MIR, on the side

`compile_module` is for callers with IR, `compile_text` for LLVM IR and PTX; both return a `Compiled`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import DiagnosticError, HasStart, Position, collect, emit, error
from tessera_tools.emit.call_sites import with_call_sites
from tessera_tools.emit.compiled import FORMATS, Compiled, Options, Stage
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.llvm import choose_ptx_version, compile_ir, emit_mir, ptx_text
from tessera_tools.emit.manifest import Kernel, Manifest
from tessera_tools.emit.ptxas import Assembled, Ptxas
from tessera_tools.emit.steps import steps_of
from tessera_tools.emit.worker import Worker
from tessera_tools.ir.builtin_attributes import StringAttr, i32
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import STAGES, stages_from
from tessera_tools.records import replace
from tessera_tools.target import UnknownTargetError, lookup

if TYPE_CHECKING:
    from tessera_tools.dialects.cuda_tile.debug_info import DILocAttr
    from tessera_tools.emit.llvmir.module import DebugLevel
    from tessera_tools.emit.spills import SpillPlace
    from tessera_tools.passes.manager import Observer
    from tessera_tools.passes.statistics import Statistics
    from tessera_tools.passes.timing import Timing

__all__ = [
    "FORMATS",
    "Compiled",
    "Options",
    "Stage",
    "begin_lowering",
    "compile_module",
    "compile_text",
    "declared_target",
    "pipeline_to",
    "remaining_pipeline",
    "stage_of",
    "target_of_text",
]

TARGET_ATTRIBUTE = "nv_tileaa.target_spec"
"""Attribute of the module: the target's name, written by the first conversion."""

OnFailure = Callable[[DiagnosticError, Pass, Operation], "str | None"]


def stage_of(module: Operation) -> Stage:
    """Returns the stage of the module: the first of STAGES with an operation in it; llvm if there is none."""
    best = len(STAGES) - 1
    for op in module.walk():
        # A kernel of the tile dialect may contain no op of the dialect.
        prefix = "tile" if "tessera.kernel" in op.attributes else op.name.partition(".")[0]
        if prefix in STAGES:
            best = min(best, STAGES.index(prefix))
            if best == 0:
                break
    return STAGES[best]


def declared_target(module: Operation) -> str | None:
    """Returns the GPU that a module between cuda_tile and llvm was lowered for; None if it does not specify one."""
    spec = module.attributes.get(TARGET_ATTRIBUTE)
    return spec.value if isinstance(spec, StringAttr) else None


_TEXT_TARGETS = {
    "ptx": re.compile(r"^\s*\.target\s+(sm_\w+)", re.MULTILINE),
    "llvmir": re.compile(r'^; target: (sm_\w+)$|"target-cpu"="(sm_\w+)"', re.MULTILINE),
}


def target_of_text(text: str, kind: Stage) -> str | None:
    """Returns the target GPU of PTX ("ptx") or LLVM IR ("llvmir") text; None if it names no supported GPU."""
    found = _TEXT_TARGETS[kind].search(text)
    name = next(filter(None, found.groups()), None) if found is not None else None
    try:
        return lookup(name).cpu if name is not None else None
    except UnknownTargetError:
        return None


def remaining_pipeline(options: Options, stage: Stage) -> Pipeline:
    """Returns the passes that lower `stage` to llvm."""
    pipeline = Pipeline("builtin.module")
    for step in steps_of(options, stage):
        pipeline.add(parse_pass(step.text))
    return pipeline


def pipeline_to(options: Options, stage: Stage, to: str) -> Pipeline:
    """Returns the passes that lower `stage` to the stage `to`, or through the first run of the pass `to`.

    Raises DiagnosticError if the pipeline does not lead there.
    """
    steps = steps_of(options, stage)
    names = [parse_pass(step.text).name for step in steps]
    if to in STAGES:
        reached = stages_from(stage)
        if to not in reached:
            raise error(
                None, f"the input is {stage}, which is not lowered to {to}", _reachable(reached, names)
            )
        steps = [step for step in steps if reached.index(step.stage) < reached.index(to)]
    elif to in names:
        steps = steps[: names.index(to) + 1]
    else:
        raise error(
            None,
            f"no pass of the pipeline from {stage} is called '{to}'",
            _reachable(stages_from(stage), names),
        )
    pipeline = Pipeline("builtin.module")
    for step in steps:
        pipeline.add(parse_pass(step.text))
    return pipeline


def _reachable(stages: Sequence[str], names: Sequence[str]) -> str:
    if not names:
        return "it is not lowered further by passes; tessera-translate compiles it"
    return f"expected a stage ({', '.join(stages[1:])}) or a pass: {', '.join(dict.fromkeys(names))}"


def begin_lowering(module: Operation, options: Options) -> Stage:
    """Returns the stage of the module, after writing the target on it if it is an intermediate one without target, or
    of a GPU whose family is the target.

    Raises DiagnosticError if the module was lowered for another target.
    """
    stage = stage_of(module)
    declared = declared_target(module)
    if declared is None and stage not in ("tile", "cuda_tile", "llvm"):
        module.attributes[TARGET_ATTRIBUTE] = StringAttr(options.target.family_or_name)
    elif declared is not None and declared.rstrip("af") != options.target.name:
        raise module.error(
            f"was lowered for '{declared}' and cannot be compiled for '{options.target.name}'",
            "lower the kernel again from cuda_tile, or specify the GPU that it was lowered for",
        )
    elif declared is not None and stage != "llvm" and options.target.family_or_name != options.target.name:
        module.attributes[TARGET_ATTRIBUTE] = StringAttr(options.target.family_or_name)
    return stage


class _Run:
    """One compilation in progress."""

    def __init__(
        self,
        options: Options,
        worker: Worker | None,
        timing: Timing | None,
        on_stage: Callable[[Stage, str | bytes], str | None] | None,
    ) -> None:
        self.options = options
        self.timing = timing
        self.on_stage = on_stage
        self.result = Compiled()
        self.saved: dict[Stage, str] = {}
        self.inlined: dict[str, tuple[DILocAttr, ...]] = {}
        self.kernels: list[Kernel] = []
        self.locations: dict[str, HasStart] = {}
        """Locations of kernels, by name."""
        self.ops: dict[tuple[str, int, int], str] = {}
        """The ops of the input by their places, if remarks are wanted."""
        self._worker = worker

    def scope(self, name: str) -> AbstractContextManager[None]:
        return nullcontext() if self.timing is None else self.timing.scope(name)

    def reached(self, stage: Stage, data: str | bytes) -> bool:
        """Record the text of a stage; True if it is the last one requested."""
        self.result.stages[stage] = data
        if self.on_stage is not None:
            path = self.on_stage(stage, data)
            if path is not None:
                self.saved[stage] = path
        return stage == self.options.until

    @property
    def worker(self) -> Worker:
        if self._worker is None:
            self._worker = Worker.start(time_limit=self.options.llvm_timeout)
        return self._worker

    # -- the stages

    def lower(
        self,
        module: Operation,
        observers: tuple[Observer, ...],
        on_failure: OnFailure | None = None,
        statistics: Statistics | None = None,
    ) -> None:
        """Run the remaining passes on the module."""
        if self.options.verify_each is not None:
            self._lower(module, observers, on_failure, statistics)
            return
        before = module.clone()
        try:
            with collect() as told:
                self._lower(module, observers, None, statistics)
        except DiagnosticError:
            # The error is that of the pass at fault, as if it had been looked for all along.
            self.options = replace(self.options, verify_each=True)
            self._lower(before, observers, on_failure, statistics)
            raise
        for diagnostic in told:
            emit(diagnostic)

    def _lower(
        self,
        module: Operation,
        observers: tuple[Observer, ...],
        on_failure: OnFailure | None,
        statistics: Statistics | None,
    ) -> None:
        from tessera_tools.passes.manager import PassManager

        options = self.options
        stage = begin_lowering(module, options)
        steps = steps_of(options, stage)
        for name in stages_from(stage):
            if options.all_stages or options.keep_stages:
                from tessera_tools.ir.printing import print_op

                with self.scope("Output"):
                    self.reached(name, print_op(module))
            if name == "tile":
                self.take_plans(module, observers, on_failure)
            pipeline = Pipeline("builtin.module")
            for step in steps:
                if step.stage == name:
                    pipeline.add(parse_pass(step.text))
            if name == "nv_tileas" and not options.allows_agents and options.explains:
                from tessera_tools.emit.without_tma import explain_absence

                for remark in explain_absence(module, options.target, options.plain_abi):
                    emit(remark)
            if pipeline.items:
                PassManager(
                    pipeline,
                    verify_each=bool(options.verify_each),
                    # Input of an intermediate stage may have been written by hand.
                    verify_stages=options.verify_each or stage in ("nv_tileaa", "nv_tileas"),
                    verify_ends=options.verify_each is None,
                    observers=observers,
                    timing=self.timing,
                    statistics=statistics,
                    on_failure=on_failure,
                    off=options.off,
                    explains=options.explains,
                ).run(module)

    def take_plans(
        self, module: Operation, observers: tuple[Observer, ...], on_failure: OnFailure | None
    ) -> None:
        """Convert host functions to plans, after partitioning them for the ranks of the module's mesh."""
        from tessera_tools.emit.host import has_host, take_plans
        from tessera_tools.passes.manager import PassManager

        if not has_host(module):
            return
        pipeline = Pipeline("builtin.module")
        pipeline.add(parse_pass("tile-collective-insertion"))
        verify = self.options.verify_each is not False
        PassManager(
            pipeline, verify_each=verify, observers=observers, timing=self.timing, on_failure=on_failure
        ).run(module)
        self.result.plans = take_plans(module)
        if not len(module.regions[0].entry):
            # Without a kernel, the passes could not determine the target.
            module.attributes["nv_tileaa.compute_capability"] = i32(self.options.target.compute_capability)
            module.attributes[TARGET_ATTRIBUTE] = StringAttr(self.options.target.cpu)

    def llvm_ir(self, module: Operation, debug: DebugLevel) -> str:
        from tessera_tools.emit.llvmir import emit_with_inlined

        with self.scope("LLVM IR"):
            text, self.inlined = emit_with_inlined(module, debug=debug)
        # LLVM IR has no entry for a module's processor; `target_of_text` reads this one.
        return f"; target: {self.options.target.cpu}\n{text}" if declared_target(module) else text

    def from_llvm_ir(self, ir: str, again: Callable[[], str] | None) -> None:
        """LLVM IR to `until`. `again` emits the IR with locations, to locate an error of ptxas."""
        options = self.options
        if self.reached("llvmir", ir):
            return
        with self.scope("ptxas"):
            assembler = self.assembler()
        with self.scope("LLVM"):
            info = self.worker.info()
            version = choose_ptx_version(info, options.target, assembler.max_ptx if assembler else None)
        if options.until == "mir" or options.all_stages:
            with self.scope("MIR"):
                reply = emit_mir(
                    ir,
                    options.target,
                    ptx_version=version,
                    level=options.level,
                    pipeline=options.llvm_pipeline,
                    time_limit=options.llvm_timeout,
                )
            if self.reached("mir", reply.texts["mir"]):
                return
        ptx = self.ptx(ir, version)
        self.describe(ptx)
        if self.reached("ptx", ptx):
            return
        assert assembler is not None
        try:
            self.from_ptx(ptx, assembler)
        except ToolError as failure:
            if failure.line is None or again is None:
                raise
            self.locate(again, version, assembler)
            raise
        if options.explains:
            self.explain_spills(ptx if again is None else again, version, assembler)

    def explain_spills(self, source: str | Callable[[], str], version: int, assembler: Ptxas) -> None:
        """Remarks on the spills of ptxas, with their loops: `source` is PTX with locations, or a function that emits
        such IR."""
        from tessera_tools.emit.sass import Nvdisasm
        from tessera_tools.emit.spills import SourceOps, explain_spills, spill_places

        report = self.result.report
        if report is None or not any(used.spills for used in report.entries.values()):
            return
        places: list[SpillPlace] = []
        sources = SourceOps()
        with suppress(ToolError):  # the counts are known without nvdisasm
            ptx = source if isinstance(source, str) else self.ptx(source(), version)
            cubin = self.assemble(ptx, assembler, lineinfo=not self.options.debug_info).cubin
            sass = Nvdisasm.find(self.options.nvdisasm).disassemble(cubin, lineinfo=True)
            places, sources = spill_places(sass), SourceOps.of(ptx, self.ops)
        for remark in explain_spills(report, places, self.locations, sources):
            emit(remark)

    def ptx(self, ir: str, version: int) -> str:
        with self.scope("LLVM"):
            try:
                reply = compile_ir(
                    self.worker,
                    ir,
                    self.options.target,
                    ptx_version=version,
                    level=self.options.level,
                    pipeline=self.options.llvm_pipeline,
                )
            except ToolError as failure:
                if "Cannot select" in failure.message:
                    cpu = self.options.target.cpu
                    failure.diagnostics[0].note(
                        f"{cpu} may lack the instruction; choose another GPU with --gpu-name"
                    )
                raise self.placed(failure, "llvmir") from None
            if self.timing is not None:
                for step, seconds in reply.seconds.items():
                    if step != "wall":
                        self.timing.add(_LLVM_STEPS.get(step, step), seconds)
        self.result.warnings += reply.warnings
        ptx = reply.texts["ptx"]
        # DWARF describes inlined calls.
        complete = self.options.debug_info or "inlinedAt:" not in ir
        return ptx if complete else with_call_sites(ptx, self.inlined)

    def locate(self, again: Callable[[], str], version: int, assembler: Ptxas) -> None:
        """Assemble again from IR with locations; raises the error of ptxas if it now has a location."""
        try:
            ptx = self.ptx(again(), version)
            self.saved.pop("ptx", None)  # its line numbers do not refer to this text
            self.assemble(ptx, assembler)
        except ToolError as failure:
            if failure.location is not None:
                raise

    def placed(self, failure: ToolError, stage: Stage) -> ToolError:
        """An error about a line of a saved text, with the position in the file."""
        path = self.saved.get(stage)
        if failure.location is None and failure.line is not None and path is not None:
            failure.location = Position(path, failure.line, failure.column or 1)
            failure.diagnostics[0].location = failure.location
        return failure

    def assembler(self) -> Ptxas | None:
        """ptxas; None if it is missing but not needed."""
        options = self.options
        try:
            found = Ptxas.find(options.ptxas)
            # A ptxas that the user names but that reports no version is refused only when it is needed.
            found.max_ptx  # noqa: B018
        except ToolError:
            if options.until in ("cubin", "sass") or options.ptxas is not None:
                raise
            return None
        return found

    def assemble(self, ptx: str, assembler: Ptxas, lineinfo: bool = False) -> Assembled:
        options = self.options
        return assembler.assemble(
            ptx,
            arch=options.target.ptx_target,
            level=options.level,
            lineinfo=lineinfo or (options.lineinfo and not options.debug_info),
            debug_info=options.debug_info,
            options=options.ptxas_options,
            time_limit=options.ptxas_timeout,
            ptx_name=self.saved.get("ptx"),
        )

    def describe(self, ptx: str) -> Manifest:
        """Make the manifest. It has no registers before ptxas has run."""
        from tessera_tools.emit.kernels import kernels_of_ptx

        version = next(
            (line.split()[1] for line in ptx.splitlines() if line.startswith(".version")), ptx_text(80)
        )
        kernels = tuple(self.kernels or kernels_of_ptx(ptx))
        manifest = Manifest(self.options.target.cpu, version, kernels, plans=self.result.plans)
        self.result.manifest = manifest
        return manifest

    def from_ptx(self, ptx: str, assembler: Ptxas) -> None:
        """PTX to the cubin with its manifest, and to SASS."""
        from tessera_tools.emit.kernels import with_resources
        from tessera_tools.emit.resources import spill_warning

        options = self.options
        with self.scope("ptxas"):
            made = self.assemble(ptx, assembler)
        self.result.report = made.report
        self.result.ptxas_command = made.command
        self.result.warnings += [f"ptxas: {message.text}" for message in made.warnings]
        if {"-v", "--verbose"} & set(options.ptxas_options):
            self.result.ptxas_output = made.output
        for name, used in made.report.entries.items():
            warning = spill_warning(name, used)
            if warning:
                self.result.warnings.append(warning)
        manifest = self.result.manifest or self.describe(ptx)
        self.result.manifest = replace(manifest, kernels=with_resources(manifest.kernels, made.report))
        if self.reached("cubin", made.cubin) or (options.until != "sass" and not options.all_stages):
            return
        from tessera_tools.emit.sass import Nvdisasm

        try:
            with self.scope("nvdisasm"):
                sass = Nvdisasm.find(options.nvdisasm).disassemble(
                    made.cubin, lineinfo=options.lineinfo or options.debug_info
                )
        except ToolError as failure:
            if options.until == "sass":
                raise
            self.result.warnings.append(f"no SASS: {failure.message}")
            return
        self.reached("sass", sass)


_LLVM_STEPS = {"parse": "read IR", "verify": "verify IR", "codegen": "generate code", "print": "write text"}
"""The names of LLVM's steps in the timing report, where "parse" would look like our parser."""


def compile_module(
    module: Operation,
    options: Options,
    *,
    worker: Worker | None = None,
    timing: Timing | None = None,
    observers: Sequence[Observer] = (),
    statistics: Statistics | None = None,
    on_failure: OnFailure | None = None,
    on_stage: Callable[[Stage, str | bytes], str | None] | None = None,
) -> Compiled:
    """Compile IR of any stage; the module is changed in place.

    worker: LLVM's process, started early by the caller; by default one is started if needed, and closed.
    observers, statistics, on_failure: as for the pass manager.
    on_stage: called with the text of each stage when it is complete; returns the path of the saved file, for
        the positions of errors, or None.

    Raises DiagnosticError if a pass cannot lower the IR, and ToolError for errors of LLVM and ptxas.
    """
    from tessera_tools.dialects.llvm.module_ops import LLVMFunc
    from tessera_tools.emit.kernels import check_names, kernels_of_module

    run = _Run(options, worker, timing, on_stage)
    try:
        if options.explains:
            for op in module.walk():
                start = op.location.start()
                if start is not None:
                    run.ops.setdefault(start, op.name)
        run.lower(module, tuple(observers), on_failure, statistics)
        if options.until != "llvmir":
            check_names(module)
        run.kernels = kernels_of_module(module)
        run.locations = {op.sym_name.value: op.location for op in module.walk() if isinstance(op, LLVMFunc)}
        # Directives only: with a line table, LLVM writes `.target …, debug`, which ptxas refuses to optimize.
        debug: DebugLevel = "full" if options.debug_info else "directives" if options.lineinfo else "none"
        ir = run.llvm_ir(module, debug)
        run.from_llvm_ir(ir, None if debug != "none" else lambda: run.llvm_ir(module, "directives"))
    finally:
        if worker is None and run._worker is not None:
            run._worker.close()
    return run.result


def compile_text(
    text: str,
    kind: Stage,
    options: Options,
    *,
    worker: Worker | None = None,
    timing: Timing | None = None,
    on_stage: Callable[[Stage, str | bytes], str | None] | None = None,
    name: str | None = None,
) -> Compiled:
    """Compile LLVM IR (`kind` "llvmir") or PTX ("ptx"); `name` is the file name for errors in the text.

    Raises DiagnosticError as `compile_module` does.
    """
    if FORMATS.index(options.until) < FORMATS.index(kind):
        raise DiagnosticError(
            *ToolError(f"the input is {kind}, which cannot be converted back to {options.until}").diagnostics
        )
    run = _Run(options, worker, timing, on_stage)
    if name is not None:
        run.saved[kind] = name
    try:
        if kind == "llvmir":
            run.from_llvm_ir(text, None)
        elif run.reached("ptx", text):
            run.describe(text)
        else:
            assembler = run.assembler()
            assert assembler is not None
            run.from_ptx(text, assembler)
    finally:
        if worker is None and run._worker is not None:
            run._worker.close()
    return run.result
