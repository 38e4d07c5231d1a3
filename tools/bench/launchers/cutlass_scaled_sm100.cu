// Launches CUTLASS's block-scaled product for Blackwell: D (f32, row-major) = A (row-major) times B (column-major).
// Arguments: addresses of A, B, D, and of the scales of A and B; m, n, k.
// Defined: ELEMENT, the type of A and B with its scales; TILE_M, TILE_N, TILE_K; CLUSTER_M, CLUSTER_N.

#include <cstdio>
#include <cstdlib>

#include "cutlass/cutlass.h"
#include "cute/tensor.hpp"
#include "cutlass/detail/sm100_blockscaled_layout.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"

using namespace cute;
using TileShape = Shape<Int<TILE_M>, Int<TILE_N>, Int<TILE_K>>;
using ClusterShape = Shape<Int<CLUSTER_M>, Int<CLUSTER_N>, _1>;
using Element = cutlass::ELEMENT;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
constexpr int kAlignment = 128 / cutlass::sizeof_bits<typename Element::DataType>::value;

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 4, float, Row, 4,
    cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, Element, Row, kAlignment, Element, Column, kAlignment,
    float, TileShape, ClusterShape,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, void>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
using Config = typename Mainloop::Sm1xxBlkScaledConfig;

int main(int, char **argv) {
  auto address = [&](int i) { return reinterpret_cast<void *>(std::strtoull(argv[i], nullptr, 0)); };
  const int m = std::atoi(argv[6]), n = std::atoi(argv[7]), k = std::atoi(argv[8]);
  auto a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
  auto b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
  auto c = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1});
  auto d = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1});
  auto scales_a = Config::tile_atom_to_shape_SFA(make_shape(m, n, k, 1));
  auto scales_b = Config::tile_atom_to_shape_SFB(make_shape(m, n, k, 1));
  using Values = typename Element::DataType;
  using Scales = typename Element::ScaleFactorType;
  typename Gemm::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                     {m, n, k, 1},
                                     {(Values *)address(1), a, (Values *)address(2), b, (Scales *)address(4), scales_a,
                                      (Scales *)address(5), scales_b},
                                     {{1.0f, 0.0f}, nullptr, c, (float *)address(3), d}};
  Gemm gemm;
  auto status = gemm.can_implement(arguments);
  if (status == cutlass::Status::kSuccess) status = gemm.initialize(arguments, nullptr);
  if (status == cutlass::Status::kSuccess) status = gemm.run();
  if (status != cutlass::Status::kSuccess) std::fprintf(stderr, "%s\n", cutlass::cutlassGetStatusString(status));
  return status != cutlass::Status::kSuccess;
}
