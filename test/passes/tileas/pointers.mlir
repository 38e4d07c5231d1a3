// RUN: tessera-opt --mlir-print-local-scope %s --convert-cuda-tile-to-tileaa=gpu-name=sm_80 --convert-tileaa-to-tileas --tileas-assign-layouts | filecheck %s

// Lanes lie along the axis of the rows, each with the four neighbors that it loads; pointers, mask and result share a
// layout, and what they are made of is made in it.
// CHECK-LABEL: nv_tileaa.func @columns(
entry @columns(%p: tile<ptr<f32>>, %o: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %r = iota : tile<64xi32>
  %r1 = reshape %r : tile<64xi32> -> tile<64x1xi32>
  %rb = broadcast %r1 : tile<64x1xi32> -> tile<64x16xi32>
  %c = iota : tile<16xi32>
  %c1 = reshape %c : tile<16xi32> -> tile<1x16xi32>
  %cb = broadcast %c1 : tile<1x16xi32> -> tile<64x16xi32>
  %k = constant <i32: 64> : tile<64x16xi32>
  %cm = muli %cb, %k : tile<64x16xi32>
  %at = addi %rb, %cm : tile<64x16xi32>
  %a1 = reshape %a : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %ab = broadcast %a1 : tile<1x1xptr<f32>> -> tile<64x16xptr<f32>>
  // CHECK: nv_tileaa.offset %{{.*}}, %{{.*}}, f32 : tensor<64x16x!llvm.ptr<1>, #[[L:.*]]>, tensor<64x16xi32, #[[L]]>
  %q = offset %ab, %at : tile<64x16xptr<f32>>, tile<64x16xi32> -> tile<64x16xptr<f32>>
  // CHECK: nv_tileaa.load %{{.*}} {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f32>} : tensor<64x16x!llvm.ptr<1>, #nv_tileas.linear<{register = {{\[}}[1, 0], [2, 0]{{.*}}], lane = {{\[}}[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]]
  %v, %t = load_ptr_tko weak %q : tile<64x16xptr<f32>> -> tile<64x16xf32>, token
  // CHECK-NOT: nv_tileas.convert_layout
  %ob = reshape %o : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %oc = broadcast %ob : tile<1x1xptr<f32>> -> tile<64x16xptr<f32>>
  %s = offset %oc, %at : tile<64x16xptr<f32>>, tile<64x16xi32> -> tile<64x16xptr<f32>>
  %u = store_ptr_tko weak %s, %v token=%t : tile<64x16xptr<f32>>, tile<64x16xf32> -> token
  return
}
