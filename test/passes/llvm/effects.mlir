// RUN: tessera-opt %s --tileas-insert-barriers --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm -o %t
// RUN: filecheck %s --input-file %t
// REQUIRES: mlir-opt-22
// RUN: mlir-opt-22 %t -o %t.checked

#row = #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [0], [0]], warp = [], block = []}>
#spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>

// Texts are there once, and what the driver supplies is declared once.
// CHECK-DAG: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
// CHECK-DAG: llvm.func @malloc(i64) -> !llvm.ptr
// CHECK-DAG: llvm.func @free(!llvm.ptr)
// CHECK-DAG: llvm.mlir.global internal constant @{{text.*}}("x = %d, y = %f\0A\00") {addr_space = 1 : i32}
// CHECK-DAG: llvm.mlir.global internal constant @{{text.*}}("%s%lld\00")
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // Scalars in one call: i32 at 0, f64 at 8.
  // CHECK-LABEL: llvm.func @scalars
  // CHECK: %[[BUFFER:.+]] = llvm.alloca %{{.+}} x i8 {alignment = 8 : i64}
  // CHECK: llvm.icmp "eq" %{{.+}}, %{{.+}} : i32
  // CHECK: llvm.fpext %{{.+}} : f32 to f64
  // CHECK: llvm.store %{{.+}}, %[[BUFFER]] {alignment = 4 : i64} : i32, !llvm.ptr
  // CHECK: %[[AT:.+]] = llvm.getelementptr %[[BUFFER]][8] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: llvm.store %{{.+}}, %[[AT]] {alignment = 8 : i64} : f64, !llvm.ptr
  // CHECK: llvm.call @vprintf(%{{.+}}, %[[BUFFER]]) : (!llvm.ptr, !llvm.ptr) -> i32
  // CHECK-NOT: llvm.call
  nv_tileaa.func @scalars(%x: i32, %y: f32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %u = nv_tileaa.print "x = %d, y = %f\0A", %x, %y token %t : i32, f32 -> !nv_tileaa.mem_token
    %v = nv_tileaa.print "x = %d, y = %f\0A", %x, %y token %u : i32, f32 -> !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A tile by one thread, which has it from shared memory.
  // CHECK-LABEL: llvm.func @tile
  // CHECK: llvm.call @vprintf
  // CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 8 : i64} : i64, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<3> -> i64
  // CHECK: llvm.call @vprintf
  // CHECK: llvm.call @vprintf
  // CHECK-NOT: llvm.call
  nv_tileaa.func @tile(%x: i64) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %y = nv_tileaa.splat %x : i64 -> tensor<8xi64, #row>
    %u = nv_tileaa.print "x = %d\0A", %y token %t : tensor<8xi64, #row> -> !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Where all elements are true, one barrier tells so.
  // The size of a character of the texts is 1.
  // CHECK-LABEL: llvm.func @asserts
  // CHECK: %[[SIZE:.+]] = llvm.mlir.constant(1 : i64) : i64
  // CHECK: %[[FAILED:.+]] = nvvm.barrier #nvvm.reduction<or> %{{.+}} -> i32
  // CHECK: %[[ANY:.+]] = llvm.icmp "ne" %[[FAILED]], %{{.+}} : i32
  // CHECK: llvm.cond_br %[[ANY]]
  // CHECK: nvvm.barrier0
  // CHECK-DAG: llvm.call @vprintf
  // CHECK-DAG: llvm.call @__assertfail(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[SIZE]])
  nv_tileaa.func @asserts(%x: i1) attributes {nv_tileaa.kernel_spec = #spec} {
    %y = nv_tileaa.splat %x : i1 -> tensor<8xi1, #row>
    nv_tileaa.assert %y, "not so" : tensor<8xi1, #row>
    nv_tileaa.return
  }

  // CHECK-LABEL: llvm.func @memory
  // CHECK: %[[BYTES:.+]] = llvm.mlir.constant(320 : i64) : i64
  // CHECK: %[[FOUND:.+]] = llvm.call @malloc(%[[BYTES]]) : (i64) -> !llvm.ptr
  // CHECK: nvvm.barrier0
  // CHECK: %[[ADDRESS:.+]] = llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<3> -> i64
  // CHECK: llvm.and %{{.+}}, %{{.+}} : i64
  // CHECK-NOT: nvvm.barrier0
  // CHECK: llvm.intr.trap
  // CHECK: %[[GIVEN:.+]] = llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr
  // CHECK: llvm.call @free(%[[GIVEN]]) : (!llvm.ptr) -> ()
  nv_tileaa.func @memory() attributes {nv_tileaa.kernel_spec = #spec} {
    %p = nv_tileaa.heap_alloc {bytes = 256 : i64, alignment = 64 : i64} : !llvm.ptr<1>
    nv_tileaa.heap_free %p : !llvm.ptr<1>
    nv_tileaa.return
  }

  // CHECK-LABEL: llvm.func @grids
  // CHECK: nvvm.griddepcontrol wait
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  // CHECK: nvvm.griddepcontrol launch_dependents
  nv_tileaa.func @grids() attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %u = nv_tileaa.gdc_wait %t : !nv_tileaa.mem_token
    %v = nv_tileaa.fence_alias %u : !nv_tileaa.mem_token
    %w = nv_tileaa.gdc_launch_dependents %v : !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
