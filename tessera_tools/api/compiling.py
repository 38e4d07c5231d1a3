"""`compile`: a tile program to a `Kernel` that holds every stage and can be launched.

path, text, bytecode, module or cuTile kernel ──compile──▶ Kernel ──[grid](arrays…)──▶ Result
"""

from __future__ import annotations

import linecache
import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from tessera_tools.api.inputs import (
    DEFAULT_GPU,
    find_target,
    is_binary,
    kind_of,
    parse_input,
    tuned_for_input,
)
from tessera_tools.api.interfaces import HasModule
from tessera_tools.api.parameters import Parameters, pointees_of
from tessera_tools.api.stage_texts import StageTexts, without_collection
from tessera_tools.diagnostics import Diagnostic, collect, error, plain_errors
from tessera_tools.emit.compile_cache import Entry, key_of, once
from tessera_tools.emit.compiled import Compiled, Options
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.tunables import TUNABLES, given_config
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.records import dataclass, field, replace
from tessera_tools.runtime.signature import Signature, of_kernel
from tessera_tools.target import Target, lookup

if TYPE_CHECKING:
    from tessera_tools.api.cutile import Arguments
    from tessera_tools.api.launching import Launcher
    from tessera_tools.emit.resources import Resources
    from tessera_tools.passes.base import Pass
    from tessera_tools.passes.manager import Observer
    from tessera_tools.report import Recording
    from tessera_tools.runtime import Result

