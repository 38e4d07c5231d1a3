// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 --remarks=text -o %t.ptx 2>&1 | filecheck %s
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 --remarks=yaml -o %t.ptx 2>&1 | filecheck %s --check-prefix=YAML
// RUN: tessera-translate %s --mlir-to-ptx --gpu-name=sm_80 -o %t.ptx > %t.out 2>&1
// RUN: not grep remark %t.out

entry @unknown(%p: tile<ptr<f16>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [%m, %n], strides = [%s, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>
  %a, %u = load_view_tko weak %w[%zero, %zero] token = %t : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
  %z = store_view_tko weak %a, %w[%zero, %zero] token = %u : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
  return
}

entry @stride(%p: tile<ptr<f16>>, %m: tile<i32>, %s: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %step = assume div_by<4>, %s : tile<i32>
  %v = make_tensor_view %base, shape = [%m, 64], strides = [%step, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[?,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<?x64xf16, strides=[?,1]>>
  %a, %u = load_view_tko weak %w[%zero, %zero] token = %t : partition_view<tile=(64x64), tensor_view<?x64xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
  %z = store_view_tko weak %a, %w[%zero, %zero] token = %u : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<?x64xf16, strides=[?,1]>>, tile<i32> -> token
  return
}

entry @known(%p: tile<ptr<f16>>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
  %a, %u = load_view_tko weak %w[%zero, %zero] token = %t : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
  %z = store_view_tko weak %a, %w[%zero, %zero] token = %u : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> token
  return
}

entry @small(%p: tile<ptr<f16>>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  %v = make_tensor_view %base, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(64x2), tensor_view<64x64xf16, strides=[64,1]>>
  %a, %u = load_view_tko weak %w[%zero, %zero] token = %t : partition_view<tile=(64x2), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x2xf16>, token
  %z = store_view_tko weak %a, %w[%zero, %zero] token = %u : tile<64x2xf16>, partition_view<tile=(64x2), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> token
  return
}

entry @strided(%p: tile<ptr<f16>>, %n: tile<i32>, %s: tile<i32>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [%n], strides = [%s] : tile<i32> -> tensor_view<?xf16, strides=[?]>
  %w = make_partition_view %v : partition_view<tile=(64), tensor_view<?xf16, strides=[?]>>
  %a, %u = load_view_tko weak %w[%zero] token = %t : partition_view<tile=(64), tensor_view<?xf16, strides=[?]>>, tile<i32> -> tile<64xf16>, token
  %z = store_view_tko weak %a, %w[%zero] token = %u : tile<64xf16>, partition_view<tile=(64), tensor_view<?xf16, strides=[?]>>, tile<i32> -> token
  return
}

// Every fact that is missing is named.
// CHECK:      :11:12: remark[missed]: access of 16 bits at a time, not 128: the base is not known to be a multiple of 16 bytes: add an assume [width]
// CHECK:      note: also, the stride of dimension 0 is not known to be a multiple of 8: add an assume
// CHECK:      note: also, the extent of dimension 1 is not known to be a multiple of 8: add an assume
// CHECK:      :12:8: remark[missed]: access of 16 bits at a time, not 128

// The fact that allows least decides.
// CHECK:      :23:12: remark[missed]: access of 64 bits at a time, not 128: the stride of dimension 0 is not known to be a multiple of 8: add an assume [width]
// CHECK-NOT:  note: also
// CHECK:      :24:8: remark[missed]: access of 64 bits

// CHECK:      :34:12: remark[passed]: access of 128 bits at a time [width]
// CHECK:      :35:8: remark[passed]: access of 128 bits at a time [width]

// What no assumption changes.
// CHECK:      :45:12: remark[missed]: access of 32 bits at a time, not 128: the tile has 2 elements along dimension 1 [width]

// CHECK:      :55:12: remark[missed]: access of 16 bits at a time, not 128: no dimension of the view is known to have stride 1 [width]

// One document of LLVM's format for each remark.
// YAML:      --- !Passed
// YAML-NEXT: Pass:            'convert-tileaa-to-tileas'
// YAML-NEXT: Name:            'warps'
// YAML:      --- !Missed
// YAML-NEXT: Pass:            'tileas-materialize-pipeline'
// YAML-NEXT: Name:            'width'
// YAML-NEXT: DebugLoc:        { File: '{{.*}}remarks-widths.mlir', Line: 11, Column: 12 }
// YAML-NEXT: Function:        'unknown'
// YAML-NEXT: Args:
// YAML-NEXT:   - Category:        'memory'
// YAML-NEXT:   - String:          'access of 16 bits at a time, not 128: the base is not known {{.*}}'
// YAML-NEXT:   - Note:            'also, the stride of dimension 0 is not known to be a multiple of 8: add an assume'
