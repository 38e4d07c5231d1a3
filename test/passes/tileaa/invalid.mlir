// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa --split-input-file --verify-diagnostics

entry @nibbles(%q: tile<ptr<f4E2M1FN>>) {
  %r = reshape %q : tile<ptr<f4E2M1FN>> -> tile<1xptr<f4E2M1FN>>
  %p = broadcast %r : tile<1xptr<f4E2M1FN>> -> tile<2xptr<f4E2M1FN>>
  // expected-error @+1 {{'cuda_tile.load_ptr_tko' op is not supported by convert-cuda-tile-to-tileaa in this version: no accesses of single sub-byte elements ('f4E2M1FN'); weak accesses through partition and strided views with a contiguous last axis are supported}}
  %0, %1 = load_ptr_tko weak %p : tile<2xptr<f4E2M1FN>> -> tile<2xf4E2M1FN>, token
  return
}

// -----

entry @no_zero(%p: tile<ptr<f8E8M0FNU>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [60], strides = [1] : tensor_view<60xf8E8M0FNU, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), padding_value = neg_zero, tensor_view<60xf8E8M0FNU, strides=[1]>>
  // expected-error @+1 {{'cuda_tile.load_view_tko' op is not supported by convert-cuda-tile-to-tileaa in this version: cannot pad 'f8E8M0FNU' elements with neg_zero}}
  %t, %tok = load_view_tko weak %w[%i] : partition_view<tile=(16), padding_value = neg_zero, tensor_view<60xf8E8M0FNU, strides=[1]>>, tile<i32> -> tile<16xf8E8M0FNU>, token
  return
}

// -----

entry @unsigned_floats(%x: tile<f32>) {
  // expected-error @+1 {{'cuda_tile.ftof' op is not supported by convert-cuda-tile-to-tileaa in this version: rounding to 'fnv8E5M3FNU', which has no negative numbers; use another format}}
  %0 = ftof %x : tile<f32> -> tile<fnv8E5M3FNU>
  return
}

// -----

cuda_tile.module @first {
  // expected-note @+1 {{other definition is here}}
  entry @same() {
    return
  }
}
cuda_tile.module @second {
  // expected-error @+1 {{'cuda_tile.entry' op cannot be moved to the module, which already defines @same; rename one of them}}
  entry @same() {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'arith.constant' op is not allowed in a cuda_tile.module; expected 'cuda_tile.entry' or 'cuda_tile.global'}}
  %0 = arith.constant 0 : i32
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>, %n: tile<i32>) {
    // expected-error @below {{'builtin.module' op is not supported by convert-cuda-tile-to-tileaa in this version: only cuda_tile ops and builtin-dialect ops without regions are allowed in an entry}}
    builtin.module {
    }
    return
  }
}
