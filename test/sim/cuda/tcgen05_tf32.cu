// arch: sm_100a
// tf32: D[128][32] = A[128][k] B[32][k]^T, from shared memory without swizzle, 32 bytes of k a step.
#include "blackwell.cuh"

#define MULTIPLY mma_tf32_tmem
#include "tcgen05_product.inc"
