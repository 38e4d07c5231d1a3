// RUN: tessera-opt %s --split-input-file --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm -o %t
// RUN: filecheck %s --input-file %t

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // An f64 is rounded toward zero to f32, with the last bit set if anything was lost, and rounded from there.
  // CHECK-LABEL: llvm.func @odd
  nv_tileaa.func @odd(%x: f64, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.d2f.rz"(%x) : (f64) -> f32
    // CHECK: llvm.fcmp "one"
    // CHECK: %[[ODD:.*]] = llvm.or
    // CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
    %0 = arith.truncf %x : f64 to bf16
    %1 = arith.bitcast %0 : bf16 to i16
    llvm.store %1, %p : i16, !llvm.ptr<1>
    nv_tileaa.return
  }

  // Both roundings of LLVM are right.
  // CHECK-LABEL: llvm.func @plain
  nv_tileaa.func @plain(%x: f64, %y: f32, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // CHECK-NOT: llvm.or
    // CHECK: llvm.fptrunc %{{.*}} : f64 to f16
    %0 = arith.truncf %x : f64 to f16
    // CHECK-NOT: llvm.or
    // CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
    %1 = arith.truncf %y : f32 to bf16
    llvm.store %0, %p : f16, !llvm.ptr<1>
    llvm.store %1, %p : bf16, !llvm.ptr<1>
    // CHECK: llvm.return
    nv_tileaa.return
  }

  // An i4 is an i8 whose high bits are 0, an f8E4M3FN one of all bits.
  // CHECK-LABEL: llvm.func @narrow
  nv_tileaa.func @narrow(%x: i32, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // CHECK-DAG: %[[MASK:.*]] = llvm.mlir.constant(15 : i8) : i8
    // CHECK-DAG: %[[FOUR:.*]] = llvm.mlir.constant(4 : i8) : i8
    // CHECK: %[[CUT:.*]] = llvm.trunc %{{.*}} : i32 to i8
    // CHECK: %[[LOW:.*]] = llvm.and %[[CUT]], %[[MASK]] : i8
    %0 = arith.trunci %x : i32 to i4
    // CHECK: %[[UP:.*]] = llvm.shl %[[LOW]], %[[FOUR]] : i8
    // CHECK: %[[SIGNED:.*]] = llvm.ashr %[[UP]], %[[FOUR]] : i8
    // CHECK: llvm.sext %[[SIGNED]] : i8 to i32
    %1 = arith.extsi %0 : i4 to i32
    // CHECK: llvm.zext %[[LOW]] : i8 to i32
    %2 = arith.extui %0 : i4 to i32
    llvm.store %1, %p : i32, !llvm.ptr<1>
    llvm.store %2, %p : i32, !llvm.ptr<1>
    nv_tileaa.return
  }

  // CHECK-LABEL: llvm.func @addresses
  nv_tileaa.func @addresses(%x: i64, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // CHECK: llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
    %0 = nv_tileaa.int_to_ptr %x : i64 to !llvm.ptr<1>
    // CHECK: llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
    %1 = nv_tileaa.ptr_to_int %p : !llvm.ptr<1> to i64
    llvm.store %1, %0 : i64, !llvm.ptr<1>
    nv_tileaa.return
  }
}

// -----

// Of different elements, few are chosen among, and many read from an array.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK: llvm.mlir.global internal constant @constant(dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99]> : tensor<16xi16>)
  // CHECK-LABEL: llvm.func @literals
  nv_tileaa.func @literals() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %few = arith.constant dense<[1, 2]> : tensor<2xi32, #nv_tileas.linear<{register = [], lane = [[1], [0], [0], [0], [0]], warp = [], block = []}>>
    // CHECK: llvm.select
    %0 = arith.addi %few, %few : tensor<2xi32, #nv_tileas.linear<{register = [], lane = [[1], [0], [0], [0], [0]], warp = [], block = []}>>
    // CHECK: llvm.mlir.addressof @constant : !llvm.ptr<1>
    // CHECK: llvm.load
    %many = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99]> : tensor<16xi16, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [0]], warp = [], block = []}>>
    nv_tileaa.return
  }
}

// -----

// By the hardware's instructions where there are some, two at a time with 0 as the other.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // CHECK-LABEL: llvm.func @hardware
  nv_tileaa.func @hardware(%x: f32, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // CHECK: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%{{.*}}, %x) : (f32, f32) -> i16
    // CHECK: %[[CODE:.*]] = llvm.trunc %[[PAIR]] : i16 to i8
    %0 = nv_tileaa.truncf_satfinite %x : f32 to f8E4M3FN
    // CHECK: %[[BOTH:.*]] = llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"(%{{.*}}) : (i16) -> vector<2xf16>
    // CHECK: llvm.fpext %{{.*}} : f16 to f32
    %1 = arith.extf %0 : f8E4M3FN to f32
    // This target has no instruction for f4E2M1FN, and none rounds f8E4M3FN towards zero.
    // CHECK-NOT: call_intrinsic
    %2 = nv_tileaa.truncf_satfinite %x : f32 to f4E2M1FN
    %3 = nv_tileaa.truncf_satfinite %x toward_zero : f32 to f8E4M3FN
    %4 = arith.extf %2 : f4E2M1FN to f32
    llvm.store %1, %p : f32, !llvm.ptr<1>
    llvm.store %4, %p : f32, !llvm.ptr<1>
    nv_tileaa.return
  }
}

// -----

// Parameters of types that LLVM does not have are their bits.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK-LABEL: llvm.func @parameters
  // CHECK-SAME: (%a: i8, %b: f32, %c: i8, %p: !llvm.ptr<1>)
  nv_tileaa.func @parameters(%a: f8E4M3FN, %b: tf32, %c: i4, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %0 = arith.bitcast %a : f8E4M3FN to i8
    // CHECK: llvm.and %c, %{{.*}} : i8
    // CHECK: %[[BITS:.*]] = llvm.bitcast %b : f32 to i32
    // CHECK: llvm.and %[[BITS]], %{{.*}} : i32
    %1 = arith.extf %b : tf32 to f32
    %2 = arith.extui %c : i4 to i32
    // CHECK: llvm.store %a, %p : i8
    llvm.store %0, %p : i8, !llvm.ptr<1>
    llvm.store %1, %p : f32, !llvm.ptr<1>
    llvm.store %2, %p : i32, !llvm.ptr<1>
    nv_tileaa.return
  }
}
