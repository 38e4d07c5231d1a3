// arch: sm_80
// Integers: A (64 x k) times B (8 columns, k contiguous), operands gathered from shared memory word by word.
#include "tensor.cuh"

extern "C" __global__ void mma_int8(const uint32_t *a, const uint32_t *b, int *c, int words) {
    __shared__ uint32_t left[64][9], right[8][9];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, place = lane % 4;
    int sum[4] = {};
    for (int step = 0; step < words; step += 8) {
        for (int i = threadIdx.x; i < 512; i += 128) left[i / 8][i % 8] = a[i / 8 * words + step + i % 8];
        if (threadIdx.x < 64) right[threadIdx.x / 8][threadIdx.x % 8] = b[threadIdx.x / 8 * words + step + threadIdx.x % 8];
        /*SYNC:loaded*/ __syncthreads();
        const int row = 16 * warp + group;
        const uint32_t x[4] = {left[row][place], left[row + 8][place], left[row][place + 4], left[row + 8][place + 4]};
        const uint32_t y[2] = {right[group][place], right[group][place + 4]};
        mma_s8(sum, x, y);
        /*SYNC:used*/ __syncthreads();
    }
    for (int i = 0; i < 4; ++i) c[(16 * warp + group + i / 2 * 8) * 8 + place * 2 + i % 2] = sum[i];
}
