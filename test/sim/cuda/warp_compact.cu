// arch: sm_80
// Compaction by ballots, counts aggregated by matching keys, reductions of a warp, and of groups of eight lanes.
#include <cooperative_groups.h>
namespace groups = cooperative_groups;

extern "C" __global__ void warp_compact(const int *in, int *kept, int *count, int *keys, int *least, int *eights) {
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int value = in[thread];
    const unsigned wanted = __ballot_sync(0xffffffff, value > 0);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(wanted));
    start = __shfl_sync(0xffffffff, start, 0);
    if (value > 0) kept[start + __popc(wanted & ((1u << lane) - 1))] = value;
    const unsigned peers = __match_any_sync(0xffffffff, value & 7);
    if (lane == __ffs(peers) - 1) atomicAdd(&keys[value & 7], __popc(peers));
    least[thread] = __reduce_min_sync(0xffffffff, value);
    const auto group = groups::tiled_partition<8>(groups::this_thread_block());
    int sum = value;
    for (int step = group.size() / 2; step > 0; step /= 2) sum += group.shfl_down(sum, step);
    if (group.thread_rank() == 0) eights[thread / 8] = sum;
    if (group.any(value == 77)) atomicMax(&keys[8], value);
}
