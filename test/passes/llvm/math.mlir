// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_80 --convert-tileaa-to-tileas \
// RUN:   --tileas-assign-layouts --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func @rounding(
entry @rounding(%p: tile<ptr<f32>>, %x: tile<f32>, %h: tile<f16>, %d: tile<f64>) {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.add.rz.f"
  %0 = addf %x, %x rounding<zero> : tile<f32>
  // A difference is the sum with the negative number.
  // CHECK: %[[N:.+]] = llvm.fneg
  // CHECK: llvm.call_intrinsic "llvm.nvvm.add.rn.ftz.f"(%{{.*}}, %[[N]])
  %1 = subf %0, %x flush_to_zero : tile<f32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mul.rp.d"
  %2 = mulf %d, %d rounding<positive_inf> : tile<f64>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"
  %3 = divf %x, %1 rounding<full> : tile<f32>
  // A narrow product is rounded the same way twice.
  // CHECK: llvm.fpext %{{.*}} : f16 to f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mul.rm.f"
  // CHECK: llvm.fptrunc %{{.*}} : f32 to f16
  // CHECK: llvm.fcmp "ogt"
  %4 = mulf %h, %h rounding<negative_inf> : tile<f16>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.fmax.ftz.nan.f"
  %5 = maxf %x, %3 flush_to_zero propagate_nan : tile<f32>
  // -0 is less than +0, which llvm.intr.maxnum does not promise.
  // CHECK: llvm.call_intrinsic "llvm.maximumnum"
  %6 = maxf %x, %5 : tile<f32>
  return
}

// The reduction of a large angle is behind a branch, that of an f16 never large.
// CHECK-LABEL: llvm.func @angles(
// CHECK: llvm.cond_br
// CHECK: llvm.intr.ctlz
// CHECK-LABEL: llvm.func @small_angles(
// CHECK-NOT: llvm.cond_br
entry @angles(%x: tile<f32>) {
  %0 = sin %x : tile<f32>
  return
}
entry @small_angles(%x: tile<f16>) {
  %0 = sin %x : tile<f16>
  return
}

// CHECK-LABEL: llvm.func @high(
entry @high(%x: tile<i32>) {
  // CHECK: llvm.zext %{{.*}} : i32 to i64
  // CHECK: llvm.mul %{{.*}} : i64
  // CHECK: llvm.lshr
  %0 = mulhii %x, %x : tile<i32>
  %1 = addi %0, %x : tile<i32>
  return
}
