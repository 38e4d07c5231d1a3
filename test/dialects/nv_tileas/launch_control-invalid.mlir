// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileaa.func @k(%n: i32, %r: !nv_tileas.smem<1x8xi32>) {
  // expected-error @below {{has an operand of type !nv_tileas.smem<1x8xi32>; a response is !nv_tileas.smem<1x4xi32>}}
  %x = nv_tileas.canceled_program_id %r, %n, %n : !nv_tileas.smem<1x8xi32> -> i32
  nv_tileaa.return
}

// -----

nv_tileaa.func @k(%r: !nv_tileas.smem<1x4xi32>, %b: !nv_tileas.smem<2x1xi64>) {
  // expected-error @below {{has an operand of type !nv_tileas.smem<2x1xi64>; its mbarrier is !nv_tileas.smem<1x1xi64>}}
  nv_tileas.async.cancel_launch %r, %b : !nv_tileas.smem<1x4xi32>, !nv_tileas.smem<2x1xi64>
  nv_tileaa.return
}
