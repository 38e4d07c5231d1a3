"""Programs that move one tile through a view of any kind, and what NumPy says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from programs import Array, decode, encode, random, run, tile

PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}


@dataclass(frozen=True)
class Case:
    """A tensor, a view of it, and the indices of a tile.

    extents, strides: of the tensor, in elements. `dynamic` passes them as arguments of type `numbers`.
    kind: partition, strided or gather; `distance` is the traversal stride of each tile axis, `sparse` the axis of a
    gather. `order` is the dim_map. `inbounds`: the flags, where given.
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    tile: tuple[int, ...]
    kind: str = "partition"
    distance: tuple[int, ...] = ()
    sparse: int = 0
    order: tuple[int, ...] = ()
    padding: str | None = None
    element: str = "f32"
    dynamic: bool = True
    numbers: str = "i32"
    index: str = "i32"
    inbounds: tuple[bool, ...] = ()
    ordering: str = "weak"
    aligned: bool = False

    @property
    def axes(self) -> tuple[int, ...]:
        """The tensor's axis for each axis of the tile."""
        return self.order or tuple(range(len(self.tile)))

    @property
    def steps(self) -> tuple[int, ...]:
        """How many elements an index counts."""
        return {
            "partition": self.tile,
            "strided": self.distance,
            "gather": (1,) * len(self.tile),
        }[self.kind]

    # -- text

    def program(self, store: bool) -> str:
        """The entry: pointers of the tensor and of the tile, extents, strides, indices (a pointer for a sparse one)."""
        rank = len(self.tile)
        moved = tile(self.element, self.tile)
        parameters = [f"%tensor: tile<ptr<{self.element}>>", f"%flat: tile<ptr<{self.element}>>"]
        if self.dynamic:
            parameters += [f"%{name}{d}: tile<{self.numbers}>" for name in "es" for d in range(rank)]
        for d in range(rank):
            of = f"ptr<{self.index}>" if self.is_sparse(d) else self.index
            parameters.append(f"%i{d}: tile<{of}>")
        view, kind = self._types()
        lines = ["%token = make_token : token", "%zero = constant <i32: 0> : tile<i32>"]
        base, numbers = "%tensor", {f"{name}{d}": f"%{name}{d}" for name in "es" for d in range(rank)}
        if self.aligned:
            base = "%aligned"
            lines.append(f"%aligned = assume div_by<16>, %tensor : tile<ptr<{self.element}>>")
            for name in numbers if self.dynamic else ():
                lines.append(f"%{name}D = assume div_by<16>, %{name} : tile<{self.numbers}>")
                lines.append(f"%{name}B = assume bounded<0, ?>, %{name}D : tile<{self.numbers}>")
                numbers[name] = f"%{name}B"
        spelled = {
            name: ", ".join(
                str(v) if not self.dynamic or (name == "s" and v == 1) else numbers[f"{name}{d}"]
                for d, v in enumerate(values)
            )
            for name, values in (("e", self.extents), ("s", self.strides))
        }
        arrow = f"tile<{self.numbers}> -> " if self.dynamic else ""
        lines.append(
            f"%v = make_tensor_view {base}, shape = [{spelled['e']}], strides = [{spelled['s']}] : {arrow}{view}"
        )
        making = {"partition": "partition", "strided": "strided", "gather": "gather_scatter"}[self.kind]
        lines.append(f"%w = make_{making}_view %v : {kind}")
        indices, types = [], []
        for d in range(rank):
            if self.is_sparse(d):
                many = tile(self.index, (self.tile[d],))
                sparse, sparse_type = _whole(self.index, (self.tile[d],))
                lines.append(f"%x{d} = make_tensor_view %i{d}, {sparse}")
                lines.append(f"%y{d} = make_partition_view %x{d} : {sparse_type}")
                lines.append(
                    f"%j{d}, %k{d} = load_view_tko weak %y{d}[%zero] : {sparse_type}, tile<i32> -> {many}, token"
                )
                indices.append(f"%j{d}")
                types.append(many)
            else:
                indices.append(f"%i{d}")
                types.append(tile(self.index, ()))
        listed = ", ".join(types if len(set(types)) > 1 else types[:1])
        flags = ""
        if self.inbounds:
            flags = f" inbounds = [{', '.join('true' if f else 'false' for f in self.inbounds)}]"
        whole, whole_type = _whole(self.element, self.tile)
        lines.append(f"%f = make_tensor_view %flat, {whole}")
        lines.append(f"%g = make_partition_view %f : {whole_type}")
        zeros = ", ".join(["%zero"] * rank)
        through = f"%w[{', '.join(indices)}] token = %token{flags}"
        if store:
            lines.append(
                f"%t, %m = load_view_tko weak %g[{zeros}] : {whole_type}, tile<i32> -> {moved}, token"
            )
            lines.append(
                f"%n = store_view_tko {self.ordering} %t, {through} : {moved}, {kind}, {listed} -> token"
            )
        else:
            lines.append(
                f"%t, %m = load_view_tko {self.ordering} {through} : {kind}, {listed} -> {moved}, token"
            )
            lines.append(
                f"%n = store_view_tko weak %t, %g[{zeros}] : {moved}, {whole_type}, tile<i32> -> token"
            )
        joined = "\n  ".join([*lines, "return"])
        return f"entry @kernel({', '.join(parameters)}) {{\n  {joined}\n}}\n"

    def _types(self) -> tuple[str, str]:
        shape = "x".join("?" if self.dynamic else str(v) for v in self.extents)
        strides = ",".join("?" if self.dynamic and v != 1 else str(v) for v in self.strides)
        view = f"tensor_view<{shape}x{self.element}, strides=[{strides}]>"
        extents = "x".join(map(str, self.tile))
        padding = f"padding_value = {self.padding}, " if self.padding is not None else ""
        order = f", dim_map=[{', '.join(map(str, self.order))}]" if self.order else ""
        if self.kind == "gather":
            return view, f"gather_scatter_view<tile=({extents}), {padding}{view}, sparse_dim={self.sparse}>"
        if self.kind == "strided":
            steps = ",".join(map(str, self.distance))
            return (
                view,
                f"strided_view<tile=({extents}), traversal_strides=[{steps}], {padding}{view}{order}>",
            )
        return view, f"partition_view<tile=({extents}), {padding}{view}{order}>"

    def is_sparse(self, d: int) -> bool:
        """True if the index of an axis is a tile."""
        return self.kind == "gather" and d == self.sparse

    # -- running

    def buffer(self, rng: np.random.Generator) -> Array:
        """Memory of the tensor, not one element more."""
        count = 1 + sum((n - 1) * s for n, s in zip(self.extents, self.strides, strict=True))
        return random(self.element, (count,), rng)

    def arguments(self, indices: Sequence[Any]) -> list[Any]:
        """What follows the pointers."""
        found: list[Any] = []
        if self.dynamic:
            kind = np.dtype(f"int{self.numbers[1:]}")
            found += [np.array(v).astype(kind)[()] for v in (*self.extents, *self.strides)]
        kind = np.dtype(f"int{self.index[1:]}")
        return found + [np.array(v).astype(kind)[()] for v in indices]

    def places(self, indices: Sequence[Any]) -> list[int | None]:
        """For each element of the tile, in order, its number in memory, or None where it lies outside."""
        found: list[Any] = []
        for at in product(*map(range, self.tile)):
            address, inside = 0, True
            for d, x in enumerate(at):
                axis = self.axes[d]
                # A sparse index that is negative is as much out of bounds as the unsigned number.
                whole = not self.is_sparse(d)
                index = (
                    indices[d] % (1 << int(self.index[1:])) * self.steps[d] + x if whole else indices[d][x]
                )
                inside &= 0 <= int(index) < self.extents[axis]
                address += int(index) * self.strides[axis]
            found.append(address if inside else None)
        return found

    def check_load(self, indices: Sequence[Any], rng: np.random.Generator, target: str) -> None:
        """Load the tile at the indices and compare it, padding included."""
        tensor, flat = self.buffer(rng), random(self.element, self.tile, rng)
        got = run(self.program(store=False), tensor, flat, *self.arguments(indices), target=target)[
            1
        ].reshape(-1)
        places = self.places(indices)
        inside = [i for i, place in enumerate(places) if place is not None]
        assert (
            got[inside].view(np.uint8)
            == tensor[np.array([places[i] for i in inside], np.int64)].view(np.uint8)
        ).all()
        outside = [i for i, place in enumerate(places) if place is None]
        if self.padding is not None and outside:
            # Zero is all bits zero, also where that is no zero (f8E8M0FNU).
            is_number = self._is_float and self.padding != "zero"
            pad = (
                encode(self.element, np.full(1, PADDINGS[self.padding]))
                if is_number
                else np.zeros(1, got.dtype)
            )
            found = decode(self.element, got[outside]) if self._is_float else got[outside]
            expected = decode(self.element, pad) if self._is_float else pad
            np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))
            if self._is_float:
                assert (np.signbit(found) == np.signbit(expected)).all() or self.padding == "nan"

    @property
    def _is_float(self) -> bool:
        return not self.element.startswith("i")

    def check_store(self, indices: Sequence[Any], rng: np.random.Generator, target: str) -> None:
        """Store a tile at the indices and compare all of the tensor's memory."""
        tensor, flat = self.buffer(rng), random(self.element, self.tile, rng)
        got = run(self.program(store=True), tensor, flat, *self.arguments(indices), target=target)[0]
        expected = tensor.copy()
        for value, place in zip(flat.reshape(-1), self.places(indices), strict=True):
            if place is not None:
                expected[place] = value
        assert (got.view(np.uint8) == expected.view(np.uint8)).all()


def _whole(element: str, shape: Sequence[int]) -> tuple[str, str]:
    """(what follows the base of a row-major tensor of a tile's shape, the type of the view of its one tile)."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    extents, apart = "x".join(map(str, shape)), ",".join(map(str, strides))
    view = f"tensor_view<{extents}x{element}, strides=[{apart}]>"
    listed = f"shape = [{', '.join(map(str, shape))}], strides = [{', '.join(map(str, strides))}] : {view}"
    return listed, f"partition_view<tile=({extents}), {view}>"
