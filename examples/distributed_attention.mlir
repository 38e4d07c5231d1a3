// Causal attention of 4 heads on two GPUs, each of which has half of the keys and values. Every GPU attends to its own half;
// then the halves are combined by the maxima and sums of their rows, and each GPU has the result for half of the queries.

module attributes {tile.mesh = #tile.mesh<sequence = 2>} {
  func.func @attention(%Q: memref<4x128x64xf16>,
                       %K: memref<4x128x64xf16> {sharding = #tile.sharding<[{}, {sequence}, {}]>},
                       %V: memref<4x128x64xf16> {sharding = #tile.sharding<[{}, {sequence}, {}]>})
      -> (memref<4x128x64xf16> {sharding = #tile.sharding<[{}, {sequence}, {}]>}) {
    %O = tile.flash_attention %Q, %K, %V {causal}
        : (memref<4x128x64xf16>, memref<4x128x64xf16>, memref<4x128x64xf16>) -> memref<4x128x64xf16>
    return %O : memref<4x128x64xf16>
  }
}
