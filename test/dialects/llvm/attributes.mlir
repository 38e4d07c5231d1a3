// RUN: tessera-opt %s | tessera-opt | FileCheck %s

#file = #llvm.di_file<"file.cpp" in "/folder/">
#unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #file, isOptimized = true, emissionKind = Full>
#program = #llvm.di_subprogram<compileUnit = #unit, scope = #file, name = "f", file = #file, subprogramFlags = "Definition|Optimized">

// CHECK: llvm.func @vscale() vscale_range(1, 16)
// CHECK-SAME: subprogramFlags = "Definition|Optimized"
llvm.func @vscale() vscale_range(1, 16) attributes {program = #program}

llvm.func @f(%p: !llvm.ptr, %i: i32) -> i32 {
  // CHECK: llvm.call @g(%{{.*}}, %{{.*}}) : (!llvm.ptr {llvm.noalias}, i32) -> ()
  llvm.call @g(%p, %i) : (!llvm.ptr {llvm.noalias}, i32) -> ()
  // CHECK: llvm.call @f(%{{.*}}, %{{.*}}) : (!llvm.ptr, i32) -> (i32 {llvm.noundef})
  %0 = llvm.call @f(%p, %i) : (!llvm.ptr, i32) -> (i32 {llvm.noundef})
  // CHECK: llvm.call_intrinsic "llvm.x"(%{{.*}}) : (i32 {llvm.signext}) -> i32
  %1 = llvm.call_intrinsic "llvm.x"(%i) : (i32 {llvm.signext}) -> (i32)
  // CHECK: startLoc = loc("a":1:2)
  llvm.br ^end {loop_annotation = #llvm.loop_annotation<startLoc = loc("a":1:2), endLoc = loc("a":3:4)>}
^end:
  llvm.return %0 : i32
}
llvm.func @g(!llvm.ptr, i32)
