// wgmma with A from registers and B, with n contiguous, from shared memory; two steps stay in flight.
#include "tensor.cuh"

extern "C" __global__ void wgmma_registers(const uint32_t *a, const uint4 *b, float *c, int k) {
    __shared__ __align__(1024) uint4 right[64 * 2];
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    float d[8] = {};
    for (int step = 0; step < k; step += 64) {
        // 64 rows of k, 16 halves each: 32 bytes, a swizzle of 32.
        right[swizzled_chunk(32, threadIdx.x / 2, threadIdx.x % 2)] = b[step * 2 + threadIdx.x];
        /*SYNC:proxy*/ async_fence();
        /*SYNC:loaded*/ __syncthreads();
        uint32_t x[4][4];
        for (int inner = 0; inner < 4; ++inner)
            for (int i = 0; i < 4; ++i)
                x[inner][i] = a[((row + i % 2 * 8) * k + step + inner * 16) / 2 + lane % 4 + i / 2 * 4];
        /*SYNC:fence*/ wgmma_fence();
        for (int inner = 0; inner < 4; ++inner) {
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, "
                "%11}, %12, 1, 1, 1, 1;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                : "r"(x[inner][0]), "r"(x[inner][1]), "r"(x[inner][2]), "r"(x[inner][3]),
                  "l"(matrix_descriptor(right + inner * 32, 512, 256, 32)));
        }
        wgmma_commit();
        /*SYNC:wait*/ wgmma_wait<0>();
        // No barrier: the operation of all four warps is complete, so B may be overwritten.
    }
    store_n16(c, d);
}
