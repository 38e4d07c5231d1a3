// Flags of fast math: afn chooses the hardware's approximations, the others are passed to LLVM.
//
// RUN: tessera-opt %s --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm | filecheck %s
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 | filecheck %s --check-prefix PTX

// CHECK-LABEL: llvm.func @approximate
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.sin.approx.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.cos.approx.f"
// CHECK: llvm.intr.tanh({{.*}}) {fastmathFlags = #llvm.fastmath<afn>}
// CHECK: llvm.fdiv {{.*}} {fastmathFlags = #llvm.fastmath<afn>}
// CHECK: llvm.intr.sqrt({{.*}}) {fastmathFlags = #llvm.fastmath<afn>}
// PTX-LABEL: .entry approximate
// PTX: ex2.approx.f32
// PTX: lg2.approx.f32
// PTX: lg2.approx.f32
// PTX: sin.approx.f32
// PTX: cos.approx.f32
// PTX: tanh.approx.f32
// PTX: div.approx.f32
// PTX: sqrt.approx.f32
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @approximate(%x: f32, %p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %0 = math.exp %x fastmath<afn> : f32
    %1 = math.log %0 fastmath<afn> : f32
    %2 = math.log2 %1 fastmath<fast> : f32
    %3 = math.sin %2 fastmath<afn> : f32
    %4 = math.cos %3 fastmath<afn> : f32
    %5 = math.tanh %4 fastmath<afn> : f32
    %6 = arith.divf %x, %5 fastmath<afn> : f32
    %7 = math.sqrt %6 fastmath<afn> : f32
    %t7 = nv_tileaa.print "%f", %7 token %t : f32 -> !nv_tileaa.mem_token
    nv_tileaa.return
  }

// Without the flag, and in f64, there is no approximation.
// CHECK-LABEL: llvm.func @exact
// CHECK-NOT: approx
// PTX-LABEL: .entry exact
// PTX-NOT: approx
// PTX: div.rn.f32
// PTX-NOT: approx
// PTX: .entry flags
  nv_tileaa.func @exact(%x: f32, %d: f64) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %0 = math.log %x fastmath<contract> : f32
    %1 = math.exp %d fastmath<afn> : f64
    %2 = arith.divf %x, %0 : f32
    %t2 = nv_tileaa.print "%f", %2 token %t : f32 -> !nv_tileaa.mem_token
    %t1 = nv_tileaa.print "%f", %1 token %t : f64 -> !nv_tileaa.mem_token
    nv_tileaa.return
  }

// CHECK-LABEL: llvm.func @flags
// CHECK: llvm.fmul {{.*}} {fastmathFlags = #llvm.fastmath<contract>}
// CHECK: llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<contract, reassoc>}
// CHECK: llvm.fcmp "olt" {{.*}} {fastmathFlags = #llvm.fastmath<nnan>}
// CHECK: llvm.call_intrinsic "llvm.maximumnum"({{.*}}) {{.*}}#llvm.fastmath<ninf, nsz>
  nv_tileaa.func @flags(%x: f32, %y: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %0 = arith.mulf %x, %y fastmath<contract> : f32
    %1 = arith.addf %0, %y fastmath<reassoc,contract> : f32
    %2 = arith.cmpf olt, %1, %x fastmath<nnan> : f32
    %3 = arith.maxnumf %1, %x fastmath<ninf,nsz> : f32
    %4 = arith.select %2, %3, %x : f32
    %t4 = nv_tileaa.print "%f", %4 token %t : f32 -> !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
