# ruff: noqa: E501
"""cuda_tile programs of matrix products, by type, tile and the order of their operands in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


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

    @property
    def width(self) -> int:
        return {"f16": 2, "bf16": 2, "tf32": 4, "f8E4M3FN": 1, "f8E5M2": 1, "i8": 1}[self.element]

    def operand(self, name: str, rows: int, columns: int, transposed: str) -> tuple[list[str], list[str]]:
        """Lines that make the view %vNAME, and lines that load a tile %NAME at [%r, %c]."""
        e, div = self.element, 16 // self.width
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
        result = f"%{name}0" if transposed == "permute" else f"%{name}"
        loads = [
            f"{result}, %{name}t = load_view_tko weak %{name}V[{index}] token = %token : {view}, tile<i32> -> {tile}, token"
        ]
        if transposed == "permute":
            loads.append(f"%{name} = permute %{name}0 [1, 0] : {tile} -> tile<{rows}x{columns}x{e}>")
        return made, loads

    def text(self) -> str:
        m, n, k, e, acc = self.m, self.n, self.k, self.element, self.accumulator
        parameters = []
        for name in "ab":
            parameters += [
                f"%{name}P: tile<ptr<{e}>>",
                f"%{name}r: tile<i32>",
                f"%{name}c: tile<i32>",
                f"%{name}S: tile<i32>",
            ]
        parameters += [f"%dP: tile<ptr<{acc}>>", "%dr: tile<i32>", "%dc: tile<i32>", "%dS: tile<i32>"]
        a_made, a_loads = self.operand("a", m, k, self.a_t)
        b_made, b_loads = self.operand("b", k, n, self.b_t)
        out = f"tensor_view<?x?x{acc}, strides=[?,1]>"
        view = f"partition_view<tile=({m}x{n}), {out}>"
        c = f"tile<{m}x{n}x{acc}>"
        zero = "0" if acc == "i32" else "0.0"
        op = "mmai" if acc == "i32" else "mmaf"
        signs = " signed signed" if acc == "i32" else ""
        loads_a = [line.replace("%i", "%x").replace("%j", "%k") for line in a_loads]
        loads_b = [line.replace("%i", "%k").replace("%j", "%y") for line in b_loads]
        body = [
            f"%zero = constant <{acc}: {zero}> : {c}",
            f"%sum = for %k in (%c0 to %steps, step %c1) : tile<i32> iter_values(%old = %zero) -> ({c}) {{",
            *loads_a,
            *loads_b,
            f"  %new = {op} %a, %b, %old{signs} : tile<{m}x{k}x{e}>, tile<{k}x{n}x{e}>, {c}",
            f"  continue %new : {c}",
            "}",
            f"%done = store_view_tko weak %sum, %dV[%x, %y] token = %token : {c}, {view}, tile<i32> -> token",
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
            f"%dT = make_tensor_view %dP, shape = [%dr, %dc], strides = [%dS, 1] : tile<i32> -> {out}",
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
        return f"entry @product({', '.join(parameters)}) {{\n  {inside}\n}}\n"
