// Tensor stores with each swizzle: threads write a swizzled tile, one thread sends it off; then a second tile reuses
// the shared memory.
#include "hopper.cuh"

template <int SWIZZLE> __device__ void store(const TensorMap &map, const uint32_t *in, int x, int y, int rows) {
    constexpr int WORDS = SWIZZLE == 0 ? 16 : 4 << SWIZZLE;
    extern __shared__ __align__(1024) uint32_t tile[];
    for (int pass = 0; pass < 2; ++pass) {
        for (int index = threadIdx.x; index < rows * WORDS; index += blockDim.x) {
            const uint32_t byte = index * 4;
            const uint32_t at = byte ^ ((byte >> 7 & ((1 << SWIZZLE) - 1)) << 4);
            tile[at / 4] = in[index] + pass;
        }
        /*SYNC:fence*/ fence_async();
        /*SYNC:written*/ __syncthreads();
        if (threadIdx.x == 0) {
            tensor_store(&map, x, y + pass * rows, tile);
            /*SYNC:commit*/ bulk_commit();
            /*SYNC:wait_read*/ bulk_wait_read();
        }
        /*SYNC:reuse*/ __syncthreads();
    }
}

extern "C" __global__ void tma_store(const __grid_constant__ TensorMap map, const uint32_t *in, int x, int y, int rows,
                                     int swizzle) {
    if (swizzle == 0) store<0>(map, in, x, y, rows);
    if (swizzle == 1) store<1>(map, in, x, y, rows);
    if (swizzle == 2) store<2>(map, in, x, y, rows);
    if (swizzle == 3) store<3>(map, in, x, y, rows);
}
