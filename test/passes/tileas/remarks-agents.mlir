// RUN: tessera-translate %s --mlir-to-llvmir --gpu-name=sm_90a --remarks-filter='agents|staging|^tma$' -o %t.ll 2>&1 | filecheck %s
// RUN: tessera-translate %s --mlir-to-llvmir --gpu-name=sm_100a --remarks-filter='agents|staging|^tma$' -o %t.ll 2>&1 | filecheck %s --check-prefix=SM100

// Why agents do not compute a product, or something other than TMA brings an operand.  A reason names its own op, and where
// that is, if the remark stands at another one.

// A product whose right operand has rows of 16 bytes.
// CHECK:      remark[missed]: the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads rows of 16 bytes; products read rows of at least 32 bytes from shared memory: use a tile with longer rows [tma]
// SM100:      remark[missed]: the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads rows of 16 bytes; products read rows of at least 32 bytes from shared memory: use a tile with longer rows [tma]
entry @narrow(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 8], strides = [8, 1] : tensor_view<4096x8xf16, strides=[8,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x8), tensor_view<4096x8xf16, strides=[8,1]>>
  %cv = make_tensor_view %rb, shape = [64, 8], strides = [8, 1] : tensor_view<64x8xf32, strides=[8,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x8), tensor_view<64x8xf32, strides=[8,1]>>
  %init = constant <f32: 0.0> : tile<64x8xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x8xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x8), tensor_view<4096x8xf16, strides=[8,1]>>, tile<i32> -> tile<64x8xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x8xf16>, tile<64x8xf32>
    continue %c : tile<64x8xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x8xf32>, partition_view<tile=(64x8), tensor_view<64x8xf32, strides=[8,1]>>, tile<i32> -> token
  return
}

