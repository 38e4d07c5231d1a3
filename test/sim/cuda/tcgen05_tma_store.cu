// arch: sm_100a
// The epilogue of a product as f16: tensor memory, registers, shared memory, TMA store. D has the type f16.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(128) tcgen05_tma_store(const __grid_constant__ TensorMap out, const uint4 *a,
                                                                    const uint4 *b, uint32_t instruction) {
    __shared__ __align__(128) char left[128 * 32], right[32 * 32], tile[128 * 64];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&done, 1);
        fence_barrier_init();
    }
    if (threadIdx.x < 32)
        tmem_alloc(&place, 32);
    fill(left, a, 128, 2);
    fill(right, b, 32, 2);
    /*SYNC:proxy*/ fence_async();
    /*SYNC:filled*/ __syncthreads();
    if (threadIdx.x == 0) {
        mma_f16_tmem(place, core_matrices(left, 128 * 16, 128), core_matrices(right, 32 * 16, 128), instruction, false);
        /*SYNC:commit*/ tcgen05_commit(&done);
    }
    /*SYNC:wait*/ barrier_wait(&done, 0);
    /*SYNC:after*/ after_sync();
    uint32_t r[16];
    // Two columns of 16 bits in each register.
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.pack::16b.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
                 "%13, %14, %15}, [%16];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]),
                   "=r"(r[8]), "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15])
                 : "r"(place + (threadIdx.x / 32 * 32 << 16))
                 : "memory");
    /*SYNC:wait_load*/ wait_load(r);
    for (int i = 0; i < 16; ++i)
        *reinterpret_cast<uint32_t *>(tile + threadIdx.x * 64 + 4 * i) = r[i];
    /*SYNC:proxy_out*/ fence_async();
    /*SYNC:written*/ __syncthreads();
    if (threadIdx.x == 0) {
        tensor_store(&out, 0, 0, tile);
        /*SYNC:commit_out*/ bulk_commit();
        /*SYNC:wait_out*/ bulk_wait_read();
    }
    if (threadIdx.x < 32)
        tmem_dealloc(place, 32);
}
