// RUN: tessera-opt %s | filecheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | filecheck %s

// CHECK-LABEL: llvm.func @sparse
llvm.func @sparse(%a: vector<2xf16>, %meta: i32, %selector: i32) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)> {
  // CHECK: nvvm.mma.sp.sync A[%a, %a] B[%a, %a] C[%a, %a] sparseMetadata[%meta] selector[%selector]
  // CHECK-SAME: {shape = #nvvm.shape<m = 16, n = 8, k = 16>}
  %0 = nvvm.mma.sp.sync A[%a, %a] B[%a, %a] C[%a, %a] sparseMetadata[%meta] selector[%selector]
    {shape = #nvvm.shape<m = 16, n = 8, k = 16>}
    : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return %0 : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
}

// CHECK-LABEL: llvm.func @scoped
llvm.func @scoped() {
  // CHECK: llvm.intr.experimental.noalias.scope.decl #llvm.alias_scope<id = distinct[0]<>, domain = <id = distinct[1]<>>>
  llvm.intr.experimental.noalias.scope.decl #llvm.alias_scope<id = distinct[0]<>, domain = <id = distinct[1]<>>>
  llvm.return
}

// CHECK-LABEL: llvm.func @scaled
llvm.func @scaled(%i: i32, %f: f32, %z: i16) {
  // CHECK: nvvm.mma.block_scale A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f] scaleA[%i, %z, %z] scaleB[%i, %z, %z]
  // CHECK-SAME: blockScaleFormat = #nvvm.block_scale_format<ue8m0>
  %0 = nvvm.mma.block_scale A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f] scaleA[%i, %z, %z] scaleB[%i, %z, %z]
    {shape = #nvvm.shape<m = 16, n = 8, k = 32>, multiplicandAPtxType = #nvvm.mma_type<e4m3>,
     multiplicandBPtxType = #nvvm.mma_type<e4m3>, scaleVecSize = #nvvm.scale_vec_size<x1>,
     blockScaleFormat = #nvvm.block_scale_format<ue8m0>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  // CHECK: nvvm.mma.sp.block_scale A[%i, %i, %i, %i] B[%i, %i, %i, %i] C[%f, %f, %f, %f] sparseMetadata[%i] selector[%i]
  // CHECK-SAME: scaleA[%i, %z, %z] scaleB[%i, %z, %z]
  %1 = nvvm.mma.sp.block_scale A[%i, %i, %i, %i] B[%i, %i, %i, %i] C[%f, %f, %f, %f] sparseMetadata[%i] selector[%i]
    scaleA[%i, %z, %z] scaleB[%i, %z, %z]
    {shape = #nvvm.shape<m = 16, n = 8, k = 64>, multiplicandAPtxType = #nvvm.mma_type<e4m3>,
     multiplicandBPtxType = #nvvm.mma_type<e4m3>, scaleVecSize = #nvvm.scale_vec_size<x1>,
     blockScaleFormat = #nvvm.block_scale_format<ue8m0>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}
