// RUN: tessera-translate %s --mlir-to-llvmir --gpu-name=sm_90a | filecheck %s

// The intrinsic says whether all threads of a warp arrive together.

llvm.func @barriers() attributes {nvvm.kernel} {
  // CHECK:      call void @llvm.nvvm.barrier.cluster.arrive()
  // CHECK-NEXT: call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  // CHECK-NEXT: call void @llvm.nvvm.barrier.cluster.arrive.relaxed()
  // CHECK-NEXT: call void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
  // CHECK-NEXT: call void @llvm.nvvm.barrier.cluster.wait()
  // CHECK-NEXT: call void @llvm.nvvm.barrier.cluster.wait.aligned()
  nvvm.cluster.arrive
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.arrive.relaxed
  nvvm.cluster.arrive.relaxed {aligned}
  nvvm.cluster.wait
  nvvm.cluster.wait {aligned}
  llvm.return
}
