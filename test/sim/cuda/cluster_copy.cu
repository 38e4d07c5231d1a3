// Bulk copies from CTA to CTA: each sends its row to its neighbor's shared memory and signals the mbarrier there.
#include "hopper.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_copy(const int *in, int *out) {
    __shared__ __align__(16) int mine[64], got[64];
    __shared__ uint64_t barrier;
    const int thread = threadIdx.x;
    const uint32_t next = (cluster_rank() + 1) % 4;
    mine[thread] = in[blockIdx.x * 64 + thread];
    if (thread == 0) {
        barrier_init(&barrier, 1);
        /*SYNC:expect*/ barrier_expect(&barrier, 256);
    }
    /*SYNC:fence*/ asm volatile("fence.proxy.async;" ::: "memory");
    /*SYNC:init*/ cluster_arrive(); cluster_wait();
    if (thread == 0)
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                map_rank(shared(got), next)),
            "r"(shared(mine)), "r"(256), "r"(map_rank(shared(&barrier), next))
            : "memory");
    /*SYNC:wait*/ barrier_wait(&barrier, 0);
    out[blockIdx.x * 64 + thread] = got[thread];
    /*SYNC:end*/ cluster_arrive(); cluster_wait();
}
