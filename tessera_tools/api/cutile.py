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
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from tessera_tools.api.arrays import ArrayTable, ArrayView, describe
from tessera_tools.api.assumptions import Assumed, overlaps
from tessera_tools.api.parameters import Parameters
from tessera_tools.bytecode import VERSIONS
from tessera_tools.diagnostics import Position, error
from tessera_tools.records import dataclass
from tessera_tools.target import Target

if TYPE_CHECKING:
    from cuda.tile.compilation import ArrayConstraint, KernelSignature

__all__ = ["Arguments", "CutileKernel", "Leaf", "export", "is_kernel", "leaves"]


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
    """An argument, or an item of a tuple: a constant, an array, a list of arrays, or a number."""

    name: str
    """The parameter, with the places in tuples: `xs[0]`."""
    annotation: object
    value: object
    views: tuple[ArrayView, ...] = ()
    """The array, or those of the list."""
    is_list: bool = False

    @property
    def is_constant(self) -> bool:
        return bool(getattr(self.annotation, "constant", False))

    @property
    def array_annotation(self) -> object:
        """What is annotated of the array, or of each array of the list."""
        noted = getattr(self.annotation, "list", None) if self.is_list else self.annotation
        return getattr(noted, "element" if self.is_list else "array", None)

    @property
    def arrays(self) -> tuple[tuple[str, ArrayView], ...]:
        """The arrays by name: `x`, or those of the list, `xs[0]` and `xs[1]`."""
        names = (f"{self.name}[{number}]" if self.is_list else self.name for number in range(len(self.views)))
        return tuple(zip(names, self.views, strict=True))


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
    if getattr(annotation, "constant", False):
        yield Leaf(name, annotation, value)
        return
    if isinstance(value, list):
        yield Leaf(name, annotation, None, _arrays(name, value), is_list=True)
        return
    if not isinstance(value, tuple):
        view = describe(value)
        yield Leaf(name, annotation, value, () if view is None else (view,))
        return
    for number, item in enumerate(value):
        yield from _items(
            f"{name}[{number}]", _annotation_of_item(name, annotation, number, len(value)), item
        )


_TUPLE = "pass a tuple, whose items may differ"


def _arrays(name: str, values: Sequence[object]) -> tuple[ArrayView, ...]:
    """The arrays of a list, which have one element type and rank. Raises DiagnosticError."""
    if not values:
        raise error(None, f"'{name}': found an empty list, expected a list of arrays")
    found: list[ArrayView] = []
    for number, value in enumerate(values):
        view = describe(value)
        if view is None:
            raise error(None, f"'{name}[{number}]': found {_a(value)}, expected an array", _TUPLE)
        found.append(view)
        if (view.dtype, len(view.shape)) != (found[0].dtype, len(found[0].shape)):
            raise error(
                None,
                f"'{name}[{number}]': found an array of {view.dtype} with {len(view.shape)} dimensions, expected "
                f"{found[0].dtype} with {len(found[0].shape)}, as '{name}[0]' has",
                _TUPLE,
            )
    return tuple(found)


def _annotation_of_item(name: str, annotation: object, number: int, count: int) -> object:
    """The annotation of a tuple's item: `tuple[X, ...]` and an annotated tuple have one for all."""
    each = getattr(annotation, "items", None)
    if each is None:
        return getattr(annotation, "each", annotation)
    if len(each) != count:
        raise error(None, f"'{name}': found a tuple of {count}, and its annotation has {len(each)} items")
    return each[number]


