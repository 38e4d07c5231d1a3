// RUN: tessera-opt %s --tileas-insert-OCG-knobs --verify-diagnostics

// Which pragmas there are depends on the target.
// expected-note @+2 {{run --convert-cuda-tile-to-tileaa}}
// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.compute_capability'}}
module {
  llvm.func @f() {
    llvm.return
  }
}
