// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8xi32>, %y: tensor<4xi32>) {
  // expected-error @below {{expects operands of one shape, got tensor<8xi32>, tensor<4xi32>}}
  %0:2 = nv_tileaa.reduce %x, %y axis = 0 identities = [0 : i32, 0 : i32] : tensor<8xi32>, tensor<4xi32> -> i32, i32 {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    nv_tileaa.yield %a, %c : i32, i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{has axis 1, but its tiles have rank 1}}
  %0 = nv_tileaa.scan %x axis = 1 identities = [0 : i32] : tensor<8xi32> -> tensor<8xi32> {
  ^bb0(%a: i32, %b: i32):
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8x4xi32>) {
  // expected-error @below {{has results of type tensor<4xi32>; expected tensor<8xi32>}}
  %0 = nv_tileaa.reduce %x axis = 1 identities = [0 : i32] : tensor<8x4xi32> -> tensor<4xi32> {
  ^bb0(%a: i32, %b: i32):
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{has results of type tensor<1xi32>; expected i32}}
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<8xi32> -> tensor<1xi32> {
  ^bb0(%a: i32, %b: i32):
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{expects identities of i32, got [0.000000e+00 : f32]}}
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0.0 : f32] : tensor<8xi32> -> i32 {
  ^bb0(%a: i32, %b: i32):
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{expects a region with arguments i32, i32, got i32}}
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<8xi32> -> i32 {
  ^bb0(%a: i32):
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<8xi32> -> i32 {
  ^bb0(%a: i32, %b: i32):
    // expected-error @below {{yields nothing; expected i32}}
    nv_tileaa.yield
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{expects a region that ends with 'nv_tileaa.yield'}}
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<8xi32> -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<8xi32> -> i32 {
  ^bb0(%a: i32, %b: i32):
    // expected-error @below {{is not allowed in the region of 'nv_tileaa.reduce', which computes with scalars}}
    %t = nv_tileaa.splat %a : i32 -> tensor<4xi32>
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f(%x: tensor<8xi32>, %p: !llvm.ptr<1>) {
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0 : i32] : tensor<8xi32> -> i32 {
  ^bb0(%a: i32, %b: i32):
    // expected-error @below {{is not allowed in the region of 'nv_tileaa.reduce', which must be free of side effects}}
    llvm.store %a, %p : i32, !llvm.ptr<1>
    nv_tileaa.yield %a : i32
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{'nv_tileaa.reduce' op has no operands; expected at least one}}
  "nv_tileaa.reduce"() <{axis = 0 : i32, identities = []}> ({}) : () -> ()
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{'nv_tileaa.reduce' op expects a region of one block}}
  %0 = "nv_tileaa.reduce"(%x) <{axis = 0 : i32, identities = [0 : i32]}> ({}) : (tensor<8xi32>) -> i32
  return
}
