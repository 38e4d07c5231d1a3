// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a mesh has two axes named 'x'}}
module attributes {tile.mesh = #tile.mesh<x = 2, x = 4>} {}

// -----

// expected-error@+1 {{the axis 'x' of a mesh has an extent of 0; expected 1 or more}}
module attributes {tile.mesh = #tile.mesh<x = 0>} {}

// -----

// expected-error@+1 {{two dimensions are sharded along 'x'; expected at most one}}
func.func private @f(memref<4x4xf32> {sharding = #tile.sharding<[{x}, {x}]>})

// -----

// expected-error@+1 {{a dimension is sharded along at most one mesh axis, found 2}}
func.func private @f(memref<4xf32> {sharding = #tile.sharding<[{x, y}]>})

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%a: memref<8xf32>) {
    // expected-error@+1 {{unknown mesh axis 'y'; the mesh has x = 4}}
    %0 = tile.allreduce %a {mesh_axis = "y", reduction_kind = "sum"} : memref<8xf32> -> memref<8xf32>
    return
  }
}

// -----

module attributes {tile.mesh = #tile.mesh<x = 4>} {
  func.func @f(%a: memref<8xf32>) {
    // expected-error@+1 {{converts memref<8xf32> to memref<16xf32>: dimension 0 does not change by a factor of 4, the number of ranks}}
    %0 = tile.allgather %a {mesh_axis = "x", dim = 0 : i64} : memref<8xf32> -> memref<16xf32>
    return
  }
}

// -----

func.func @f(%a: memref<8xf32>) {
  // expected-error@+1 {{dim is 1, but memref<8xf32> has 1 dimensions}}
  %0 = tile.allgather %a {mesh_axis = "x", dim = 1 : i64} : memref<8xf32> -> memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<8x8xf32>) {
  // expected-error@+1 {{gathers and splits dimension 1; expected two dimensions}}
  %0 = tile.all_to_all %a {mesh_axis = "x", split_dim = 1 : i64, gather_dim = 1 : i64} : memref<8x8xf32> -> memref<8x8xf32>
  return
}

// -----

func.func @f(%a: memref<8xf32>) {
  // expected-error@+1 {{has reduction_kind "mean"; expected one of sum, max, min}}
  %0 = tile.allreduce %a {mesh_axis = "x", reduction_kind = "mean"} : memref<8xf32> -> memref<8xf32>
  return
}

// -----

func.func @f(%a: memref<8xf32>) {
  // expected-error@+1 {{launches @nobody, which does not exist}}
  tile.launch @nobody grid [1] (%a) : (memref<8xf32>) -> ()
  return
}

// -----

func.func @g(%a: memref<8xf32>) {
  return
}
func.func @f(%a: memref<8xf32>) {
  // expected-error@+1 {{launches @g, which is not a kernel; mark it tessera.kernel}}
  tile.launch @g grid [1] (%a) : (memref<8xf32>) -> ()
  return
}

// -----

func.func @k(%a: memref<?xf32> {tile.dimensions = ["m"]}, %b: memref<?xf32> {tile.dimensions = ["m"]}) attributes {tessera.kernel} {
  return
}
func.func @f(%a: memref<8xf32>, %h: memref<8xf16>) {
  // expected-error@+1 {{passes @k 1 operands and 0 results; it has 2 arguments}}
  tile.launch @k grid [1] (%a) : (memref<8xf32>) -> ()
  // expected-error@+1 {{passes @k memref<8xf16> as argument 0, which is memref<?xf32>}}
  %0 = tile.launch @k grid [1] (%h) : (memref<8xf16>) -> memref<8xf32>
  // expected-error@+1 {{has extents 8 and 9 of dimension 'm' of @k}}
  %1 = tile.launch @k grid [1] (%a) : (memref<8xf32>) -> memref<9xf32>
  // expected-error@+1 {{has a grid over 'n', but @k names the dimensions m}}
  %2 = tile.launch @k grid ["n / 8"] (%a) : (memref<8xf32>) -> memref<8xf32>
  // expected-error@+1 {{has the grid extent "m / 0"; expected a number from 1, or tiles as in "m / 128"}}
  %3 = tile.launch @k grid ["m / 0"] (%a) : (memref<8xf32>) -> memref<8xf32>
  // expected-error@+1 {{has a grid of 4 extents; expected one to three}}
  %4 = tile.launch @k grid [1, 1, 1, 1] (%a) : (memref<8xf32>) -> memref<8xf32>
  return
}

// -----

// A dimension that is not known says nothing of the next.
module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func @f(%a: memref<?x8xf32>) {
    // expected-error @below {{'tile.allgather' op converts memref<?x8xf32> to memref<?x16xf32>: dimension 1 has 8 and 16 elements}}
    %0 = tile.allgather %a {mesh_axis = "x", dim = 0 : i64} : memref<?x8xf32> -> memref<?x16xf32>
    return
  }
}

// -----

module {
  func.func @f(%a: memref<?x0xf32>) {
    // expected-error @below {{'tile.allgather' op converts memref<?x0xf32> to memref<?x16xf32>: dimension 1 does not change by the number of ranks}}
    %0 = tile.allgather %a {mesh_axis = "x", dim = 1 : i64} : memref<?x0xf32> -> memref<?x16xf32>
    return
  }
}

// -----

// expected-error @below {{expected a mesh with one or more axes, each with an extent}}
module attributes {tile.mesh = #tile.mesh<>} {}
