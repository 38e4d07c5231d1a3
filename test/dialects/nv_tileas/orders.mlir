// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: func.func @turns
func.func @turns(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [8] warp_id = [0] {
    // CHECK: %[[O:.*]] = nv_tileas.async.pipeline.create_order groups = 2 barriers = [3, 4] : !nv_tileas.order_token
    %o = nv_tileas.async.pipeline.create_order groups = 2 barriers = [3, 4] : !nv_tileas.order_token
    scf.for %k = %c0 to %n step %c1 : i32 {
      // CHECK: nv_tileas.async.pipeline.order_wait %[[O]]
      nv_tileas.async.pipeline.order_wait %o
      // CHECK: nv_tileas.async.pipeline.order_arrive %[[O]]
      nv_tileas.async.pipeline.order_arrive %o
    }
    // A turn may go around the end of a loop.
    nv_tileas.async.pipeline.order_wait %o
    scf.for %k = %c0 to %n step %c1 : i32 {
      nv_tileas.async.pipeline.order_arrive %o
      nv_tileas.async.pipeline.order_wait %o
    }
    nv_tileas.async.pipeline.order_arrive %o
    // CHECK: nv_tileas.async.pipeline.create_order groups = 3 {required} : !nv_tileas.order_token
    %p = nv_tileas.async.pipeline.create_order groups = 3 {required} : !nv_tileas.order_token
  }
  return
}

// Agents take turns as well.  A branch may end a turn, if all of its blocks do.
// CHECK-LABEL: @agents
func.func @agents(%c: i1) {
  // CHECK: %[[O:.*]] = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.order_wait %o
    scf.if %c {
      // CHECK: nv_tileas.async.pipeline.order_arrive %[[O]]
      nv_tileas.async.pipeline.order_arrive %o
    } else {
      nv_tileas.async.pipeline.order_arrive %o
    }
  }, {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  return
}

// A turn may last until accesses are complete.
// CHECK-LABEL: @accesses
func.func @accesses(%t: !nv_tileaa.mem_token) {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.order_wait %o
    // CHECK: order_arrive %{{.*}} after %{{.*}}, %{{.*}} : !nv_tileaa.mem_token, !nv_tileaa.mem_token
    nv_tileas.async.pipeline.order_arrive %o after %t, %t : !nv_tileaa.mem_token, !nv_tileaa.mem_token
  }, {
    nv_tileas.async.pipeline.order_wait %o
    // CHECK: order_arrive %{{.*}} after %{{.*}} : !nv_tileaa.mem_token
    nv_tileas.async.pipeline.order_arrive %o after %t : !nv_tileaa.mem_token
  }
  return
}
