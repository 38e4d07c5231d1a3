// arch: sm_100a
// Two warps share tensor memory: each takes half of it twice, so that one may wait for the other.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(64) tcgen05_alloc(uint32_t *c) {
    __shared__ uint32_t places[2];
    const int warp = threadIdx.x / 32;
    for (int turn = 0; turn < 3; ++turn) {
        const int columns = turn == 1 ? 512 : 256;
        tmem_alloc(&places[warp], columns);
        const uint32_t place = *reinterpret_cast<volatile uint32_t *>(&places[warp]) + (warp * 32 << 16);
        uint32_t r[8];
        for (int i = 0; i < 8; ++i)
            r[i] = 1000 * turn + 8 * threadIdx.x + i;
        tmem_store_8(place + columns - 8, r);
        /*SYNC:wait_store*/ wait_store();
        tmem_load_8(r, place + columns - 8);
        /*SYNC:wait_load*/ wait_load(r);
        for (int i = 0; i < 8; ++i)
            c[(turn * 64 + threadIdx.x) * 8 + i] = r[i];
        /*SYNC:dealloc*/ tmem_dealloc(places[warp], columns);
        // All lanes have read the address before it changes.
        __syncwarp();
    }
    /*SYNC:relinquish*/ __syncthreads();
    if (warp == 0)
        tmem_relinquish();
}
