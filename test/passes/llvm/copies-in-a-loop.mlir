// RUN: tessera-translate --mlir-to-llvmir --gpu-name=sm_80 %S/../../corpus/gemm_f16_128x256x64.mlir | filecheck %s

// The rows of both tiles are a run-time stride apart. Each thread makes four copies of the tile of A: their addresses
// without the loop's index are hoisted. It makes eight copies of the tile of B: hoisted addresses would take 16
// registers throughout the loop, so each address follows from the one before it.

// CHECK: call void @llvm.nvvm.cp.async.wait.group(i32 1)
// CHECK: %[[A0:[0-9]+]] = getelementptr i8, ptr addrspace(1) %{{[0-9]+}}, i64 %[[STEP:[0-9]+]]
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[A0]],
// CHECK: %[[A1:[0-9]+]] = getelementptr i8, ptr addrspace(1) %{{[0-9]+}}, i64 %[[STEP]]
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[A1]],
// CHECK-COUNT-2: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[B0:[0-9]+]],
// CHECK: %[[B1:[0-9]+]] = getelementptr i8, ptr addrspace(1) %[[B0]], i64 %[[ROWS:[0-9]+]]
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[B1]],
// CHECK: %[[B2:[0-9]+]] = getelementptr i8, ptr addrspace(1) %[[B1]], i64 %[[ROWS]]
// CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %{{[0-9]+}}, ptr addrspace(1) %[[B2]],
// CHECK-COUNT-5: call void @llvm.nvvm.cp.async.cg.shared.global.16.s(
// CHECK: call void @llvm.nvvm.cp.async.commit.group()
