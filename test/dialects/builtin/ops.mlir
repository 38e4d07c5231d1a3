// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module @named attributes {x.a = 1 : i32} {
  module {
  }
  func.func @casts(%arg0: i32, %arg1: f32) {
    %0 = builtin.unrealized_conversion_cast %arg0 : i32 to i64
    %1:2 = builtin.unrealized_conversion_cast %arg0, %arg1 : i32, f32 to i64, f64 {foo}
    %2 = builtin.unrealized_conversion_cast to i32
    return
  }
}