class Arguments:
    """What a compiled cuTile kernel has of the arguments that it was compiled for.

    must_alias: arrays that are passed twice are one array in each launch.
    """

    def __init__(self, kernel: CutileKernel, args: Sequence[object], *, must_alias: bool = False) -> None:
        self._kernel = kernel
        self.name: str = kernel._annotated_function.pyfunc.__name__
        given = leaves(kernel, args)
        self._assumed = [
            Assumed.of(leaf.array_annotation, leaf.arrays) if leaf.views else None for leaf in given
        ]
        self._overlaps = overlaps([leaf.views for leaf in given])
        self._equal = self._equal_arrays(given) if must_alias else {}
        # The arrays themselves are not kept: a kernel may live longer than they do.
        self.leaves = [
            Leaf(leaf.name, leaf.annotation, None, is_list=leaf.is_list) if assumed else leaf
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
            (leaf.name, leaf.is_list, assumed or _known(leaf))
            for leaf, assumed in zip(self.leaves, self._assumed, strict=True)
        ]
        return (*parts, *sorted(self._overlaps), tuple(self._equal.items()))

    def _equal_arrays(self, given: Sequence[Leaf]) -> dict[int, int]:
        """Argument → the first one that is the same array, of which the same is assumed."""
        found: dict[int, int] = {}
        first: dict[Hashable, int] = {}
        for number, (leaf, assumed) in enumerate(zip(given, self._assumed, strict=True)):
            if assumed is not None and not leaf.is_list:
                earlier = first.setdefault((_place(leaf), assumed), number)
                if earlier != number:
                    found[number] = earlier
        return found

    @property
    def parameters(self) -> Parameters:
        """Those of the compiled kernel: `a`, its extents `a_shape0`, and its strides `a_stride0`.

        A list is its table and its length, `a_length`.
        """
        names: list[str] = []
        firsts: dict[int, int] = {}
        equal: dict[int, int] = {}
        for number, (leaf, assumed) in enumerate(zip(self.leaves, self._assumed, strict=True)):
            if leaf.is_constant:
                continue
            name = leaf.name.replace("[", "_").replace("]", "")
            first = firsts[number] = len(names)
            names.append(name)
            if leaf.is_list:
                names.append(f"{name}_length")
                continue
            axes = range(len(assumed.extents) if assumed else 0)
            names += [f"{name}_{what}{axis}" for what in ("shape", "stride") for axis in axes]
            if number in self._equal:
                earlier = firsts[self._equal[number]]
                equal |= {at: earlier + at - first for at in range(first, len(names))}
        return Parameters(tuple(names), equal)

    def signature(self) -> KernelSignature:
        """cuTile's signature. Raises DiagnosticError."""
        from cuda.tile.compilation import CallingConvention, KernelSignature

        groups: list[list[str]] = [[] for _ in self.leaves]
        for first, second in sorted(self._overlaps):
            if first == second:
                continue  # the arrays of a list
            for number in (first, second):
                groups[number].append(f"shared_{first}_{second}")
        constraints = {
            leaf.name: _constraint(leaf, assumed, groups[number], (number, number) in self._overlaps)
            for number, (leaf, assumed) in enumerate(zip(self.leaves, self._assumed, strict=True))
        }
        try:
            return KernelSignature(
                [_nested(name, constraints) for name in self._parameters],
                CallingConvention.cutile_python_v2(),
                symbol=self.name,
            )
        except (TypeError, ValueError, NotImplementedError) as failure:
            raise self.refused(failure) from failure

    def refused(self, failure: Exception) -> Exception:
        """The error for arguments that cuTile refuses."""
        return error(None, f"the arguments of the cuTile kernel '{self.name}': {failure}")

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
            elif (bool(leaf.views), leaf.is_list) != (assumed is not None, known.is_list):
                kind = "a list of arrays" if known.is_list else "a number" if assumed is None else "an array"
                raise self._other(f"{kind} for '{leaf.name}'")
            elif isinstance(known.value, int) and isinstance(leaf.value, int):
                if not _fits(leaf.value, bits := _bits(known)):
                    raise self._other(f"'{leaf.name}' of {bits} bits; found {leaf.value}")
            elif assumed is not None:
                for name, view in leaf.arrays:
                    if why := assumed.violation(view):
                        raise self._other(f"'{name}': {why}")
        if extra := overlaps([leaf.views for leaf in given]) - self._overlaps:
            first, second = (given[number].name for number in min(extra))
            those = f"'{first}' and '{second}'" if first != second else f"arrays of '{first}'"
            raise self._other(f"separate arrays; found memory that {those} share")
        for number, first in self._equal.items():
            if _place(given[number]) != _place(given[first]):
                raise self._other(f"one array as '{given[first].name}' and '{given[number].name}'; found two")
        return [value for leaf in given if not leaf.is_constant for value in _passed(leaf)]

    @property
    def _varying(self) -> list[Leaf]:
        return [leaf for leaf in self.leaves if not leaf.is_constant]

    def _other(self, assumed: str) -> Exception:
        return error(
            None, f"the cuTile kernel '{self.name}' was compiled for {assumed}",
            "compile it for these arguments; tessera_tools.launch does so when needed",
        )  # fmt: skip


