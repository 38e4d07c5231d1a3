// Made from test/pipelines/programs_of_scales.py: scales of e4m3 for blocks of 16.
entry @gemm_nvfp4_128x256x256(%aP: tile<ptr<f4E2M1FN>>, %aS: tile<i32>, %bP: tile<ptr<f4E2M1FN>>, %bS: tile<i32>, %saP: tile<ptr<f8E4M3FN>>, %saS: tile<i32>, %sbP: tile<ptr<f8E4M3FN>>, %sbS: tile<i32>, %cP: tile<ptr<f32>>, %cS: tile<i32>, %M: tile<i32>, %N: tile<i32>, %K: tile<i32>, %S: tile<i32>, %saX: tile<i32>, %sbX: tile<i32>, %sY: tile<i32>) {
%token = make_token : token
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%tile = constant <i32: 256> : tile<i32>
%i, %j, %z = get_tile_block_id : tile<i32>
%up = subi %tile, %one : tile<i32>
%more = addi %K, %up : tile<i32>
%steps = divi %more, %tile signed : tile<i32>
%aQ = assume div_by<16>, %aP : tile<ptr<f4E2M1FN>>
%aL = assume div_by<32>, %aS : tile<i32>
%aV = make_tensor_view %aQ, shape = [%M, %K], strides = [%aL, 1] : tile<i32> -> tensor_view<?x?xf4E2M1FN, strides=[?, 1]>
%aW = make_partition_view %aV : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?, 1]>>
%bQ = assume div_by<16>, %bP : tile<ptr<f4E2M1FN>>
%bL = assume div_by<32>, %bS : tile<i32>
%bV = make_tensor_view %bQ, shape = [%K, %N], strides = [1, %bL] : tile<i32> -> tensor_view<?x?xf4E2M1FN, strides=[1, ?]>
%bW = make_partition_view %bV : partition_view<tile=(256x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[1, ?]>>
%saQ = assume div_by<16>, %saP : tile<ptr<f8E4M3FN>>
%saL = assume div_by<16>, %saS : tile<i32>
%saV = make_tensor_view %saQ, shape = [%M, %S], strides = [%saL, 1] : tile<i32> -> tensor_view<?x?xf8E4M3FN, strides=[?, 1]>
%saW = make_partition_view %saV : partition_view<tile=(128x16), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?, 1]>>
%sbQ = assume div_by<16>, %sbP : tile<ptr<f8E4M3FN>>
%sbL = assume div_by<16>, %sbS : tile<i32>
%sbV = make_tensor_view %sbQ, shape = [%S, %N], strides = [1, %sbL] : tile<i32> -> tensor_view<?x?xf8E4M3FN, strides=[1, ?]>
%sbW = make_partition_view %sbV : partition_view<tile=(16x256), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[1, ?]>>
%none = constant <f32: 0.0> : tile<128x256xf32>
%y = for %k in (%zero to %steps, step %one) : tile<i32> iter_values(%sum = %none) -> (tile<128x256xf32>) {
%a, %aT = load_view_tko weak %aW[%i, %k] token = %token : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?, 1]>>, tile<i32> -> tile<128x256xf4E2M1FN>, token
%b, %bT = load_view_tko weak %bW[%k, %j] token = %token : partition_view<tile=(256x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[1, ?]>>, tile<i32> -> tile<256x256xf4E2M1FN>, token
%sa, %saT = load_view_tko weak %saW[%i, %k] token = %token : partition_view<tile=(128x16), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?, 1]>>, tile<i32> -> tile<128x16xf8E4M3FN>, token
%sb, %sbT = load_view_tko weak %sbW[%k, %j] token = %token : partition_view<tile=(16x256), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[1, ?]>>, tile<i32> -> tile<16x256xf8E4M3FN>, token
%d = mmaf_scaled %a, %b, %sum, %sa, %sb : tile<128x256xf4E2M1FN>, tile<256x256xf4E2M1FN>, tile<128x256xf32>, tile<128x16xf8E4M3FN>, tile<16x256xf8E4M3FN>
continue %d : tile<128x256xf32>
}
%cQ = assume div_by<16>, %cP : tile<ptr<f32>>
%cL = assume div_by<4>, %cS : tile<i32>
%cV = make_tensor_view %cQ, shape = [%M, %N], strides = [%cL, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
%cW = make_partition_view %cV : partition_view<tile=(128x256), tensor_view<?x?xf32, strides=[?,1]>>
%cT = store_view_tko weak %y, %cW[%i, %j] token = %token : tile<128x256xf32>, partition_view<tile=(128x256), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
return
}
