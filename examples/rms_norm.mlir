// RMS norm of each row of X, in f16, with a scale for each column. Rows are of any length: a block of 128 threads takes 8
// rows, 256 columns at a time, and goes over them twice, first for the sum of squares.

func.func @rms_norm(%X: memref<?x?xf16>, %gamma: memref<?xf16>, %Y: memref<?x?xf16>, %epsilon: f32)
    attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %block = tile.block_id : index
  %row = arith.muli %block, %c8 : index
  %columns = memref.dim %X, %c1 : memref<?x?xf16>
  %count = arith.index_cast %columns : index to i32
  %n = arith.sitofp %count : i32 to f32

  %h = tile.alloc_register : memref<1x16xf16, 5>
  %g = tile.alloc_register : memref<1x16xf16, 5>
  %sum = tile.alloc_register : memref<1xf32, 5>
  tile.fill %sum, %zero : memref<1xf32, 5>
  scf.for %j = %c0 to %columns step %c256 {
    %x = memref.subview %X[%row, %j] [8, 256] [1, 1] : memref<?x?xf16> to memref<8x256xf16, strided<[?, 1], offset: ?>>
    tile.load_global_tile %x, %h : memref<8x256xf16, strided<[?, 1], offset: ?>>, memref<1x16xf16, 5>
    %v = tile.cast %h : memref<1x16xf16, 5> to memref<1x16xf32, 5>
    %squares = tile.mul %v, %v : memref<1x16xf32, 5>, memref<1x16xf32, 5> -> memref<1x16xf32, 5>
    %part = tile.row_sum %squares : memref<1x16xf32, 5> -> memref<1xf32, 5>
    tile.accumulate %sum, %part : memref<1xf32, 5>, memref<1xf32, 5>
  }
  %mean = tile.apply "arith.divf"(%sum, %n) : (memref<1xf32, 5>, f32) -> memref<1xf32, 5>
  %shifted = tile.apply "arith.addf"(%mean, %epsilon) : (memref<1xf32, 5>, f32) -> memref<1xf32, 5>
  %r = tile.apply "math.rsqrt"(%shifted) : (memref<1xf32, 5>) -> memref<1xf32, 5>

  scf.for %j = %c0 to %columns step %c256 {
    %x = memref.subview %X[%row, %j] [8, 256] [1, 1] : memref<?x?xf16> to memref<8x256xf16, strided<[?, 1], offset: ?>>
    %y = memref.subview %Y[%row, %j] [8, 256] [1, 1] : memref<?x?xf16> to memref<8x256xf16, strided<[?, 1], offset: ?>>
    %w = memref.subview %gamma[%j] [256] [1] : memref<?xf16> to memref<256xf16, strided<[1], offset: ?>>
    tile.load_global_tile %x, %h : memref<8x256xf16, strided<[?, 1], offset: ?>>, memref<1x16xf16, 5>
    tile.load_global_tile %w, %g : memref<256xf16, strided<[1], offset: ?>>, memref<1x16xf16, 5>
    %v = tile.cast %h : memref<1x16xf16, 5> to memref<1x16xf32, 5>
    %scale = tile.cast %g : memref<1x16xf16, 5> to memref<1x16xf32, 5>
    %normal = tile.mul_broadcast %v, %r : memref<1x16xf32, 5>, memref<1xf32, 5> -> memref<1x16xf32, 5>
    %o = tile.mul %normal, %scale : memref<1x16xf32, 5>, memref<1x16xf32, 5> -> memref<1x16xf32, 5>
    %o16 = tile.cast %o : memref<1x16xf32, 5> to memref<1x16xf16, 5>
    tile.store_global %o16, %y : memref<1x16xf16, 5>, memref<8x256xf16, strided<[?, 1], offset: ?>>
  }
  return
}
