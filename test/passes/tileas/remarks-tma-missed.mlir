// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_90a --remarks=text -o %t.ptx 2>&1 | filecheck %s
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_90a --num-warps=4 --remarks=text -o %t.ptx 2>&1 | filecheck %s --check-prefix=PLAIN
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_90a --abi=plain --remarks=text -o %t.ptx 2>&1 | filecheck %s --check-prefix=ABI
// RUN: tessera-translate %s --mlir-to-llvmir --gpu-name=sm_100a --num-warps=4 --remarks=text -o %t.ll 2>&1 | filecheck %s --check-prefix=SM100
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 --abi=plain --remarks=text -o %t.ptx 2>&1 | filecheck %s --check-prefix=OLD

// Nothing is known of the stride: what is missing is named, at the load.
// CHECK:     :40:15: remark[missed]: the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads a view whose stride of dimension 0 is not known to be a multiple of 16 bytes: add an assume [tma]
// CHECK:     :40:15: remark[missed]: access of 16 bits at a time, not 128: the stride of dimension 0 is not known to be a multiple of 8: add an assume [width]
// CHECK:     :41:15: remark[passed]: load by TMA
// CHECK:     :42:10: remark[passed]: product by #cute.mma_atom<sm90_wgmma

// Every second element of a row: TMA has no stride there.  The threads of the producer load B.
// CHECK:     the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads a view without a dimension of known unit stride, and TMA has no stride along the innermost one: make the view with the constant stride 1 [tma]
// CHECK:     product by #cute.mma_atom<sm90_wgmma

// PLAIN-DAG: :26:1: remark[passed]: 4 warps: as set by num-warps [warps]
// PLAIN-DAG: :26:1: remark[missed]: TMA and wgmma are not used: agents and their pipelines choose the warps of a kernel, which --num-warps fixes: leave that option out [agents]

// SM100:     :26:1: remark[missed]: TMA and tcgen05.mma are not used: agents and their pipelines choose the warps of a kernel

// An option decides, whatever the facts; sm_80 has no TMA.
// ABI:       :26:1: remark[missed]: TMA and wgmma are not used: the plain ABI has no parameters for tensor maps: leave the option --abi=plain out [agents]
// OLD-NOT:   TMA

entry @strided(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [%s, 1] : tile<i32> -> tensor_view<64x4096xf16, strides=[?,1]>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %r, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[?,1]>>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

entry @every_second(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [128, 2] : tensor_view<4096x64xf16, strides=[128,2]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[128,2]>>
  %cv = make_tensor_view %r, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[128,2]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}
