// A kernel points its tensor map at another matrix: it changes a copy in shared memory, publishes it, acquires it,
// and loads through it.
#include "hopper.cuh"

extern "C" __global__ void tensormap_replace(const __grid_constant__ TensorMap map, TensorMap *workspace,
                                             const int *matrix, int *out, int rows) {
    __shared__ __align__(128) TensorMap copy;
    __shared__ __align__(128) int tile[8 * 16];
    __shared__ uint64_t barrier;
    const int thread = threadIdx.x;
    reinterpret_cast<int *>(&copy)[thread] = reinterpret_cast<const int *>(&map)[thread];
    if (thread == 0) {
        barrier_init(&barrier, 1);
        fence_async();
    }
    /*SYNC:copied*/ __syncwarp();
    if (thread == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared(&copy)),
                     "l"(matrix)
                     : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(shared(&copy)),
                     "r"(rows)
                     : "memory");
    }
    /*SYNC:replaced*/ __syncwarp();
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
            workspace),
        "r"(shared(&copy))
        : "memory");
    /*SYNC:acquire*/ asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(workspace) : "memory");
    if (thread == 0) {
        /*SYNC:expect*/ barrier_expect(&barrier, 8 * 16 * 4);
        tensor_load(tile, workspace, 0, 0, &barrier);
    }
    __syncwarp();
    /*SYNC:wait*/ barrier_wait(&barrier, 0);
    for (int index = thread; index < 128; index += 32) out[index] = tile[index];
}
