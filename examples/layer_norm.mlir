// Layer norm of each row of X, in bf16, with a scale and a shift for each column: 4 rows of up to 1024 columns a block of
// 256 threads. The mean is taken first, and the variance of what is left of each element.

func.func @layer_norm(%X: memref<?x?xbf16>, %gamma: memref<?xbf16>, %beta: memref<?xbf16>, %Y: memref<?x?xbf16>,
                      %epsilon: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %block = tile.block_id : index
  %row = arith.muli %block, %c4 : index
  %columns = memref.dim %X, %c1 : memref<?x?xbf16>
  %count = arith.index_cast %columns : index to i32
  %n = arith.sitofp %count : i32 to f32
  %inverse = arith.divf %one, %n : f32

  %x = memref.subview %X[%row, 0] [4, 1024] [1, 1] : memref<?x?xbf16> to memref<4x1024xbf16, strided<[?, 1], offset: ?>>
  %y = memref.subview %Y[%row, 0] [4, 1024] [1, 1] : memref<?x?xbf16> to memref<4x1024xbf16, strided<[?, 1], offset: ?>>
  %g = memref.subview %gamma[0] [1024] [1] : memref<?xbf16> to memref<1024xbf16, strided<[1]>>
  %b = memref.subview %beta[0] [1024] [1] : memref<?xbf16> to memref<1024xbf16, strided<[1]>>

  %h = tile.alloc_register : memref<1x16xbf16, 5>
  tile.load_global_tile %x, %h : memref<4x1024xbf16, strided<[?, 1], offset: ?>>, memref<1x16xbf16, 5>
  %v = tile.cast %h : memref<1x16xbf16, 5> to memref<1x16xf32, 5>

  %sum = tile.row_sum %v : memref<1x16xf32, 5> -> memref<1xf32, 5>
  %mean = tile.apply "arith.mulf"(%sum, %inverse) : (memref<1xf32, 5>, f32) -> memref<1xf32, 5>
  %means = tile.broadcast %mean : memref<1xf32, 5> -> memref<1x16xf32, 5>
  %d = tile.sub %v, %means : memref<1x16xf32, 5>, memref<1x16xf32, 5> -> memref<1x16xf32, 5>
  // What is beyond the last column has been loaded as zero, and is no element.
  tile.bound_mask %d, %c0, %columns, %zero : memref<1x16xf32, 5>
  %squares = tile.mul %d, %d : memref<1x16xf32, 5>, memref<1x16xf32, 5> -> memref<1x16xf32, 5>
  %sum2 = tile.row_sum %squares : memref<1x16xf32, 5> -> memref<1xf32, 5>
  %variance = tile.apply "arith.mulf"(%sum2, %inverse) : (memref<1xf32, 5>, f32) -> memref<1xf32, 5>
  %shifted = tile.apply "arith.addf"(%variance, %epsilon) : (memref<1xf32, 5>, f32) -> memref<1xf32, 5>
  %r = tile.apply "math.rsqrt"(%shifted) : (memref<1xf32, 5>) -> memref<1xf32, 5>
  %normal = tile.mul_broadcast %d, %r : memref<1x16xf32, 5>, memref<1xf32, 5> -> memref<1x16xf32, 5>

  // A vector is in every row of the tile.
  %g0 = tile.alloc_register : memref<1x16xbf16, 5>
  %b0 = tile.alloc_register : memref<1x16xbf16, 5>
  tile.load_global_tile %g, %g0 : memref<1024xbf16, strided<[1]>>, memref<1x16xbf16, 5>
  tile.load_global_tile %b, %b0 : memref<1024xbf16, strided<[1]>>, memref<1x16xbf16, 5>
  %g1 = tile.cast %g0 : memref<1x16xbf16, 5> to memref<1x16xf32, 5>
  %b1 = tile.cast %b0 : memref<1x16xbf16, 5> to memref<1x16xf32, 5>
  %o = tile.fma %normal, %g1, %b1 : memref<1x16xf32, 5>, memref<1x16xf32, 5>, memref<1x16xf32, 5> -> memref<1x16xf32, 5>
  %o16 = tile.cast %o : memref<1x16xf32, 5> to memref<1x16xbf16, 5>
  tile.store_global %o16, %y : memref<1x16xbf16, 5>, memref<4x1024xbf16, strided<[?, 1], offset: ?>>
  return
}
