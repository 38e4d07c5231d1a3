// What one exchange has made of a tensor serves every op behind it, also in branches, and as the start of another.
//
// RUN: tessera-opt %s --tile-collective-insertion | filecheck %s

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @twice
  // CHECK: %[[Q:.+]] = tile.mma
  // CHECK: %[[R:.+]] = tile.allreduce %[[Q]]
  // CHECK-NOT: tile.allreduce
  // CHECK: return %[[R]], %[[R]]
  func.func @twice(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {x}]>}, %B: memref<64x128xf16> {sharding = #tile.sharding<[{x}, {}]>}) -> (memref<128x128xf32, 5>, memref<128x128xf32, 5>) {
    %p = tile.mma %A, %B : memref<128x64xf16>, memref<64x128xf16> -> memref<128x128xf32, 5>
    return %p, %p : memref<128x128xf32, 5>, memref<128x128xf32, 5>
  }

  // The sum is exchanged once; a rank's part of it is cut from that.
  // CHECK-LABEL: func.func @whole_and_part
  // CHECK: %[[P:.+]] = tile.mma
  // CHECK: %[[S:.+]] = tile.allreduce %[[P]]
  // CHECK-NOT: tile.reduce_scatter
  // CHECK: %[[C:.+]] = tile.all_slice %[[S]]
  // CHECK: return %[[S]], %[[C]]
  func.func @whole_and_part(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {x}]>}, %B: memref<64x128xf16> {sharding = #tile.sharding<[{x}, {}]>}) -> (memref<128x128xf32, 5>, memref<128x128xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) {
    %p = tile.mma %A, %B : memref<128x64xf16>, memref<64x128xf16> -> memref<128x128xf32, 5>
    return %p, %p : memref<128x128xf32, 5>, memref<128x128xf32, 5>
  }
}
