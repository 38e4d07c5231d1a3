// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa="gpu-name=sm_80" --canonicalize --convert-tileaa-to-tileas="num-warps=4" --tileas-assign-layouts --tileas-remove-layout-conversions --tileas-materialize-pipeline -o %t
// RUN: filecheck %s --input-file %t

// What stands between a load and a product is done to fragments: the buffer has the tile as it is loaded.
// CHECK-LABEL: nv_tileaa.func @between(
// CHECK: %smem_b = nv_tileas.alloc_tensor : !nv_tileas.smem<{{[0-9]+}}x1x64x32xf16
// CHECK: scf.for
// CHECK: nv_tileas.load %smem_b[%read_stage] offsets = [0, 0, 16] {{.*}} -> tensor<1x64x16xf16
// CHECK-NEXT: nv_tileaa.reshape {{.*}} -> tensor<64x16xf16
// CHECK-NEXT: nv_tileaa.permute {{.*}} [1, 0] {{.*}} -> tensor<16x64xf16
// CHECK-NEXT: nv_tileas.dot
// CHECK-NOT: nv_tileas.convert_layout
// CHECK: scf.yield
entry @between(%A: tile<ptr<f16>>, %B: tile<ptr<f16>>, %C: tile<ptr<f32>>, %n: tile<i32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %tok = make_token : token
  %a = assume div_by<16>, %A : tile<ptr<f16>>
  %b = assume div_by<16>, %B : tile<ptr<f16>>
  %va = make_tensor_view %a, shape = [64, 1024], strides = [1024, 1] : tensor_view<64x1024xf16, strides=[1024,1]>
  %vb = make_tensor_view %b, shape = [1, 64, 1024], strides = [65536, 1024, 1] : tensor_view<1x64x1024xf16, strides=[65536,1024,1]>
  %vc = make_tensor_view %C, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %pa = make_partition_view %va : partition_view<tile=(64x32), tensor_view<64x1024xf16, strides=[1024,1]>>
  %pb = make_partition_view %vb : partition_view<tile=(1x64x32), tensor_view<1x64x1024xf16, strides=[65536,1024,1]>>
  %pc = make_partition_view %vc : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<64x64xf32>) {
    %x, %tx = load_view_tko weak %pa[%0, %i] token = %tok : partition_view<tile=(64x32), tensor_view<64x1024xf16, strides=[1024,1]>>, tile<i32> -> tile<64x32xf16>, token
    %y, %ty = load_view_tko weak %pb[%0, %0, %i] token = %tok : partition_view<tile=(1x64x32), tensor_view<1x64x1024xf16, strides=[65536,1024,1]>>, tile<i32> -> tile<1x64x32xf16>, token
    %y1 = reshape %y : tile<1x64x32xf16> -> tile<64x32xf16>
    %y2 = permute %y1 [1, 0] : tile<64x32xf16> -> tile<32x64xf16>
    %next = mmaf %x, %y2, %acc : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
    continue %next : tile<64x64xf32>
  }
  %ts = store_view_tko weak %sum, %pc[%0, %0] token = %tok : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// An operand in registers is sliced there.  A computed tile goes through a buffer where whole fragments are too large.
// CHECK-LABEL: nv_tileaa.func @computed(
// CHECK: nv_tileas.store %{{.*}}, %smem_a[%{{.*}}] {atom = #cute.copy_atom<sm80_sts_
// CHECK: nv_tileas.load %smem_a[%{{.*}}] offsets = [0, 0]
// CHECK: nv_tileas.slice {{.*}} offsets = [0, 0]
// CHECK: nv_tileas.dot
// CHECK: nv_tileas.load %smem_a[%{{.*}}] offsets = [0, 4]
// CHECK: nv_tileas.slice {{.*}} offsets = [4, 0]
// CHECK: nv_tileas.dot
entry @computed(%A: tile<ptr<f32>>, %C: tile<ptr<f32>>) {
  %0 = constant <i32: 0> : tile<i32>
  %tok = make_token : token
  %va = make_tensor_view %A, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %vc = make_tensor_view %C, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %pa = make_partition_view %va : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %pc = make_partition_view %vc : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %x, %tx = load_view_tko weak %pa[%0, %0] token = %tok : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<64x64xf32>, token
  %y = exp2 %x : tile<64x64xf32>
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %ones = constant <f32: 1.0> : tile<64x64xf32>
  %z = mmaf %y, %ones, %none : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %ts = store_view_tko weak %z, %pc[%0, %0] token = %tok : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// Two products of one load read one buffer.
// CHECK-LABEL: nv_tileaa.func @shared(
// CHECK-COUNT-1: nv_tileas.alloc_tensor
// CHECK-NOT: nv_tileas.alloc_tensor
// CHECK: nv_tileas.store
// CHECK-NOT: nv_tileas.convert_layout
// CHECK-COUNT-8: nv_tileas.dot
entry @shared(%A: tile<ptr<f16>>, %C: tile<ptr<f32>>) {
  %0 = constant <i32: 0> : tile<i32>
  %tok = make_token : token
  %va = make_tensor_view %A, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %vc = make_tensor_view %C, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %pa = make_partition_view %va : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
  %pc = make_partition_view %vc : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %x, %tx = load_view_tko weak %pa[%0, %0] token = %tok : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
  %t = permute %x [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %y = mmaf %x, %t, %none : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %z = mmaf %x, %x, %y : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %ts = store_view_tko weak %z, %pc[%0, %0] token = %tok : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}
