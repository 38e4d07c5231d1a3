// RUN: tessera-translate --mlir-to-llvmir --gpu-name=sm_80 %S/../../../examples/gemm.mlir | filecheck %s

// The copies of a tile whose rows are a run-time stride apart: in the loop, each address follows from the one before it.
// Addresses without the loop's index would be hoisted, and each would take two registers throughout the loop.

// CHECK: call void @llvm.nvvm.cp.async.wait.group(i32 2)
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[A:[0-9]+]],
// CHECK: %[[NEXT_A:[0-9]+]] = getelementptr i8, ptr addrspace(1) %[[A]], i64 %{{[0-9]+}}
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[NEXT_A]],
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[B:[0-9]+]],
// CHECK: %[[NEXT_B:[0-9]+]] = getelementptr i8, ptr addrspace(1) %[[B]], i64 %{{[0-9]+}}
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[NEXT_B]],
