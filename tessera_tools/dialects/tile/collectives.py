"""Ops of programs for several GPUs: kernel launches, and exchanges of buffers between the ranks of a mesh.

%d = tile.launch @gemm grid ["m / 128", "n / 128"] (%a, %b) : (memref<…>, memref<…>) -> memref<…>
%sum = tile.allreduce %d {mesh_axis = "tensor_parallel", reduction_kind = "sum"} : memref<…> -> memref<…>

These ops return new buffers in global memory.
"""

from __future__ import annotations

import re

from tessera_tools.dialects.func import Func
from tessera_tools.dialects.tile.attention import AttentionDivide, AttentionRescale, FlashAttention
from tessera_tools.dialects.tile.base import ANY_BUFFER, MAKES, space_of
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.dialects.tile.mesh import WHOLE, dimension_names, is_kernel, mesh_of
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import IntegerAttr, StringAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import DYNAMIC, MemRefType
from tessera_tools.opdef import (
    ARRAY_ATTR,
    I64_ATTR,
    STRING_ATTR,
    SYMBOL_REF,
    Op,
    attribute,
    operand,
    result,
    variadic_operand,
    variadic_result,
)

REDUCTIONS = ("sum", "max", "min")
_TILES = re.compile(r"([A-Za-z]\w*)(?:\s*/\s*([1-9]\d*))?")


class Collective(Op):
    """The base of collectives: `mesh_axis` names the axis of the module's mesh whose ranks take part."""

    source = operand(ANY_BUFFER)
    mesh_axis = attribute(STRING_ATTR)
    implementation = attribute(STRING_ATTR, optional=True)
    res = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    factors: tuple[tuple[str, bool], ...] = ()
    """(attribute that names a dimension, whether it grows by as many ranks as there are; else it shrinks)."""

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if source.element is not res.element or source.rank != res.rank:
            raise self.error(f"converts {source} to {res}: ranks and element types must match")
        kind = self.attributes.get("reduction_kind")
        if isinstance(kind, StringAttr) and kind.value not in REDUCTIONS:
            raise self.error(f'has reduction_kind "{kind.value}"; expected one of {", ".join(REDUCTIONS)}')
        mesh = mesh_of(self)
        ranks = mesh.extent(self.mesh_axis.value) if mesh is not None else None
        if mesh is not None and ranks is None:
            raise self.error(f"unknown mesh axis '{self.mesh_axis.value}'; the mesh has {mesh.described()}")
        changed: dict[int, bool] = {}
        for key, grows in self.factors:
            dim = self.attributes[key].value  # type: ignore[attr-defined]
            if not 0 <= dim < source.rank:
                raise self.error(f"{key} is {dim}, but {source} has {source.rank} dimensions")
            if dim in changed:
                raise self.error(f"gathers and splits dimension {dim}; expected two dimensions")
            changed[dim] = grows
        for dim, (before, after) in enumerate(zip(source.shape, res.shape, strict=True)):
            if DYNAMIC in (before, after):
                continue
            if dim not in changed:
                if before != after:
                    raise self.error(
                        f"converts {source} to {res}: dimension {dim} has {before} and {after} elements"
                    )
                continue
            small, large = (before, after) if changed[dim] else (after, before)
            if (large % small if small else large) or (ranks is not None and large != small * ranks):
                many = (
                    f"a factor of {ranks}, the number of ranks"
                    if ranks is not None
                    else "the number of ranks"
                )
                raise self.error(f"converts {source} to {res}: dimension {dim} does not change by {many}")


class AllReduce(Collective, name="tile.allreduce", traits=(MAKES,)):
    """Combines the elements of all ranks; every rank receives the result."""

    reduction_kind = attribute(STRING_ATTR)


class AllGather(Collective, name="tile.allgather", traits=(MAKES,)):
    """Concatenates the parts of all ranks along dimension `dim`; every rank receives the result."""

    dim = attribute(I64_ATTR)
    factors = (("dim", True),)


class ReduceScatter(Collective, name="tile.reduce_scatter", traits=(MAKES,)):
    """Combines the elements of all ranks; each rank receives its part along dimension `dim`."""

    dim = attribute(I64_ATTR)
    reduction_kind = attribute(STRING_ATTR)
    factors = (("dim", False),)


class AllToAll(Collective, name="tile.all_to_all", traits=(MAKES,)):
    """Changes the sharded dimension from `gather_dim` to `split_dim`."""

    split_dim = attribute(I64_ATTR)
    gather_dim = attribute(I64_ATTR)
    factors = (("split_dim", False), ("gather_dim", True))


class AllSlice(Collective, name="tile.all_slice", traits=(MAKES,)):
    """Each rank keeps its part along dimension `dim` of a replicated tensor, without communication."""

    dim = attribute(I64_ATTR)
    factors = (("dim", False),)


