// Launches the forward kernel of FlashAttention-2 for 16,384 tokens and 2,048 columns of heads: HEADDIM, CAUSAL.
// Arguments: addresses of Q, K, V, the result and the logarithms; the length of the sequences.

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "flash_fwd_launch_template.h"

int main(int, char **argv) {
  auto address = [&](int i) { return reinterpret_cast<void *>(std::strtoull(argv[i], nullptr, 0)); };
  const int length = std::atoi(argv[6]);
#ifdef FLASH_NAMESPACE
  using namespace FLASH_NAMESPACE;
#endif
  Flash_fwd_params params = {};
  params.q_ptr = address(1);
  params.k_ptr = address(2);
  params.v_ptr = address(3);
  params.o_ptr = address(4);
  params.softmax_lse_ptr = address(5);
  params.q_row_stride = params.k_row_stride = params.v_row_stride = params.o_row_stride = 2048;
  params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = HEADDIM;
  params.q_batch_stride = params.k_batch_stride = params.v_batch_stride = params.o_batch_stride = 2048ll * length;
  params.b = 16384 / length;
  params.h = params.h_k = 2048 / HEADDIM;
  params.h_h_k_ratio = 1;
  params.seqlen_q = params.seqlen_k = params.seqlen_q_rounded = params.seqlen_k_rounded = length;
  params.d = params.d_rounded = HEADDIM;
  params.scale_softmax = 1 / std::sqrt(float(HEADDIM));
  params.scale_softmax_log2 = params.scale_softmax * float(M_LOG2E);
  params.p_dropout = params.rp_dropout = 1;
  params.p_dropout_in_uint8_t = 255;
  params.scale_softmax_rp_dropout = params.scale_softmax;
  params.is_causal = CAUSAL;
  params.window_size_left = -1;
  params.window_size_right = CAUSAL ? 0 : -1;
  params.is_seqlens_k_cumulative = true;
  using Traits = Flash_fwd_kernel_traits<HEADDIM, BLOCK_M, BLOCK_N, WARPS, false, false, cutlass::half_t>;
  run_flash_fwd<Traits, false, CAUSAL>(params, nullptr);
}
