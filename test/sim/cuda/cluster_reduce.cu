// Sums over a cluster of four: every CTA adds up its part, rank 0 reads the others' sums from their shared memory,
// and everybody adds to a histogram in rank 1 with remote atomics.
#include "hopper.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_reduce(const int *in, int *sums, int *histogram) {
    __shared__ int part[64];
    __shared__ int bins[8];
    const int thread = threadIdx.x;
    const uint32_t rank = cluster_rank();
    const int value = in[blockIdx.x * 64 + thread];
    part[thread] = value;
    if (thread < 8) bins[thread] = 0;
    /*SYNC:ready*/ cluster_arrive(); cluster_wait();
    asm volatile("red.shared::cluster.add.s32 [%0], 1;" ::"r"(map_rank(shared(&bins[value & 7]), 1)) : "memory");
    if (rank == 0) {
        int sum = 0;
        for (int other = 0; other < 4; ++other) {
            int found;
            asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(found) : "r"(map_rank(shared(&part[thread]), other)) : "memory");
            sum += found;
        }
        sums[blockIdx.x / 4 * 64 + thread] = sum;
    }
    /*SYNC:done*/ cluster_arrive(); cluster_wait();
    if (rank == 1 && thread < 8) histogram[blockIdx.x / 4 * 8 + thread] = bins[thread];
}
