"""The tensors of random kernels of products: their views, loads and stores as cuda_tile text, and their elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WIDTH = {"f16": 2, "bf16": 2, "tf32": 4, "f8E4M3FN": 1, "f8E5M2": 1, "i8": 1, "f32": 4, "i32": 4}


@dataclass
class Tensor:
    """A matrix in memory, or a stack of them: extents and tile as the program counts them."""

    name: str
    element: str
    extents: tuple[int, int]
    tile: tuple[int, int]
    transposed: str = ""
    batches: int = 0
    assumed: bool = True
    padding: bool = True
    slack: int = 0
    known: int = 16
    """The multiple of bytes that the program knows its base and rows to be, where `assumed`; less than 16: also those
    of its extents."""
    gathered: bool = False
    """Whether its tiles are read row by row, each at an index of its own: neither transposed, nor in a stack."""

    @property
    def stored(self) -> tuple[int, int]:
        """Rows and columns in memory order."""
        rows, columns = self.extents
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def pitch(self) -> int:
        each = max(1, self.known // WIDTH[self.element])
        return max(1, -(-self.stored[1] // each)) * each + self.slack * each

    def parameters(self) -> list[str]:
        n = self.name
        return [f"%{n}P: tile<ptr<{self.element}>>", *(f"%{n}{w}: tile<i32>" for w in "rcS")]

    def arguments(self, array: Array) -> list[Any]:
        return [array, *(np.int32(v) for v in (*self.stored, self.pitch))]

    def make(self) -> list[str]:
        n, e, div = self.name, self.element, max(1, self.known // WIDTH[self.element])
        q, pitch = (f"%{n}Q", f"%{n}L") if self.assumed else (f"%{n}P", f"%{n}S")
        lines = [
            f"%{n}Q = assume div_by<{self.known}>, %{n}P : tile<ptr<{e}>>",
            f"%{n}L = assume div_by<{div}>, %{n}S : tile<i32>",
        ][: 2 * self.assumed]
        front, some, columns = "", ("", ""), f"%{n}c"
        if self.assumed and self.known < 16:
            columns = f"%{n}C"
            lines += [f"{columns} = assume div_by<{div}>, %{n}c : tile<i32>"]
        if self.batches:
            lines += [f"%{n}B = muli %{n}r, {pitch} : tile<i32>"]
            front, some = f"%{n}z, ", (f"%{n}D, ", "?x")
            lines = [f"%{n}z = constant <i32: {self.batches}> : tile<i32>", *lines]
            lines += [f"%{n}D = assume div_by<{div}>, %{n}B : tile<i32>"]
        lines.append(
            f"%{n}T = make_tensor_view {q}, shape = [{front}%{n}r, {columns}], strides = [{some[0]}{pitch}, 1] : "
            f"tile<i32> -> {self.view}"
        )
        if self.gathered:
            rows, columns = self.tile
            lines += [
                f"%{n}G = make_gather_scatter_view %{n}T : {self.gather}",
                f"%{n}I = iota : tile<{rows}xi32>",
                f"%{n}M = constant <i32: {rows}> : tile<i32>",
                f"%{n}N = constant <i32: {columns}> : tile<i32>",
            ]
        return [*lines, f"%{n}V = make_partition_view %{n}T : {self.parts}"]

    @property
    def gather(self) -> str:
        """The type of the view by whose rows tiles are gathered."""
        rows, columns = self.tile
        return (
            f"gather_scatter_view<tile=({rows}x{columns}), padding_value = zero, {self.view}, sparse_dim=0>"
        )

    def gathering(self, result: str, i: str, j: str, token: str) -> list[str]:
        """Lines that load the rows of tile [i, j]."""
        n, r, rows = self.name, result, self.tile[0]
        return [
            f"{r}f = muli {i}, %{n}M : tile<i32>",
            f"{r}g = reshape {r}f : tile<i32> -> tile<1xi32>",
            f"{r}h = broadcast {r}g : tile<1xi32> -> tile<{rows}xi32>",
            f"{r}i = addi {r}h, %{n}I : tile<{rows}xi32>",
            f"{r}j = muli {j}, %{n}N : tile<i32>",
            f"{r}, {r}t = load_view_tko weak %{n}G[{r}i, {r}j] token = {token} : {self.gather}, tile<{rows}xi32>, "
            f"tile<i32> -> {self.type}, token",
        ]

    @property
    def view(self) -> str:
        some, stride = ("?x", "?,") if self.batches else ("", "")
        return f"tensor_view<{some}?x?x{self.element}, strides=[{stride}?,1]>"

    @property
    def held(self) -> tuple[int, ...]:
        """The loaded tile."""
        rows, columns = self.tile
        tile = (columns, rows) if self.transposed == "permute" else (rows, columns)
        return (1, *tile) if self.batches else tile

    @property
    def parts(self) -> str:
        held = self.held[-2:]
        seen = held[::-1] if self.transposed == "view" else held
        tile = "x".join(map(str, (1, *seen) if self.batches else seen))
        axes = ", dim_map=" + ("[0, 2, 1]" if self.batches else "[1, 0]") if self.transposed == "view" else ""
        if axes:
            tile = "x".join(map(str, self.held))
        padding = "padding_value = zero, " if self.padding else ""
        return f"partition_view<tile=({tile}), {padding}{self.view}{axes}>"

    def at(self, i: str, j: str) -> str:
        index = f"{j}, {i}" if self.transposed == "permute" else f"{i}, {j}"
        return f"%z, {index}" if self.batches else index

    def load(self, result: str, i: str, j: str, token: str = "%token") -> list[str]:
        if self.gathered:
            return self.gathering(result, i, j, token)
        e = self.element
        shape = "x".join(map(str, self.held))
        flat = "x".join(map(str, self.held[-2:]))
        first = f"{result}0" if self.batches or self.transposed == "permute" else result
        lines = [
            f"{first}, {result}t = load_view_tko weak %{self.name}V[{self.at(i, j)}] token = {token} : {self.parts}, "
            f"tile<i32> -> tile<{shape}x{e}>, token"
        ]
        if self.batches:
            second = f"{result}1" if self.transposed == "permute" else result
            lines.append(f"{second} = reshape {first} : tile<{shape}x{e}> -> tile<{flat}x{e}>")
            first = second
        if self.transposed == "permute":
            lines.append(f"{result} = permute {first} [1, 0] : tile<{flat}x{e}> -> {self.type}")
        return lines

    @property
    def type(self) -> str:
        return f"tile<{self.tile[0]}x{self.tile[1]}x{self.element}>"

    def store(self, value: str, i: str, j: str, result: str, token: str = "%token") -> list[str]:
        lines = []
        if self.batches:
            shape = "x".join(map(str, self.held))
            lines.append(f"{result}v = reshape {value} : {self.type} -> tile<{shape}x{self.element}>")
            value, type = f"{result}v", f"tile<{shape}x{self.element}>"
        else:
            type = self.type
        return [
            *lines,
            f"{result} = store_view_tko weak {value}, %{self.name}V[{self.at(i, j)}] token = {token} : {type}, "
            f"{self.parts}, tile<i32> -> token",
        ]

    def add(self, value: str, i: str, j: str, result: str, token: str = "%token") -> list[str]:
        """Lines that add a tile atomically."""
        mode = "add" if self.element == "i32" else "addf"
        type, lines = self.type, []
        if self.batches:
            shape = "x".join(map(str, self.held))
            type = f"tile<{shape}x{self.element}>"
            lines.append(f"{result}v = reshape {value} : {self.type} -> {type}")
            value = f"{result}v"
        return [
            *lines,
            f"{result} = atomic_red_view_tko relaxed device %{self.name}V[{self.at(i, j)}], {mode}, {value} token = "
            f"{token} : {type}, {self.parts}, tile<i32> -> token",
        ]

    def array(self, rng: np.random.Generator, filled: bool = True) -> Array:
        """Small integers in rows of `pitch`."""
        from programs import encode

        shape = (max(self.batches, 1), max(self.stored[0], 1), self.pitch)
        values = rng.integers(-2, 3, shape) if filled else np.full(shape, 1)
        name = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2"}.get(self.element, self.element)
        return values.astype(np.int8) if name == "i8" else encode(name, values.astype(np.float64))
