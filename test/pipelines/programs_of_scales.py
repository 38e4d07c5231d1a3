"""cuda_tile programs of products with factors of blocks, by types, tile, and the order of the operands in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from programs import Array, decode, empty, random

F4_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


@dataclass(frozen=True)
class Scaled:
    """C = (A · scales) · (B · scales), tile by tile of m x n, over steps of k; the extents are the launch's."""

    m: int = 128
    n: int = 128
    k: int = 256
    element: str = "f4E2M1FN"
    scale: str = "f8E4M3FN"
    block: int = 16
    b_rows: bool = False
    """Whether the rows of B, and not its columns, are contiguous in memory."""
    atoms: bool = False
    """Whether the factors of blocks lie in memory as 128 rows of four blocks each, in 32 rows of 16 bytes."""

    @property
    def blocks(self) -> int:
        """Blocks of a tile along K."""
        return self.k // self.block

    def _factor(self, name: str, rows: int, columns: int, *, along: int) -> tuple[list[str], list[str]]:
        """Lines that make the view, and that load a tile; `along`: the axis that is contiguous."""
        element = self.element if len(name) == 1 else self.scale
        each = 32 if element == "f4E2M1FN" else 16
        strides = "?, 1" if along else "1, ?"
        view = f"tensor_view<?x?x{element}, strides=[{strides}]>"
        parts = f"partition_view<tile=({rows}x{columns}), padding_value = zero, {view}>"
        extents = f"%{'M' if name in ('a', 'sa') else 'K' if name == 'b' else 'S'}, "
        extents += {"a": "%K", "sa": "%S", "b": "%N", "sb": "%N"}[name]
        index = "%i, %k" if name in ("a", "sa") else "%k, %j"
        made = [
            f"%{name}Q = assume div_by<16>, %{name}P : tile<ptr<{element}>>",
            f"%{name}L = assume div_by<{each}>, %{name}S : tile<i32>",
            f"%{name}V = make_tensor_view %{name}Q, shape = [{extents}], "
            f"strides = [{'%' + name + 'L, 1' if along else '1, %' + name + 'L'}] : tile<i32> -> {view}",
            f"%{name}W = make_partition_view %{name}V : {parts}",
        ]
        load = (
            f"%{name}, %{name}T = load_view_tko weak %{name}W[{index}] token = %token : {parts}, tile<i32> -> "
            f"tile<{rows}x{columns}x{element}>, token"
        )
        return made, [load]

    def _atoms(self, name: str, rows: int) -> tuple[list[str], list[str]]:
        """The same for factors of blocks that lie in atoms: [rows / 128, blocks / 4, 32, 16]."""
        high, wide, own = rows // 128, self.blocks // 4, name == "sa"
        view = f"tensor_view<?x?x32x16x{self.scale}, strides=[?,512,16,1]>"
        parts = f"partition_view<tile=({high}x{wide}x32x16), padding_value = zero, {view}>"
        made = [
            f"%{name}Q = assume div_by<16>, %{name}P : tile<ptr<{self.scale}>>",
            f"%{name}L = assume div_by<16>, %{name}S : tile<i32>",
            f"%{name}V = make_tensor_view %{name}Q, shape = [%{name}X, %sY, 32, 16], "
            f"strides = [%{name}L, 512, 16, 1] : tile<i32> -> {view}",
            f"%{name}W = make_partition_view %{name}V : {parts}",
        ]
        raw, split = f"tile<{high}x{wide}x32x16x{self.scale}>", f"tile<{high}x{wide}x32x4x4x{self.scale}>"
        turned = f"tile<{high}x4x32x{wide}x4x{self.scale}>"
        loads = [
            f"%{name}0, %{name}T = load_view_tko weak %{name}W[%{'i' if own else 'j'}, %k, %zero, %zero] token = "
            f"%token : {parts}, tile<i32> -> {raw}, token",
            f"%{name}1 = reshape %{name}0 : {raw} -> {split}",
            f"%{name}2 = permute %{name}1 [0, 3, 2, 1, 4] : {split} -> {turned}",
        ]
        whole = f"tile<{rows}x{self.blocks}x{self.scale}>"
        if own:
            return made, [*loads, f"%{name} = reshape %{name}2 : {turned} -> {whole}"]
        loads.append(f"%{name}3 = reshape %{name}2 : {turned} -> {whole}")
        loads.append(f"%{name} = permute %{name}3 [1, 0] : {whole} -> {self._tile('sb')}")
        return made, loads

    def _tile(self, name: str) -> str:
        shapes = {
            "a": (self.m, self.k, self.element),
            "b": (self.k, self.n, self.element),
            "c": (self.m, self.n, "f32"),
            "sa": (self.m, self.blocks, self.scale),
            "sb": (self.blocks, self.n, self.scale),
        }
        return "tile<{}x{}x{}>".format(*shapes[name])

    def text(self) -> str:
        parameters = [
            f"%{name}P: tile<ptr<{self.element if len(name) == 1 else self.scale}>>, %{name}S: tile<i32>"
            for name in ("a", "b", "sa", "sb")
        ]
        parameters += [
            "%cP: tile<ptr<f32>>, %cS: tile<i32>",
            "%M: tile<i32>, %N: tile<i32>, %K: tile<i32>, %S: tile<i32>",
            "%saX: tile<i32>, %sbX: tile<i32>, %sY: tile<i32>",
        ]
        parts = [
            self._factor("a", self.m, self.k, along=1),
            self._factor("b", self.k, self.n, along=int(self.b_rows)),
        ]
        if self.atoms:
            parts += [self._atoms("sa", self.m), self._atoms("sb", self.n)]
        else:
            parts += [
                self._factor("sa", self.m, self.blocks, along=1),
                self._factor("sb", self.blocks, self.n, along=0),
            ]
        made = [line for lines, _ in parts for line in lines]
        loads = [line for _, lines in parts for line in lines]
        c = "tensor_view<?x?xf32, strides=[?,1]>"
        cs = f"partition_view<tile=({self.m}x{self.n}), {c}>"
        acc = self._tile("c")
        spelled = ", ".join(self._tile(name) for name in ("a", "b", "c", "sa", "sb"))
        lines = [
            "%token = make_token : token",
            *(
                f"%{name} = constant <i32: {value}> : tile<i32>"
                for name, value in (
                    ("zero", 0), ("one", 1), ("tile", self.k)
                )
            ),
            "%i, %j, %z = get_tile_block_id : tile<i32>",
            "%up = subi %tile, %one : tile<i32>",
            "%more = addi %K, %up : tile<i32>",
            "%steps = divi %more, %tile signed : tile<i32>",
            *made,
            f"%none = constant <f32: 0.0> : {acc}",
            f"%y = for %k in (%zero to %steps, step %one) : tile<i32> iter_values(%sum = %none) -> ({acc}) {{",
            *loads,
            f"%d = mmaf_scaled %a, %b, %sum, %sa, %sb : {spelled}",
            f"continue %d : {acc}",
            "}",
            "%cQ = assume div_by<16>, %cP : tile<ptr<f32>>",
            "%cL = assume div_by<4>, %cS : tile<i32>",
            f"%cV = make_tensor_view %cQ, shape = [%M, %N], strides = [%cL, 1] : tile<i32> -> {c}",
            f"%cW = make_partition_view %cV : {cs}",
            f"%cT = store_view_tko weak %y, %cW[%i, %j] token = %token : {acc}, {cs}, tile<i32> -> token",
            "return",
        ]  # fmt: skip
        return f"entry @kernel({', '.join(parameters)}) {{\n" + "\n".join(lines) + "\n}\n"

    def grid(self, m: int, n: int) -> tuple[int, int]:
        return -(-m // self.m), -(-n // self.n)

    def case(self, m: int, n: int, k: int, rng: Any) -> tuple[list[Any], Array, Array]:
        """(arguments, the result in float64, a bound of the sums of magnitudes) for matrices of these extents."""
        a, left = self._drawn((m, k), rng, contiguous=1)
        b, right = self._drawn((k, n), rng, contiguous=int(self.b_rows))
        sa, of_a = self._scales((m, k // self.block), rng)
        sb, of_b = self._scales((n, k // self.block), rng)
        left = left * np.repeat(of_a, self.block, axis=1)
        right = right * np.repeat(of_b, self.block, axis=1).T
        c = np.zeros((m, n), np.float32)
        strides = [512 * -(-k // self.block // 4)] * 2 if self.atoms else [_stride(sa), _stride(sb)]
        each = 2 if self.element == "f4E2M1FN" else 1
        args: list[Any] = []
        for array, stride in zip(
            (a, b, sa, sb, c), (each * _stride(a), each * _stride(b), *strides, n), strict=True
        ):
            args += [array, np.int32(stride)]
        args += [np.int32(m), np.int32(n), np.int32(k), np.int32(k // self.block)]
        args += [np.int32(-(-m // 128)), np.int32(-(-n // 128)), np.int32(-(-k // self.block // 4))]
        return args, left @ right, np.abs(left) @ np.abs(right)

    def _drawn(self, shape: tuple[int, int], rng: Any, *, contiguous: int) -> tuple[Array, Array]:
        """(a factor as it lies in memory, its values)."""
        stored = shape if contiguous else shape[::-1]
        if self.element != "f4E2M1FN":
            array = random(self.element, stored, rng)
            values = decode(self.element, array)
            padded = np.zeros((stored[0], -(-stored[1] // 16) * 16), array.dtype)
            padded[:, : stored[1]] = array
            return padded, values if contiguous else values.T
        codes = np.zeros((stored[0], -(-stored[1] // 32) * 32), np.uint8)
        codes[:, : stored[1]] = rng.integers(0, 16, stored)
        values = np.where(codes & 8, -1, 1) * F4_VALUES[codes & 7]
        packed = (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
        values = values[:, : stored[1]]
        return packed, values if contiguous else values.T

    def _scales(self, shape: tuple[int, int], rng: Any) -> tuple[Array, Array]:
        """(factors of blocks as they lie in memory, their values), rows or columns first."""
        if self.scale == "f8E8M0FNU":
            codes = rng.integers(120, 134, shape).astype(np.uint8)
        else:
            codes = rng.integers(8, 120, shape).astype(np.uint8)
        dtype = empty(self.scale, (1,)).dtype
        values = decode(self.scale, codes.view(dtype))
        if self.atoms:
            rows, wide = (-(-size // each) for size, each in zip(shape, (128, 4), strict=True))
            whole = np.zeros((128 * rows, 4 * wide), np.uint8)
            whole[: shape[0], : shape[1]] = codes
            return whole.reshape(rows, 4, 32, wide, 4).transpose(0, 3, 2, 1, 4).copy().view(dtype), values
        padded = np.zeros((shape[0], -(-shape[1] // 16) * 16), np.uint8)
        padded[:, : shape[1]] = codes
        return padded.view(dtype), values


def _stride(array: Array) -> int:
    """Elements from one row to the next."""
    return array.shape[1]
