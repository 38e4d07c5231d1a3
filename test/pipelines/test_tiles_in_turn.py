# ruff: noqa: E501
"""Consumers that take the tiles of a persistent kernel in turn (ping-pong by tiles): where they do, that it is right with
any number of tiles, and that each synchronization is needed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch
from trials import Trial, changed_lines, missed, mutants, near, without

from tessera_tools.diagnostics import DiagnosticError

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product
from test_turns import translated

Array = np.ndarray[Any, Any]
WIDE = Product(m=128, n=128, k=64, out="f16", d_assumed=True)
SMALL = Product(m=64, n=32, k=32, out="f16", d_assumed=True)
ROWS, COLUMNS, DEPTH = 64, 32, 32


def two_loops(first: str = "remi %t, %three unsigned : tile<i32>", epilogue: str = "") -> str:
    """A loop over tiles of the program's own: products in two loops, whose numbers of iterations depend on the tile and
    may be 0, a residual, an activation, and two stores."""
    acc, tile = f"tile<{ROWS}x{COLUMNS}xf32>", f"tile<{ROWS}x{COLUMNS}xf16>"

    def view(name: str, rows: str, columns: str, shape: tuple[int, int], element: str = "f16") -> str:
        tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
        part = f"partition_view<tile=({shape[0]}x{shape[1]}), padding_value = zero, {tensor}>"
        return f"""
  %{name}Q = assume div_by<16>, %{name}P : tile<ptr<{element}>>
  %{name}S = assume div_by<16>, {columns} : tile<i32>
  %{name}T = make_tensor_view %{name}Q, shape = [{rows}, %{name}S], strides = [%{name}S, 1] : tile<i32> -> {tensor}
  %{name}V = make_partition_view %{name}T : {part}"""

    def load(name: str, result: str, index: str, shape: tuple[int, int], element: str = "f16") -> str:
        tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
        part = f"partition_view<tile=({shape[0]}x{shape[1]}), padding_value = zero, {tensor}>"
        loaded = f"tile<{shape[0]}x{shape[1]}x{element}>"
        return f"%{result}, %{result}t = load_view_tko weak %{name}V[{index}] token = %token : {part}, tile<i32> -> {loaded}, token"

    def store(name: str, value: str, element: str) -> str:
        tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
        part = f"partition_view<tile=({ROWS}x{COLUMNS}), padding_value = zero, {tensor}>"
        return f"%{name}D = store_view_tko weak {value}, %{name}V[%t, %c0] token = %token : tile<{ROWS}x{COLUMNS}x{element}>, {part}, tile<i32> -> token"

    def loop(result: str, bounds: str, b: str, start: str) -> str:
        mma = f"tile<{ROWS}x{DEPTH}xf16>, tile<{DEPTH}x{COLUMNS}xf16>, {acc}"
        return f"""%{result} = for %k{b} in ({bounds}, step %c1) : tile<i32> iter_values(%old{b} = {start}) -> ({acc}) {{
      {load("a", f"x{b}", f"%t, %k{b}", (ROWS, DEPTH))}
      {load(b, f"y{b}", f"%k{b}, %c0", (DEPTH, COLUMNS))}
      %new{b} = mmaf %x{b}, %y{b}, %old{b} : {mma}
      continue %new{b} : {acc}
    }}"""

    return f"""entry @tiles(%aP: tile<ptr<f16>>, %bP: tile<ptr<f16>>, %cP: tile<ptr<f16>>, %rP: tile<ptr<f16>>, %oP: tile<ptr<f16>>, %pP: tile<ptr<f32>>, %m: tile<i32>, %depth: tile<i32>, %n: tile<i32>, %tiles: tile<i32>) {{
  %token = make_token : token
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %ck = constant <i32: {DEPTH}> : tile<i32>
  %zero = constant <f32: 0.0> : {acc}
{view("a", "%m", "%depth", (ROWS, DEPTH))}
{view("b", "%depth", "%n", (DEPTH, COLUMNS))}
{view("c", "%depth", "%n", (DEPTH, COLUMNS))}
{view("r", "%m", "%n", (ROWS, COLUMNS))}
{view("o", "%m", "%n", (ROWS, COLUMNS))}
{view("p", "%m", "%n", (ROWS, COLUMNS), "f32")}
  %steps = divi %depth, %ck unsigned rounding<positive_inf> : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %nx, %ny, %nz = get_num_tile_blocks : tile<i32>
  for %t in (%x to %tiles, step %nx) : tile<i32> {{
    %first = {first}
    {loop("sum", "%c0 to %first", "b", "%zero")}
    {loop("all", "%first to %steps", "c", "%sum")}
    {load("r", "res", "%t, %c0", (ROWS, COLUMNS))}
    %wide = ftof %res : {tile} -> {acc}
    %more = addf %all, %wide : {acc}
    %positive = maxf %more, %zero : {acc}
    %out = ftof %positive : {acc} -> {tile}
    {store("o", "%out", "f16")}
    {store("p", "%more", "f32")}{epilogue}
    continue
  }}
  return
}}
"""


def arguments(*arrays: Array) -> list[Any]:
    return [v for a in arrays for v in (a, *map(np.int32, a.shape), np.int32(a.shape[1]))]


# -- where they do


def test_the_price_decides() -> None:
    ptx, remarks = translated(WIDE.text(), "--persistent=static")
    found = re.search(
        r"2 consumers take tiles in turn, so that the epilogue of one overlaps products: a tile of 1 step takes (\d+) "
        r"cycles instead of (\d+) \[turns\]",
        remarks,
    )
    assert found is not None and int(found[1]) < int(found[2])
    assert ".reqntid 384" in ptx and len(re.findall(r"bar\.arrive \d", ptx)) == 5


def with_epilogue(*lines: str) -> str:
    """The product of `WIDE`, of whose sums these lines make `%more`."""
    wide = "tile<128x128xf32>"
    old = f"%out = ftof %sum : {wide}"
    new = [*(f"{line} : {wide}" for line in lines), f"%out = ftof %more : {wide}"]
    assert old in WIDE.text()
    return WIDE.text().replace(old, "\n  ".join(new))


def test_an_epilogue_that_holds_a_second_tile_has_both_warpgroups() -> None:
    """ptxas would spill: x * (1 + tanh x) needs x beside what is made of it.  An activation in place does not."""
    _, remarks = translated(with_epilogue("%more = maxf %sum, %zero"), "--persistent=static")
    assert "2 consumers take tiles in turn" in remarks
    _, remarks = translated(with_epilogue("%t = tanh %sum", "%more = mulf %sum, %t"), "--persistent=static")
    assert "do not take tiles in turn: their tiles need 256 registers of a thread, of 208" in remarks


def test_a_kernel_with_one_tile_for_each_cta_is_as_before() -> None:
    text = WIDE.text()
    assert compiled(text, "sm_90a").ptx == compiled(text, "sm_90a", 3, "never").ptx


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            Product(m=128, n=256, k=64, out="f16", d_assumed=True).text(),
            r"nv_tileas.dot at \S+ has sums of 128x256, for which the threads of one warpgroup have no registers",
        ),
        (SMALL.text(), "with one warpgroup of consumers, the CTAs of a multiprocessor overlap"),
        (
            Attention(width=128, keys=128, element="bf16").text(),
            r"their tiles need \d+ registers of a thread, of \d+",
        ),
    ],
    ids=["registers of sums", "several CTAs", "registers of attention"],
)
def test_a_remark_says_why_not(text: str, why: str) -> None:
    _, remarks = translated(text, "--persistent=static")
    assert re.search(f"the consumers do not take tiles in turn: {why}", remarks)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (WIDE.text(), "no loop over tiles has all products of the kernel, each in a loop in it"),
        (
            two_loops(
                epilogue="""
    %last = atomic_rmw_tko relaxed device %cnt, add, %c1 token = %token : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""
            )
            .replace("%tiles: tile<i32>)", "%tiles: tile<i32>, %cnt: tile<ptr<i32>>)")
            .replace("%last =", "%last, %lastt ="),
            r"'nv_tileaa.atomic_rmw' at \S+ belongs to the order of the iterations",
        ),
        (
            Product(m=64, n=32, k=32, outer=True, warps=4).text(),
            "2 warpgroups take tiles in turn, and a hint or an option asks for another number",
        ),
        (
            Product(m=64, n=32, k=32, outer=True, b_twice=True).text(),
            "the consumer writes a factor to shared memory",
        ),
    ],
    ids=["no loop", "order", "hint", "factor"],
)
def test_the_option_is_an_error_where_it_cannot_be(text: str, why: str) -> None:
    with pytest.raises(
        DiagnosticError, match=f"cannot alternate tiles, for which ping-pong=tiles asks: {why}"
    ):
        compiled(text, "sm_90a", 3, "tiles")


