// Several CTAs add their tiles to one matrix with a tensor reduction, and raise a maximum with a bulk reduction.
#include "hopper.cuh"

extern "C" __global__ void tma_reduce(const __grid_constant__ TensorMap map, int *largest) {
    __shared__ __align__(128) float tile[8 * 16];
    __shared__ __align__(16) int peaks[16];
    const int thread = threadIdx.x, cta = blockIdx.x;
    tile[thread] = thread + cta;
    if (thread < 16) peaks[thread] = (thread * 7 + cta * 5) % 16;
    /*SYNC:fence*/ fence_async();
    /*SYNC:written*/ __syncthreads();
    if (thread == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                         &map),
                     "r"(8), "r"(2), "r"(shared(tile))
                     : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 64;" ::"l"(largest),
                     "r"(shared(peaks))
                     : "memory");
        /*SYNC:commit*/ bulk_commit();
        /*SYNC:wait*/ bulk_wait();
    }
}
