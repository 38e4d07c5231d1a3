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

// Arguments of blocks have locations too, and so have ops in regions.
// BEFORE: ^next(%b: i32 loc("{{.*}}strip-debuginfo.mlir":
// CHECK: func.func @nested(%a: i32 loc(unknown), %c: i1 loc(unknown))
// CHECK-NEXT: cf.br ^next(%a : i32) loc(unknown)
// CHECK-NEXT: ^next(%b: i32 loc(unknown)):
// CHECK-NEXT: scf.if %c {
// CHECK-NEXT: arith.addi %b, %b : i32 loc(unknown)
// CHECK-NEXT: } loc(unknown)
// CHECK-NEXT: return loc(unknown)
// CHECK-NEXT: } loc(unknown)
func.func @nested(%a: i32, %c: i1) {
  cf.br ^next(%a : i32)
^next(%b: i32):
  scf.if %c {
    %0 = arith.addi %b, %b : i32
  }
  return
}
