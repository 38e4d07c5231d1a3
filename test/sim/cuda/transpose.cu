// arch: sm_80
// Transposes through padded tiles of 32x32, ragged at the edges; of floats and of halves.
#include <cuda_fp16.h>

template <typename T>
__device__ void tile(const T *in, T *out, int rows, int columns) {
    __shared__ T kept[32][33];
    const int x = blockIdx.x * 32 + threadIdx.x;
    const int y = blockIdx.y * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        if (x < columns && y + row < rows) kept[threadIdx.y + row][threadIdx.x] = in[(y + row) * columns + x];
    /*SYNC:filled*/ __syncthreads();
    const int to_x = blockIdx.y * 32 + threadIdx.x;
    const int to_y = blockIdx.x * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        if (to_x < rows && to_y + row < columns) out[(to_y + row) * rows + to_x] = kept[threadIdx.x][threadIdx.y + row];
}

extern "C" __global__ void transpose(
    const float *in, float *out, const __half *half_in, __half *half_out, int rows, int columns) {
    tile(in, out, rows, columns);
    tile(half_in, half_out, rows, columns);
}
