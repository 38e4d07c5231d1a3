// RUN: tessera-opt %s --symbol-dce | filecheck %s
// RUN: not tessera-opt %s --pass-pipeline='builtin.module(func.func(symbol-dce))' 2>&1 | filecheck %s --check-prefix=ERROR

// ERROR: symbol-dce.mlir:{{[0-9]+}}:1: error: 'func.func' op was scheduled to run under SymbolDCE

// CHECK-NOT: @dead
// CHECK: @live
// CHECK-NOT: @dead
// CHECK: @listed
// CHECK: @nested
// CHECK: @public
// CHECK-NOT: @only_by_dead
// CHECK-NOT: @dead_user
// CHECK-NOT: @recursive
// CHECK: module @visible
// CHECK: @inside
// CHECK-NOT: module @hidden
func.func private @dead()
func.func private @live()
func.func private @listed()
func.func private @nested()
func.func @public() attributes {test.list = [1, @listed], test.entries = {one = {two = [[@nested]]}}} {
  call @live() : () -> ()
  return
}
func.func private @only_by_dead()
func.func private @dead_user() {
  call @only_by_dead() : () -> ()
  return
}
func.func private @recursive() {
  call @recursive() : () -> ()
  return
}
module @visible {
  func.func @inside() {
    return
  }
}
module @hidden attributes {sym_visibility = "private"} {
  func.func @inside() {
    return
  }
}
