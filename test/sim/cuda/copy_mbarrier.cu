// One warp fetches tiles with cp.async, which arrives at an mbarrier by itself; three warps consume them.
#include "hopper.cuh"
#include "tensor.cuh"

constexpr int STAGES = 2, TILE = 96;

extern "C" __global__ void copy_mbarrier(const int *in, int *out, int tiles) {
    __shared__ __align__(16) int ring[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int thread = threadIdx.x;
    if (thread == 0)
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 32);
            barrier_init(&empty[stage], TILE);
        }
    /*SYNC:init*/ __syncthreads();
    if (thread < 32) {
        for (int tile = 0; tile < tiles; ++tile) {
            const int stage = tile % STAGES;
            /*SYNC:wait_empty*/ barrier_wait(&empty[stage], (tile / STAGES & 1) ^ 1);
            if (thread < TILE / 4) copy_16(&ring[stage][thread * 4], in + tile * TILE + thread * 4);
            /*SYNC:arrive_full*/ copy_arrive(&full[stage]);
        }
    } else {
        int sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            const int stage = tile % STAGES;
            /*SYNC:wait_full*/ barrier_wait(&full[stage], tile / STAGES & 1);
            sum += ring[stage][TILE - 1 - (thread - 32)];
            /*SYNC:arrive_empty*/ barrier_arrive(&empty[stage]);
        }
        out[thread - 32] = sum;
    }
}
