// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{entry op must not return values}}
entry @e(%a: tile<f32>) -> tile<f32> {
  return %a : tile<f32>
}

// -----

// expected-error @below {{entry op must have scalar types (rank 0 !cuda_tile.tile)}}
entry @e(%a: tile<2xf32>) {
}

// -----

// expected-error @below {{duplicate optimization_hints key `sm_90`}}
entry @e() optimization_hints=<sm_90 = {}, sm_90 = {}> {
}

// -----

cuda_tile.module @m {
  // expected-error @below {{type must have rank 1}}
  global @g <f32: 1.0> : tile<f32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{expected integer value, found '1.5'}}
  %a = constant <i32: 1.5> : tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{unexpected decimal integer literal for a floating point value}}
  // expected-note @below {{add a trailing dot to make the literal a float}}
  %a = constant <f32: 1> : tile<f32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{integer constant out of range for type 'i8'}}
  %a = constant <i8: 256> : tile<i8>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{mismatch between the element type: 'i8' and the tile element type 'i32'}}
  %a = constant <i8: 1> : tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{inferred shape of elements literal ([2]) does not match type ([4])}}
  %a = constant <i8: [1, 2]> : tile<4xi8>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{tensor literal is invalid; ranks are not consistent between elements}}
  %a = constant <i8: [[1, 2], [1]]> : tile<2x2xi8>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{expects result type to be 1-d tile}}
  %a = iota : tile<2x2xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{the number of elements 512 exceeds the maximum value of element type 'i8'}}
  %a = iota : tile<512xi8>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{expected source tile and result tile to have the same number of elements}}
  %a = reshape %f : tile<f32> -> tile<2xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{requires the same element type for all operands and results}}
  %a = reshape %f : tile<f32> -> tile<1xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{expects the shape of source tile to be compatible with that of the result tile, but got: 2, 4 and 4, 4}}
  %b = broadcast %a : tile<2x4xf32> -> tile<4x4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{failed to verify that all of {source, result} have same rank}}
  %b = broadcast %f : tile<f32> -> tile<4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{expect permutation elements to be unique}}
  %b = permute %a [1, 1] : tile<2x4xf32> -> tile<4x2xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{result shape invalid at index 0, expected: 4, but got: 2}}
  %b = permute %a [1, 0] : tile<2x4xf32> -> tile<2x4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{invalid concat at position 0, expected: 4 but got: 8}}
  %b = cat %a, %a dim = 0 : tile<2x4xf32>, tile<2x4xf32> -> tile<8x4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %b = constant <f32: 0.0> : tile<2x8xf32>
  // expected-error @below {{expect lhs and rhs shapes to match at non-concat position 1, expected: 4 but got: 8}}
  %c0 = cat %a, %b dim = 0 : tile<2x4xf32>, tile<2x8xf32> -> tile<4x4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{expect lhs and result shapes to match at non-concat position 1, expected: 4 but got: 8}}
  %b = cat %a, %a dim = 0 : tile<2x4xf32>, tile<2x4xf32> -> tile<4x8xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{expected 2 indices, but got 1}}
  %b = extract %a[%n] : tile<2x4xf32> -> tile<1x4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i1: true> : tile<2xi1>
  // expected-error @below {{failed to verify that all of {cond, val_if_true, val_if_false, result} have same shape}}
  %b = select %a, %f, %f : tile<2xi1>, tile<f32>
}

// -----

