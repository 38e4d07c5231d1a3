// RUN: tessera-opt %s --tileas-cut-products --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t

// Each reason why a kernel whose sums an SM has no room for is not computed in parts.

// Another effect would happen once for each part.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @effect(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.barrier at {{.*}} would be executed once for each part}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileas.barrier
    nv_tileaa.return
  }
}

// -----

// What the first part stores, the second would load.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @after_store(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} is ordered by its token after a store}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    %b, %bt = nv_tileas.tiled_load %w[%z, %z], %f {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<256x256xf32>, !tok
    nv_tileaa.return
  }
}

// -----

// Two products with other tiles.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @others(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.dot is not the only product, and the others have other tiles}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %j = arith.constant dense<0.0> : tensor<256x32xf32>
    %o = arith.constant dense<0.0> : tensor<32x32xf16>
    %e = nv_tileas.dot %x, %o, %j {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x32xf16>, tensor<256x32xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// A part of a row of 65536 numbers.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @rank(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_store at {{.*}} stores a tile that is no matrix}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %u = nv_tileaa.make_memref %q, shape = [%m], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %e = nv_tileaa.reshape %d : tensor<256x256xf32> -> tensor<65536xf32>
    %f = nv_tileas.tiled_store %u[%z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<65536xf32>, !nv_tileaa.memref<?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

// The product needs a part of the bias, and its transpose another.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @both_axes(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} makes a tile of which all is needed, too}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %b, %bt = nv_tileas.tiled_load %w[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<256x256xf32>, !tok
    %c = nv_tileaa.permute %b [1, 0] : tensor<256x256xf32> -> tensor<256x256xf32>
    %e = arith.addf %d, %b : tensor<256x256xf32>
    %g = arith.addf %e, %c : tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %g, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// A tile that the kernel is given.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @argument(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: tensor<256x256xf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark @below {{256x256 sums are not computed in parts, as an SM needs: the kernel has a tile of which no part is known}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// A constant with other numbers in each part.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @differs(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
    // expected-remark-re @below {{128x512 sums are not computed in parts, as an SM needs: arith.constant at {{.*}} has elements that differ}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
    %b = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF"> : tensor<1x512xi8>
    %h = arith.sitofp %b : tensor<1x512xi8> to tensor<1x512xf32>
    %c = nv_tileaa.broadcast %h : tensor<1x512xf32> -> tensor<128x512xf32>
    %e = arith.addf %d, %c : tensor<128x512xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// The columns have numbers, of which a part begins with another.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @numbers(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
    // expected-remark-re @below {{128x512 sums are not computed in parts, as an SM needs: nv_tileaa.iota at {{.*}} needs whole rows or columns}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
    %b = nv_tileaa.iota : tensor<512xi32>
    %h = arith.sitofp %b : tensor<512xi32> to tensor<512xf32>
    %l = nv_tileaa.reshape %h : tensor<512xf32> -> tensor<1x512xf32>
    %c = nv_tileaa.broadcast %l : tensor<1x512xf32> -> tensor<128x512xf32>
    %e = arith.addf %d, %c : tensor<128x512xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// A column is stored beside the sums, and has no halves.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @one_column(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
    // expected-remark-re @below {{128x512 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} makes a tile with an extent of 1}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    %b, %bt = nv_tileas.tiled_load %w[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<128x1xf32>, !tok
    %g = nv_tileas.tiled_store %w[%z, %m], %b, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x1xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// A tile is both factors: a part of it as one, and all of it as the other.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @square(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} makes a tile of which all is needed, too}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %u, %ut = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x256xf16>, !tok
    %e = nv_tileas.dot %u, %u, %d {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x256xf16>, tensor<256x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// Rows and columns become one axis.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @joins(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileaa.reshape at {{.*}} joins rows with columns}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %b, %bt = nv_tileas.tiled_load %w[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<128x512xf32>, !tok
    %c = nv_tileaa.reshape %b : tensor<128x512xf32> -> tensor<256x256xf32>
    %e = arith.addf %d, %c : tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// What is computed in parts is also stored whole.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @needs_whole(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileaa.reduce at {{.*}} needs a whole tile of what is computed in parts}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    %h = nv_tileaa.reduce %d axis = 1 identities = [0.0 : f32] : tensor<256x256xf32> -> tensor<256xf32> {
    ^bb0(%l: f32, %g: f32):
      %u = arith.addf %l, %g : f32
      nv_tileaa.yield %u : f32
    }
    nv_tileaa.return
  }
}

