"""Tensors of 2**31 elements and more: the part that a program touches is there, far behind the base address."""

from __future__ import annotations

import numpy as np
import pytest
from programs import check_tools, empty, fresh_seed, run

ROWS = 1 << 20


def program(extent: str, index: str, base: int, kind: str, place: int, promised: bool) -> str:
    """out = the 32 elements at tile or element `place` of a tensor of i8 that begins `base` bytes before %in."""
    value = extent if extent.isdigit() else "%n"
    arrow = "" if extent.isdigit() else "tile<i64> -> "
    view = f"tensor_view<{extent if extent.isdigit() else '?'}xi8, strides=[1]>"
    types = {
        "partition": f"partition_view<tile=(32), padding_value = zero, {view}>",
        "strided": f"strided_view<tile=(32), traversal_strides=[48], padding_value = zero, {view}>",
        "gather_scatter": f"gather_scatter_view<tile=(32), padding_value = zero, {view}, sparse_dim=0>",
    }
    part = types[kind]
    if kind == "gather_scatter":
        chosen = f"""%line = iota : tile<32x{index}>
  %first = constant <{index}: {place}> : tile<32x{index}>
  %i = addi %line, %first : tile<32x{index}>"""
        index_type = f"tile<32x{index}>"
    else:
        chosen, index_type = f"%i = constant <{index}: {place}> : tile<{index}>", f"tile<{index}>"
    flags = " inbounds = [true]" if promised else ""
    return f"""
entry @kernel(%in: tile<ptr<i8>>, %out: tile<ptr<i8>>, %n: tile<i64>) {{
  %zero = constant <i32: 0> : tile<i32>
  %back = constant <i64: {-base}> : tile<i64>
  %a = offset %in, %back : tile<ptr<i8>>, tile<i64> -> tile<ptr<i8>>
  %v = make_tensor_view %a, shape = [{value}], strides = [1] : {arrow}{view}
  %p = make_{kind}_view %v : {part}
  %w = make_tensor_view %out, shape = [32], strides = [1] : tensor_view<32xi8, strides=[1]>
  %q = make_partition_view %w : partition_view<tile=(32), tensor_view<32xi8, strides=[1]>>
  {chosen}
  %t, %k = load_view_tko weak %p[%i]{flags} : {part}, {index_type} -> tile<32xi8>, token
  %l = store_view_tko weak %t, %q[%zero] token = %k : tile<32xi8>, partition_view<tile=(32), tensor_view<32xi8, strides=[1]>>, tile<i32> -> token
  return
}}
"""  # noqa: E501


@pytest.mark.parametrize("kind", ["partition", "strided", "gather_scatter"])
@pytest.mark.parametrize("extent", ["?", "static"])
@pytest.mark.parametrize(
    ("size", "index"),
    [((1 << 31) + 40, "i32"), ((1 << 32) - 7, "i32"), ((1 << 33) + 40, "i64"), ((1 << 40) + 9, "i64")],
)
def test_the_end_of_a_huge_tensor(size: int, index: str, extent: str, kind: str) -> None:
    step = {"partition": 32, "strided": 48, "gather_scatter": 1}[kind]
    place = (size - 20) // step
    start = place * step
    inside = min(32, size - start)
    if kind == "gather_scatter" and place + 32 > 1 << 32:
        index = "i64"  # the indices behind the end are to lie there
    given = np.random.default_rng(fresh_seed()).integers(1, 100, inside, dtype=np.int8)
    text = program(extent if extent == "?" else str(size), index, start, kind, place, promised=False)
    got = run(text, given, empty("i8", (32,)), np.int64(size))[1]
    assert got[:inside].tolist() == given.tolist()
    assert not got[inside:].any()


@pytest.mark.parametrize("kind", ["partition", "strided", "gather_scatter"])
def test_a_tile_that_is_promised_to_lie_inside(kind: str) -> None:
    step = {"partition": 32, "strided": 48, "gather_scatter": 1}[kind]
    place = (1 << 34) // step
    given = np.random.default_rng(fresh_seed()).integers(1, 100, 32, dtype=np.int8)
    text = program("?", "i64", place * step, kind, place, promised=True)
    got = run(text, given, empty("i8", (32,)), np.int64((1 << 34) + 64))[1]
    assert got.tolist() == given.tolist()


def test_tools_take_it() -> None:
    kinds = ("partition", "gather_scatter")
    check_tools([program("?", "i64", 1 << 35, kind, 1 << 30, promised=False) for kind in kinds], "sm_100a")


