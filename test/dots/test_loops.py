"""Products in a loop over K whose operands are loaded there: through shared memory, by asynchronous copies, for every
type and both orders of memory; with casts, reshapes and permutes between load and product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, decode, empty, fresh_seed, random, run, tile

TOLERANCE = {"f16": 2e-2, "f32": 2e-5, "f64": 1e-13}


def text_of(
    m: int,
    n: int,
    k: int,
    steps: int,
    orders: str,
    element: str,
    accumulator: str,
    computed: str = "",
    op: str = "mmaf",
    signs: str = "",
    batch: int = 0,
) -> str:
    """c = Σ over `steps` tiles of K; `orders` is `row` or `col` for a and b, `computed` the type they are cast to.

    With `batch`, tiles have rank 3. Tiles of the order `unit` are loaded with a first axis of one element and reshaped,
    those of the order `turned` loaded transposed and permuted.
    """  # fmt: skip
    a_order, b_order = orders.split()
    depth = k * steps
    kinds = {"a": ((m, depth), (m, k), a_order), "b": ((depth, n), (k, n), b_order)}
    lines = ["%tok = make_token : token"]
    for name, count in (("zero", 0), ("one", 1), ("steps", steps)):
        lines.append(f"%{name} = constant <i32: {count}> : tile<i32>")
    loads = []
    shape_c = (batch, m, n) if batch else (m, n)
    for v, (whole, part, order) in kinds.items():
        index = ["%zero", "%i"] if v == "a" else ["%i", "%zero"]
        if order == "turned":
            whole, part, index = whole[::-1], part[::-1], index[::-1]
        strides = [whole[1], 1] if order != "col" else [1, whole[0]]
        if batch or order == "unit":
            count = batch or 1
            strides, index = [whole[0] * whole[1], *strides], ["%zero", *index]
            whole, part = (count, *whole), (count, *part)
        view = f"tensor_view<{_x(whole)}x{element}, strides=[{','.join(map(str, strides))}]>"
        parts = f"partition_view<tile=({_x(part)}), padding_value = zero, {view}>"
        listed = f"shape = [{', '.join(map(str, whole))}], strides = [{', '.join(map(str, strides))}]"
        lines.append(f"%{v}Q = assume div_by<16>, %{v} : tile<ptr<{element}>>")
        lines.append(f"%{v}V = make_tensor_view %{v}Q, {listed} : {view}")
        lines.append(f"%{v}P = make_partition_view %{v}V : {parts}")
        loads.append(
            f"%{v}0, %{v}T = load_view_tko weak %{v}P[{', '.join(index)}] token = %tok : {parts}, tile<i32> -> "
            f"{tile(element, part)}, token"
        )
        last = f"{v}0"
        if order == "unit":
            loads.append(f"%{v}1 = reshape %{last} : {tile(element, part)} -> {tile(element, part[1:])}")
            last, part = f"{v}1", part[1:]
        if order == "turned":
            loads.append(
                f"%{v}2 = permute %{last} [1, 0] : {tile(element, part)} -> {tile(element, part[::-1])}"
            )
            last, part = f"{v}2", part[::-1]
        if computed:
            cast, extra = ("itof", "signed") if element.startswith("i") else ("ftof", "")
            loads.append(f"%{v}3 = {cast} %{last} {extra} : {tile(element, part)} -> {tile(computed, part)}")
            last = f"{v}3"
        kinds[v] = (last, part, order)  # type: ignore[assignment]
    used = computed or element
    types = f"{tile(used, kinds['a'][1])}, {tile(used, kinds['b'][1])}, {tile(accumulator, shape_c)}"
    zero = "i32: 0" if accumulator == "i32" else f"{accumulator}: 0.0"
    lines.append(f"%none = constant <{zero}> : {tile(accumulator, shape_c)}")
    view = f"tensor_view<{_x(shape_c)}x{accumulator}, strides=[{f'{m * n},' if batch else ''}{n},1]>"
    strides_c = f"{m * n}, {n}, 1" if batch else f"{n}, 1"
    parts = f"partition_view<tile=({_x(shape_c)}), {view}>"
    lines += [
        f"%sum = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%acc = %none) -> "
        f"({tile(accumulator, shape_c)}) {{",
        *("  " + line for line in loads),
        f"  %next = {op} %{kinds['a'][0]}, %{kinds['b'][0]}, %acc {signs} : {types}",
        f"  continue %next : {tile(accumulator, shape_c)}",
        "}",
        f"%cV = make_tensor_view %c, shape = [{', '.join(map(str, shape_c))}], strides = [{strides_c}] : {view}",
        f"%cP = make_partition_view %cV : {parts}",
        f"%cT = store_view_tko weak %sum, %cP[{', '.join(['%zero'] * len(shape_c))}] token = %tok : "
        f"{tile(accumulator, shape_c)}, {parts}, tile<i32> -> token",
        "return",
    ]  # fmt: skip
    parameters = f"%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{accumulator}>>"
    return f"entry @kernel({parameters}) {{\n  " + "\n  ".join(lines) + "\n}\n"


def _x(shape: Any) -> str:
    return "x".join(map(str, shape))


def check(
    m: int,
    n: int,
    k: int,
    steps: int,
    orders: str,
    element: str,
    accumulator: str,
    target: str = "sm_80",
    **options: Any,
) -> str:
    """Run it against NumPy; the program's text."""  # fmt: skip
    text = text_of(m, n, k, steps, orders, element, accumulator, **options)
    rng = np.random.default_rng(fresh_seed())
    batch = (options["batch"],) if options.get("batch") else ()
    shapes = [(*batch, m, k * steps), (*batch, k * steps, n)]
    a, b = (random(element, shape, rng) for shape in shapes)
    given = [
        np.ascontiguousarray(np.swapaxes(x, -1, -2)) if order in ("col", "turned") else x
        for x, order in zip((a, b), orders.split(), strict=True)
    ]
    c = run(text, *given, empty(accumulator, (*batch, m, n)), target=target)[-1]
    if accumulator == "i32":
        signs = options["signs"].split()
        wide = [
            x.view(np.uint8 if s == "unsigned" else np.int8).astype(np.int64)
            for x, s in zip((a, b), signs, strict=True)
        ]
        np.testing.assert_array_equal(c.view(np.int32), (wide[0] @ wide[1]).astype(np.int32))
        return text
    left, right = (decode(element, x).astype(np.float64) for x in (a, b))
    if options.get("computed") == "tf32":
        left, right = (_as_tf32(x) for x in (left, right))
    bound = np.abs(left) @ np.abs(right)
    assert np.all(np.abs(decode(accumulator, c) - left @ right) <= TOLERANCE[accumulator] * bound)
    return text


