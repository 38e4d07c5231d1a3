// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @cond_br_weights(%c: i1) {
  // expected-error @below {{expects number of branch weights to match number of successors: 3 vs 2}}
  llvm.cond_br %c weights([1, 2, 3]), ^end, ^end
^end:
  llvm.return
}

// -----

llvm.func @switch_weights(%c: i32) {
  // expected-error @below {{expects number of branch weights to match number of successors: 2 vs 1}}
  llvm.switch %c : i32, ^end [] {branch_weights = array<i32: 1, 2>}
^end:
  llvm.return
}

// -----

llvm.func @switch_type(%c: i64) {
  // expected-error @below {{expects case value type to match condition value type}}
  "llvm.switch"(%c)[^end, ^end] <{case_operand_segments = array<i32: 0>, case_values = dense<42> : vector<1xi32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i64) -> ()
^end:
  llvm.return
}

// -----

llvm.func @f(i32, ...)
llvm.func @not_variadic(%a: i32) {
  // expected-error @below {{expected var_callee_type to be a variadic function type}}
  llvm.call @f(%a) vararg(!llvm.func<void (i32)>) : (i32) -> ()
  llvm.return
}

// -----

llvm.func @too_many(%f: !llvm.ptr, %a: i32) {
  // expected-error @below {{expected var_callee_type to have at most 1 parameters}}
  llvm.call %f(%a) vararg(!llvm.func<void (i32, i64, ...)>) : !llvm.ptr, (i32) -> ()
  llvm.return
}

// -----

llvm.func @parameter(%f: !llvm.ptr, %a: i32) {
  // expected-error @below {{var_callee_type parameter type mismatch: 'i64' != 'i32'}}
  llvm.call %f(%a) vararg(!llvm.func<void (i64, ...)>) : !llvm.ptr, (i32) -> ()
  llvm.return
}

// -----

llvm.func @no_result(%f: !llvm.ptr, %a: i32) {
  // expected-error @below {{expected var_callee_type to return void}}
  llvm.call %f(%a) vararg(!llvm.func<i8 (i32, ...)>) : !llvm.ptr, (i32) -> ()
  llvm.return
}

// -----

llvm.func @result(%f: !llvm.ptr, %a: i32) {
  // expected-error @below {{var_callee_type return type mismatch: 'i8' != 'i32'}}
  %0 = llvm.call %f(%a) vararg(!llvm.func<i8 (i32, ...)>) : !llvm.ptr, (i32) -> i32
  llvm.return
}

// -----

llvm.func @void_result(%f: !llvm.ptr) {
  // expected-error @below {{expected a non-void result type}}
  llvm.call %f() : !llvm.ptr, () -> !llvm.void
  llvm.return
}

// -----

llvm.func @musttail(%a: i32) {
  // expected-error @below {{tail call kind 'musttail' is not supported by this operation}}
  %0 = llvm.inline_asm tail_call_kind = <musttail> "", "=r,r" %a : (i32) -> i8
  llvm.return
}

// -----

llvm.func @scalable_shuffle(%v: vector<[4]xf32>) {
  // expected-error @below {{expected a splat operation for scalable vectors}}
  %0 = llvm.shufflevector %v, %v [0, 0, 0, 1] : vector<[4]xf32>
  llvm.return
}

// -----

// expected-error @below {{no_inline and always_inline attributes are incompatible}}
llvm.func @inline() attributes {always_inline, no_inline} {
  llvm.return
}

// -----

// expected-error @below {{with optimize_none must also be no_inline}}
llvm.func @optimize_none() attributes {optimize_none} {
  llvm.return
}

// -----

llvm.comdat @group {
  llvm.comdat_selector @any any
}
llvm.func @chosen() comdat(@group::@any) {
  llvm.return
}
// expected-error @below {{expected comdat symbol}}
llvm.mlir.global @no_selector(0 : i32) comdat(@chosen) : i32

// -----

llvm.comdat @group {
  // expected-error @below {{only comdat selector symbols can appear in a comdat region}}
  llvm.unreachable
}

// -----

// expected-error @below {{only integer and string values are currently supported for unknown key '"k"'}}
llvm.module_flags [#llvm.mlir.module_flag<error, "k", @f>]

// -----

// expected-error @below {{'CG Profile' key expects an array of '#llvm.cgprofile_entry'}}
llvm.module_flags [#llvm.mlir.module_flag<append, "CG Profile", ["f"]>]

// -----

// expected-error @below {{expected a module flag attribute}}
llvm.module_flags [1 : i32]

// -----

#file = #llvm.di_file<"f.c" in "/">
#unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #file, isOptimized = false, emissionKind = Full>
#program = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #unit, scope = #file, name = "f", file = #file, subprogramFlags = Definition>
llvm.func @callee() {
  llvm.return
} loc(fused<#program>["f.c":1:1])
llvm.func @caller() {
  llvm.call @callee() : () -> () loc("f.c":3:1)
  // expected-error @unknown {{inlinable function call in a function with a DISubprogram location must have a debug location}}
  llvm.call @callee() : () -> () loc(unknown)
  llvm.return
} loc(fused<#program>["f.c":2:1])

// -----

llvm.func @case_operands(%f: i32, %x: f32) {
  // expected-error @below {{'llvm.switch' op 'case_operand_segments' must add up to the number of case operands}}
  "llvm.switch"(%f, %x)[^bb1, ^bb2] <{case_operand_segments = array<i32: 0>, case_values = dense<1> : vector<1xi32>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
^bb1:
  llvm.return
^bb2:
  llvm.return
}

// -----

llvm.func @return_of_void(%x: i32) {
  // expected-error @below {{'llvm.return' op expected no operands, as the function returns void}}
  llvm.return %x : i32
}

// -----

llvm.func @return_of_nothing() -> i32 {
  // expected-error @below {{'llvm.return' op expected one operand of type 'i32'}}
  llvm.return
}
