// arch: sm_80
// Inline mma.sync fed by ldmatrix: 64 x 32 by four warps; padded rows keep the banks apart.
#include "tensor.cuh"

constexpr int PITCH = 40, PITCH_B = 40;

extern "C" __global__ void mma_gemm(const half *a, const half *b, float *c, int k) {
    __shared__ __align__(16) half left[64][PITCH], right[32][PITCH_B];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum[4][4] = {};
    for (int step = 0; step < k; step += 32) {
        for (int i = threadIdx.x; i < 64 * 4; i += 128)
            *reinterpret_cast<uint4 *>(&left[i / 4][i % 4 * 8]) =
                *reinterpret_cast<const uint4 *>(&a[i / 4 * k + step + i % 4 * 8]);
        *reinterpret_cast<uint4 *>(&right[threadIdx.x / 4][threadIdx.x % 4 * 8]) =
            *reinterpret_cast<const uint4 *>(&b[(step + threadIdx.x / 4) * 32 + threadIdx.x % 4 * 8]);
        /*SYNC:loaded*/ __syncthreads();
        for (int inner = 0; inner < 32; inner += 16) {
            uint32_t x[4], y[2];
            ldmatrix_x4(x, &left[16 * warp + lane % 16][inner + lane / 16 * 8]);
            for (int j = 0; j < 4; ++j) {
                ldmatrix_x2_trans(y, &right[inner + lane % 16][8 * j]);
                mma_f16(sum[j], x, y);
            }
        }
        /*SYNC:used*/ __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i)
            c[(16 * warp + lane / 4 + i / 2 * 8) * 32 + 8 * j + lane % 4 * 2 + i % 2] = sum[j][i];
}
