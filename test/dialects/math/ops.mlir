// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  func.func @f(%arg0: f32, %arg1: vector<4xf32>, %arg2: i32, %arg3: vector<4xi32>, %arg4: tensor<?xf32>, %arg5: index) {
    %0 = math.absf %arg0 : f32
    %1 = math.absf %arg1 fastmath<fast> : vector<4xf32>
    %2 = math.absi %arg2 : i32
    %3 = math.atan2 %arg0, %arg0 fastmath<nnan> : f32
    %4 = math.fma %arg0, %arg0, %arg0 : f32
    %5 = math.fma %arg1, %arg1, %arg1 fastmath<contract> : vector<4xf32>
    %6 = math.fpowi %arg0, %arg2 : f32, i32
    %7 = math.fpowi %arg1, %arg3 fastmath<fast> : vector<4xf32>, vector<4xi32>
    %8 = math.ipowi %arg2, %arg2 : i32
    %9 = math.clampf %arg0 to [%arg0, %arg0] : f32
    %10 = math.clampf %arg0 to [%arg0, %arg0] fastmath<fast> : f32
    %11 = math.isnan %arg1 : vector<4xf32>
    %12 = math.isinf %arg0 : f32
    %sin, %cos = math.sincos %arg0 : f32
    %sin_0, %cos_1 = math.sincos %arg0 fastmath<fast> : f32
    %13 = math.ctlz %arg5 : index
    %14 = math.copysign %arg0, %arg0 : f32
    %15 = math.powf %arg4, %arg4 : tensor<?xf32>
    %16 = math.rsqrt %arg0 {foo} : f32
    %17 = math.erfc %arg0 : f32
    return
  }
}
