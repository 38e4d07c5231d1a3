// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tile-barrier-optimization

func.func @barrier(%j: index) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  %some = arith.cmpi ult, %t, %j : index
  scf.if %some {
    // expected-error@+1 {{is under a thread-dependent condition; all threads must reach it}}
    tile.barrier
  }
  return
}

// -----

func.func @copy(%A: memref<64x64xf32>, %n: index) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  scf.for %i = %t to %n step %c1 {
    // expected-error@+1 {{is under a thread-dependent condition}}
    tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  }
  return
}

// -----

func.func @within(%v: f32, %i: index, %j: index) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  %t = tile.thread_id : index
  %some = arith.cmpi ult, %t, %j : index
  scf.if %some {
    tile.store_shared %v, %s[%i] : memref<128xf32, 3>
    // expected-error@+1 {{conflicts with an access by other threads under a thread-dependent condition, where a barrier is not allowed; move one of them out}}
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  }
  return
}

// -----

// expected-error@+1 {{has unstructured control flow; only scf loops and branches are supported}}
func.func @blocks() attributes {tessera.kernel} {
  tile.barrier
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @as_long_as(%some: i1, %j: index) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  scf.while : () -> () {
    %mine = arith.cmpi ult, %t, %j : index
    scf.condition(%mine)
  } do {
    // expected-error@+1 {{is under a thread-dependent condition; all threads must reach it}}
    tile.barrier
    scf.yield
  }
  return
}
