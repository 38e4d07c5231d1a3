// RUN: tessera-opt %s --split-input-file --verify-diagnostics

entry @e(%i: tile<i32>) {
  // expected-error @below {{operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'}}
  %a = addf %i, %i : tile<i32>
}

// -----

entry @e(%f: tile<f32>) {
  // expected-error @below {{operand #0 must be tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.tile<f32>'}}
  %a = addi %f, %f : tile<f32>
}

// -----

// expected-note @below {{prior use here}}
entry @e(%i: tile<i32>, %f: tile<f32>) {
  // expected-error @below {{use of value '%f' expects different type than prior uses: '!cuda_tile.tile<i32>' vs '!cuda_tile.tile<f32>'}}
  %a = addi %i, %f : tile<i32>
}

// -----

entry @e(%f: tile<f32>) {
  // expected-error @below {{expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', got: 'approx'}}
  %a = addf %f, %f rounding<approx> : tile<f32>
}

// -----

entry @e(%h: tile<f16>) {
  // expected-error @below {{flush_to_zero modifier only supported for f32 data type, but got: 'f16'}}
  %a = mulf %h, %h flush_to_zero : tile<f16>
}

// -----

entry @e(%h: tile<f16>) {
  // expected-error @below {{approx modifier only supported for f32 data type, but got: 'f16'}}
  %a = divf %h, %h rounding<approx> : tile<f16>
}

// -----

entry @e(%h: tile<f16>) {
  // expected-error @below {{full modifier only supported for f32 data type, but got: 'f16'}}
  %a = divf %h, %h rounding<full> : tile<f16>
}

// -----

entry @e(%h: tile<f16>) {
  // expected-error @below {{approx modifier only supported for f32 data type, but got: 'f16'}}
  %a = exp %h rounding<approx> : tile<f16>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{invalid rounding mode specified, expect one of [zero, negative_inf, positive_inf]}}
  %a = divi %i, %i signed rounding<approx> : tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{rounding mode 'negative_inf' is not allowed with 'unsigned' flag}}
  %a = divi %i, %i unsigned rounding<negative_inf> : tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{'no_unsigned_wrap' overflow flag is not supported}}
  %a = negi %i overflow<no_unsigned_wrap> : tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{unknown overflow 'never'; expected one of none, no_signed_wrap, no_unsigned_wrap, no_wrap}}
  %a = addi %i, %i overflow<never> : tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{'cuda_tile.maxi' expected signedness to be one of: {'signed', 'unsigned'}, but got: 'maybe'}}
  %a = maxi %i, %i maybe : tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', 'greater_than', 'greater_than_or_equal'}, but got: 'about'}}
  %a = cmpi about %i, %i, signed : tile<i32> -> tile<i1>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{failed to verify that Result type has i1 element type and same shape as operands: expected '!cuda_tile.tile<i1>', but got '!cuda_tile.tile<2xi1>'}}
  %a = cmpi equal %i, %i, signed : tile<i32> -> tile<2xi1>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{extending to smaller or identical integer}}
  %a = exti %i signed : tile<i32> -> tile<i16>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{truncating to larger or identical integer}}
  %a = trunci %i : tile<i32> -> tile<i64>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{failed to verify that all of {from, to} have same shape}}
  %a = trunci %i : tile<i32> -> tile<1xi16>
}

// -----

entry @e(%f: tile<f32>) {
  // expected-error @below {{converting tiles must not be a no-op}}
  %a = ftof %f : tile<f32> -> tile<f32>
}

// -----

entry @e(%f: tile<f32>) {
  // expected-error @below {{invalid rounding mode specified. Only 'nearest_even' and 'zero' are supported for narrowing}}
  %a = ftof %f rounding<negative_inf> : tile<f32> -> tile<f16>
}

// -----

entry @e(%f: tile<f32>) {
  // expected-error @below {{types must be equal width, cannot convert '!cuda_tile.tile<f32>' of width 32 to type '!cuda_tile.tile<i64>' of width 64}}
  %a = bitcast %f : tile<f32> -> tile<i64>
}

// -----

entry @e(%f: tile<f32>) {
  %a = reshape %f : tile<f32> -> tile<1xf32>
  // expected-error @below {{'cuda_tile.bitcast' op failed to verify that all of {source, result} have same shape}}
  %b = bitcast %a : tile<1xf32> -> tile<1x1xi32>
}

// -----

entry @e(%i: tile<i64>) {
  // expected-error @below {{'cuda_tile.int_to_ptr' op failed to verify that all of {source, result} have same shape}}
  %a = int_to_ptr %i : tile<i64> -> tile<1xptr<f32>>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{integer to f8E8M0FNU conversion is not supported, please first convert to another float type}}
  %a = itof %i signed : tile<i32> -> tile<f8E8M0FNU>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <f16: 0.0> : tile<4x16xf16>
  %b = constant <f16: 0.0> : tile<8x16xf16>
  %c = constant <f32: 0.0> : tile<4x16xf32>
  // expected-error @below {{shape error: dim 1 of lhs (16) and dim 0 of rhs (8) must match, but got lhs shape (4, 16) and rhs shape (8, 16)}}
  %d = mmaf %a, %b, %c : tile<4x16xf16>, tile<8x16xf16>, tile<4x16xf32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <f16: 0.0> : tile<4x8xf16>
  %b = constant <bf16: 0.0> : tile<8x4xbf16>
  %c = constant <f32: 0.0> : tile<4x4xf32>
  // expected-error @below {{failed to verify that all of {lhs, rhs} have the same element type}}
  %d = mmaf %a, %b, %c : tile<4x8xf16>, tile<8x4xbf16>, tile<4x4xf32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <bf16: 0.0> : tile<4x8xbf16>
  %b = constant <bf16: 0.0> : tile<8x4xbf16>
  %c = constant <f16: 0.0> : tile<4x4xf16>
  // expected-error @below {{unsupported combination of element types. Input type 'bf16' expects accumulator/result type to be one of {'f32'}, but got 'f16'}}
  %d = mmaf %a, %b, %c : tile<4x8xbf16>, tile<8x4xbf16>, tile<4x4xf16>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <f16: 0.0> : tile<4xf16>
  %c = constant <f32: 0.0> : tile<4xf32>
  // expected-error @below {{operands must be 2D or 3D tiles}}
  %d = mmaf %a, %a, %c : tile<4xf16>, tile<4xf16>, tile<4xf32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <f16: 0.0> : tile<4x4xf16>
  %c = constant <f32: 0.0> : tile<1x4x4xf32>
  // expected-error @below {{failed to verify that all of {lhs, rhs, acc} have same rank}}
  %d = mmaf %a, %a, %c : tile<4x4xf16>, tile<4x4xf16>, tile<1x4x4xf32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <i16: 0> : tile<4x4xi16>
  %c = constant <i32: 0> : tile<4x4xi32>
  // expected-error @below {{operand #0 must be mmai operand tile type of i8 values, but got '!cuda_tile.tile<4x4xi16>'}}
  %d = mmai %a, %a, %c signed signed : tile<4x4xi16>, tile<4x4xi16>, tile<4x4xi32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.cmpi' does not take 'unsigned' here}}
  %a = cmpi less_than unsigned %i, %i, signed : tile<i32> -> tile<i1>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.divi' expected valid keyword}}
  // expected-error @below {{custom op 'cuda_tile.divi' expected signedness to be one of: {'signed', 'unsigned'}}}
  %a = divi %i, %i : tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{custom op 'cuda_tile.divi' does not take 'unsigned' here}}
  %a = divi %i, %i signed unsigned : tile<i32>
}
