// RUN: tessera-opt %s | filecheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Ops and types are read with and without the dialect's prefix, and printed without.

// CHECK:      entry @long(%a: tile<ptr<f32>>, %n: tile<i32>) {
// CHECK-NEXT:   %t = make_token : token
// CHECK-NEXT:   %c = constant <i32: [1, 2]> : tile<2xi32>
// CHECK-NEXT:   %d = addi %c, %c overflow<no_wrap> : tile<2xi32>
// CHECK-NEXT:   %p = assume div_by<16>, %a : tile<ptr<f32>>
// CHECK-NEXT:   %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
// CHECK-NEXT:   return
cuda_tile.entry @long(%a: !cuda_tile.tile<!cuda_tile.ptr<f32>>, %n: !cuda_tile.tile<i32>) {
  %t = cuda_tile.make_token : !cuda_tile.token
  %c = cuda_tile.constant <i32: [1, 2]> : !cuda_tile.tile<2xi32>
  %d = cuda_tile.addi %c, %c overflow<no_wrap> : !cuda_tile.tile<2xi32>
  %p = cuda_tile.assume #cuda_tile.div_by<16>, %a : !cuda_tile.tile<ptr<f32>>
  %v = cuda_tile.make_tensor_view %p, shape = [%n], strides = [1] : !cuda_tile.tile<i32> -> !cuda_tile.tensor_view<?xf32, strides=[1]>
}

// GENERIC: "cuda_tile.entry"() <{function_type = (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> (), sym_name = "long"}>
// GENERIC: overflow = #cuda_tile.overflow<no_wrap>
// GENERIC: predicate = #cuda_tile.div_by<16>
// GENERIC: "cuda_tile.return"() : () -> ()
