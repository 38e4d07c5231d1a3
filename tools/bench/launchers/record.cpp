// A CUDA runtime that starts no kernel and prints the launches of a program: each is a line of JSON.
//
// `published.py` compiles it with the launcher that a library's author wrote. The launcher then chooses the kernel, its
// grid and its parameters as it does on a GPU. LAUNCH_PARAMETERS is a file with the kernels and the sizes of their
// parameters: `NAME SIZE SIZE …`, one kernel a line. GPU_* are what the program is told about its GPU.

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::map<const void *, std::string> &names() {
  static std::map<const void *, std::string> found;
  return found;
}

int number(const char *name) {
  const char *given = std::getenv(name);
  return given ? std::atoi(given) : 0;
}

std::vector<size_t> sizes_of(const std::string &kernel) {
  std::ifstream file(std::getenv("LAUNCH_PARAMETERS"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<size_t> found;
    for (size_t size; words >> size;) found.push_back(size);
    if (name == kernel) return found;
  }
  std::fprintf(stderr, "no kernel %s\n", kernel.c_str());
  std::exit(1);
}

void print(const char *key, dim3 at) { std::printf("\"%s\": [%u, %u, %u], ", key, at.x, at.y, at.z); }

cudaError_t launched(const void *function, dim3 grid, dim3 block, dim3 cluster, void **args, size_t shared) {
  const std::string &kernel = names()[function];
  std::printf("{\"kernel\": \"%s\", ", kernel.c_str());
  print("grid", grid);
  print("block", block);
  print("cluster", cluster);
  std::printf("\"shared\": %zu, \"args\": [", shared);
  size_t at = 0;
  for (size_t size : sizes_of(kernel)) {
    std::printf("%s\"", at ? ", " : "");
    for (size_t i = 0; i < size; ++i) std::printf("%02x", static_cast<const uint8_t *>(args[at])[i]);
    std::printf("\"");
    ++at;
  }
  std::printf("]}\n");
  return cudaSuccess;
}

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
} pushed;

template <typename T>
void put(uint8_t *raw, size_t at, T value) {
  std::memcpy(raw + at, &value, sizeof(T));
}

}  // namespace

extern "C" {

// -- what the code that nvcc generates calls

void **__cudaRegisterFatBinary(void *) {
  static void *handle;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, uint3 *, uint3 *, dim3 *,
                            dim3 *, int *) {
  names()[function] = name;
}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
char __cudaInitModule(void **) { return 1; }
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
  *kernel = (cudaKernel_t)function;
  return cudaSuccess;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<cudaStream_t *>(stream) = pushed.stream;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t) {
  return launched(kernel, grid, block, dim3(1, 1, 1), args, shared);
}

// -- what launchers call

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t) {
  return launched(function, grid, block, dim3(1, 1, 1), args, shared);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args) {
  dim3 cluster(1, 1, 1);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      auto &given = config->attrs[i].val.clusterDim;
      cluster = dim3(given.x, given.y, given.z);
    }
  }
  return launched(function, config->gridDim, config->blockDim, cluster, args, config->dynamicSmemBytes);
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned) {
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int) {
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor: *value = number("GPU_CAPABILITY") / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = number("GPU_CAPABILITY") % 10; break;
    case cudaDevAttrMultiProcessorCount: *value = number("GPU_SMS"); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = number("GPU_SHARED"); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = number("GPU_SHARED") - 1024; break;
    default: std::fprintf(stderr, "attribute %d is not known\n", static_cast<int>(which)); std::exit(1);
  }
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return cudaSuccess;
}

// The layout of the simulated GPU's tensor maps: tessera_tools/sim/tensor_map.py.
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  uint8_t *raw = reinterpret_cast<uint8_t *>(map);
  std::memset(raw, 0, sizeof(CUtensorMap));
  // The order of f64, bf16 and f32.ftz is that of PTX there.
  static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12, 13, 14, 15};
  std::memcpy(raw, "TSRA", 4);
  const uint8_t head[] = {0, types[type], static_cast<uint8_t>(rank), static_cast<uint8_t>(interleave),
                          static_cast<uint8_t>(swizzle), static_cast<uint8_t>(promotion), static_cast<uint8_t>(fill)};
  std::memcpy(raw + 4, head, sizeof head);
  put(raw, 16, reinterpret_cast<uint64_t>(address));
  std::memset(raw + 74, 1, 5);
  for (cuuint32_t i = 0; i < rank; ++i) {
    put(raw, 24 + 4 * i, static_cast<uint32_t>(dims[i] - 1));
    put(raw, 64 + 2 * i, static_cast<uint16_t>(box[i]));
    put(raw, 74 + i, static_cast<uint8_t>(element_strides[i]));
    if (i) std::memcpy(raw + 44 + 5 * (i - 1), &strides[i - 1], 5);
  }
  return CUDA_SUCCESS;
}

// Libraries that do not link with the driver ask for its functions.
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
  const bool known = !std::strcmp(name, "cuTensorMapEncodeTiled");
  *found = known ? reinterpret_cast<void *>(cuTensorMapEncodeTiled) : nullptr;
  if (result) *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return known ? cudaSuccess : cudaErrorNotSupported;
}
}
