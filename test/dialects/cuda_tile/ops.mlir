// RUN: tail -n +5 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
// Every op of the dialect in the text that its own tools print (two spaces where they leave two).
cuda_tile.module @kernels attributes {producer = "tests"} {
  global  @table alignment = 16 <f32: [1.000000e+00, 2.000000e+00]> : tile<2xf32>
  global private  constant @flags <i1: true> : tile<4xi1>
  entry @floats(%s: tile<f32>, %h: tile<f16>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}, sm_90 = {}> {
    %a = absf %s : tile<f32>
    %b = negf %a : tile<f32>
    %c = addf %a, %b rounding<zero> flush_to_zero : tile<f32>
    %d = subf %a, %c  : tile<f32>
    %e = mulf %a, %d  flush_to_zero : tile<f32>
    %f = divf %a, %e rounding<approx> : tile<f32>
    %g = remf %a, %f : tile<f32>
    %i = fma %a, %b, %c rounding<positive_inf> : tile<f32>
    %j = maxf %a, %i flush_to_zero propagate_nan : tile<f32>
    %k = minf %a, %j : tile<f32>
    %l = cmpf less_than ordered %a, %k : tile<f32> -> tile<i1>
    %m = ceil %a : tile<f32>
    %n = floor %a : tile<f32>
    %o = sin %a : tile<f32>
    %p = cos %a : tile<f32>
    %q = tan %a : tile<f32>
    %r = sinh %a : tile<f32>
    %t = cosh %a : tile<f32>
    %u = tanh %a rounding<approx> : tile<f32>
    %v = exp %a  : tile<f32>
    %w = exp2 %a flush_to_zero : tile<f32>
    %x = log %a : tile<f32>
    %y = log2 %a : tile<f32>
    %z = sqrt %a rounding<approx> flush_to_zero : tile<f32>
    %aa = rsqrt %a : tile<f32>
    %ab = pow %a, %z : tile<f32>
    %ac = atan2 %a, %z : tile<f32>
    return
  }
  entry @integers(%s: tile<i32>) {
    %a = absi %s : tile<i32>
    %b = negi %a overflow<no_signed_wrap> : tile<i32>
    %c = addi %a, %b : tile<i32>
    %d = subi %a, %c overflow<no_wrap> : tile<i32>
    %e = muli %a, %d : tile<i32>
    %f = mulhii %a, %e : tile<i32>
    %g = divi %a, %f signed rounding<negative_inf> : tile<i32>
    %h = remi %a, %g unsigned : tile<i32>
    %i = shli %a, %h : tile<i32>
    %j = shri %a, %i signed : tile<i32>
    %k = maxi %a, %j signed : tile<i32>
    %l = mini %a, %k unsigned : tile<i32>
    %m = andi %a, %l : tile<i32>
    %n = ori %a, %m : tile<i32>
    %o = xori %a, %n : tile<i32>
    %p = cmpi greater_than_or_equal %a, %o, signed : tile<i32> -> tile<i1>
    %q = exti %a signed : tile<i32> -> tile<i64>
    %r = trunci %q overflow<no_signed_wrap> : tile<i64> -> tile<i8>
    %t = itof %a signed  : tile<i32> -> tile<f32>
    %u = ftoi %t unsigned  : tile<f32> -> tile<i16>
    %v = ftof %t  : tile<f32> -> tile<f16>
    %w = bitcast %t : tile<f32> -> tile<i32>
    assert %p, "a \22message\22" : tile<i1>
    %x = assume bounded<0, ?>, %a : tile<i32>
    %y = assume bounded<?, 7>, %x : tile<i32>
    return
  }
  entry @shapes(%s: tile<f32>, %i: tile<i32>) {
    %a = iota : tile<8xi32>
    %b = assume div_by<4, every 2 along 0>, %a : tile<8xi32>
    %c = assume same_elements<[2]>, %b : tile<8xi32>
    %d = reshape %c : tile<8xi32> -> tile<2x4xi32>
    %e = permute %d [1, 0] : tile<2x4xi32> -> tile<4x2xi32>
    %f = cat %e, %e dim = 1 : tile<4x2xi32>, tile<4x2xi32> -> tile<4x4xi32>
    %g = extract %f[%i, %i] : tile<4x4xi32> -> tile<2x2xi32>
    %h = reshape %s : tile<f32> -> tile<1x1xf32>
    %j = broadcast %h : tile<1x1xf32> -> tile<4x4xf32>
    %k = constant <f32: [[1.000000e+00, -2.500000e+00], [0xFF800000, 0.000000e+00]]> : tile<2x2xf32>
    %l = constant <i1: [true, false]> : tile<2xi1>
    %m = constant <i8: -1> : tile<16xi8>
    %n = cmpf equal unordered %j, %j : tile<4x4xf32> -> tile<4x4xi1>
    %o = select %n, %j, %j : tile<4x4xi1>, tile<4x4xf32>
    %p = pack %a : tile<8xi32> -> tile<32xi8>
    %q = unpack %p : tile<32xi8> -> tile<16xf16>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %nx, %ny, %nz = get_num_tile_blocks : tile<i32>
    return
  }
  entry @products(%s: tile<f16>, %n: tile<i8>) {
    %a = constant <f16: 0.000000e+00> : tile<2x8x16xf16>
    %b = constant <f16: 0.000000e+00> : tile<2x16x4xf16>
    %c = constant <f32: 0.000000e+00> : tile<2x8x4xf32>
    %d = mmaf %a, %b, %c fast_acc : tile<2x8x16xf16>, tile<2x16x4xf16>, tile<2x8x4xf32>
    %e = constant <i8: 0> : tile<8x16xi8>
    %f = constant <i8: 0> : tile<16x8xi8>
    %g = constant <i32: 0> : tile<8x8xi32>
    %h = mmai %e, %f, %g signed unsigned : tile<8x16xi8>, tile<16x8xi8>, tile<8x8xi32>
    %i = constant <f8E4M3FN: 0.000000e+00> : tile<8x64xf8E4M3FN>
    %j = constant <f8E4M3FN: 0.000000e+00> : tile<64x8xf8E4M3FN>
    %k = constant <f8E8M0FNU: 1.000000e+00> : tile<8x2xf8E8M0FNU>
    %l = constant <f8E8M0FNU: 1.000000e+00> : tile<2x8xf8E8M0FNU>
    %m = constant <f32: 0.000000e+00> : tile<8x8xf32>
    %o = mmaf_scaled %i, %j, %m, %k, %l : tile<8x64xf8E4M3FN>, tile<64x8xf8E4M3FN>, tile<8x8xf32>, tile<8x2xf8E8M0FNU>, tile<2x8xf8E8M0FNU>
    return
  }
  entry @control(%n: tile<i32>, %c: tile<i1>, %x: tile<f32>) {
    %zero = constant <i32: 0> : tile<i32>
    for %i in (%zero to %n, step %n) : tile<i32> {
      if %c {
        continue
      }
    }
    %sum:2 = for unsigned %i in (%zero to %n, step %n) : tile<i32> iter_values(%a = %x, %b = %n) -> (tile<f32>, tile<i32>) {
      %d = if %c -> (tile<f32>) {
        yield %a : tile<f32>
      } else {
        yield %x : tile<f32>
      }
      continue %d, %i : tile<f32>, tile<i32>
    }
    loop {
      if %c {
        break
      } else {
        continue
      }
    }
    %last = loop iter_values(%a = %zero) : tile<i32> -> tile<f32> {
      if %c {
        break %x : tile<f32>
      }
      continue %a : tile<i32>
    }
    %big = loop : tile<i32> {
      break %zero : tile<i32>
    }
    if %c {
      return
    }
    %t = iota : tile<8xi32>
    %r = reduce %t dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> 
    (%a: tile<i32>, %b: tile<i32>) {
      %d = addi %a, %b : tile<i32>
      yield %d : tile<i32>
    }
    %p = scan %t dim=0 reverse=true identities=[0 : i32] : tile<8xi32> -> tile<8xi32> 
    (%a: tile<i32>, %b: tile<i32>) {
      %d = addi %a, %b : tile<i32>
      yield %d : tile<i32>
    }
    return
  }
  entry @memory(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
    %t = make_token : token
    %q = assume div_by<16>, %p : tile<ptr<f32>>
    %v = make_tensor_view %q, shape = [%n, 64], strides = [%n, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[?,1]>
    %w = make_tensor_view %q, shape = [8, 4], strides = [4, 1] : tensor_view<8x4xf32, strides=[4,1]>
    %m:2 = get_tensor_shape %v : tensor_view<?x64xf32, strides=[?,1]> -> tile<i64>
    %a = make_partition_view %v : partition_view<tile=(16x32), padding_value = neg_inf, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]>
    %s:2 = get_index_space_shape %a : partition_view<tile=(16x32), padding_value = neg_inf, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]> -> tile<i32>
    %x, %t1 = load_view_tko relaxed device %a[%n, %n] token = %t optimization_hints = <sm_90 = {allow_tma = true, latency = 3}> : partition_view<tile=(16x32), padding_value = neg_inf, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]>, tile<i32> -> tile<16x32xf32>, token
    %t2 = store_view_tko release sys %x, %a[%l, %l] : tile<16x32xf32>, partition_view<tile=(16x32), padding_value = neg_inf, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]>, tile<i64> -> token
    %t3 = join_tokens %t1, %t2 : token
    %r = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b = broadcast %r : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %i = iota : tile<8xi32>
    %o = offset %b, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %k = constant <i1: true> : tile<8xi1>
    %f = constant <f32: 1.500000e+00> : tile<8xf32>
    %y, %t4 = load_ptr_tko weak %o, %k, %f token=%t3 : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
    %z, %t5 = load_ptr_tko acquire sys %o : tile<8xptr<f32>> -> tile<8xf32>, token
    %t6 = store_ptr_tko weak %o, %y, %k token=%t5 : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
    %u, %t7 = atomic_rmw_tko relaxed device %o, addf, %y, %k token=%t6 : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> tile<8xf32>, token
    %cas, %t8 = atomic_cas_tko acq_rel sys %o, %y, %z : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token
    %g = get_global @table : tile<ptr<f32>>
    %ai = ptr_to_int %o : tile<8xptr<f32>> -> tile<8xi64>
    %ap = int_to_ptr %ai : tile<8xi64> -> tile<8xptr<i32>>
    %aq = ptr_to_ptr %ap : tile<8xptr<i32>> -> tile<8xptr<f16>>
    %t9 = print_tko "%d of 100%%: %f", %n, %y token=%t8 : tile<i32>, tile<8xf32> -> token
    %t10 = print_tko "done" -> token
    return
  }
}
