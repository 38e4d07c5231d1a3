// Launches CUTLASS's product for Blackwell: D (f32, row-major) = A (row-major) times B (column-major, unless B_ROWS).
// Arguments: addresses of A, B and D; m, n, k.
// Defined: ELEMENT, the type of A and B; TILE_M, TILE_N, TILE_K; CLUSTER_M, CLUSTER_N.

#include <cstdio>
#include <cstdlib>

#include "cutlass/cutlass.h"
#include "cute/tensor.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"

#ifndef B_ROWS
using LayoutB = cutlass::layout::ColumnMajor;
#else
using LayoutB = cutlass::layout::RowMajor;
#endif
using namespace cute;
using TileShape = Shape<Int<TILE_M>, Int<TILE_N>, Int<TILE_K>>;
using ClusterShape = Shape<Int<CLUSTER_M>, Int<CLUSTER_N>, _1>;
using Element = cutlass::ELEMENT;
using Row = cutlass::layout::RowMajor;
constexpr int kAlignment = 128 / cutlass::sizeof_bits<Element>::value;

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 4, float, Row, 4,
    cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, Element, Row, kAlignment, Element, LayoutB, kAlignment, float,
    TileShape, ClusterShape,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, void>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

int main(int, char **argv) {
  auto address = [&](int i) { return reinterpret_cast<void *>(std::strtoull(argv[i], nullptr, 0)); };
  const int m = std::atoi(argv[4]), n = std::atoi(argv[5]), k = std::atoi(argv[6]);
  auto a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
  auto b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
  auto c = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1});
  auto d = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1});
  typename Gemm::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                     {m, n, k, 1},
                                     {(Element *)address(1), a, (Element *)address(2), b},
                                     {{1.0f, 0.0f}, nullptr, c, (float *)address(3), d}};
  Gemm gemm;
  auto status = gemm.can_implement(arguments);
  if (status == cutlass::Status::kSuccess) status = gemm.initialize(arguments, nullptr);
  if (status == cutlass::Status::kSuccess) status = gemm.run();
  if (status != cutlass::Status::kSuccess) std::fprintf(stderr, "%s\n", cutlass::cutlassGetStatusString(status));
  return status != cutlass::Status::kSuccess;
}
