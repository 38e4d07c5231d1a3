// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  memref.global @g0 : memref<2xf32>
  memref.global "private" constant @g1 : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
  memref.global "private" @g2 : memref<2xf32> = uninitialized {alignment = 64 : i64}
  func.func @f(%arg0: index, %arg1: memref<4x?xf32>, %arg2: memref<4x8xf32>, %arg3: memref<*xf32>, %arg4: memref<?xi8>, %arg5: f32) {
    %alloc = memref.alloc() : memref<4xf32>
    %alloc_0 = memref.alloc(%arg0) {alignment = 16 : i64} : memref<4x?xf32>
    %alloc_1 = memref.alloc(%arg0)[%arg0] : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
    %alloca = memref.alloca() : memref<4xf32, 5>
    %alloca_2 = memref.alloca(%arg0) : memref<?xf32, #gpu.address_space<private>>
    memref.dealloc %alloc : memref<4xf32>
    %0 = memref.load %arg1[%arg0, %arg0] : memref<4x?xf32>
    %1 = memref.load %arg1[%arg0, %arg0] {alignment = 16 : i64, nontemporal = true} : memref<4x?xf32>
    memref.store %arg5, %arg1[%arg0, %arg0] : memref<4x?xf32>
    memref.store %arg5, %arg1[%arg0, %arg0] {nontemporal = true} : memref<4x?xf32>
    %cast = memref.cast %arg1 : memref<4x?xf32> to memref<?x?xf32>
    %cast_3 = memref.cast %arg1 : memref<4x?xf32> to memref<*xf32>
    %dim = memref.dim %arg1, %arg0 : memref<4x?xf32>
    %dim_4 = memref.dim %arg3, %arg0 : memref<*xf32>
    %2 = memref.rank %arg1 : memref<4x?xf32>
    memref.copy %arg1, %arg1 : memref<4x?xf32> to memref<4x?xf32>
    %subview = memref.subview %arg2[0, %arg0] [2, 4] [1, 1] : memref<4x8xf32> to memref<2x4xf32, strided<[8, 1], offset: ?>>
    %subview_5 = memref.subview %arg2[%arg0, 2] [1, %arg0] [1, %arg0] : memref<4x8xf32> to memref<?xf32, strided<[?], offset: ?>>
    %reinterpret_cast = memref.reinterpret_cast %arg1 to offset: [0], sizes: [%arg0, 4], strides: [4, 1] : memref<4x?xf32> to memref<?x4xf32, strided<[4, 1]>>
    %reinterpret_cast_6 = memref.reinterpret_cast %arg3 to offset: [%arg0], sizes: [], strides: [] : memref<*xf32> to memref<f32, strided<[], offset: ?>>
    %base_buffer, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %arg1 : memref<4x?xf32> -> memref<f32>, index, index, index, index, index
    %view = memref.view %arg4[%arg0][] : memref<?xi8> to memref<4x4xf32>
    %view_7 = memref.view %arg4[%arg0][%arg0, %arg0] : memref<?xi8> to memref<?x?xf32>
    %3 = memref.get_global @g1 : memref<2xf32>
    %expand_shape = memref.expand_shape %arg2 [[0], [1, 2]] output_shape [4, 2, 4] : memref<4x8xf32> into memref<4x2x4xf32>
    %expand_shape_8 = memref.expand_shape %arg1 [[0], [1, 2]] output_shape [4, %arg0, 4] : memref<4x?xf32> into memref<4x?x4xf32>
    %collapse_shape = memref.collapse_shape %arg2 [[0, 1]] : memref<4x8xf32> into memref<32xf32>
    %intptr = memref.extract_aligned_pointer_as_index %arg1 : memref<4x?xf32> -> index
    %memspacecast = memref.memory_space_cast %arg2 : memref<4x8xf32> to memref<4x8xf32, 1>
    %assume_align = memref.assume_alignment %arg2, 16 : memref<4x8xf32>
    return
  }
  func.func private @static_strides(memref<2xf32, strided<[-1], offset: 6>>, memref<2xf32, strided<[2], offset: -1>>, memref<?xf32, strided<[?], offset: ?>>)
  func.func @mem(%arg0: memref<?xf32>, %arg1: index, %arg2: f32, %arg3: memref<2xindex>, %arg4: memref<4x8xf32>) -> index {
    %0 = memref.atomic_rmw addf %arg2, %arg0[%arg1] : (f32, memref<?xf32>) -> f32
    %1 = memref.generic_atomic_rmw %arg0[%arg1] : memref<?xf32> {
    ^bb0(%arg5: f32):
      memref.atomic_yield %arg2 : f32
    }
    %reshape = memref.reshape %arg0(%arg3) : (memref<?xf32>, memref<2xindex>) -> memref<?x?xf32>
    %2 = memref.realloc %arg0(%arg1) {alignment = 8 : i64} : memref<?xf32> to memref<?xf32>
    %3 = memref.realloc %arg0 : memref<?xf32> to memref<4xf32>
    memref.prefetch %arg4[%arg1, %arg1], read, locality<3>, data : memref<4x8xf32>
    memref.prefetch %arg4[%arg1, %arg1], write, locality<0>, instr : memref<4x8xf32>
    %transpose = memref.transpose %arg4 (d0, d1) -> (d1, d0) : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
    %4 = memref.alloca_scope  -> (index) {
      %alloca = memref.alloca() : memref<4xf32>
      memref.alloca_scope.return %arg1 : index
    }
    memref.alloca_scope  {
      %alloca = memref.alloca() : memref<4xf32>
    }
    return %4 : index
  }
}
