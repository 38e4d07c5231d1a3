// RUN: tessera-opt %s --tileas-insert-barriers --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm -o %t
// RUN: filecheck %s --input-file %t
// REQUIRES: mlir-opt-22
// RUN: mlir-opt-22 %t -o %t.checked

#wide = #nv_tileas.linear<{register = [[64]], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []}>
#lanes = #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [0], [0]], warp = [[8]], block = []}>
#warps = #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [0]], warp = [[0]], block = []}>
#twice = #nv_tileas.linear<{register = [[0], [64]], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []}>
#spec = #nv_tileaa.kernel_spec<num_warps = 2, cluster = [1, 1, 1]>

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // Every thread has elements of its own: no condition, no exchange.
  // CHECK-LABEL: llvm.func @own
  // CHECK-COUNT-4: llvm.inline_asm has_side_effects "atom.acq_rel.sys.global.max.s32 $0, [$1], $2;", "=r,l,r,~{memory}" %{{.+}}, %{{.+}} : (!llvm.ptr<1>, i32) -> i32
  // CHECK-NOT: inline_asm
  // CHECK-NOT: shfl
  // CHECK-NOT: ptr<3>
  // CHECK: llvm.return
  nv_tileaa.func @own(%a: !llvm.ptr<1>, %v: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %p = nv_tileaa.splat %a : !llvm.ptr<1> -> tensor<128x!llvm.ptr<1>, #wide>
    %x = nv_tileaa.splat %v : i32 -> tensor<128xi32, #wide>
    %r, %u = nv_tileaa.atomic_rmw max acq_rel sys %p, %x, %t : tensor<128x!llvm.ptr<1>, #wide>, tensor<128xi32, #wide>, !nv_tileaa.mem_token
    %s, %w = nv_tileaa.atomic_rmw max acq_rel sys %p, %r, %u : tensor<128x!llvm.ptr<1>, #wide>, tensor<128xi32, #wide>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Nobody wants to know what was there: a reduction.
  // CHECK-LABEL: llvm.func @forgotten
  // CHECK-COUNT-2: llvm.inline_asm has_side_effects "red.release.cta.global.add.noftz.bf16 [$0], $1;", "l,h,~{memory}" %{{.+}}, %{{.+}} : (!llvm.ptr<1>, i16) -> ()
  nv_tileaa.func @forgotten(%a: !llvm.ptr<1>, %v: bf16) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %p = nv_tileaa.splat %a : !llvm.ptr<1> -> tensor<128x!llvm.ptr<1>, #wide>
    %x = nv_tileaa.splat %v : bf16 -> tensor<128xbf16, #wide>
    %r, %u = nv_tileaa.atomic_rmw addf release cta %p, %x, %t : tensor<128x!llvm.ptr<1>, #wide>, tensor<128xbf16, #wide>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // So is every operation but an exchange, and none that acquires.
  // CHECK-LABEL: llvm.func @each_forgotten
  // CHECK: red.relaxed.gpu.global.and.b32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.or.b32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.xor.b32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.add.u32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.max.s32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.min.s32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.max.u32 [$0], $1;"
  // CHECK: red.relaxed.gpu.global.min.u32 [$0], $1;"
  // CHECK: atom.relaxed.gpu.global.exch.b32
  // CHECK: atom.acquire.gpu.global.add.u32
  // CHECK: atom.acq_rel.gpu.global.add.u32
  // CHECK: red.release.gpu.global.add.u32
  nv_tileaa.func @each_forgotten(%a: !llvm.ptr<1>, %v: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %r0, %u0 = nv_tileaa.atomic_rmw and relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r1, %u1 = nv_tileaa.atomic_rmw or relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r2, %u2 = nv_tileaa.atomic_rmw xor relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r3, %u3 = nv_tileaa.atomic_rmw add relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r4, %u4 = nv_tileaa.atomic_rmw max relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r5, %u5 = nv_tileaa.atomic_rmw min relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r6, %u6 = nv_tileaa.atomic_rmw umax relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r7, %u7 = nv_tileaa.atomic_rmw umin relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r8, %u8 = nv_tileaa.atomic_rmw xchg relaxed gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r9, %u9 = nv_tileaa.atomic_rmw add acquire gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r10, %u10 = nv_tileaa.atomic_rmw add acq_rel gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    %r11, %u11 = nv_tileaa.atomic_rmw add release gpu %a, %v, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Lanes 0 to 7 do it and tell the others, who hold the same elements.
  // CHECK-LABEL: llvm.func @by_lanes
  // CHECK: %[[FIRST:.+]] = llvm.icmp "eq" %{{.+}}, %{{.+}} : i32
  // CHECK: llvm.inline_asm has_side_effects "@$3 atom.relaxed.gpu.global.exch.b64 $0, [$1], $2;", "=l,l,l,b,0,~{memory}" %{{.+}}, %{{.+}}, %[[FIRST]], %{{.+}} : (!llvm.ptr<1>, i64, i1, i64) -> i64
  // CHECK-COUNT-2: nvvm.shfl.sync idx
  // CHECK-NOT: barrier0
  // CHECK: "@$3 atom.relaxed
  nv_tileaa.func @by_lanes(%a: !llvm.ptr<1>, %v: f64) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %p = nv_tileaa.splat %a : !llvm.ptr<1> -> tensor<16x!llvm.ptr<1>, #lanes>
    %x = nv_tileaa.splat %v : f64 -> tensor<16xf64, #lanes>
    %r, %u = nv_tileaa.atomic_rmw xchg relaxed gpu %p, %x, %t : tensor<16x!llvm.ptr<1>, #lanes>, tensor<16xf64, #lanes>, !nv_tileaa.mem_token
    %s, %w = nv_tileaa.atomic_rmw xchg relaxed gpu %p, %r, %t : tensor<16x!llvm.ptr<1>, #lanes>, tensor<16xf64, #lanes>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Other warps are told through shared memory.
  // CHECK-LABEL: llvm.func @by_warps
  // CHECK: "@$4 atom.acquire.gpu.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,b,0,~{memory}"
  // CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK: llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  nv_tileaa.func @by_warps(%a: !llvm.ptr<1>, %v: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %p = nv_tileaa.splat %a : !llvm.ptr<1> -> tensor<16x!llvm.ptr<1>, #warps>
    %x = nv_tileaa.splat %v : i32 -> tensor<16xi32, #warps>
    %r, %u = nv_tileaa.atomic_cas acquire gpu %p, %x, %x, %t : tensor<16x!llvm.ptr<1>, #warps>, tensor<16xi32, #warps>, !nv_tileaa.mem_token
    %s, %w = nv_tileaa.atomic_rmw add relaxed gpu %p, %r, %u : tensor<16x!llvm.ptr<1>, #warps>, tensor<16xi32, #warps>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A register that repeats another's element does nothing.
  // CHECK-LABEL: llvm.func @by_registers
  // CHECK-COUNT-2: "red.relaxed.gpu.global.add.u32 [$0], $1;"
  // CHECK-NOT: red.relaxed
  nv_tileaa.func @by_registers(%a: !llvm.ptr<1>, %v: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %p = nv_tileaa.splat %a : !llvm.ptr<1> -> tensor<128x!llvm.ptr<1>, #twice>
    %x = nv_tileaa.splat %v : i32 -> tensor<128xi32, #twice>
    %r, %u = nv_tileaa.atomic_rmw add relaxed gpu %p, %x, %t : tensor<128x!llvm.ptr<1>, #twice>, tensor<128xi32, #twice>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
