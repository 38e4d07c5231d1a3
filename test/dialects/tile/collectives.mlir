// RUN: tessera-opt %s | tessera-opt | filecheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | filecheck %s

// CHECK: module attributes {tile.mesh = #tile.mesh<data = 2, x = 4, one = 1>}
module attributes {tile.mesh = #tile.mesh<data = 2, x = 4, one = 1>} {
  func.func @kernel(%A: memref<?x?xf16> {tile.dimensions = ["m", "_"]}, %D: memref<?x?xf16> {tile.dimensions = ["m", "n"]})
      attributes {tessera.kernel} {
    return
  }

  // CHECK-LABEL: func.func @host
  // CHECK-SAME:  {sharding = #tile.sharding<[{x}, {}]>}
  func.func @host(%A: memref<64x32xf16> {sharding = #tile.sharding<[{x}, {}]>}) attributes {tile.per_rank} {
    // CHECK-NEXT: %[[D:.+]] = tile.launch @kernel grid ["m / 16", 2](%{{.+}}) : (memref<64x32xf16>) -> memref<64x8xf16>
    %d = tile.launch @kernel grid ["m / 16", 2] (%A) : (memref<64x32xf16>) -> memref<64x8xf16>
    // CHECK-NEXT: tile.allreduce %[[D]] {mesh_axis = "x", reduction_kind = "max"} : memref<64x8xf16> -> memref<64x8xf16>
    %0 = tile.allreduce %d {mesh_axis = "x", reduction_kind = "max"} : memref<64x8xf16> -> memref<64x8xf16>
    // CHECK-NEXT: tile.allgather %[[D]] {dim = 1 : i64, mesh_axis = "x"} : memref<64x8xf16> -> memref<64x32xf16>
    %1 = tile.allgather %d {mesh_axis = "x", dim = 1 : i64} : memref<64x8xf16> -> memref<64x32xf16>
    // CHECK-NEXT: tile.reduce_scatter %[[D]] {dim = 0 : i64, implementation = "nccl", mesh_axis = "data", reduction_kind = "sum"} : memref<64x8xf16> -> memref<32x8xf16>
    %2 = tile.reduce_scatter %d {mesh_axis = "data", dim = 0 : i64, reduction_kind = "sum", implementation = "nccl"} : memref<64x8xf16> -> memref<32x8xf16>
    // CHECK-NEXT: tile.all_to_all %[[D]] {gather_dim = 1 : i64, mesh_axis = "x", split_dim = 0 : i64} : memref<64x8xf16> -> memref<16x32xf16>
    %3 = tile.all_to_all %d {mesh_axis = "x", split_dim = 0 : i64, gather_dim = 1 : i64} : memref<64x8xf16> -> memref<16x32xf16>
    // CHECK-NEXT: tile.all_slice %[[D]] {dim = 0 : i64, mesh_axis = "x"} : memref<64x8xf16> -> memref<16x8xf16>
    %4 = tile.all_slice %d {mesh_axis = "x", dim = 0 : i64} : memref<64x8xf16> -> memref<16x8xf16>
    return
  }
}
