// RUN: tessera-opt %s --tileas-prepare-for-scheduling --verify-diagnostics
// RUN: not tessera-opt %s --tileas-prepare-for-scheduling=steps=fuse 2>&1 | filecheck %s
// CHECK: error: {{.*}}option steps has 'fuse'; the steps of tileas-prepare-for-scheduling are decomposeTiledLoadStoreView, refineVecSizeOfAtoms, sliceAndFuse, runCanonicalizer, compactMemLayout, refreshBoxDim

// expected-note @+2 {{run --convert-cuda-tile-to-tileaa}}
// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.compute_capability'}}
module {
  nv_tileaa.func @target() {
    nv_tileaa.return
  }
}
