// arch: sm_100a
// One thread copies A to tensor memory (tcgen05.cp), and another multiplies: the pair is pipelined, so that
// only the order of their issue matters, and fences are enough.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(128) tcgen05_relay(const uint4 *a, const uint4 *b, uint32_t *c,
                                                                uint32_t instruction) {
    __shared__ __align__(128) char left[128 * 32], right[32 * 32];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&done, 1);
        fence_barrier_init();
    }
    if (threadIdx.x < 32)
        tmem_alloc(&place, 64);
    fill(left, a, 128, 2);
    fill(right, b, 32, 2);
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    if (threadIdx.x == 0) {
        /*SYNC:copy*/ asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(place + 32), "l"(core_matrices(left, 128 * 16, 128)) : "memory");
        /*SYNC:before*/ before_sync();
    }
    /*SYNC:relay*/ __syncthreads();
    if (threadIdx.x == 64) {
        /*SYNC:after_relay*/ after_sync();
        mma_f16_tmem_from_tmem(place, place + 32, core_matrices(right, 32 * 16, 128), instruction, false);
        /*SYNC:commit*/ tcgen05_commit(&done);
    }
    /*SYNC:wait*/ barrier_wait(&done, 0);
    /*SYNC:after*/ after_sync();
    store_rows(c, place, 32);
    /*SYNC:end*/ __syncthreads();
    if (threadIdx.x < 32)
        tmem_dealloc(place, 64);
}
