// RUN: tessera-opt %s --cse --canonicalize='max-iterations=3' --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s
// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(cse))' --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=NESTED

// CHECK: Pass Manager with 2 passes:
// CHECK-NEXT: builtin.module(
// CHECK-NEXT:   cse,
// CHECK-NEXT:   canonicalize{max-iterations=3 max-num-rewrites=-1 region-simplify=normal test-convergence=false top-down=true}
// CHECK-NEXT: )

// NESTED: builtin.module(
// NESTED-NEXT:   func.func(
// NESTED-NEXT:     cse
// NESTED-NEXT:   )
// NESTED-NEXT: )
func.func private @f()
