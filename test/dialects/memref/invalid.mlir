// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @sizes(%a: index) {
  // expected-error @below {{'memref.alloc' op incorrect number of dynamic sizes, has 1, expected 0}}
  %0 = memref.alloc(%a) : memref<4xf32>
  return
}

// -----

func.func @indices(%m: memref<4x4xf32>, %i: index) {
  // expected-error @below {{'memref.load' op incorrect number of indices for load, expected 2 but got 1}}
  %0 = memref.load %m[%i] : memref<4x4xf32>
  return
}

// -----

func.func @store_indices(%m: memref<4x4xf32>, %i: index, %x: f32) {
  // expected-error @below {{store index operand count not equal to memref rank}}
  memref.store %x, %m[%i] : memref<4x4xf32>
  return
}

// -----

func.func @cast(%m: memref<4xf32>) {
  // expected-error @below {{'memref.cast' op operand type 'memref<4xf32>' and result type 'memref<8xf32>' are cast incompatible}}
  %0 = memref.cast %m : memref<4xf32> to memref<8xf32>
  return
}

// -----

func.func @view(%m: memref<?xf32>, %i: index) {
  // expected-error @below {{operand #0 must be 1D memref of 8-bit signless integer values, but got 'memref<?xf32>'}}
  %0 = memref.view %m[%i][] : memref<?xf32> to memref<4xf32>
  return
}

// -----

func.func @get_global() {
  // expected-error @below {{'memref.get_global' op 'g' does not reference a valid global memref}}
  %0 = memref.get_global @g : memref<4xf32>
  return
}

// -----

memref.global @g : memref<8xf32>
func.func @get_global() {
  // expected-error @below {{'memref.get_global' op result type 'memref<4xf32>' does not match type 'memref<8xf32>' of the global memref @g}}
  %0 = memref.get_global @g : memref<4xf32>
  return
}

// -----

// expected-error @below {{type should be static shaped memref, but got 'memref<?xf32>'}}
memref.global @g : memref<?xf32>

// -----

func.func @reinterpret(%m: memref<?xf32>) {
  // expected-error @below {{expected result type with size = 10 instead of 1 in dim = 0}}
  %0 = memref.reinterpret_cast %m to offset: [0], sizes: [10], strides: [1] : memref<?xf32> to memref<1xf32, strided<[1]>>
  return
}
