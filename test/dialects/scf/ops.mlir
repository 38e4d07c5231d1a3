// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module @m attributes {x.a = 1 : i32} {
  func.func @f(%arg0: index, %arg1: index, %arg2: index, %arg3: i32, %arg4: i1, %arg5: memref<4xf32>) -> i32 {
    %0 = scf.for %arg6 = %arg0 to %arg1 step %arg2 iter_args(%arg7 = %arg3) -> (i32) {
      scf.yield %arg7 : i32
    } {foo}
    scf.for %arg6 = %arg0 to %arg1 step %arg2 {
    }
    scf.for unsigned %arg6 = %arg3 to %arg3 step %arg3  : i32 {
    }
    %1:2 = scf.while (%arg6 = %arg3, %arg7 = %arg4) : (i32, i1) -> (i32, i1) {
      scf.condition(%arg4) %arg6, %arg7 : i32, i1
    } do {
    ^bb0(%arg6: i32, %arg7: i1):
      scf.yield %arg6, %arg7 : i32, i1
    }
    scf.while : () -> () {
      scf.condition(%arg4)
    } do {
      scf.yield
    } attributes {foo}
    scf.if %arg4 {
    }
    scf.if %arg4 {
    } else {
    } {foo}
    %2 = scf.if %arg4 -> (i32) {
      scf.yield %arg3 : i32
    } else {
      scf.yield %arg3 : i32
    }
    %3 = scf.execute_region -> i32 {
      cf.br ^bb1
    ^bb1:  // pred: ^bb0
      scf.yield %arg3 : i32
    }
    scf.execute_region {
      scf.yield
    }
    scf.execute_region no_inline {
      scf.yield
    } {foo}
    %4 = scf.index_switch %arg0 -> i32 
    case 1 {
      scf.yield %arg3 : i32
    }
    case -3 {
      scf.yield %arg3 : i32
    }
    default {
      scf.yield %arg3 : i32
    }
    scf.index_switch %arg0 {foo} 
    default {
    }
    %5 = scf.parallel (%arg6, %arg7) = (%arg0, %arg0) to (%arg1, %arg1) step (%arg2, %arg2) init (%arg3) -> i32 {
      scf.reduce(%arg3 : i32) {
      ^bb0(%arg8: i32, %arg9: i32):
        scf.reduce.return %arg8 : i32
      }
    }
    scf.parallel (%arg6) = (%arg0) to (%arg1) step (%arg2) {
      scf.reduce 
    }
    return %0 : i32
  }
  func.func @forall(%arg0: index, %arg1: index, %arg2: tensor<4xf32>, %arg3: memref<?xf32>) {
    scf.forall (%arg4) in (%arg1) {
      %1 = memref.load %arg3[%arg4] : memref<?xf32>
    }
    %0 = scf.forall (%arg4, %arg5) = (0, %arg0) to (8, %arg1) step (%arg0, 2) shared_outs(%arg6 = %arg2) -> (tensor<4xf32>) {
      scf.forall.in_parallel {
      }
    } {mapping = [#gpu.thread<x>, #gpu.thread<y>, #gpu.mask<3>]}
    scf.forall () in () {
    }
    scf.forall (%arg4, %arg5) in (4, %arg1) {
    } {mapping = [#gpu.block<x>, #gpu.block<y>]}
    return
  }
}
