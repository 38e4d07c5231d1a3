// RUN: tessera-opt %s --split-input-file | filecheck %s
// RUN: not tessera-opt %s 2>&1 | filecheck %s --check-prefix=WHOLE

// WHOLE: split-input-file.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}redefinition of symbol named 'f'

// CHECK: func.func private @f()
// CHECK: // -----
// CHECK: func.func private @f()
func.func private @f()
// -----
func.func private @f()
