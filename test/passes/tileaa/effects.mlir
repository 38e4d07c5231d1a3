// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_90 -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again
// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_80 | filecheck %s --check-prefix=OLD

// CHECK-LABEL: nv_tileaa.func @messages(
entry @messages(%x: tile<i32>, %h: tile<f16>, %ok: tile<i1>) {
  %y = constant <bf16: 1.5> : tile<4xbf16>
  // Floats narrower than f32 are printed as f32.
  // CHECK-DAG: %[[Y:.+]] = arith.extf %{{.*}} : tensor<4xbf16> to tensor<4xf32>
  // CHECK-DAG: %[[H:.+]] = arith.extf %h : f16 to f32
  // CHECK: %[[T:.+]] = nv_tileaa.print "%d %5.2f %g\0A", %x, %[[Y]], %[[H]] token %{{.*}} : i32, tensor<4xf32>, f32 -> !nv_tileaa.mem_token
  %t = print_tko "%d %5.2f %g\0A", %x, %y, %h : tile<i32>, tile<4xbf16>, tile<f16> -> token
  // CHECK: nv_tileaa.print "%u %x %i", %x, %x, %x
  %v = print_tko "%u %x %i", %x, %x, %x : tile<i32>, tile<i32>, tile<i32> -> token
  // As in C, a text ends at its first NUL.
  // CHECK: nv_tileaa.print "end" token %[[T]] -> !nv_tileaa.mem_token
  %u = print_tko "end\00 %d", %x token=%t : tile<i32> -> token
  // CHECK: nv_tileaa.assert %ok, "not ok" : i1
  assert %ok, "not ok" : tile<i1>
  return
}

// CHECK-LABEL: nv_tileaa.func @memory(
entry @memory() {
  // CHECK: nv_tileaa.heap_alloc {alignment = 128 : i64, bytes = 512 : i64} : !llvm.ptr<1>
  %p = alloca num_elem = 64, alignment = 128 : tile<ptr<f64>>
  // CHECK: nv_tileaa.heap_alloc {alignment = 1 : i64, bytes = 5 : i64} : !llvm.ptr<1>
  %q = alloca num_elem = 5, alignment = 1 global : tile<ptr<i1>>
  // There is always an address.
  // CHECK: nv_tileaa.heap_alloc {alignment = 4 : i64, bytes = 1 : i64} : !llvm.ptr<1>
  %r = alloca num_elem = 0, alignment = 4 : tile<ptr<f32>>
  return
}

// Before 9.0 a grid begins when those before it have ended: there is nothing to wait for.
// CHECK-LABEL: nv_tileaa.func @grids(
// OLD-LABEL: nv_tileaa.func @grids(
entry @grids() {
  // OLD-NOT: gdc
  // CHECK: nv_tileaa.gdc_wait
  %t = gdc_wait_tko -> token
  // CHECK: nv_tileaa.gdc_launch_dependents
  %u = gdc_launch_dependents_tko token = %t -> token
  // CHECK: nv_tileaa.fence_alias
  // OLD: nv_tileaa.fence_alias
  %v = memory_fence_alias_tko %u
  return
}
