// arch: sm_80
// A lock that one thread of each warp takes by compare and swap, a float minimum by a loop of them, and tickets.
extern "C" __global__ void locked(const float *in, float *least, unsigned *ticket, unsigned *seen, int *lock, int *sum) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = in[thread];
    unsigned *bits = reinterpret_cast<unsigned *>(least);
    unsigned old = atomicAdd(bits, 0u), assumed;
    do {
        assumed = old;
        if (__uint_as_float(assumed) <= value) break;
        old = atomicCAS(bits, assumed, __float_as_uint(value));
    } while (old != assumed);
    seen[atomicInc(ticket, 1000u)] = thread;
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
        /*SYNC:taken*/ __threadfence();
        sum[0] += thread;
        sum[1] += 1;
        /*SYNC:given*/ __threadfence();
        atomicExch(lock, 0);
    }
}
