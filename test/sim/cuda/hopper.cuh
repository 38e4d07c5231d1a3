// Inline PTX for the Hopper kernels: mbarrier, bulk copies, tensor copies, clusters.
#pragma once
#include <cstdint>

struct alignas(64) TensorMap {
    char bytes[128];
};

__device__ inline uint32_t shared(const void *pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void barrier_init(uint64_t *barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(count) : "memory");
}

__device__ inline void barrier_arrive(uint64_t *barrier) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.release.cta.shared::cta.b64 s, [%0]; }" ::"r"(shared(barrier))
                 : "memory");
}

__device__ inline void barrier_expect(uint64_t *barrier, int bytes) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 s, [%0], %1; }" ::"r"(
                     shared(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ inline void barrier_wait(uint64_t *barrier, int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "AGAIN_%=:\n mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra AGAIN_%=;\n}" ::"r"(shared(barrier)),
        "r"(parity)
        : "memory");
}

__device__ inline void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void bulk_load(void *to, const void *from, int bytes, uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared(to)),
                 "l"(from), "r"(bytes), "r"(shared(barrier))
                 : "memory");
}

__device__ inline void bulk_store(void *to, const void *from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared(from)), "r"(bytes)
                 : "memory");
}

__device__ inline void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

__device__ inline void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

__device__ inline void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

__device__ inline void tensor_load(void *to, const void *map, int x, int y, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared(to)),
        "l"(map), "r"(x), "r"(y), "r"(shared(barrier))
        : "memory");
}

__device__ inline void tensor_store(const void *map, int x, int y, const void *from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
                 "r"(y), "r"(shared(from))
                 : "memory");
}

__device__ inline void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ inline void cluster_arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ inline uint32_t cluster_rank() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ inline uint32_t map_rank(uint32_t address, uint32_t rank) {
    uint32_t result;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
    return result;
}
