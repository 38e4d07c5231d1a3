// RUN: tessera-opt %s --sroa | filecheck %s

// A variable for each element that is used, and none for the others.
// CHECK-LABEL: @elements
// CHECK: %[[A:.*]] = memref.alloca() : memref<i32>
// CHECK: %[[B:.*]] = memref.alloca() : memref<i32>
// CHECK-NOT: alloca
// CHECK: memref.store %x, %[[A]][]
// CHECK: memref.load %[[B]][]
func.func @elements(%x: i32) -> i32 {
  %m = memref.alloca() : memref<2x2xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %x, %m[%c0, %c1] : memref<2x2xi32>
  %r = memref.load %m[%c1, %c1] : memref<2x2xi32>
  return %r : i32
}

// The memory space stays.
// CHECK-LABEL: @space
// CHECK: memref.alloca() : memref<f32, 5>
func.func @space(%x: f32) {
  %m = memref.alloca() : memref<4xf32, 5>
  %c3 = arith.constant 3 : index
  memref.store %x, %m[%c3] : memref<4xf32, 5>
  return
}

// Structs inside structs are split as far as their fields are named.
// CHECK-LABEL: @nested
// CHECK-NOT: struct
// CHECK: llvm.alloca %{{.*}} x i32
// CHECK-NOT: getelementptr
// CHECK: llvm.return
llvm.func @nested(%x: i32) -> i32 {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.struct<"s", (i64, struct<(i16, i32)>)> : (i32) -> !llvm.ptr
  %p = llvm.getelementptr inbounds %m[0, 1, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<"s", (i64, struct<(i16, i32)>)>
  llvm.store %x, %p : i32, !llvm.ptr
  %q = llvm.getelementptr inbounds %m[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<"s", (i64, struct<(i16, i32)>)>
  %s = llvm.getelementptr inbounds %q[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i16, i32)>
  %r = llvm.load %s : !llvm.ptr -> i32
  llvm.return %r : i32
}

// An access at the start of an array is an access to its first element.
// CHECK-LABEL: @start
// CHECK: %[[M:.*]] = llvm.alloca %{{.*}} x f32
// CHECK: llvm.store %x, %[[M]] : f32
llvm.func @start(%x: f32) {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.array<4 x f32> : (i32) -> !llvm.ptr
  llvm.store %x, %m : f32, !llvm.ptr
  llvm.return
}

// The alignment of the whole is kept, because accesses may rely on it.
// CHECK-LABEL: @aligned
// CHECK: llvm.alloca %{{.*}} x f32 {alignment = 16 : i64}
llvm.func @aligned(%x: f32) {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.array<4 x f32> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  llvm.store %x, %m {alignment = 16 : i64} : f32, !llvm.ptr
  llvm.return
}

// The rest stays whole: an element that is not constant,
// CHECK-LABEL: @dynamic
// CHECK: memref.alloca() : memref<4xi32>
func.func @dynamic(%x: i32, %i: index) {
  %m = memref.alloca() : memref<4xi32>
  memref.store %x, %m[%i] : memref<4xi32>
  return
}

// an element that does not exist,
// CHECK-LABEL: @outside
// CHECK: memref.alloca() : memref<4xi32>
func.func @outside(%x: i32) {
  %m = memref.alloca() : memref<4xi32>
  %c4 = arith.constant 4 : index
  memref.store %x, %m[%c4] : memref<4xi32>
  return
}

// more elements than 16,
// CHECK-LABEL: @sixteen
// CHECK: memref.alloca() : memref<i8>
// CHECK: memref.alloca() : memref<17xi8>
func.func @sixteen(%x: i8) {
  %m = memref.alloca() : memref<16xi8>
  %n = memref.alloca() : memref<17xi8>
  %c0 = arith.constant 0 : index
  memref.store %x, %m[%c0] : memref<16xi8>
  memref.store %x, %n[%c0] : memref<17xi8>
  return
}

// a layout, by which two elements may be one,
// CHECK-LABEL: @layout
// CHECK: memref.alloca() : memref<4xi32, {{.*}}>
func.func @layout(%x: i32) {
  %m = memref.alloca() : memref<4xi32, affine_map<(d0) -> (0)>>
  %c0 = arith.constant 0 : index
  memref.store %x, %m[%c0] : memref<4xi32, affine_map<(d0) -> (0)>>
  return
}

// a variable whose address is stored,
// CHECK-LABEL: @escapes
// CHECK: llvm.alloca %{{.*}} x !llvm.struct<(ptr, i32)>
llvm.func @escapes() {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.struct<(ptr, i32)> : (i32) -> !llvm.ptr
  llvm.store %m, %m : !llvm.ptr, !llvm.ptr
  llvm.return
}

// an access to several fields at once, or to a part of one,
// CHECK-LABEL: @wide
// CHECK: llvm.alloca %{{.*}} x !llvm.array<4 x i32>
// CHECK: llvm.alloca %{{.*}} x !llvm.array<4 x i32>
llvm.func @wide(%x: i64, %y: i16) {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
  %n = llvm.alloca %1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
  llvm.store %x, %m : i64, !llvm.ptr
  llvm.store %y, %n : i16, !llvm.ptr
  llvm.return
}

// a volatile access,
// CHECK-LABEL: @volatile
// CHECK: llvm.alloca %{{.*}} x !llvm.array<4 x i32>
llvm.func @volatile(%x: i32) {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
  llvm.store volatile %x, %m : i32, !llvm.ptr
  llvm.return
}

// and an address of another type, or behind the variable.
// CHECK-LABEL: @address
// CHECK: llvm.alloca %{{.*}} x !llvm.array<4 x i32>
// CHECK: llvm.alloca %{{.*}} x !llvm.array<4 x i32>
llvm.func @address(%x: i32) {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
  %n = llvm.alloca %1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
  %p = llvm.getelementptr %m[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %x, %p : i32, !llvm.ptr
  %q = llvm.getelementptr %n[1, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i32>
  llvm.store %x, %q : i32, !llvm.ptr
  llvm.return
}