def _as_tf32(x: Any) -> Any:
    """The nearest tf32, ties to even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (
        ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32).astype(np.float64)
    )


@pytest.mark.parametrize("orders", ["row col", "col row"])
@pytest.mark.parametrize(
    ("element", "accumulator"),
    [("bf16", "f32"), ("f16", "f16"), ("f8E4M3FN", "f32"), ("f8E5M2", "f16"), ("f32", "f32"), ("f64", "f64")],
    ids=lambda word: word,
)
def test_types_and_orders(element: str, accumulator: str, orders: str) -> None:
    text = check(32, 32, 32, 5, orders, element, accumulator)
    assert "cp.async" in compiled(text, "sm_80").ptx


@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2"])
def test_native_8_bit_floats(element: str, target: str) -> None:
    text = check(64, 32, 64, 3, "row col", element, "f32", target)
    made = compiled(text, target).ptx
    if target == "sm_90a":
        assert "wgmma.mma_async.sync.aligned.m64n32k32.f32.e" in made
        return
    assert "mma.sync.aligned.m16n8k32.row.col.f32.e" in made
    assert "ldmatrix" in made


@pytest.mark.parametrize("orders", ["row row", "row col", "col row", "col col"])
def test_integers(orders: str, signs: str = "unsigned signed") -> None:
    check(32, 32, 64, 4, orders, "i8", "i32", op="mmai", signs=signs)


@pytest.mark.parametrize(
    ("element", "computed", "accumulator"),
    [
        ("f16", "f32", "f32"),
        ("f32", "tf32", "f32"),
        ("f32", "f64", "f64"),
        ("i8", "f16", "f32"),
        ("f8E4M3FN", "f16", "f32"),
    ],
    ids=lambda word: word,
)
@pytest.mark.parametrize("orders", ["col turned"])
def test_casts_between_load_and_product(element: str, computed: str, accumulator: str, orders: str) -> None:
    text = check(32, 16, 32, 4, orders, element, accumulator, computed=computed)
    assert "cp.async" in compiled(text, "sm_80").ptx


@pytest.mark.parametrize("orders", ["unit turned", "unit unit", "row turned"])
@pytest.mark.parametrize("element", ["f16", "f32", "f8E5M2"])
def test_reshapes_and_permutes_between_load_and_product(element: str, orders: str) -> None:
    text = check(32, 32, 16, 4, orders, element, "f32")
    assert "cp.async" in compiled(text, "sm_80").ptx


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_batches(element: str) -> None:
    text = check(16, 32, 16, 4, "row row", element, "f64" if element == "f64" else "f32", batch=4)
    assert "cp.async" in compiled(text, "sm_80").ptx


@pytest.mark.parametrize(("m", "n", "k"), [(1, 64, 64), (8, 8, 8), (64, 1, 4), (2, 2, 128)])
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_small_tiles(m: int, n: int, k: int, element: str) -> None:
    check(m, n, k, 3, "row row", element, "f32")


def test_neighbors_of_a_copy_are_neighbors_in_the_buffer() -> None:
    """One warp holds rows of b too, in registers: they are not what a copy of 16 bytes moves."""
    check(1, 4, 64, 3, "col turned", "f64", "f64")


@pytest.mark.parametrize(
    ("element", "shape"),
    [("f16", (128, 256, 64)), ("f32", (128, 128, 32)), ("f64", (128, 64, 16)), ("f8E4M3FN", (128, 128, 128))],
)
def test_large_tiles_do_not_spill(element: str, shape: tuple[int, int, int]) -> None:
    text = text_of(*shape, 4, "row row", element, "f64" if element == "f64" else "f32")
    report = assembled(compiled(text, "sm_80").ptx, "sm_80").report
    assert report is not None
    assert not report.entries["kernel"].spills
