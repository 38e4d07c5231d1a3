// wgmma with A and B from shared memory, in each swizzle mode: 64 x 16, k in steps of one pattern row.
#include "tensor.cuh"

// `swizzle` bytes a row (0: core matrices of 16-byte rows side by side); B is [16][k], k contiguous, as is A.
__device__ inline void put(uint4 *tile, int rows, int swizzle, int row, int chunk, uint4 value) {
    if (swizzle)
        tile[swizzled_chunk(swizzle, row, chunk)] = value;
    else
        tile[chunk * rows + row] = value;
}

extern "C" __global__ void wgmma_swizzle(const uint4 *a, const uint4 *b, float *c, int k, int swizzle) {
    __shared__ __align__(1024) uint4 left[64 * 8], right[16 * 8];
    const int chunks = swizzle ? swizzle / 16 : 4, width = chunks * 8;
    float d[8] = {};
    for (int step = 0; step < k; step += width) {
        for (int i = threadIdx.x; i < 64 * chunks; i += 128)
            put(left, 64, swizzle, i / chunks, i % chunks, a[i / chunks * k / 8 + step / 8 + i % chunks]);
        for (int i = threadIdx.x; i < 16 * chunks; i += 128)
            put(right, 16, swizzle, i / chunks, i % chunks, b[i / chunks * k / 8 + step / 8 + i % chunks]);
        /*SYNC:proxy*/ async_fence();
        /*SYNC:loaded*/ __syncthreads();
        /*SYNC:fence*/ wgmma_fence();
        for (int inner = 0; inner < chunks; inner += 2) {
            const int stride = 8 * (swizzle ? swizzle : 16);
            const uint4 *x = swizzle ? left + inner : left + inner * 64, *y = swizzle ? right + inner : right + inner * 16;
            wgmma_n16<0>(d, matrix_descriptor(x, 64 * 16, stride, swizzle), matrix_descriptor(y, 16 * 16, stride, swizzle));
        }
        /*SYNC:commit*/ wgmma_commit();
        /*SYNC:wait*/ wgmma_wait<0>();
        // No barrier: the operation of all four warps is complete, so A and B may be overwritten.
    }
    store_n16(c, d);
}
