// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  func.func @f(%arg0: f32, %arg1: vector<4xf32>, %arg2: vector<4x8xf32>, %arg3: index, %arg4: memref<?x?xf32>, %arg5: vector<4xi1>, %arg6: memref<?x?xvector<4xf32>>, %arg7: tensor<?x?xf32>, %arg8: vector<4xi32>, %arg9: memref<?xf32>) {
    %0 = vector.broadcast %arg0 : f32 to vector<4xf32>
    %1 = vector.extract %arg2[2] : vector<8xf32> from vector<4x8xf32>
    %2 = vector.extract %arg2[2, %arg3] : f32 from vector<4x8xf32>
    %3 = vector.extract %arg1[] : vector<4xf32> from vector<4xf32>
    %4 = vector.insert %arg0, %arg2 [1, %arg3] : f32 into vector<4x8xf32>
    %5 = vector.insert %1, %arg2 [1] : vector<8xf32> into vector<4x8xf32>
    %6 = vector.load %arg4[%arg3, %arg3] : memref<?x?xf32>, vector<4xf32>
    %7 = vector.load %arg4[%arg3, %arg3] {alignment = 16 : i64, nontemporal = true} : memref<?x?xf32>, vector<4xf32>
    vector.store %arg1, %arg4[%arg3, %arg3] : memref<?x?xf32>, vector<4xf32>
    %8 = vector.transfer_read %arg4[%arg3, %arg3], %arg0 : memref<?x?xf32>, vector<4x8xf32>
    %9 = vector.transfer_read %arg4[%arg3, %arg3], %arg0 {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x?xf32>, vector<4xf32>
    %10 = vector.transfer_read %arg4[%arg3, %arg3], %arg0, %arg5 {in_bounds = [true]} : memref<?x?xf32>, vector<4xf32>
    vector.transfer_write %arg1, %arg4[%arg3, %arg3] : vector<4xf32>, memref<?x?xf32>
    vector.transfer_write %arg1, %arg4[%arg3, %arg3], %arg5 {in_bounds = [true]} : vector<4xf32>, memref<?x?xf32>
    %11 = vector.transfer_write %arg1, %arg7[%arg3, %arg3] : vector<4xf32>, tensor<?x?xf32>
    %12 = vector.shape_cast %arg2 : vector<4x8xf32> to vector<32xf32>
    %13 = vector.fma %arg1, %arg1, %arg1 : vector<4xf32>
    %14 = vector.shuffle %arg1, %arg1 [0, 1, -1, 7] : vector<4xf32>, vector<4xf32>
    %15 = vector.reduction <add>, %arg1 : vector<4xf32> into f32
    %16 = vector.reduction <add>, %arg1, %arg0 fastmath<reassoc> : vector<4xf32> into f32
    %17 = vector.bitcast %arg1 : vector<4xf32> to vector<8xf16>
    %18 = vector.extract_strided_slice %arg2 {offsets = [0, 2], sizes = [2, 4], strides = [1, 1]} : vector<4x8xf32> to vector<2x4xf32>
    %19 = vector.insert_strided_slice %18, %arg2 {offsets = [0, 2], strides = [1, 1]} : vector<2x4xf32> into vector<4x8xf32>
    %20 = vector.transpose %arg2, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
    %21 = vector.multi_reduction <add>, %arg2, %arg1 [1] : vector<4x8xf32> to vector<4xf32>
    %22 = vector.outerproduct %arg1, %arg1 : vector<4xf32>, vector<4xf32>
    %23 = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %arg2, %20, %22 : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
    %24 = vector.create_mask %arg3, %arg3 : vector<4x8xi1>
    %25 = vector.constant_mask [2, 3] : vector<4x8xi1>
    %26 = vector.from_elements %arg0, %arg0 : vector<2xf32>
    %27:2 = vector.to_elements %26 : vector<2xf32>
    %28 = vector.maskedload %arg4[%arg3, %arg3], %arg5, %arg1 : memref<?x?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.maskedstore %arg4[%arg3, %arg3], %arg5, %arg1 : memref<?x?xf32>, vector<4xi1>, vector<4xf32>
    %29 = vector.gather %arg4[%arg3, %arg3] [%arg8], %arg5, %arg1 : memref<?x?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.scatter %arg4[%arg3, %arg3] [%arg8], %arg5, %arg1 : memref<?x?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>
    %30 = vector.step : vector<4xindex>
    %31 = vector.interleave %arg1, %arg1 : vector<4xf32> -> vector<8xf32>
    %res1, %res2 = vector.deinterleave %arg1 : vector<4xf32> -> vector<2xf32>
    vector.print %arg1 : vector<4xf32>
    return
  }
  func.func @masks(%arg0: vector<8xi1>, %arg1: vector<8xf32>, %arg2: f32, %arg3: memref<?xf32>, %arg4: index, %arg5: vector<8xf32>, %arg6: vector<[4]xf32>, %arg7: vector<2x3xf32>, %arg8: vector<2xf32>) -> f32 {
    %0 = vector.mask %arg0 { vector.reduction <add>, %arg1 : vector<8xf32> into f32 } : vector<8xi1> -> f32
    %1 = vector.mask %arg0, %arg5 { vector.transfer_read %arg3[%arg4], %arg2 : memref<?xf32>, vector<8xf32> } : vector<8xi1> -> vector<8xf32>
    vector.mask %arg0 { vector.transfer_write %arg1, %arg3[%arg4] : vector<8xf32>, memref<?xf32> } : vector<8xi1>
    vector.mask %arg0 { vector.yield } : vector<8xi1>
    %2 = vector.mask %arg0 { vector.yield %arg1 : vector<8xf32> } : vector<8xi1> -> vector<8xf32>
    %3 = vector.expandload %arg3[%arg4], %arg0, %arg5 : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.compressstore %arg3[%arg4], %arg0, %arg1 : memref<?xf32>, vector<8xi1>, vector<8xf32>
    %vscale = vector.vscale
    %4 = vector.scalable.extract %arg6[16] : vector<8xf32> from vector<[4]xf32>
    %5 = vector.scalable.insert %arg1, %arg6[16] : vector<8xf32> into vector<[4]xf32>
    %dest, %accumulated_value = vector.scan <add>, %arg7, %arg8 {inclusive = true, reduction_dim = 1 : i64} : vector<2x3xf32>, vector<2xf32>
    %6 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %arg1, %arg1, %arg2 {first = 1 : i32} : vector<8xf32>, vector<8xf32> into f32
    return %0 : f32
  }
  func.func @single(%arg0: vector<f32>, %arg1: memref<2x4xf32, strided<[?, ?], offset: ?>>, %arg2: index, %arg3: vector<1xi1>, %arg4: f32) -> vector<2xf32> {
    %0 = vector.interleave %arg0, %arg0 : vector<f32> -> vector<2xf32>
    %1 = vector.load %arg1[%arg2, %arg2] : memref<2x4xf32, strided<[?, ?], offset: ?>>, vector<1x1xf32>
    %2 = vector.transfer_read %arg1[%arg2, %arg2], %arg4, %arg3 {permutation_map = affine_map<(d0, d1) -> (0, 0)>} : memref<2x4xf32, strided<[?, ?], offset: ?>>, vector<1x4xf32>
    return %0 : vector<2xf32>
  }
}
