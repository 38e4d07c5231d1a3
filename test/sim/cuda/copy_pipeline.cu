// arch: sm_80
// Three stages of cp.async: two copies are in flight while one tile is summed; the last tile is zero-filled.
#include "tensor.cuh"

constexpr int STAGES = 3, TILE = 512;

__device__ inline void fetch(float (*ring)[TILE], const float *in, int tile, int count) {
    const int at = tile * TILE + threadIdx.x * 4;
    const int left = 4 * (count - at);
    copy_16(&ring[tile % STAGES][threadIdx.x * 4], left > 0 ? in + at : in, left < 0 ? 0 : left > 16 ? 16 : left);
}

extern "C" __global__ void copy_pipeline(const float *in, float *out, int count) {
    __shared__ __align__(16) float ring[STAGES][TILE];
    const int tiles = (count + TILE - 1) / TILE;
    float sum = 0;
    for (int tile = 0; tile < STAGES - 1; ++tile) {
        if (tile < tiles) fetch(ring, in, tile, count);
        copy_commit();
    }
    for (int tile = 0; tile < tiles; ++tile) {
        /*SYNC:wait*/ copy_wait<STAGES - 2>();
        /*SYNC:barrier*/ __syncthreads();
        if (tile + STAGES - 1 < tiles) fetch(ring, in, tile + STAGES - 1, count);
        copy_commit();
        for (int i = 0; i < 4; ++i) sum += ring[tile % STAGES][(threadIdx.x * 4 + i * 129) % TILE];
    }
    out[threadIdx.x] = sum;
}
