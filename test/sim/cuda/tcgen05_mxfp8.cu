// arch: sm_100a
// mxfp8: D[128][32] = A[128][k] B[32][k]^T with block scales, which tcgen05.cp brings to tensor memory.
#include "blackwell.cuh"

#define MULTIPLY mma_mxf8_tmem
#include "tcgen05_scaled_product.inc"
