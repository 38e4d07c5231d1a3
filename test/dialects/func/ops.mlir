// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  func.func private @declared(i32, f32 {a.b}) -> (i32 {a.c})
  func.func nested @many(%arg0: i32 {x.y = 1 : i32}, %arg1: f32) -> (i32, f32) {
    return %arg0, %arg1 : i32, f32
  }
  func.func public @attributes() attributes {no_inline, x.z = "text"} {
    return
  }
  func.func @calls(%arg0: i32, %arg1: f32) -> i32 attributes {llvm.emit_c_interface} {
    %0:2 = call @many(%arg0, %arg1) : (i32, f32) -> (i32, f32)
    %f = constant @many : (i32, f32) -> (i32, f32)
    %1:2 = call_indirect %f(%0#0, %0#1) : (i32, f32) -> (i32, f32)
    call @attributes() {foo} : () -> ()
    return %1#0 : i32
  }
  func.func @function_value(%arg0: () -> i32) -> (() -> i32) {
    return %arg0 : () -> i32
  }
  func.func @"needs quotes"() {
    return
  }
}
