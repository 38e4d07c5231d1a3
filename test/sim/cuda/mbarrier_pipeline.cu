// A ring of two stages: one warp writes tiles with plain stores, the others sum them. Full and empty mbarriers.
#include "hopper.cuh"

constexpr int STAGES = 2, TILE = 64;

extern "C" __global__ void mbarrier_pipeline(const float *in, float *out, int tiles) {
    __shared__ float ring[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    if (thread == 0)
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 32);
            barrier_init(&empty[stage], 64);
        }
    /*SYNC:init*/ __syncthreads();
    if (warp == 0) {
        for (int tile = 0; tile < tiles; ++tile) {
            const int stage = tile % STAGES, parity = tile / STAGES & 1;
            /*SYNC:wait_empty*/ barrier_wait(&empty[stage], parity ^ 1);
            ring[stage][lane] = in[tile * TILE + lane];
            ring[stage][lane + 32] = in[tile * TILE + lane + 32];
            /*SYNC:arrive_full*/ barrier_arrive(&full[stage]);
        }
    } else {
        float sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            const int stage = tile % STAGES, parity = tile / STAGES & 1;
            /*SYNC:wait_full*/ barrier_wait(&full[stage], parity);
            sum += ring[stage][thread - 32];
            /*SYNC:arrive_empty*/ barrier_arrive(&empty[stage]);
        }
        out[thread - 32] = sum;
    }
}
