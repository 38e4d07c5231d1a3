// RUN: tessera-opt %s | tessera-opt | filecheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | filecheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: memref<2x4x64x32xf16>, %k: memref<2x4x80x32xf16>, %v: memref<2x4x80x16xf16>, %i: memref<64xi32>,
                     %j: memref<80xi32>) {
  // CHECK-NEXT: tile.flash_attention %{{.*}}, %{{.*}}, %{{.*}} : (memref<2x4x64x32xf16>, memref<2x4x80x32xf16>, memref<2x4x80x16xf16>) -> memref<2x4x64x16xf16>
  %0 = tile.flash_attention %q, %k, %v : (memref<2x4x64x32xf16>, memref<2x4x80x32xf16>, memref<2x4x80x16xf16>) -> memref<2x4x64x16xf16>
  // CHECK-NEXT: %[[P:.*]]:3 = tile.flash_attention %{{.*}}, %{{.*}}, %{{.*}} at %{{.*}}, %{{.*}} {causal, scale = 1.250000e-01 : f32} : (memref<2x4x64x32xf16>, memref<2x4x80x32xf16>, memref<2x4x80x16xf16>, memref<64xi32>, memref<80xi32>) -> (memref<2x4x64x16xf32>, memref<2x4x64xf32>, memref<2x4x64xf32>)
  %1:3 = tile.flash_attention %q, %k, %v at %i, %j {causal, scale = 0.125 : f32} : (memref<2x4x64x32xf16>, memref<2x4x80x32xf16>, memref<2x4x80x16xf16>, memref<64xi32>, memref<80xi32>) -> (memref<2x4x64x16xf32>, memref<2x4x64xf32>, memref<2x4x64xf32>)
  // CHECK-NEXT: %[[R:.*]]:2 = tile.attention_rescale %[[P]]#0, %[[P]]#2, %[[P]]#1, %[[P]]#1 : memref<2x4x64x16xf32>, memref<2x4x64xf32>
  %2:2 = tile.attention_rescale %1#0, %1#2, %1#1, %1#1 : memref<2x4x64x16xf32>, memref<2x4x64xf32>
  // CHECK-NEXT: tile.attention_divide %[[R]]#0, %[[R]]#1 : memref<2x4x64x16xf32>, memref<2x4x64xf32> -> memref<2x4x64x16xbf16>
  %3 = tile.attention_divide %2#0, %2#1 : memref<2x4x64x16xf32>, memref<2x4x64xf32> -> memref<2x4x64x16xbf16>
  // CHECK-NEXT: tile.iota : memref<64xi32>
  %4 = tile.iota : memref<64xi32>
  return
}
