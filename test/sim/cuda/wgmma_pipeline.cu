// A ring of stages for one warpgroup: a wgmma completes for all four warps, so that one arrival a warpgroup frees a stage.
#include "hopper.cuh"
#include "tensor.cuh"

constexpr int STAGES = 2, LEFT = 64 * 2, CHUNKS = LEFT + 16 * 2;

// `tiles` holds, for each 16 of k, A and B as core matrices of 16-byte rows side by side.
extern "C" __global__ void wgmma_pipeline(const uint4 *tiles, float *c, int steps) {
    __shared__ __align__(1024) uint4 ring[STAGES][CHUNKS];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 1);
        }
        fence_barrier_init();
    }
    /*SYNC:init*/ __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            for (int step = 0; step < steps; ++step) {
                const int stage = step % STAGES, parity = step / STAGES & 1;
                /*SYNC:wait_empty*/ barrier_wait(&empty[stage], parity ^ 1);
                barrier_expect(&full[stage], sizeof ring[0]);
                bulk_load(ring[stage], tiles + step * CHUNKS, sizeof ring[0], &full[stage]);
            }
        }
        return;
    }
    float d[8] = {};
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES, parity = step / STAGES & 1;
        /*SYNC:wait_full*/ barrier_wait(&full[stage], parity);
        wgmma_fence();
        wgmma_n16<0>(d, matrix_descriptor(ring[stage], 64 * 16, 128, 0),
                     matrix_descriptor(ring[stage] + LEFT, 16 * 16, 128, 0));
        wgmma_commit();
        /*SYNC:wait*/ wgmma_wait<0>();
        /*SYNC:arrive_empty*/ if (threadIdx.x == 0) barrier_arrive(&empty[stage]);
    }
    wgmma_wait<0>();
    store_n16(c, d);
}
