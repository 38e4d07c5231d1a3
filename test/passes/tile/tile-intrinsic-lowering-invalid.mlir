// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @shape(%a: memref<64x64xf16, 3>, %b: memref<64x64xf16, 3>) {
  // expected-error@+1 {{names the instruction "mma.sync.aligned.m16n8k16"; expected one that begins with "wgmma.mma_async.sync.aligned.m64n"}}
  %0 = tile.wgmma %a, %b {intrinsic = "mma.sync.aligned.m16n8k16"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<8x4xf32, 5>
  return
}

// -----

func.func @box(%A: memref<?x?xf16>, %s: memref<64x64xf16, 3>) {
  // expected-error@+1 {{has tile_size [64, 48], which does not divide memref<64x64xf16, 3>}}
  tile.tma_load %A, %s {tile_size = array<i64: 64, 48>} : memref<?x?xf16>, memref<64x64xf16, 3>
  return
}

// -----

func.func @rows(%A: memref<?x?xf16>, %s: memref<64x64xf16, 3>) {
  // expected-error@+1 {{has a box of [64, 4] elements: its rows must have a multiple of 16 bytes}}
  tile.tma_load %A, %s {tile_size = array<i64: 64, 4>} : memref<?x?xf16>, memref<64x64xf16, 3>
  return
}

// -----

func.func @long(%A: memref<?x?xf16>, %s: memref<512x64xf16, 3>) {
  // expected-error@+1 {{has a box of [512, 64] elements: an axis has at most 256}}
  tile.tma_load %A, %s : memref<?x?xf16>, memref<512x64xf16, 3>
  return
}

// -----

func.func @level(%A: memref<?x?xf16>, %s: memref<64x64xf16, 3>) {
  // expected-error@+1 {{has cache_level "L1"; cp.async.cg caches in "L2" only}}
  tile.cp_async_cg %A, %s {cache_level = "L1"} : memref<?x?xf16>, memref<64x64xf16, 3>
  return
}
