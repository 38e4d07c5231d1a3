"""Folders of `vector` and `memref`, and what views and functions tell passes."""

from __future__ import annotations

from dialects.folding import canonical

from tessera_tools.dialects import func, gpu, memref
from tessera_tools.parser import parse_module


def test_an_extract_sees_through_what_made_the_vector() -> None:
    text = """func.func @f(%x: f32, %y: f32, %v: vector<4xf32>) -> (f32, f32, f32) {
  %0 = vector.broadcast %x : f32 to vector<4xf32>
  %1 = vector.extract %0[2] : f32 from vector<4xf32>
  %2 = vector.insert %y, %v[1] : f32 into vector<4xf32>
  %3 = vector.extract %2[1] : f32 from vector<4xf32>
  %4 = vector.from_elements %x, %y : vector<2xf32>
  %5 = vector.extract %4[1] : f32 from vector<2xf32>
  return %1, %3, %5 : f32, f32, f32
}"""
    assert "return %x, %y, %y" in canonical(text)


def test_a_broadcast_constant_is_a_splat() -> None:
    text = """func.func @f() -> vector<4xf32> {
  %0 = arith.constant 2.0 : f32
  %1 = vector.broadcast %0 : f32 to vector<4xf32>
  return %1 : vector<4xf32>
}"""
    assert "arith.constant dense<2.000000e+00> : vector<4xf32>" in canonical(text)


def test_reshaping_there_and_back_is_nothing() -> None:
    text = """func.func @f(%v: vector<4x2xf32>) -> vector<4x2xf32> {
  %0 = vector.shape_cast %v : vector<4x2xf32> to vector<8xf32>
  %1 = vector.shape_cast %0 : vector<8xf32> to vector<4x2xf32>
  return %1 : vector<4x2xf32>
}"""
    assert "return %v" in canonical(text)


def test_a_static_extent_and_a_rank_are_constants() -> None:
    text = """func.func @f(%m: memref<4x?xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.dim %m, %c0 : memref<4x?xf32>
  %1 = memref.dim %m, %c1 : memref<4x?xf32>
  %2 = memref.rank %m : memref<4x?xf32>
  return %0, %1, %2 : index, index, index
}"""
    found = canonical(text)
    assert "arith.constant 4 : index" in found and "arith.constant 2 : index" in found
    assert found.count("memref.dim") == 1


def test_a_view_tells_its_source_and_its_mixed_sizes() -> None:
    text = """func.func @f(%m: memref<8x8xf32>, %i: index) {
  %0 = memref.subview %m[0, %i] [2, 4] [1, 1] : memref<8x8xf32> to memref<2x4xf32, strided<[8, 1], offset: ?>>
  return
}"""
    function = parse_module(text).regions[0].block.first_op
    assert isinstance(function, func.Func)
    i = function.arguments[1]
    view = function.body.entry.first_op
    assert isinstance(view, memref.SubView)
    assert memref.mixed(view.static_offsets.values, view.offsets) == [0, i]


def test_a_kernel_tells_its_arguments_from_its_buffers() -> None:
    text = """gpu.module @m {
  gpu.func @k(%a: f32) workgroup(%w : memref<4xf32, 3>) private(%p : memref<1xf32, 5>) kernel { gpu.return }
}"""
    (kernel,) = (op for op in parse_module(text).walk() if isinstance(op, gpu.Func))
    assert kernel.is_kernel
    assert [a.name_hint for a in kernel.arguments] == ["a"]
    assert [a.name_hint for a in kernel.workgroup_attributions] == ["w"]
    assert [a.name_hint for a in kernel.private_attributions] == ["p"]
