// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tile-collective-insertion

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{argument 0 of @f is sharded along the unknown mesh axis 'y'; the mesh has x = 4}}
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {y}]>}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{has argument 0 of @f of type memref<128x66xf16>: dimension 1 has 66 elements, which is not divisible by the 4 ranks of 'x'}}
  func.func @f(%A: memref<128x66xf16> {sharding = #tile.sharding<[{}, {x}]>}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{argument 0 of @f has a sharding of 3 dimensions, but memref<128x64xf16> has 2}}
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {}, {x}]>}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+2 {{argument 0 of @f has sharding = "x", which means the contracted dimension of a product, but there is no such product}}
  // expected-note@+1 {{specify the dimension}}
  func.func @f(%A: memref<128x64xf16> {sharding = "x"}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{argument 0 of @f has a sharding, but is not a tensor: f32}}
  func.func @f(%a: f32 {sharding = #tile.sharding<[{x}]>}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{argument 0 of @f has sharding = 4 : i64; expected an axis's name or a #tile.sharding<…>}}
  func.func @f(%A: memref<128x64xf16> {sharding = 4}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{sharded dimension 0 must have a static extent}}
  func.func @f(%A: memref<?x64xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {x}]>}, %B: memref<64x32xf16>)
      -> (memref<128x30xf32, 5> {sharding = #tile.sharding<[{}, {x}]>}) {
    // expected-error@+1 {{has a buffer of type memref<128x30xf32, 5>: dimension 1 has 30 elements, which is not divisible by the 4 ranks of 'x'}}
    %c = tile.alloc_register : memref<128x30xf32, 5>
    return %c : memref<128x30xf32, 5>
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    // expected-error@+2 {{is in a program on whole tensors, where collectives are inserted automatically}}
    // expected-note@+1 {{mark the function with tile.per_rank if it is written for one rank}}
    %b = tile.allgather %A {dim = 0 : i64, mesh_axis = "x"} : memref<128x64xf16> -> memref<512x64xf16>
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<128x64xf16>) {
    // expected-error@+1 {{modifies a sharded tensor; only products, launches, calls and elementwise ops are supported}}
    tile.copy %B, %A : memref<128x64xf16>
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    // expected-error@+1 {{calls itself; recursion is not supported}}
    func.call @f(%A) : (memref<128x64xf16>) -> ()
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{'func.func' op is called with whole tensors, but is written for one rank (tile.per_rank)}}
  func.func @one(%A: memref<128x64xf16>) attributes {tile.per_rank} {
    return
  }
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    func.call @one(%A) : (memref<128x64xf16>) -> ()
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  // expected-error@+1 {{'func.func' op has argument 0 of @f of type memref<128x64xf16, strided<[128, 1]>>; only contiguous tensors can be sharded}}
  func.func @f(%A: memref<128x64xf16, strided<[128, 1]>> {sharding = #tile.sharding<[{x}, {}]>}) {
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @k(%A: memref<128x64xf16>) attributes {tessera.kernel} {
    return
  }
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}) {
    // expected-error@+1 {{'func.call' op calls the kernel @k; launch it with tile.launch}}
    func.call @k(%A) : (memref<128x64xf16>) -> ()
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %n: index) -> index {
    // expected-error@+1 {{'memref.dim' op queries an extent of a sharded tensor; expected a constant dimension}}
    %d = memref.dim %A, %n : memref<128x64xf16>
    return %d : index
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%A: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<64x32xf16>) {
    // expected-error@+1 {{'tile.mma' op returns a fragment; only products that return a whole tile can be sharded}}
    %d = tile.mma %A, %B : memref<128x64xf16>, memref<64x32xf16> -> memref<4x8xf32, 5>
    return
  }
}
