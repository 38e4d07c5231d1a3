// RUN: tessera-opt %s --allow-unregistered-dialect --tileaa-drop-batches | filecheck %s

// The sums are carried as a matrix.
// CHECK-LABEL: nv_tileaa.func @loop
nv_tileaa.func @loop(%n: i32) {
  // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[Z]]) -> (tensor<64x32xf32>)
  // CHECK: %[[A:.*]], %[[B:.*]] = "test.load"() : () -> (tensor<1x64x16xf16>, tensor<1x16x32xf16>)
  // CHECK-DAG: %[[A2:.*]] = nv_tileaa.reshape %[[A]] : tensor<1x64x16xf16> -> tensor<64x16xf16>
  // CHECK-DAG: %[[B2:.*]] = nv_tileaa.reshape %[[B]] : tensor<1x16x32xf16> -> tensor<16x32xf16>
  // CHECK: %[[D:.*]] = nv_tileaa.dot %[[A2]], %[[B2]], %[[S]] : tensor<64x16xf16>, tensor<16x32xf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  // CHECK: scf.yield %[[D]] : tensor<64x32xf32>
  // CHECK: %[[H:.*]] = arith.truncf %[[R]] : tensor<64x32xf32> to tensor<64x32xf16>
  // CHECK: %[[H3:.*]] = nv_tileaa.reshape %[[H]] : tensor<64x32xf16> -> tensor<1x64x32xf16>
  // CHECK: "test.store"(%[[H3]])
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant dense<0.0> : tensor<1x64x32xf32>
  %sums = scf.for %k = %zero to %n step %one iter_args(%s = %start) -> (tensor<1x64x32xf32>) : i32 {
    %a, %b = "test.load"() : () -> (tensor<1x64x16xf16>, tensor<1x16x32xf16>)
    %d = nv_tileaa.dot %a, %b, %s : tensor<1x64x16xf16>, tensor<1x16x32xf16>, tensor<1x64x32xf32> -> tensor<1x64x32xf32>
    scf.yield %d : tensor<1x64x32xf32>
  }
  %h = arith.truncf %sums : tensor<1x64x32xf32> to tensor<1x64x32xf16>
  "test.store"(%h) : (tensor<1x64x32xf16>) -> ()
  nv_tileaa.return
}

// Axes have other numbers; a reshape takes what there is, and one that changes nothing disappears.
// CHECK-LABEL: nv_tileaa.func @axes
// CHECK-SAME: (%[[C:.*]]: i1, %[[S:.*]]: f16)
nv_tileaa.func @axes(%c: i1, %scale: f16) {
  // CHECK: %[[A:.*]], %[[B:.*]] = "test.load"() : () -> (tensor<64x16xf16>, tensor<1x32x16xf16>)
  // CHECK: %[[B2:.*]] = nv_tileaa.reshape %[[B]] : tensor<1x32x16xf16> -> tensor<32x16xf16>
  // CHECK: %[[T:.*]] = nv_tileaa.permute %[[B2]] [1, 0] : tensor<32x16xf16> -> tensor<16x32xf16>
  // CHECK: %[[X:.*]] = nv_tileaa.splat %[[S]] : f16 -> tensor<16x1xf16>
  // CHECK: %[[Y:.*]] = nv_tileaa.broadcast %[[X]] : tensor<16x1xf16> -> tensor<16x32xf16>
  // CHECK: %[[F:.*]] = arith.mulf %[[T]], %[[Y]] : tensor<16x32xf16>
  // CHECK: %[[D:.*]] = nv_tileaa.dot %[[A]], %[[F]]
  // CHECK: %[[I:.*]] = scf.if %[[C]] -> (tensor<64x32xf32>)
  // CHECK: scf.yield %[[D]] : tensor<64x32xf32>
  // CHECK: %[[M:.*]] = nv_tileaa.reduce %[[I]] axis = 1 identities = [0.000000e+00 : f32] : tensor<64x32xf32> -> tensor<64xf32>
  // CHECK: %[[P:.*]] = nv_tileaa.scan %[[I]] axis = 0 identities = [0.000000e+00 : f32] : tensor<64x32xf32> -> tensor<64x32xf32>
  // CHECK: %[[MR:.*]] = nv_tileaa.reshape %[[M]] : tensor<64xf32> -> tensor<64x1xf32>
  // CHECK: %[[MB:.*]] = nv_tileaa.broadcast %[[MR]] : tensor<64x1xf32> -> tensor<64x32xf32>
  // CHECK: arith.subf %[[P]], %[[MB]] : tensor<64x32xf32>
  %a, %b = "test.load"() : () -> (tensor<64x16xf16>, tensor<1x32x16xf16>)
  %a3 = nv_tileaa.reshape %a : tensor<64x16xf16> -> tensor<1x64x16xf16>
  %t = nv_tileaa.permute %b [0, 2, 1] : tensor<1x32x16xf16> -> tensor<1x16x32xf16>
  %x = nv_tileaa.splat %scale : f16 -> tensor<1x16x1xf16>
  %y = nv_tileaa.broadcast %x : tensor<1x16x1xf16> -> tensor<1x16x32xf16>
  %f = arith.mulf %t, %y : tensor<1x16x32xf16>
  %start = arith.constant dense<0.0> : tensor<1x64x32xf32>
  %d = nv_tileaa.dot %a3, %f, %start : tensor<1x64x16xf16>, tensor<1x16x32xf16>, tensor<1x64x32xf32> -> tensor<1x64x32xf32>
  %i = scf.if %c -> (tensor<1x64x32xf32>) {
    scf.yield %d : tensor<1x64x32xf32>
  } else {
    scf.yield %start : tensor<1x64x32xf32>
  }
  %m = nv_tileaa.reduce %i axis = 2 identities = [0.000000e+00 : f32] : tensor<1x64x32xf32> -> tensor<1x64xf32> {
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    nv_tileaa.yield %w : f32
  }
  %p = nv_tileaa.scan %i axis = 1 identities = [0.000000e+00 : f32] : tensor<1x64x32xf32> -> tensor<1x64x32xf32> {
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    nv_tileaa.yield %w : f32
  }
  %mr = nv_tileaa.reshape %m : tensor<1x64xf32> -> tensor<1x64x1xf32>
  %mb = nv_tileaa.broadcast %mr : tensor<1x64x1xf32> -> tensor<1x64x32xf32>
  %q = arith.subf %p, %mb : tensor<1x64x32xf32>
  "test.store"(%q) : (tensor<1x64x32xf32>) -> ()
  nv_tileaa.return
}

