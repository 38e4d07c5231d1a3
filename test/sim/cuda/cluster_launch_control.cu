// arch: sm_100a
// Dynamic persistence: a CTA asks for the place of one that has not begun, until none is left.
#include "blackwell.cuh"

extern "C" __global__ void __launch_bounds__(64) cluster_launch_control(int *counts, int *sums) {
    __shared__ __align__(16) uint4 response;
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) {
        barrier_init(&ready, 1);
        /*SYNC:fence_init*/ fence_barrier_init();
    }
    /*SYNC:init*/ __syncthreads();
    int x = blockIdx.x, y = blockIdx.y, turn = 0;
    for (;; turn ^= 1) {
        if (threadIdx.x == 0) {
            /*SYNC:expect*/ barrier_expect(&ready, 16);
            asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                             shared(&response)),
                         "r"(shared(&ready))
                         : "memory");
        }
        counts[(y * gridDim.x + x) * 64 + threadIdx.x] += 1;
        sums[(y * gridDim.x + x) * 64 + threadIdx.x] = 10 * y + x;
        /*SYNC:wait*/ barrier_wait(&ready, turn);
        uint32_t canceled, next[2] = {0, 0};
        asm volatile("{\n .reg .b128 r; .reg .pred p;\n ld.shared.b128 r, [%3];\n"
                     " clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n selp.u32 %0, 1, 0, p;\n"
                     " @p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%1, %2, _, _}, r;\n}"
                     : "=r"(canceled), "+r"(next[0]), "+r"(next[1])
                     : "r"(shared(&response))
                     : "memory");
        // The generic reads of the response are before the next write by the async proxy.
        /*SYNC:fence_async*/ fence_async();
        /*SYNC:reuse*/ __syncthreads();
        if (!canceled)
            break;
        x = next[0];
        y = next[1];
    }
}
