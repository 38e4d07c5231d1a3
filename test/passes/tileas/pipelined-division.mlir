// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 | filecheck %s

// Copies run ahead of the loop, also for iterations after the last.  A division by a constant may be done there …
// CHECK-LABEL: .entry divided_by_seven(
// CHECK: cp.async.cg
entry @divided_by_seven(%A: tile<ptr<f16>>, %B: tile<ptr<f16>>, %D: tile<ptr<f32>>) {
  %c64 = constant <i32: 64> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %a1 = assume div_by<16>, %A : tile<ptr<f16>>
  %b1 = assume div_by<16>, %B : tile<ptr<f16>>
  %va = make_tensor_view %a1, shape = [64, 2048], strides = [2048, 1] : tensor_view<64x2048xf16, strides=[2048,1]>
  %vb = make_tensor_view %b1, shape = [2048, 64], strides = [64, 1] : tensor_view<2048x64xf16, strides=[64,1]>
  %vd = make_tensor_view %D, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %pa = make_partition_view %va : partition_view<tile=(64x32), padding_value = zero, tensor_view<64x2048xf16, strides=[2048,1]>>
  %pb = make_partition_view %vb : partition_view<tile=(32x64), padding_value = zero, tensor_view<2048x64xf16, strides=[64,1]>>
  %pd = make_partition_view %vd : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%c0 to %c64, step %c1) : tile<i32> iter_values(%acc = %zero) -> (tile<64x64xf32>) {
    %q = divi %k, %c7 signed : tile<i32>
    %a, %t1 = load_view_tko weak %pa[%c0, %q] : partition_view<tile=(64x32), padding_value = zero, tensor_view<64x2048xf16, strides=[2048,1]>>, tile<i32> -> tile<64x32xf16>, token
    %b, %t2 = load_view_tko weak %pb[%q, %c0] : partition_view<tile=(32x64), padding_value = zero, tensor_view<2048x64xf16, strides=[64,1]>>, tile<i32> -> tile<32x64xf16>, token
    %n = mmaf %a, %b, %acc : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
    continue %n : tile<64x64xf32>
  }
  %t = store_view_tko weak %sum, %pd[%c0, %c0] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// … but not one whose divisor would be 0 then, however positive it is in the iterations that exist.
// CHECK-LABEL: .entry divisor_of_the_iteration(
// CHECK-NOT: cp.async.cg
entry @divisor_of_the_iteration(%A: tile<ptr<f16>>, %B: tile<ptr<f16>>, %D: tile<ptr<f32>>) {
  %c64 = constant <i32: 64> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %a1 = assume div_by<16>, %A : tile<ptr<f16>>
  %b1 = assume div_by<16>, %B : tile<ptr<f16>>
  %va = make_tensor_view %a1, shape = [64, 2048], strides = [2048, 1] : tensor_view<64x2048xf16, strides=[2048,1]>
  %vb = make_tensor_view %b1, shape = [2048, 64], strides = [64, 1] : tensor_view<2048x64xf16, strides=[64,1]>
  %vd = make_tensor_view %D, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %pa = make_partition_view %va : partition_view<tile=(64x32), padding_value = zero, tensor_view<64x2048xf16, strides=[2048,1]>>
  %pb = make_partition_view %vb : partition_view<tile=(32x64), padding_value = zero, tensor_view<2048x64xf16, strides=[64,1]>>
  %pd = make_partition_view %vd : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%c0 to %c64, step %c1) : tile<i32> iter_values(%acc = %zero) -> (tile<64x64xf32>) {
    %d = subi %c64, %k : tile<i32>
    %q = divi %c7, %d signed : tile<i32>
    %a, %t1 = load_view_tko weak %pa[%c0, %q] : partition_view<tile=(64x32), padding_value = zero, tensor_view<64x2048xf16, strides=[2048,1]>>, tile<i32> -> tile<64x32xf16>, token
    %b, %t2 = load_view_tko weak %pb[%q, %c0] : partition_view<tile=(32x64), padding_value = zero, tensor_view<2048x64xf16, strides=[64,1]>>, tile<i32> -> tile<32x64xf16>, token
    %n = mmaf %a, %b, %acc : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
    continue %n : tile<64x64xf32>
  }
  %t = store_view_tko weak %sum, %pd[%c0, %c0] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}
