// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  func.func @f(%arg0: i32) {
    cf.switch %arg0 : i32, [
      default: ^bb1,
      1: ^bb2(%arg0 : i32)
    ]
  ^bb1:  // pred: ^bb0
    cf.br ^bb2(%arg0 : i32)
  ^bb2(%0: i32):  // 3 preds: ^bb0, ^bb1, ^bb2
    %1 = arith.cmpi eq, %0, %arg0 : i32
    cf.assert %1, "hello \22x\22"
    cf.cond_br %1 weights([1, 2]), ^bb2(%0 : i32), ^bb3
  ^bb3:  // pred: ^bb2
    cf.switch %arg0 : i32, [
      default: ^bb4]
  ^bb4:  // pred: ^bb3
    cf.cond_br %1, ^bb5, ^bb6 {foo}
  ^bb5:  // pred: ^bb4
    return
  ^bb6:  // pred: ^bb4
    ub.unreachable
  }
  func.func private @g()
}