// The next index follows from the sums.
// CHECK:      remark[failed]: TMA and wgmma are not used: nv_tileas.tiled_load has an index or a bound that depends on 'nv_tileaa.reduce' at {{.*}}, which only the consumer executes [agents]
// SM100:      remark[failed]: tcgen05.mma is not used: nv_tileas.tiled_load has an index or a bound that depends on 'nv_tileaa.reduce' at {{.*}}, which only the consumer executes [agents]
entry @index(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum, %last = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init, %h = %zero) -> (tile<64x64xf32>, tile<i32>) {
    %a, %at = load_view_tko weak %ap[%h, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %m = reduce %c dim=0 identities=[0.0 : f32] : tile<64x64xf32> -> tile<64xf32>
    (%x: tile<f32>, %y: tile<f32>) {
      %w = addf %x, %y : tile<f32>
      yield %w : tile<f32>
    }
    %s = reduce %m dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32>
    (%x: tile<f32>, %y: tile<f32>) {
      %w = addf %x, %y : tile<f32>
      yield %w : tile<f32>
    }
    %next = ftoi %s signed : tile<f32> -> tile<i32>
    continue %c, %next : tile<64x64xf32>, tile<i32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// A store waits for the load, and not for the product.
// CHECK:      remark[missed]: TMA and wgmma are not used: nv_tileas.tiled_load is ordered by its token before 'nv_tileas.tiled_store' at {{.*}}, which does not follow the use of the tile: give it another token if the two touch different memory [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: nv_tileas.tiled_load is ordered by its token before 'nv_tileas.tiled_store' at {{.*}}, which does not follow the use of the tile: give it another token if the two touch different memory [agents]
entry @ordered(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %s = store_view_tko weak %acc, %cp[%zero, %zero] token = %at : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// The two CTAs of a cluster add their parts of the sums.
// CHECK:      remark[missed]: TMA and wgmma are not used: nv_tileas.cluster_reduce exchanges values between CTAs, at a barrier of all their threads: compute the kernel without a cluster (num_cta_in_cga = 1) [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: nv_tileas.cluster_reduce exchanges values between CTAs, at a barrier of all their threads: compute the kernel without a cluster (num_cta_in_cga = 1) [agents]
entry @exchange(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {num_cta_in_cga = 2}, sm_100 = {num_cta_in_cga = 2}> {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %m = reduce %sum dim=0 identities=[0.0 : f32] : tile<64x64xf32> -> tile<64xf32>
    (%x: tile<f32>, %y: tile<f32>) {
      %w = addf %x, %y : tile<f32>
      yield %w : tile<f32>
    }
  %m1 = reduce %m dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32>
    (%x: tile<f32>, %y: tile<f32>) {
      %w = addf %x, %y : tile<f32>
      yield %w : tile<f32>
    }
  %m2 = reshape %m1 : tile<f32> -> tile<1x1xf32>
  %m3 = broadcast %m2 : tile<1x1xf32> -> tile<64x64xf32>
  %o = subf %sum, %m3 : tile<64x64xf32>
  %z = store_view_tko weak %o, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// Two products use what is computed from a tile that TMA does not bring.
// CHECK:      remark[missed]: TMA and wgmma are not used: nv_tileas.dot has a right operand computed from what the consumer itself would load and wait for, because nv_tileas.tiled_load at {{.*}} reads from a base that is not known to be a multiple of 16 bytes: add an assume [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: nv_tileas.tiled_load reads from a base that is not known to be a multiple of 16 bytes: add an assume [agents]
entry @twice(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<2>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %e = exp %b : tile<64x64xf16>
    %d = mmaf %a, %e, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %c = mmaf %e, %a, %d : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// The trip count comes from a counter: the agent that converts does not know it.  The one that multiplies is told.
// CHECK-NOT:  the consumer does
// CHECK:      remark[missed]: the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load at {{.*}} is in a loop or branch that depends on what the consumer computes, which the agent that computes the factor does not know in this version [tma]
// SM100-NOT:  tcgen05.mma is not used
// SM100:      remark[missed]: right operand of tile 64x64xf16 goes to shared memory through registers, not by TMA: math.exp at {{.*}} computes it, in the threads of the consumer [staging]
entry @bound(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>, %counter: tile<ptr<i32>>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %init) -> (tile<64x64xf32>) {
    %last, %lt = atomic_rmw_tko relaxed device %counter, add, %one token = %t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %inner = for %k in (%zero to %last, step %one) : tile<i32> iter_values(%acc = %s) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %e = exp %b : tile<64x64xf16>
    %c = mmaf %a, %e, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
    continue %inner : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// Two tiles whose rows are at any place, an element at a time.
// CHECK:      remark[missed]: TMA and wgmma are not used: arith.addf makes a tile that TMA does not bring, because nv_tileas.tiled_load at {{.*}} reads from a base that is not known to be a multiple of 16 bytes; through registers, a thread of the producer would load from 128 addresses for each stage, more than the 32 for which it has registers: add an assume [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: arith.addf makes a tile that TMA does not bring, because nv_tileas.tiled_load at {{.*}} reads from a base that is not known to be a multiple of 16 bytes; through registers, a thread of the producer would load from 128 addresses for each stage, more than the 32 for which it has registers: add an assume [agents]
entry @addresses(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<2>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [128, 4096], strides = [4096, 1] : tensor_view<128x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(128x128), tensor_view<128x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 128], strides = [128, 1] : tensor_view<4096x128xf16, strides=[128,1]>
  %bp = make_partition_view %bv : partition_view<tile=(128x128), tensor_view<4096x128xf16, strides=[128,1]>>
  %cv = make_tensor_view %rb, shape = [128, 128], strides = [128, 1] : tensor_view<128x128xf32, strides=[128,1]>
  %cp = make_partition_view %cv : partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>
  %init = constant <f32: 0.0> : tile<128x128xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<128x128xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(128x128), tensor_view<128x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<128x128xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(128x128), tensor_view<4096x128xf16, strides=[128,1]>>, tile<i32> -> tile<128x128xf16>, token
    %b1, %b1t = load_view_tko weak %bp[%one, %zero] token = %t : partition_view<tile=(128x128), tensor_view<4096x128xf16, strides=[128,1]>>, tile<i32> -> tile<128x128xf16>, token
    %e = addf %b, %b1 : tile<128x128xf16>
    %c = mmaf %a, %e, %acc : tile<128x128xf16>, tile<128x128xf16>, tile<128x128xf32>
    continue %c : tile<128x128xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>, tile<i32> -> token
  return
}

// The first of two loops has a product that has no instruction beside one that has one.
// CHECK:      remark[missed]: TMA and wgmma are not used: nv_tileas.dot multiplies f32 by f32 into f32, which wgmma does not support: convert the operands to tf32, f16 or bf16 if their precision suffices [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: nv_tileas.dot is in a loop with a product that tcgen05.mma does not compute, because nv_tileas.dot at {{.*}} multiplies f32 by f32 into f32, which tcgen05.mma does not support on sm_100: convert the operands to tf32, f16 or bf16 if their precision suffices [agents]
entry @two(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %d = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %af = ftof %a : tile<64x64xf16> -> tile<64x64xf32>
    %bf = ftof %b : tile<64x64xf16> -> tile<64x64xf32>
    %c = mmaf %af, %bf, %d : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %sum1 = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %sum) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum1, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// Both factors are the sums of the iteration before.
// CHECK:      remark[missed]: TMA and wgmma are not used: nv_tileas.dot has no operand that is loaded [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: nv_tileas.dot has no operand that TMA brings, because it has a left operand that a loop or branch gives [agents]
entry @carried(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %h = constant <f16: 1.0> : tile<64x64xf16>
  %sum, %last = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init, %f = %h) -> (tile<64x64xf32>, tile<64x64xf16>) {
    %c = mmaf %f, %f, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %next = ftof %c : tile<64x64xf32> -> tile<64x64xf16>
    continue %c, %next : tile<64x64xf32>, tile<64x64xf16>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// A right factor of rows of 16 bytes, which are the sums of the iteration before.
// CHECK:      remark[missed]: TMA and wgmma are not used: nv_tileas.dot has a right operand of rows of 16 bytes; products read rows of at least 32 bytes from shared memory: use a tile with longer rows [agents]
// SM100:      remark[missed]: tcgen05.mma is not used: nv_tileas.dot has a right operand of rows of 16 bytes; products read rows of at least 32 bytes from shared memory: use a tile with longer rows [agents]
entry @carried_rows(%p: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %cv = make_tensor_view %r, shape = [64, 8], strides = [8, 1] : tensor_view<64x8xf32, strides=[8,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x8), tensor_view<64x8xf32, strides=[8,1]>>
  %init = constant <f32: 0.0> : tile<64x8xf32>
  %h = constant <f16: 1.0> : tile<64x8xf16>
  %sum, %last = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init, %f = %h) -> (tile<64x8xf32>, tile<64x8xf16>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %f, %acc : tile<64x64xf16>, tile<64x8xf16>, tile<64x8xf32>
    %next = ftof %c : tile<64x8xf32> -> tile<64x8xf16>
    continue %c, %next : tile<64x8xf32>, tile<64x8xf16>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x8xf32>, partition_view<tile=(64x8), tensor_view<64x8xf32, strides=[8,1]>>, tile<i32> -> token
  return
}

// The consumer reshapes a tile on its way to the product.
// CHECK:      remark[missed]: right operand of tile 64x64xf16 goes to shared memory through registers, not by TMA: nv_tileas.tiled_load at {{.*}} reads a tile of another shape than the operand: load a tile of the operand's shape [staging]
// SM100:      remark[missed]: right operand of tile 64x64xf16 goes to shared memory through registers, not by TMA: nv_tileas.tiled_load at {{.*}} reads a tile of another shape than the operand: load a tile of the operand's shape [staging]
entry @reshaped(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 128], strides = [128, 1] : tensor_view<4096x128xf16, strides=[128,1]>
  %bp = make_partition_view %bv : partition_view<tile=(32x128), tensor_view<4096x128xf16, strides=[128,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(32x128), tensor_view<4096x128xf16, strides=[128,1]>>, tile<i32> -> tile<32x128xf16>, token
    %e = reshape %b : tile<32x128xf16> -> tile<64x64xf16>
    %c = mmaf %a, %e, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// wgmma takes such a left operand from registers.
// SM100:      remark[missed]: left operand of tile 64x64xf16 goes to tensor memory through registers, not by TMA: math.exp at {{.*}} computes it, in the threads of the consumer [staging]
entry @computed(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %e = exp %a : tile<64x64xf16>
    %c = mmaf %e, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// Elements of 32 bits along N: wgmma reads them along K only, and tcgen05.mma in a swizzle of its own.
// CHECK:      remark[passed]: load by TMA in boxes of 32x32 elements, swizzled by 128 bytes [tma]
// CHECK:      remark[passed]: an agent of its own computes the factor from what TMA brings, ahead of the product [staging]
// SM100:      remark[passed]: load by TMA in boxes of 32x32 elements, swizzled by 128 bytes, 32 at a time [tma]
entry @turned(%p: tile<ptr<tf32>>, %q: tile<ptr<tf32>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<tf32>>
  %qb = assume div_by<16>, %q : tile<ptr<tf32>>
  %rb = assume div_by<16>, %r : tile<ptr<f32>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xtf32, strides=[4096,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x32), tensor_view<64x4096xtf32, strides=[4096,1]>>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xtf32, strides=[64,1]>
  %bp = make_partition_view %bv : partition_view<tile=(32x64), tensor_view<4096x64xtf32, strides=[64,1]>>
  %cv = make_tensor_view %rb, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x32), tensor_view<64x4096xtf32, strides=[4096,1]>>, tile<i32> -> tile<64x32xtf32>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(32x64), tensor_view<4096x64xtf32, strides=[64,1]>>, tile<i32> -> tile<32x64xtf32>, token
    %c = mmaf %a, %b, %acc : tile<64x32xtf32>, tile<32x64xtf32>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %z = store_view_tko weak %sum, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// No product: a box of TMA is at least 16 bytes wide.
// CHECK:      remark[missed]: TMA does not load the tile: nv_tileas.tiled_load reads rows of 8 bytes, which are not whole boxes of 16 bytes: use a tile with longer rows [tma]
entry @thin(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %v = make_tensor_view %pb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(1024x4), tensor_view<4096x64xf16, strides=[64,1]>>
  %o = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %ow = make_partition_view %o : partition_view<tile=(1024x4), tensor_view<4096x64xf16, strides=[64,1]>>
  for %k in (%zero to %n, step %one) : tile<i32> {
    %a, %at = load_view_tko weak %w[%k, %zero] token = %t : partition_view<tile=(1024x4), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<1024x4xf16>, token
    %z = store_view_tko weak %a, %ow[%k, %zero] token = %t : tile<1024x4xf16>, partition_view<tile=(1024x4), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> token
    continue
  }
  return
}
