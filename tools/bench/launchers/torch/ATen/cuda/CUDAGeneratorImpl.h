// What launchers need of PyTorch's header.
#pragma once
namespace at {
struct PhiloxCudaState {
  unsigned long long seed, offset;
};
}  // namespace at
