// arch: sm_80
// nvcc's wmma API: 64 x 64 by four warps, k in steps of 16 through shared memory.
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void wmma_gemm(const half *a, const half *b, float *c, int n, int k) {
    using namespace nvcuda;
    __shared__ __align__(32) half left[64][16], right[16][64];
    const int warp = threadIdx.x / 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];
    for (auto &part : sum) wmma::fill_fragment(part, 0.0f);
    for (int step = 0; step < k; step += 16) {
        for (int i = threadIdx.x; i < 1024; i += 128) {
            left[i / 16][i % 16] = a[(blockIdx.y * 64 + i / 16) * k + step + i % 16];
            right[i / 64][i % 64] = b[(step + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        /*SYNC:loaded*/ __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
        wmma::load_matrix_sync(x, &left[16 * warp][0], 16);
        for (int j = 0; j < 4; ++j) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
            wmma::load_matrix_sync(y, &right[0][16 * j], 64);
            wmma::mma_sync(sum[j], x, y, sum[j]);
        }
        /*SYNC:used*/ __syncthreads();
    }
    for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < sum[j].num_elements; ++i) sum[j].x[i] *= 0.5f;
        wmma::store_matrix_sync(c + (blockIdx.y * 64 + 16 * warp) * n + blockIdx.x * 64 + 16 * j, sum[j], n,
                                wmma::mem_row_major);
    }
}
