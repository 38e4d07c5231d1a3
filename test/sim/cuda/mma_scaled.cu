// arch: sm_120a
// mma.sync with block scales, the tensor cores of the small Blackwells: D[16][8] = A[16][64] B[8][64]^T in nvfp4.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64) mma_scaled(const uint32_t *a, const uint32_t *b, const uint32_t *scale_a,
                                                            const uint32_t *scale_b, float *c) {
    __shared__ uint32_t scales[16 + 8];
    // The second warp brings the scales.
    if (threadIdx.x >= 32 && threadIdx.x < 56)
        scales[threadIdx.x - 32] = threadIdx.x < 48 ? scale_a[threadIdx.x - 32] : scale_b[threadIdx.x - 48];
    /*SYNC:scales*/ __syncthreads();
    if (threadIdx.x >= 32)
        return;
    const int quad = threadIdx.x / 4, lane = threadIdx.x % 4;
    const uint32_t *left = a + quad * 8 + lane, *right = b + quad * 8 + lane;
    float d[4];
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10}, {%11}, {0, 0}, {%12}, {0, 0};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(left[0]), "r"(left[64]), "r"(left[4]), "r"(left[68]), "r"(right[0]), "r"(right[4]), "f"(0.0f),
                   "r"(scales[quad + 8 * (lane & 1)]), "r"(scales[16 + quad]));
    for (int i = 0; i < 4; ++i)
        c[(quad + i / 2 * 8) * 8 + lane * 2 + i % 2] = d[i];
}
