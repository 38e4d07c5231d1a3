// RUN: tessera-opt %s --cuda-tile-lint=gpu-name=sm_90 --verify-diagnostics --split-input-file
// RUN: tessera-opt %s --cuda-tile-lint=gpu-name=sm_90 --split-input-file --remarks=yaml 2>&1 | filecheck %s

// CHECK:      --- !Analysis
// CHECK-NEXT: Pass:            'cuda-tile-lint'
// CHECK-NEXT: Name:            'unaligned-base'
// CHECK-NEXT: DebugLoc:        { File: '{{.*}}cuda-tile-lint.mlir', Line: 16, Column: 8 }
// CHECK-NEXT: Function:        'slow'
// CHECK-NEXT: Args:
// CHECK-NEXT:   - Category:        'memory'

entry @slow(%p: tile<ptr<f16>>) {
  %i = constant <i32: 0> : tile<i32>
  // expected-remark @below {{the base address is not known to be aligned}}
  // expected-note @below {{assume div_by<16> of the pointer}}
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
  %x, %t = load_view_tko weak %w[%i, %i] : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
}

// -----

// Nothing to say.
entry @fast(%q: tile<ptr<f16>>) {
  %p = assume div_by<16>, %q : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
  %x, %t = load_view_tko weak %w[%i, %i] : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
}
