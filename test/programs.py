"""cuda_tile programs as text: compiled through every stage, and run as PTX on the simulated GPU.

    text = program("%y = addf %a, %b : tile<64xf32>", {"a": ("f32", (64,)), "b": ("f32", (64,))}, {"y": ("f32", (64,))})
    [y] = run(text, a, b, empty("f32", (64,)), target="sm_90a")[2:]
    check_tools(text, "sm_90a")        # mlir-opt takes the llvm stage, ptxas the PTX

Element types are cuda_tile's words. Those that NumPy lacks (bf16, f8E4M3FN, …) are held as patterns, see
tessera_tools/runtime/types.py: `encode` and `decode` go between float64 and such arrays.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import functools
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from run_cache import once_in_a_run

from oracles import require_tool
from tessera_tools.emit.driver import Compiled as Assembled
from tessera_tools.emit.driver import Options, compile_module, compile_text
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.worker import Worker
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.runtime import Result, lookup_type
from tessera_tools.runtime.simulated import SimulatedDevice, SimulatedModule
from tessera_tools.sim.findings import Finding, Findings
from tessera_tools.sim.machine import StopLaunch
from tessera_tools.target import lookup

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
"""One target of each generation, on which every program must compile and run."""

Array = np.ndarray[Any, Any]
Declared = tuple[str, Sequence[int]]
"""(element type, shape) of a tensor."""


@dataclass(frozen=True)
class Compiled:
    """A compiled program: the PTX, what a launch needs, and how to get the llvm stage as MLIR text."""

    ptx: str
    manifest: Manifest
    lower: Callable[[], str] | None = None
    """Prints the llvm stage. Few tests ask for it, and to print it takes a quarter of a compilation."""

    @property
    def llvm(self) -> str:
        """The llvm stage as MLIR text."""
        assert self.lower is not None
        return self.lower()


@functools.cache
def worker() -> Worker:
    """One LLVM process for all programs of the test run."""
    worker = Worker.start()
    atexit.register(worker.close)
    return worker


@once_in_a_run
def compiled(
    text: str,
    target: str = "sm_80",
    level: int = 3,
    ping_pong: str = "auto",
    cluster: str = "auto",
    persistent: str = "auto",
    raster: str = "auto",
    launches: str = "any",
    plain_abi: bool = False,
    split_k: int = 0,
    agents: str = "auto",
) -> Compiled:
    """Compile cuda_tile text to PTX, once for each target. Raises DiagnosticError."""
    options = Options(
        lookup(target),
        until="ptx",
        level=level,
        ping_pong=ping_pong,
        cluster=cluster,
        persistent=persistent,
        raster=raster,
        launches=launches,
        plain_abi=plain_abi,
        split_k=split_k,
        agents=agents,
    )
    choices = (ping_pong, cluster, persistent, raster, launches, plain_abi, split_k, agents)
    made_by = (compiled, text, target, level, *choices)
    return compiled_module(parse_module(text, "program.mlir"), options, made_by)


def compiled_module(module: Operation, options: Options, made_by: tuple[Any, ...]) -> Compiled:
    """Compile a module to PTX. `made_by`: the function that the test called for it, and its arguments."""
    made = compile_module(module, options, worker=worker())
    ptx = made.text("ptx")
    version = re.search(r"^\.version (\S+)", ptx, re.MULTILINE)
    assert version is not None
    make, *args = made_by
    key = (make.__module__, *args)
    _LOWERED[key] = module
    while len(_LOWERED) > _MOST_LOWERED:
        del _LOWERED[next(iter(_LOWERED))]
    manifest = Manifest(options.target.cpu, version[1], tuple(kernels_of_module(module)))
    return Compiled(ptx, manifest, functools.partial(_print_lowered, make, key))


_LOWERED: dict[tuple[Any, ...], Operation] = {}
_MOST_LOWERED = 32
"""How many modules stay at their llvm stage."""


def _print_lowered(make: Any, key: tuple[Any, ...]) -> str:
    """The llvm stage of what `make` compiled; if another worker did, or if it was long ago, compile it again."""
    if key not in _LOWERED:
        make.__wrapped__(*key[1:])
    return print_op(_LOWERED[key])


def launch(
    text: str,
    *args: Any,
    target: str = "sm_80",
    grid: Sequence[int] = (1,),
    entry: str | None = None,
    seed: int | None = None,
    level: int = 3,
    ping_pong: str = "auto",
    cluster: str = "auto",
    persistent: str = "auto",
    raster: str = "auto",
    launches: str = "any",
    plain_abi: bool = False,
    split_k: int = 0,
    **options: Any,
) -> tuple[list[Array], Result]:
    """Compile and run a program; (the arrays afterwards, the launch's result).

    `args`: an argument for each parameter of the entry, in order. A NumPy array with a shape is copied into a buffer
    and passed as its address; NumPy scalars and Python numbers are passed as they are. The returned list has an
    array for each array among `args`; the caller's stay as they are. `seed` is the schedule's, a fresh one unless
    told, and printed; `options` are SimulatedDevice's (mode, stats, …). Asserts that there are no findings.
    """
    choices = (ping_pong, cluster, persistent, raster, launches, plain_abi, split_k)
    made = compiled(text, target, level, *choices)
    seed = fresh_seed("schedule") if seed is None else seed
    arrays, result = launch_ptx(
        made, args, target, grid, file="program.ptx", entry=entry, seed=seed, **options
    )
    assert not result.findings, result.findings.text("program")
    return arrays, result


def launch_ptx(
    made: Compiled,
    args: Sequence[Any],
    target: str,
    grid: Sequence[int],
    *,
    file: str,
    entry: str | None = None,
    **options: Any,
) -> tuple[list[Array], Result]:
    """Run what was compiled: (the arrays afterwards, the launch's result; its findings are the caller's to see).

    Neither a program that was run before nor one that differs from it in an instruction is read again, which takes
    longer than most launches.
    """
    key = (made.ptx, made.manifest.to_json(), target, file)
    ready = _LOADED.pop(key, None) or _edited(key, made) or _Loaded(made, target, file)
    found = ready.launch(args, grid, entry, options)
    # Only after a launch that ended in order; the last used is the last to go.
    _LOADED[key] = ready
    while len(_LOADED) > _MOST_LOADED:
        del _LOADED[next(iter(_LOADED))]
    return found


class _FirstFinding(Findings):
    def add(self, finding: Finding) -> None:
        super().add(finding)
        raise StopLaunch


@contextlib.contextmanager
def stopped_by_findings() -> Iterator[None]:
    """Launches end with their first finding. For a test, or a function of it, that asks only whether there is one."""
    with mock.patch("tessera_tools.sim.launch.Findings", _FirstFinding):
        yield


_MOST_LOADED = 8
"""How many programs stay loaded."""


class _Loaded:
    """A program on a simulated GPU of its own, whose memory each launch finds as it was after loading."""

    def __init__(self, made: Compiled, target: str, file: str) -> None:
        self.gpu = SimulatedDevice(gpu_name=target, processes=1)
        self.module = self.gpu.load(made.ptx, made.manifest, file=file)
        self.next = self.gpu.memory.next
        self.variables = [(region, region.data.copy()) for region in self.gpu.memory.regions]
        self.is_read = True
        """Whether its lines are those of the text."""

    def edited(self, made: Compiled, edits: Mapping[int, str]) -> _Loaded:
        """The program with other instructions at some lines."""
        one = copy.copy(self)
        one.is_read = False
        inner, target = self.module.inner.edited(edits), self.module.target
        one.module = SimulatedModule(self.gpu, inner, target, made.manifest, made.ptx)
        return one

    def launch(
        self, args: Sequence[Any], grid: Sequence[int], entry: str | None, options: dict[str, Any]
    ) -> tuple[list[Array], Result]:
        buffers = [
            self.gpu.buffer(value, f"argument {number}")
            if isinstance(value, np.ndarray) and value.ndim
            else None
            for number, value in enumerate(args)
        ]
        given = [value if buffer is None else buffer for value, buffer in zip(args, buffers, strict=True)]
        result = self.module.kernel(entry).launch(grid, given, **options)
        arrays = [buffer.array() for buffer in buffers if buffer is not None]
        memory = self.gpu.memory
        memory.regions[:] = [region for region, _ in self.variables]
        memory.next, memory.recent = self.next, None
        for region, data in self.variables:
            region.data[:] = data
            region.state, region.states = None, {}
        return arrays, result


_Key = tuple[str, str, str, str]
_LOADED: dict[_Key, _Loaded] = {}
"""By PTX, manifest, target and file; the last used is the last."""


def _edited(key: _Key, made: Compiled) -> _Loaded | None:
    """The program of `key`, if a loaded one differs from it in an instruction."""
    for other, one in reversed(_LOADED.items()):
        if one.is_read and other[1:] == key[1:] and (edits := edits_between(other[0], key[0])) is not None:
            _LOADED[other] = _LOADED.pop(other)
            return one.edited(made, edits)
    return None


_INSTRUCTION = re.compile(r"\s+(?:@!?[%$\w]+\s+)?[a-z][^;{}]*(?:\{[^;{}]*\}[^;{}]*)*;")
_OF_SCOPE = re.compile(r"\s*(?:\.reg [^;]+;|[$\w]+:|[{}]|)")


def edits_between(before: str, after: str) -> dict[int, str] | None:
    """The instructions by line of `before` that make `after` of it (sim/module.py, `Module.edited`); None if that takes
    a label, a declaration, or an instruction more."""
    old, new = before.split("\n"), after.split("\n")
    shorter = min(len(old), len(new))
    same = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    behind = next((n for n in range(shorter - same) if old[-1 - n] != new[-1 - n]), shorter - same)
    removed = range(same, len(old) - behind)
    added = [line for line in new[same : len(new) - behind] if line.strip()]
    edits = {n + 1: "" for n in removed if _INSTRUCTION.fullmatch(old[n])}
    if not edits or len(added) > 1 or not all(map(_INSTRUCTION.fullmatch, added)):
        return None
    others = [old[n].strip() for n in removed if n + 1 not in edits]
    # A whole scope may go: nothing outside knows its names.
    if any(others) and not (
        others[0] == "{" and others[-1] == "}" and others.count("{") == others.count("}") == 1
    ):
        return None
    if not all(map(_OF_SCOPE.fullmatch, others)):
        return None
    if added:
        edits[next(iter(edits))] = added[0]
    return edits


def run(text: str, *args: Any, **options: Any) -> list[Array]:
    """As `launch`, the arrays alone."""
    return launch(text, *args, **options)[0]


def check_tools(text: str | Sequence[str], *targets: str) -> None:
    """Assert that mlir-opt takes the llvm stage of programs, and ptxas their PTX, for each target.

    Skips where either is missing.

    mlir-opt takes all in one process, because its start takes longer than most texts. PTX for a GPU without a letter is
    PTX for every later GPU (PTX ISA, `.target`): ptxas takes the same instructions once.
    """
    texts = [text] if isinstance(text, str) else text
    made = [(one, lookup(target), compiled(one, target)) for one in texts for target in targets]
    # What upstream says of the module does not depend on the name of the GPU, and often nothing else differs.
    spec = re.compile(r"\b(nv_tileaa\.(?:target_spec|compute_capability)) = [^,}]*")
    read_by_mlir_opt(*dict.fromkeys(spec.sub(r"\1 = 0 : i32", program.llvm) for _, _, program in made))
    taken: set[str] = set()
    for one, target, program in sorted(made, key=lambda one: one[1].compute_capability):
        instructions = re.sub(r"^\.target .*", "", program.ptx, flags=re.MULTILINE)
        if instructions not in taken:
            try:
                assembled(program.ptx, target.cpu)
            except ToolError as failure:
                failure.add_note(f"for {target.cpu}, of the program\n{one}")
                raise
            if target.cpu == target.name:
                taken.add(instructions)


SPLIT = "\n// -----\n"
"""What separates modules for `mlir-opt --split-input-file`."""


@once_in_a_run
def read_by_mlir_opt(*texts: str) -> None:
    """Assert that mlir-opt takes each text. Skips if mlir-opt is missing. To start it takes most of its time."""
    tool = require_tool("mlir-opt-22")
    command, given = [tool, "--split-input-file"], SPLIT.join(texts)
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@once_in_a_run
def assembled(ptx: str, target: str) -> Assembled:
    """The cubin of PTX, with ptxas's report and warnings. Raises ToolError. Skips if ptxas is missing."""
    return compile_text(ptx, "ptx", Options(lookup(target), until="cubin", ptxas=require_tool("ptxas")))


# -- texts


def tile(element: str, shape: Sequence[int]) -> str:
    """`tile<4x8xf32>`."""
    return f"tile<{'x'.join(map(str, (*shape, element)))}>"


def program(
    body: str,
    inputs: Mapping[str, Declared],
    outputs: Mapping[str, Declared],
    scalars: Mapping[str, str] = {},
) -> str:
    """An entry `kernel` of one tile block that loads tiles, computes, and stores tiles.

    body: cuda_tile ops that use `%name` of each input and each scalar, and define `%name` of each output.
    inputs, outputs: name → (element type, shape) of a tensor in row-major order, loaded or stored as one tile;
        shape () is one element, and a scalar in the body.
    scalars: name → element type of parameters that are passed by value.
    The parameters are the pointers of the inputs, those of the outputs, the scalars. Every name with a capital P
    behind (`%aP`, `%aV`, `%aQ`, `%aT`, `%aE`) and %zeroIndex, %startToken are taken.
    """
    tensors = {**inputs, **outputs}
    parameters = [f"%{name}P: tile<ptr<{element}>>" for name, (element, _) in tensors.items()]
    parameters += [f"%{name}: tile<{element}>" for name, element in scalars.items()]
    lines = ["%startToken = make_token : token", "%zeroIndex = constant <i32: 0> : tile<i32>"]
    for name, (element, shape) in tensors.items():
        extents = tuple(shape) or (1,)
        view, part = _view_types(element, extents)
        operands = f"shape = [{_list(extents)}], strides = [{_list(_strides(extents))}]"
        lines.append(f"%{name}V = make_tensor_view %{name}P, {operands} : {view}")
        lines.append(f"%{name}Q = make_partition_view %{name}V : {part}")
    for name, (element, shape) in inputs.items():
        extents = tuple(shape) or (1,)
        loaded, types = (
            name,
            f"{_view_types(element, extents)[1]}, tile<i32> -> {tile(element, extents)}, token",
        )
        if not shape:
            loaded = f"{name}E"
        indices = _list(["%zeroIndex"] * len(extents))
        lines.append(
            f"%{loaded}, %{name}T = load_view_tko weak %{name}Q[{indices}] token = %startToken : {types}"
        )
        if not shape:
            lines.append(f"%{name} = reshape %{loaded} : {tile(element, (1,))} -> {tile(element, ())}")
    lines.append(body)
    for name, (element, shape) in outputs.items():
        extents = tuple(shape) or (1,)
        stored, types = (
            name,
            f"{tile(element, extents)}, {_view_types(element, extents)[1]}, tile<i32> -> token",
        )
        if not shape:
            stored = f"{name}E"
            lines.append(f"%{stored} = reshape %{name} : {tile(element, ())} -> {tile(element, (1,))}")
        indices = _list(["%zeroIndex"] * len(extents))
        lines.append(
            f"%{name}T = store_view_tko weak %{stored}, %{name}Q[{indices}] token = %startToken : {types}"
        )
    joined = "\n  ".join([*lines, "return"])
    return f"entry @kernel({', '.join(parameters)}) {{\n  {joined}\n}}\n"


def _view_types(element: str, shape: Sequence[int]) -> tuple[str, str]:
    """(type of the tensor view, type of the partition view whose one tile is all of it)."""
    extents = "x".join(map(str, shape))
    view = f"tensor_view<{extents}x{element}, strides=[{_list(_strides(shape), ',')}]>"
    return view, f"partition_view<tile=({extents}), {view}>"


def _strides(shape: Sequence[int]) -> list[int]:
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return strides


def _list(items: Sequence[object], separator: str = ", ") -> str:
    return separator.join(map(str, items))


# -- numbers


def fresh_seed(what: str = "numbers") -> int:
    """A seed of this run, printed so that a failure can be repeated."""
    seed = secrets.randbits(32)
    print(f"seed of the {what}: {seed}")
    return seed


def empty(element: str, shape: Sequence[int]) -> Array:
    """An array for results of an element type, filled with the byte 0xA5."""
    storage = _storage(element)
    size = int(np.prod(shape, dtype=np.int64))
    return np.full(size * storage.itemsize, 0xA5, np.uint8).view(storage).reshape(shape or (1,))


def random(element: str, shape: Sequence[int], rng: np.random.Generator, scale: float = 1.0) -> Array:
    """Random elements: integers over the whole range, floats normally distributed times `scale`."""
    storage = _storage(element)
    if element == "i1":
        return rng.integers(0, 2, shape or (1,), dtype=np.uint8)
    if element.startswith("i"):
        bounds = np.iinfo(storage)
        return rng.integers(bounds.min, bounds.max, shape or (1,), dtype=storage, endpoint=True)
    return encode(element, rng.standard_normal(shape or (1,)) * scale)


def encode(element: str, values: Any) -> Array:
    """The nearest elements to float64 numbers (ties to even), as an array that `run` takes."""
    kind = lookup_type(element)
    assert kind is not None
    return kind.encode(values)


def decode(element: str, array: Array) -> Array:
    """The float64 values of an array of floats; integers as they are."""
    kind = lookup_type(element)
    assert kind is not None
    return kind.decode(array)


def _storage(element: str) -> np.dtype[Any]:
    kind = lookup_type(element)
    assert kind is not None
    return kind.storage
