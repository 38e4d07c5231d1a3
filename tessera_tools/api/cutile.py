"""Kernels of NVIDIA's package `cuda-tile` (cuTile Python), compiled by Tessera tools without a GPU.

@ct.kernel ──its own exporter──▶ cuda_tile bytecode ──compile──▶ Kernel ──▶ the simulated GPU

The signature follows from the arguments, as when cuTile compiles at the first launch: parameters annotated
`ct.Constant` and strides of 1 are compiled in, and alignments of 16 bytes are declared.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tessera_tools.api.arrays import ArrayView, describe
from tessera_tools.bytecode import VERSIONS
from tessera_tools.diagnostics import Position, error
from tessera_tools.target import Target

__all__ = ["VECTOR", "export", "is_kernel"]

VECTOR = 16
"""The declared alignment of addresses, strides and extents, in bytes."""


def is_kernel(value: object) -> bool:
    """True if the object is a kernel of cuTile Python."""
    return type(value).__module__.startswith("cuda.tile") and hasattr(value, "_annotated_function")


def export(kernel: Any, args: Sequence[Any] | None, target: Target | None) -> tuple[bytes, str]:
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
    signature = _signature(function, args)
    output = io.BytesIO()
    gpu = f"sm_{target.compute_capability}" if target is not None else "sm_80"
    try:
        export_kernel(
            kernel, [signature], output, gpu_code=gpu, output_format="tileir_bytecode", bytecode_version=_version()
        )  # fmt: skip
    except TileError as failure:
        place = failure.loc
        position = Position(place.filename, place.line, place.col + 1) if place.filename else None
        raise error(position, failure.message) from failure
    except OSError as failure:
        raise error(
            None, f"the source of the cuTile kernel '{function.pyfunc.__name__}' cannot be read: {failure}",
            "define it in a file, or in a cell of a notebook",
        ) from failure  # fmt: skip
    return output.getvalue(), file


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


def _signature(function: Any, args: Sequence[Any]) -> Any:
    from cuda.tile.compilation import CallingConvention, KernelSignature

    parameters = list(function.pysig.parameters)
    if len(args) != len(parameters):
        raise error(
            None,
            f"the cuTile kernel '{function.pyfunc.__name__}' takes {len(parameters)} arguments "
            f"({', '.join(parameters)}); found {len(args)}",
        )
    views = [describe(value) for value in args]
    groups = _alias_groups(views)
    constraints = [
        _constraint(name, note, value, view, group)
        for name, note, value, view, group in zip(
            parameters, function.parameter_annotations, args, views, groups, strict=True
        )
    ]
    name = function.pyfunc.__name__
    try:
        return KernelSignature(constraints, CallingConvention.cutile_python_v2(), symbol=name)
    except (TypeError, ValueError) as failure:
        raise error(None, f"the arguments of the cuTile kernel '{name}': {failure}") from failure


def _constraint(name: str, annotation: Any, value: Any, view: ArrayView | None, groups: Sequence[str]) -> Any:
    """The cuTile constraint of one argument."""
    import cuda.tile as ct
    from cuda.tile.compilation import ScalarConstraint

    if getattr(annotation, "constant", False):
        return value
    if view is not None:
        return _array(ct, name, annotation, view, groups)
    if isinstance(value, bool):
        return ScalarConstraint(ct.bool_)
    if isinstance(value, int):
        wide = annotation.scalar is not None or not -(1 << 31) <= value < 1 << 31
        return ScalarConstraint(ct.int64 if wide else ct.int32)
    if isinstance(value, float):
        return ScalarConstraint(ct.float32)
    dtype = getattr(getattr(value, "dtype", None), "name", None)
    if dtype is not None and hasattr(ct, dtype):
        return ScalarConstraint(getattr(ct, dtype))
    raise error(
        None, f"'{name}': found a {type(value).__name__}, expected an array, a number, or a constant of the kernel"
    )  # fmt: skip


def _array(ct: Any, name: str, annotation: Any, view: ArrayView, groups: Sequence[str]) -> Any:
    from cuda.tile.compilation import ArrayConstraint

    dtype = getattr(ct, {"bool": "bool_"}.get(view.dtype, view.dtype), None)
    if dtype is None:
        raise error(None, f"'{name}': cuTile has no element type '{view.dtype}'")
    each = max(VECTOR // view.itemsize, 1)
    wide = annotation.array is not None or max((*view.shape, *view.strides, 0)) >= 1 << 31
    return ArrayConstraint(
        dtype,
        len(view.shape),
        index_dtype=ct.int64 if wide else ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=tuple(groups),
        may_alias_internally=any(s == 0 and n > 1 for n, s in zip(view.shape, view.strides, strict=True)),
        stride_constant=[1 if stride == 1 else None for stride in view.strides],
        stride_divisible_by=[each if stride % each == 0 and stride != 1 else 1 for stride in view.strides],
        shape_divisible_by=[each if extent % each == 0 else 1 for extent in view.shape],
        base_addr_divisible_by=VECTOR if view.address % VECTOR == 0 else view.itemsize,
    )


def _alias_groups(views: Sequence[ArrayView | None]) -> list[list[str]]:
    """For each argument the groups of arrays that share memory with it."""
    groups: list[list[str]] = [[] for _ in views]
    ordered = sorted((v.bounds, number) for number, v in enumerate(views) if v is not None)
    for ((_, end), first), ((begin, _), second) in pairwise(ordered):
        if begin < end:
            for number in (first, second):
                groups[number].append(f"shared_{first}")
    return groups
