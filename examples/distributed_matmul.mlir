// D = A B on two GPUs: A and B are cut along K, so that each multiplies a half and the halves are added.

module attributes {tile.mesh = #tile.mesh<tensor_parallel = 2>} {
  func.func @distributed_matmul(%A: memref<128x64xbf16> {sharding = "tensor_parallel"},
                                %B: memref<64x128xbf16>) -> memref<128x128xf32, 5> {
    %C = tile.alloc_register : memref<128x128xf32, 5>
    %result = tile.mma %A, %B, %C : memref<128x64xbf16>, memref<64x128xbf16>, memref<128x128xf32, 5> -> memref<128x128xf32, 5>
    return %result : memref<128x128xf32, 5>
  }
}
