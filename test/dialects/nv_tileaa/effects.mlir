// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: nv_tileaa.func @k
nv_tileaa.func @k(%x: i32, %y: tensor<4x8xf32>, %ok: tensor<8xi1>, %t: !nv_tileaa.mem_token) {
  // CHECK: %[[P:.+]] = nv_tileaa.heap_alloc {alignment = 16 : i64, bytes = 256 : i64} : !llvm.ptr<1>
  %p = nv_tileaa.heap_alloc {bytes = 256 : i64, alignment = 16 : i64} : !llvm.ptr<1>
  // CHECK: nv_tileaa.print "%d: %5.2f of 100%%\0A", %{{.*}}, %{{.*}} token %{{.*}} : i32, tensor<4x8xf32> -> !nv_tileaa.mem_token
  %t1 = nv_tileaa.print "%d: %5.2f of 100%%\0A", %x, %y token %t : i32, tensor<4x8xf32> -> !nv_tileaa.mem_token
  // CHECK: nv_tileaa.print "done" token
  %t2 = nv_tileaa.print "done" token %t1 -> !nv_tileaa.mem_token
  // CHECK: nv_tileaa.assert %{{.*}}, "out of range" : tensor<8xi1>
  nv_tileaa.assert %ok, "out of range" : tensor<8xi1>
  // CHECK: nv_tileaa.gdc_wait %{{.*}} : !nv_tileaa.mem_token
  %t3 = nv_tileaa.gdc_wait %t2 : !nv_tileaa.mem_token
  // CHECK: nv_tileaa.gdc_launch_dependents %{{.*}} : !nv_tileaa.mem_token
  %t4 = nv_tileaa.gdc_launch_dependents %t3 : !nv_tileaa.mem_token
  // CHECK: nv_tileaa.fence_alias %{{.*}} : !nv_tileaa.mem_token
  %t5 = nv_tileaa.fence_alias %t4 : !nv_tileaa.mem_token
  // CHECK: nv_tileaa.heap_free %[[P]] : !llvm.ptr<1>
  nv_tileaa.heap_free %p : !llvm.ptr<1>
  nv_tileaa.return
}
