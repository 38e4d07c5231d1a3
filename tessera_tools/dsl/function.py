"""`kernel`: a Python function as a kernel, which is compiled by `tessera_tools.compile` or by its first launch.

@kernel                        tt.compile(add, "sm_90a")          ──▶ Kernel
def add(x: ptr[f32], n: i32)   add[grid](x, n)  ──signature──▶ compiled before? ──▶ Kernel[grid] ──▶ Result
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tessera_tools.api.arrays import ArrayView, describe
from tessera_tools.api.compiling import Kernel, compile
from tessera_tools.diagnostics import DiagnosticError, Refusal, error, plain_errors
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.types import PointerType, scalar
from tessera_tools.dsl import library
from tessera_tools.dsl.emitter import Emitter, Memory
from tessera_tools.dsl.interpreter import Interpreter
from tessera_tools.dsl.source import Source, read_function
from tessera_tools.dsl.types import ArrayType, Constexpr, Facts, Parameter, parameter_type
from tessera_tools.dsl.values import Tile
from tessera_tools.emit.tunables import TUNABLES
from tessera_tools.ir.builtin_attributes import StringAttr, TypeAttr
from tessera_tools.ir.core import Block, BlockArgument, Operation, Region
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import DYNAMIC, I32, FunctionType, IntegerType, bit_width
from tessera_tools.records import dataclass
from tessera_tools.runtime import Device, Result

if TYPE_CHECKING:
    from tessera_tools.dsl.tuning import Candidate, Tuning

__all__ = ["Function", "kernel"]

VECTOR = 16
"""The alignment of arguments that a launch looks for, in bytes."""


@dataclass(frozen=True)
class Signature:
    """What one compiled version of a kernel depends on."""

    constants: tuple[tuple[str, object], ...] = ()
    facts: tuple[tuple[str, Facts], ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    """Pairs of parameters whose arrays share memory."""


class Function:
    """A function with `@kernel`. `tt.compile(f, target)` compiles it, and `f[grid](…)` launches it."""

    def __init__(
        self,
        function: Callable[..., object],
        constants: Mapping[str, object] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._constants = dict(constants or {})
        self.options: Mapping[str, Any] = dict(options or {})
        """How it is compiled, as keywords of `tessera_tools.compile`."""
        self._compiled: dict[Hashable, Kernel] = {}

    def __repr__(self) -> str:
        return f"<kernel {self.function.__name__}>"

    def __call__(self, *args: object, **keywords: object) -> NoReturn:
        """Raises DiagnosticError: a kernel is launched with a grid."""
        name = self.function.__name__
        raise error(
            None, f"'{name}' is a kernel; expected {name}[grid](…), or tessera_tools.compile({name}, target)"
        )

    def __getitem__(self, grid: int | Sequence[int]) -> Launch:
        """The kernel with a grid, ready to be called with its arguments: `gemm[8, 8](a, b, c)`."""
        from tessera_tools.api.launching import grid_of

        return Launch(self, grid_of(grid))

    def bind(self, **constants: object) -> Function:
        """The kernel with values for its `constexpr` parameters. Raises DiagnosticError for another parameter."""
        with plain_errors():
            found = Function(self.function, {**self._constants, **constants}, self.options)
            found._parameters()
            return found

    def with_options(self, **options: object) -> Function:
        """The kernel with options of the compiler, such as `num_warps=8`, for its launches and `tessera_tools.compile`,
        which may be given others. Raises DiagnosticError for what is no option that tessera-tune chooses."""
        with plain_errors():
            known = {one.name: one for one in TUNABLES}
            for name, value in options.items():
                if name not in known:
                    raise error(None, f"'{name}' is no option; expected some of {', '.join(known)}")
                known[name].check(value)
            return Function(self.function, self._constants, {**self.options, **options})

    def tune(
        self,
        args: Sequence[object],
        grid: Callable[..., int | Sequence[int]],
        *,
        search: str | Sequence[str] = (),
        checked: Sequence[object] | None = None,
        target: str | None = None,
        measure: str = "clock",
        most: int = 64,
        patience: int = 24,
        seed: int = 0,
        tolerance: float = 1e-2,
        file: str | os.PathLike[str] | None = None,
        parallel: int | None = None,
        ray: str | None = None,
        time_limit: float = 300.0,
        progress: bool | Callable[[Candidate], object] = False,
        **values: object,
    ) -> Tuning:
        """Find the `constexpr` values and the options of the compiler with which the kernel is fastest.

        args: the arguments of the launch that is timed, without the constants. They stay as they are.
        grid: called with these arguments, and the constants by name; returns the grid.
        search: the options of the compiler of which all values are searched, such as `("num_warps", "agents")`, or
            `"all"`.
        checked: smaller arguments of the launch whose results are compared; by default `args`.
        target: sm_80 by default. measure: by the `clock` of the simulated GPU, or the median of launches on a `gpu`.
        most, patience: stop after so many candidates, or so many programs without an improvement.
        seed: of the order of the candidates. The first value of each constant and option is the first candidate.
        tolerance: how far floats may be from those of the first candidate, as a share of the greatest magnitude.
        file: a file of `tessera-tune`, made if it is missing, that keeps each candidate as soon as it is measured. A
            search that was interrupted, or one over the same program, arguments, target and compiler, measures only
            what the file does not have.
        parallel: candidates that are compiled side by side, by default one for each CPU.
        ray: the address of a Ray cluster whose tasks run the candidates, or `local`. The kernel must be a variable of
            its module, whose file the cluster's machines have, as for `multiprocessing`.
        time_limit: seconds for a candidate.
        progress: True shows a progress bar on a terminal; a function is called with each new candidate.
        values: those to try for each constant, and for options of the compiler by their names in
            `tessera_tools.compile`: `n=(64, 128), num_stages=(2, 3)`. A single value is fixed.

        The result does not depend on `parallel` and `ray`. A candidate that is refused, has a finding or gives other
        results does not count. Raises DiagnosticError for a parameter that is no `constexpr`, a value that an option
        does not have, if the first candidate cannot run, and for a `file` that cannot be used or a kernel that Ray's
        workers cannot find; FindingsError if the first candidate has findings.
        """
        from tessera_tools.dsl.tuning import tune

        with plain_errors():
            return tune(
                self, args, grid, values, search=search, checked=checked, target=target, measure=measure, most=most,
                patience=patience, seed=seed, tolerance=tolerance, file=file, parallel=parallel,
                ray=ray, time_limit=time_limit, progress=progress,
            )  # fmt: skip

    def compiled(self, args: Sequence[object], *, target: str | None = None) -> Kernel:
        """The kernel that a launch with these arguments has. Raises DiagnosticError."""
        with plain_errors():
            return self._compiled_for(self._bound(args, {}), target)

    def _compiled_for(self, bound: Mapping[str, object], target: str | None) -> Kernel:
        """The kernel for the arguments of a launch, compiled once."""
        signature = self._signature(bound)
        key = (signature, tuple((name, _identity(value)) for name, value in signature.constants), target)
        kernel = self._compiled.get(key)
        if kernel is None:
            kernel = compile(self._module(signature), target, name=self.file, **self.options)
            self._compiled[key] = kernel
        return kernel

    @property
    def source(self) -> Source:
        """The syntax of the function, with the names around it as they are now."""
        return read_function(self.function)

    def _parameters(self) -> dict[str, Parameter | ArrayType | Constexpr]:
        """The type of each parameter. Raises DiagnosticError at the parameter."""
        source, found = self.source, {}
        node = source.node.args
        if node.vararg or node.kwarg:
            raise error(source.location(source.node), "a kernel has no '*' and '**' parameters")
        for one in (*node.posonlyargs, *node.args, *node.kwonlyargs):
            if one.annotation is None:
                raise error(
                    source.location(one), f"the parameter '{one.arg}' has no type",
                    f"annotate it, as in {one.arg}: ptr[f32], {one.arg}: i32 or {one.arg}: constexpr",
                )  # fmt: skip
            given = self.function.__annotations__.get(one.arg)
            try:
                if isinstance(given, str):
                    given = _evaluated(given, source.names)
                found[one.arg] = parameter_type(given)
            except (Refusal, TypeError, ValueError) as failure:
                raise error(source.location(one.annotation), f"the type of '{one.arg}': {failure}") from None
        for name in self._constants:
            if not isinstance(found.get(name), Constexpr):
                listed = ", ".join(n for n, kind in found.items() if isinstance(kind, Constexpr)) or "none"
                raise error(
                    source.location(source.node), f"'{name}' is no constexpr parameter; found {listed}"
                )
        return found

    def open_constants(self) -> list[str]:
        """The `constexpr` parameters without values: only a launch, or `bind`, gives them.

        Empty, too, if the parameters have errors: compiling the kernel reports them.
        """
        given = {**self._default_constants(), **self._constants}
        try:
            parameters = self._parameters()
        except DiagnosticError:
            return []
        return [n for n, kind in parameters.items() if isinstance(kind, Constexpr) and n not in given]

    @property
    def file(self) -> str:
        """The file of the function."""
        return self.function.__code__.co_filename

    def __tessera_module__(self, args: Sequence[object] | None = None) -> tuple[Operation, str]:
        """The kernel as a module of `cuda_tile`, and its file. args: arguments of a launch, for what they guarantee.

        Raises DiagnosticError at the line of the kernel.
        """
        if args is None:
            return self._module(Signature()), self.file
        bound = self._bound(args, {})
        return self._module(self._signature(bound)), self.file

    def _bound(self, args: Sequence[object], keywords: Mapping[str, object]) -> dict[str, object]:
        """The arguments of a launch by parameter, constants included."""
        keywords = {**{k: v for k, v in self._constants.items() if k not in keywords}, **keywords}
        try:
            bound = inspect.signature(self.function).bind(*args, **keywords)
        except TypeError as failure:
            listed = ", ".join(f"{name}: {kind}" for name, kind in self._parameters().items())
            raise error(
                None, f"the arguments of '{self.function.__name__}': {failure}", f"it takes {listed}"
            ) from None
        bound.apply_defaults()
        return dict(bound.arguments)

    def _signature(self, bound: Mapping[str, object]) -> Signature:
        """What a launch guarantees: alignments, multiples, memory that arrays share."""
        constants: list[tuple[str, object]] = []
        facts: list[tuple[str, Facts]] = []
        views: list[tuple[str, ArrayView]] = []
        for name, kind in self._parameters().items():
            value = bound[name]
            if isinstance(kind, Constexpr):
                _check_constant(name, value)
                constants.append((name, value))
                continue
            view = describe(value)
            if view is not None:
                views.append((name, view))
                facts.append((name, Facts(alignment=_alignment(view, kind))))
            elif (
                isinstance(kind, Parameter)
                and isinstance(kind.type.element, IntegerType)
                and isinstance(value, int)
            ):
                facts.append((name, Facts(divisor=VECTOR if value % VECTOR == 0 and value > 0 else 0)))
        return Signature(tuple(constants), tuple(facts), _overlapping(views))

    def _module(self, signature: Signature) -> Operation:
        """The module of one version. Raises DiagnosticError."""
        memory = Memory()
        for pair in signature.shared:
            memory.unite(*pair)
        self._entry(signature, memory)
        memory.finish()
        entry = self._entry(signature, memory)
        from tessera_tools.dialects.builtin import Module as Top
        from tessera_tools.ir.verifier import verify_or_raise

        inner = ct.Module(StringAttr(self.function.__name__), body=Block())
        inner.location = entry.location
        inner.body.entry.append(entry)
        top = Top(body=Block())
        top.body.entry.append(inner)
        verify_or_raise(top)
        return top

    def _entry(self, signature: Signature, memory: Memory) -> ct.Entry:
        source = self.source
        assert not isinstance(source.node, type(None))
        place = source.location(source.node)
        constants = {**self._default_constants(), **self._constants, **dict(signature.constants)}
        facts = dict(signature.facts)
        block = Block()
        emitter = Emitter(block, memory)
        emitter.location = place
        arguments: dict[str, object] = {}
        with emitter.active():
            later: list[Callable[[], None]] = []
            for name, kind in self._parameters().items():
                if isinstance(kind, Constexpr):
                    if name not in constants:
                        raise error(
                            place, f"the constexpr parameter '{name}' has no value",
                            f"give it: {self.function.__name__}.bind({name}=…), or a default",
                        )  # fmt: skip
                    arguments[name] = constants[name]
                elif isinstance(kind, ArrayType):
                    later.append(_array(name, kind, facts.get(name), block, arguments, place))
                else:
                    later.append(_plain(name, kind, facts.get(name), block, arguments, place))
            for one in later:
                one()
            Interpreter(emitter).kernel(source, arguments)
        inputs = tuple(argument.type for argument in block.arguments)
        entry = ct.Entry(
            StringAttr(self.function.__name__), TypeAttr(FunctionType(inputs, ())), body=Region([block])
        )
        entry.location = place
        return entry

    def _default_constants(self) -> dict[str, object]:
        parameters = inspect.signature(self.function).parameters
        return {n: p.default for n, p in parameters.items() if p.default is not inspect.Parameter.empty}


class Launch:
    """A kernel with its grid; call it with the kernel's arguments."""

    def __init__(self, function: Function, grid: tuple[int, ...]) -> None:
        self.function = function
        self.grid = grid

    def __call__(
        self,
        *args: object,
        target: str | None = None,
        device: str | Device = "sim",
        check: bool = True,
        **options: Any,
    ) -> Result:
        """Compile the kernel for these arguments, launch it, and wait for its end. Arrays are modified in place.

        args: one for each parameter, constants included; also by name. An `array[…]` parameter takes an array.
        target: the GPU to compile for, by default sm_80. device, check, options: as for `Kernel[grid]`.

        A kernel is compiled once for each combination of constants, alignments and targets. Raises DiagnosticError,
        FindingsError.
        """
        with plain_errors():
            function = self.function
            parameters = function._parameters()
            named = {name: options.pop(name) for name in list(options) if name in parameters}
            bound = function._bound(args, named)
            kernel = function._compiled_for(bound, target)
            values: list[object] = []
            for name, kind in parameters.items():
                if isinstance(kind, ArrayType):
                    values.append(_checked(name, kind, bound[name]))
                elif not isinstance(kind, Constexpr):
                    values.append(bound[name])
            return kernel[self.grid].launch(values, device=device, check=check, **options)


