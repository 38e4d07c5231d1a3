// A computed tile that is a factor of two products is stored to shared memory once.
// RUN: tessera-opt %s --tessera-pipeline=sm_80 --to=tileas-materialize-pipeline | filecheck %s

// CHECK: scf.for
// CHECK: nv_tileas.store
// CHECK-NOT: nv_tileas.store
// CHECK: scf.yield
cuda_tile.module @m {
  entry @kernel(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %steps: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %xv = make_tensor_view %a, shape = [64, 128], strides = [128, 1] : tensor_view<64x128xf32, strides=[128,1]>
    %yv = make_tensor_view %b, shape = [128, 128], strides = [128, 1] : tensor_view<128x128xf32, strides=[128,1]>
    %xs = make_partition_view %xv : partition_view<tile=(64x128), tensor_view<64x128xf32, strides=[128,1]>>
    %ys = make_partition_view %yv : partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>
    %x, %t0 = load_view_tko weak %xs[%zero, %zero] : partition_view<tile=(64x128), tensor_view<64x128xf32, strides=[128,1]>>, tile<i32> -> tile<64x128xf32>, token
    %first, %t1 = load_view_tko weak %ys[%zero, %zero] : partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>, tile<i32> -> tile<128x128xf32>, token
    %none = constant <f32: 0.0> : tile<64x128xf32>
    %double = addf %x, %x : tile<64x128xf32>
    %left = ftof %x : tile<64x128xf32> -> tile<64x128xtf32>
    %other = ftof %double : tile<64x128xf32> -> tile<64x128xtf32>
    %last, %sum = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%before = %first, %s = %none) -> (tile<128x128xf32>, tile<64x128xf32>) {
      %state = ftof %before : tile<128x128xf32> -> tile<128x128xtf32>
      %p = mmaf %left, %state, %s : tile<64x128xtf32>, tile<128x128xtf32>, tile<64x128xf32>
      %q = mmaf %other, %state, %p : tile<64x128xtf32>, tile<128x128xtf32>, tile<64x128xf32>
      %next = addf %before, %before : tile<128x128xf32>
      continue %next, %q : tile<128x128xf32>, tile<64x128xf32>
    }
    %t2 = store_view_tko weak %last, %ys[%zero, %zero] : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>, tile<i32> -> token
    %t3 = store_view_tko weak %sum, %xs[%zero, %zero] : tile<64x128xf32>, partition_view<tile=(64x128), tensor_view<64x128xf32, strides=[128,1]>>, tile<i32> -> token
    return
  }
}
