"""Kernels of NVIDIA's package `cuda-tile` (cuTile Python), compiled by Tessera tools without a GPU.

@ct.kernel ──its own exporter──▶ cuda_tile bytecode ──compile──▶ Kernel ──▶ the simulated GPU
arguments  ──`Arguments`──▶ the signature for the exporter; later, the values of a launch

The signature follows from the arguments, as when cuTile compiles at the first launch: parameters annotated
`ct.Constant` and strides of 1 are compiled in, and alignments of 16 bytes are declared. A launch may have other arrays,
for which the same must hold.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from tessera_tools.api.arrays import ArrayView, describe
from tessera_tools.bytecode import VERSIONS
from tessera_tools.diagnostics import Position, error
from tessera_tools.records import dataclass
from tessera_tools.target import Target

if TYPE_CHECKING:
    from cuda.tile.compilation import ArrayConstraint, KernelSignature

__all__ = ["VECTOR", "Arguments", "CutileKernel", "Leaf", "export", "is_kernel", "leaves"]

VECTOR = 16
"""The declared alignment of addresses, strides and extents, in bytes."""


class CutileFunction(Protocol):
    """The function of a cuTile kernel, with what its annotations say."""

    pysig: inspect.Signature
    pyfunc: FunctionType
    parameter_annotations: Sequence[object]


class CutileKernel(Protocol):
    """A kernel of cuTile Python, `@cuda.tile.kernel`."""

    _annotated_function: CutileFunction


def is_kernel(value: object) -> TypeGuard[CutileKernel]:
    """True if the object is a kernel of cuTile Python."""
    return type(value).__module__.startswith("cuda.tile") and hasattr(value, "_annotated_function")


@dataclass(frozen=True)
class Leaf:
    """An argument, or an item of a tuple: a constant, an array, or a number."""

    name: str
    """The parameter, with the places in tuples: `xs[0]`."""
    annotation: object
    value: object
    view: ArrayView | None

    @property
    def is_constant(self) -> bool:
        return bool(getattr(self.annotation, "constant", False))


def leaves(kernel: CutileKernel, args: Sequence[object]) -> list[Leaf]:
    """The arguments of a cuTile kernel, with tuples replaced by their items. Raises DiagnosticError."""
    function = kernel._annotated_function
    names = list(function.pysig.parameters)
    if len(args) != len(names):
        raise error(
            None,
            f"the cuTile kernel '{function.pyfunc.__name__}' takes {len(names)} arguments "
            f"({', '.join(names)}); found {len(args)}",
        )
    found = zip(names, function.parameter_annotations, args, strict=True)
    return [leaf for name, annotation, value in found for leaf in _items(name, annotation, value)]


def _items(name: str, annotation: object, value: object) -> Iterator[Leaf]:
    if not isinstance(value, tuple) or getattr(annotation, "constant", False):
        yield Leaf(name, annotation, value, describe(value))
        return
    for number, item in enumerate(value):
        yield from _items(
            f"{name}[{number}]", _annotation_of_item(name, annotation, number, len(value)), item
        )


def _annotation_of_item(name: str, annotation: object, number: int, count: int) -> object:
    """The annotation of a tuple's item: `tuple[X, ...]` and an annotated tuple have one for all."""
    each = getattr(annotation, "items", None)
    if each is None:
        return getattr(annotation, "each", annotation)
    if len(each) != count:
        raise error(None, f"'{name}': found a tuple of {count}, and its annotation has {len(each)} items")
    return each[number]


