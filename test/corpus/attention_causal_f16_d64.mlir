// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
entry @attention_causal_f16_d64(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>, %arg7: tile<ptr<f16>>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<ptr<f16>>, %arg15: tile<i32>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<i32>, %arg20: tile<i32>, %arg21: tile<ptr<f16>>, %arg22: tile<i32>, %arg23: tile<i32>, %arg24: tile<i32>, %arg25: tile<i32>, %arg26: tile<i32>, %arg27: tile<i32>, %arg28: tile<f32>) optimization_hints=<sm_90 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<8>, %arg3 : tile<i32>
  %assume_1 = assume div_by<8>, %arg4 : tile<i32>
  %assume_2 = assume div_by<8>, %arg5 : tile<i32>
  %assume_3 = assume div_by<16>, %arg7 : tile<ptr<f16>>
  %assume_4 = assume div_by<8>, %arg10 : tile<i32>
  %assume_5 = assume div_by<8>, %arg11 : tile<i32>
  %assume_6 = assume div_by<8>, %arg12 : tile<i32>
  %assume_7 = assume div_by<16>, %arg14 : tile<ptr<f16>>
  %assume_8 = assume div_by<8>, %arg17 : tile<i32>
  %assume_9 = assume div_by<8>, %arg18 : tile<i32>
  %assume_10 = assume div_by<8>, %arg19 : tile<i32>
  %assume_11 = assume div_by<16>, %arg21 : tile<ptr<f16>>
  %assume_12 = assume div_by<8>, %arg24 : tile<i32>
  %assume_13 = assume div_by<8>, %arg25 : tile<i32>
  %assume_14 = assume div_by<8>, %arg26 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_15 = constant <i32: 1> : tile<i32>
  %cst_1_i32_16 = constant <i32: 1> : tile<i32>
  %cst_1_i32_17 = constant <i32: 1> : tile<i32>
  %assume_18 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_19 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<8>, %assume_assume : tile<i32>
  %assume_assume_20 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_assume_21 = assume div_by<8>, %assume_assume_20 : tile<i32>
  %assume_assume_22 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_23 = assume div_by<8>, %assume_assume_22 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_18, %assume_19, %assume_assume_assume], strides = [%assume_assume_assume_21, %assume_assume_assume_23, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_24 = assume bounded<0, ?>, %arg8 : tile<i32>
  %assume_25 = assume bounded<0, ?>, %arg9 : tile<i32>
  %assume_assume_26 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_27 = assume div_by<8>, %assume_assume_26 : tile<i32>
  %assume_assume_28 = assume bounded<0, ?>, %assume_5 : tile<i32>
  %assume_assume_assume_29 = assume div_by<8>, %assume_assume_28 : tile<i32>
  %assume_assume_30 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_31 = assume div_by<8>, %assume_assume_30 : tile<i32>
  %tview_32 = make_tensor_view %assume_3, shape = [%assume_24, %assume_25, %assume_assume_assume_27], strides = [%assume_assume_assume_29, %assume_assume_assume_31, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_33 = assume bounded<0, ?>, %arg15 : tile<i32>
  %assume_34 = assume bounded<0, ?>, %arg16 : tile<i32>
  %assume_assume_35 = assume bounded<0, ?>, %assume_8 : tile<i32>
  %assume_assume_assume_36 = assume div_by<8>, %assume_assume_35 : tile<i32>
  %assume_assume_37 = assume bounded<0, ?>, %assume_9 : tile<i32>
  %assume_assume_assume_38 = assume div_by<8>, %assume_assume_37 : tile<i32>
  %assume_assume_39 = assume bounded<0, ?>, %assume_10 : tile<i32>
  %assume_assume_assume_40 = assume div_by<8>, %assume_assume_39 : tile<i32>
  %tview_41 = make_tensor_view %assume_7, shape = [%assume_33, %assume_34, %assume_assume_assume_36], strides = [%assume_assume_assume_38, %assume_assume_assume_40, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_42 = assume bounded<0, ?>, %arg22 : tile<i32>
  %assume_43 = assume bounded<0, ?>, %arg23 : tile<i32>
  %assume_assume_44 = assume bounded<0, ?>, %assume_12 : tile<i32>
  %assume_assume_assume_45 = assume div_by<8>, %assume_assume_44 : tile<i32>
  %assume_assume_46 = assume bounded<0, ?>, %assume_13 : tile<i32>
  %assume_assume_assume_47 = assume div_by<8>, %assume_assume_46 : tile<i32>
  %assume_assume_48 = assume bounded<0, ?>, %assume_14 : tile<i32>
  %assume_assume_assume_49 = assume div_by<8>, %assume_assume_48 : tile<i32>
  %tview_50 = make_tensor_view %assume_11, shape = [%assume_42, %assume_43, %assume_assume_assume_45], strides = [%assume_assume_assume_47, %assume_assume_assume_49, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %cst_64_i32 = constant <i32: 64> : tile<i32>
  %cst_64_i32_51 = constant <i32: 64> : tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %blockId_x_52, %blockId_y_53, %blockId_z_54 = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_y_53, %blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
  %reshape = reshape %tile : tile<1x64x64xf16> -> tile<64x64xf16>
  %cst_f32 = constant <f32: 0xFF800000> : tile<64x1xf32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<64x1xf32>
  %cst_0_f32_55 = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %1 = muli %blockId_x, %cst_64_i32 : tile<i32>
  %2 = iota : tile<64xi32>
  %reshape_56 = reshape %2 : tile<64xi32> -> tile<64x1xi32>
  %reshape_57 = reshape %1 : tile<i32> -> tile<1x1xi32>
  %bcast = broadcast %reshape_57 : tile<1x1xi32> -> tile<64x1xi32>
  %3 = addi %bcast, %reshape_56 : tile<64x1xi32>
  %cst_1_i32_58 = constant <i32: 1> : tile<i32>
  %4 = addi %blockId_x, %cst_1_i32_58 : tile<i32>
  %5 = muli %4, %cst_64_i32 : tile<i32>
  %6 = addi %5, %cst_64_i32_51 : tile<i32>
  %cst_1_i32_59 = constant <i32: 1> : tile<i32>
  %7 = subi %6, %cst_1_i32_59 : tile<i32>
  %8 = divi %7, %cst_64_i32_51 signed rounding<negative_inf> : tile<i32>
  %cst_0_i32_60 = constant <i32: 0> : tile<i32>
  %cst_1_i32_61 = constant <i32: 1> : tile<i32>
  %cst_0_i32_62 = constant <i32: 0> : tile<i32>
  %cst_0_f32_63 = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %reshape_64 = reshape %arg28 : tile<f32> -> tile<1x1xf32>
  %bcast_65 = broadcast %reshape_64 : tile<1x1xf32> -> tile<64x64xf32>
  %9 = iota : tile<64xi32>
  %reshape_66 = reshape %9 : tile<64xi32> -> tile<1x64xi32>
  %bcast_67 = broadcast %3 : tile<64x1xi32> -> tile<64x64xi32>
  %cst_f32_68 = constant <f32: 0xFF800000> : tile<f32>
  %reshape_69 = reshape %cst_f32_68 : tile<f32> -> tile<1x1xf32>
  %bcast_70 = broadcast %reshape_69 : tile<1x1xf32> -> tile<64x64xf32>
  %cst_0_i32_71 = constant <i32: 0> : tile<i32>
  %for:3 = for %loopIdx in (%cst_0_i32_60 to %8, step %cst_1_i32_61) : tile<i32> iter_values(%iterArg0 = %cst_0_f32_55, %iterArg1 = %cst_0_f32, %iterArg2 = %cst_f32) -> (tile<64x64xf32>, tile<64x1xf32>, tile<64x1xf32>) {
    %pview_76 = make_partition_view %tview_32 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
    %tile_77, %result_token_78 = load_view_tko weak %pview_76[%blockId_y_53, %loopIdx, %cst_0_i32_62] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %reshape_79 = reshape %tile_77 : tile<1x64x64xf16> -> tile<64x64xf16>
    %13 = permute %reshape_79 [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %14 = mmaf %reshape, %13, %cst_0_f32_63 : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %15 = mulf %14, %bcast_65  : tile<64x64xf32>
    %16 = muli %loopIdx, %cst_64_i32_51 : tile<i32>
    %reshape_80 = reshape %16 : tile<i32> -> tile<1x1xi32>
    %bcast_81 = broadcast %reshape_80 : tile<1x1xi32> -> tile<1x64xi32>
    %17 = addi %bcast_81, %reshape_66 : tile<1x64xi32>
    %bcast_82 = broadcast %17 : tile<1x64xi32> -> tile<64x64xi32>
    %18 = cmpi greater_than_or_equal %bcast_67, %bcast_82, signed : tile<64x64xi32> -> tile<64x64xi1>
    %19 = select %18, %15, %bcast_70 : tile<64x64xi1>, tile<64x64xf32>
    %reduce = reduce %19 dim=1 identities=[0xFF800000 : f32] : tile<64x64xf32> -> tile<64xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %29 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
      yield %29 : tile<f32>
    }
    %reshape_83 = reshape %reduce : tile<64xf32> -> tile<64x1xf32>
    %20 = maxf %iterArg2, %reshape_83 : tile<64x1xf32>
    %bcast_84 = broadcast %20 : tile<64x1xf32> -> tile<64x64xf32>
    %21 = subf %19, %bcast_84  : tile<64x64xf32>
    %22 = exp2 %21 : tile<64x64xf32>
    %23 = subf %iterArg2, %20  : tile<64x1xf32>
    %24 = exp2 %23 : tile<64x1xf32>
    %reduce_85 = reduce %22 dim=1 identities=[0.000000e+00 : f32] : tile<64x64xf32> -> tile<64xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %29 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %29 : tile<f32>
    }
    %reshape_86 = reshape %reduce_85 : tile<64xf32> -> tile<64x1xf32>
    %25 = fma %iterArg1, %24, %reshape_86  : tile<64x1xf32>
    %pview_87 = make_partition_view %tview_41 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
    %tile_88, %result_token_89 = load_view_tko weak %pview_87[%blockId_y_53, %loopIdx, %cst_0_i32_71] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %reshape_90 = reshape %tile_88 : tile<1x64x64xf16> -> tile<64x64xf16>
    %26 = ftof %22  : tile<64x64xf32> -> tile<64x64xf16>
    %bcast_91 = broadcast %24 : tile<64x1xf32> -> tile<64x64xf32>
    %27 = mulf %iterArg0, %bcast_91  : tile<64x64xf32>
    %28 = mmaf %26, %reshape_90, %27 : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %28, %25, %20 : tile<64x64xf32>, tile<64x1xf32>, tile<64x1xf32>
  }
  %cst_0_i32_72 = constant <i32: 0> : tile<i32>
  %bcast_73 = broadcast %for#1 : tile<64x1xf32> -> tile<64x64xf32>
  %10 = divf %for#0, %bcast_73  : tile<64x64xf32>
  %11 = ftof %10  : tile<64x64xf32> -> tile<64x64xf16>
  %reshape_74 = reshape %11 : tile<64x64xf16> -> tile<1x64x64xf16>
  %pview_75 = make_partition_view %tview_50 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %12 = store_view_tko weak %reshape_74, %pview_75[%blockId_y_53, %blockId_x, %cst_0_i32_72] token = %0 : tile<1x64x64xf16>, partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> token
  return
}
