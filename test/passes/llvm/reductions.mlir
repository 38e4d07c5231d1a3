// RUN: tessera-opt %s --tileas-insert-barriers --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm | filecheck %s

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // Three additions of registers, a butterfly for each lane bit, then one word of each warp through shared memory.
  // CHECK-LABEL: llvm.func @row
  // CHECK-COUNT-3: llvm.fadd
  // CHECK-NEXT: llvm.bitcast
  // CHECK-NEXT: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[ONE:.*]], %{{.*}} : i32 -> i32
  // CHECK-NEXT: llvm.bitcast
  // CHECK-NEXT: llvm.fadd
  // CHECK-COUNT-4: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK: llvm.cond_br
  // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK-NOT: nvvm.barrier0
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK-COUNT-3: llvm.fadd
  // CHECK-NOT: llvm.fadd
  // CHECK: llvm.return
  nv_tileaa.func @row(%v: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : f32 -> tensor<1x512xf32, #nv_tileas.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128], [0, 256]], block = []}>>
    %0 = nv_tileaa.reduce %x axis = 1 identities = [0.0 : f32] : tensor<1x512xf32, #nv_tileas.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128], [0, 256]], block = []}>> -> tensor<1xf32, #nv_tileas.linear<{register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []}>> {
    ^bb0(%a: f32, %e: f32):
      %s = arith.addf %e, %a : f32
      nv_tileaa.yield %s : f32
    }
    nv_tileaa.return
  }

  // Four bytes share the word of a shuffle.
  // CHECK-LABEL: llvm.func @bytes
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK-NOT: nvvm.barrier0
  // CHECK: llvm.return
  nv_tileaa.func @bytes(%v: i8) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i8 -> tensor<4x32xi8, #nv_tileas.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]], block = []}>>
    %0 = nv_tileaa.reduce %x axis = 1 identities = [1 : i8] : tensor<4x32xi8, #nv_tileas.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]], block = []}>> -> tensor<4xi8, #nv_tileas.linear<{register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []}>> {
    ^bb0(%a: i8, %e: i8):
      %s = arith.muli %e, %a : i8
      nv_tileaa.yield %s : i8
    }
    nv_tileaa.return
  }

  // Where the order of the operands counts, both lanes of a pair take the same one.
  // CHECK-LABEL: llvm.func @ordered
  // CHECK: %[[OTHER:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[OWN:.*]], %{{.*}}, %{{.*}} : i32 -> i32
  // CHECK: %[[LATER:.*]] = llvm.select %[[FLAG:.*]], %[[OWN]], %[[OTHER]] : i1, i32
  // CHECK: %[[EARLIER:.*]] = llvm.select %[[FLAG]], %[[OTHER]], %[[OWN]] : i1, i32
  // CHECK: llvm.sub %[[LATER]], %[[EARLIER]]
  nv_tileaa.func @ordered(%v: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i32 -> tensor<64xi32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []}>>
    %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<64xi32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []}>> -> i32 {
    ^bb0(%a: i32, %e: i32):
      %s = arith.subi %e, %a : i32
      nv_tileaa.yield %s : i32
    }
    nv_tileaa.return
  }

  // redux.sync takes all lanes at once, of integers.
  // CHECK-LABEL: llvm.func @integers
  // CHECK-NOT: nvvm.shfl
  // CHECK: %[[SMALL:.*]] = llvm.sext %{{.*}} : i8 to i32
  // CHECK-NEXT: nvvm.redux.sync  max %[[SMALL]], %{{.*}} : i32 -> i32
  // CHECK-NOT: nvvm.shfl
  // CHECK: llvm.return
  nv_tileaa.func @integers(%v: i8) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i8 -> tensor<4x32xi8, #nv_tileas.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]], block = []}>>
    %0 = nv_tileaa.reduce %x axis = 1 identities = [0 : i8] : tensor<4x32xi8, #nv_tileas.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]], block = []}>> -> tensor<4xi8, #nv_tileas.linear<{register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []}>> {
    ^bb0(%a: i8, %e: i8):
      %s = arith.maxsi %e, %a : i8
      nv_tileaa.yield %s : i8
    }
    nv_tileaa.return
  }

  // Registers, then for each lane bit a shuffle from the last lane of the block before, then one from the lane before.
  // CHECK-LABEL: llvm.func @prefix
  // CHECK-COUNT-6: nvvm.shfl.sync idx
  // CHECK-NOT: nvvm.shfl
  // CHECK: llvm.return
  nv_tileaa.func @prefix(%v: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i32 -> tensor<64xi32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []}>>
    %0 = nv_tileaa.scan %x axis = 0 identities = [0 : i32] : tensor<64xi32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []}>> -> tensor<64xi32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []}>> {
    ^bb0(%a: i32, %e: i32):
      %s = arith.addi %e, %a : i32
      nv_tileaa.yield %s : i32
    }
    nv_tileaa.return
  }
}
