// Warp specialization: of three warpgroups, a producer gives up registers and loads tiles by TMA, a consumer takes them
// and adds the tiles up.
#include "hopper.cuh"

constexpr int STAGES = 2, ROWS = 8, COLUMNS = 32;

extern "C" __global__ void __launch_bounds__(384) warp_specialized(const __grid_constant__ TensorMap map, float *out,
                                                                   int tiles) {
    __shared__ __align__(128) float ring[STAGES][ROWS * COLUMNS];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int thread = threadIdx.x;
    if (thread == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 128);
        }
        /*SYNC:fence_init*/ fence_barrier_init();
    }
    /*SYNC:init*/ __syncthreads();
    if (thread < 128) {
        /*SYNC:give_registers*/ asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 0) {
            for (int tile = 0; tile < tiles; ++tile) {
                const int stage = tile % STAGES, parity = tile / STAGES & 1;
                /*SYNC:wait_empty*/ barrier_wait(&empty[stage], parity ^ 1);
                /*SYNC:expect*/ barrier_expect(&full[stage], ROWS * COLUMNS * 4);
                tensor_load(ring[stage], &map, 0, tile * ROWS, &full[stage]);
            }
        }
    } else if (thread < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 256;");
        float sum[2] = {0, 0};
        for (int tile = 0; tile < tiles; ++tile) {
            const int stage = tile % STAGES, parity = tile / STAGES & 1;
            /*SYNC:wait_full*/ barrier_wait(&full[stage], parity);
            sum[0] += ring[stage][thread - 128];
            sum[1] += ring[stage][thread];
            /*SYNC:arrive_empty*/ barrier_arrive(&empty[stage]);
        }
        out[thread - 128] = sum[0];
        out[thread] = sum[1];
    }
}
