"""Matrix products of any shape, element type and surrounding: in loops, outside, two in one, in nested loops."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from execution.executor import GlobalMemory
from slice.programs import elements, launch, lowered, strided, view

STEP = "  %zero = constant <i32: 0> : tile<i32>\n  %one = constant <i32: 1> : tile<i32>\n"


def product_program(
    m: int, n: int, k: int, a: str, b: str, element: str = "f16", loop: str = "for", padding: str = "zero"
) -> str:
    """c[i, j] = Σ a[i, k] · b[k, j].  `a` and `b` say which axis is contiguous: `row` or `col`.

    loop: `for` is a loop over K; `none` one product without a loop; `nested` a loop over tiles of C around the
    loop over K, that stores in its body; `two` adds a second product of the same operands in the loop.
    """
    stored = "f32" if element == "tf32" else element
    parameters = [f"%{v}: tile<ptr<{stored}>>" for v in "ab"] + ["%c: tile<ptr<f32>>"]
    parameters += [f"%{v}: tile<i32>" for v in ("m", "n", "k", "sa", "sb", "sc")]
    text = f"entry @product({', '.join(parameters)}) {{\n  %tok = make_token : token\n{STEP}"
    for v in "ab":
        text += f"  %{v}p = assume div_by<16>, %{v} : tile<ptr<{stored}>>\n"
    for v in ("m", "n", "k", "sa", "sb", "sc"):
        text += f"  %{v}d = assume div_by<8>, %{v} : tile<i32>\n"
    va, ta = view("va", "%ap", ["%md", "%kd"], ["%sad", 1] if a == "row" else [1, "%sad"], stored)
    vb, tb = view("vb", "%bp", ["%kd", "%nd"], ["%sbd", 1] if b == "row" else [1, "%sbd"], stored)
    vc, tc = view("vc", "%c", ["%md", "%nd"], ["%scd", 1], "f32")
    pa = f"partition_view<tile=({m}x{k}), padding_value = {padding}, {ta}>"
    pb = f"partition_view<tile=({k}x{n}), padding_value = {padding}, {tb}>"
    pc = f"partition_view<tile=({m}x{n}), {tc}>"
    text += va + vb + vc + "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
    text += f"  %pa = make_partition_view %va : {pa}\n  %pb = make_partition_view %vb : {pb}\n"
    text += f"  %pc = make_partition_view %vc : {pc}\n  %none = constant <f32: 0.0> : tile<{m}x{n}xf32>\n"
    text += f"  %steps:2 = get_index_space_shape %pa : {pa} -> tile<i32>\n"
    text += f"  %columns:2 = get_index_space_shape %pb : {pb} -> tile<i32>\n"

    def loads(k_index: str, j: str) -> str:
        found = f"%ta0, %la = load_view_tko weak %pa[%x, {k_index}] token = %tok : {pa}, tile<i32>"
        found += f" -> tile<{m}x{k}x{stored}>, token\n"
        found += f"%tb0, %lb = load_view_tko weak %pb[{k_index}, {j}] token = %tok : {pb}, tile<i32>"
        found += f" -> tile<{k}x{n}x{stored}>, token\n"
        for v, shape in (("a", f"{m}x{k}"), ("b", f"{k}x{n}")):
            if element == "tf32":
                found += f"%t{v} = ftof %t{v}0 : tile<{shape}xf32> -> tile<{shape}xtf32>\n"
        return found if element == "tf32" else found.replace("%ta0", "%ta").replace("%tb0", "%tb")

    types = f"tile<{m}x{k}x{element}>, tile<{k}x{n}x{element}>, tile<{m}x{n}xf32>"
    body = f"for %i in (%zero to %steps#1, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<{m}x{n}xf32>) {{\n"
    body += loads("%i", "COLUMN") + f"%r = mmaf %ta, %tb, %acc : {types}\n"
    if loop == "two":
        body += f"%r2 = mmaf %ta, %tb, %r : {types}\ncontinue %r2 : tile<{m}x{n}xf32>\n}}\n"
    else:
        body += f"continue %r : tile<{m}x{n}xf32>\n}}\n"
    store = (
        f"%s = store_view_tko weak %sum, %pc[%x, COLUMN] token = %tok : tile<{m}x{n}xf32>, {pc}, tile<i32>"
    )
    store += " -> token\n"
    if loop == "none":
        text += loads("%zero", "%y") + f"%sum = mmaf %ta, %tb, %none : {types}\n" + store
    elif loop == "nested":
        text += "for %j in (%zero to %columns#1, step %one) : tile<i32> {\n"
        text += ("%sum = " + body + store).replace("COLUMN", "%j") + "continue\n}\n"
    else:
        text += "%sum = " + body + store
    return text.replace("COLUMN", "%y") + "  return\n}\n"


def check(
    tile: tuple[int, int, int],
    shape: tuple[int, int, int],
    a: str = "row",
    b: str = "row",
    element: str = "f16",
    loop: str = "for",
    target: str = "sm_80",
    **options: str,
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    (m, n, k), dtype = shape, np.float16 if element == "f16" else np.float32
    module = lowered(product_program(*tile, a, b, element, loop), target, **options)
    strides = [(k + 8, 1) if a == "row" else (1, m + 8), (n + 8, 1) if b == "row" else (1, k + 8), (n + 8, 1)]
    buffers = [
        strided(rng, s, st, d)
        for s, st, d in zip([(m, k), (k, n), (m, n)], strides, [dtype, dtype, np.float32], strict=True)
    ]
    if element == "tf32":
        for flat in buffers[:2]:
            flat.view(np.uint32)[...] &= 0xFFFFE000
    memory = GlobalMemory()
    addresses = [memory.add(flat, 16) for flat in buffers]
    grid = (-(-m // tile[0]), 1 if loop == "nested" else -(-n // tile[1]))
    launch(module, grid, memory, [*addresses, m, n, k, *(max(s) for s in strides)])
    left, right = (
        elements(buffers[i], s, strides[i]).astype(np.float64) for i, s in ((0, (m, k)), (1, (k, n)))
    )
    expected = left @ right * (2 if loop == "two" else 1)
    got = elements(memory.read_back(addresses[2], buffers[2]), (m, n), strides[2])
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * max(1, k))


@pytest.mark.parametrize("b", ["row", "col"])
@pytest.mark.parametrize("a", ["row", "col"])
@pytest.mark.parametrize(
    "tile", [(16, 8, 16), (64, 64, 32), (128, 16, 64), (16, 256, 16), (32, 8, 128)], ids=str
)
def test_products_of_any_tile_and_memory_order(tile: tuple[int, int, int], a: str, b: str) -> None:
    check(tile, (tile[0] + 8, tile[1] + 8, 2 * tile[2] + 8), a, b)


@pytest.mark.parametrize("b", ["row", "col"])
@pytest.mark.parametrize("a", ["row", "col"])
@pytest.mark.parametrize("tile", [(16, 8, 8), (64, 32, 16)], ids=str)
def test_products_of_tf32(tile: tuple[int, int, int], a: str, b: str) -> None:
    check(tile, (tile[0] + 8, tile[1] + 8, 2 * tile[2] + 8), a, b, "tf32")


@pytest.mark.parametrize("loop", ["none", "two", "nested"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_products_around_loops(loop: str, target: str) -> None:
    k = 32 if loop == "none" else 104
    check((64, 64, 32), (72, 200, k), loop=loop, target=target)


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_any_number_of_stages(stages: int) -> None:
    check((64, 64, 32), (72, 72, 200), tileas_materialize_pipeline=f"num-stages={stages}")


@pytest.mark.parametrize("warps", [1, 2, 8, 16])
@pytest.mark.parametrize("loop", ["for", "nested"])
def test_any_number_of_warps(warps: int, loop: str) -> None:
    check((32, 32, 32), (40, 40, 72), loop=loop, convert_tileaa_to_tileas=f"num-warps={warps}")


@pytest.mark.parametrize("tile", [(8, 8, 16), (16, 4, 16), (16, 8, 8), (1, 1, 1), (4, 2, 2)], ids=str)
def test_tiles_smaller_than_the_instruction(tile: tuple[int, int, int]) -> None:
    check(tile, (tile[0] + 8, tile[1] + 8, 2 * tile[2] + 8))