class Launch(Op, name="tile.launch", traits=(MAKES,)):
    """Runs a kernel on the rank's GPU. Its last arguments are the results, which are new buffers of zeros.

    An entry of `grid` is a number of blocks, or as many as there are tiles of a dimension that the kernel names:
    `"m / 128"`, rounded up.  `tile.dimensions` of the kernel's arguments names dimensions, for the grid and for
    `--tile-collective-insertion`: the kernel computes the parts of a dimension independently, and sums over those that
    its results do not have.
    """

    callee = attribute(SYMBOL_REF)
    grid = attribute(ARRAY_ATTR)
    operands_ = variadic_operand(ANY_BUFFER)
    results_ = variadic_result(ANY_BUFFER)
    assembly = "$callee `grid` $grid `(` $operands `)` attr-dict `:` functional-type($operands, $results)"

    @property
    def kernel(self) -> Func | None:
        """The kernel; None if it is already lowered."""
        found = lookup_symbol(self, self.callee)
        return found if isinstance(found, Func) else None

    def names(self) -> list[tuple[str, ...]]:
        """For each operand and result the names of its dimensions; "_" if the kernel has no name for it."""
        kernel = self.kernel
        found: list[tuple[str, ...]] = []
        for number, value in enumerate([*self.operands, *self.results]):
            rank = value.type.rank  # type: ignore[attr-defined]
            named = dimension_names(kernel, number) if kernel is not None else None
            found.append(named if named is not None else (WHOLE,) * rank)
        return found

    def extents(self) -> dict[str, int]:
        """The extent of every named dimension."""
        values = [*self.operands, *self.results]
        return {
            name: extent
            for names, value in zip(self.names(), values, strict=True)
            for name, extent in zip(names, value.type.shape, strict=True)  # type: ignore[attr-defined]
            if name != WHOLE
        }

    def blocks(self) -> tuple[int, ...]:
        """The grid, x first."""
        extents = self.extents()
        return tuple(-(-extents[name] // tile) if name else tile for name, tile in map(entry, self.grid))

    def verify_op(self) -> None:
        if not 1 <= len(self.grid) <= 3:
            raise self.error(f"has a grid of {len(self.grid)} extents; expected one to three")
        found = lookup_symbol(self, self.callee)
        if found is None:
            raise self.error(f"launches @{self.callee.root}, which does not exist")
        entries = [self._entry(e) for e in self.grid]
        kernel = self.kernel
        if kernel is None:
            return
        if not is_kernel(kernel):
            raise self.error(f"launches @{self.callee.root}, which is not a kernel; mark it tessera.kernel")
        values = [*self.operands, *self.results]
        inputs = kernel.signature.inputs
        if len(inputs) != len(values):
            raise self.error(
                f"passes @{self.callee.root} {len(self.operands)} operands and {len(self.results)} results; "
                f"it has {len(inputs)} arguments"
            )
        extents: dict[str, int] = {}
        for number, (value, type) in enumerate(zip(values, inputs, strict=True)):
            given = value.type_as(MemRefType)
            if not isinstance(type, MemRefType) or not _fits(given, type):
                raise self.error(f"passes @{self.callee.root} {given} as argument {number}, which is {type}")
            names = dimension_names(kernel, number)
            if names is None:
                continue
            if len(names) != given.rank:
                raise kernel.error(
                    f"names {len(names)} dimensions of argument {number}, which has {given.rank}"
                )
            for name, extent in zip(names, given.shape, strict=True):
                if name != WHOLE and extents.setdefault(name, extent) != extent:
                    raise self.error(
                        f"has extents {extents[name]} and {extent} of dimension '{name}' of @{self.callee.root}"
                    )
        for name, _ in entries:
            if name and name not in extents:
                known = ", ".join(extents) or "none"
                raise self.error(
                    f"has a grid over '{name}', but @{self.callee.root} names the dimensions {known}"
                )

    def _entry(self, given: Attribute) -> tuple[str, int]:
        try:
            return entry(given)
        except ValueError:
            raise self.error(
                f'has the grid extent {given}; expected a number from 1, or tiles as in "m / 128"'
            ) from None


def entry(given: Attribute) -> tuple[str, int]:
    """An extent of a grid: (dimension, extent of its tiles), or ("", number of blocks). ValueError for another."""
    if isinstance(given, IntegerAttr) and given.value >= 1:
        return "", given.value
    match = _TILES.fullmatch(given.value) if isinstance(given, StringAttr) else None
    if match is None:
        raise ValueError(given)
    return match[1], int(match[2] or 1)


def _fits(given: MemRefType, wanted: MemRefType) -> bool:
    return (
        given.element is wanted.element
        and given.rank == wanted.rank
        and all(w in (DYNAMIC, g) for g, w in zip(given.shape, wanted.shape, strict=True))
    )


def is_host(function: Operation) -> bool:
    """True if a function runs on the host by its own account: it launches, exchanges, multiplies tensors in global
    memory or takes their attention, and is not a kernel."""
    return not is_kernel(function) and any(
        isinstance(op, Launch | Collective | FlashAttention | AttentionRescale | AttentionDivide)
        or (isinstance(op, Product) and space_of(op.lhs.type) == space_of(op.rhs.type) == 0)
        for op in function.walk()
    )
