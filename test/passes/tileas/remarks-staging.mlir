// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 --remarks-filter=staging -o %t.ptx 2>&1 | filecheck %s
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_90a --remarks-filter='staging|^tma$' -o %t.ptx 2>&1 | filecheck %s --check-prefix=SM90

// Why the operand of a product comes to shared memory through registers, and not by an asynchronous copy.
// CHECK:      left operand of tile 64x64xf16 goes to shared memory through registers, not by cp.async: its accesses are of 16 bits, and cp.async copies 32, 64 or 128 [staging]
// CHECK:      by cp.async: it is padded with neg_inf, and cp.async pads with zero [staging]
// CHECK:      by cp.async: it is not loaded in a loop, where the copies of later iterations would run ahead [staging]
// CHECK:      by cp.async: 'nv_tileas.tiled_store' at {{.*}} writes global memory in the loop [staging]
// CHECK:      by cp.async: its token orders it after the iteration before [staging]
// CHECK:      by cp.async: its indices do not follow from the induction variable alone [staging]
// The loop of @ahead has asynchronous copies alone.
// CHECK-NOT:  tile 64x64xf16 goes
// CHECK:      left operand of tile 64x32xf16 goes to shared memory through registers
// CHECK:      right operand of tile 32x32xi8 goes to shared memory through registers, not by cp.async: its accesses are of 8 bits
// SM90:       the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads from a base that is not known to be a multiple of 16 bytes: add an assume [tma]
// SM90:       not TMA: nv_tileas.tiled_load reads neg_inf out of bounds, but TMA fills with zeros: pad with zero if that makes no difference [tma]
// SM90:       remark[missed]: right operand of tile 64x64xf16 goes to shared memory through registers, not by TMA: nv_tileas.tiled_load at {{.*}} reads a tile that is not for the product alone: load the tile once for each use [staging]
// SM90:       TMA does not load the tile: nv_tileas.tiled_load reads from a base that is not known to be a multiple of 16 bytes: add an assume [tma]
// SM90:       remark[passed]: an agent of its own computes the factor from what TMA brings, ahead of the product [staging]

entry @narrow(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<2>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %w[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %a, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @padded(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), padding_value = neg_inf, tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %w[%zero, %k] token = %t : partition_view<tile=(64x64), padding_value = neg_inf, tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %a, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @single(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %k = constant <i32: 3> : tile<i32>
  %a, %at = load_view_tko weak %w[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
  %sum = mmaf %a, %a, %init : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @writes(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %w[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %a, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %h = ftof %c : tile<64x64xf32> -> tile<64x64xf16>
    %y = store_view_tko weak %h, %o[%zero, %k] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
    continue %c : tile<64x64xf32>
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @ordered(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum, %last = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init, %tok = %t) -> (tile<64x64xf32>, token) {
    %a, %at = load_view_tko weak %w[%zero, %k] token = %tok : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %a, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c, %at : tile<64x64xf32>, token
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @carried(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum, %last = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init, %i = %zero) -> (tile<64x64xf32>, tile<i32>) {
    %a, %at = load_view_tko weak %w[%zero, %i] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %a, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %next = addi %i, %one : tile<i32>
    continue %c, %next : tile<64x64xf32>, tile<i32>
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @ahead(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %w[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %a, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @shared(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %out = make_tensor_view %q, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %o = make_partition_view %out : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %w[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %h = ftof %a : tile<64x64xf16> -> tile<64x64xf32>
    %g = addf %acc, %h : tile<64x64xf32>
    %c = mmaf %a, %a, %g : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %z = store_view_tko weak %r, %o[%zero, %zero] token = %t : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> token
  return
}

entry @elementwise(%p: tile<ptr<f32>>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
  %a, %u = load_view_tko weak %w[%zero] token = %t : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %b = addf %a, %a : tile<64xf32>
  %z = store_view_tko weak %b, %w[%zero] token = %u : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
  return
}

entry @product(%aP: tile<ptr<f16>>, %ar: tile<i32>, %ac: tile<i32>, %aS: tile<i32>, %bP: tile<ptr<i8>>, %br: tile<i32>, %bc: tile<i32>, %bS: tile<i32>, %dP: tile<ptr<f32>>, %dr: tile<i32>, %dc: tile<i32>, %dS: tile<i32>) {
  %token = make_token : token
  %aQ = assume div_by<16>, %aP : tile<ptr<f16>>
  %aL = assume div_by<8>, %aS : tile<i32>
  %aT = make_tensor_view %aQ, shape = [%ar, %ac], strides = [%aL, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %aV = make_partition_view %aT : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %bQ = assume div_by<16>, %bP : tile<ptr<i8>>
  %bL = assume div_by<16>, %bS : tile<i32>
  %bT = make_tensor_view %bQ, shape = [%br, %bc], strides = [%bL, 1] : tile<i32> -> tensor_view<?x?xi8, strides=[?,1]>
  %bV = make_partition_view %bT : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>>
  %dQ = assume div_by<16>, %dP : tile<ptr<f32>>
  %dL = assume div_by<4>, %dS : tile<i32>
  %dT = make_tensor_view %dP, shape = [%dr, %dc], strides = [%dS, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %dV = make_partition_view %dT : partition_view<tile=(64x32), tensor_view<?x?xf32, strides=[?,1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %ck = constant <i32: 32> : tile<i32>
  %steps = divi %ac, %ck unsigned rounding<positive_inf> : tile<i32>
  %zero = constant <f32: 0.0> : tile<64x32xf32>
  %sum = for %k in (%c0 to %steps, step %c1) : tile<i32> iter_values(%old = %zero) -> (tile<64x32xf32>) {
  %a, %at = load_view_tko weak %aV[%x, %k] token = %token : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x32xf16>, token
  %bi, %bt = load_view_tko weak %bV[%k, %y] token = %token : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>>, tile<i32> -> tile<32x32xi8>, token
  %b = itof %bi signed : tile<32x32xi8> -> tile<32x32xf16>
    %new = mmaf %a, %b, %old : tile<64x32xf16>, tile<32x32xf16>, tile<64x32xf32>
    continue %new : tile<64x32xf32>
  }
  %done = store_view_tko weak %sum, %dV[%x, %y] token = %token : tile<64x32xf32>, partition_view<tile=(64x32), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
