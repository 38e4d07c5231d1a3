// arch: sm_100a
// int8: D[128][32] = A[128][k] B[32][k]^T, from shared memory without swizzle, 32 bytes of k a step.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(128) tcgen05_i8(const uint4 *a, const uint4 *b, uint32_t *c, uint32_t instruction) {
    constexpr int STEPS = 4;
    __shared__ __align__(128) char left[STEPS * 128 * 32], right[STEPS * 32 * 32];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&done, 1);
        fence_barrier_init();
    }
    if (threadIdx.x < 32)
        tmem_alloc(&place, 32);
    fill(left, a, 128, 2 * STEPS);
    fill(right, b, 32, 2 * STEPS);
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    if (threadIdx.x == 0) {
        for (int step = 0; step < STEPS; ++step)
            mma_i8_tmem(place, core_matrices(left + step * 2 * 128 * 16, 128 * 16, 128),
               core_matrices(right + step * 2 * 32 * 16, 32 * 16, 128), instruction, step);
        /*SYNC:commit*/ tcgen05_commit(&done);
    }
    /*SYNC:wait*/ barrier_wait(&done, 0);
    /*SYNC:after*/ after_sync();
    store_rows(c, place, 32);
    /*SYNC:end*/ __syncthreads();
    if (threadIdx.x < 32) {
        /*SYNC:dealloc*/ tmem_dealloc(place, 32);
    }
}
