// mma.sync accumulators become halves, go to shared memory by stmatrix, and leave in whole rows.
#include "tensor.cuh"

extern "C" __global__ void stmatrix_epilogue(const half *a, const half *b, half *c) {
    __shared__ __align__(16) half left[32][24], right[16][40], result[32][40];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, thread = threadIdx.x;
    *reinterpret_cast<uint4 *>(&left[thread / 2][thread % 2 * 8]) = reinterpret_cast<const uint4 *>(a)[thread];
    *reinterpret_cast<uint4 *>(&right[thread / 4][thread % 4 * 8]) = reinterpret_cast<const uint4 *>(b)[thread];
    /*SYNC:loaded*/ __syncthreads();
    uint32_t x[4], y[2];
    ldmatrix_x4(x, &left[16 * warp + lane % 16][lane / 16 * 8]);
    for (int j = 0; j < 4; ++j) {
        float sum[4] = {};
        ldmatrix_x2_trans(y, &right[lane % 16][8 * j]);
        mma_f16(sum, x, y);
        const half2 top = __floats2half2_rn(sum[0], sum[1]), bottom = __floats2half2_rn(sum[2], sum[3]);
        stmatrix_x2(&result[16 * warp + lane % 16][8 * j], *reinterpret_cast<const uint32_t *>(&top),
                    *reinterpret_cast<const uint32_t *>(&bottom));
    }
    /*SYNC:stored*/ __syncthreads();
    for (int i = thread; i < 128; i += 64)
        reinterpret_cast<uint4 *>(c)[i] = *reinterpret_cast<uint4 *>(&result[31 - i / 4][i % 4 * 8]);
}
