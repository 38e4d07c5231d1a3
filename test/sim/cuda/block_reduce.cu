// arch: sm_80
// The sum of each block's values by a tree in shared memory, then shuffles; the grid's sum by atomics.
extern "C" __global__ void block_reduce(const float *in, float *blocks, int *total, int n) {
    __shared__ float part[256];
    const int thread = threadIdx.x;
    const int at = blockIdx.x * 256 + thread;
    part[thread] = at < n ? in[at] : 0.0f;
    /*SYNC:loaded*/ __syncthreads();
    for (int step = 128; step >= 32; step >>= 1) {
        if (thread < step) part[thread] += part[thread + step];
        /*SYNC:step*/ __syncthreads();
    }
    if (thread < 32) {
        float sum = part[thread];
        for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (thread == 0) {
            blocks[blockIdx.x] = sum;
            atomicAdd(total, static_cast<int>(sum));
        }
    }
}
