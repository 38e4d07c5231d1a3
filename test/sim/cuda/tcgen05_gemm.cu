// arch: sm_100a
// A GEMM of one CTA on the tensor cores of Blackwell: TMA warp, MMA thread, and four warps for the epilogue.
// C[128][n] = A[128][k] B[n][k]^T; tiles of 64 in k (128 bytes, swizzled), two stages.
#include "blackwell.cuh"

constexpr int GEMM_STAGES = 2, GEMM_K = 64, GEMM_N = 32;

extern "C" __global__ void __launch_bounds__(192) tcgen05_gemm(const __grid_constant__ TensorMap a,
                                                               const __grid_constant__ TensorMap b, float *c, int tiles,
                                                               uint32_t instruction) {
    __shared__ __align__(1024) char left[GEMM_STAGES][128 * 128], right[GEMM_STAGES][GEMM_N * 128];
    __shared__ uint64_t full[GEMM_STAGES], empty[GEMM_STAGES], done;
    __shared__ uint32_t place;
    const int thread = threadIdx.x, warp = thread / 32;
    if (thread == 0) {
        for (int stage = 0; stage < GEMM_STAGES; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 1);
        }
        barrier_init(&done, 1);
        /*SYNC:fence_init*/ fence_barrier_init();
    }
    if (warp == 0) {
        tmem_alloc(&place, GEMM_N);
        tmem_relinquish();
    }
    /*SYNC:init*/ __syncthreads();
    const uint32_t d = place;
    if (warp == 4) {
        if (thread == 128) {
            for (int tile = 0; tile < tiles; ++tile) {
                const int stage = tile % GEMM_STAGES, parity = tile / GEMM_STAGES & 1;
                /*SYNC:wait_empty*/ barrier_wait(&empty[stage], parity ^ 1);
                /*SYNC:expect*/ barrier_expect(&full[stage], sizeof left[0] + sizeof right[0]);
                tensor_load(left[stage], &a, tile * GEMM_K, 0, &full[stage]);
                tensor_load(right[stage], &b, tile * GEMM_K, 0, &full[stage]);
            }
        }
    } else if (warp == 5) {
        if (thread == 160) {
            for (int tile = 0; tile < tiles; ++tile) {
                const int stage = tile % GEMM_STAGES, parity = tile / GEMM_STAGES & 1;
                /*SYNC:wait_full*/ barrier_wait(&full[stage], parity);
                for (int k = 0; k < GEMM_K; k += 16)
                    mma_f16_tmem(d, rows_of_128(left[stage] + 2 * k), rows_of_128(right[stage] + 2 * k), instruction,
                                 tile || k);
                /*SYNC:commit_stage*/ tcgen05_commit(&empty[stage]);
            }
            /*SYNC:commit*/ tcgen05_commit(&done);
        }
    } else {
        /*SYNC:wait_done*/ barrier_wait(&done, 0);
        /*SYNC:after*/ after_sync();
        for (int column = 0; column < GEMM_N; column += 8) {
            uint32_t r[8];
            tmem_load_8(r, d + (warp * 32 << 16) + column);
            /*SYNC:wait_load*/ wait_load(r);
            for (int i = 0; i < 8; ++i)
                c[thread * GEMM_N + column + i] = __uint_as_float(r[i]);
        }
    }
    /*SYNC:end*/ __syncthreads();
    if (warp == 0) {
        /*SYNC:dealloc*/ tmem_dealloc(d, GEMM_N);
    }
}
