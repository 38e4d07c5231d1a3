// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_89 --split-input-file --verify-diagnostics

entry @older(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{'cuda_tile.multimem_load_reduce_view_tko' op is not supported by convert-cuda-tile-to-tileaa in this version: multicast memory, which sm_89 cannot access; multimem requires sm_90 or later}}
  %0, %t0 = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
  return
}

// -----

entry @halves(%p: tile<ptr<f16, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f16, <multicast>>> -> tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  %0 = constant <f16: 1.0> : tile<8xf16>
  // expected-error @below {{stores of 'f16' to multicast memory, but multimem.st writes two at a time; 32 and 64 bits are supported, and so are loads and reductions of 16}}
  %t2 = multimem_store_view_tko weak %w, %0[%i] : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf16>, tile<i32> -> token
  return
}
