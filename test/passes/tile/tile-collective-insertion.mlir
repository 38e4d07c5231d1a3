// RUN: tessera-opt %s --split-input-file --tile-collective-insertion | filecheck %s
// RUN: tessera-opt %s --split-input-file --tile-collective-insertion --tile-collective-insertion | filecheck %s

// Summands on every rank, and the result wanted whole.

module attributes {tile.mesh = #tile.mesh<tensor_parallel = 4>} {
  // CHECK-LABEL: func.func @summands
  // CHECK-SAME:  (%[[A:.+]]: memref<128x16xf16> {sharding = #tile.sharding<[{}, {tensor_parallel}]>},
  // CHECK-SAME:   %[[B:.+]]: memref<16x32xf16> {sharding = #tile.sharding<[{tensor_parallel}, {}]>}) -> memref<128x32xf32, 5>
  // CHECK-SAME:  attributes {tile.per_rank}
  // CHECK-NEXT:  %[[D:.+]] = tile.mma %[[A]], %[[B]] : memref<128x16xf16>, memref<16x32xf16> -> memref<128x32xf32, 5>
  // CHECK-NEXT:  %[[SUM:.+]] = tile.allreduce %[[D]] {implementation = "nccl", mesh_axis = "tensor_parallel", reduction_kind = "sum"} : memref<128x32xf32, 5> -> memref<128x32xf32, 5>
  // CHECK-NEXT:  return %[[SUM]]
  func.func @summands(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {tensor_parallel}]>},
                      %B: memref<64x32xf16> {sharding = #tile.sharding<[{tensor_parallel}, {}]>}) -> memref<128x32xf32, 5> {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// The result wanted cut: the sum is scattered.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @scattered
  // CHECK:       %[[D:.+]] = tile.mma
  // CHECK-NEXT:  %[[PART:.+]] = tile.reduce_scatter %[[D]] {dim = 1 : i64, implementation = "nccl", mesh_axis = "x", reduction_kind = "sum"} : memref<128x32xf32, 5> -> memref<128x8xf32, 5>
  // CHECK-NEXT:  return %[[PART]] : memref<128x8xf32, 5>
  func.func @scattered(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {x}]>},
                       %B: memref<64x32xf16> {sharding = #tile.sharding<[{x}, {}]>})
      -> (memref<128x32xf32, 5> {sharding = #tile.sharding<[{}, {x}]>}) {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// Rows cut along one axis, columns along another: nothing is exchanged.

module attributes {tile.mesh = #tile.mesh<x = 2, y = 4>} {
  // CHECK-LABEL: func.func @rows_and_columns
  // CHECK-SAME:  memref<64x64xf16>
  // CHECK-SAME:  memref<64x8xf16>
  // CHECK-NEXT:  %[[D:.+]] = tile.mma %{{.+}}, %{{.+}} : memref<64x64xf16>, memref<64x8xf16> -> memref<64x8xf32, 5>
  // CHECK-NEXT:  return %[[D]]
  func.func @rows_and_columns(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>},
                              %B: memref<64x32xf16> {sharding = #tile.sharding<[{}, {y}]>})
      -> (memref<128x32xf32, 5> {sharding = #tile.sharding<[{x}, {y}]>}) {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// K of one operand cut, and the product smaller than that operand: the other is cut on the spot, the product reduced.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @small_product
  // CHECK-NEXT:  %[[PART:.+]] = tile.all_slice %{{.+}} {dim = 0 : i64, mesh_axis = "x"} : memref<4096x32xf16> -> memref<1024x32xf16>
  // CHECK-NEXT:  %[[D:.+]] = tile.mma %{{.+}}, %[[PART]] : memref<32x1024xf16>, memref<1024x32xf16>
  // CHECK-NEXT:  tile.allreduce %[[D]]
  func.func @small_product(%A: memref<32x4096xf16> {sharding = #tile.sharding<[{}, {x}]>}, %B: memref<4096x32xf16>)
      -> memref<32x32xf32, 5> {
    %d = tile.mma %A, %B : memref<32x4096xf16>, memref<4096x32xf16> -> memref<32x32xf32, 5>
    return %d : memref<32x32xf32, 5>
  }
}

// -----

// The product larger than the operand: that one is gathered.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @large_product
  // CHECK-NEXT:  %[[WHOLE:.+]] = tile.allgather %{{.+}} {dim = 1 : i64, implementation = "nccl", mesh_axis = "x"} : memref<128x8xf16> -> memref<128x32xf16>
  // CHECK-NEXT:  %[[D:.+]] = tile.mma %[[WHOLE]], %{{.+}} : memref<128x32xf16>, memref<32x128xf16>
  // CHECK-NEXT:  return %[[D]]
  func.func @large_product(%A: memref<128x32xf16> {sharding = #tile.sharding<[{}, {x}]>}, %B: memref<32x128xf16>)
      -> memref<128x128xf32, 5> {
    %d = tile.mma %A, %B : memref<128x32xf16>, memref<32x128xf16> -> memref<128x128xf32, 5>
    return %d : memref<128x128xf32, 5>
  }
}

// -----

// What is added to the product is added once: with summands on every rank it would be added by each.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @added_once
  // CHECK:       tile.allgather %{{.+}} {dim = 1 : i64
  // CHECK:       tile.allgather %{{.+}} {dim = 0 : i64
  // CHECK:       tile.mma %{{.+}}, %{{.+}}, %{{.+}} : memref<128x64xf16>, memref<64x32xf16>, memref<128x32xf32, 5>
  // CHECK-NOT:   tile.allreduce
  func.func @added_once(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {x}]>},
                        %B: memref<64x32xf16> {sharding = #tile.sharding<[{x}, {}]>}) -> memref<128x32xf32, 5> {
    %one = arith.constant 1.0 : f32
    %c = tile.alloc_register : memref<128x32xf32, 5>
    tile.fill %c, %one : memref<128x32xf32, 5>
    %d = tile.mma %A, %B, %c : memref<128x64xf16>, memref<64x32xf16>, memref<128x32xf32, 5> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// A buffer that only this product uses is made as large as a rank's part.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @own_part
  // CHECK:       %[[C:.+]] = tile.alloc_register : memref<32x32xf32, 5>
  // CHECK:       tile.mma %{{.+}}, %{{.+}}, %[[C]] : memref<32x64xf16>, memref<64x32xf16>, memref<32x32xf32, 5>
  func.func @own_part(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<64x32xf16>)
      -> (memref<128x32xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) {
    %c = tile.alloc_register : memref<128x32xf32, 5>
    %d = tile.mma %A, %B, %c : memref<128x64xf16>, memref<64x32xf16>, memref<128x32xf32, 5> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// Cut one way, wanted cut another.

module attributes {tile.mesh = #tile.mesh<x = 2>} {
  // CHECK-LABEL: func.func @turned
  // CHECK:       %[[D:.+]] = tile.mma
  // CHECK-NEXT:  tile.all_to_all %[[D]] {gather_dim = 0 : i64, implementation = "nccl", mesh_axis = "x", split_dim = 1 : i64} : memref<64x32xf32, 5> -> memref<128x16xf32, 5>
  func.func @turned(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<64x32xf16>)
      -> (memref<128x32xf32, 5> {sharding = #tile.sharding<[{}, {x}]>}) {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// Across calls: a function takes its arguments as its caller has them, and what it says of its results holds there.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func private @inner
  // CHECK-SAME:  memref<32x64xf16> {sharding = #tile.sharding<[{x}, {}]>}
  // CHECK-SAME:  -> (memref<32x32xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) attributes {tile.per_rank}
  func.func private @inner(%A: memref<128x64xf16>, %B: memref<64x32xf16>) -> memref<128x32xf32, 5> {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }

  // CHECK-LABEL: func.func @outer
  // CHECK:       %[[D:.+]] = call @inner(%{{.+}}, %{{.+}}) : (memref<32x64xf16>, memref<64x32xf16>) -> memref<32x32xf32, 5>
  // CHECK-NEXT:  %[[WHOLE:.+]] = tile.allgather %[[D]] {dim = 0
  // CHECK-NEXT:  return %[[WHOLE]]
  func.func @outer(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<64x32xf16>)
      -> memref<128x32xf32, 5> {
    %d = func.call @inner(%A, %B) : (memref<128x64xf16>, memref<64x32xf16>) -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// Kernels are cut along the dimensions that they name; elementwise ops everywhere; extents are asked for of the whole.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @gemm(%A: memref<?x?xf16> {tile.dimensions = ["m", "k"]}, %B: memref<?x?xf16> {tile.dimensions = ["k", "n"]},
                  %D: memref<?x?xf32> {tile.dimensions = ["m", "n"]}) attributes {tessera.kernel} {
    return
  }

  // CHECK-LABEL: func.func @launched
  // CHECK:       %[[D:.+]] = tile.launch @gemm grid ["m / 64", "n / 64"](%{{.+}}, %{{.+}}) : (memref<128x64xf16>, memref<64x32xf16>) -> memref<128x32xf32>
  // CHECK-NEXT:  tile.allreduce %[[D]]
  func.func @launched(%A: memref<128x256xf16> {sharding = #tile.sharding<[{}, {x}]>},
                      %B: memref<256x32xf16> {sharding = #tile.sharding<[{x}, {}]>}) -> memref<128x32xf32> {
    %d = tile.launch @gemm grid ["m / 64", "n / 64"] (%A, %B) : (memref<128x256xf16>, memref<256x32xf16>) -> memref<128x32xf32>
    return %d : memref<128x32xf32>
  }

  // CHECK-LABEL: func.func @elementwise
  // CHECK:       %[[D:.+]] = tile.mma
  // CHECK-NEXT:  %[[E:.+]] = tile.add %[[D]], %[[D]] : memref<32x32xf32, 5>
  // CHECK-NEXT:  return %[[E]]
  func.func @elementwise(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<64x32xf16>)
      -> (memref<128x32xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    %e = tile.add %d, %d : memref<128x32xf32, 5>, memref<128x32xf32, 5> -> memref<128x32xf32, 5>
    return %e : memref<128x32xf32, 5>
  }

  // CHECK-LABEL: func.func @extent
  // CHECK:       %[[PART:.+]] = memref.dim
  // CHECK:       %[[FOUR:.+]] = arith.constant 4 : index
  // CHECK-NEXT:  %[[ALL:.+]] = arith.muli %[[PART]], %[[FOUR]] : index
  // CHECK-NEXT:  return %[[ALL]]
  func.func @extent(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}) -> index {
    %c0 = arith.constant 0 : index
    %extent = memref.dim %A, %c0 : memref<128x64xf16>
    return %extent : index
  }
}

// -----

// Nothing is cut: nothing changes, not even with a mesh.

// CHECK:       module attributes {tile.mesh = #tile.mesh<x = 4>} {
module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @whole
  // CHECK-NOT:   tile.per_rank
  // CHECK-NEXT:  tile.mma
  // CHECK-NEXT:  return
  func.func @whole(%A: memref<128x64xf16>, %B: memref<64x32xf16>) -> memref<128x32xf32, 5> {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf32, 5>
    return %d : memref<128x32xf32, 5>
  }
}

// -----

// Attention: what is cut of batch, heads and queries is cut of the result.  Of keys every rank has a part of attention,
// and parts are combined by the maxima and sums of their rows.

// CHECK:       module attributes {tile.mesh = #tile.mesh<x = 4>} {
module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @heads
  // CHECK-NEXT:  %[[O:.+]] = tile.flash_attention %Q, %K, %V {causal} : (memref<2x64x16xf16>, memref<2x64x16xf16>, memref<2x64x16xf16>) -> memref<2x64x16xf16>
  // CHECK-NEXT:  return %[[O]]
  func.func @heads(%Q: memref<8x64x16xf16> {sharding = #tile.sharding<[{x}, {}, {}]>},
                   %K: memref<8x64x16xf16> {sharding = #tile.sharding<[{x}, {}, {}]>},
                   %V: memref<8x64x16xf16> {sharding = #tile.sharding<[{x}, {}, {}]>})
      -> (memref<8x64x16xf16> {sharding = #tile.sharding<[{x}, {}, {}]>}) {
    %O = tile.flash_attention %Q, %K, %V {causal}
        : (memref<8x64x16xf16>, memref<8x64x16xf16>, memref<8x64x16xf16>) -> memref<8x64x16xf16>
    return %O : memref<8x64x16xf16>
  }

  // A causal mask compares the positions of a part.

  // CHECK-LABEL: func.func @queries
  // CHECK-NEXT:  %[[ALL:.+]] = tile.iota : memref<64xi32>
  // CHECK-NEXT:  %[[OWN:.+]] = tile.all_slice %[[ALL]] {dim = 0 : i64, mesh_axis = "x"} : memref<64xi32> -> memref<16xi32>
  // CHECK-NEXT:  %[[O:.+]] = tile.flash_attention %Q, %K, %V at %[[OWN]], %[[ALL]] {causal}
  // CHECK-NEXT:  return %[[O]]
  func.func @queries(%Q: memref<64x16xf16> {sharding = #tile.sharding<[{x}, {}]>}, %K: memref<64x16xf16>,
                     %V: memref<64x16xf16>) -> (memref<64x16xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    %O = tile.flash_attention %Q, %K, %V {causal}
        : (memref<64x16xf16>, memref<64x16xf16>, memref<64x16xf16>) -> memref<64x16xf16>
    return %O : memref<64x16xf16>
  }

  // As the passes' description names the axis: along the keys, over which attention sums; the result is scattered.

  // CHECK-LABEL: func.func @keys
  // CHECK-SAME:  %K: memref<16x16xf16> {sharding = #tile.sharding<[{x}, {}]>}
  // CHECK-NEXT:  %[[P:.+]]:3 = tile.flash_attention %Q, %K, %V {scale = 5.000000e-01 : f32} : (memref<64x16xf16>, memref<16x16xf16>, memref<16x16xf16>) -> (memref<64x16xf32>, memref<64xf32>, memref<64xf32>)
  // CHECK-NEXT:  %[[M:.+]] = tile.allreduce %[[P]]#1 {{.*}}reduction_kind = "max"
  // CHECK-NEXT:  %[[R:.+]]:2 = tile.attention_rescale %[[P]]#0, %[[P]]#2, %[[P]]#1, %[[M]] : memref<64x16xf32>, memref<64xf32>
  // CHECK-NEXT:  %[[O:.+]] = tile.reduce_scatter %[[R]]#0 {dim = 0 : i64, {{.*}}reduction_kind = "sum"} : memref<64x16xf32> -> memref<16x16xf32>
  // CHECK-NEXT:  %[[L:.+]] = tile.reduce_scatter %[[R]]#1 {dim = 0 : i64, {{.*}}reduction_kind = "sum"} : memref<64xf32> -> memref<16xf32>
  // CHECK-NEXT:  %[[D:.+]] = tile.attention_divide %[[O]], %[[L]] : memref<16x16xf32>, memref<16xf32> -> memref<16x16xf16>
  // CHECK-NEXT:  return %[[D]]
  func.func @keys(%Q: memref<64x16xf16>, %K: memref<64x16xf16> {sharding = "x"}, %V: memref<64x16xf16> {sharding = "x"})
      -> (memref<64x16xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    %O = tile.flash_attention %Q, %K, %V {scale = 0.5 : f32}
        : (memref<64x16xf16>, memref<64x16xf16>, memref<64x16xf16>) -> memref<64x16xf16>
    return %O : memref<64x16xf16>
  }

  // Statistics of all keys: sums that whoever uses them gets added up.

  // CHECK-LABEL: func.func @statistics
  // CHECK:       %[[M:.+]] = tile.allreduce %{{.*}}#1 {{.*}}reduction_kind = "max"
  // CHECK-NEXT:  %[[R:.+]], %[[S:.+]] = tile.attention_rescale
  // CHECK-NEXT:  %[[O:.+]] = tile.allreduce %[[R]] {{.*}}reduction_kind = "sum"
  // CHECK-NEXT:  %[[L:.+]] = tile.allreduce %[[S]] {{.*}}reduction_kind = "sum"
  // CHECK-NEXT:  return %[[O]], %[[M]], %[[L]]
  func.func @statistics(%Q: memref<64x16xf16>, %K: memref<64x16xf16> {sharding = "x"}, %V: memref<64x16xf16>)
      -> (memref<64x16xf32>, memref<64xf32>, memref<64xf32>) {
    %O, %m, %l = tile.flash_attention %Q, %K, %V
        : (memref<64x16xf16>, memref<64x16xf16>, memref<64x16xf16>) -> (memref<64x16xf32>, memref<64xf32>, memref<64xf32>)
    return %O, %m, %l : memref<64x16xf32>, memref<64xf32>, memref<64xf32>
  }
}

// -----

// A product of whole tensors stays, also where its result is a fragment.

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // CHECK-LABEL: func.func @fragment
  // CHECK-NEXT:  tile.mma %{{.+}}, %{{.+}} : memref<128x64xf16>, memref<64x32xf16> -> memref<4x8xf32, 5>
  // CHECK-NEXT:  return
  func.func @fragment(%A: memref<128x64xf16>, %B: memref<64x32xf16>, %C: memref<64xf16> {sharding = #tile.sharding<[{x}]>}) {
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<4x8xf32, 5>
    return
  }
}