// A loop may carry what an access makes.
// CHECK-LABEL: nv_tileaa.func @carried
nv_tileaa.func @carried(%n: i32, %a: tensor<1x64x16xf16>, %b: tensor<1x16x32xf16>) {
  // CHECK: %[[X:.*]] = "test.load"() : () -> tensor<1x64x32xf32>
  // CHECK: %[[X2:.*]] = nv_tileaa.reshape %[[X]] : tensor<1x64x32xf32> -> tensor<64x32xf32>
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[X2]]) -> (tensor<64x32xf32>)
  // CHECK: %[[S3:.*]] = nv_tileaa.reshape %[[S]] : tensor<64x32xf32> -> tensor<1x64x32xf32>
  // CHECK: "test.store"(%[[S3]])
  // CHECK: %[[D:.*]] = nv_tileaa.dot %{{.*}}, %{{.*}}, %[[S]]
  // CHECK: scf.yield %[[D]]
  // CHECK: %[[R3:.*]] = nv_tileaa.reshape %[[R]] : tensor<64x32xf32> -> tensor<1x64x32xf32>
  // CHECK: "test.store"(%[[R3]], %[[X]])
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = "test.load"() : () -> tensor<1x64x32xf32>
  %r = scf.for %k = %zero to %n step %one iter_args(%s = %x) -> (tensor<1x64x32xf32>) : i32 {
    "test.store"(%s) : (tensor<1x64x32xf32>) -> ()
    %d = nv_tileaa.dot %a, %b, %s : tensor<1x64x16xf16>, tensor<1x16x32xf16>, tensor<1x64x32xf32> -> tensor<1x64x32xf32>
    scf.yield %d : tensor<1x64x32xf32>
  }
  "test.store"(%r, %x) : (tensor<1x64x32xf32>, tensor<1x64x32xf32>) -> ()
  nv_tileaa.return
}

