// arch: sm_100a
// Two products in a row: S = Q K^T; each thread squares its row of S and puts it back as f16; O = P V, with P from
// tensor memory. V is MN-major.
#include "blackwell.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(128) tcgen05_attention(const uint4 *q, const uint4 *k, const uint4 *v,
                                                                    uint32_t *o, uint32_t first, uint32_t second) {
    __shared__ __align__(128) char query[128 * 32], key[32 * 32], value[2 * 16 * 64];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    const uint32_t mine = threadIdx.x / 32 * 32 << 16;
    if (threadIdx.x == 0) {
        barrier_init(&done, 1);
        fence_barrier_init();
    }
    if (threadIdx.x < 32)
        tmem_alloc(&place, 128);
    fill(query, q, 128, 2);
    fill(key, k, 32, 2);
    // Core matrices of 8 rows of k, 16 bytes of n; 4 of them a group of 8 rows.
    for (int i = threadIdx.x; i < 32 * 4; i += 128)
        *reinterpret_cast<uint4 *>(value + (i / 4 / 8 * 4 + i % 4) * 128 + i / 4 % 8 * 16) = v[i];
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    const uint32_t s = place, p = place + 32, d = place + 64;
    if (threadIdx.x == 0) {
        mma_f16_tmem(s, core_matrices(query, 128 * 16, 128), core_matrices(key, 32 * 16, 128), first, false);
        /*SYNC:commit_first*/ tcgen05_commit(&done);
    }
    /*SYNC:wait_first*/ barrier_wait(&done, 0);
    /*SYNC:after_first*/ after_sync();
    for (int part = 0; part < 2; ++part) {
        uint32_t low[8], high[8], packed[8];
        tmem_load_8(low, s + mine + 16 * part);
        tmem_load_8(high, s + mine + 16 * part + 8);
        /*SYNC:wait_load*/ wait_load(low);
        for (int i = 0; i < 8; ++i) {
            const uint32_t x = i < 4 ? low[2 * i] : high[2 * i - 8], y = i < 4 ? low[2 * i + 1] : high[2 * i - 7];
            const __half2 pair = __floats2half2_rn(__uint_as_float(x) * __uint_as_float(x),
                                                   __uint_as_float(y) * __uint_as_float(y));
            packed[i] = *reinterpret_cast<const uint32_t *>(&pair);
        }
        tmem_store_8(p + mine + 8 * part, packed);
    }
    /*SYNC:wait_store*/ wait_store();
    /*SYNC:before*/ before_sync();
    /*SYNC:stored*/ __syncthreads();
    if (threadIdx.x == 0) {
        /*SYNC:after_stored*/ after_sync();
        for (int step = 0; step < 2; ++step)
            mma_f16_tmem_from_tmem(d, p + 8 * step, core_matrices(value + step * 8 * 128, 4 * 128, 128), second, step);
        /*SYNC:commit_second*/ tcgen05_commit(&done);
    }
    /*SYNC:wait_second*/ barrier_wait(&done, 1);
    /*SYNC:after_second*/ after_sync();
    store_rows(o, d, 32);
    /*SYNC:end*/ __syncthreads();
    if (threadIdx.x < 32)
        tmem_dealloc(place, 128);
}
