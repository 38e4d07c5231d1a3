// RUN: tessera-opt %s --split-input-file --verify-diagnostics

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.make_tensor_view' op expected pointer to 'f16' to build tensor_view of this type, got 'f32'}}
  %v = "cuda_tile.make_tensor_view"(%p, %n) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> !cuda_tile.tensor_view<?xf16, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{expected 0 dynamic shape operands, got 1}}
  %v = "cuda_tile.make_tensor_view"(%p, %n) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> !cuda_tile.tensor_view<64xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{expected 1 dynamic stride operands, got 0}}
  %v = "cuda_tile.make_tensor_view"(%p, %n) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> !cuda_tile.tensor_view<?xf32, strides=[?]>
}

// -----

// expected-note @below {{prior use here}}
entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{use of value '%p' expects different type than prior uses: '!cuda_tile.tile<ptr<f16>>' vs '!cuda_tile.tile<ptr<f32>>'}}
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf16, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{expected shape declaration to contain 1 elements due to tensor_view type, but 2 were provided}}
  %v = make_tensor_view %p, shape = [%n, %n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{input stride dimension 0 does not match tensor_view type (expected 2, got 1)}}
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[2]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{input shape dimension 0 does not match tensor_view type (expected 4, got dynamic)}}
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<4xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{expected 'tensor_view' type, but got '!cuda_tile.tile<f32>'}}
  %v = make_tensor_view %p, shape = [], strides = [] : tile<f32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  // expected-error @below {{expected 'partition_view' type, but got '!cuda_tile.tensor_view<?xf32, strides=[1]>'}}
  %x = make_partition_view %v : tensor_view<?xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{expected 1 index operands (based on view type), got 2}}
  %x, %t = load_view_tko weak %w[%n, %n] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{expected tile type to be '!cuda_tile.tile<8xf32>' (based on view type), got '!cuda_tile.tile<4xf32>'}}
  %x, %t = load_view_tko weak %w[%n] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{expect one of: weak, relaxed, or acquire, but got: release}}
  %x, %t = load_view_tko release sys %w[%n] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{memory scope is required for relaxed load}}
  %x, %t = load_view_tko relaxed %w[%n] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{operation specifies weak memory ordering semantics, but then provides "sys" scope, expected no memory scope.}}
  %x, %t = load_view_tko weak sys %w[%n] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{invalid memory_ordering_semantics attribute specification. Got "strong" but expect one of: weak, relaxed, acquire, release, acq_rel}}
  %x, %t = load_view_tko strong %w[%n] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  // expected-error @below {{expected tile view, got '!cuda_tile.tensor_view<?xf32, strides=[1]>'}}
  %x = get_index_space_shape %v : tensor_view<?xf32, strides=[1]> -> tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n, 4], strides = [4, 1] : tile<i32> -> tensor_view<?x4xf32, strides=[4,1]>
  // expected-error @below {{'cuda_tile.get_tensor_shape' op expects results of one type}}
  %x:2 = "cuda_tile.get_tensor_shape"(%v) : (!cuda_tile.tensor_view<?x4xf32, strides=[4,1]>) -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i64>)
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n, 4], strides = [4, 1] : tile<i32> -> tensor_view<?x4xf32, strides=[4,1]>
  // expected-error @below {{'cuda_tile.get_tensor_shape' op expected 2 results due to tensor rank, but got 1}}
  %x = "cuda_tile.get_tensor_shape"(%v) : (!cuda_tile.tensor_view<?x4xf32, strides=[4,1]>) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n, 4], strides = [4, 1] : tile<i32> -> tensor_view<?x4xf32, strides=[4,1]>
  %w = make_partition_view %v : partition_view<tile=(8x4), tensor_view<?x4xf32, strides=[4,1]>>
  // expected-error @below {{'cuda_tile.get_index_space_shape' op expects results of one type}}
  %x:2 = "cuda_tile.get_index_space_shape"(%w) : (!cuda_tile.partition_view<tile=(8x4), tensor_view<?x4xf32, strides=[4,1]>>) -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i64>)
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [%n, 4], strides = [4, 1] : tile<i32> -> tensor_view<?x4xf32, strides=[4,1]>
  %w = make_partition_view %v : partition_view<tile=(8x4), tensor_view<?x4xf32, strides=[4,1]>>
  // expected-error @below {{'cuda_tile.get_index_space_shape' op expected 2 results due to view index space rank, but got 1}}
  %x = "cuda_tile.get_index_space_shape"(%w) : (!cuda_tile.partition_view<tile=(8x4), tensor_view<?x4xf32, strides=[4,1]>>) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %q = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  // expected-error @below {{failed to verify that `source` type is expected a pointer type of `result` type}}
  %x, %t = load_ptr_tko weak %q : tile<1xptr<f32>> -> tile<1xf16>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %q = constant <i1: true> : tile<2xi1>
  // expected-error @below {{failed to verify that shape of 'mask' must match the shape of 'source'}}
  %x, %t = load_ptr_tko weak %p, %q : tile<ptr<f32>>, tile<2xi1> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{expected pointee type ('f32') to match element type of 'arg' ('i32')}}
  %x, %t = atomic_rmw_tko relaxed device %p, add, %n : tile<ptr<f32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %q = constant <f32: 0.0> : tile<f32>
  // expected-error @below {{'add' works only with integers i32 and i64}}
  %x, %t = atomic_rmw_tko relaxed device %p, add, %q : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %t = make_token : token
  // expected-error @below {{expect two or more tokens}}
  %u = join_tokens %t : token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{incorrect number of operands: expected 1, found 0}}
  %u = print_tko "%d" -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'g' does not reference a valid global}}
  %u = get_global @g : tile<ptr<f32>>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.div_by' divisor must be a power of 2}}
  %u = assume div_by<3>, %n : tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.div_by' 'every'/'along' cannot be used if the constrained value is a 0D tile}}
  %u = assume div_by<4, every 1 along 0>, %n : tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.bounded' is valid only for tile of integer values}}
  %u = assume bounded<0, ?>, %p : tile<ptr<f32>>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.bounded' expects lower bound to be less than or equal to upper bound}}
  %u = assume bounded<4, 3>, %n : tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{expected number of values in 'cuda_tile.same_elements' (1) to match rank of constrained tile (0)}}
  %u = assume same_elements<[1]>, %n : tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  // expected-error @below {{operand #1 must be variadic of 0D tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.tile<ptr<f32>>'}}
  %v = make_tensor_view %p, shape = [%p], strides = [1] : tile<ptr<f32>> -> tensor_view<?xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>) {
  // expected-error @below {{expected the type of the dynamic values, 'type -> tensor_view<…>'}}
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tensor_view<?xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{custom op 'cuda_tile.make_tensor_view' expected either integer or SSA value, found 'n'}}
  %v = make_tensor_view %p, shape = [n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{custom op 'cuda_tile.make_tensor_view' expected one type for all dynamic values, but got '!cuda_tile.tile<i64>' too}}
  %v = make_tensor_view %p, shape = [%n], strides = [%l] : tile<ptr<f32>>, tile<i32>, tile<i64> -> tensor_view<?xf32, strides=[?]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.make_tensor_view' op expected dynamic stride index 0 to be of the same type as the other dynamic values ('!cuda_tile.tile<i32>'), got '!cuda_tile.tile<i64>'}}
  %v = "cuda_tile.make_tensor_view"(%p, %n, %l) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i64>) -> !cuda_tile.tensor_view<?xf32, strides=[?]>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.make_tensor_view' op pointer base without ptr_attr cannot produce tensor_view with ptr_attr}}
  %v = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<64xf32, strides=[1], <multicast>>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{custom op 'cuda_tile.get_tensor_shape' expected tensor_view, got '!cuda_tile.tile<i32>'}}
  %s = get_tensor_shape %n : tile<i32> -> tile<i64>
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  %x = constant <f32: 1.0> : tile<8xf32>
  // expected-error @below {{custom op 'cuda_tile.store_view_tko' expected the types of the tile and of the view}}
  %t = store_view_tko weak %x, %w[%n] : tile<8xf32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %c: tile<i1>, %x: tile<f32>) {
  // expected-error @below {{custom op 'cuda_tile.store_ptr_tko' takes 2 to 3 operands, found 1}}
  %t = store_ptr_tko weak %p : tile<ptr<f32>> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{custom op 'cuda_tile.load_view_tko' index types must be specified when indices are present}}
  %x, %t = load_view_tko weak %w[%n] : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{custom op 'cuda_tile.load_view_tko' expected 'true' or 'false', found 'yes'}}
  %x, %t = load_view_tko weak %w[%n] inbounds = [yes] : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{custom op 'cuda_tile.load_ptr_tko' takes no 'inbounds'}}
  %x, %t = load_ptr_tko weak %p inbounds = [true] : tile<ptr<f32>> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{'cuda_tile.load_ptr_tko' op weak load must not have memory scope}}
  %x, %t = load_ptr_tko weak device %p : tile<ptr<f32>> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>) {
  // expected-error @below {{'cuda_tile.store_ptr_tko' op weak store must not have memory scope}}
  %t = store_ptr_tko weak sys %p, %x : tile<ptr<f32>>, tile<f32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %c: tile<i1>, %x: tile<f32>) {
  // expected-error @below {{custom op 'cuda_tile.load_ptr_tko' 3 operands present, but expected 2}}
  %y, %t = load_ptr_tko weak %p, %c, %x : tile<ptr<f32>>, tile<i1> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %c: tile<i1>, %x: tile<f32>) {
  // expected-error @below {{custom op 'cuda_tile.load_ptr_tko' expected the types of 2 results, found 1}}
  %y = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{'cuda_tile.load_ptr_tko' op failed to verify that type of 'paddingValue' must match the type of 'result'}}
  %y, %t = load_ptr_tko weak %p, %c, %x : tile<ptr<f32>>, tile<i1>, tile<i32> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{'cuda_tile.store_ptr_tko' op failed to verify that `destination` type is expected a pointer type of `value` type}}
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.atomic_cas_tko' takes no mode}}
  %y, %t = atomic_cas_tko relaxed device %p, add, %x, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.atomic_rmw_tko' expected one of the modes and, or, xor, add, addf, max, min, umax, umin, xchg}}
  %y, %t = atomic_rmw_tko relaxed device %p, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.atomic_rmw_tko' expected arg, and perhaps a mask; found 3 values}}
  %y, %t = atomic_rmw_tko relaxed device %p, add, %x, %c, %c : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.atomic_cas_tko' expected cmp and val, and perhaps a mask; found 1 values}}
  %y, %t = atomic_cas_tko relaxed device %p, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.atomic_rmw_tko' expected the types of the pointers, of the value, and of the mask if there is one}}
  %y, %t = atomic_rmw_tko relaxed device %p, add, %x, %c : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<i16>>, %c: tile<i1>, %x: tile<i16>) {
  // expected-error @below {{'cuda_tile.atomic_cas_tko' op expect only float or integer types with 32 or 64 bit}}
  %y, %t = atomic_cas_tko relaxed device %p, %x, %x : tile<ptr<i16>>, tile<i16> -> tile<i16>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{'cuda_tile.load_view_tko' op expected index type 1 to be the same as other index types ('!cuda_tile.tile<i32>'), got '!cuda_tile.tile<i64>'}}
  %x, %t = load_view_tko weak %w[%n, %l] : partition_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32>, tile<i64> -> tile<8x8xf32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{'cuda_tile.atomic_cas_tko' op memory ordering semantics must be one of: relaxed, acquire, release, acq_rel}}
  %y, %t = atomic_cas_tko weak device %p, %x, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %l: tile<i64>) {
  // expected-error @below {{custom op 'cuda_tile.load_ptr_tko' expected SSA operand, or one of the scopes tl_blk, device, sys; found 'nowhere'}}
  %x, %t = load_ptr_tko weak nowhere %p : tile<ptr<f32>> -> tile<f32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  %m = constant <i1: true> : tile<4xi1>
  // expected-error @below {{'cuda_tile.store_ptr_tko' op failed to verify that shape of 'destination' must match the shape of 'mask'}}
  %t = store_ptr_tko weak %p, %x, %m : tile<ptr<i32>>, tile<i32>, tile<4xi1> -> token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  %m = constant <i1: true> : tile<4xi1>
  // expected-error @below {{'cuda_tile.atomic_cas_tko' op failed to verify that all of {pointers, val, cmp and mask} have same shape}}
  %y, %t = atomic_cas_tko relaxed device %p, %x, %x, %m : tile<ptr<i32>>, tile<i32>, tile<4xi1> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<i32>>, %c: tile<i1>, %x: tile<i32>) {
  // expected-error @below {{'cuda_tile.atomic_rmw_tko' op 'addf' works only with floats f16, bf16, f32, and f64}}
  %y, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
}

// -----

entry @e(%p: tile<ptr<f16>>, %c: tile<i1>, %x: tile<f16>) {
  // expected-error @below {{'cuda_tile.atomic_rmw_tko' op 'xchg' works only with integers or float of 32 or 64 bitwidth}}
  %y, %t = atomic_rmw_tko relaxed device %p, xchg, %x : tile<ptr<f16>>, tile<f16> -> tile<f16>, token
}
