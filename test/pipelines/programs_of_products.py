# ruff: noqa: E501
"""cuda_tile programs of matrix products, by type, tile and the order of their operands in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WIDTHS = {"f16": 2, "bf16": 2, "i16": 2, "tf32": 4, "f32": 4, "i32": 4, "f8E4M3FN": 1, "f8E5M2": 1, "i8": 1}
"""Bytes of an element."""


def bits_of(element: str) -> str:
    """The integers that are as wide as an element."""
    return f"i{8 * WIDTHS[element]}"


@dataclass(frozen=True)
class Product:
    """C = A · B over tiles of m x n x k; `a_t` and `b_t`: the operand lies transposed in memory, and the program
    permutes its tile (`permute`) or sees the tensor through a view of permuted dimensions (`view`)."""

    element: str = "f16"
    accumulator: str = "f32"
    m: int = 64
    n: int = 64
    k: int = 64
    a_t: str = ""
    b_t: str = ""
    outer: bool = False
    """Whether a loop around computes several tiles one after the other."""
    out: str = ""
    """The element type of C, if it is not the accumulator's."""
    d_assumed: bool = False
    """Whether the program knows that C's base and rows are multiples of 16 bytes."""
    d_t: bool = False
    """Whether C lies transposed in memory: it is stored through a view of permuted dimensions."""
    read_back: bool = False
    """Whether the tile is read again, by its token, and stored a second time, with its sum added."""

    a_in: str = ""
    b_in: str = ""
    """The type of A and of B in memory, an integer or f32, where the program converts their tiles."""
    bits: bool = False
    """Whether A, B and C are integers in memory whose bits are the elements."""
    b_twice: bool = False
    """Whether the product takes the sum of B's tile and itself, which the consumer computes."""
    fast_acc: bool = False
    """Whether sums may have fewer bits than their type."""
    signs: str = "signed signed"
    """Of integers, of A and of B."""
    steps: int = 6
    """Tiles along K, in tests that choose the extents by it."""

    @property
    def stored(self) -> str:
        """The element type of C."""
        return self.out or self.accumulator

    warps: int = 0
    """What the program hints at, if it does: `num_worker_warps_per_cta`."""
    occupancy: int = 0
    """The same: `occupancy`."""

    @property
    def width(self) -> int:
        return WIDTHS[self.element]

    def element_of(self, name: str) -> str:
        """The element type of A or B in memory."""
        given = self.a_in if name == "a" else self.b_in
        return given or (bits_of(self.element) if self.bits else self.element)

    def operand(self, name: str, rows: int, columns: int, transposed: str) -> tuple[list[str], list[str]]:
        """Lines that make the view %vNAME, and lines that load a tile %NAME at [%r, %c]."""
        e = self.element_of(name)
        div = 16 // WIDTHS[e]
        strides = ["[?,1]", "%s%s, 1"]
        shape = (
            (f"%{name}c, %{name}r", (columns, rows))
            if transposed
            else (f"%{name}r, %{name}c", (rows, columns))
        )
        tensor = f"tensor_view<?x?x{e}, strides={strides[0]}>"
        padding = "padding_value = zero, "
        made = [
            f"%{name}Q = assume div_by<16>, %{name}P : tile<ptr<{e}>>",
            f"%{name}L = assume div_by<{div}>, %{name}S : tile<i32>",
            f"%{name}T = make_tensor_view %{name}Q, shape = [{shape[0]}], strides = [%{name}L, 1] : tile<i32> -> {tensor}",
        ]
        if transposed == "view":
            view = f"partition_view<tile=({rows}x{columns}), {padding}{tensor}, dim_map=[1, 0]>"
            tile, index = f"tile<{rows}x{columns}x{e}>", "%i, %j"
        else:
            a, b = shape[1]
            view = f"partition_view<tile=({a}x{b}), {padding}{tensor}>"
            tile, index = f"tile<{a}x{b}x{e}>", "%j, %i" if transposed else "%i, %j"
        made.append(f"%{name}V = make_partition_view %{name}T : {view}")
        last = f"%{name}" if e == self.element else f"%{name}i"
        result = f"%{name}0" if transposed == "permute" else last
        loads = [
            f"{result}, %{name}t = load_view_tko weak %{name}V[{index}] token = %token : {view}, tile<i32> -> {tile}, token"
        ]
        if transposed == "permute":
            loads.append(f"{last} = permute %{name}0 [1, 0] : {tile} -> tile<{rows}x{columns}x{e}>")
        if e != self.element:
            whole = f"tile<{rows}x{columns}x"
            cast = f"ftof {last}" if e == "f32" else f"itof {last} signed"
            if self.bits:
                cast = f"bitcast {last}"
            loads.append(f"%{name} = {cast} : {whole}{e}> -> {whole}{self.element}>")
        return made, loads

    def text(self) -> str:
        m, n, k, e, acc = self.m, self.n, self.k, self.element, self.accumulator
        parameters = []
        for name in "ab":
            parameters += [
                f"%{name}P: tile<ptr<{self.element_of(name)}>>",
                f"%{name}r: tile<i32>",
                f"%{name}c: tile<i32>",
                f"%{name}S: tile<i32>",
            ]
        f, each = self.stored, 16 // WIDTHS[self.stored]
        d = bits_of(f) if self.bits else f
        parameters += [f"%dP: tile<ptr<{d}>>", "%dr: tile<i32>", "%dc: tile<i32>", "%dS: tile<i32>"]
        a_made, a_loads = self.operand("a", m, k, self.a_t)
        b_made, b_loads = self.operand("b", k, n, self.b_t)
        d_made = [
            "%dQ = assume div_by<16>, %dP : " + f"tile<ptr<{d}>>",
            f"%dL = assume div_by<{each}>, %dS : tile<i32>",
        ]
        base, rows = ("%dQ", "%dL") if self.d_assumed else ("%dP", "%dS")
        out = f"tensor_view<?x?x{d}, strides=[?,1]>"
        extents, turned = ("%dc, %dr", ", dim_map=[1, 0]") if self.d_t else ("%dr, %dc", "")
        view = f"partition_view<tile=({m}x{n}), {out}{turned}>"
        c, stored = f"tile<{m}x{n}x{acc}>", f"tile<{m}x{n}x{d}>"
        last = "%sum" if f == acc else "%out"
        zero = "0" if acc == "i32" else "0.0"
        op = "mmai" if acc == "i32" else "mmaf"
        signs = f" {self.signs}" if acc == "i32" else " fast_acc" * self.fast_acc
        loads_a = [line.replace("%i", "%x").replace("%j", "%k") for line in a_loads]
        loads_b = [line.replace("%i", "%k").replace("%j", "%y") for line in b_loads]
        body = [
            f"%zero = constant <{acc}: {zero}> : {c}",
            f"%sum = for %k in (%c0 to %steps, step %c1) : tile<i32> iter_values(%old = %zero) -> ({c}) {{",
            *loads_a,
            *loads_b,
            *([f"%bb = addf %b, %b : tile<{k}x{n}x{e}>"] if self.b_twice else []),
            f"  %new = {op} %a, {'%bb' if self.b_twice else '%b'}, %old{signs} : tile<{m}x{k}x{e}>, tile<{k}x{n}x{e}>, {c}",
            f"  continue %new : {c}",
            "}",
            *([] if f == acc else [f"%out = ftof %sum : {c} -> tile<{m}x{n}x{f}>"]),
            *([f"%bits = bitcast {last} : tile<{m}x{n}x{f}> -> {stored}"] if self.bits else []),
            f"%done = store_view_tko weak {'%bits' if self.bits else last}, %dV[%x, %y] token = %token : {stored}, "
            f"{view}, tile<i32> -> token",
            *(
                [
                    f"%again, %read = load_view_tko weak %dV[%x, %y] token = %done : {view}, tile<i32> -> {stored}, token",
                    f"%twice = addf %again, %again : {stored}",
                    f"%end = store_view_tko weak %twice, %dV[%x, %y] token = %read : {stored}, {view}, tile<i32> -> token",
                ]
                if self.read_back
                else []
            ),
        ]
        if self.outer:
            body = [
                "%columns = constant <i32: 2> : tile<i32>",
                "for %y in (%c0 to %columns, step %c1) : tile<i32> {",
                *body,
                "  continue",
                "}",
            ]
        lines = [
            "%token = make_token : token",
            *a_made,
            *b_made,
            *d_made,
            f"%dT = make_tensor_view {base}, shape = [{extents}], strides = [{rows}, 1] : tile<i32> -> {out}",
            f"%dV = make_partition_view %dT : {view}",
            f"%x, {'%yy' if self.outer else '%y'}, %z = get_tile_block_id : tile<i32>",
            "%c0 = constant <i32: 0> : tile<i32>",
            "%c1 = constant <i32: 1> : tile<i32>",
            f"%ck = constant <i32: {k}> : tile<i32>",
            "%steps = divi %ac, %ck unsigned rounding<positive_inf> : tile<i32>",
            *body,
            "return",
        ]
        inside = "\n  ".join(lines)
        hints = [
            f"{gpu} = {{num_worker_warps_per_cta = {self.warps}}}"
            for gpu in ("sm_90", "sm_100")
            if self.warps
        ]
        hints += [f"default = {{occupancy = {self.occupancy}}}"] if self.occupancy else []
        hint = f"optimization_hints=<{', '.join(hints)}> " if hints else ""
        return f"entry @product({', '.join(parameters)}) {hint}{{\n  {inside}\n}}\n"
