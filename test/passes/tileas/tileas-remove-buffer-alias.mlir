// RUN: tessera-opt %s --tileas-remove-buffer-alias --split-input-file --verify-diagnostics -o %t
// RUN: filecheck %s --input-file %t

!smem = !nv_tileas.smem<2x64x64xf16>
!tile = tensor<64x64xf16>

// Two buffers change places in a loop: they are the stages of one, which has the greater alignment.
// CHECK-LABEL: nv_tileaa.func @swap
// CHECK: %[[M:.*]] = nv_tileas.alloc_tensor {nv_tileas.alignment = 1024 : i64} : !nv_tileas.smem<4x64x64xf16>
// CHECK-NOT: alloc_tensor
// CHECK-DAG: %[[A:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[B:.*]] = arith.constant 2 : i32
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %x, %[[C:.*]] = %{{.*}}, %[[N:.*]] = %[[B]]) -> (tensor<64x64xf16>, i32, i32)
// CHECK: %[[S:.*]] = arith.addi %o, %[[N]] : i32
// CHECK: nv_tileas.store %{{.*}}, %[[M]][%[[S]]]
// CHECK: %[[L:.*]] = arith.addi %o, %[[C]] : i32
// CHECK: nv_tileas.load %[[M]][%[[L]]]
// CHECK: scf.yield %{{.*}}, %[[N]], %[[C]] : tensor<64x64xf16>, i32, i32
nv_tileaa.func @swap(%n: i32, %x: !tile) -> (!tile) {
  %z = arith.constant 0 : i32
  %o = arith.constant 1 : i32
  %a = nv_tileas.alloc_tensor : !smem
  %b = nv_tileas.alloc_tensor {nv_tileas.alignment = 1024 : i64} : !smem
  %r, %p, %q = scf.for %i = %z to %n step %o iter_args(%t = %x, %cur = %a, %next = %b) -> (!tile, !smem, !smem) : i32 {
    nv_tileas.store %t, %next[%o] {atom = #cute.copy_atom<sm80_sts_16_f16>} : !tile, !smem
    %l = nv_tileas.load %cur[%o] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_16_f16>} : !smem -> !tile
    scf.yield %l, %next, %cur : !tile, !smem, !smem
  }
  nv_tileaa.return %r : !tile
}

// Through a branch and a selection; a buffer that has one name keeps it.
// CHECK-LABEL: nv_tileaa.func @choices
// CHECK: nv_tileas.alloc_tensor : !nv_tileas.smem<6x64x64xf16>
// CHECK: %[[O:.*]] = nv_tileas.alloc_tensor : !nv_tileas.smem<2x64x64xf16>
// CHECK: %[[I:.*]] = scf.if %c -> (i32)
// CHECK: %[[S:.*]] = arith.select %c, %{{.*}}, %[[I]] : i32
// CHECK: arith.addi %z, %[[S]]
// CHECK: nv_tileas.load %[[O]][%z]
nv_tileaa.func @choices(%c: i1) -> (!tile, !tile) {
  %z = arith.constant 0 : i32
  %a = nv_tileas.alloc_tensor : !smem
  %b = nv_tileas.alloc_tensor : !smem
  %d = nv_tileas.alloc_tensor : !smem
  %other = nv_tileas.alloc_tensor : !smem
  %i = scf.if %c -> (!smem) {
    scf.yield %b : !smem
  } else {
    scf.yield %d : !smem
  }
  %s = arith.select %c, %a, %i : !smem
  %l = nv_tileas.load %s[%z] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_16_f16>} : !smem -> !tile
  %m = nv_tileas.load %other[%z] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_16_f16>} : !smem -> !tile
  nv_tileaa.return %l, %m : !tile, !tile
}

// -----

!smem = !nv_tileas.smem<1x64x64xf16>

nv_tileaa.func @while(%c: i1) {
  %a = nv_tileas.alloc_tensor : !smem
  // expected-error @below {{Yielded alias not implemented yet}}
  %r = scf.while (%x = %a) : (!smem) -> !smem {
    scf.condition(%c) %x : !smem
  } do {
  ^bb0(%y: !smem):
    scf.yield %y : !smem
  }
  nv_tileaa.return
}

// -----

!smem = !nv_tileas.smem<1x64x64xf16>

// expected-error @below {{RemoveBufferAlias: not supported operation type: 'nv_tileaa.func' gives a buffer that has another name}}
nv_tileaa.func @argument(%c: i1, %b: !smem) {
  %a = nv_tileas.alloc_tensor : !smem
  %s = arith.select %c, %a, %b : !smem
  nv_tileaa.return
}

// -----

!smem = !nv_tileas.smem<1x64x64xf16>

nv_tileaa.func @stage(%c: i1, %x: tensor<64x64xf32>) {
  %a = nv_tileas.alloc_tensor : !smem
  %b = nv_tileas.alloc_tensor : !smem
  %s = arith.select %c, %a, %b : !smem
  // expected-error @below {{RemoveBufferAlias: not supported operation type: 'nv_tileas.async.dot' has no stage number, and its buffer has another name}}
  %d = nv_tileas.async.dot %s, %s, %x {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1>} : !smem, !smem, tensor<64x64xf32>
  nv_tileaa.return
}
