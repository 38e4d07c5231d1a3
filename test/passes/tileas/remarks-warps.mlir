// RUN: tessera-opt %s --convert-tileaa-to-tileas --remarks=text -o %t 2>&1 | filecheck %s
// RUN: tessera-opt %s --convert-tileaa-to-tileas=num-warps=2 --remarks=text -o %t 2>&1 | filecheck %s --check-prefix=TWO
// RUN: tessera-opt %s --convert-tileaa-to-tileas -o %t > %t.out 2>&1
// RUN: not grep remark %t.out

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK:     remark[passed]: 8 warps: as set by the hint num_worker_warps_per_cta [warps]
  // CHECK:     func @hinted
  // CHECK-NOT: is not followed
  // CHECK:     remark[passed]: 1 warp: as many as give a thread 4 registers of the largest tile, up to 4 [warps]
  // CHECK:     remark[failed]: num_worker_warps_per_cta = 6 is ignored: expected a power of two up to 32 [warps]
  // CHECK:     func @odd
  // CHECK:     remark[passed]: 16 warps: with 4, the largest tile would need 256 registers per thread, more than 32 [warps]

  // TWO:       remark[passed]: 2 warps: as set by num-warps [warps]
  // TWO:       func @hinted
  // TWO:       remark[passed]: 2 warps: as set by num-warps [warps]
  // TWO-NEXT:  func @odd
  // TWO-NOT:   is not followed
  nv_tileaa.func @hinted() attributes {nv_tileaa.hints = {num_worker_warps_per_cta = 8 : i32}} {
    nv_tileaa.return
  }
  nv_tileaa.func @odd() attributes {nv_tileaa.hints = {num_worker_warps_per_cta = 6 : i32}} {
    nv_tileaa.return
  }
  nv_tileaa.func @large(%p: !llvm.ptr<1>) {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %m = nv_tileaa.make_memref %p, shape = [128, 256], stride = [256, 1], space = #nv_tileaa.global : !nv_tileaa.memref<128x256xf32>
    %x, %u = nv_tileaa.tiled_load %m, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<128x256xf32> -> tensor<128x256xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