SHAPES = """
entry @kernel(%in: tile<ptr<i8>>, %out: tile<ptr<i64>>, %n: tile<KIND>) {
  %v = make_tensor_view %in, shape = [%n, 100], strides = [1, 1] : tile<KIND> -> tensor_view<?x100xi8, strides=[1,1]>
  %p = make_partition_view %v : partition_view<tile=(32x64), tensor_view<?x100xi8, strides=[1,1]>>
  %s = make_strided_view %v : strided_view<tile=(32x64), traversal_strides=[5,99], tensor_view<?x100xi8, strides=[1,1]>, dim_map=[1, 0]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<?x100xi8, strides=[1,1]>, sparse_dim=0>
  %a:2 = get_tensor_shape %v : tensor_view<?x100xi8, strides=[1,1]> -> tile<i64>
  %b:2 = get_index_space_shape %p : partition_view<tile=(32x64), tensor_view<?x100xi8, strides=[1,1]>> -> tile<i64>
  %c:2 = get_index_space_shape %s : strided_view<tile=(32x64), traversal_strides=[5,99], tensor_view<?x100xi8, strides=[1,1]>, dim_map=[1, 0]> -> tile<i64>
  %d:2 = get_index_space_shape %g : gather_scatter_view<tile=(8x16), tensor_view<?x100xi8, strides=[1,1]>, sparse_dim=0> -> tile<i64>
  %i0 = constant <i32: 0> : tile<i32>
  STORES
  return
}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("kind", "size"),
    [("i8", 200), ("i16", 65535), ("i32", 77), ("i32", 4294967295), ("i32", 2147483648), ("i64", 1 << 45)],
)
def test_shapes_are_unsigned(kind: str, size: int) -> None:
    stores = ""
    for number, name in enumerate(f"%{v}#{i}" for v in "abcd" for i in (0, 1)):
        stores += f"""
  %k{number} = constant <i32: {number}> : tile<i32>
  %o{number} = offset %out, %k{number} : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
  %t{number} = store_ptr_tko weak %o{number}, {name} : tile<ptr<i64>>, tile<i64> -> token"""
    text = SHAPES.replace("KIND", kind).replace("STORES", stores)
    passed = np.array(size).astype(f"int{kind[1:]}")[()]
    got = run(text, np.zeros(1, np.int8), np.zeros(8, np.int64), passed)[1]
    assert got.tolist() == [size, 100, -(-size // 32), 2, 20, -(-size // 99), size, 100]


PRODUCT = """
entry @kernel(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %m: tile<i64>, %n: tile<i64>, %k: tile<i64>) {
  %av = make_tensor_view %a, shape = [%m, %k], strides = [%k, 1] : tile<i64> -> tensor_view<?x?xf16, strides=[?,1]>
  %bv = make_tensor_view %b, shape = [%k, %n], strides = [%n, 1] : tile<i64> -> tensor_view<?x?xf16, strides=[?,1]>
  %cv = make_tensor_view %c, shape = [%m, %n], strides = [%n, 1] : tile<i64> -> tensor_view<?x?xf32, strides=[?,1]>
  %ap = make_partition_view %av : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %bp = make_partition_view %bv : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %cp = make_partition_view %cv : partition_view<tile=(32x64), tensor_view<?x?xf32, strides=[?,1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %steps:2 = get_index_space_shape %ap : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %none = constant <f32: 0.0> : tile<32x64xf32>
  %sum = for %i in (%zero to %steps#1, step %one) : tile<i32> iter_values(%s = %none) -> (tile<32x64xf32>) {
    %at, %t0 = load_view_tko weak %ap[%x, %i] : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x32xf16>, token
    %bt, %t1 = load_view_tko weak %bp[%i, %y] : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x64xf16>, token
    %w = mmaf %at, %bt, %s : tile<32x32xf16>, tile<32x64xf16>, tile<32x64xf32>
    continue %w : tile<32x64xf32>
  }
  %t2 = store_view_tko weak %sum, %cp[%x, %y] : tile<32x64xf32>, partition_view<tile=(32x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
"""  # noqa: E501


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_matrix_product_of_tensors_of_any_extent(target: str) -> None:
    m, n, k = 40, 100, 70
    generator = np.random.default_rng(fresh_seed())
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    got = run(PRODUCT, a, b, empty("f32", (m, n)), *map(np.int64, (m, n, k)), target=target, grid=(2, 2))[2]
    np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-3)
