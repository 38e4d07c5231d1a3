// arch: sm_100a
// mxfp4: D[128][32] = A[128][k] B[32][k]^T with block scales, which tcgen05.cp brings to tensor memory.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(128) tcgen05_mxfp4(const uint4 *a, const uint4 *b, const uint4 *scale_a,
                                                     const uint4 *scale_b, uint32_t *c, uint32_t instruction) {
    constexpr int STEPS = 2;
    __shared__ __align__(128) char left[STEPS * 128 * 32], right[STEPS * 32 * 32], scales[2 * STEPS * 512];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&done, 1);
        fence_barrier_init();
    }
    if (threadIdx.x < 32)
        tmem_alloc(&place, 64);
    fill(left, a, 128, 2 * STEPS);
    fill(right, b, 32, 2 * STEPS);
    // 32 rows of 16 bytes for each step: the scales of rows r, r + 32, r + 64 and r + 96.
    for (int step = 0; step < STEPS; ++step) {
        fill(scales + step * 512, scale_a + step * 32, 32, 1);
        fill(scales + (STEPS + step) * 512, scale_b + step * 32, 32, 1);
    }
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    if (threadIdx.x == 0) {
        for (int step = 0; step < STEPS; ++step) {
            const uint32_t at_a = place + 32 + 8 * step, at_b = at_a + 4;
            const uint64_t from_a = core_matrices(scales + step * 512, 512, 128);
            const uint64_t from_b = core_matrices(scales + (STEPS + step) * 512, 512, 128);
            /*SYNC:copy*/ asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(at_a), "l"(from_a) : "memory");
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(at_b), "l"(from_b) : "memory");
            mma_mxf4_tmem(place, core_matrices(left + step * 2 * 128 * 16, 128 * 16, 128),
               core_matrices(right + step * 2 * 32 * 16, 32 * 16, 128), instruction, at_a, at_b, step);
        }
        /*SYNC:commit*/ tcgen05_commit(&done);
    }
    /*SYNC:wait*/ barrier_wait(&done, 0);
    /*SYNC:after*/ after_sync();
    store_rows(c, place, 32);
    /*SYNC:end*/ __syncthreads();
    if (threadIdx.x < 32)
        tmem_dealloc(place, 64);
}
