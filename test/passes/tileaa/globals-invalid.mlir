// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa --split-input-file --verify-diagnostics

cuda_tile.module @one {
  // expected-note @below {{other definition is here}}
  global @x <i32: [7]> : tile<1xi32>
}
cuda_tile.module @two {
  // expected-error @below {{cannot be moved to the module, which already defines @x; rename one of them}}
  global @x <i32: [7]> : tile<1xi32>
}

// -----

cuda_tile.module @m {
  // expected-note @below {{other definition is here}}
  global @x <i32: [7]> : tile<1xi32>
}
// expected-error @below {{cannot be moved to the module, which already defines @x; rename one of them}}
entry @x() {
  return
}
