"""Tiles that are accessed in parts, at negative indices: all parts are padding, as the whole tile is.

Indices are unsigned. The sum of an index shortly before 2^32 and the offset of a part would be inside of the tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from programs import Array, compiled, fresh_seed, launch

from tessera_tools.cli.translate import run as translate


class Product(NamedTuple):
    """%c's tile at [%g, %h] = %a's tile at [%i, 0] · %b's at [0, %j]; tiles are one row or column apart."""

    target: str
    m: int
    n: int
    k: int
    depth: int = 64
    cluster: str = "auto"
    doubled: bool = False
    """Whether the left factor is computed: 2 · %a, from a base that is not aligned for TMA."""

    def text(self) -> str:
        m, n, k, depth = self.m, self.n, self.k, self.depth
        rows, columns = 2 * m, 2 * n

        def view(shape: tuple[int, int], element: str) -> str:
            return f"tensor_view<{shape[0]}x{shape[1]}x{element}, strides=[{shape[1]},1]>"

        def tiles(tile: tuple[int, int], seen: str, padding: str = "padding_value = zero, ") -> str:
            return f"strided_view<tile=({tile[0]}x{tile[1]}), traversal_strides=[1,1], {padding}{seen}>"

        a, b, c = view((rows, depth), "f16"), view((depth, columns), "f16"), view((rows, columns), "f32")
        at, bt, ct = tiles((m, k), a), tiles((k, n), b), tiles((m, n), c, "")
        x, y, z = f"tile<{m}x{k}xf16>", f"tile<{k}x{n}xf16>", f"tile<{m}x{n}xf32>"
        factor = f"%f = addf %p, %p : {x}" if self.doubled else ""
        return f"""
entry @kernel(%x: tile<ptr<f16>>, %y: tile<ptr<f16>>, %z: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i32>, %g: tile<i32>, %h: tile<i32>, %l: tile<i32>) {{
  %a = assume div_by<{2 if self.doubled else 16}>, %x : tile<ptr<f16>>
  %b = assume div_by<16>, %y : tile<ptr<f16>>
  %c = assume div_by<16>, %z : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %step = constant <i32: {k}> : tile<i32>
  %end = constant <i32: {depth}> : tile<i32>
  %av = make_tensor_view %a, shape = [{rows}, {depth}], strides = [{depth}, 1] : {a}
  %bv = make_tensor_view %b, shape = [{depth}, {columns}], strides = [{columns}, 1] : {b}
  %cv = make_tensor_view %c, shape = [{rows}, {columns}], strides = [{columns}, 1] : {c}
  %ap = make_strided_view %av : {at}
  %bp = make_strided_view %bv : {bt}
  %cp = make_strided_view %cv : {ct}
  %none = constant <f32: 0.0> : {z}
  %sum = for %d in (%zero to %end, step %step) : tile<i32> iter_values(%s = %none) -> ({z}) {{
    %e = addi %d, %l : tile<i32>
    %p, %t = load_view_tko weak %ap[%i, %e] : {at}, tile<i32> -> {x}, token
    %q, %u = load_view_tko weak %bp[%d, %j] : {bt}, tile<i32> -> {y}, token
    {factor}
    %w = mmaf {"%f" if factor else "%p"}, %q, %s : {x}, {y}, {z}
    continue %w : {z}
  }}
  %v = store_view_tko weak %sum, %cp[%g, %h] : {z}, {ct}, tile<i32> -> token
  return
}}
"""  # noqa: E501


Place = tuple[int, int, int, int, int]

CASES = {
    "computed in parts of the columns": Product("sm_90a", 128, 512, 32),
    "computed in parts of the rows": Product("sm_90a", 256, 256, 32),
    "rows among CTAs": Product("sm_90a", 128, 128, 32, cluster="2x1"),
    "columns among CTAs": Product("sm_100a", 128, 128, 32, cluster="1x2"),
    "halves of a pair": Product("sm_100a", 256, 128, 32, cluster="2x1"),
    "factors through threads": Product("sm_90a", 64, 64, 64, doubled=True),
    "factors from global memory": Product("sm_80", 64, 64, 1024, 1024),
}


def expected(case: Product, a: Array, b: Array, place: Place) -> Array:
    """The result in float64, from tensors that continue with zeros; what is stored outside is nowhere."""
    i, j, g, h, l = place  # noqa: E741
    x, y = np.zeros((case.m, case.depth)), np.zeros((case.depth, case.n))
    if i >= 0 and l >= 0:
        part = a[i : i + case.m, l:]
        x[: len(part), : part.shape[1]] = part
    if j >= 0:
        part = b[:, j : j + case.n]
        y[:, : part.shape[1]] = part
    found = np.zeros((2 * case.m, 2 * case.n), np.float32)
    if g >= 0 and h >= 0:
        part = found[g : g + case.m, h : h + case.n]
        part[:] = ((1 + case.doubled) * x @ y)[: len(part), : part.shape[1]]
    return found


def run(case: Product, place: Place, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-4, 5, (2 * case.m, case.depth)).astype(np.float16)
    b = rng.integers(-4, 5, (case.depth, 2 * case.n)).astype(np.float16)
    c = np.zeros((2 * case.m, 2 * case.n), np.float32)
    numbers = [np.int32(n) for n in place]
    got = launch(case.text(), a, b, c, *numbers, target=case.target, cluster=case.cluster, **options)[0][2]
    assert np.array_equal(got, expected(case, a, b, place)), place


@pytest.mark.parametrize("name", CASES)
def test_each_part_of_a_tile_before_the_tensor_is_padding(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(fresh_seed())
    extents = (case.m, case.n, case.m, case.n, case.k)
    run(case, tuple(int(rng.integers(n)) for n in extents))  # type: ignore[arg-type]
    for axis, extent in enumerate(extents):
        if axis == 4 and case.k != case.depth:
            # The steps of the loop are tiles of their own, and some of them begin inside.
            continue
        place = [0] * 5
        place[axis] = int(rng.integers(-extent, 0))
        run(case, tuple(place))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "sign"), [
    ("rows among CTAs", ".cluster"),
    ("columns among CTAs", ".cluster"),
    ("halves of a pair", "cta_group::2"),
    ("factors through threads", "st.shared"),
])  # fmt: skip
def test_the_tiles_are_accessed_in_parts(name: str, sign: str) -> None:
    case = CASES[name]
    assert sign in compiled(case.text(), case.target, cluster=case.cluster).ptx


@pytest.mark.parametrize("axis", ["columns", "rows"])
def test_columns_or_rows_are_computed_in_parts(axis: str) -> None:
    """Half of 512 columns at a time, or half of 256 rows."""
    ptx = compiled(CASES[f"computed in parts of the {axis}"].text(), "sm_90a").ptx
    assert "m64n256k16" in ptx and "mma.sync" not in ptx


def test_factors_that_do_not_fit_are_read_from_global_memory() -> None:
    ptx = compiled(CASES["factors from global memory"].text()).ptx
    assert "mma.sync" in ptx
    assert "ld.global" in ptx
    assert "cp.async" not in ptx


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_factors_outside_of_loops_that_do_not_fit(target: str) -> None:
    """wgmma and tcgen05 read factors from shared memory; other products do without."""
    text = CASES["factors from global memory"].text()
    command = ["--mlir-to-llvmir", f"--gpu-name={target}", "--remarks=text", "-"]
    done = translate(command, text.encode())
    assert done.exit_code == 0
    assert (
        "call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32" in done.stdout.decode()
    )
    why = "has tiles of 262144 bytes outside of loops, which do not fit in shared memory: use smaller tiles"
    assert why in done.stderr.decode()