// Scales are factors, too.  Other ops take and make the tiles with the axis: here a sum along it, a tile repeated along
// it, and a permutation that moves it.
// CHECK-LABEL: nv_tileaa.func @others
// CHECK-SAME: (%[[A:.*]]: tensor<1x64x32xf8E4M3FN>,
nv_tileaa.func @others(%a: tensor<1x64x32xf8E4M3FN>, %b: tensor<1x32x32xf8E4M3FN>, %s: tensor<1x64x1xf8E8M0FNU>, %t: tensor<1x1x32xf8E8M0FNU>) {
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
  // CHECK-DAG: %[[A2:.*]] = nv_tileaa.reshape %[[A]]
  // CHECK: %[[D:.*]] = nv_tileaa.dot %{{.*}} scales {{.*}} tensor<64x1xf8E8M0FNU>, tensor<1x32xf8E8M0FNU> -> tensor<64x32xf32>
  // CHECK: %[[D3:.*]] = nv_tileaa.reshape %[[D]] : tensor<64x32xf32> -> tensor<1x64x32xf32>
  // CHECK: nv_tileaa.reduce %[[D3]] axis = 0
  // CHECK: nv_tileaa.broadcast %[[D3]] : tensor<1x64x32xf32> -> tensor<2x64x32xf32>
  // CHECK: nv_tileaa.permute %[[D3]] [1, 0, 2] : tensor<1x64x32xf32> -> tensor<64x1x32xf32>
  %c = arith.constant dense<0.0> : tensor<1x64x32xf32>
  %d = nv_tileaa.dot %a, %b, %c scales %s, %t : tensor<1x64x32xf8E4M3FN>, tensor<1x32x32xf8E4M3FN>, tensor<1x64x32xf32> scales tensor<1x64x1xf8E8M0FNU>, tensor<1x1x32xf8E8M0FNU> -> tensor<1x64x32xf32>
  %r = nv_tileaa.reduce %d axis = 0 identities = [0.000000e+00 : f32] : tensor<1x64x32xf32> -> tensor<64x32xf32> {
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    nv_tileaa.yield %w : f32
  }
  %two = nv_tileaa.broadcast %d : tensor<1x64x32xf32> -> tensor<2x64x32xf32>
  %p = nv_tileaa.permute %d [1, 0, 2] : tensor<1x64x32xf32> -> tensor<64x1x32xf32>
  "test.store"(%r, %two, %p) : (tensor<64x32xf32>, tensor<2x64x32xf32>, tensor<64x1x32xf32>) -> ()
  nv_tileaa.return
}

// The row that a batch is reduced to is a factor of a product of matrices, of a single term, which keeps its axes.
// CHECK-LABEL: nv_tileaa.func @row
nv_tileaa.func @row(%a: tensor<1x16x16xf16>, %b: tensor<1x16x16xf16>, %s: tensor<1x1xf32>) {
  // CHECK: nv_tileaa.dot {{.*}} -> tensor<16x16xf32>
  // CHECK: nv_tileaa.reduce {{.*}} axis = 0
  // CHECK: nv_tileaa.dot {{.*}} : tensor<1x1xf32>, tensor<1x16xf32>, tensor<1x16xf32> -> tensor<1x16xf32>
  %z = arith.constant dense<0.0> : tensor<1x16x16xf32>
  %y = arith.constant dense<0.0> : tensor<1x16xf32>
  %d = nv_tileaa.dot %a, %b, %z : tensor<1x16x16xf16>, tensor<1x16x16xf16>, tensor<1x16x16xf32> -> tensor<1x16x16xf32>
  %r = nv_tileaa.reduce %d axis = 1 identities = [0.0 : f32] : tensor<1x16x16xf32> -> tensor<1x16xf32> {
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    nv_tileaa.yield %w : f32
  }
  %e = nv_tileaa.dot %s, %r, %y : tensor<1x1xf32>, tensor<1x16xf32>, tensor<1x16xf32> -> tensor<1x16xf32>
  "test.store"(%e) : (tensor<1x16xf32>) -> ()
  nv_tileaa.return
}

// Two matrices stay a batch, and so do tiles that have nothing to do with a product.
// CHECK-LABEL: nv_tileaa.func @batch
nv_tileaa.func @batch(%a: tensor<2x64x16xf16>, %b: tensor<2x16x32xf16>, %c: tensor<2x64x32xf32>, %x: tensor<1x64x32xf32>) {
  // CHECK-NEXT: nv_tileaa.dot {{.*}} -> tensor<2x64x32xf32>
  // CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : tensor<1x64x32xf32>
  %d = nv_tileaa.dot %a, %b, %c : tensor<2x64x16xf16>, tensor<2x16x32xf16>, tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  %y = arith.addf %x, %x : tensor<1x64x32xf32>
  "test.store"(%d, %y) : (tensor<2x64x32xf32>, tensor<1x64x32xf32>) -> ()
  nv_tileaa.return
}

// Branches between blocks may pass on what the pass does not see.
// CHECK-LABEL: nv_tileaa.func @blocks
nv_tileaa.func @blocks(%a: tensor<1x64x16xf16>, %b: tensor<1x16x32xf16>, %c: tensor<1x64x32xf32>) {
  // CHECK: nv_tileaa.dot {{.*}} -> tensor<1x64x32xf32>
  %d = nv_tileaa.dot %a, %b, %c : tensor<1x64x16xf16>, tensor<1x16x32xf16>, tensor<1x64x32xf32> -> tensor<1x64x32xf32>
  cf.br ^next(%d : tensor<1x64x32xf32>)
^next(%e: tensor<1x64x32xf32>):
  "test.store"(%e) : (tensor<1x64x32xf32>) -> ()
  nv_tileaa.return
}
