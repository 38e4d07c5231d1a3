// RUN: tessera-opt %s --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=BEFORE
// RUN: tessera-opt %s --strip-debuginfo --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s

// BEFORE: strip-debuginfo.mlir":
// CHECK-NOT: strip-debuginfo.mlir
// CHECK: func.func @f(
// CHECK: arith.addi {{.*}} loc(unknown)
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  return %0 : i32
}