// expected-note @below {{prior use here}}
entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{use of value '%n' expects different type than prior uses: '!cuda_tile.tile<i1>' vs '!cuda_tile.tile<i32>'}}
  if %n {
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{has non-empty return type, must define else branch}}
  %a = if %c -> (tile<f32>) {
    yield %f : tile<f32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{type does not match yield type, else branch yields '!cuda_tile.tile<i32>' but op result type is '!cuda_tile.tile<f32>'}}
  %a = if %c -> (tile<f32>) {
    yield %f : tile<f32>
  } else {
    yield %n : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{expects parent op to be one of 'cuda_tile.if, cuda_tile.loop'}}
  break
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-note @below {{see unexpected ancestor operation}}
  for %i in (%n to %n, step %n) : tile<i32> {
    if %c {
      // expected-error @below {{can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' operations}}
      break
    }
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  for %i in (%n to %n, step %n) : tile<i32> {
    // expected-error @below {{`for` is missing a valid terminator. `continue` op should have operand types that match the parent loop return types: (), but found: ('!cuda_tile.tile<i32>')}}
    continue %i : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = loop : tile<f32> {
    // expected-error @below {{operand types must correspond to the parent loop result types: ('!cuda_tile.tile<i32>') vs ('!cuda_tile.tile<f32>')}}
    break %n : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{mismatch in number of loop-carried values and defined values}}
  %a = for %i in (%n to %n, step %n) : tile<i32> iter_values(%x = %f) -> (tile<f32>, tile<f32>) {
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = iota : tile<8xi32>
  // expected-error @below {{dimension (1) is out of bound [0, 1)}}
  %b = reduce %a dim=1 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = iota : tile<8xi32>
  // expected-error @below {{expect same type for operand at index: 0 and identity at index: 0 but got: 'i32' and 'i64'}}
  %b = reduce %a dim=0 identities=[0 : i64] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = iota : tile<8xi32>
  // expected-error @below {{inferred type(s) '!cuda_tile.tile<i32>' are incompatible with return type(s) of operation '!cuda_tile.tile<1xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<1xi32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = iota : tile<8xi32>
  // expected-error @below {{expect 2 block arguments but got: 1}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = iota : tile<8xi32>
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    // expected-error @below {{only memory-effect-free operations are allowed inside 'cuda_tile.reduce'}}
    %t = print_tko "no" -> token
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = iota : tile<8xi32>
  // expected-error @below {{'scan' takes a 'reverse' flag}}
  %b = scan %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<8xi32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %c: tile<i1>) {
  for %i in (%n to %n, step %n) : tile<i32> {
    if %c {
      // expected-error @below {{must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation}}
      return
    }
    continue
  }
}

// -----

// expected-error @below {{arguments may only have dialect attributes}}
entry @e(%n: tile<i32> {number = 3}) {
}

// -----

entry @e(%n: tile<i32> {test.number = 3}) {
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{attribute 'permutation' failed to satisfy constraint: i32 dense array attribute}}
  %b = "cuda_tile.permute"(%a) <{permutation = array<i64: 1, 0>}> : (!cuda_tile.tile<2x4xf32>) -> !cuda_tile.tile<4x2xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  // expected-error @below {{attribute 'permutation' failed to satisfy constraint: i32 dense array attribute}}
  %b = "cuda_tile.permute"(%a) <{permutation = 1 : i32}> : (!cuda_tile.tile<2x4xf32>) -> !cuda_tile.tile<4x2xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.constant' a hex string must contain all elements; it is not allowed inside brackets}}
  %a = constant <i32: ["0x00000000", "0x01000000"]> : tile<2xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.constant' elements hex string must start with '0x' and hold pairs of hex digits}}
  %a = constant <i32: "0x0000000"> : tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.constant' expected '<' (the elements of a tile, '<type: …> : tile<…>'), found 'dense<1> : tensor<2xi32>'}}
  %a = constant dense<1> : tensor<2xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.for' op expected at least one block argument for induction variable}}
  %a = "cuda_tile.for"(%n, %n, %n) ({}) : (tile<i32>, tile<i32>, tile<i32>) -> tile<f32>
}

// -----

// The body has no argument for the value that is carried.
entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.for' op mismatch in number of region iterator values and loop iterator inits: 0 vs 1}}
  %a = "cuda_tile.for"(%n, %n, %n, %f) ({
  ^bb0(%i: !cuda_tile.tile<i32>):
    cuda_tile.continue %f : !cuda_tile.tile<f32>
  }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.for' op expected at least one block argument for induction variable}}
  "cuda_tile.for"(%n, %n, %n) ({
  ^bb0:
    cuda_tile.continue
  }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.if' op must define then branch}}
  "cuda_tile.if"(%c) ({}, {}) : (!cuda_tile.tile<i1>) -> ()
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.if' op has return type of '!cuda_tile.tile<f32>' but then branch does not yield anything}}
  %a = if %c -> (tile<f32>) {
    yield
  } else {
    yield %f : tile<f32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.loop' found different number of iter_values and types}}
  %a = loop iter_values(%x = %f) : tile<f32>, tile<f32> -> tile<f32> {
    break %x : tile<f32>
  }
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %c: tile<i1>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  // expected-error @below {{'cuda_tile.if' op result type 0 is a tensor_view, which is not supported}}
  %a = if %c -> (tensor_view<64xf32, strides=[1]>) {
    yield %v : tensor_view<64xf32, strides=[1]>
  } else {
    yield %v : tensor_view<64xf32, strides=[1]>
  }
}

// -----

entry @e(%p: tile<ptr<f32>>, %n: tile<i32>, %c: tile<i1>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{'cuda_tile.for' op loop-carried value 0 is a tile view, which is not supported}}
  for %i in (%n to %n, step %n) : tile<i32> iter_values(%x = %w) -> (partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>) {
    continue %x : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.reduce' op expect at least 1 operand}}
  "cuda_tile.reduce"() <{dim = 0 : i32, identities = []}> ({
    "cuda_tile.yield"() : () -> ()
  }) : () -> ()
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect same number of operands and results}}
  "cuda_tile.reduce"(%a) <{dim = 0 : i32, identities = [0 : i32]}> ({
  ^bb0(%x: !cuda_tile.tile<i32>, %y: !cuda_tile.tile<i32>):
    "cuda_tile.yield"(%x) : (!cuda_tile.tile<i32>) -> ()
  }) : (!cuda_tile.tile<8xi32>) -> ()
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %b = "cuda_tile.reduce"(%a) <{dim = 0 : i32, identities = [0 : i32]}> ({}) : (!cuda_tile.tile<8xi32>) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect non-empty block}}
  %b = "cuda_tile.reduce"(%a) <{dim = 0 : i32, identities = [0 : i32]}> ({
  ^bb0(%x: !cuda_tile.tile<i32>, %y: !cuda_tile.tile<i32>):
  }) : (!cuda_tile.tile<8xi32>) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect number of terminators operands (2) to match number of operands (1)}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x, %y : tile<i32>, tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{custom op 'cuda_tile.scan' expected 'true' or 'false', found 'no'}}
  %b = scan %a dim=0 reverse=no identities=[0 : i32] : tile<8xi32> -> tile<8xi32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.permute' op expects at least rank 2, but got: 1}}
  %b = permute %a [0] : tile<8xi32> -> tile<8xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8x4xi32>
  // expected-error @below {{'cuda_tile.permute' op expect permutation size (1) to equal the rank of the source (2)}}
  %b = permute %a [1] : tile<8x4xi32> -> tile<4x8xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.cat' op expect dim to be [0, 1), but got: 1}}
  %b = cat %a, %a dim = 1 : tile<8xi32>, tile<8xi32> -> tile<16xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.extract' op source and result element type do not match}}
  %b = extract %a[%n] : tile<8xi32> -> tile<4xf32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.print_tko' op found unterminated format expression}}
  print_tko "%l", %n : tile<i32> -> token
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.print_tko' expected attribute value: the format, in quotes}}
  %t = print_tko : tile<i32> -> token
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.assume' expected assume predicate attribute}}
  %a = assume 16 : i32, %n : tile<i32>
}