def _place(leaf: Leaf) -> Hashable:
    """Where the array of an argument is."""
    [view] = leaf.views
    return view.address, view.shape, view.strides


def _passed(leaf: Leaf) -> tuple[object, ...]:
    """What a launch passes for an argument."""
    if leaf.is_list:
        return ArrayTable(leaf.arrays), len(leaf.views)
    # A float64 of NumPy is a float of Python, for cuTile too.
    return (float(leaf.value) if isinstance(leaf.value, float) else leaf.value,)


def _known(leaf: Leaf) -> Hashable:
    """What is compiled in of a constant, or of a number."""
    kind = type(leaf.value).__name__
    value = leaf.value
    if type(value) in (bool, int, float) and not leaf.is_constant:
        return kind, type(value) is int and not _fits(value, 32)
    try:
        hash(leaf.value)
    except TypeError:
        return kind, repr(leaf.value)
    return kind, leaf.value


def _bits(leaf: Leaf) -> int:
    """The width of an integer of Python: 64 if it is annotated so, or 32 are not enough."""
    annotated = getattr(leaf.annotation, "scalar", None) is not None
    return 64 if annotated or not (isinstance(leaf.value, int) and _fits(leaf.value, 32)) else 32


def _fits(number: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


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


def export(
    kernel: Any, args: Sequence[object] | None, target: Target | None, *, must_alias: bool = False
) -> tuple[bytes, str, Arguments]:
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
    found = Arguments(kernel, args, must_alias=must_alias)
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
    except TypeError as failure:  # an annotation of another kind than the argument
        raise found.refused(failure) from failure
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


def _constraint(leaf: Leaf, assumed: Assumed | None, groups: Sequence[str], shared: bool = False) -> Any:
    """The cuTile constraint of one argument.

    groups: what the arrays may share memory with. shared: the arrays of the list may share memory.
    """
    import cuda.tile as ct
    from cuda.tile.compilation import ListConstraint, ScalarConstraint

    name, value = leaf.name, leaf.value
    if leaf.is_constant:
        return value
    if assumed is not None:
        # A loop may store to the array of each round at once if its elements have addresses of their own.
        array = _array(ct, name, assumed, groups, assumed.repeats or shared)
        return ListConstraint(array, alias_groups=(), elements_may_alias=shared) if leaf.is_list else array
    if isinstance(value, bool):
        return ScalarConstraint(ct.bool_)
    if isinstance(value, int):
        if not _fits(value, 64):
            raise error(None, f"'{name}': {value} does not fit i64")
        return ScalarConstraint(ct.int64 if _bits(leaf) == 64 else ct.int32)
    if isinstance(value, float):
        return ScalarConstraint(ct.float32)
    dtype = _element_type(ct, getattr(getattr(value, "dtype", None), "name", ""))
    if dtype is not None:
        return ScalarConstraint(dtype)
    if hasattr(type(value), "__dataclass_fields__"):
        raise error(
            None, f"'{name}': found the dataclass {type(value).__name__}, and this release of cuda-tile takes none",
            "pass a tuple of its fields",
        )  # fmt: skip
    raise error(
        None,
        f"'{name}': found {_a(value)}, expected an array, a list of arrays, a number, or a constant of the kernel",
    )


def _a(value: object) -> str:
    """The kind of a value, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _element_type(ct: Any, name: str) -> Any:
    """cuTile's type for a type of NumPy; None if it has none."""
    return getattr(ct, {"bool": "bool_"}.get(name, name), None)


def _array(ct: Any, name: str, assumed: Assumed, groups: Sequence[str], repeats: bool) -> ArrayConstraint:
    from cuda.tile.compilation import ArrayConstraint

    dtype = _element_type(ct, assumed.dtype)
    if dtype is None:
        raise error(None, f"'{name}': cuTile has no element type '{assumed.dtype}'")
    return ArrayConstraint(
        dtype,
        len(assumed.extents),
        index_dtype=ct.int64 if assumed.wide else ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=tuple(groups),
        may_alias_internally=repeats,
        stride_constant=assumed.fixed_strides,
        shape_constant=assumed.fixed_extents,
        stride_divisible_by=assumed.strides,
        shape_divisible_by=assumed.extents,
        base_addr_divisible_by=assumed.base,
    )
