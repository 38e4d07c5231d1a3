"""Launching a compiled kernel with arrays: on the simulated GPU, or on a real one.

kernel[grid](a, b, 3) ──arguments──▶ pointers, extents, strides, scalars ──▶ runtime ──▶ Result; a and b in place
kernel[grid]([a, b])  ──a table of them in the device's memory──▶ its pointer and length
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from tessera_tools.api.arrays import ArrayTable, ArrayView, HostMemory, describe
from tessera_tools.diagnostics import error, plain_errors
from tessera_tools.runtime import Device, Parameter, Result, Scalar, device, lookup_type
from tessera_tools.runtime.interface import Argument, LaunchOptions

if TYPE_CHECKING:
    from tessera_tools.api.compiling import Kernel

__all__ = ["FindingsError", "Launcher", "grid_of"]


class FindingsError(RuntimeError):
    """The simulated GPU found errors in a kernel. `result` is the result of the launch; the arrays have been
    modified."""

    def __init__(self, kernel: str, result: Result) -> None:
        self.result = result
        texts = [finding.text() for finding in result.findings.of("error")]
        more = f"… and {len(texts) - 3} more\n" if len(texts) > 3 else ""
        super().__init__(
            f"kernel '{kernel}': {result.findings.summary()}\n" + "".join(texts[:3]).rstrip() + more
        )


def grid_of(given: object) -> tuple[int, ...]:
    """A grid as integers: of a number, or of up to three.  Raises DiagnosticError for anything else."""
    parts: tuple[Any, ...] = (
        tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    )
    try:
        found = tuple(map(index, parts))
    except TypeError:
        found = ()
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise error(None, f"the grid is {given!r}; expected one to three positive integers, as (4, 2)")
    return found


Assigned: TypeAlias = tuple[Parameter, ArrayView | ArrayTable | Argument]
"""A parameter with its value."""


class Launcher:
    """A kernel with its grid; call it with the kernel's arguments."""

    def __init__(self, kernel: Kernel, grid: object) -> None:
        self.kernel = kernel
        self.grid = grid_of(grid)

    def __call__(
        self,
        *args: object,
        device: str | Device = "sim",
        check: bool = True,
        **options: Unpack[LaunchOptions],
    ) -> Result:
        """Launch the kernel and wait for its end. Arrays are modified in place.

        args: one for each parameter, or one for each array: if the kernel's parameters are a pointer, extents and
            strides, as in cuTile, an array supplies all of them, unless they are given, too. Arrays of NumPy, torch,
            JAX and CuPy are supported. A list of arrays is an argument of a cuTile kernel.
        device: `sim`, `cuda`, or a device of `tessera_tools.device`.
        check: raise FindingsError if the simulated GPU finds an error (a race, an access out of bounds …).
        options: options of the device: on `sim` seed, mode, stats, processes, time_limit …; `stream`, a number or a
            stream of torch, CuPy or with `__cuda_stream__`, which has no effect on `sim`.

        Raises DiagnosticError if the arguments do not match the parameters.
        """
        with plain_errors():
            return self._run(_assigned(self.kernel, args), device, check, options)

    def launch(
        self,
        args: Sequence[object],
        *,
        device: str | Device = "sim",
        check: bool = True,
        **options: Unpack[LaunchOptions],
    ) -> Result:
        """As a call, but each argument that is an `ArrayView` is its pointer, extents and strides, and no other is."""
        with plain_errors():
            return self._run(_each(self.kernel, args), device, check, options)

    def _run(
        self,
        plan: Sequence[Assigned],
        device: str | Device,
        check: bool,
        options: LaunchOptions,
    ) -> Result:
        kernel = self.kernel
        chosen = _device(device)
        views = [pair for p, value in plan for pair in _views(p, value)]
        for name, view in views:
            if view.on_gpu and chosen.name == "sim":
                raise error(
                    None, f"the array for '{name}' is on a GPU; the simulated GPU reads the host's memory",
                    "copy it to the host, or launch with device='cuda'",
                )  # fmt: skip
        for stream in {view.stream for _, view in views if view.stream is not None}:
            chosen.wait_for(stream)
        memory = HostMemory(chosen, [(name, view) for name, view in views if not view.on_gpu])
        values: list[Argument] = []
        for parameter, value in plan:
            if isinstance(value, ArrayTable):
                addresses = [view.address if view.on_gpu else memory.address(view) for _, view in value.items]
                values.append(chosen.buffer(value.words(addresses), parameter.name))
            elif isinstance(value, ArrayView):
                values.append(value.address if value.on_gpu else memory.pointer(value))
            else:
                values.append(value)
        code = kernel.ptx if chosen.name == "sim" else kernel.cubin
        module = chosen.load(code, kernel.manifest, file=f"<ptx of {kernel.source}>")
        result = module.kernel(kernel.name).launch(self.grid, values, **options)
        # The clock skips work whose time it knows, so the results are not complete.
        if result.estimate is None:
            memory.copy_back()
        if check and result.findings.of("error"):
            raise FindingsError(kernel.name, result)
        return result


def _device(given: str | Device) -> Device:
    return device(given) if isinstance(given, str) else given


