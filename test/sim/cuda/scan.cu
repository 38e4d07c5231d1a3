// arch: sm_80
// Inclusive sums of each block (two buffers by turns), then of its warps' ends by shuffles, for 64-bit integers.
extern "C" __global__ void scan(const int *in, int *out, const long long *wide_in, long long *wide_out) {
    __shared__ int turn[2][128];
    __shared__ long long ends[4];
    const int thread = threadIdx.x;
    const int at = blockIdx.x * 128 + thread;
    int from = 0;
    turn[0][thread] = in[at];
    /*SYNC:loaded*/ __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        const int value = turn[from][thread] + (thread >= step ? turn[from][thread - step] : 0);
        turn[1 - from][thread] = value;
        from = 1 - from;
        /*SYNC:turn*/ __syncthreads();
    }
    out[at] = turn[from][thread];
    long long value = wide_in[at];
    for (int step = 1; step < 32; step *= 2) {
        const long long other = __shfl_up_sync(0xffffffff, value, step);
        if (thread % 32 >= step) value += other;
    }
    if (thread % 32 == 31) ends[thread / 32] = value;
    /*SYNC:ends*/ __syncthreads();
    for (int warp = 0; warp < thread / 32; ++warp) value += ends[warp];
    wide_out[at] = value;
}
