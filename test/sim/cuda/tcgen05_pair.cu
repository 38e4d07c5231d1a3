// arch: sm_100a
// Two CTAs compute one product: 256 rows of D, 128 in each CTA; each has half of B. TMA fills both, and signals the
// mbarrier of the first CTA; its commit signals both.
#include "blackwell.cuh"

constexpr int PAIR_N = 64;

extern "C" __global__ void __launch_bounds__(128) __cluster_dims__(2, 1, 1)
    tcgen05_pair(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint32_t *c, int tiles,
                 uint32_t instruction) {
    __shared__ __align__(1024) char left[128 * 128], right[PAIR_N / 2 * 128];
    __shared__ uint64_t full, done;
    __shared__ uint32_t place;
    const uint32_t rank = cluster_rank();
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        barrier_init(&done, 1);
        /*SYNC:fence_init*/ fence_barrier_init();
    }
    if (threadIdx.x < 32) {
        tmem_alloc<2>(&place, PAIR_N);
        tmem_relinquish<2>();
    }
    /*SYNC:init*/ cluster_arrive(), cluster_wait();
    const uint32_t signal = map_rank(shared(&full), 0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (threadIdx.x == 0) {
            if (rank == 0) {
                /*SYNC:expect*/ barrier_expect(&full, 2 * (sizeof left + sizeof right));
            }
            asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared(left)),
                         "l"(&a), "r"(tile * 64), "r"(128 * rank), "r"(signal)
                         : "memory");
            asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared(right)),
                         "l"(&b), "r"(tile * 64), "r"(PAIR_N / 2 * rank), "r"(signal)
                         : "memory");
            if (rank == 0) {
                /*SYNC:wait_full*/ barrier_wait(&full, tile & 1);
                for (int k = 0; k < 64; k += 16)
                    mma_f16_tmem<2>(place, rows_of_128(left + 2 * k), rows_of_128(right + 2 * k), instruction, tile || k);
                /*SYNC:commit*/ tcgen05_commit_to(&done, 3);
            }
        }
        // Both CTAs wait before they overwrite their part.
        /*SYNC:wait_done*/ barrier_wait(&done, tile & 1);
        // No warp may miss a phase of the mbarrier.
        cluster_arrive(), cluster_wait();
    }
    /*SYNC:after*/ after_sync();
    store_rows(c + rank * 128 * PAIR_N, place, PAIR_N);
    /*SYNC:end*/ __syncthreads();
    if (threadIdx.x < 32) {
        /*SYNC:dealloc*/ tmem_dealloc<2>(place, PAIR_N);
    }
    cluster_arrive();
    cluster_wait();
}