// -----

// expected-error @below {{custom op 'cuda_tile.entry' expected valid keyword or string, as in '<sm_90 = {occupancy = 2}>'}}
entry @e() optimization_hints=<90 = {occupancy = 2}> {
}

// -----

// expected-error @below {{custom op 'cuda_tile.entry' expected valid keyword or string, as in '<sm_90 = {occupancy = 2}>'}}
entry @e() optimization_hints=< = {occupancy = 2}> {
}

// -----

// expected-error @below {{'cuda_tile.entry' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
"cuda_tile.entry"() <{sym_name = "e", function_type = () -> ()}> ({}) : () -> ()

// -----

// expected-error @below {{'cuda_tile.entry' op entry block arguments must match the function type}}
"cuda_tile.entry"() <{sym_name = "e", function_type = (!cuda_tile.tile<i32>) -> ()}> ({
^bb0(%x: !cuda_tile.tile<f32>):
  "cuda_tile.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{'cuda_tile.testing$func' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
"cuda_tile.testing$func"() <{sym_name = "e", function_type = () -> ()}> ({}) : () -> ()

// -----

// expected-error @below {{'cuda_tile.testing$func' op entry block arguments must match the function type}}
"cuda_tile.testing$func"() <{sym_name = "e", function_type = (!cuda_tile.tile<i32>) -> ()}> ({
^bb0(%x: !cuda_tile.tile<f32>):
  "cuda_tile.return"() : () -> ()
}) : () -> ()

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{custom op 'cuda_tile.constant' elements hex data has 3 bytes, '!cuda_tile.tile<2xi32>' needs 8}}
  %a = constant <i32: "0x010203"> : tile<2xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.for' op init value 0 and region iter_value 0 have different type: '!cuda_tile.tile<f32>' != '!cuda_tile.tile<i32>'}}
  %a = "cuda_tile.for"(%n, %n, %n, %f) ({
  ^bb0(%i: !cuda_tile.tile<i32>, %x: !cuda_tile.tile<i32>):
    "cuda_tile.continue"(%x) : (!cuda_tile.tile<i32>) -> ()
  }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.for' op expected induction variable to be same type as bounds and step: '!cuda_tile.tile<i64>' vs '!cuda_tile.tile<i32>'}}
  "cuda_tile.for"(%n, %n, %n) ({
  ^bb0(%i: !cuda_tile.tile<i64>):
    "cuda_tile.continue"() : () -> ()
  }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.for' op failed to verify that all of {initValues, resultValues} have same type}}
  %a = "cuda_tile.for"(%n, %n, %n, %f) ({
  ^bb0(%i: !cuda_tile.tile<i32>, %x: !cuda_tile.tile<f32>):
    "cuda_tile.continue"(%n) : (!cuda_tile.tile<i32>) -> ()
  }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  // expected-error @below {{'cuda_tile.if' op does not return a value, but then branch yields '!cuda_tile.tile<i32>'}}
  if %c {
    yield %n : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect identities to match the number of operands but got: 1 operands and 2 identities}}
  %b = reduce %a dim=0 identities=[0 : i32, 0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expects a number as identity at index: 0, but got: "zero"}}
  %b = reduce %a dim=0 identities=["zero"] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect 0-rank tile type at index: 0 but got: '!cuda_tile.tile<2xi32>'}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<2xi32>, %y: tile<2xi32>) {
    yield %n : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect same element type for block argument at index: 0 and 1 but got: 'i32' and 'f32'}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<f32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect same type for operand at index: 0 and block argument at index: 0 but got: 'i32' and 'f32'}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<f32>, %y: tile<f32>) {
    yield %n : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.reduce' op expect same type for operand at index: 0 and terminator argument at index: 0 but got: 'i32' and 'f32'}}
  %b = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %f : tile<f32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.scan' op expect same type for operand at index: 0 and result at index: 0}}
  %b = scan %a dim=0 reverse=false identities=[0 : i32] : tile<8xi32> -> tile<8xf32>
  (%x: tile<i32>, %y: tile<i32>) {
    yield %x : tile<i32>
  }
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8x4xi32>
  // expected-error @below {{'cuda_tile.permute' op permutation element at index 1 (2) is out of bound [0, 2)}}
  %b = permute %a [0, 2] : tile<8x4xi32> -> tile<4x8xi32>
}

// -----

entry @e(%n: tile<i32>, %f: tile<f32>, %c: tile<i1>) {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.extract' op source dimension 0 size (8) must be evenly divisible by result dimension 0 size (16)}}
  %b = extract %a[%n] : tile<8xi32> -> tile<16xi32>
}

// -----

cuda_tile.module @m {
  global @g <f32: [1.0]> : tile<1xf32>
  entry @e() {
    // expected-error @below {{'cuda_tile.get_global' op pointee type of result type '!cuda_tile.ptr<i32>' does not match type 'f32' of the global @g}}
    %p = get_global @g : tile<ptr<i32>>
  }
}
