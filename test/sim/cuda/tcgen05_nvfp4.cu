// arch: sm_100a
// nvfp4: D[128][32] = A[128][k] B[32][k]^T with block scales, which tcgen05.cp brings to tensor memory.
#include "blackwell.cuh"

#define MULTIPLY mma_nvf4_tmem
#include "tcgen05_scaled_product.inc"
