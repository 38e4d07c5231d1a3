// What versions 13.3 to 13.5 add, in the text of their tools.
// RUN: tessera-opt %s | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s
// RUN: tessera-translate --mlir-to-cudatilebc --bytecode-version=13.5 %s | tessera-opt | FileCheck %s

// CHECK-LABEL: entry @memory
entry @memory(%p: tile<ptr<f32>>, %i: tile<i32>) {
  // CHECK: alloca num_elem = 64, alignment = 128 : tile<ptr<f32>>
  %0 = alloca num_elem = 64, alignment = 128 : tile<ptr<f32>>
  // CHECK: alloca num_elem = 64, alignment = 128 global : tile<ptr<f32>>
  %1 = alloca num_elem = 64, alignment = 128 global : tile<ptr<f32>>
  // CHECK: [[A:%.+]] = gdc_wait_tko -> token
  %a = gdc_wait_tko -> token
  // CHECK: [[B:%.+]] = gdc_launch_dependents_tko token = [[A]] -> token
  %b = gdc_launch_dependents_tko token = %a -> token
  // CHECK: memory_fence_alias_tko [[B]]{{$}}
  %c = memory_fence_alias_tko %b
  // CHECK: load_ptr_tko weak %{{.*}}, %{{.*}} : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
  %f = constant <f32: 1.0> : tile<f32>
  %d, %e = load_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
}

// CHECK-LABEL: entry @values
entry @values(%i: tile<i32>, %f: tile<f32>) {
  %0 = iota : tile<8xi32>
  %1 = iota : tile<32xi32>
  // CHECK: insert %{{.*}}, %{{.*}}[%{{.*}}] : tile<8xi32>, tile<32xi32>
  %2 = insert %0, %1[%i] : tile<8xi32>, tile<32xi32>
  // CHECK: fpowi %{{.*}}, %{{.*}} : tile<f32>, tile<i32>
  %3 = fpowi %f, %i : tile<f32>, tile<i32>
  // CHECK: fpowf %{{.*}}, %{{.*}} : tile<f32>
  %4 = fpowf %f, %f : tile<f32>
  // CHECK: ftoi %{{.*}} signed  saturating : tile<f32> -> tile<i32>
  %5 = ftoi %f signed saturating : tile<f32> -> tile<i32>
  // CHECK: ftof %{{.*}} rounding<zero> : tile<f32> -> tile<f16>
  %6 = ftof %f rounding<zero> : tile<f32> -> tile<f16>
  // CHECK: constant <fnv8E5M3FNU: 1.875000e+00> : tile<fnv8E5M3FNU>
  %7 = constant <fnv8E5M3FNU: 1.875> : tile<fnv8E5M3FNU>
}

// CHECK-LABEL: entry @views
entry @views(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // CHECK: make_strided_view %{{.*}} : strided_view<tile=(8x16), traversal_strides=[4,3], padding_value = nan, tensor_view<64x64xf32, strides=[64,1]>, dim_map=[1, 0]>
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4,3], padding_value = nan, tensor_view<64x64xf32, strides=[64,1]>, dim_map=[1, 0]>
  // CHECK: load_view_tko weak %{{.*}}[%{{.*}}, %{{.*}}] inbounds = [true, false] : strided_view
  %0, %t0 = load_view_tko weak %s[%i, %i] inbounds = [true, false] : strided_view<tile=(8x16), traversal_strides=[4,3], padding_value = nan, tensor_view<64x64xf32, strides=[64,1]>, dim_map=[1, 0]>, tile<i32> -> tile<8x16xf32>, token
  // CHECK: make_gather_scatter_view %{{.*}} : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
  %at = iota : tile<8xi32>
  // CHECK: load_view_tko weak %{{.*}}[%{{.*}}, %{{.*}}] : gather_scatter_view<{{.*}}>, tile<8xi32>, tile<i32> -> tile<8x16xf32>, token
  %1, %t1 = load_view_tko weak %g[%at, %i] : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> tile<8x16xf32>, token
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // CHECK: atomic_red_view_tko relaxed device %{{.*}}[%{{.*}}, %{{.*}}], addf, %{{.*}} token = %{{.*}} inbounds = [true, true] : tile<8x16xf32>, partition_view<{{.*}}>, tile<i32> -> token
  %t2 = atomic_red_view_tko relaxed device %w[%i, %i], addf, %0 token = %t1 inbounds = [true, true] : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// CHECK-LABEL: entry @multimem(%{{.*}}: tile<ptr<f32, <multicast>>>
entry @multimem(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  // CHECK: tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // CHECK: multimem_load_reduce_view_tko weak %{{.*}}[%{{.*}}]  : partition_view<{{.*}}>, tile<i32> -> tile<8xf32>, token
  %0, %t0 = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
  // CHECK: multimem_reduce_view_tko relaxed device %{{.*}}, %{{.*}}[%{{.*}}] token = %{{.*}} inbounds = [true] : partition_view<{{.*}}>, tile<8xf32>, tile<i32>, token -> token
  %t1 = multimem_reduce_view_tko relaxed device %w, %0[%i] token = %t0 inbounds = [true] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32>, token -> token
  // CHECK: multimem_store_view_tko weak %{{.*}}, %{{.*}}[%{{.*}}] token = %{{.*}}  : partition_view<{{.*}}>, tile<8xf32>, tile<i32>, token -> token
  %t2 = multimem_store_view_tko weak %w, %0[%i] token = %t1 : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32>, token -> token
}
