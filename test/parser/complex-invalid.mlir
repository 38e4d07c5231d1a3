// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{parsed 1 elements, but type ('tensor<2xcomplex<i64>>') expected 2 elements}}
#pair = dense<0> : tensor<2xcomplex<i64>>

// -----

// expected-error @below {{parsed 3 elements, but type ('tensor<2xcomplex<i64>>') expected 4 elements}}
#pairs = dense<[0, (0, 1)]> : tensor<2xcomplex<i64>>
