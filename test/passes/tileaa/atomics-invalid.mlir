// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_89 --verify-diagnostics
// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_90

entry @younger(%p: tile<ptr<bf16>>, %x: tile<bf16>) {
  // expected-error @below {{'cuda_tile.atomic_rmw_tko' op is not supported by convert-cuda-tile-to-tileaa in this version: atomic addition of bf16, which sm_89 does not support; it requires sm_90 or later}}
  %r, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<bf16>>, tile<bf16> -> tile<bf16>, token
  return
}
