module attributes {llvm.data_layout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64", llvm.target_triple = "nvptx64-nvidia-cuda"} {
  llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @buf() {addr_space = 3 : i32, alignment = 128 : i64, dso_local} : !llvm.array<16 x i8>
  llvm.mlir.global internal constant @s("abc\00") {addr_space = 0 : i32}
  llvm.mlir.global private unnamed_addr constant @tab(dense<[1, 2, 3]> : tensor<3xi32>) {addr_space = 0 : i32} : !llvm.array<3 x i32>
  llvm.mlir.global private thread_local @fl(1.500000e+00 : f32) {addr_space = 0 : i32} : f32
  llvm.mlir.global internal @undef() {addr_space = 0 : i32} : f32 {
    %0 = llvm.mlir.undef : f32
    llvm.return %0 : f32
  }
  llvm.mlir.global external hidden local_unnamed_addr constant @str("abc") {addr_space = 0 : i32}
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.func @ext(i32 {llvm.noundef}) -> (f32 {llvm.noundef}) attributes {memory_effects = #llvm.memory_effects<other = none, argMem = read, inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>}
  llvm.func internal fastcc @g(%arg0: i32, %arg1: i64) -> i32 attributes {no_inline, passthrough = ["nounwind", ["a", "b"]]} {
    llvm.return %arg0 : i32
  }
  llvm.func hidden unnamed_addr @h()
  llvm.comdat @c {
    llvm.comdat_selector @any any
  }
  llvm.func ptx_kernelcc @k(%arg0: !llvm.ptr<1> {llvm.align = 16 : i32, llvm.noalias, llvm.nonnull}, %arg1: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.struct<(array<16 x i64>)>, nvvm.grid_constant}, %arg2: i32) attributes {frame_pointer = #llvm.framePointerKind<all>, nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.kernel, nvvm.maxnreg = 255 : i32, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>, target_cpu = "sm_90a", target_features = #llvm.target_features<["+ptx86"]>} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %1 = llvm.mlir.constant(2 : index) : i64
    %2 = llvm.mlir.constant(true) : i1
    %3 = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %4 = llvm.mlir.constant(0x7FC0 : bf16) : bf16
    %5 = llvm.mlir.constant(dense<0.000000e+00> : vector<4xf32>) : vector<4xf32>
    %6 = llvm.mlir.constant(dense<[1, 2, 3, 4]> : vector<4xi32>) : vector<4xi32>
    %7 = llvm.mlir.zero : !llvm.struct<(i32, f32)>
    %8 = llvm.mlir.poison : i32
    %9 = llvm.mlir.undef : vector<4xf32>
    %10 = llvm.mlir.none : !llvm.token
    %11 = llvm.mlir.addressof @smem : !llvm.ptr<3>
    %12 = llvm.add %arg2, %0 : i32
    %13 = llvm.add %arg2, %0 overflow<nsw, nuw> : i32
    %14 = llvm.mul %arg2, %0 overflow<nuw> {a = 1 : i64} : i32
    %15 = llvm.udiv exact %arg2, %0 : i32
    %16 = llvm.or disjoint %arg2, %0 : i32
    %17 = llvm.xor %arg2, %0 : i32
    %18 = llvm.fadd %3, %3 {fastmathFlags = #llvm.fastmath<nnan, contract>} : f32
    %19 = llvm.fneg %3 {fastmathFlags = #llvm.fastmath<fast>} : f32
    %20 = llvm.icmp "slt" %arg2, %0 {a} : i32
    %21 = llvm.fcmp "olt" %5, %5 {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
    %22 = llvm.select %20, %arg2, %0 : i1, i32
    %23 = llvm.select %21, %5, %5 {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xi1>, vector<4xf32>
    %24 = llvm.freeze %arg2 : i32
    %25 = llvm.zext nneg %arg2 : i32 to i64
    %26 = llvm.trunc %25 overflow<nsw> : i64 to i32
    %27 = llvm.uitofp nneg %arg2 : i32 to f32
    %28 = llvm.bitcast %5 : vector<4xf32> to vector<4xi32>
    %29 = llvm.addrspacecast %arg0 : !llvm.ptr<1> to !llvm.ptr
    %30 = llvm.ptrtoint %29 : !llvm.ptr to i64
    %31 = llvm.inttoptr %30 dereferenceable<bytes = 8> : i64 to !llvm.ptr
    %32 = llvm.alloca %0 x i32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
    %33 = llvm.alloca inalloca %0 x !llvm.struct<(i32, ptr)> : (i32) -> !llvm.ptr<5>
    %34 = llvm.load %arg0 : !llvm.ptr<1> -> f32
    %35 = llvm.load volatile %arg0 {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf32>
    %36 = llvm.load %arg0 atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %37 = llvm.load %arg0 invariant dereferenceable<bytes = 16, mayBeNull = true> : !llvm.ptr<1> -> !llvm.ptr
    llvm.store %34, %arg0 {alignment = 4 : i64} : f32, !llvm.ptr<1>
    llvm.store volatile %36, %arg0 atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
    %38 = llvm.getelementptr %arg0[%arg2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %39 = llvm.getelementptr inbounds %arg0[0, %arg2, 2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x struct<(i32, f32, i64)>>
    %40 = llvm.getelementptr inbounds|nuw %arg0[4] {a} : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %41 = llvm.getelementptr nusw|nuw %arg0[-4] {a} : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %42 = llvm.atomicrmw add %arg0, %arg2 monotonic : !llvm.ptr<1>, i32
    %43 = llvm.atomicrmw volatile _xor %arg0, %arg2 syncscope("block") acq_rel {alignment = 4 : i64} : !llvm.ptr<1>, i32
    %44 = llvm.cmpxchg weak volatile %arg0, %arg2, %0 syncscope("device") acq_rel monotonic : !llvm.ptr<1>, i32
    llvm.fence syncscope("device") seq_cst
    llvm.fence acquire
    %45 = llvm.extractvalue %44[0] : !llvm.struct<(i32, i1)> 
    %46 = llvm.insertvalue %3, %7[1] : !llvm.struct<(i32, f32)> 
    %47 = llvm.extractelement %5[%arg2 : i32] : vector<4xf32>
    %48 = llvm.insertelement %3, %5[%1 : i64] : vector<4xf32>
    %49 = llvm.shufflevector %5, %5 [0, 1, -1, 7] : vector<4xf32> 
    %50 = llvm.shufflevector %5, %5 [0, 1] : vector<4xf32> 
    %51 = llvm.call @ext(%arg2) : (i32) -> f32
    %52 = llvm.call fastcc @g(%arg2, %30) {fastmathFlags = #llvm.fastmath<fast>} : (i32, i64) -> i32
    %53 = llvm.call @printf(%29, %arg2) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
    %54 = llvm.mlir.addressof @ext : !llvm.ptr
    %55 = llvm.call tail %54(%arg2) : !llvm.ptr, (i32) -> f32
    llvm.call @h() {convergent, no_unwind} : () -> ()
    %56 = llvm.call @ext(%arg2) : (i32) -> f32
    %57 = llvm.inline_asm has_side_effects asm_dialect = att "mov.u32 $0, $1;", "=r,r" %arg2 : (i32) -> i32
    llvm.inline_asm has_side_effects is_align_stack tail_call_kind = <tail> "bar.sync 0;", "~{memory}"  : () -> ()
    %59 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%3) : (f32) -> f32
    llvm.call_intrinsic "llvm.assume"(%2) ["align"(%arg0, %arg2 : !llvm.ptr<1>, i32)] {fastmathFlags = #llvm.fastmath<fast>} : (i1) -> ()
    %60 = llvm.intr.fma(%3, %3, %3) {fastmathFlags = #llvm.fastmath<contract>} : (f32, f32, f32) -> f32
    %61 = llvm.intr.sqrt(%3) : (f32) -> f32
    %62 = llvm.intr.umin(%arg2, %arg2) : (i32, i32) -> i32
    %63 = "llvm.intr.ctlz"(%arg2) <{is_zero_poison = false}> : (i32) -> i32
    %64 = "llvm.intr.abs"(%arg2) <{is_int_min_poison = true}> : (i32) -> i32
    %65 = llvm.intr.fshl(%arg2, %arg2, %0) : (i32, i32, i32) -> i32
    llvm.intr.assume %2 : i1
    llvm.intr.assume %2 ["align"(%arg0, %arg2 : !llvm.ptr<1>, i32)] : i1
    %66 = llvm.intr.expect %arg2, %0 : i32
    "llvm.intr.memcpy"(%arg0, %29, %1) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr, i64) -> ()
    %67 = "llvm.intr.sadd.with.overflow"(%arg2, %0) : (i32, i32) -> !llvm.struct<(i32, i1)>
    %68 = llvm.intr.powi(%3, %arg2) : (f32, i32) -> f32
    %69 = "llvm.intr.vector.reduce.add"(%6) : (vector<4xi32>) -> i32
    %70 = llvm.intr.vector.reduce.fmax(%5) : (vector<4xf32>) -> f32
    %71 = "llvm.intr.vector.reduce.fadd"(%3, %5) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
    %72 = "llvm.intr.is.constant"(%arg2) : (i32) -> i1
    %73 = "llvm.intr.is.fpclass"(%3) <{bit = 3 : i32}> : (f32) -> i1
    llvm.intr.trap
    llvm.intr.lifetime.start %32 : !llvm.ptr
    llvm.br ^bb1(%arg2 : i32)
  ^bb1(%74: i32):  // 2 preds: ^bb0, ^bb3
    llvm.cond_br %20 weights([1, 2]), ^bb2, ^bb3(%74, %3 : i32, f32) {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>, mustProgress = true>}
  ^bb2:  // pred: ^bb1
    llvm.switch %arg2 : i32, ^bb4 [
      1: ^bb4,
      -2: ^bb5(%74 : i32)
    ] {branch_weights = array<i32: 1, 2, 3>}
  ^bb3(%75: i32, %76: f32):  // pred: ^bb1
    llvm.br ^bb1(%75 : i32) {loop_annotation = #llvm.loop_annotation<disableNonforced = false>}
  ^bb4:  // 3 preds: ^bb2, ^bb2, ^bb5
    llvm.unreachable
  ^bb5(%77: i32):  // pred: ^bb2
    llvm.switch %arg2 : i32, ^bb4 [
    ]
  ^bb6:  // no predecessors
    llvm.return
  }
}

