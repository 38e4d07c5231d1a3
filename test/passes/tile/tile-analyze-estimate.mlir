// RUN: tessera-opt %S/../../../examples/softmax.mlir --pass-pipeline='builtin.module(tile-analyze{compile=false})' -o %t 2>&1 | filecheck %s
// RUN: tessera-opt %S/../../../examples/softmax.mlir --tile-analyze -o %t 2>&1 | filecheck %s --check-prefix=COMPILED

// CHECK: registers per thread {{ +}}54 {{ +}}estimated: on the examples, ptxas takes up to 12 more or fewer for sm_80, and 12 for sm_90a; 34 of fragments
// COMPILED: registers per thread {{ +}}64 {{ +}}by ptxas; 34 of fragments
