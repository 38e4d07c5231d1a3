// RUN: tessera-opt %s --tileas-insert-OCG-knobs -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --tileas-insert-OCG-knobs | diff %t -
// RUN: tessera-translate %t --mlir-to-ptx --gpu-name=sm_100a | filecheck %s --check-prefix=PTX
// RUN: sed -e 's/= 100/= 90/' -e 's/sm_100a/sm_90a/' %s | tessera-opt --tileas-insert-OCG-knobs | filecheck %s --check-prefix=HOPPER

module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  // A function with products has the knob of products at its entry, on some targets.
  // CHECK-LABEL: llvm.func @product
  // CHECK-NEXT: llvm.inline_asm has_side_effects ".pragma \22global knob SchedResBusyXU64=1\22;\0A", ""
  // CHECK: nvvm.mma.sync
  // PTX: .entry product
  // PTX: .pragma "global knob SchedResBusyXU64=1";
  // PTX: mma.sync
  // HOPPER-LABEL: llvm.func @product
  // HOPPER-NOT: SchedResBusyXU64
  llvm.func @product(%a: i32, %c: f32, %p: !llvm.ptr) attributes {nvvm.kernel} {
    %0 = llvm.bitcast %a : i32 to vector<2xf16>
    %d = nvvm.mma.sync A[%0, %0] B[%0] C[%c, %c, %c, %c] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %e = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store %e, %p : f32, !llvm.ptr
    llvm.return
  }

  // Each fence and each op on an mbarrier has the knob of fences; nothing else has.
  // CHECK-LABEL: llvm.func @fences
  // CHECK-NOT: SchedResBusyXU64
  // CHECK: llvm.inline_asm has_side_effects ".pragma \22next knob FenceCode\22;\0A", ""
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK-NEXT: llvm.inline_asm has_side_effects ".pragma \22next knob FenceCode\22;\0A", ""
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: llvm.return
  // PTX: .entry fences
  // PTX: .pragma "next knob FenceCode";
  // PTX: mbarrier.init
  // PTX: .pragma "next knob FenceCode";
  // PTX: fence.mbarrier_init
  llvm.func @fences(%b: !llvm.ptr<3>) attributes {nvvm.kernel} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    nvvm.mbarrier.init %b, %1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.barrier0
    llvm.return
  }
}