// -----

// The bias is where the sums are stored, and its rows are added.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @in_place(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} loads a tile that another part would change first}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %b, %bt = nv_tileas.tiled_load %w[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<256x256xf32>, !tok
    %h = nv_tileaa.reduce %b axis = 1 identities = [0.0 : f32] : tensor<256x256xf32> -> tensor<256xf32> {
    ^bb0(%l: f32, %g: f32):
      %u = arith.addf %l, %g : f32
      nv_tileaa.yield %u : f32
    }
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %bt {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// Scales have rows of their own.
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @scales(%p: !llvm.ptr<1>, %x: f8E4M3FN, %f: f8E8M0FNU) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %a = nv_tileaa.splat %x : f8E4M3FN -> tensor<256x32xf8E4M3FN>
    %b = nv_tileaa.splat %x : f8E4M3FN -> tensor<32x256xf8E4M3FN>
    %sa = nv_tileaa.splat %f : f8E8M0FNU -> tensor<256x1xf8E8M0FNU>
    %sb = nv_tileaa.splat %f : f8E8M0FNU -> tensor<1x256xf8E8M0FNU>
    %c = arith.constant dense<0.0> : tensor<256x256xf32>
    // expected-remark @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.dot has scales}}
    %d = nv_tileas.dot %a, %b, %c scales %sa, %sb {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f8E4M3FN, f8E4M3FN, f32>} : tensor<256x32xf8E4M3FN>, tensor<32x256xf8E4M3FN>, tensor<256x256xf32> scales tensor<256x1xf8E8M0FNU>, tensor<1x256xf8E8M0FNU>
    %v = nv_tileaa.make_memref %p, shape = [256, 256], stride = [256, 1], space = #nv_tileaa.global : !nv_tileaa.memref<256x256xf32>
    %e = nv_tileas.tiled_store %v[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !nv_tileaa.memref<256x256xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

// A store is ordered behind another one to the same place, which the parts keep, and behind a load from elsewhere.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @behind_store_and_load(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} is ordered by its token before a store, which another part would execute first}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    %b, %bt = nv_tileas.tiled_load %w[%z, %m], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<256x256xf32>, !tok
    %j = nv_tileaa.join_mem_tokens %bt, %f : !tok
    %g = nv_tileas.tiled_store %w[%z, %z], %d, %j {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// What an iteration stores, its next product would load in each part.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @within_an_iteration(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %r = scf.for %j = %z to %n step %o iter_args(%a = %t) -> (!tok) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %z], %a {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%z, %z], %a {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
      // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} is ordered by its token before a store, which another part would execute first}}
      %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
      %f = nv_tileas.tiled_store %w[%j, %z], %d, %yt {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
      scf.yield %f : !tok
    }
    nv_tileaa.return
  }
}

// -----

// The loop of a persistent kernel carries sums on, so that the parts are around it, and one part would store what another
// one has stored.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @carried(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %r:2 = scf.for %j = %z to %n step %o iter_args(%a = %t, %c = %i) -> (!tok, tensor<256x256xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %j], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%j, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
      // expected-remark-re @below {{256x256 sums are not computed in parts, as an SM needs: nv_tileas.tiled_store at {{.*}} is ordered by its token after a store, perhaps to the same place}}
      %d = nv_tileas.dot %x, %y, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
      %f = nv_tileas.tiled_store %w[%j, %z], %d, %a {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
      scf.yield %f, %d : !tok, tensor<256x256xf32>
    }
    nv_tileaa.return
  }
}

// -----

// A bias that is loaded once for all tiles, whose stores have an order: the tiles would be computed for one part, and then
// for the other.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @bias_of_all_tiles(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %u: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %bias = nv_tileaa.make_memref %u, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i, %it = nv_tileas.tiled_load %bias[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<256x256xf32>, !tok
    %e = scf.for %tile = %z to %n step %one iter_args(%b = %t) -> (!tok) : i32 {
      %k = arith.muli %tile, %m : i32
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
      // expected-remark-re @below {{not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} loads the parts of several tiles}}
      %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
      %f = nv_tileas.tiled_store %w[%k, %z], %d, %b {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
      scf.yield %f : !tok
    }
    nv_tileaa.return
  }
}
