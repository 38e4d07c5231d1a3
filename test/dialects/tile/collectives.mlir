// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK: module attributes {tile.mesh = #tile.mesh<data = 2, tensor_parallel = 4>}
module attributes {tile.mesh = #tile.mesh<data = 2, tensor_parallel = 4>} {
  func.func @kernel(%a: memref<?x?xf32> {tile.dimensions = ["m", "k"]}, %d: memref<?x?xf32> {tile.dimensions = ["m", "_"]}) attributes {tessera.kernel} {
    return
  }
  // CHECK: %arg0: memref<8x64xf32> {sharding = #tile.sharding<[{}, {tensor_parallel}]>}
  func.func @main(%arg0: memref<8x64xf32> {sharding = #tile.sharding<[{}, {tensor_parallel}]>}) attributes {tile.per_rank} {
    // CHECK: tile.launch @kernel grid ["m / 128", 2](%arg0) : (memref<8x64xf32>) -> memref<8x8xf32>
    %0 = tile.launch @kernel grid ["m / 128", 2] (%arg0) : (memref<8x64xf32>) -> memref<8x8xf32>
    // CHECK: tile.allreduce %{{.*}} {mesh_axis = "tensor_parallel", reduction_kind = "sum"} : memref<8x8xf32> -> memref<8x8xf32>
    %1 = tile.allreduce %0 {mesh_axis = "tensor_parallel", reduction_kind = "sum"} : memref<8x8xf32> -> memref<8x8xf32>
    // CHECK: tile.allgather %{{.*}} {dim = 0 : i64, mesh_axis = "data"} : memref<8x8xf32> -> memref<16x8xf32>
    %2 = tile.allgather %1 {dim = 0, mesh_axis = "data"} : memref<8x8xf32> -> memref<16x8xf32>
    // CHECK: tile.reduce_scatter %{{.*}} {dim = 1 : i64, mesh_axis = "tensor_parallel", reduction_kind = "max"} : memref<16x8xf32> -> memref<16x2xf32>
    %3 = tile.reduce_scatter %2 {dim = 1, mesh_axis = "tensor_parallel", reduction_kind = "max"} : memref<16x8xf32> -> memref<16x2xf32>
    // CHECK: tile.all_to_all %{{.*}} {gather_dim = 1 : i64, mesh_axis = "tensor_parallel", split_dim = 0 : i64} : memref<16x2xf32> -> memref<4x8xf32>
    %4 = tile.all_to_all %3 {split_dim = 0, gather_dim = 1, mesh_axis = "tensor_parallel"} : memref<16x2xf32> -> memref<4x8xf32>
    // CHECK: tile.all_slice %{{.*}} {dim = 1 : i64, mesh_axis = "data"} : memref<4x8xf32> -> memref<4x4xf32>
    %5 = tile.all_slice %4 {dim = 1, mesh_axis = "data"} : memref<4x8xf32> -> memref<4x4xf32>
    return
  }
}
