"""Patterns of `memref`, against upstream's on the same programs; those named "not" stay as they are."""

from __future__ import annotations

import pytest
from dialects.folding import canonical, upstream

from oracles import require_tool

PROGRAMS = {
    "extents of an allocation": """
    func.func @f(%n: index) -> (memref<?x?x3xf32>, index, index) {
      %k = arith.constant 8 : index  %0 = arith.constant 0 : index  %1 = arith.constant 1 : index
      %a = memref.alloc(%n, %k) {alignment = 64 : i64} : memref<?x?x3xf32>
      %d = memref.dim %a, %0 : memref<?x?x3xf32>
      %e = memref.dim %a, %1 : memref<?x?x3xf32>
      return %a, %d, %e : memref<?x?x3xf32>, index, index
    }""",
    "not an allocation of unknown extents": """
    func.func @f(%n: index) -> memref<?xf32> {
      %a = memref.alloc(%n) : memref<?xf32>
      return %a : memref<?xf32>
    }""",
    "not an allocation of a negative extent": """
    func.func @f() -> memref<?xf32> {
      %k = arith.constant -8 : index
      %a = memref.alloc(%k) : memref<?xf32>
      return %a : memref<?xf32>
    }""",
    "an allocation that is only written": """
    func.func @f(%i: index, %x: f32) {
      %a = memref.alloc() : memref<8xf32>
      memref.store %x, %a[%i] : memref<8xf32>
      memref.dealloc %a : memref<8xf32>
      return
    }""",
    "accesses through casts": """
    func.func @f(%a: memref<8x4xf32>, %i: index) -> (f32, index) {
      %0 = arith.constant 0 : index
      %b = memref.cast %a : memref<8x4xf32> to memref<?x4xf32, strided<[?, 1], offset: ?>>
      %c = memref.cast %b : memref<?x4xf32, strided<[?, 1], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
      %v = memref.load %c[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>>
      memref.store %v, %b[%i, %0] : memref<?x4xf32, strided<[?, 1], offset: ?>>
      %d = memref.dim %c, %0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
      return %v, %d : f32, index
    }""",
    "not accesses through a cast that learns the rank": """
    func.func @f(%a: memref<*xf32>, %i: index) -> f32 {
      %b = memref.cast %a : memref<*xf32> to memref<8xf32>
      %v = memref.load %b[%i] : memref<8xf32>
      return %v : f32
    }""",
    "copies": """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %z: memref<0xf32>, %y: memref<?xf32>) {
      %c = memref.cast %a : memref<8xf32> to memref<?xf32>
      memref.copy %a, %a : memref<8xf32> to memref<8xf32>
      memref.copy %y, %z : memref<?xf32> to memref<0xf32>
      memref.copy %c, %b : memref<?xf32> to memref<8xf32>
      return
    }""",
    "a view at constants": """
    func.func @f(%a: memref<8x16xf32>, %i: index) -> memref<?x?xf32, strided<[?, 1], offset: ?>> {
      %1 = arith.constant 1 : index  %2 = arith.constant 2 : index  %4 = arith.constant 4 : index
      %v = memref.subview %a[%1, %i] [%4, %i] [%2, 1] :
        memref<8x16xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      return %v : memref<?x?xf32, strided<[?, 1], offset: ?>>
    }""",
    "a view of a cast": """
    func.func @f(%a: memref<8x16xf32>, %i: index) -> memref<4xf32, strided<[?], offset: ?>> {
      %b = memref.cast %a : memref<8x16xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
      %v = memref.subview %b[%i, 0] [1, 4] [1, 1] :
        memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<4xf32, strided<[?], offset: ?>>
      return %v : memref<4xf32, strided<[?], offset: ?>>
    }""",
    "not a view outside of its buffer": """
    func.func @f(%a: memref<8xf32>) -> memref<?xf32, strided<[1], offset: ?>> {
      %9 = arith.constant 9 : index
      %v = memref.subview %a[%9] [%9] [1] : memref<8xf32> to memref<?xf32, strided<[1], offset: ?>>
      return %v : memref<?xf32, strided<[1], offset: ?>>
    }""",
    "a view of everything": """
    func.func @f(%a: memref<8x16xf32>) -> (memref<8x16xf32>, memref<8x16xf32, strided<[16, 1]>>) {
      %v = memref.subview %a[0, 0] [8, 16] [1, 1] : memref<8x16xf32> to memref<8x16xf32>
      %w = memref.subview %a[0, 0] [8, 16] [1, 1] : memref<8x16xf32> to memref<8x16xf32, strided<[16, 1]>>
      return %v, %w : memref<8x16xf32>, memref<8x16xf32, strided<[16, 1]>>
    }""",
    "reinterpretations": """
    func.func @f(%a: memref<?xf32>, %n: index) -> (memref<?xf32, strided<[?], offset: ?>>, memref<?xf32>) {
      %4 = arith.constant 4 : index
      %b = memref.cast %a : memref<?xf32> to memref<8xf32>
      %c = memref.reinterpret_cast %b to offset: [%4], sizes: [%n], strides: [%4] :
        memref<8xf32> to memref<?xf32, strided<[?], offset: ?>>
      %d = memref.reinterpret_cast %c to offset: [0], sizes: [%n], strides: [1] :
        memref<?xf32, strided<[?], offset: ?>> to memref<?xf32>
      return %c, %d : memref<?xf32, strided<[?], offset: ?>>, memref<?xf32>
    }""",
    "a reinterpretation as it was": """
    func.func @f(%a: memref<?x4xf32, strided<[?, 1], offset: ?>>) -> memref<?x4xf32, strided<[?, 1], offset: ?>> {
      %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %a :
        memref<?x4xf32, strided<[?, 1], offset: ?>> -> memref<f32>, index, index, index, index, index
      %b = memref.reinterpret_cast %base to offset: [%offset], sizes: [%sizes#0, 4], strides: [%strides#0, 1] :
        memref<f32> to memref<?x4xf32, strided<[?, 1], offset: ?>>
      return %b : memref<?x4xf32, strided<[?, 1], offset: ?>>
    }""",
    "not a reinterpretation with another offset": """
    func.func @f(%a: memref<8xf32>) -> memref<8xf32, strided<[1], offset: 1>> {
      %b = memref.reinterpret_cast %a to offset: [1], sizes: [8], strides: [1] :
        memref<8xf32> to memref<8xf32, strided<[1], offset: 1>>
      return %b : memref<8xf32, strided<[1], offset: 1>>
    }""",
    "joined and split dimensions": """
    func.func @f(%a: memref<2x3x4x5xf32>) -> (memref<120xf32>, memref<2x3x4x5xf32>, memref<24x5xf32>) {
      %b = memref.collapse_shape %a [[0, 1], [2], [3]] : memref<2x3x4x5xf32> into memref<6x4x5xf32>
      %c = memref.collapse_shape %b [[0, 1, 2]] : memref<6x4x5xf32> into memref<120xf32>
      %d = memref.expand_shape %b [[0, 1], [2], [3]] output_shape [2, 3, 4, 5] :
        memref<6x4x5xf32> into memref<2x3x4x5xf32>
      %e = memref.collapse_shape %d [[0, 1, 2], [3]] : memref<2x3x4x5xf32> into memref<24x5xf32>
      return %c, %d, %e : memref<120xf32>, memref<2x3x4x5xf32>, memref<24x5xf32>
    }""",
    "split dimensions of a cast": """
    func.func @f(%a: memref<24xf32>) -> memref<?x4xf32> {
      %6 = arith.constant 6 : index
      %b = memref.cast %a : memref<24xf32> to memref<?xf32>
      %c = memref.expand_shape %b [[0, 1]] output_shape [%6, 4] : memref<?xf32> into memref<?x4xf32>
      return %c : memref<?x4xf32>
    }""",
    "not split dimensions of an unknown extent": """
    func.func @f(%a: memref<?xf32>, %n: index) -> memref<?x4xf32> {
      %c = memref.expand_shape %a [[0, 1]] output_shape [%n, 4] : memref<?xf32> into memref<?x4xf32>
      return %c : memref<?x4xf32>
    }""",
    "spaces, alignments and bytes": """
    func.func @f(%a: memref<64xi8>) -> (memref<64xi8, 2>, memref<64xi8>, memref<?xf32>, memref<64xi8>) {
      %0 = arith.constant 0 : index  %4 = arith.constant 4 : index
      %b = memref.memory_space_cast %a : memref<64xi8> to memref<64xi8, 1>
      %c = memref.memory_space_cast %b : memref<64xi8, 1> to memref<64xi8, 2>
      %d = memref.assume_alignment %a, 16 : memref<64xi8>
      %e = memref.assume_alignment %d, 16 : memref<64xi8>
      %g = memref.view %a[%4][%4] : memref<64xi8> to memref<?xf32>
      %h = memref.view %a[%0][] : memref<64xi8> to memref<64xi8>
      return %c, %e, %g, %h : memref<64xi8, 2>, memref<64xi8>, memref<?xf32>, memref<64xi8>
    }""",
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_both_simplify_alike(case: str) -> None:
    require_tool("mlir-opt-22")
    text = PROGRAMS[case]
    ours = upstream(canonical(text), "--mlir-print-local-scope").strip()
    assert ours == upstream(text, "--canonicalize", "--mlir-print-local-scope").strip()
    before = upstream(text, "--mlir-print-local-scope").strip()
    assert (ours == before) == case.startswith("not "), "the program shows nothing"


def test_no_pattern_makes_a_view_outside_of_its_buffer() -> None:
    text = canonical(PROGRAMS["not a view outside of its buffer"])
    assert "memref.subview %a[%" in text
