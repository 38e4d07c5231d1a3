// RUN: tessera-opt %s --implicit-index-constants -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -

// Stage 2 as the walk-through of the stages prints it.  It leaves %c0 and %c64 undefined: constants of the type of the
// loop's bound.

// CHECK-LABEL: nv_tileaa.func @gemm
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: scf.for %k = %[[C0]] to %K step %[[C64]] iter_args(%acc = %zero) -> (tensor<128x128xf32>)  : i32
// Whether TMA copies a tile is decided later.
// CHECK-COUNT-2: nv_tileaa.tiled_load %{{.*}} {copy_atom = #cute.copy_atom<sm80_ldg_16_f16>} : !nv_tileaa.memref<?x?xf16> -> tensor<128x64xf16>
// B is N×K.
// CHECK: %[[B:.*]] = nv_tileaa.permute %b [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
// CHECK: nv_tileaa.dot %a, %[[B]], %acc
// CHECK: nv_tileaa.tiled_load %off_c, %tok0 {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>}
// CHECK: nv_tileaa.tiled_store %off_d, %d_tile, %tok_c {copy_atom = #cute.copy_atom<sm80_stg_32_f32>}
nv_tileaa.func @gemm(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>,
                    %C: !llvm.ptr<1>, %D: !llvm.ptr<1>,
                    %M: i32, %N: i32, %K: i32) {
  %tok0 = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %bm = nv_tileaa.get_program_id { axis = 0 : i32 } : i32
  %bn = nv_tileaa.get_program_id { axis = 1 : i32 } : i32

  %a_ref = nv_tileaa.make_memref %A, shape = [%M, %K], stride = [%K, 1],
                                 space = #nv_tileaa.global
         : !nv_tileaa.memref<?x?xf16>
  %b_ref = nv_tileaa.make_memref %B, shape = [%N, %K], stride = [%K, 1],
                                 space = #nv_tileaa.global
         : !nv_tileaa.memref<?x?xf16>
  %c_ref = nv_tileaa.make_memref %C, shape = [%M, %N], stride = [%N, 1],
                                 space = #nv_tileaa.global
         : !nv_tileaa.memref<?x?xf32>
  %d_ref = nv_tileaa.make_memref %D, shape = [%M, %N], stride = [%N, 1],
                                 space = #nv_tileaa.global
         : !nv_tileaa.memref<?x?xf32>

  %zero = nv_tileaa.constant_tensor dense<0.0> : tensor<128x128xf32>

  %acc_out = scf.for %k = %c0 to %K step %c64
             iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %off_a = nv_tileaa.addptr %a_ref, [%bm, %k]
           : !nv_tileaa.memref<?x?xf16>
    %a, %tok_a = nv_tileaa.tiled_load %off_a, %tok0
               { copy_atom = #cute.copy_atom<sm90_tma_load_2d_f16> }
               : !nv_tileaa.memref<?x?xf16> -> tensor<128x64xf16>,
                 !nv_tileaa.mem_token
    %off_b = nv_tileaa.addptr %b_ref, [%bn, %k]
           : !nv_tileaa.memref<?x?xf16>
    %b, %tok_b = nv_tileaa.tiled_load %off_b, %tok_a
               { copy_atom = #cute.copy_atom<sm90_tma_load_2d_f16> }
               : !nv_tileaa.memref<?x?xf16> -> tensor<128x64xf16>,
                 !nv_tileaa.mem_token
    %acc_n = nv_tileaa.dot %a, %b, %acc
           { input_precision = "tf32", fastmath = "contract" }
           : tensor<128x64xf16>, tensor<128x64xf16>, tensor<128x128xf32>
              -> tensor<128x128xf32>
    scf.yield %acc_n : tensor<128x128xf32>
  }

  %off_c = nv_tileaa.addptr %c_ref, [%bm, %bn] : !nv_tileaa.memref<?x?xf32>
  %c_tile, %tok_c = nv_tileaa.tiled_load %off_c, %tok0
                  { copy_atom = #cute.copy_atom<sm90_tma_load_2d_f32> }
                  : !nv_tileaa.memref<?x?xf32> -> tensor<128x128xf32>,
                    !nv_tileaa.mem_token

  %d_tile = arith.addf %acc_out, %c_tile : tensor<128x128xf32>

  %off_d = nv_tileaa.addptr %d_ref, [%bm, %bn] : !nv_tileaa.memref<?x?xf32>
  %tok_s = nv_tileaa.tiled_store %off_d, %d_tile, %tok_c
         { copy_atom = #cute.copy_atom<sm90_tma_store_2d_f32> }
         : tensor<128x128xf32>, !nv_tileaa.memref<?x?xf32>, !nv_tileaa.mem_token

  nv_tileaa.return
}
