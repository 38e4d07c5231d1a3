// arch: sm_100a
// tcgen05.mma.ws: 32 rows of A against 128 of B; D has four groups of 32 columns in the four groups of 32 lanes.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(128) tcgen05_stationary(const uint4 *a, const uint4 *b, uint32_t *c,
                                                                     uint32_t instruction) {
    __shared__ __align__(128) char left[2 * 32 * 32], right[2 * 128 * 32];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&done, 1);
        fence_barrier_init();
    }
    if (threadIdx.x < 32)
        tmem_alloc(&place, 32);
    fill(left, a, 32, 4);
    fill(right, b, 128, 4);
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    if (threadIdx.x == 0) {
        for (int step = 0; step < 2; ++step)
            asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %4, 0;\n"
                         " tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%0], %1, %2, %3, p;\n}" ::"r"(place),
                         "l"(core_matrices(left + step * 2 * 32 * 16, 32 * 16, 128)),
                         "l"(core_matrices(right + step * 2 * 128 * 16, 128 * 16, 128)), "r"(instruction), "r"(step)
                         : "memory");
        /*SYNC:commit*/ tcgen05_commit(&done);
    }
    /*SYNC:wait*/ barrier_wait(&done, 0);
    /*SYNC:after*/ after_sync();
    store_rows(c, place, 32);
    /*SYNC:end*/ __syncthreads();
    if (threadIdx.x < 32)
        tmem_dealloc(place, 32);
}
