// Plain bulk copies: load a row, double it in place, store it, and reread what was stored.
#include "hopper.cuh"

extern "C" __global__ void bulk_copy(const float *in, float *out, float *check) {
    __shared__ __align__(16) float row[256];
    __shared__ uint64_t barrier;
    const int thread = threadIdx.x;
    in += blockIdx.x * 256, out += blockIdx.x * 256, check += blockIdx.x * 256;
    if (thread == 0) {
        barrier_init(&barrier, 1);
        /*SYNC:fence_init*/ fence_async();
        bulk_load(row, in, 1024, &barrier);
        /*SYNC:expect*/ barrier_expect(&barrier, 1024);
    }
    /*SYNC:init*/ __syncthreads();
    /*SYNC:wait_load*/ barrier_wait(&barrier, 0);
    row[thread] *= 2;
    row[thread + 128] *= 2;
    /*SYNC:fence*/ fence_async();
    /*SYNC:written*/ __syncthreads();
    if (thread == 0) {
        bulk_store(out, row, 1024);
        bulk_commit();
        /*SYNC:wait_store*/ bulk_wait();
    }
    /*SYNC:stored*/ __syncthreads();
    check[thread] = out[thread];
    check[thread + 128] = out[thread + 128];
}