def test_ctas_that_add_up_their_sums_keep_the_order_of_the_tiles() -> None:
    """Split-K: the exchange of sums is a step of all CTAs of a cluster."""
    with pytest.raises(
        DiagnosticError, match=r"cluster_reduce_scatter' at \S+ belongs to the order of the iterations"
    ):
        compiled(SMALL.text(), "sm_90a", 3, "tiles", "auto", "static", split_k=2)


def test_other_targets_have_no_such_turns() -> None:
    with pytest.raises(DiagnosticError, match="ping-pong=tiles cannot be followed"):
        compiled(WIDE.text(), "sm_80", 3, "tiles")


# -- results


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("cluster", ["auto", "blocks:2x1"])
@pytest.mark.parametrize("resident", [2, 4, 6, 100])
def test_a_ragged_product(resident: int, cluster: str, mode: str) -> None:
    """CTAs with none, one, an even and an odd number of tiles; sums without terms are 0."""
    rng = np.random.default_rng(fresh_seed())
    m, n = int(rng.integers(257, 320)), 8 * int(rng.integers(9, 12))
    for k in (0, 8 * int(rng.integers(1, 4)), 8 * int(rng.integers(17, 40))):
        a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
        grid = (-(-m // SMALL.m), -(-n // SMALL.n))
        found = launch(
            SMALL.text(), *arguments(a, b, np.ones((m, n), np.float16)), target="sm_90a", grid=grid,
            ping_pong="tiles", persistent="static", cluster=cluster, resident=resident, mode=mode,
        )[0][2]  # fmt: skip
        np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=2e-3, atol=2e-2)


def case(tiles: int, steps: int, rng: np.random.Generator) -> tuple[list[Any], Array]:
    """Arguments of `two_loops`, and what is stored in f32."""
    m, depth = ROWS * tiles, DEPTH * steps
    a, b, c, r = (
        rng.standard_normal(s).astype(np.float16)
        for s in ((m, depth), (depth, COLUMNS), (depth, COLUMNS), (m, COLUMNS))
    )
    rows = []
    for t in range(tiles):
        cut = DEPTH * (t % 3)
        own = a[ROWS * t : ROWS * (t + 1)].astype(np.float64)
        rows.append(own[:, :cut] @ b[:cut] + own[:, cut:] @ c[cut:])
    outputs = (np.zeros((m, COLUMNS), np.float16), np.zeros((m, COLUMNS), np.float32))
    return [a, b, c, r, *outputs, *map(np.int32, (m, depth, COLUMNS, tiles))], np.concatenate(rows) + r


@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_loops_of_a_program_s_own(tiles: int) -> None:
    """The numbers of stages that a consumer leaves out follow from the number of the tile."""
    rng = np.random.default_rng(fresh_seed())
    args, expected = case(tiles, 4, rng)
    for mode in ("late", "early"):
        arrays, _ = launch(two_loops(), *args, target="sm_90a", ping_pong="tiles", grid=(1,), mode=mode)
        np.testing.assert_allclose(arrays[5], expected, rtol=1e-3, atol=1e-2)
        np.testing.assert_allclose(arrays[4], np.maximum(expected, 0), rtol=2e-3, atol=1e-2)


def test_eight_schedules_agree() -> None:
    args, expected = case(7, 5, np.random.default_rng(fresh_seed()))
    for seed in range(8):
        mode = "late" if seed % 2 else "early"
        arrays, _ = launch(
            two_loops(), *args, target="sm_90a", ping_pong="tiles", grid=(2,), seed=seed, mode=mode
        )
        np.testing.assert_allclose(arrays[5], expected, rtol=1e-3, atol=1e-2)


def test_operands_that_threads_bring_take_turns_as_well() -> None:
    """Rows of A are no multiples of 16 bytes: the threads of the producer copy them."""
    rng, product = np.random.default_rng(fresh_seed()), Product(m=128, n=64, k=32, a_in="i8")
    a, b = rng.integers(-4, 5, (256, 96)).astype(np.int8), rng.standard_normal((96, 128)).astype(np.float16)
    for mode in ("late", "early"):
        found = launch(
            product.text(), *arguments(a, b, np.zeros((256, 128), np.float32)), target="sm_90a", grid=(2, 2),
            ping_pong="tiles", persistent="static", resident=1, mode=mode,
        )[0][2]  # fmt: skip
        np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-2)


