// arch: sm_80
// Loops of different lengths, early returns, a switch, recursion made flat, and calls that are not inlined.
__device__ __noinline__ int steps(unsigned long long value) {
    int count = 0;
    while (value != 1) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        ++count;
    }
    return count;
}

__device__ __noinline__ int chosen(int kind, int value) {
    switch (kind) {
        case 0: return value * 3;
        case 1: return value / 7;
        case 2: return value % 5 - 2;
        case 3: return value ^ 0x55;
        case 4: return __popc(value);
        case 5: return -value;
        case 6: return value << 3;
        default: return 1000;
    }
}

extern "C" __global__ void divergent(const int *in, int *out, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n) return;
    int total = steps(in[thread]);
    for (int inner = 0; inner < thread % 7; ++inner) {
        if ((thread + inner) % 3 == 0) continue;
        total += chosen((thread + inner) % 9, in[thread]);
        if (total > 5000) break;
    }
    int (*const function)(int, int) = thread % 2 ? chosen : nullptr;
    out[thread] = function ? function(thread % 5, total) : total;
}
