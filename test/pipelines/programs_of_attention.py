# ruff: noqa: E501
"""cuda_tile programs of attention, by the extents of their tiles, and what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from programs import decode, empty, random

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Attention:
    """O = softmax2(Q · Kᵀ · scale) · V for tiles of `rows` queries and `keys` keys of `width` elements."""

    rows: int = 128
    keys: int = 64
    width: int = 64
    element: str = "f16"
    causal: bool = False
    """Whether a query sees only keys up to its own number."""
    occupancy: int = 0
    """What the program hints at, if it does."""
    split: bool = False
    """Whether a loop without masks comes before that of the blocks that a mask may change."""
    more: int = 0
    """Elements of a second factor of queries and keys, whose products are added to the scores (MLA)."""
    latent: str = ""
    """Whether the values are the keys (MLA): `tile`, the tile that is loaded; `load`, loaded again; `turned`, loaded
    again through a view whose dimensions have another order."""

    def text(self) -> str:
        m, n, d, e = self.rows, self.keys, self.width, self.element
        scores, sums, column = f"tile<{m}x{n}xf32>", f"tile<{m}x{d}xf32>", f"tile<{m}x1xf32>"
        parameters: list[str] = []
        lines = ["%token = make_token : token"]
        for name, (height, width) in self._operands().items():
            tensor = f"tensor_view<?x{width}x{e}, strides=[{width},1]>"
            parameters += [f"%{name}P: tile<ptr<{e}>>", f"%{name}r: tile<i32>"]
            padding = "" if name == "o" else "padding_value = zero, "
            lines += [
                f"%{name}Q = assume div_by<16>, %{name}P : tile<ptr<{e}>>",
                f"%{name}T = make_tensor_view %{name}Q, shape = [%{name}r, {width}], strides = [{width}, 1] : tile<i32> -> {tensor}",
                f"%{name}V = make_partition_view %{name}T : partition_view<tile=({height}x{width}), {padding}{tensor}>",
            ]
        if self.latent == "turned":
            lines.append(f"%turnedV = make_partition_view %kT : {self._turned()}")
        view = self._views()
        lines += [
            "%x, %y, %z = get_tile_block_id : tile<i32>",
            "%c0 = constant <i32: 0> : tile<i32>",
            "%c1 = constant <i32: 1> : tile<i32>",
            f"%cn = constant <i32: {n}> : tile<i32>",
            "%all = divi %kr, %cn signed rounding<positive_inf> : tile<i32>",
            *self._bounds(),
            f"%q, %qt = load_view_tko weak %qV[%x, %c0] token = %token : {view['q']}, tile<i32> -> tile<{m}x{d}x{e}>, token",
            *self._more("e", "%x"),
            f"%none = constant <f32: 0xFF800000> : {column}",
            f"%least = constant <f32: 0xFF800000> : {scores}",
            f"%nothing = constant <f32: 0.0> : {column}",
            f"%zero = constant <f32: 0.0> : {scores}",
            f"%start = constant <f32: 0.0> : {sums}",
            "%s1 = reshape %scale : tile<f32> -> tile<1x1xf32>",
            f"%s2 = broadcast %s1 : tile<1x1xf32> -> {scores}",
            f"%i = iota : tile<{n}xi32>",
            f"%i1 = reshape %i : tile<{n}xi32> -> tile<1x{n}xi32>",
            "%l1 = reshape %kr : tile<i32> -> tile<1x1xi32>",
            f"%l2 = broadcast %l1 : tile<1x1xi32> -> tile<1x{n}xi32>",
            *self._loops(),
            f"%by = broadcast %for#1 : {column} -> {sums}",
            f"%out = divf %for#0, %by : {sums}",
            f"%result = ftof %out : {sums} -> tile<{m}x{d}x{e}>",
            f"%done = store_view_tko weak %result, %oV[%x, %c0] token = %token : tile<{m}x{d}x{e}>, {view['o']}, tile<i32> -> token",
            "return",
        ]
        inside = "\n  ".join(lines)
        hint = f"optimization_hints=<default = {{occupancy = {self.occupancy}}}> " if self.occupancy else ""
        return f"entry @attention({', '.join(parameters)}, %scale: tile<f32>) {hint}{{\n  {inside}\n}}\n"

    def _operands(self) -> dict[str, tuple[int, int]]:
        """Tiles of the operands: queries, keys, values, result; of the second factors."""
        tall, wide = (self.rows, self.width), (self.keys, self.width)
        more = {"e": (self.rows, self.more), "f": (self.keys, self.more)} if self.more else {}
        return {"q": tall, "k": wide, "v": wide, "o": tall, **more}

    def _views(self) -> dict[str, str]:
        """The types of the partition views, by the letter of the operand."""
        return {
            name: f"partition_view<tile=({height}x{width}), {'' if name == 'o' else 'padding_value = zero, '}"
            f"tensor_view<?x{width}x{self.element}, strides=[{width},1]>>"
            for name, (height, width) in self._operands().items()
        }

    def _turned(self) -> str:
        """The type of the view of keys whose dimensions have another order."""
        shape = f"{self.width}x{self.keys}"
        tensor = f"tensor_view<?x{self.width}x{self.element}, strides=[{self.width},1]>"
        return f"partition_view<tile=({shape}), padding_value = zero, {tensor}, dim_map=[1, 0]>"

    def _values(self) -> list[str]:
        """The tile of values, `%v`."""
        n, d, e = self.keys, self.width, self.element
        tile, wide = f"tile<{n}x{d}x{e}>", f"tile<{d}x{n}x{e}>"
        load = "load_view_tko weak"
        if self.latent == "tile":
            return []
        if self.latent == "turned":
            return [
                f"  %vv, %vt = {load} %turnedV[%c0, %j] token = %token : {self._turned()}, tile<i32> -> {wide}, token",
                f"  %v = permute %vv [1, 0] : {wide} -> {tile}",
            ]
        name = "k" if self.latent else "v"
        view = self._views()[name]
        return [f"  %v, %vt = {load} %{name}V[%j, %c0] token = %token : {view}, tile<i32> -> {tile}, token"]

    def _loops(self) -> list[str]:
        """The loop over blocks of keys; or one without masks, and one that goes on with them."""
        start = ("%start", "%nothing", "%none")
        if not self.split:
            return self._loop("%for", "%c0", "%steps", start)
        return [
            f"%seen_by_all = addi {'%begin, %c1' if self.causal else '%kr, %c0'} : tile<i32>",
            "%whole = divi %kr, %cn signed rounding<negative_inf> : tile<i32>",
            "%earlier = divi %seen_by_all, %cn signed rounding<negative_inf> : tile<i32>",
            "%point = mini %whole, %earlier signed : tile<i32>",
            "%limited = mini %steps, %point signed : tile<i32>",
            "%begun = maxi %c0, %point signed : tile<i32>",
            *self._loop("%unmasked", "%c0", "%limited", start, masks=False),
            *self._loop("%for", "%begun", "%steps", [f"%unmasked#{n}" for n in range(3)]),
        ]

    def _loop(
        self, name: str, lower: str, upper: str, inits: Sequence[str], *, masks: bool = True
    ) -> list[str]:
        m, n, d, e = self.rows, self.keys, self.width, self.element
        scores, sums, column, view = (
            f"tile<{m}x{n}xf32>",
            f"tile<{m}x{d}xf32>",
            f"tile<{m}x1xf32>",
            self._views(),
        )
        s = "%s" if masks else "%scaled"
        first = [
            f"{name}:3 = for %j in ({lower} to {upper}, step %c1) : tile<i32> iter_values(%acc = {inits[0]}, %sum = {inits[1]}, %max = {inits[2]}) -> ({sums}, {column}, {column}) {{",
            f"  %k, %kt = load_view_tko weak %kV[%j, %c0] token = %token : {view['k']}, tile<i32> -> tile<{n}x{d}x{e}>, token",
            f"  %kk = permute %k [1, 0] : tile<{n}x{d}x{e}> -> tile<{d}x{n}x{e}>",
            f"  %qk = mmaf %q, %kk, %zero : tile<{m}x{d}x{e}>, tile<{d}x{n}x{e}>, {scores}",
            *self._more("f", "%j"),
            f"  %scaled = mulf %{'sum2' if self.more else 'qk'}, %s2 : {scores}",
        ]
        masked = [
            "  %first = muli %j, %cn : tile<i32>",
            "  %f1 = reshape %first : tile<i32> -> tile<1x1xi32>",
            f"  %f2 = broadcast %f1 : tile<1x1xi32> -> tile<1x{n}xi32>",
            f"  %at = addi %f2, %i1 : tile<1x{n}xi32>",
            f"  %in = cmpi less_than %at, %l2, signed : tile<1x{n}xi32> -> tile<1x{n}xi1>",
            f"  %mask = broadcast %in : tile<1x{n}xi1> -> tile<{m}x{n}xi1>",
            *self._causal_mask(),
            f"  %s = select %{'seen' if self.causal else 'mask'}, %scaled, %least : tile<{m}x{n}xi1>, {scores}",
        ]
        rest = [
            f"  %most = reduce {s} dim=1 identities=[0xFF800000 : f32] : {scores} -> tile<{m}xf32>",
            "  (%left: tile<f32>, %right: tile<f32>) {",
            "    %larger = maxf %left, %right : tile<f32>",
            "    yield %larger : tile<f32>",
            "  }",
            f"  %most1 = reshape %most : tile<{m}xf32> -> {column}",
            f"  %now = maxf %max, %most1 : {column}",
            f"  %now1 = broadcast %now : {column} -> {scores}",
            f"  %less = subf {s}, %now1 : {scores}",
            f"  %p = exp2 %less : {scores}",
            f"  %change = subf %max, %now : {column}",
            f"  %factor = exp2 %change : {column}",
            f"  %total = reduce %p dim=1 identities=[0.0 : f32] : {scores} -> tile<{m}xf32>",
            "  (%one: tile<f32>, %other: tile<f32>) {",
            "    %added = addf %one, %other : tile<f32>",
            "    yield %added : tile<f32>",
            "  }",
            f"  %total1 = reshape %total : tile<{m}xf32> -> {column}",
            f"  %sum1 = fma %sum, %factor, %total1 : {column}",
            *self._values(),
            f"  %pe = ftof %p : {scores} -> tile<{m}x{n}x{e}>",
            f"  %wide = broadcast %factor : {column} -> {sums}",
            f"  %old = mulf %acc, %wide : {sums}",
            f"  %new = mmaf %pe, {'%k' if self.latent == 'tile' else '%v'}, %old : tile<{m}x{n}x{e}>, tile<{n}x{d}x{e}>, {sums}",
            f"  continue %new, %sum1, %now : {sums}, {column}, {column}",
            "}",
        ]
        return [*first, *(masked if masks else []), *rest]

    def _more(self, name: str, index: str) -> list[str]:
        """The load of a second factor; of keys, also its products."""
        if not self.more:
            return []
        m, n, more, e = self.rows, self.keys, self.more, self.element
        shape, scores = f"tile<{m if name == 'e' else n}x{more}x{e}>", f"tile<{m}x{n}xf32>"
        load = f"%{name}, %{name}t = load_view_tko weak %{name}V[{index}, %c0] token = %token : {self._views()[name]}, tile<i32> -> {shape}, token"
        if name == "e":
            return [load]
        return [
            load,
            f"  %ff = permute %f [1, 0] : {shape} -> tile<{more}x{n}x{e}>",
            f"  %sum2 = mmaf %e, %ff, %qk : tile<{m}x{more}x{e}>, tile<{more}x{n}x{e}>, {scores}",
        ]

    def _bounds(self) -> list[str]:
        """The number of blocks of keys, and the numbers of the queries."""
        if not self.causal:
            return ["%steps = mini %all, %all signed : tile<i32>"]
        m = self.rows
        return [
            f"%cm = constant <i32: {m}> : tile<i32>",
            "%x1 = addi %x, %c1 : tile<i32>",
            "%end = muli %x1, %cm : tile<i32>",
            "%own = divi %end, %cn signed rounding<positive_inf> : tile<i32>",
            "%steps = mini %own, %all signed : tile<i32>",
            "%begin = muli %x, %cm : tile<i32>",
            f"%r = iota : tile<{m}xi32>",
            f"%r1 = reshape %r : tile<{m}xi32> -> tile<{m}x1xi32>",
            "%b1 = reshape %begin : tile<i32> -> tile<1x1xi32>",
            f"%b2 = broadcast %b1 : tile<1x1xi32> -> tile<{m}x1xi32>",
            f"%query = addi %b2, %r1 : tile<{m}x1xi32>",
            f"%queries = broadcast %query : tile<{m}x1xi32> -> tile<{m}x{self.keys}xi32>",
        ]

    def _causal_mask(self) -> list[str]:
        if not self.causal:
            return []
        shape = f"{self.rows}x{self.keys}"
        return [
            f"  %key = broadcast %at : tile<1x{self.keys}xi32> -> tile<{shape}xi32>",
            f"  %before = cmpi greater_than_or_equal %queries, %key, signed : tile<{shape}xi32> -> tile<{shape}xi1>",
            f"  %seen = andi %before, %mask : tile<{shape}xi1>",
        ]

    def case(self, queries: int, keys: int, rng: np.random.Generator) -> tuple[list[Any], Array]:
        """Arguments for a launch of ⌈queries / rows⌉ tile blocks, and what it computes, in float64."""
        q, k, v = (random(self.element, (n, self.width), rng) for n in (queries, keys, keys))
        out = empty(self.element, (queries, self.width))
        scale = np.float32(np.log2(np.e) / np.sqrt(self.width))
        more = [random(self.element, (n, self.more), rng) for n in (queries, keys)] if self.more else []
        args = [x for array in (q, k, v, out, *more) for x in (array, np.int32(array.shape[0]))]
        values = k if self.latent else v
        a, b, c = (decode(self.element, array).astype(np.float64) for array in (q, k, values))
        scores = a @ b.T
        if more:
            left, right = (decode(self.element, array).astype(np.float64) for array in more)
            scores = scores + left @ right.T
        scores = scores * float(scale)
        if self.causal:
            scores = np.where(np.arange(queries)[:, None] >= np.arange(keys), scores, -np.inf)
        weights = np.exp2(scores - scores.max(1, keepdims=True))
        return [*args, scale], weights / weights.sum(1, keepdims=True) @ c
