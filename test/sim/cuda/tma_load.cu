// Tensor loads of 64 x 8 half tiles' worth of words with each swizzle, read back by the xor that the swizzle makes.
#include "hopper.cuh"

// Rows of 32, 64, 128 bytes for the swizzles 1, 2, 3; 64 bytes without.
template <int SWIZZLE> __device__ void load(const TensorMap &map, uint32_t *out, int x, int y, int rows) {
    constexpr int WORDS = SWIZZLE == 0 ? 16 : 4 << SWIZZLE;
    extern __shared__ __align__(1024) uint32_t tile[];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        /*SYNC:fence_init*/ fence_barrier_init();
    }
    /*SYNC:init*/ __syncthreads();
    if (threadIdx.x == 0) {
        /*SYNC:expect*/ barrier_expect(&barrier, rows * WORDS * 4);
        tensor_load(tile, &map, x, y, &barrier);
    }
    /*SYNC:wait*/ barrier_wait(&barrier, 0);
    for (int index = threadIdx.x; index < rows * WORDS; index += blockDim.x) {
        const uint32_t byte = index * 4;
        const uint32_t at = byte ^ ((byte >> 7 & ((1 << SWIZZLE) - 1)) << 4);
        out[index] = tile[at / 4];
    }
}

extern "C" __global__ void tma_load(const __grid_constant__ TensorMap map, uint32_t *out, int x, int y, int rows,
                                    int swizzle) {
    if (swizzle == 0) load<0>(map, out, x, y, rows);
    if (swizzle == 1) load<1>(map, out, x, y, rows);
    if (swizzle == 2) load<2>(map, out, x, y, rows);
    if (swizzle == 3) load<3>(map, out, x, y, rows);
}