def kernel(function: Callable[..., Any]) -> Function:  # `object` would make type checkers infer the body
    """Make a function a kernel: it is compiled for a GPU, and never runs as Python.

    >>> from tessera_tools.dsl import *
    >>> @kernel
    ... def double(x: ptr[f32], n: i32):
    ...     view = make_partition_view(x, [n], tile=(32,))
    ...     i = program_id(0)
    ...     store(view, i, load(view, i) * 2)
    >>> import numpy as np
    >>> numbers = np.arange(100, dtype=np.float32)
    >>> _ = double[4](numbers, 100)
    >>> numbers[:4].tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    if not inspect.isfunction(function):
        raise TypeError(f"@kernel takes a function; found {function!r}")
    return Function(function)


def _evaluated(text: str, names: Mapping[str, object]) -> object:
    """The annotation that a string holds: Python, or a type as MLIR text."""
    try:
        return eval(text, dict(names))  # as Python evaluates annotations
    except Exception:
        return text.strip("'\"")


def _overlapping(views: Sequence[tuple[str, ArrayView]]) -> tuple[tuple[str, str], ...]:
    """Pairs of arrays that share memory, enough of them to connect all that do."""
    found: list[tuple[str, str]] = []
    farthest, owner = 0, ""
    for (begin, end), name in sorted((view.bounds, name) for name, view in views):
        if owner and begin < farthest:
            found.append((owner, name))
        if end > farthest:
            farthest, owner = end, name
    return tuple(found)


def _identity(value: object) -> Hashable:
    """A key of a constant: 1, 1.0 and True are three constants, and so are 0.0 and -0.0."""
    if isinstance(value, tuple):
        return tuple(_identity(part) for part in value)
    return (type(value), value.hex() if isinstance(value, float) else value)


def _check_constant(name: str, value: object) -> None:
    try:
        hash(value)
    except TypeError:
        raise error(None, f"'{name}': found {value!r}, expected a constant such as a number") from None


def _alignment(view: ArrayView, kind: Parameter | ArrayType) -> int:
    """16 if the address is, and for an array also its rows and its last extent; otherwise 0."""
    numbers = [view.address]
    if isinstance(kind, ArrayType):
        numbers += [
            stride * view.itemsize
            for stride, known in zip(view.strides, kind.strides, strict=False)
            if known == DYNAMIC
        ]
        numbers.append(view.shape[-1] * view.itemsize if view.shape else 0)
    return VECTOR if all(number % VECTOR == 0 for number in numbers) else 0


def _checked(name: str, kind: ArrayType, value: object) -> ArrayView:
    view = describe(value)
    if view is None:
        raise error(None, f"'{name}': found a {type(value).__name__}, expected an array")
    if len(view.shape) != kind.rank:
        raise error(None, f"'{name}': found an array of {len(view.shape)} dimensions, expected {kind.rank}")
    for step, expected, extent in zip(view.strides, kind.strides, view.shape, strict=True):
        if expected != DYNAMIC and step != expected and extent > 1:
            raise error(
                None, f"'{name}': found the strides {view.strides}, expected the last one to be {expected}",
                "pass numpy.ascontiguousarray(a), or annotate it with array[…].strided",
            )  # fmt: skip
    return view


def _assumed(value: Tile, facts: Sequence[Facts]) -> Tile:
    """The value, with the strongest of the facts."""
    if isinstance(value.element, PointerType):
        alignment = max(fact.alignment for fact in facts)
        return library.assume(value, divisible_by=alignment) if alignment else value
    divisor = max(fact.divisor for fact in facts)
    return library.assume(value, divisible_by=divisor) if divisor else value


def _plain(
    name: str,
    kind: Parameter,
    facts: Facts | None,
    block: Block,
    arguments: dict[str, object],
    place: Location,
) -> Callable[[], None]:
    """Add a number or a pointer as an argument of the kernel; returns what adds its facts."""
    argument = block.add_argument(kind.type, place)
    argument.name_hint = name

    def finish() -> None:
        value = Tile(argument, name if isinstance(kind.type.element, PointerType) else None)
        arguments[name] = _assumed(value, [kind.facts, facts or Facts()])

    return finish


def _array(
    name: str,
    kind: ArrayType,
    facts: Facts | None,
    block: Block,
    arguments: dict[str, object],
    place: Location,
) -> Callable[[], None]:
    """Add the pointer, extents and strides of an array; returns what adds its facts."""
    pointer = block.add_argument(scalar(PointerType(kind.element)), place)
    pointer.name_hint = name
    numbers: list[BlockArgument] = []
    for noun in ("dim", "stride"):
        for dim in range(kind.rank):
            numbers.append(block.add_argument(scalar(I32), place))
            numbers[-1].name_hint = f"{name}_{noun}{dim}"

    def finish() -> None:
        alignment = max(kind.facts.alignment, facts.alignment if facts is not None else 0)
        divisor = max(alignment * 8 // max(bit_width(kind.element), 8), 1) if alignment else 0
        base = _assumed(Tile(pointer, name), [Facts(alignment=alignment)])
        extents: list[Tile] = []
        strides: list[Tile | int] = []
        for number, argument in enumerate(numbers):
            dim, is_stride = number % kind.rank, number >= kind.rank
            if is_stride and kind.strides[dim] != DYNAMIC:
                strides.append(kind.strides[dim])
                continue
            value = library.assume(Tile(argument), lower=0)
            aligned = is_stride or dim == kind.rank - 1
            value = _assumed(value, [Facts(divisor=divisor if aligned and divisor > 1 else 0)])
            if is_stride:
                strides.append(value)
            else:
                extents.append(value)
        arguments[name] = library.Array(base, tuple(extents), tuple(strides))

    return finish
