// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  func.func @f(%arg0: f32, %arg1: f32, %arg2: i32, %arg3: i32, %arg4: vector<4xi32>, %arg5: i1, %arg6: index, %arg7: tensor<4xf32>) -> (f32 {x.y = 1 : i32}, i32) {
    %0 = arith.addf %arg0, %arg1 : f32
    %1 = arith.addf %arg0, %arg1 fastmath<nnan,contract> : f32
    %2 = arith.addi %arg2, %arg3 overflow<nsw, nuw> : i32
    %3 = arith.addi %arg2, %arg3 {foo} : i32
    %4 = arith.cmpi slt, %arg2, %arg3 : i32
    %5 = arith.cmpf olt, %arg0, %arg1 fastmath<fast> : f32
    %c1_i32 = arith.constant 1 : i32
    %true = arith.constant true
    %cst = arith.constant {foo = 1 : i32} dense<1> : vector<4xi32>
    %sum, %overflow = arith.addui_extended %arg2, %arg3 : i32, i1
    %low, %high = arith.mulsi_extended %arg2, %arg3 : i32
    %6 = arith.truncf %arg0 to_nearest_away fastmath<fast> : f32 to f16
    %7 = arith.extf %6 fastmath<fast> : f16 to f32
    %8 = arith.index_cast %arg6 : index to i32
    %9 = arith.select %arg5, %arg0, %arg1 : f32
    %cst_0 = arith.constant dense<true> : vector<4xi1>
    %10 = arith.select %cst_0, %arg4, %arg4 : vector<4xi1>, vector<4xi32>
    %11 = arith.trunci %arg2 overflow<nsw> : i32 to i8
    %12 = arith.divsi %arg2, %arg3 exact : i32
    %13 = arith.shrui %arg2, %arg3 exact : i32
    %14 = arith.extui %11 : i8 to i32
    %15 = arith.uitofp %arg2 : i32 to f32
    %16 = arith.index_castui %arg2 : i32 to index
    %17 = arith.select %arg5, %arg7, %arg7 : tensor<4xf32>
    return %0, %arg2 : f32, i32
  }
  func.func @every_integer_op(%arg0: vector<4xi32>, %arg1: vector<4xi32>, %arg2: index) {
    %0 = arith.subi %arg0, %arg1 : vector<4xi32>
    %1 = arith.muli %arg0, %arg1 overflow<nsw> : vector<4xi32>
    %2 = arith.divui %arg0, %arg1 : vector<4xi32>
    %3 = arith.ceildivsi %arg2, %arg2 : index
    %4 = arith.ceildivui %arg2, %arg2 : index
    %5 = arith.floordivsi %arg2, %arg2 : index
    %6 = arith.remsi %arg0, %arg1 : vector<4xi32>
    %7 = arith.remui %arg0, %arg1 : vector<4xi32>
    %8 = arith.andi %arg0, %arg1 : vector<4xi32>
    %9 = arith.ori %arg0, %arg1 : vector<4xi32>
    %10 = arith.xori %arg0, %arg1 : vector<4xi32>
    %11 = arith.shli %arg0, %arg1 overflow<nsw, nuw> : vector<4xi32>
    %12 = arith.shrsi %arg0, %arg1 : vector<4xi32>
    %13 = arith.maxsi %arg0, %arg1 : vector<4xi32>
    %14 = arith.maxui %arg0, %arg1 : vector<4xi32>
    %15 = arith.minsi %arg0, %arg1 : vector<4xi32>
    %16 = arith.minui %arg0, %arg1 : vector<4xi32>
    %low, %high = arith.mului_extended %arg0, %arg1 : vector<4xi32>
    %17 = arith.cmpi uge, %arg0, %arg1 {foo} : vector<4xi32>
    return
  }
  func.func @every_float_op(%arg0: f32, %arg1: f32, %arg2: tensor<?xf64>, %arg3: f8E8M0FNU, %arg4: f4E2M1FN) {
    %0 = arith.subf %arg0, %arg1 : f32
    %1 = arith.mulf %arg0, %arg1 fastmath<reassoc,nnan,ninf,nsz,arcp,contract> : f32
    %2 = arith.divf %arg2, %arg2 : tensor<?xf64>
    %3 = arith.remf %arg0, %arg1 : f32
    %4 = arith.negf %arg0 : f32
    %5 = arith.maximumf %arg0, %arg1 : f32
    %6 = arith.minimumf %arg0, %arg1 : f32
    %7 = arith.maxnumf %arg0, %arg1 : f32
    %8 = arith.minnumf %arg0, %arg1 : f32
    %9 = arith.cmpf uno, %arg0, %arg1 : f32
    %10 = arith.cmpf true, %arg0, %arg1 : f32
    %11 = arith.fptosi %arg0 : f32 to i32
    %12 = arith.fptoui %arg0 : f32 to i8
    %13 = arith.bitcast %arg0 : f32 to i32
    %14 = arith.sitofp %11 : i32 to bf16
    %15 = arith.extsi %12 : i8 to i32
    %16 = arith.truncf %arg0 : f32 to f16
    %17 = arith.scaling_extf %arg4, %arg3 : f4E2M1FN, f8E8M0FNU to f16
    %18 = arith.scaling_truncf %arg0, %arg3 fastmath<fast> : f32, f8E8M0FNU to f4E2M1FN
    %cst = arith.constant 0x7FC00000 : f32
    %cst_0 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
    %c-1 = arith.constant -1 : index
    return
  }
}