def test_ptxas_needs_no_memory_for_registers() -> None:
    """The sums of 128x128 are 128 registers of a thread."""
    for product in (WIDE, Product(m=64, n=256, k=64, out="f16", d_assumed=True)):
        made = assembled(compiled(product.text(), "sm_90a", 3, "tiles", "auto", "static").ptx, "sm_90a")
        text = str(made)
        assert "C75" not in text and not re.search(r"[1-9]\d* bytes spill", text)


# -- synchronization


def test_every_synchronization_is_needed() -> None:
    """Each barrier of a turn too; those behind a loop without iterations where the sums have no terms."""
    made = compiled(SMALL.text(), "sm_90a", 3, "tiles", "auto", "static")
    rng = np.random.default_rng(fresh_seed())

    def trial(k: int) -> Trial:
        a, b = (rng.standard_normal(s).astype(np.float16) for s in ((64, k), (k, 160)))
        given = arguments(a, b, np.ones((64, 160), np.float16))
        right = near(2, a.astype(np.float64) @ b, 0.1)
        return Trial(
            given, "sm_90a", (1, 5), right, [("late", 0), ("early", 1), ("late", 2)], {"resident": 1}
        )

    changed = [*mutants(made.ptx), *mutants(made.ptx, ("bar.arrive",))]
    changed += changed_lines(made.ptx, without(r"@%p\d+ bar\."))
    assert len([what for what, _ in changed if "bar." in what]) >= 10
    assert missed(made, changed, trial(192), trial(0)) == []
