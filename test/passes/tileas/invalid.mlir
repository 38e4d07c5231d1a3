// RUN: tessera-opt %s --convert-tileaa-to-tileas --tileas-assign-layouts --tileas-materialize-pipeline --split-input-file --verify-diagnostics

// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.compute_capability'}}
// expected-note @below {{run --convert-cuda-tile-to-tileaa, or set}}
module {
  nv_tileaa.func @k() {
    nv_tileaa.return
  }
}

// -----

// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.target_spec'}}
// expected-note @below {{run --convert-cuda-tile-to-tileaa, or set}}
module attributes {nv_tileaa.compute_capability = 80 : i32} {
}

// -----

// expected-error @below {{has an unknown target}}
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_1"} {
}

// -----

// expected-error @below {{has nv_tileaa.compute_capability = 90, but its target sm_80 has 80}}
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_80"} {
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @mixed(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
    // expected-error @below {{multiplies f16 by bf16 into f32, for which there is no instruction; supported: f16 into f16/f32, bf16 into f32}}
    %0 = nv_tileaa.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xbf16>, tensor<16x16xf32> -> tensor<16x16xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @integers(%a: tensor<16x16xi16>, %b: tensor<16x16xi16>, %c: tensor<16x16xi32>) {
    // expected-error @below {{multiplies i16 by i16 into i32, for which there is no instruction}}
    %0 = nv_tileaa.dot %a, %b, %c : tensor<16x16xi16>, tensor<16x16xi16>, tensor<16x16xi32> -> tensor<16x16xi32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @grid(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    // expected-error @below {{has a grid of warps [2, 1], but the kernel has 4 warps}}
    %0 = nv_tileas.dot %a, %a, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 2, 1>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @huge(%x: f32) {
    // expected-error @below {{a tile of type tensor<2097152xf32> puts 2048 elements in each of 1024 threads; at most 1024 are supported}}
    %0 = nv_tileaa.splat %x : f32 -> tensor<2097152xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @foreign() {
    // expected-error @below {{'ub.poison' op does not belong to this stage; expected ops of nv_tileas, nv_tileaa, arith, math, scf, llvm and nvvm}}
    // expected-note @below {{required in stage 'nv_tileas': kernels have ops of the stage alone}}
    // expected-note @below {{after pass 'convert-tileaa-to-tileas' on 'builtin.module'}}
    %0 = ub.poison : tensor<128xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @three(%x: i32) {
    // expected-error @below {{makes a tile of type tensor<3xi32>; extents must be powers of two}}
    %a = nv_tileaa.splat %x : i32 -> tensor<3xi32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @dynamic(%x: i32) {
    // expected-error @below {{makes a tile of type tensor<?xi32>; extents must be powers of two}}
    %a = nv_tileaa.splat %x : i32 -> tensor<?xi32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{has 3 warps; tiles are laid out over a power of two of warps, from 1 to 32}}
  nv_tileaa.func @three_warps(%x: f16) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 3>} {
    %a = nv_tileaa.splat %x : f16 -> tensor<16xf16>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{has an argument of type tensor<64x64xf32>; expected pointers, views and scalars}}
  nv_tileaa.func @argument(%a: tensor<64x64xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %0 = arith.addf %a, %a : tensor<64x64xf32>
    nv_tileaa.return
  }
}