__all__ = ["Kernel", "Layout", "compile"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one tensor of a kernel, as chosen by the TileAS passes."""

    op: str
    """The op that produces the tensor: `nv_tileas.load`."""
    type: str
    """The type with the layout, as MLIR text."""
    layout: str
    """Only the layout: `#nv_tileas.linear<…>`."""
    location: str
    """`file:line:column` in the source, or empty."""


@dataclass
class _Watch:
    """Observes the passes: their times, the layouts after the last of them, and on request the IR after each."""

    keep_ir: bool
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    ir: dict[str, str] = field(default_factory=dict[str, str])
    layouts: tuple[Layout, ...] = ()
    began: float = 0.0

    def before(self, pass_: Pass, op: Operation) -> None:
        self.began = time.perf_counter()

    def after(self, pass_: Pass, op: Operation) -> None:
        name = pass_.name
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - self.began
        if self.keep_ir:
            from tessera_tools.ir.printing import print_op

            self.ir[name] = print_op(op)
        if name == "tileas-insert-barriers":
            self.layouts = tuple(_layouts(op))

    def failed(self, pass_: Pass, op: Operation) -> None:
        pass


def _layouts(module: Operation) -> list[Layout]:
    from tessera_tools.ir.types import RankedTensorType

    found: list[Layout] = []
    for op in module.walk():
        for result in op.results:
            layout = result.type.encoding if isinstance(result.type, RankedTensorType) else None
            if layout is not None:
                place = op.location.start()
                where = ":".join(map(str, place)) if place is not None else ""
                found.append(Layout(op.name, str(result.type), str(layout), where))
    return found


class Kernel:
    """A compiled kernel: its stages as text, its properties, and how to launch it.

    Created by `compile`. `kernel[grid](a, b, 3)` launches it (`tessera_tools.api.launching`).
    The PTX is available immediately; the cubin, SASS and resources are computed on first use, because they need ptxas.

    >>> import numpy as np
    >>> kernel = compile("examples/vector_add.mlir", "sm_90a")
    >>> kernel
    <Kernel vector_add(a: ptr, a_len: i32, a_stride: i32, b: ptr, b_len: i32, b_stride: i32, c: ptr, c_len: i32, \
c_stride: i32) for sm_90a>
    >>> list(kernel.stages)
    ['cuda_tile', 'nv_tileaa', 'nv_tileas', 'llvm', 'llvmir', 'ptx']
    >>> a, c = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    >>> result = kernel[1](a, a, c)
    >>> bool((c == 2 * a).all()), result.findings.summary()
    (True, 'no findings')
    """

    def __init__(
        self, signature: Signature, target: Target, made: Compiled, manifest: Manifest, source: str
    ) -> None:
        self.name = signature.name
        self.signature = signature
        self.target = target
        self.source = source
        """The name of the input, for messages."""
        self.stages: Mapping[str, str | bytes] = MappingProxyType(made.stages)
        """The text of each stage: `cuda_tile`, `nv_tileaa`, `nv_tileas`, `llvm`, `llvmir`, `ptx`. Most launches need
        PTX only: the text of a stage of IR is made when it is first read."""
        self.warnings: list[str] = made.warnings
        self.remarks: list[Diagnostic] = []
        """Remarks and warnings of the passes, with their source locations."""
        self.seconds: Mapping[str, float] = {}
        """Wall time of each pass."""
        self.layouts: tuple[Layout, ...] = ()
        """The layout of every tensor, in the order of the program; empty if the input was below nv_tileas."""
        self.pointees: Mapping[int, str] = {}
        """Element type of each pointer parameter by index, if known from the input."""
        self._manifest = manifest
        self._ir: Mapping[str, str] = {}
        self._ptxas: str | None = None
        self._from_python = False
        """Whether `source` is the file of a function, whose lines the report shows."""
        self._input: tuple[bytes | Operation, Options, Target | None] | None = None
        """What was compiled, for a report."""
        self._recording: Recording | None = None
        """What the compilation did, if it was recorded; its code is added for the first report."""
        self._arguments: Arguments | None = None
        """Of a cuTile kernel."""

    def __repr__(self) -> str:
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.signature.wanted)
        return f"<Kernel {self.name}({parameters}) for {self.target.cpu}>"

    def __getitem__(self, grid: int | Sequence[int]) -> Launcher:
        """The kernel with a grid, ready to be called with its arguments: `kernel[(4, 2)](a, b)`."""
        from tessera_tools.api.launching import Launcher

        return Launcher(self, grid)

    def __call__(self, *args: object, **options: object) -> NoReturn:
        """A launch needs a grid: `kernel[grid](…)`."""
        raise TypeError(
            f"a launch of '{self.name}' needs a grid; expected kernel[grid](…), as kernel[(4, 2)](a, b)"
        )

    @property
    def ptx(self) -> str:
        """The PTX text."""
        found = self.stages["ptx"]
        assert isinstance(found, str)
        return found

    def after(self, name: str) -> str:
        """The IR after the pass `name` as MLIR text, if `compile` was called with `keep_ir=True`; `parse` reads it.

        Raises DiagnosticError.
        """
        if name not in self._ir:
            ran = ", ".join(self.seconds) or "none"
            hint = f"the passes that ran: {ran}" if self._ir or name not in self.seconds else None
            raise error(
                None,
                f"there is no IR of the pass '{name}'",
                hint or "compile with keep_ir=True to keep the IR after each pass",
            )
        return self._ir[name]

    @property
    def _has_lines(self) -> bool:
        return self._input is not None and self._input[1].lineinfo

    @cached_property
    def _assembled(self) -> Compiled:
        with plain_errors():
            from tessera_tools.emit.driver import compile_text

            options = Options(self.target, "cubin", lineinfo=self._has_lines, ptxas=self._ptxas)
            return compile_text(self.ptx, "ptx", options, name=f"<ptx of {self.source}>")

    @property
    def cubin(self) -> bytes:
        """The cubin, assembled by ptxas. Raises DiagnosticError if there is no ptxas or it refuses the PTX."""
        found = self._assembled.stages["cubin"]
        assert isinstance(found, bytes)
        return found

    @cached_property
    def sass(self) -> str:
        """The SASS, as nvdisasm prints it, with the source line of each instruction as a comment before it, unless
        `lineinfo` is False. Raises DiagnosticError."""
        with plain_errors():
            from tessera_tools.emit.driver import compile_text

            options = Options(self.target, "sass", lineinfo=self._has_lines, ptxas=self._ptxas)
            return compile_text(self.ptx, "ptx", options, name=f"<ptx of {self.source}>").text("sass")

    @property
    def resources(self) -> Resources:
        """Registers, shared memory and spills of this kernel. ptxas reports them, except dynamic shared memory, which
        is in the manifest. Raises DiagnosticError.

        >>> used = compile("examples/gemm.mlir", "sm_90a").resources
        >>> used.shared, used.dynamic_shared > 0, used.spills
        (0, True, False)
        """
        report = self._assembled.report
        assert report is not None
        return replace(
            report.entries[self.name], dynamic_shared=self._manifest.kernel(self.name).dynamic_shared
        )

    def report(self, path: str | os.PathLike[str], result: Result | None = None) -> None:
        """Write a page (HTML) with all stages side by side, the passes, layouts, shared memory, schedule and resources.

        The first report of a program that was not compiled with `keep_ir=True` compiles it once more, to record how.
        result: what a launch returned, whose findings and estimate
        (`timing=True`) are shown too. Raises DiagnosticError; the file is written completely or not at all.
        """
        from tessera_tools.api.reports import clock_of, findings_of, record_input
        from tessera_tools.emit.files import write_output
        from tessera_tools.report import add_python, complete, report_page

        assert self._input is not None
        read, options, target = self._input
        if self._recording is None:
            self._recording = record_input(read, self.source, options, target)
        recording = self._recording
        if "ptx" not in recording.stages:
            made = Compiled(dict(self.stages), manifest=self._manifest)
            complete(recording, made, replace(options, target=self.target))
        if self._from_python and "python" not in recording.stages:
            add_python(recording, "".join(linecache.getlines(self.source)))
        findings = None if result is None else findings_of(result.findings, f"<ptx of {self.source}>")
        clock = None if result is None else clock_of(result.estimate)
        write_output(os.fspath(path), report_page(recording, clock=clock, findings=findings))

    @property
    def manifest(self) -> Manifest:
        """The launch manifest; with registers after the cubin was assembled."""
        if "_assembled" in self.__dict__ and self._assembled.report is not None:
            from tessera_tools.emit.kernels import with_resources

            kernels = with_resources(self._manifest.kernels, self._assembled.report)
            return Manifest(self._manifest.target, self._manifest.ptx_version, tuple(kernels))
        return self._manifest


def compile(
    source: object,
    target: str | None = None,
    *,
    args: Sequence[object] | None = None,
    must_alias: bool = False,
    entry: str | None = None,
    num_warps: int | None = None,
    num_consumer_warpgroups: int | None = None,
    ping_pong: str | None = None,
    agents: str | None = None,
    cluster: str | None = None,
    persistent: str | None = None,
    raster: str | None = None,
    launches: str | None = None,
    split_k: int | None = None,
    num_stages: int | None = None,
    tuned: str | os.PathLike[str] | None = None,
    shapes: str | None = None,
    abi: str = "default",
    keep_ir: bool = False,
    lineinfo: bool = True,
    ptxas: str | None = None,
    name: str | None = None,
    cache: bool = True,
) -> Kernel:
    """Compile a tile program for a GPU; no GPU is needed.

    source: the path of a file (`.mlir`, `.mlirbc`, `.tileirbc`, `.ll`, `.ptx`), the text itself, bytecode, a module
        (`tessera_tools.parse`), or a kernel of the package `cuda-tile` (`@ct.kernel`), which also needs `args`.
    target: `sm_80`, `sm_90a`, `H100` …; by default the target of the input, or sm_80.
    args: the arguments of a launch, for a cuTile kernel: their types, strides and constants are compiled in.
    must_alias: an array that `args` has twice, for two parameters, is one array in each launch, and is read once.
    entry: the kernel, if the program has several.
    num_warps: warps of the kernel, all in one group; if 0, chosen from the tiles. It and the options up to `num_stages`
        replace those of a kernel in Python (`Function.with_options`), also by the compiler's choice: `0`, `"auto"`.
    num_consumer_warpgroups: warpgroups that compute the products of a kernel with agents, 1, 2 or 4; 0 chooses.
    ping_pong: whether these warpgroups take turns with the tensor cores: `auto` (where that takes less time), `always`,
        `never`, or by the `tiles` of a persistent kernel.
    agents: which roles warps have: `none`, a `producer` of tiles beside consumers, on GPUs with tensor memory
        `multipliers` or also an agent for the `correction` of sums; `auto` chooses what takes less time.
    persistent: what gives a CTA its next tile block: `static` (a stride), `counter` (in memory), `cancel` (cluster
        launch control); `never` launches a CTA for each.
    raster: the order of tile blocks in the grid: `rows`, `reversed:N`, `grouped:N` or `hilbert:N`.
    launches: `any`, or `large` if launches have more tile blocks than run at once: clusters of tile blocks and
        persistence are then chosen where they take less time.
    split_k: the CTAs of a cluster that share the iterations of a loop with products, and then add their sums: 2, 4 or
        8; for few tile blocks and long loops.
    num_stages: iterations of a loop whose tiles are in shared memory at the same time; 0 chooses.
    tuned: a file of tessera-tune's results, which choose the options above; a warning if it has none for this kernel.
    shapes: the class of shapes in that file, if it has several.
    abi: `plain` allows only the declared parameters: no hidden tensor maps.
    keep_ir: keep the IR after each pass, for `Kernel.after`, and what `Kernel.report` shows.
    lineinfo: findings of the simulated GPU and SASS have source lines.
    ptxas: the path of ptxas, if it is not the one on PATH.
    name: the name in messages of a source that is not a file.
    cache: use the compile cache; ignored with `keep_ir`.

    Raises DiagnosticError, whose text has the position in the source: for a program that is not valid or not
    supported, an unknown target or entry. Raises FileNotFoundError for a path that does not exist.

    >>> kernel = compile("examples/vector_add.mlir", "sm_90a")
    >>> kernel.name
    'vector_add'
    >>> ".target sm_90a" in kernel.ptx
    True
    """
    with plain_errors():
        if abi not in ("default", "plain"):
            raise error(None, f"the abi is '{abi}'; expected default or plain")
        given = {
            "num_warps": num_warps,
            "num_consumer_warpgroups": num_consumer_warpgroups,
            "num_stages": num_stages,
            "ping_pong": ping_pong,
            "agents": agents,
            "cluster": cluster,
            "split_k": split_k,
            "persistent": persistent,
            "raster": raster,
            "launches": launches,
        }
        given = {name: value for name, value in given.items() if value is not None}
        for one in TUNABLES:
            if one.name in given:
                one.check(given[one.name])
        if isinstance(source, HasModule):
            given = {**source.options, **given}
        if target is not None and not isinstance(target, str):
            raise error(None, f"target is {target!r}; expected the name of a GPU, such as 'sm_90a'")
        wanted = find_target(target) if target is not None else None
        read, label, arguments = _read(source, args, wanted, name, must_alias)
        if must_alias and arguments is None:
            raise error(None, f"must_alias= is for cuTile kernels; found {label}")
        parameters = arguments.parameters if arguments is not None else Parameters()
        if isinstance(read, bytes) and tuned is None and kind_of(label, read) != "mlir":
            return _compile_text(read, label, wanted, entry, ptxas)
        config = given_config(given)
        told: list[Diagnostic] = []
        if tuned is not None:
            if not isinstance(read, bytes):
                raise error(None, "tuned= needs text, bytecode or a file; found a module")
            with collect() as told:
                config = tuned_for_input(
                    os.fspath(tuned), read, label, target, config, entry=entry, shapes=shapes
                )
        options = Options(
            wanted or find_target(DEFAULT_GPU),
            "ptx",
            lineinfo=lineinfo,
            ptxas=ptxas,
            **config,
            plain_abi=abi == "plain",
            verify_each=True if keep_ir else None,
            explains=True,
            keep_stages=keep_ir or isinstance(read, Operation),
        )
        watch = _Watch(keep_ir)
        key = None
        if cache and not keep_ir:
            data = read if isinstance(read, bytes) else print_op(read, debuginfo=True).encode()
            data += parameters.key()
            key = key_of(data, label, options, wanted, api=True)
        recording = None
        if keep_ir and lineinfo:
            from tessera_tools.report import Recording

            recording = Recording(label)
        with collect() as remarks, without_collection():
            found = once(
                key,
                label,
                lambda: _compile_module(read, label, wanted, options, watch, recording, parameters),
            )
        assert found.compiled.manifest is not None
        kernel = _kernel(lookup(found.compiled.manifest.target), found.compiled, entry, label)
        kernel.remarks, kernel._ir, kernel._ptxas = [*told, *remarks], watch.ir, ptxas
        if isinstance(read, bytes) and not options.keep_stages:
            again = partial(_texts, read, label, replace(options, target=kernel.target), parameters)
            kernel.stages = StageTexts(found.facts["stages"], found.compiled.stages, again)
        kernel._arguments = arguments
        kernel._from_python = not isinstance(source, str | bytes | bytearray | os.PathLike | Operation)
        kernel._input = (_described(read, label, parameters), options, wanted)
        kernel._recording = recording
        kernel.seconds = dict(found.facts["seconds"])
        kernel.layouts = tuple(Layout(*layout) for layout in found.facts["layouts"])
        pointees = found.facts["pointees"].get(kernel.name, [])
        kernel.pointees = {number: name for number, name in enumerate(pointees) if name is not None}
        return kernel


def _compile_module(
    read: bytes | Operation,
    label: str,
    target: Target | None,
    options: Options,
    watch: _Watch,
    recording: Recording | None,
    parameters: Parameters,
) -> Entry:
    """Compile IR to PTX, with the properties of a `Kernel`, and record it."""
    from tessera_tools.emit.driver import compile_module, declared_target, stage_of
    from tessera_tools.emit.worker import warm
    from tessera_tools.passes.table import stages_from

    # LLVM starts while the module is read and lowered.
    worker = warm()
    module = _module(read, label)
    parameters.describe(module)
    stages = stages_from(stage_of(module))
    chosen = target or find_target(declared_target(module) or DEFAULT_GPU)
    pointees = pointees_of(module)
    options = replace(options, target=chosen)

    def compiled(*observers: Observer) -> Compiled:
        return compile_module(module, options, worker=worker, observers=(watch, *observers))

    if recording is None:
        made = compiled()
    else:
        from tessera_tools.report import record_module

        source = read.decode("utf-8", "replace") if isinstance(read, bytes) and not is_binary(read) else None
        made = record_module(module, recording, options, source, compile=compiled, add_code=False)
    layouts = [[one.op, one.type, one.layout, one.location] for one in watch.layouts]
    facts = {"seconds": watch.seconds, "layouts": layouts, "pointees": pointees, "stages": list(stages)}
    return Entry(made, facts=facts)


def _texts(read: bytes, label: str, options: Options, parameters: Parameters) -> Mapping[str, str | bytes]:
    """The text of each stage of IR, by lowering the input once more."""
    from tessera_tools.emit.driver import compile_module

    options = replace(options, until="llvmir", keep_stages=True, explains=False)
    with plain_errors(), collect():
        module = _module(read, label)
        parameters.describe(module)
        return compile_module(module, options).stages


def _read(
    source: object,
    args: Sequence[object] | None,
    target: Target | None,
    name: str | None,
    must_alias: bool,
) -> tuple[bytes | Operation, str, Arguments | None]:
    """The source as bytes or a module, its name in messages, and the arguments of a cuTile kernel."""
    if isinstance(source, Operation):
        return source, name or "<module>", None
    if isinstance(source, bytes | bytearray):
        return bytes(source), name or "<bytes>", None
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source)):
        path: str = os.fspath(source)
        with open(path, "rb") as file:
            return file.read(), name or path, None
    if isinstance(source, str):
        return source.encode(), name or "<text>", None
    if isinstance(source, HasModule):
        module, label = source.__tessera_module__(args)
        return module, name or label, None
    from tessera_tools.api.cutile import export, is_kernel

    if not is_kernel(source):
        what = type(source).__name__
        raise TypeError(
            f"cannot compile a {what}; expected a path, text, bytes, a module, or a "
            "function with @cuda.tile.kernel or @tessera_tools.dsl.kernel"
        )
    return export(source, args, target, must_alias=must_alias)


def _is_path(text: str) -> bool:
    """True if the text is the path of a file: it is one line, and has a known suffix or exists."""
    if "\n" in text or "{" in text:
        return False
    return os.path.splitext(text)[1] in _FILES or os.path.exists(text)


_FILES = (".mlir", ".mlirbc", ".tileirbc", ".ll", ".ptx", ".cubin")


def _module(read: bytes | Operation, label: str) -> Operation:
    """A copy of the module, which may be modified."""
    from tessera_tools.ir.verifier import verify_or_raise

    if isinstance(read, Operation):
        module = read.clone()
        verify_or_raise(module)
        return module
    module = parse_input(read, label)
    if not is_binary(read):
        verify_or_raise(module)
    return module


def _compile_text(
    data: bytes, label: str, target: Target | None, entry: str | None, ptxas: str | None
) -> Kernel:
    """LLVM IR or PTX to a kernel."""
    from tessera_tools.emit.driver import compile_text, target_of_text
    from tessera_tools.emit.worker import warm

    kind = kind_of(label, data)
    if kind == "cubin":
        raise error(None, f"'{label}' is a cubin, which cannot be compiled further")
    text = data.decode("utf-8", "replace")
    chosen = target or find_target(target_of_text(text, kind) or DEFAULT_GPU)
    options = Options(chosen, "ptx", ptxas=ptxas)
    made = compile_text(text, kind, options, worker=warm() if kind == "llvmir" else None, name=label)
    kernel = _kernel(chosen, made, entry, label)
    kernel._input = (data, options, target)
    kernel._ptxas = ptxas
    return kernel


def _kernel(target: Target, made: Compiled, entry: str | None, label: str) -> Kernel:
    manifest = made.manifest
    assert manifest is not None
    names = [kernel.name for kernel in manifest.kernels]
    if entry is None and len(names) != 1:
        listed = ", ".join(f"'{one}'" for one in names) or "none"
        raise error(None, f"'{label}' has {len(names)} kernels: {listed}", "select one with entry=")
    if entry is not None and entry not in names:
        listed = ", ".join(f"'{one}'" for one in names) or "none"
        raise error(None, f"'{label}' has no kernel '{entry}'; found {listed}")
    return Kernel(of_kernel(manifest.kernel(entry)), target, made, manifest, label)


def _described(read: bytes | Operation, label: str, parameters: Parameters) -> bytes | Operation:
    """What was compiled, with what is known of the parameters."""
    if isinstance(read, bytes) and not parameters.names:
        return read
    module = _module(read, label)
    parameters.describe(module)
    return module
