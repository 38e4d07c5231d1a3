"""Which rank has what: meshes of ranks, and how a tensor is cut along their axes.

module attributes {tile.mesh = #tile.mesh<data = 2, tensor_parallel = 4>}       8 ranks, the last axis varies fastest
%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {tensor_parallel}]>}     each rank has 128x16 of it
%A: memref<128x64xf16> {sharding = "tensor_parallel"}                           sharded along the contraction of a
product: K
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import ArrayAttr, StringAttr, UnitAttr
from tessera_tools.ir.core import Operation

if TYPE_CHECKING:
    from tessera_tools.dialects.func import FunctionLike
    from tessera_tools.ir.scanner import Scanner

MESH = "tile.mesh"
"""Attribute of a module: its mesh."""
PER_RANK = "tile.per_rank"
"""Attribute of a function: its types are those of one rank, and the exchange between ranks is written out."""
SHARDING = "sharding"
"""Attribute of an argument or result: how it is cut."""
DIMENSIONS = "tile.dimensions"
"""Attribute of a kernel's argument: the names of its dimensions, `["m", "k"]`; "_" names one that must not be cut."""
WHOLE = "_"


class MeshAttr(Attribute, name="tile.mesh"):
    """`#tile.mesh<data = 2, tensor_parallel = 4>`: the axes of a grid of ranks, and their extents."""

    names: tuple[str, ...]
    extents: tuple[int, ...]

    def verify(self) -> None:
        if not self.names or len(self.names) != len(self.extents):
            raise ValueError("expected a mesh with one or more axes, each with an extent")
        for name, extent in zip(self.names, self.extents, strict=True):
            if extent < 1:
                raise ValueError(f"the axis '{name}' of a mesh has an extent of {extent}; expected 1 or more")
            if self.names.count(name) > 1:
                raise ValueError(f"a mesh has two axes named '{name}'")

    @classmethod
    def parse(cls, s: Scanner) -> MeshAttr:
        def axis() -> tuple[str, int]:
            name = s.word()
            s.expect("=")
            return name, s.integer()

        axes = s.list("<", axis, ">")
        return cls(tuple(name for name, _ in axes), tuple(extent for _, extent in axes))

    def text(self) -> str:
        axes = (f"{name} = {extent}" for name, extent in zip(self.names, self.extents, strict=True))
        return f"#tile.mesh<{', '.join(axes)}>"

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return math.prod(self.extents)

    def extent(self, axis: str) -> int | None:
        """The extent of an axis; None if there is none of this name."""
        return self.extents[self.names.index(axis)] if axis in self.names else None

    def described(self) -> str:
        """The axes in words, for errors."""
        return ", ".join(f"{name} = {extent}" for name, extent in zip(self.names, self.extents, strict=True))


class ShardingAttr(Attribute, name="tile.sharding"):
    """`#tile.sharding<[{}, {tensor_parallel}]>`: for each dimension the mesh axis along which it is cut, if any."""

    axes: tuple[str | None, ...]

    def verify(self) -> None:
        for axis in self.axes:
            if axis is not None and self.axes.count(axis) > 1:
                raise ValueError(f"two dimensions are sharded along '{axis}'; expected at most one")

    @classmethod
    def parse(cls, s: Scanner) -> ShardingAttr:
        def dimension() -> str | None:
            found = s.list("{", s.word, "}")
            if len(found) > 1:
                raise s.error(f"a dimension is sharded along at most one mesh axis, found {len(found)}")
            return found[0] if found else None

        s.expect("<")
        axes = s.list("[", dimension, "]")
        s.expect(">")
        return cls(tuple(axes))

    def text(self) -> str:
        return f"#tile.sharding<[{', '.join('{' + (axis or '') + '}' for axis in self.axes)}]>"


def mesh_of(op: Operation | None) -> MeshAttr | None:
    """The mesh of the enclosing module of an op; None if it has none."""
    while op is not None:
        found = op.attributes.get(MESH)
        if isinstance(found, MeshAttr):
            return found
        op = op.parent_op
    return None


def is_kernel(function: Operation) -> bool:
    """True if a function runs on the GPU by its own account."""
    return isinstance(function.attributes.get("tessera.kernel"), UnitAttr)


def dimension_names(function: FunctionLike, index: int) -> tuple[str, ...] | None:
    """The names of the dimensions of a kernel's argument; None if there are none."""
    found = function.argument_attributes(index).get(DIMENSIONS)
    if not isinstance(found, ArrayAttr):
        return None
    names = tuple(e.value for e in found.elements if isinstance(e, StringAttr))
    return names if len(names) == len(found.elements) else None
