// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @offset(%t: !llvm.ptr<6>) {
  // expected-error @below {{'nvvm.tcgen05.ld' op has an offset with, and only with, shape_16x32bx2}}
  %0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32
  llvm.return
}

// -----

llvm.func @output_lanes(%t: !llvm.ptr<6>, %i: i32, %d: i64, %e: i1, %w: vector<8xi32>) {
  // expected-error @below {{'nvvm.tcgen05.mma' op Disable Output Lane of length 8 is incompatible with CtaGroupAttr}}
  nvvm.tcgen05.mma %t, %d, %d, %i, %e mask = %w {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<8xi32>)
  llvm.return
}

// -----

llvm.func @scaled_input(%t: !llvm.ptr<6>, %i: i32, %d: i64, %e: i1) {
  // expected-error @below {{'nvvm.tcgen05.mma' op scale-input-d needs kind f16 or tf32}}
  nvvm.tcgen05.mma %t, %d, %d, %i, %e scale = %d {kind = #nvvm.tcgen05_mma_kind<i8>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)
  llvm.return
}

// -----

llvm.func @shift(%t: !llvm.ptr<6>, %i: i32, %d: i64, %e: i1) {
  // expected-error @below {{'nvvm.tcgen05.mma.sp' op a shift of A needs A in tensor memory, and no fill or use of the collector buffer}}
  nvvm.tcgen05.mma.sp %t, %d, %d, %i, %e, %t {aShift, kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)
  llvm.return
}

// -----

llvm.func @block_of_sixteen(%t: !llvm.ptr<6>, %i: i32, %d: i64, %e: i1) {
  // expected-error @below {{'nvvm.tcgen05.mma.block_scale' op mxf8f6f4 and mxf4 kinds do not support block16 attribute}}
  nvvm.tcgen05.mma.block_scale %t, %d, %d, %i, %e, %t, %t {kind = #nvvm.block_scale_kind<mxf4>, ctaGroup = #nvvm.cta_group<cta_1>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)
  llvm.return
}

// -----

llvm.func @block_scale(%t: !llvm.ptr<6>, %i: i32, %d: i64, %e: i1) {
  // expected-error @below {{'nvvm.tcgen05.mma.block_scale' op mxf4nvf4 requires block scale attribute}}
  nvvm.tcgen05.mma.block_scale %t, %d, %d, %i, %e, %t, %t {kind = #nvvm.block_scale_kind<mxf4nvf4>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)
  llvm.return
}

// -----

llvm.func @narrow_copy(%t: !llvm.ptr<6>, %d: i64) {
  // expected-error @below {{'nvvm.tcgen05.cp' op Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op}}
  nvvm.tcgen05.cp %t, %d {shape = #nvvm.tcgen05_cp_shape<shape_64x128b>}
  llvm.return
}

// -----

llvm.func @half_copy(%t: !llvm.ptr<6>, %d: i64) {
  // expected-error @below {{'nvvm.tcgen05.cp' op Shape 32x128b requires multicast warpx4 for tcgen05.cp Op}}
  nvvm.tcgen05.cp %t, %d {shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
  llvm.return
}

// -----

llvm.func @copy_to_all(%t: !llvm.ptr<6>, %d: i64) {
  // expected-error @below {{'nvvm.tcgen05.cp' op Invalid multicast type for tcgen05.cp Op}}
  nvvm.tcgen05.cp %t, %d {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>, multicast = #nvvm.tcgen05_cp_multicast<warpx4>}
  llvm.return
}
