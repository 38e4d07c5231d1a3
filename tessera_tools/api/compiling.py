"""`compile`: a tile program to a `Kernel` that holds every stage and can be launched.

path, text, bytecode, module or cuTile kernel ──compile──▶ Kernel ──[grid](arrays…)──▶ Result
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tessera_tools.api.inputs import DEFAULT_GPU, find_target, kind_of, parse_input
from tessera_tools.bytecode.version import is_bytecode
from tessera_tools.diagnostics import Diagnostic, collect, error
from tessera_tools.emit.driver import (
    Compiled,
    Options,
    compile_module,
    compile_text,
    declared_target,
    stage_of,
    target_of_text,
)
from tessera_tools.emit.kernels import kernels_of_module, kernels_of_ptx, with_resources
from tessera_tools.emit.manifest import Manifest
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.runtime.signature import Signature, of_kernel
from tessera_tools.target import Target

if TYPE_CHECKING:
    from tessera_tools.api.launching import Launcher
    from tessera_tools.emit.resources import Resources
    from tessera_tools.passes.base import Pass

__all__ = ["Kernel", "Layout", "compile"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one tensor of a kernel, as the TileAS passes chose it."""

    op: str
    """The op that produces the tensor: `nv_tileas.load`."""
    type: str
    """The type with the layout, in MLIR's words."""
    layout: str
    """The layout alone: `#nv_tileas.linear<…>`."""
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
    """A compiled kernel: its stages as text, what is known of it, and a way to launch it.

    Made by `compile`. `kernel[grid](a, b, 3)` launches it (`tessera_tools.api.launching`).
    PTX is made at once; the cubin, SASS and resources when they are first asked for, because they need ptxas.
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
        """The text of each stage that was made: `cuda_tile`, `nv_tileaa`, `nv_tileas`, `llvm`, `llvmir`, `ptx`."""
        self.warnings: list[str] = made.warnings
        self.remarks: list[Diagnostic] = []
        """Remarks and warnings of the passes, with their source locations."""
        self.seconds: Mapping[str, float] = {}
        """Wall time of each pass."""
        self.layouts: tuple[Layout, ...] = ()
        """The layout of every tensor, in the order of the program; empty if the input was below nv_tileas."""
        self.pointees: Mapping[int, str] = {}
        """Element type of each pointer parameter by its index, as far as the input tells."""
        self._manifest = manifest
        self._ir: Mapping[str, str] = {}
        self._ptxas: str | None = None

    def __repr__(self) -> str:
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.signature.wanted)
        return f"<Kernel {self.name}({parameters}) for {self.target.cpu}>"

    def __getitem__(self, grid: int | Sequence[int]) -> Launcher:
        """The kernel with a grid, ready to be called with its arguments: `kernel[(4, 2)](a, b)`."""
        from tessera_tools.api.launching import Launcher

        return Launcher(self, (grid,) if isinstance(grid, int) else tuple(grid))

    @property
    def ptx(self) -> str:
        """The PTX text."""
        found = self.stages["ptx"]
        assert isinstance(found, str)
        return found

    def after(self, name: str) -> str:
        """The IR after the pass `name`, if `compile` was called with `keep_ir=True`. Raises DiagnosticError."""
        if name not in self._ir:
            ran = ", ".join(self.seconds) or "none"
            hint = f"the passes that ran: {ran}" if self._ir or name not in self.seconds else None
            raise error(
                None,
                f"there is no IR of the pass '{name}'",
                hint or "compile with keep_ir=True to keep the IR after each pass",
            )
        return self._ir[name]

    @cached_property
    def _assembled(self) -> Compiled:
        options = Options(self.target, "cubin", ptxas=self._ptxas)
        return compile_text(self.ptx, "ptx", options, name=f"<ptx of {self.source}>")

    @property
    def cubin(self) -> bytes:
        """The cubin, made by ptxas. Raises DiagnosticError if there is no ptxas or it refuses the PTX."""
        found = self._assembled.stages["cubin"]
        assert isinstance(found, bytes)
        return found

    @cached_property
    def sass(self) -> str:
        """The SASS, as nvdisasm prints it. Raises DiagnosticError."""
        options = Options(self.target, "sass", ptxas=self._ptxas)
        return compile_text(self.ptx, "ptx", options, name=f"<ptx of {self.source}>").text("sass")

    @property
    def resources(self) -> Resources:
        """Registers, shared memory and spills of this kernel as ptxas reports them. Raises DiagnosticError."""
        report = self._assembled.report
        assert report is not None
        return report.entries[self.name]

    @property
    def manifest(self) -> Manifest:
        """What a launcher must know; with registers once the cubin was made."""
        if "_assembled" in self.__dict__ and self._assembled.report is not None:
            kernels = with_resources(self._manifest.kernels, self._assembled.report)
            return Manifest(self._manifest.target, self._manifest.ptx_version, tuple(kernels))
        return self._manifest


def compile(
    source: object,
    target: str | None = None,
    *,
    args: Sequence[Any] | None = None,
    entry: str | None = None,
    num_warps: int = 0,
    abi: str = "default",
    keep_ir: bool = False,
    lineinfo: bool = True,
    ptxas: str | None = None,
    name: str | None = None,
) -> Kernel:
    """Compile a tile program for a GPU; no GPU is needed.

    source: the path of a file (`.mlir`, `.tileirbc`, `.ll`, `.ptx`), the text itself, bytecode, a module
        (`tessera_tools.parse`), or a kernel of the package `cuda-tile` (`@ct.kernel`), which also needs `args`.
    target: `sm_80`, `sm_90a`, `H100` …; the target that the input names, or sm_80.
    args: the arguments of a launch, for a cuTile kernel: their types, strides and constants are compiled in.
    entry: the kernel, if the program has several.
    num_warps: warps of the kernel, all in one group; 0 chooses by the tiles.
    abi: `plain` allows only the declared parameters: no hidden tensor maps.
    keep_ir: whether to keep the IR after each pass, for `Kernel.after`.
    lineinfo: whether findings of the simulated GPU and SASS name the lines of the source.
    ptxas: the path of ptxas, if it is not the one on PATH.
    name: what messages call a source that is not a file.

    Raises DiagnosticError, whose text has the position in the source: for a program that is not valid or not
    supported, an unknown target or entry. Raises FileNotFoundError for a path that does not exist.

    >>> kernel = compile("examples/vector_add.mlir", "sm_90a")
    >>> kernel.name
    'vector_add'
    >>> ".target sm_90a" in kernel.ptx
    True
    """
    if abi not in ("default", "plain"):
        raise error(None, f"the abi is '{abi}'; expected default or plain")
    wanted = find_target(target) if target is not None else None
    read, label = _read(source, args, wanted, name)
    if isinstance(read, bytes) and kind_of(label, read) != "mlir":
        return _compile_text(read, label, wanted, entry, ptxas)
    module = _module(read, label)
    chosen = wanted or find_target(declared_target(module) or DEFAULT_GPU)
    pointees = _pointees(module)
    watch = _Watch(keep_ir)
    options = Options(
        chosen,
        "ptx",
        lineinfo=lineinfo,
        ptxas=ptxas,
        num_warps=num_warps,
        plain_abi=abi == "plain",
        explains=True,
        keep_stages=True,
    )
    with collect() as remarks:
        made = compile_module(module, options, observers=(watch,))
    manifest = _manifest(chosen, made, kernels_of_module(module))
    kernel = _kernel(manifest, chosen, made, entry, label)
    kernel.remarks = remarks
    kernel.seconds, kernel._ir, kernel.layouts = watch.seconds, watch.ir, watch.layouts
    kernel.pointees = pointees.get(kernel.name, {})
    kernel._ptxas = ptxas
    return kernel


def _read(
    source: object, args: Sequence[Any] | None, target: Target | None, name: str | None
) -> tuple[bytes | Operation, str]:
    """What was given as bytes or a module, and what messages call it."""
    if isinstance(source, Operation):
        return source, name or "<module>"
    if isinstance(source, bytes | bytearray):
        return bytes(source), name or "<bytes>"
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source)):
        path: str = os.fspath(source)
        with open(path, "rb") as file:
            return file.read(), name or path
    if isinstance(source, str):
        return source.encode(), name or "<text>"
    from tessera_tools.api.cutile import export, is_kernel

    if not is_kernel(source):
        what = type(source).__name__
        raise TypeError(f"cannot compile a {what}; expected a path, text, bytes, a module or a cuTile kernel")
    return export(source, args, target)


def _is_path(text: str) -> bool:
    """True if the text is the path of a file: it is one line, and ends like a file or exists."""
    if "\n" in text or "{" in text:
        return False
    return os.path.splitext(text)[1] in (".mlir", ".tileirbc", ".ll", ".ptx", ".cubin") or os.path.exists(
        text
    )


def _module(read: bytes | Operation, label: str) -> Operation:
    """A module that may be changed: what is given is copied."""
    from tessera_tools.ir.verifier import verify_or_raise

    if isinstance(read, Operation):
        module = read.clone()
        verify_or_raise(module)
        return module
    module = parse_input(read, label)
    if not is_bytecode(read):
        verify_or_raise(module)
    return module


def _compile_text(
    data: bytes, label: str, target: Target | None, entry: str | None, ptxas: str | None
) -> Kernel:
    """LLVM IR or PTX to a kernel."""
    kind = kind_of(label, data)
    if kind == "cubin":
        raise error(None, f"'{label}' is a cubin, which cannot be compiled further")
    text = data.decode("utf-8", "replace")
    chosen = target or find_target(target_of_text(text, kind) or DEFAULT_GPU)
    made = compile_text(text, kind, Options(chosen, "ptx", ptxas=ptxas), name=label)
    manifest = _manifest(chosen, made, kernels_of_ptx(made.text("ptx")))
    kernel = _kernel(manifest, chosen, made, entry, label)
    kernel._ptxas = ptxas
    return kernel


def _manifest(target: Target, made: Compiled, kernels: Sequence[Any]) -> Manifest:
    ptx = made.text("ptx")
    version = next((line.split()[1] for line in ptx.splitlines() if line.startswith(".version")), "0")
    return Manifest(target.cpu, version, tuple(kernels), plans=made.plans)


def _kernel(manifest: Manifest, target: Target, made: Compiled, entry: str | None, label: str) -> Kernel:
    names = [kernel.name for kernel in manifest.kernels]
    if entry is None and len(names) != 1:
        listed = ", ".join(f"'{one}'" for one in names) or "none"
        raise error(None, f"'{label}' has {len(names)} kernels: {listed}", "name one with entry=")
    if entry is not None and entry not in names:
        listed = ", ".join(f"'{one}'" for one in names) or "none"
        raise error(None, f"'{label}' has no kernel '{entry}'; found {listed}")
    return Kernel(of_kernel(manifest.kernel(entry)), target, made, manifest, label)


def _pointees(module: Operation) -> dict[str, dict[int, str]]:
    """Kernel → index of the parameter → element type of the pointer, for entries of cuda_tile."""
    found: dict[str, dict[int, str]] = {}
    if stage_of(module) != "cuda_tile":
        return found
    for op in module.walk():
        if op.name != "cuda_tile.entry":
            continue
        types: dict[int, str] = {}
        for number, argument in enumerate(op.regions[0].entry.arguments):
            pointer = getattr(argument.type, "element", None)
            pointee = getattr(pointer, "pointee", None)
            if pointee is not None:
                types[number] = str(pointee)
        found[str(getattr(op.attributes["sym_name"], "value", ""))] = types
    return found
