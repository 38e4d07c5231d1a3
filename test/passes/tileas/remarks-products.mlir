// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 --remarks=text -o %t.ptx 2>&1 | filecheck %s
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_90a --remarks=text -o %t.ptx 2>&1 | filecheck %s --check-prefix=SM90

entry @gemm(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %pb = assume div_by<16>, %p : tile<ptr<f16>>
  %qb = assume div_by<16>, %q : tile<ptr<f16>>
  %av = make_tensor_view %pb, shape = [64, 4096], strides = [4096, 1] : tensor_view<64x4096xf16, strides=[4096,1]>
  %bv = make_tensor_view %qb, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
  %cv = make_tensor_view %r, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %ap = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>
  %bp = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %init = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
    %a, %at = load_view_tko weak %ap[%zero, %k] token = %t : partition_view<tile=(64x64), tensor_view<64x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b, %bt = load_view_tko weak %bp[%k, %zero] token = %t : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %c = mmaf %a, %b, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  %out = exp %sum : tile<64x64xf32>
  %z = store_view_tko weak %out, %cp[%zero, %zero] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

entry @single(%r: tile<ptr<f32>>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %cv = make_tensor_view %r, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %cp = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %a, %at = load_view_tko weak %cp[%zero, %zero] token = %t : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<64x64xf32>, token
  %c = mmaf %a, %a, %a : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %z = store_view_tko weak %c, %cp[%zero, %zero] token = %at : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

// Remarks come in the order of the program.
// CHECK:      :4:1: remark[passed]: 4 warps: one per piece of the products (32), up to 4 [warps]
// CHECK:      :4:1: remark: {{[0-9]+}} of 166912 bytes of shared memory [shared-memory]
// CHECK:      :17:10: remark[passed]: 4 stages of 16384 bytes by cp.async: the maximum is 4 [stages]
// CHECK:      :18:15: remark[passed]: access of 128 bits at a time [width]
// CHECK:      :20:10: remark[passed]: layout of 5 tiles of type 64x64xf32: from mma_atom at {{.*}}:20:10, through 1 loop and 1 elementwise op [layout]
// CHECK:      :20:10: remark[missed]: 'nv_tileas.dot' needs a tile of type 64x64xf16 in a different layout than it has, which is from copy_atom at {{.*}}:18:15; the conversion uses a round trip through shared memory [conversion]
// CHECK:      :20:10: remark[passed]: product by #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32> [product]
// CHECK:      :24:8: remark[missed]: 'nv_tileas.tiled_store' prefers another layout for its tile of type 64x64xf32, but must use the layout of its tied tiles, which is from mma_atom at {{.*}}:20:10, through 1 loop and 1 elementwise op; the cost is a conversion that uses a round trip through shared memory [layout]
// CHECK:      :24:8: remark: layout conversion of 64x64xf32: {{[0-9]+}} stores and {{[0-9]+}} loads per thread through 16384 bytes of shared memory
// CHECK:      :34:8: remark[missed]: product by #cute_nvgpu.mma_atom<fma, f32, f32, f32>: no tensor core instruction multiplies f32 by f32 into f32 [product]
// CHECK:      :34:8: note: convert the operands to tf32, f16 or bf16 if their precision suffices

// SM90:       :18:15: remark[passed]: load by TMA in boxes of 64x64 elements, swizzled by 128 bytes [tma]
// SM90:       :20:10: remark[passed]: pipeline of 5 stages of 16384 bytes: more than the schedule needs, because they fit [stages]
// SM90:       :20:10: remark[passed]: product by #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16> [product]
// SM90:       :24:8: remark[missed]: TMA does not store the tile: nv_tileas.tiled_store writes to a base that is not known to be a multiple of 16 bytes: add an assume [tma]
// SM90:       :34:8: remark[missed]: TMA and wgmma are not used: nv_tileas.dot multiplies f32 by f32 into f32, which wgmma does not support: convert the operands to tf32, f16 or bf16 if their precision suffices [agents]
