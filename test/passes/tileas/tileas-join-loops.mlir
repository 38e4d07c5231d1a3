// RUN: tessera-opt %s --allow-unregistered-dialect --tileas-join-loops | filecheck %s
// RUN: tessera-opt %s --allow-unregistered-dialect --tileas-join-loops --mlir-pass-statistics 2>&1 | filecheck %s --check-prefix=STATISTICS
// STATISTICS: 9 joined

// Two loops over consecutive ranges with the same products are one loop, with a branch where they differ.

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // The ranges meet at %s, but neither goes beyond the other's end: the mask of the second is in a branch that is seldom
  // taken.
  // CHECK-LABEL: @masked
  // CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %a to %b step %one iter_args(%[[OLD:.*]] = %none)
  // CHECK-NEXT:   %[[P:.*]] = nv_tileas.dot %x, %y, %[[OLD]]
  // CHECK-NEXT:   %[[IN:.*]] = arith.cmpi slt, %[[K]], %s : i32
  // CHECK-NEXT:   %[[C:.*]] = scf.if %[[IN]] -> (tensor<64x64xf32>) {
  // CHECK-NEXT:     scf.yield %[[P]]
  // CHECK-NEXT:   } else {
  // CHECK-NEXT:     %[[M:.*]] = arith.maxnumf %[[P]], %none
  // CHECK-NEXT:     scf.yield %[[M]]
  // CHECK-NEXT:   } {nv_tileas.rarely_else}
  // CHECK-NEXT:   %[[N:.*]] = arith.negf %[[C]]
  // CHECK-NEXT:   scf.yield %[[N]]
  // CHECK-NOT: scf.for
  // CHECK: "test.use"(%[[SUM]])
  nv_tileaa.func @masked(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %end = arith.minsi %b, %s : i32
    %u = scf.for %k = %a to %end step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %n = arith.negf %p : tensor<64x64xf32>
      scf.yield %n : tensor<64x64xf32>
    }
    %start = arith.maxsi %s, %a : i32
    %v = scf.for %k = %start to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %m = arith.maxnumf %p, %none : tensor<64x64xf32>
      %n = arith.negf %m : tensor<64x64xf32>
      scf.yield %n : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Without a minimum and a maximum, either range may be empty or end before the other begins.  A number that begins anew
  // does so in the first iteration of the second loop.
  // CHECK-LABEL: @limits
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1
  // CHECK: %[[LOW:.*]] = arith.minsi %a, %s : i32
  // CHECK-NEXT: %[[HIGH:.*]] = arith.maxsi %s, %b : i32
  // CHECK-NEXT: %v:2 = scf.for %[[K:.*]] = %[[LOW]] to %[[HIGH]] step %[[ONE]] iter_args(%[[OLD:.*]] = %{{.*}}, %[[C:.*]] = %a)
  // CHECK-NEXT:   %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %s
  // CHECK-NEXT:   %[[D:.*]] = arith.select %[[FIRST]], %c, %[[C]] : i32
  // CHECK-NEXT:   %{{.*}} = nv_tileas.dot
  // CHECK-NEXT:   %[[E:.*]] = arith.addi %[[D]], %[[ONE]]
  // CHECK-NEXT:   scf.yield %{{.*}}, %[[E]]
  // CHECK-NOT: scf.for
  // CHECK: "test.use"(%v#0)
  nv_tileaa.func @limits(%a: i32, %s: i32, %b: i32, %c: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u:2 = scf.for %k = %a to %s step %one iter_args(%old = %none, %n = %a) -> (tensor<64x64xf32>, i32) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %m = arith.addi %n, %one : i32
      scf.yield %p, %m : tensor<64x64xf32>, i32
    }
    %v:2 = scf.for %k = %s to %b step %one iter_args(%old = %u#0, %n = %c) -> (tensor<64x64xf32>, i32) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %m = arith.addi %n, %one : i32
      scf.yield %p, %m : tensor<64x64xf32>, i32
    }
    "test.use"(%v#0) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Three loops, as of a window that both ends mask.  The branch of the first two is within that of all.
  // CHECK-LABEL: @three
  // CHECK: scf.for %[[K:.*]] = %zero to %b step %one iter_args(%[[OLD:.*]] = %none)
  // CHECK-NEXT:   %[[NOT_LAST:.*]] = arith.cmpi slt, %[[K]], %eight : i32
  // CHECK-NEXT:   %[[FACTOR:.*]] = scf.if %[[NOT_LAST]]
  // CHECK-NEXT:     %[[FIRST:.*]] = arith.cmpi slt, %[[K]], %two : i32
  // CHECK-NEXT:     %{{.*}} = scf.if %[[FIRST]]
  // CHECK-NEXT:       %{{.*}} = arith.negf %[[OLD]]
  // CHECK-COUNT-2:  else {
  // CHECK-NEXT:     %{{.*}} = arith.maxnumf %[[OLD]], %none
  // CHECK:        nv_tileas.dot %x, %y, %[[FACTOR]]
  // CHECK-NOT:  nv_tileas.dot
  // CHECK: "test.use"
  nv_tileaa.func @three(%size: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %eight = arith.constant 8 : i32
    %b = nv_tileaa.assume %size {lower = 8 : i64} : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %zero to %two step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %n = arith.negf %old : tensor<64x64xf32>
      %p = nv_tileas.dot %x, %y, %n {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %q = arith.negf %p : tensor<64x64xf32>
      scf.yield %q : tensor<64x64xf32>
    }
    %v = scf.for %k = %two to %eight step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %q = arith.negf %p : tensor<64x64xf32>
      scf.yield %q : tensor<64x64xf32>
    }
    %w = scf.for %k = %eight to %b step %one iter_args(%old = %v) -> (tensor<64x64xf32>) : i32 {
      %n = arith.maxnumf %old, %none : tensor<64x64xf32>
      %p = nv_tileas.dot %x, %y, %n {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %q = arith.negf %p : tensor<64x64xf32>
      scf.yield %q : tensor<64x64xf32>
    }
    "test.use"(%w) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Ranges with a gap stay two loops.
  // CHECK-LABEL: @gap
  // CHECK-COUNT-2: scf.for
  nv_tileaa.func @gap(%s: i32, %t: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %zero to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    %v = scf.for %k = %t to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Only what the next iteration takes differs.
  // CHECK-LABEL: @yields
  // CHECK: scf.for %[[K:[a-z]+]] =
  // CHECK-NEXT:   %[[P:.*]] = nv_tileas.dot
  // CHECK-NEXT:   %[[IN:.*]] = arith.cmpi slt, %[[K]], %s : i32
  // CHECK-NEXT:   %[[C:.*]] = scf.if %[[IN]]
  // CHECK:          arith.negf %[[P]]
  // CHECK:        scf.yield %[[C]]
  // CHECK: "test.use"
  nv_tileaa.func @yields(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %none {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    %v = scf.for %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %none {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %n = arith.negf %p : tensor<64x64xf32>
      scf.yield %n : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // A tile that both loops compute between those that one does is not computed again in a branch.
  // CHECK-LABEL: @twice
  // CHECK: scf.if
  // CHECK:   arith.negf
  // CHECK: math.exp2
  // CHECK-NEXT: scf.if
  // CHECK:   arith.negf
  // CHECK-NOT: math.exp2
  // CHECK: "test.use"
  nv_tileaa.func @twice(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %e = math.exp2 %p : tensor<64x64xf32>
      %z = arith.addf %e, %old : tensor<64x64xf32>
      scf.yield %z : tensor<64x64xf32>
    }
    %v = scf.for %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %n = arith.negf %p : tensor<64x64xf32>
      %e = math.exp2 %n : tensor<64x64xf32>
      %m = arith.negf %e : tensor<64x64xf32>
      %z = arith.addf %m, %old : tensor<64x64xf32>
      scf.yield %z : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Branches of both loops that use other values are two, each in a branch of its loop.
  // CHECK-LABEL: @regions
  // CHECK: %[[P:[a-z0-9]+]] = nv_tileas.dot %x, %y, %[[OLD:[a-z0-9_]+]] {
  // CHECK: scf.if
  // CHECK:   scf.if
  // CHECK:     arith.negf %[[P]]
  // CHECK:   scf.if
  // CHECK:     arith.negf %[[OLD]]
  // CHECK: "test.use"
  nv_tileaa.func @regions(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %c = arith.cmpi eq, %k, %one : i32
      %i = scf.if %c -> (tensor<64x64xf32>) {
        %n = arith.negf %p : tensor<64x64xf32>
        scf.yield %n : tensor<64x64xf32>
      } else {
        scf.yield %p : tensor<64x64xf32>
      }
      scf.yield %i : tensor<64x64xf32>
    }
    %v = scf.for %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %c = arith.cmpi eq, %k, %one : i32
      %i = scf.if %c -> (tensor<64x64xf32>) {
        %n = arith.negf %old : tensor<64x64xf32>
        scf.yield %n : tensor<64x64xf32>
      } else {
        scf.yield %p : tensor<64x64xf32>
      }
      scf.yield %i : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Branches of both loops that use the same values are one.
  // CHECK-LABEL: @same_regions
  // CHECK: %[[P:[a-z0-9]+]] = nv_tileas.dot
  // CHECK: scf.if
  // CHECK:   arith.negf %[[P]]
  // CHECK-NOT: scf.if
  // CHECK: "test.use"
  nv_tileaa.func @same_regions(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %c = arith.cmpi eq, %k, %one : i32
      %i = scf.if %c -> (tensor<64x64xf32>) {
        %n = arith.negf %p : tensor<64x64xf32>
        scf.yield %n : tensor<64x64xf32>
      } else {
        scf.yield %p : tensor<64x64xf32>
      }
      scf.yield %i : tensor<64x64xf32>
    }
    %v = scf.for %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %c = arith.cmpi eq, %k, %one : i32
      %i = scf.if %c -> (tensor<64x64xf32>) {
        %n = arith.negf %p : tensor<64x64xf32>
        scf.yield %n : tensor<64x64xf32>
      } else {
        scf.yield %p : tensor<64x64xf32>
      }
      scf.yield %i : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Loops about which an author has said different things stay two.
  // CHECK-LABEL: @attributes
  // CHECK-COUNT-2: scf.for
  nv_tileaa.func @attributes(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    %v = scf.for %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    } {test.hint}
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // So do loops whose bounds are compared as unsigned numbers.
  // CHECK-LABEL: @unsigned
  // CHECK-COUNT-2: scf.for
  nv_tileaa.func @unsigned(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for unsigned %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    %v = scf.for unsigned %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // A value from which two of the second loop begin keeps the loops apart.
  // CHECK-LABEL: @begun_twice
  // CHECK-COUNT-2: scf.for
  nv_tileaa.func @begun_twice(%s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u:2 = scf.for %k = %one to %s step %one iter_args(%old = %none, %n = %one) -> (tensor<64x64xf32>, i32) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %m = arith.addi %n, %one : i32
      scf.yield %p, %m : tensor<64x64xf32>, i32
    }
    %v:2 = scf.for %k = %s to %b step %one iter_args(%old = %u#0, %other = %u#0) -> (tensor<64x64xf32>, tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p, %other : tensor<64x64xf32>, tensor<64x64xf32>
    }
    "test.use"(%v#1) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // So do counters of different types, whatever their numbers are.
  // CHECK-LABEL: @types
  // CHECK-COUNT-2: scf.for
  nv_tileaa.func @types(%x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %one_ = arith.constant 1 : i64
    %four_ = arith.constant 4 : i64
    %nine = arith.constant 9 : i64
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %zero to %four step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    %v = scf.for %k = %four_ to %nine step %one_ iter_args(%old = %u) -> (tensor<64x64xf32>) : i64 {
      %p = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      scf.yield %p : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }

  // Where the operands of an op that commutes are in another order, one of them is chosen.
  // CHECK-LABEL: @commuted
  // CHECK: %[[C:.*]] = scf.if %{{.*}} -> (tensor<64x64xf32>) {
  // CHECK: }
  // CHECK-NOT: rarely_else
  // CHECK: arith.addf %[[C]], %none
  nv_tileaa.func @commuted(%a: i32, %s: i32, %b: i32, %x: tensor<64x16xf16>, %y: tensor<16x64xf16>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %one = arith.constant 1 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %u = scf.for %k = %a to %s step %one iter_args(%old = %none) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %none {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %z = arith.addf %p, %none : tensor<64x64xf32>
      scf.yield %z : tensor<64x64xf32>
    }
    %v = scf.for %k = %s to %b step %one iter_args(%old = %u) -> (tensor<64x64xf32>) : i32 {
      %p = nv_tileas.dot %x, %y, %none {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
      %z = arith.addf %none, %old : tensor<64x64xf32>
      scf.yield %z : tensor<64x64xf32>
    }
    "test.use"(%v) : (tensor<64x64xf32>) -> ()
    nv_tileaa.return
  }
}
