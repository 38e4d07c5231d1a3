// RUN: tessera-opt %s --tileas-split-k=parts=2 --split-input-file --verify-diagnostics
// RUN: not tessera-opt %s --tileas-split-k=arguments=?,--5 2>&1 | filecheck %s --check-prefix=ARGUMENTS
// RUN: not tessera-opt %s --tileas-split-k=tile-blocks=-1 2>&1 | filecheck %s --check-prefix=BLOCKS
// ARGUMENTS: option arguments has '--5'; expected an integer of 64 bits, or ?
// BLOCKS: option tile-blocks=-1 is invalid; expected 0 or more

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{is compiled for sm_80, which has no clusters: the kernel cannot be split along K}}
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{multiplies outside of loops: the kernel cannot be split along K}}
    %next = nv_tileas.dot %x, %x, %none {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{begins at a number that is not known to be 0 or more: the kernel cannot be split along K}}
    %r = scf.for %i = %n to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{counts in numbers without a sign: the kernel cannot be split along K}}
    %r = scf.for unsigned %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{carries a value of type i32 from each iteration to the next: the kernel cannot be split along K}}
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%sum = %none, %c = %zero) -> (tensor<16x16xf32>, i32) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      %m = arith.addi %c, %i : i32
      scf.yield %next, %m : tensor<16x16xf32>, i32
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{carries a tile, tensor<16x16xf32>, that is not a sum: the kernel cannot be split along K}}
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      %m = arith.mulf %next, %next : tensor<16x16xf32>
      scf.yield %m : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      // expected-error @below {{has an effect in each iteration, which would happen in other CTAs: the kernel cannot be split along K}}
    nv_tileas.barrier
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    // expected-error @below {{is a second loop with products: the kernel cannot be split along K}}
    %r2 = scf.for %i2 = %zero to %n step %one iter_args(%sum2 = %none) -> (tensor<16x16xf32>) : i32 {
      %next2 = nv_tileas.dot %x, %x, %sum2 {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next2 : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %c: i1, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{is a branch around the loop with products: the kernel cannot be split along K}}
    scf.if %c {
      %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
        %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
        scf.yield %next : tensor<16x16xf32>
      }
    }
    nv_tileaa.return
  }
}

// -----

// The cluster shares something else than the iterations.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // expected-error @below {{has clusters for something else: the kernel cannot be split along K}}
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %c: i1, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

// The CTAs of a cluster run a program each.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // expected-error @below {{has clusters of several tile blocks: the kernel cannot be split along K}}
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %c: i1, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileas.cluster_programs = array<i64: 2, 1, 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}

// -----

// A CTA might end the loop before its iterations.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %c: i1, %x: tensor<16x16xf16>, %none: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16x16xf32>) : i32 {
      %next = nv_tileas.dot %x, %x, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      nv_tileaa.if %c {
        // expected-error @below {{ends the loop early: the kernel cannot be split along K}}
        nv_tileaa.return
      }
      scf.yield %next : tensor<16x16xf32>
    }
    nv_tileaa.return
  }
}