def _views(parameter: Parameter, value: ArrayView | ArrayTable | Argument) -> Sequence[tuple[str, ArrayView]]:
    """The arrays that an argument consists of, with their names."""
    if isinstance(value, ArrayTable):
        return value.items
    return [(parameter.name, value)] if isinstance(value, ArrayView) else []


def _assigned(kernel: Kernel, args: Sequence[object]) -> list[Assigned]:
    """Each parameter with its value: an ArrayView for a pointer, otherwise a scalar. Raises DiagnosticError."""
    wanted = kernel.signature.wanted
    cutile = kernel._arguments
    # An array and two constants are as many as an array's pointer, extent and stride: cuTile's count goes first.
    if cutile is not None and (len(args) in cutile.counts or len(args) != len(wanted)):
        args = cutile.values(args)
    given = [(value, describe(value)) for value in args]
    whole = _expanded(kernel, given)
    found: list[Assigned] = []
    rest = iter(wanted)
    for number, (value, view) in enumerate(given):
        parameter = next(rest)
        if view is None:
            found.append((parameter, value if isinstance(value, ArrayTable) else _scalar(parameter, value)))
            continue
        _check_pointer(kernel, parameter, view)
        found.append((parameter, view))
        if number not in whole:
            _check_contiguous(parameter, view)
            continue
        for extent_or_stride in (*view.shape, *view.strides):
            extent = next(rest)
            if extent.type not in ("i32", "i64"):
                raise error(
                    None,
                    f"the array for '{parameter.name}' has {len(view.shape)} dimensions, and '{extent.name}' "
                    f"({extent.type}) was given, but one of their extents or strides is expected",
                    kernel.signature.takes(),
                )
            found.append((extent, extent_or_stride))
    return found


def _expanded(kernel: Kernel, given: Sequence[tuple[object, ArrayView | None]]) -> set[int]:
    """The numbers of the arguments that are a pointer, extents and strides: no array, or all arrays, or those for whose
    pointer so many more numbers follow in the signature than in the call. Raises DiagnosticError."""
    wanted = kernel.signature.wanted
    arrays = {number: view for number, (_, view) in enumerate(given) if view is not None}
    if len(given) == len(wanted):
        return set()
    parameters = len(given) + sum(2 * len(view.shape) for view in arrays.values())
    if parameters == len(wanted):
        return set(arrays)
    pointers = [number for number, parameter in enumerate(wanted) if parameter.type == "ptr"]
    if len(pointers) == len(arrays) and pointers[:1] == list(arrays)[:1]:
        in_signature, in_call = pairwise([*pointers, len(wanted)]), pairwise([*arrays, len(given)])
        more = [(b - a) - (d - c) for (a, b), (c, d) in zip(in_signature, in_call, strict=True)]
        fits = zip(more, arrays.values(), strict=True)
        if arrays and all(amount in (0, 2 * len(view.shape)) for amount, view in fits):
            return {number for number, amount in zip(arrays, more, strict=True) if amount}
    raise error(
        None,
        f"{len(given)} arguments given, which are {parameters} parameters if each array is its pointer, "
        f"extents and strides; '{kernel.name}' has {len(wanted)} parameters",
        kernel.signature.takes(),
    )


def _each(kernel: Kernel, args: Sequence[object]) -> list[Assigned]:
    """Each parameter with its value, where only views expand. Raises DiagnosticError."""
    found: list[Assigned] = []
    rest = iter(kernel.signature.wanted)
    for value in args:
        view = describe(value) if not isinstance(value, ArrayView) else value
        parameter = next(rest)
        if view is None:
            found.append((parameter, _scalar(parameter, value)))
            continue
        _check_pointer(kernel, parameter, view)
        found.append((parameter, view))
        if isinstance(value, ArrayView):
            found += [(next(rest), number) for number in (*view.shape, *view.strides)]
        else:
            _check_contiguous(parameter, view)
    return found


def _check_contiguous(parameter: Parameter, view: ArrayView) -> None:
    if not view.is_contiguous:
        raise error(
            None,
            f"the array for '{parameter.name}' has the strides {view.strides}; the kernel has no "
            "stride parameters, so it must be contiguous",
            "pass numpy.ascontiguousarray(a)",
        )


def _scalar(parameter: Parameter, value: object) -> Argument:
    if isinstance(value, bool | int | float | bytes | Scalar | np.generic):
        return value
    what = type(value).__name__
    raise error(None, f"{parameter}: found a {what}, expected an array or a number")


def _check_pointer(kernel: Kernel, parameter: Parameter, view: ArrayView) -> None:
    """Check that the parameter is a pointer to the array's element type."""
    if parameter.type != "ptr":
        raise error(
            None,
            f"{parameter}: found an array of {len(view.shape)} dimensions, expected a number",
            kernel.signature.takes(),
        )
    pointee = kernel.pointees.get(kernel.signature.parameters.index(parameter))
    expected = lookup_type(pointee) if pointee is not None else None
    found = view.type
    assert found is not None
    if expected is None or found.name == expected.name:
        return
    if expected.patterns and found.storage == expected.storage:
        return  # patterns of a type that NumPy does not have
    if "f" not in (expected.kind, found.kind) and expected.size == found.size:
        return  # integers have no sign
    raise error(
        None, f"'{parameter.name}' points to {pointee}: found an array of {view.dtype}",
        f"convert it, as with a.astype('{expected.storage.name}')",
    )  # fmt: skip
