// Programmatic dependent launch: this kernel may start while the one that writes `in` still runs.
#include "hopper.cuh"

extern "C" __global__ void dependent_launch(const float *in, const float *weights, float *out) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    const float weight = weights[index];
    asm volatile("griddepcontrol.launch_dependents;");
    /*SYNC:wait*/ asm volatile("griddepcontrol.wait;" ::: "memory");
    out[index] = weight * in[index];
}
