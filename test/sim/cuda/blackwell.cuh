// Inline PTX for the Blackwell kernels: tensor memory and tcgen05.
#pragma once
#include "hopper.cuh"

template <int GROUP = 1> __device__ inline void tmem_alloc(uint32_t *address, int columns) {
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared(address)),
                 "r"(columns), "n"(GROUP)
                 : "memory");
}

template <int GROUP = 1> __device__ inline void tmem_relinquish() {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(GROUP) : "memory");
}

template <int GROUP = 1> __device__ inline void tmem_dealloc(uint32_t address, int columns) {
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns), "n"(GROUP)
                 : "memory");
}

__device__ inline void before_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }

__device__ inline void after_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

// Each wait names the registers of the loads before it, so that no use of them moves above the wait.
template <int N> __device__ inline void wait_load(uint32_t (&r)[N]) {
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < N; ++i)
        asm volatile("" : "+r"(r[i])::"memory");
}

__device__ inline void wait_store() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

template <int GROUP = 1> __device__ inline void tcgen05_commit(uint64_t *barrier) {
    asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(barrier)),
                 "n"(GROUP)
                 : "memory");
}

template <int GROUP = 2> __device__ inline void tcgen05_commit_to(uint64_t *barrier, uint16_t ctas) {
    asm volatile(
        "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            shared(barrier)),
        "h"(ctas), "n"(GROUP)
        : "memory");
}

#define MMA(NAME, KIND)                                                                                               \
    template <int GROUP = 1>                                                                                          \
    __device__ inline void NAME(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {          \
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %4, 0;\n"                                                    \
                     " tcgen05.mma.cta_group::%5.kind::" KIND " [%0], %1, %2, %3, p;\n}" ::"r"(d),                    \
                     "l"(a), "l"(b), "r"(instruction), "r"(int(accumulate)), "n"(GROUP)                               \
                     : "memory");                                                                                     \
    }                                                                                                                 \
    template <int GROUP = 1>                                                                                          \
    __device__ inline void NAME##_from_tmem(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, bool accumulate) { \
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %4, 0;\n"                                                    \
                     " tcgen05.mma.cta_group::%5.kind::" KIND " [%0], [%1], %2, %3, p;\n}" ::"r"(d),                  \
                     "r"(a), "l"(b), "r"(instruction), "r"(int(accumulate)), "n"(GROUP)                               \
                     : "memory");                                                                                     \
    }

MMA(mma_f16_tmem, "f16")
MMA(mma_tf32_tmem, "tf32")
MMA(mma_f8_tmem, "f8f6f4")
MMA(mma_i8_tmem, "i8")

#define MMA_SCALED(NAME, KIND)                                                                                        \
    template <int GROUP = 1>                                                                                          \
    __device__ inline void NAME(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, uint32_t scale_a,           \
                                uint32_t scale_b, bool accumulate) {                                                  \
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %6, 0;\n"                                                    \
                     " tcgen05.mma.cta_group::%7.kind::" KIND " [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),        \
                     "l"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b), "r"(int(accumulate)), "n"(GROUP)   \
                     : "memory");                                                                                     \
    }

MMA_SCALED(mma_mxf8_tmem, "mxf8f6f4.block_scale.scale_vec::1X")
MMA_SCALED(mma_mxf4_tmem, "mxf4.block_scale.scale_vec::2X")
MMA_SCALED(mma_nvf4_tmem, "mxf4nvf4.block_scale.scale_vec::4X")

// 32 lanes of the warp, 8 columns.
__device__ inline void tmem_load_8(uint32_t (&r)[8], uint32_t address) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(address)
                 : "memory");
}

__device__ inline void tmem_store_8(uint32_t address, const uint32_t (&r)[8]) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(address),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7])
                 : "memory");
}

// The descriptor of a K-major matrix with rows of 128 bytes that are swizzled, in groups of 8 rows.
__device__ inline uint64_t rows_of_128(const void *start) {
    return uint64_t(shared(start) & 0x3FFFF) >> 4 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 46 | uint64_t(2) << 61;
}

// The descriptor of a matrix without swizzle: core matrices of 8 rows of 16 bytes.
__device__ inline uint64_t core_matrices(const void *start, int leading, int stride) {
    return uint64_t(shared(start) & 0x3FFFF) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
           uint64_t(1) << 46;
}
