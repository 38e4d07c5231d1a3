// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @to_vector(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.bitcast' op cannot cast pointer to vector of pointers}}
  %0 = llvm.bitcast %p : !llvm.ptr to vector<4x!llvm.ptr>
  llvm.return
}

// -----

llvm.func @from_vector(%p: vector<4x!llvm.ptr>) {
  // expected-error @below {{'llvm.bitcast' op cannot cast vector of pointers to pointer}}
  %0 = llvm.bitcast %p : vector<4x!llvm.ptr> to !llvm.ptr
  llvm.return
}

// -----

llvm.func @spaces(%p: !llvm.ptr<1>) {
  // expected-error @below {{cannot cast pointers of different address spaces, use 'llvm.addrspacecast' instead}}
  %0 = llvm.bitcast %p : !llvm.ptr<1> to !llvm.ptr
  llvm.return
}

// -----

llvm.func @number_of_elements(%v: vector<4xi32>) {
  // expected-error @below {{'llvm.trunc' op casts 'vector<4xi32>' to 'vector<2xi16>', which has another number of elements}}
  %0 = llvm.trunc %v : vector<4xi32> to vector<2xi16>
  llvm.return
}

// -----

llvm.func @wider(%v: i32) {
  // expected-error @below {{'llvm.zext' op needs a wider result than argument, but casts 'i32' to 'i16'}}
  %0 = llvm.zext %v : i32 to i16
  llvm.return
}

// -----

llvm.func @pointer_to_integer(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.bitcast' op can only cast pointers from and to pointers}}
  %0 = llvm.bitcast %p : !llvm.ptr to i64
  llvm.return
}

// -----

llvm.func @number_of_bits(%v: i32) {
  // expected-error @below {{'llvm.bitcast' op casts 'i32' to 'i64', which has another number of bits}}
  %0 = llvm.bitcast %v : i32 to i64
  llvm.return
}

// -----

llvm.func @aggregate(%v: !llvm.struct<(i32)>) {
  // expected-error @below {{'llvm.bitcast' op operand and result must be non-aggregate types, but got '!llvm.struct<(i32)>'}}
  %0 = llvm.bitcast %v : !llvm.struct<(i32)> to i32
  llvm.return
}
