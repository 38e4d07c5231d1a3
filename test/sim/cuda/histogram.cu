// arch: sm_80
// A histogram of bytes: each block counts in shared memory, then adds its counts to the grid's.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    /*SYNC:cleared*/ __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x)
        atomicAdd(&mine[in[at]], 1u);
    /*SYNC:counted*/ __syncthreads();
    if (mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
