// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
entry @layer_norm_bf16_1024(%arg0: tile<ptr<bf16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<bf16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<bf16>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<ptr<bf16>>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<i32>, %arg16: tile<f32>) optimization_hints=<sm_90 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<bf16>>
  %assume_0 = assume div_by<8>, %arg2 : tile<i32>
  %assume_1 = assume div_by<8>, %arg3 : tile<i32>
  %assume_2 = assume div_by<16>, %arg5 : tile<ptr<bf16>>
  %assume_3 = assume div_by<8>, %arg6 : tile<i32>
  %assume_4 = assume div_by<16>, %arg8 : tile<ptr<bf16>>
  %assume_5 = assume div_by<8>, %arg9 : tile<i32>
  %assume_6 = assume div_by<16>, %arg11 : tile<ptr<bf16>>
  %assume_7 = assume div_by<8>, %arg13 : tile<i32>
  %assume_8 = assume div_by<8>, %arg14 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_9 = constant <i32: 1> : tile<i32>
  %cst_1_i32_10 = constant <i32: 1> : tile<i32>
  %cst_1_i32_11 = constant <i32: 1> : tile<i32>
  %assume_12 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<8>, %assume_assume : tile<i32>
  %assume_assume_13 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_assume_14 = assume div_by<8>, %assume_assume_13 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_12, %assume_assume_assume], strides = [%assume_assume_assume_14, 1] : tile<i32> -> tensor_view<?x?xbf16, strides=[?,1]>
  %assume_assume_15 = assume bounded<0, ?>, %assume_3 : tile<i32>
  %assume_assume_assume_16 = assume div_by<8>, %assume_assume_15 : tile<i32>
  %tview_17 = make_tensor_view %assume_2, shape = [%assume_assume_assume_16], strides = [1] : tile<i32> -> tensor_view<?xbf16, strides=[1]>
  %assume_assume_18 = assume bounded<0, ?>, %assume_5 : tile<i32>
  %assume_assume_assume_19 = assume div_by<8>, %assume_assume_18 : tile<i32>
  %tview_20 = make_tensor_view %assume_4, shape = [%assume_assume_assume_19], strides = [1] : tile<i32> -> tensor_view<?xbf16, strides=[1]>
  %assume_21 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_assume_22 = assume bounded<0, ?>, %assume_7 : tile<i32>
  %assume_assume_assume_23 = assume div_by<8>, %assume_assume_22 : tile<i32>
  %assume_assume_24 = assume bounded<0, ?>, %assume_8 : tile<i32>
  %assume_assume_assume_25 = assume div_by<8>, %assume_assume_24 : tile<i32>
  %tview_26 = make_tensor_view %assume_6, shape = [%assume_21, %assume_assume_assume_23], strides = [%assume_assume_assume_25, 1] : tile<i32> -> tensor_view<?x?xbf16, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x1024), tensor_view<?x?xbf16, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(1x1024), tensor_view<?x?xbf16, strides=[?,1]>>, tile<i32> -> tile<1x1024xbf16>, token
  %1 = ftof %tile  : tile<1x1024xbf16> -> tile<1x1024xf32>
  %reduce = reduce %1 dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %14 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %14 : tile<f32>
  }
  %reshape = reshape %reduce : tile<1xf32> -> tile<1x1xf32>
  %cst_1024_f32 = constant <f32: 1.024000e+03> : tile<f32>
  %reshape_27 = reshape %cst_1024_f32 : tile<f32> -> tile<1x1xf32>
  %2 = divf %reshape, %reshape_27  : tile<1x1xf32>
  %bcast = broadcast %2 : tile<1x1xf32> -> tile<1x1024xf32>
  %3 = subf %1, %bcast  : tile<1x1024xf32>
  %4 = mulf %3, %3  : tile<1x1024xf32>
  %reduce_28 = reduce %4 dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %14 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %14 : tile<f32>
  }
  %reshape_29 = reshape %reduce_28 : tile<1xf32> -> tile<1x1xf32>
  %cst_1024_f32_30 = constant <f32: 1.024000e+03> : tile<f32>
  %reshape_31 = reshape %cst_1024_f32_30 : tile<f32> -> tile<1x1xf32>
  %5 = divf %reshape_29, %reshape_31  : tile<1x1xf32>
  %cst_0_i32_32 = constant <i32: 0> : tile<i32>
  %pview_33 = make_partition_view %tview_17 : partition_view<tile=(1024), tensor_view<?xbf16, strides=[1]>>
  %tile_34, %result_token_35 = load_view_tko weak %pview_33[%cst_0_i32_32] token = %0 : partition_view<tile=(1024), tensor_view<?xbf16, strides=[1]>>, tile<i32> -> tile<1024xbf16>, token
  %6 = ftof %tile_34  : tile<1024xbf16> -> tile<1024xf32>
  %reshape_36 = reshape %6 : tile<1024xf32> -> tile<1x1024xf32>
  %cst_0_i32_37 = constant <i32: 0> : tile<i32>
  %pview_38 = make_partition_view %tview_20 : partition_view<tile=(1024), tensor_view<?xbf16, strides=[1]>>
  %tile_39, %result_token_40 = load_view_tko weak %pview_38[%cst_0_i32_37] token = %0 : partition_view<tile=(1024), tensor_view<?xbf16, strides=[1]>>, tile<i32> -> tile<1024xbf16>, token
  %7 = ftof %tile_39  : tile<1024xbf16> -> tile<1024xf32>
  %reshape_41 = reshape %7 : tile<1024xf32> -> tile<1x1024xf32>
  %cst_0_i32_42 = constant <i32: 0> : tile<i32>
  %reshape_43 = reshape %arg16 : tile<f32> -> tile<1x1xf32>
  %8 = addf %5, %reshape_43  : tile<1x1xf32>
  %9 = rsqrt %8 : tile<1x1xf32>
  %bcast_44 = broadcast %9 : tile<1x1xf32> -> tile<1x1024xf32>
  %10 = mulf %3, %bcast_44  : tile<1x1024xf32>
  %11 = fma %10, %reshape_36, %reshape_41  : tile<1x1024xf32>
  %12 = ftof %11  : tile<1x1024xf32> -> tile<1x1024xbf16>
  %pview_45 = make_partition_view %tview_26 : partition_view<tile=(1x1024), tensor_view<?x?xbf16, strides=[?,1]>>
  %13 = store_view_tko weak %12, %pview_45[%blockId_x, %cst_0_i32_42] token = %0 : tile<1x1024xbf16>, partition_view<tile=(1x1024), tensor_view<?x?xbf16, strides=[?,1]>>, tile<i32> -> token
  return
}
