// arch: sm_80
// Softmax of rows: the maximum and the sum by shuffles within warps and shared memory between them.
#include <math.h>

__device__ float across(float value, float *ends, bool largest) {
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffff, value, step);
        value = largest ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0) ends[threadIdx.x / 32] = value;
    /*SYNC:ends*/ __syncthreads();
    value = ends[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) value = largest ? fmaxf(value, ends[warp]) : value + ends[warp];
    return value;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns) {
    __shared__ float maxima[4], sums[4];
    const float *row = in + blockIdx.x * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) largest = fmaxf(largest, row[column]);
    largest = across(largest, maxima, true);
    for (int column = threadIdx.x; column < columns; column += blockDim.x) sum += expf(row[column] - largest);
    sum = across(sum, sums, false);
    for (int column = threadIdx.x; column < columns; column += blockDim.x)
        out[blockIdx.x * columns + column] = expf(row[column] - largest) / sum;
}
