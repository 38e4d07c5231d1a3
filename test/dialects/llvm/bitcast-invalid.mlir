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
