// arch: sm_100a
// Two accumulators in tensor memory: the MMA thread computes tile t + 1 while the epilogue warps read tile t.
#include "blackwell.cuh"

constexpr int SLOTS = 2, WIDTH = 32;

extern "C" __global__ void __launch_bounds__(160) tcgen05_persistent(const uint4 *a, const uint4 *b, uint32_t *c,
                                                                     int tiles, uint32_t instruction) {
    __shared__ __align__(128) char left[128 * 32], right[4 * WIDTH * 32];
    __shared__ uint64_t full[SLOTS], empty[SLOTS];
    __shared__ uint32_t place;
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < SLOTS; ++slot) {
            barrier_init(&full[slot], 1);
            barrier_init(&empty[slot], 128);
        }
        fence_barrier_init();
    }
    if (warp == 0)
        tmem_alloc(&place, SLOTS * WIDTH);
    fill(left, a, 128, 2);
    for (int tile = 0; tile < tiles; ++tile)
        fill(right + tile * WIDTH * 32, b + tile * WIDTH * 2, WIDTH, 2);
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    const uint32_t d = place;
    if (warp == 4) {
        if (threadIdx.x == 128)
            for (int tile = 0; tile < tiles; ++tile) {
                const int slot = tile % SLOTS, parity = tile / SLOTS & 1;
                /*SYNC:wait_empty*/ barrier_wait(&empty[slot], parity ^ 1);
                /*SYNC:after_empty*/ after_sync();
                mma_f16_tmem(d + slot * WIDTH, core_matrices(left, 128 * 16, 128),
                             core_matrices(right + tile * WIDTH * 32, WIDTH * 16, 128), instruction, false);
                /*SYNC:commit*/ tcgen05_commit(&full[slot]);
            }
    } else {
        for (int tile = 0; tile < tiles; ++tile) {
            const int slot = tile % SLOTS, parity = tile / SLOTS & 1;
            /*SYNC:wait_full*/ barrier_wait(&full[slot], parity);
            /*SYNC:after_full*/ after_sync();
            uint32_t r[4][8];
            for (int part = 0; part < 4; ++part)
                tmem_load_8(r[part], d + slot * WIDTH + (warp * 32 << 16) + 8 * part);
            /*SYNC:wait_load*/ wait_load(r[0]);
            /*SYNC:before*/ before_sync();
            /*SYNC:arrive*/ barrier_arrive(&empty[slot]);
            for (int i = 0; i < WIDTH; ++i)
                c[(tile * 128 + threadIdx.x) * WIDTH + i] = r[i / 8][i % 8];
        }
    }
    /*SYNC:end*/ __syncthreads();
    if (warp == 0)
        tmem_dealloc(d, SLOTS * WIDTH);
}