@dataclass(frozen=True)
class _Assumed:
    """What is compiled in of an array."""

    dtype: str
    base: int
    """The divisor of the address, in bytes."""
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """Divisors, in elements."""
    fixed_extents: tuple[int | None, ...]
    fixed_strides: tuple[int | None, ...]
    """Constants."""
    wide: bool
    """Extents and strides are i64."""
    repeats: bool
    """Several elements may have the same address."""

    @staticmethod
    def of(annotation: object, view: ArrayView) -> _Assumed:
        each = max(VECTOR // view.itemsize, 1)
        noted = getattr(annotation, "array", None)
        extents, strides = (
            [axis % len(view.shape) for axis in getattr(noted, f"static_{what}_dims", ())]
            for what in ("shape", "stride")
        )
        fixed = [
            step if axis in strides or (step == 1 and not strides) else None
            for axis, step in enumerate(view.strides)
        ]
        index = getattr(getattr(noted, "index_dtype", None), "name", "int32")
        return _Assumed(
            view.dtype,
            VECTOR if view.address % VECTOR == 0 else view.itemsize,
            tuple(each if extent % each == 0 else 1 for extent in view.shape),
            tuple(
                each if step % each == 0 and known is None else 1
                for step, known in zip(view.strides, fixed, strict=True)
            ),
            tuple(extent if axis in extents else None for axis, extent in enumerate(view.shape)),
            tuple(fixed),
            index == "int64" or max((*view.shape, *view.strides, 0)) >= 1 << 31,
            _repeats(view),
        )

    def violation(self, view: ArrayView) -> str | None:
        """Why a kernel that assumes this cannot have the array; None if it can."""
        if view.dtype != self.dtype or len(view.shape) != len(self.extents):
            return f"arrays of {self.dtype} with {len(self.extents)} dimensions; found {view.dtype}, {view.shape}"
        if view.address % self.base:
            return f"an address that is a multiple of {self.base} bytes; found {view.address:#x}"
        rows = (
            ("extent", view.shape, self.fixed_extents, self.extents),
            ("stride", view.strides, self.fixed_strides, self.strides),
        )
        for what, values, fixed, divisors in rows:
            for axis, (value, known, divisor) in enumerate(zip(values, fixed, divisors, strict=True)):
                if known is not None and value != known:
                    return f"{what} {known} in dimension {axis}; found {value}"
                if value % divisor:
                    return f"{what}s in dimension {axis} that are multiples of {divisor}; found {value}"
        if not self.wide and max((*view.shape, *view.strides, 0)) >= 1 << 31:
            return "extents and strides of 32 bits; found larger ones"
        if not self.repeats and _repeats(view):
            return f"elements with addresses of their own; found the strides {view.strides}"
        return None


class Arguments:
    """What a compiled cuTile kernel has of the arguments that it was compiled for."""

    def __init__(self, kernel: CutileKernel, args: Sequence[object]) -> None:
        self._kernel = kernel
        self.name: str = kernel._annotated_function.pyfunc.__name__
        given = leaves(kernel, args)
        self._assumed = [_Assumed.of(leaf.annotation, leaf.view) if leaf.view else None for leaf in given]
        self._overlaps = _overlaps([leaf.view for leaf in given])
        # The arrays themselves are not kept: a kernel may live longer than they do.
        self.leaves = [
            Leaf(leaf.name, leaf.annotation, None, None) if assumed else leaf
            for leaf, assumed in zip(given, self._assumed, strict=True)
        ]
        varying = self._varying_parameters
        self._constants = {
            name: value for name, value in zip(self._parameters, args, strict=True) if name not in varying
        }
        """The arguments without arrays and numbers: constants, and tuples of them."""

    @property
    def key(self) -> Hashable:
        """What is compiled in: a kernel for other arguments with the same key takes these too."""
        parts = [
            (leaf.name, assumed or _known(leaf))
            for leaf, assumed in zip(self.leaves, self._assumed, strict=True)
        ]
        return (*parts, *self._overlaps)

    @property
    def parameter_names(self) -> list[str]:
        """The names of the compiled kernel's parameters: `a`, its extents `a_shape0`, and its strides `a_stride0`."""
        names: list[str] = []
        for leaf, assumed in zip(self.leaves, self._assumed, strict=True):
            if leaf.is_constant:
                continue
            name = leaf.name.replace("[", "_").replace("]", "")
            names.append(name)
            axes = range(len(assumed.extents) if assumed else 0)
            names += [f"{name}_{what}{axis}" for what in ("shape", "stride") for axis in axes]
        return names

    def signature(self) -> KernelSignature:
        """cuTile's signature. Raises DiagnosticError."""
        from cuda.tile.compilation import CallingConvention, KernelSignature

        groups: list[list[str]] = [[] for _ in self.leaves]
        for first, second in self._overlaps:
            for number in (first, second):
                groups[number].append(f"shared_{first}_{second}")
        constraints = {
            leaf.name: _constraint(leaf, assumed, group)
            for leaf, assumed, group in zip(self.leaves, self._assumed, groups, strict=True)
        }
        try:
            return KernelSignature(
                [_nested(name, constraints) for name in self._parameters],
                CallingConvention.cutile_python_v2(),
                symbol=self.name,
            )
        except (TypeError, ValueError) as failure:
            raise error(None, f"the arguments of the cuTile kernel '{self.name}': {failure}") from failure

    @property
    def _parameters(self) -> list[str]:
        return list(self._kernel._annotated_function.pysig.parameters)

    @property
    def _varying_parameters(self) -> list[str]:
        return [name for name in self._parameters if any(_is_of(leaf, name) for leaf in self._varying)]

    @property
    def counts(self) -> tuple[int, int]:
        """How many arguments `values` takes: with the constants, and without them."""
        return len(self._parameters), len(self._varying_parameters)

    def values(self, args: Sequence[object]) -> list[object]:
        """The arrays and numbers of a launch, from arguments with or without the constants.

        Raises DiagnosticError for other constants, and for arrays for which the kernel was not compiled.
        """
        parameters, varying = self._parameters, self._varying_parameters
        if len(args) == len(parameters):
            given = leaves(self._kernel, args)
        elif len(args) == len(varying):
            rest = iter(args)
            given = leaves(
                self._kernel,
                [next(rest) if name in varying else self._constants[name] for name in parameters],
            )
        else:
            raise error(
                None,
                f"the cuTile kernel '{self.name}' takes {len(parameters)} arguments ({', '.join(parameters)}), or "
                f"{len(varying)} without the constants; found {len(args)}",
            )
        if [leaf.name for leaf in given] != [leaf.name for leaf in self.leaves]:
            raise self._other("tuples of the same lengths")
        for leaf, known, assumed in zip(given, self.leaves, self._assumed, strict=True):
            if leaf.is_constant:
                if leaf.value is not known.value and leaf.value != known.value:  # NaN differs from itself
                    raise self._other(f"{leaf.name} = {known.value!r}; found {leaf.value!r}")
            elif (leaf.view is None) != (assumed is None):
                raise self._other(f"{'a number' if assumed is None else 'an array'} for '{leaf.name}'")
            elif leaf.view is not None and assumed is not None and (why := assumed.violation(leaf.view)):
                raise self._other(f"'{leaf.name}': {why}")
        if extra := set(_overlaps([leaf.view for leaf in given])) - set(self._overlaps):
            first, second = min(extra)
            raise self._other(
                f"separate arrays; found memory that '{given[first].name}' and '{given[second].name}' share"
            )
        # A float64 of NumPy is a float of Python, for cuTile too.
        return [
            float(leaf.value) if isinstance(leaf.value, float) else leaf.value
            for leaf in given
            if not leaf.is_constant
        ]

    @property
    def _varying(self) -> list[Leaf]:
        return [leaf for leaf in self.leaves if not leaf.is_constant]

    def _other(self, assumed: str) -> Exception:
        return error(
            None, f"the cuTile kernel '{self.name}' was compiled for {assumed}",
            "compile it for these arguments; tessera_tools.launch does so when needed",
        )  # fmt: skip


def _known(leaf: Leaf) -> Hashable:
    """What is compiled in of a constant, or of a number."""
    kind = type(leaf.value).__name__
    value = leaf.value
    if type(value) in (bool, int, float) and not leaf.is_constant:
        return kind, type(value) is int and _is_wide(value)
    try:
        hash(leaf.value)
    except TypeError:
        return kind, repr(leaf.value)
    return kind, leaf.value


def _is_wide(number: int) -> bool:
    return not -(1 << 31) <= number < 1 << 31


def _is_of(leaf: Leaf, parameter: str) -> bool:
    return leaf.name == parameter or leaf.name.startswith(f"{parameter}[")


def _nested(name: str, constraints: dict[str, Any]) -> Any:
    """The constraint of a parameter or item, from those of the leaves."""
    from cuda.tile.compilation import TupleConstraint

    if name in constraints:
        return constraints[name]
    items: list[Any] = []
    while any(_is_of_item(one, f"{name}[{len(items)}]") for one in constraints):
        items.append(_nested(f"{name}[{len(items)}]", constraints))
    return TupleConstraint(items)


def _is_of_item(leaf: str, item: str) -> bool:
    return leaf == item or leaf.startswith(f"{item}[")


def export(kernel: Any, args: Sequence[object] | None, target: Target | None) -> tuple[bytes, str, Arguments]:
    """Bytecode of a cuTile kernel for these arguments, and its Python file.

    Raises DiagnosticError: at the line of the kernel for errors of cuTile, and for arguments without a signature.
    """
    from cuda.tile import TileError
    from cuda.tile.compilation import export_kernel

    function = kernel._annotated_function
    file: str = function.pyfunc.__code__.co_filename
    if args is None:
        raise error(
            None,
            f"the cuTile kernel '{function.pyfunc.__name__}' is compiled for specific arguments; expected args=",
        )
    found = Arguments(kernel, args)
    output = io.BytesIO()
    gpu = f"sm_{target.compute_capability}" if target is not None else "sm_80"
    try:
        export_kernel(
            kernel,
            [found.signature()],
            output,
            gpu_code=gpu,
            output_format="tileir_bytecode",
            bytecode_version=_version(),
        )
    except TileError as failure:
        place = failure.loc
        position = Position(place.filename, place.line, place.col + 1) if place.filename else None
        raise error(position, failure.message) from failure
    except OSError as failure:
        raise error(
            None, f"the source of the cuTile kernel '{function.pyfunc.__name__}' cannot be read: {failure}",
            "define it in a file, or in a cell of a notebook",
        ) from failure  # fmt: skip
    return output.getvalue(), file, found


def _version() -> str:
    """The newest bytecode version that both sides support."""
    from cuda.tile._compile import parse_bytecode_version

    for version in reversed(VERSIONS):
        try:
            parse_bytecode_version(str(version))
        except ValueError:
            continue
        return str(version)
    raise error(None, "this release of cuda-tile writes no bytecode version that is supported")


def _constraint(leaf: Leaf, assumed: _Assumed | None, groups: Sequence[str]) -> Any:
    """The cuTile constraint of one argument."""
    import cuda.tile as ct
    from cuda.tile.compilation import ScalarConstraint

    name, value = leaf.name, leaf.value
    if leaf.is_constant:
        return value
    if assumed is not None:
        return _array(ct, name, assumed, groups)
    if isinstance(value, bool):
        return ScalarConstraint(ct.bool_)
    if isinstance(value, int):
        wide = getattr(leaf.annotation, "scalar", None) is not None or _is_wide(value)
        return ScalarConstraint(ct.int64 if wide else ct.int32)
    if isinstance(value, float):
        return ScalarConstraint(ct.float32)
    dtype = getattr(getattr(value, "dtype", None), "name", None)
    if dtype is not None and hasattr(ct, dtype):
        return ScalarConstraint(getattr(ct, dtype))
    raise error(
        None, f"'{name}': found a {type(value).__name__}, expected an array, a number, or a constant of the kernel"
    )  # fmt: skip


def _array(ct: Any, name: str, assumed: _Assumed, groups: Sequence[str]) -> ArrayConstraint:
    from cuda.tile.compilation import ArrayConstraint

    dtype = getattr(ct, {"bool": "bool_"}.get(assumed.dtype, assumed.dtype), None)
    if dtype is None:
        raise error(None, f"'{name}': cuTile has no element type '{assumed.dtype}'")
    return ArrayConstraint(
        dtype,
        len(assumed.extents),
        index_dtype=ct.int64 if assumed.wide else ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=tuple(groups),
        may_alias_internally=assumed.repeats,
        stride_constant=assumed.fixed_strides,
        shape_constant=assumed.fixed_extents,
        stride_divisible_by=assumed.strides,
        shape_divisible_by=assumed.extents,
        base_addr_divisible_by=assumed.base,
    )


def _repeats(view: ArrayView) -> bool:
    """Whether an array has the same element at several places, as broadcast arrays have."""
    return any(step == 0 and extent > 1 for extent, step in zip(view.shape, view.strides, strict=True))


def _overlaps(views: Sequence[ArrayView | None]) -> list[tuple[int, int]]:
    """The pairs of arguments, by number, whose arrays share memory."""
    bounds = [(number, *view.bounds) for number, view in enumerate(views) if view is not None]
    return [
        (first, second)
        for (first, low, high), (second, begin, end) in combinations(bounds, 2)
        if low < end and begin < high
    ]
