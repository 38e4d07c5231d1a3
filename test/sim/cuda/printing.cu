// arch: sm_80
// printf of every kind of argument, and assertions that hold.
#include <assert.h>
#include <stdio.h>

extern "C" __global__ void printing(const int *in, int *out) {
    const int thread = threadIdx.x;
    assert(in[thread] >= 0);
    if (thread < 2) printf("thread %d: %5.2f %s %c %x %llu %%\n", thread, in[thread] / 4.0, "text", 'a' + thread, 255u, 1ull << 40);
    if (thread == 2) printf("plain\n");
    const int written = thread == 3 ? printf("%-6d|%+d|%08.3e\n", 42, 7, 12345.678) : 0;
    out[thread] = in[thread] + (written > 0 ? 0 : 1);
}
