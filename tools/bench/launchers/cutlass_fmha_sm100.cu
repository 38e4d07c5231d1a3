// Launches CUTLASS's attention for Blackwell (example 77): f16, [batch][length][head][depth].
// Arguments: addresses of Q, K, V, O and the sums; length of Q, length of K, heads, heads of K, batches.
// Defined: HEADDIM, and CAUSAL as 0 or 1.

#include <cstdio>
#include <cstdlib>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/kernel_hardware_info.h"
#include "device/fmha.hpp"
#include "collective/fmha_fusion.hpp"
#include "collective/sm100_fmha_fwd_epilogue_tma_warpspecialized.hpp"
#include "collective/sm100_fmha_fwd_mainloop_tma_warpspecialized.hpp"
#include "kernel/fmha_options.hpp"
#include "kernel/fmha_tile_scheduler.hpp"
#include "kernel/sm100_fmha_fwd_kernel_tma_warpspecialized.hpp"

using namespace cute;
using namespace cutlass::fmha;
using Element = cutlass::half_t;
using Problem = tuple<int, int, int, tuple<tuple<int, int>, int>>;
using StrideQ = tuple<int, _1, tuple<tuple<int, int>, int>>;
using StrideK = tuple<int, _1, tuple<tuple<_0, int>, int>>;
using StrideSums = tuple<_1, tuple<tuple<int, int>, int>>;
#if CAUSAL
using Mask = collective::CausalMask<false>;
#else
using Mask = collective::ResidualMask;
#endif
using Mainloop = collective::Sm100FmhaFwdMainloopTmaWarpspecialized<Element, float, float, Shape<_256, _128, Int<HEADDIM>>,
                                                                    StrideQ, StrideK, StrideK, Mask>;
using Epilogue = collective::Sm100FmhaFwdEpilogueTmaWarpspecialized<Element, float, typename Mainloop::TileShapePV, StrideQ,
                                                                    StrideSums>;
using Attention = device::FMHA<
    kernel::Sm100FmhaFwdKernelTmaWarpspecialized<Problem, Mainloop, Epilogue, kernel::IndividualTileScheduler>>;

int main(int, char **argv) {
  auto address = [&](int i) { return reinterpret_cast<Element *>(std::strtoull(argv[i], nullptr, 0)); };
  const int q = std::atoi(argv[6]), k = std::atoi(argv[7]), h = std::atoi(argv[8]), hk = std::atoi(argv[9]),
            b = std::atoi(argv[10]), d = HEADDIM, group = h / hk;
  StrideQ stride_q = make_stride(h * d, _1{}, make_stride(make_stride(d, group * d), h * d * q));
  StrideK stride_k = make_stride(hk * d, _1{}, make_stride(make_stride(_0{}, d), hk * d * k));
  StrideSums stride_sums = make_stride(_1{}, make_stride(make_stride(q, q * group), q * h));
  cutlass::KernelHardwareInfo info;
  info.device_id = 0;
  info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
  typename Attention::Arguments arguments{make_tuple(q, k, d, make_tuple(make_tuple(group, hk), b)),
                                          {address(1), stride_q, address(2), stride_k, address(3), stride_k},
                                          {address(4), stride_q, (float *)address(5), stride_sums},
                                          info};
  Attention attention;
  auto status = attention.can_implement(arguments);
  if (status == cutlass::Status::kSuccess) status = attention.initialize(arguments, nullptr);
  if (status == cutlass::Status::kSuccess) status = attention.run();
  if (status != cutlass::Status::kSuccess) std::fprintf(stderr, "%s\n", cutlass::cutlassGetStatusString(status));
  return status != cutlass::Status::kSuccess;
}
