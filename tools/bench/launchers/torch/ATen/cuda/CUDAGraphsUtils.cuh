// What kernels need of PyTorch's header: the state of random numbers, which are not drawn here.
#pragma once
#include <tuple>

#include <ATen/cuda/CUDAGeneratorImpl.h>
namespace at::cuda::philox {
__host__ __device__ inline std::tuple<unsigned long long, unsigned long long> unpack(PhiloxCudaState state) {
  return {state.seed, state.offset};
}
}  // namespace at::cuda::philox
