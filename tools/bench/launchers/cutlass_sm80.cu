// Launches CUTLASS's product of f16 for Ampere with the tiles 256x128x32 in three stages, column-major throughout.
// Arguments: addresses of A, B and the f32 result; m, n, k.

#include <cstdio>
#include <cstdlib>

#include "cutlass/gemm/device/gemm_universal.h"

int main(int, char **argv) {
  auto address = [&](int i) { return reinterpret_cast<void *>(std::strtoull(argv[i], nullptr, 0)); };
  const int m = std::atoi(argv[4]), n = std::atoi(argv[5]), k = std::atoi(argv[6]);
  using Column = cutlass::layout::ColumnMajor;
  using Gemm = cutlass::gemm::device::GemmUniversal<
      cutlass::half_t, Column, cutlass::half_t, Column, float, Column, float, cutlass::arch::OpClassTensorOp,
      cutlass::arch::Sm80, cutlass::gemm::GemmShape<256, 128, 32>, cutlass::gemm::GemmShape<64, 64, 32>,
      cutlass::gemm::GemmShape<16, 8, 16>, cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
      cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, 3, 8, 8>;
  Gemm::Arguments arguments(cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k}, 1, {1.0f, 0.0f}, address(1),
                            address(2), address(3), address(3), 0, 0, 0, 0, m, k, m, m);
  Gemm gemm;
  auto status = gemm(arguments);
  if (status != cutlass::Status::kSuccess) std::fprintf(stderr, "%s\n", cutlassGetStatusString(status));
  return status != cutlass::Status::kSuccess;
}
