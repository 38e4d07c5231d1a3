// A cluster of two CTAs: each loads half of every tile and multicasts it to both; both then hold the whole tile.
#include "hopper.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) tma_multicast(const __grid_constant__ TensorMap map, int *out,
                                                                   int tiles) {
    __shared__ __align__(128) int tile[2][32 * 8];
    __shared__ uint64_t full, empty;
    const uint32_t rank = cluster_rank();
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        barrier_init(&empty, 2 * 64);
        /*SYNC:fence_init*/ fence_barrier_init();
    }
    /*SYNC:init*/ cluster_arrive_relaxed(); cluster_wait();
    for (int step = 0; step < tiles; ++step) {
        if (threadIdx.x == 0) {
            /*SYNC:wait_empty*/ barrier_wait(&empty, step & 1 ^ 1);
            /*SYNC:expect*/ barrier_expect(&full, 2 * 32 * 8 * 4);
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared(tile[rank])),
                "l"(&map), "r"(0), "r"(step * 16 + static_cast<int>(rank) * 8), "r"(shared(&full)),
                "h"(static_cast<uint16_t>(3))
                : "memory");
        }
        /*SYNC:wait_full*/ barrier_wait(&full, step & 1);
        for (int index = threadIdx.x; index < 512; index += 64)
            out[(step * 2 + rank) * 512 + index] = (&tile[0][0])[index] + rank;
        for (uint32_t other = 0; other < 2; ++other)
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                             map_rank(shared(&empty), other))
                         : "memory");
    }
    /*SYNC:end*/ cluster_arrive(); cluster_wait();
}
