// RUN: tessera-opt %s --tile-barrier-optimization | filecheck %s
// RUN: tessera-opt %s --tile-barrier-optimization --tile-barrier-optimization | filecheck %s

// CHECK-LABEL: @missing(
// CHECK: tile.store_shared
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NOT: tile.barrier
func.func @missing(%v: f32, %i: index, %j: index) -> f32 attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  return %w : f32
}

// Two in a row, one before anything, one behind everything, one between reads: none orders anything.
// CHECK-LABEL: @redundant(
// CHECK-NOT: tile.barrier
// CHECK: tile.store_shared
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NOT: tile.barrier
func.func @redundant(%v: f32, %i: index, %j: index) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.barrier
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  tile.barrier
  tile.barrier
  %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  tile.barrier
  %x = tile.load_shared %s[%i] : memref<128xf32, 3>
  tile.barrier
  return
}

// The place of a thread's own needs no barrier: RAW, WAR and WAW are within one thread.
// CHECK-LABEL: @own(
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @own(%v: f32, %c: index) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128x4xf32, 3>
  %t = tile.thread_id : index
  tile.store_shared %v, %s[%t, %c] : memref<128x4xf32, 3>
  %w = tile.load_shared %s[%t, %c] : memref<128x4xf32, 3>
  tile.store_shared %w, %s[%t, %c] : memref<128x4xf32, 3>
  return
}

// The elements in front of one that is stored, and behind it, are others.
// CHECK-LABEL: @neighbors(
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @neighbors(%v: f32) attributes {tessera.kernel} {
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%c5] : memref<128xf32, 3>
  %w = tile.load_shared %s[%c4] : memref<128xf32, 3>
  %x = tile.load_shared %s[%c6] : memref<128xf32, 3>
  return
}

// A number that all threads have is nobody's own.
// CHECK-LABEL: @anybodys(
// CHECK: tile.store_shared
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
func.func @anybodys(%v: f32, %c: index) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%c] : memref<128xf32, 3>
  %w = tile.load_shared %s[%c] : memref<128xf32, 3>
  return
}

// Vectors of four at places one apart meet; at places four apart they do not.
// CHECK-LABEL: @vectors(
// CHECK: tile.store_shared_vector %{{.*}}[%[[T:.*]]] {vector_width
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector %{{.*}}[%[[T]]]
// CHECK: tile.store_shared_vector
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
func.func @vectors(%v: vector<4xf32>) attributes {tessera.kernel} {
  %c4 = arith.constant 4 : index
  %s = tile.alloc_shared : memref<512xf32, 3>
  %r = tile.alloc_shared : memref<512xf32, 3>
  %t = tile.thread_id : index
  tile.store_shared_vector %v, %s[%t] {vector_width = 4} : memref<512xf32, 3>
  %w = tile.load_shared_vector %s[%t] {vector_width = 4} : memref<512xf32, 3>
  %u = arith.muli %t, %c4 : index
  tile.store_shared_vector %w, %r[%u] {vector_width = 4} : memref<512xf32, 3>
  %x = tile.load_shared_vector %r[%u] {vector_width = 4} : memref<512xf32, 3>
  return
}

// Different buffers, and different rows of one, are different places.
// CHECK-LABEL: @apart(
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @apart(%v: f32, %i: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc_shared : memref<2x128xf32, 3>
  %r = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%c0, %i] : memref<2x128xf32, 3>
  %w = tile.load_shared %s[%c1, %i] : memref<2x128xf32, 3>
  tile.store_shared %w, %r[%i] : memref<128xf32, 3>
  return
}

// What is stored before a loop is waited for before it, once.
// CHECK-LABEL: @hoisted(
// CHECK: tile.store_shared
// CHECK: tile.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @hoisted(%v: f32, %i: index, %n: index, %out: memref<?x?xf32>) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  scf.for %k = %c0 to %n step %c1 {
    tile.barrier
    %w = tile.load_shared %s[%k] : memref<128xf32, 3>
    tile.store_global_element %w, %out[%k, %t] : memref<?x?xf32>
  }
  return
}

// The store of an iteration comes behind the load of the one before: one barrier for that, one for the load.
// CHECK-LABEL: @around(
// CHECK: scf.for
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store_shared
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @around(%v: f32, %i: index, %j: index, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc_shared : memref<128xf32, 3>
  scf.for %k = %c0 to %n step %c1 {
    tile.store_shared %v, %s[%i] : memref<128xf32, 3>
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  }
  return
}

// Only who takes the branch waits, and who comes behind it.
// CHECK-LABEL: @branch(
// CHECK: scf.if
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK: tile.barrier
// CHECK-NEXT: tile.store_shared
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @branch(%v: f32, %i: index, %j: index, %some: i1) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  scf.if %some {
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  }
  tile.store_shared %v, %s[%j] : memref<128xf32, 3>
  return
}

// A condition that differs by thread: the barrier stands before it.
// CHECK-LABEL: @by_thread(
// CHECK: tile.store_shared
// CHECK: tile.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: %{{.*}} = tile.load_shared
func.func @by_thread(%v: f32, %i: index, %j: index) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  %t = tile.thread_id : index
  %some = arith.cmpi ult, %t, %j : index
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  scf.if %some {
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  }
  return
}

// The waits sink to the first uses, and leave the groups that were committed later.
// CHECK-LABEL: @sunk(
// CHECK: tile.cp_commit_group
// CHECK: tile.cp_commit_group
// CHECK-NEXT: %{{.*}} = tile.alloc_register
// CHECK: tile.fill
// CHECK-NEXT: tile.cp_wait_group 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: tile.cp_commit_group
// CHECK-NEXT: tile.fill
// CHECK-NEXT: tile.cp_wait_group 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
func.func @sunk(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %i: index) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  %b = tile.alloc_shared : memref<64x64xf32, 3>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  tile.cp_async %B, %b : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  tile.wait_group 1
  tile.barrier
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  %x = tile.load_shared %a[%i, %i] : memref<64x64xf32, 3>
  tile.async_wait
  tile.barrier
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  %y = tile.load_shared %b[%i, %i] : memref<64x64xf32, 3>
  return
}

// One barrier is enough for both, so that the wait for all stands before it.
// CHECK-LABEL: @together(
// CHECK: tile.fill
// CHECK-NEXT: tile.cp_wait_group 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @together(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %i: index) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  %b = tile.alloc_shared : memref<64x64xf32, 3>
  %zero = arith.constant 0.0 : f32
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  tile.cp_async %B, %b : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  tile.barrier
  %x = tile.load_shared %a[%i, %i] : memref<64x64xf32, 3>
  %y = tile.load_shared %b[%i, %i] : memref<64x64xf32, 3>
  return
}

// A copy that is committed after the barrier is not waited for before it: that would take a commit of its own.
// CHECK-LABEL: @committed_later(
// CHECK: tile.cp_async
// CHECK-NEXT: tile.store_shared
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: tile.cp_commit_group
// CHECK-NEXT: tile.cp_wait_group 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NOT: tile.cp_
// CHECK: return
func.func @committed_later(%A: memref<64x64xf32>, %v: f32, %i: index, %j: index) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  %s = tile.alloc_shared : memref<128xf32, 3>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  tile.barrier
  %w = tile.load_shared %s[%j] : memref<128xf32, 3>
  tile.cp_commit_group
  %x = tile.load_shared %a[%i, %i] : memref<64x64xf32, 3>
  return
}

// Nobody waits, nobody commits.
// CHECK-LABEL: @forgotten(
// CHECK: tile.cp_async
// CHECK-NEXT: tile.cp_commit_group
// CHECK-NEXT: tile.cp_wait_group 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared
func.func @forgotten(%A: memref<64x64xf32>, %i: index) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  %x = tile.load_shared %a[%i, %i] : memref<64x64xf32, 3>
  return
}

// Three buffers in turn, two copies ahead: one barrier for each, behind the wait for the copy that is used next and
// before the one into what was used before it.
// CHECK-LABEL: @ring(
// CHECK: scf.for
// CHECK-NEXT: tile.cp_wait_group 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.cp_async
// CHECK-NEXT: tile.cp_commit_group
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: tile.cp_wait_group 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.cp_async
// CHECK-NEXT: tile.cp_commit_group
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: tile.cp_wait_group 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.cp_async
// CHECK-NEXT: tile.cp_commit_group
// CHECK-NEXT: %{{.*}} = tile.load_shared
// CHECK-NEXT: }
func.func @ring(%A: memref<64x64xf32>, %i: index, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  %b = tile.alloc_shared : memref<64x64xf32, 3>
  %c = tile.alloc_shared : memref<64x64xf32, 3>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  tile.cp_async %A, %b : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  scf.for %k = %c0 to %n step %c1 {
    tile.barrier
    tile.cp_async %A, %c : memref<64x64xf32>, memref<64x64xf32, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
    %x = tile.load_shared %a[%i, %i] : memref<64x64xf32, 3>
    tile.barrier
    tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
    tile.cp_commit_group
    tile.cp_wait_group 1
    tile.barrier
    %y = tile.load_shared %b[%i, %i] : memref<64x64xf32, 3>
    tile.barrier
    tile.cp_async %A, %b : memref<64x64xf32>, memref<64x64xf32, 3>
    tile.cp_commit_group
    tile.cp_wait_group 1
    tile.barrier
    %z = tile.load_shared %c[%i, %i] : memref<64x64xf32, 3>
  }
  return
}

// What is copied and not read has landed before its bytes may become another's.
// CHECK-LABEL: @unread(
// CHECK: tile.cp_commit_group
// CHECK-NEXT: tile.cp_wait_group 0
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @unread(%A: memref<64x64xf32>, %v: f32, %i: index) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  %b = tile.alloc_shared : memref<128xf32, 3>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.store_shared %v, %b[%i] : memref<128xf32, 3>
  return
}

// Of single elements of global memory, the program knows the order, and says it by its barrier.
// CHECK-LABEL: @global(
// CHECK: tile.store_global_element
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_global
// CHECK-NEXT: tile.store_global_element
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @global(%A: memref<?xf32>, %B: memref<?xf32>, %v: f32, %i: index, %j: index) attributes {tessera.kernel} {
  tile.store_global_element %v, %A[%i] : memref<?xf32>
  tile.barrier
  %w = tile.load_global %A[%j] : memref<?xf32>
  tile.store_global_element %w, %B[%j] : memref<?xf32>
  return
}

// Not a kernel: nothing is touched.
// CHECK-LABEL: @host(
// CHECK-NEXT: %{{.*}} = arith.constant
// CHECK-NEXT: return
func.func @host() -> i32 {
  %c = arith.constant 1 : i32
  return %c : i32
}

// Spilled fragments are each thread's own.
// CHECK-LABEL: @spilled(
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @spilled(%v: f32) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<4096xf32, 3>
  %f = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %f, %v : memref<4x8xf32, 5>
  tile.spill %f, %s : memref<4x8xf32, 5>, memref<4096xf32, 3>
  tile.barrier
  %r = tile.reload %s : memref<4096xf32, 3> -> memref<4x8xf32, 5>
  tile.spill %r, %s : memref<4x8xf32, 5>, memref<4096xf32, 3>
  return
}

// A wait in a loop for what is copied before it: a barrier before the loop would come before the wait.
// CHECK-LABEL: @waited_inside(
// CHECK: tile.cp_wait_group 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: %{{.*}} = tile.load_shared
func.func @waited_inside(%A: memref<64x64xf32>, %n: index, %i: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared : memref<64x64xf32, 3>
  tile.cp_async %A, %a : memref<64x64xf32>, memref<64x64xf32, 3>
  tile.cp_commit_group
  scf.for %k = %c0 to %n step %c1 {
    tile.cp_wait_group 0
    %x = tile.load_shared %a[%i, %k] : memref<64x64xf32, 3>
  }
  return
}

// A buffer is not another one, and it is not what a parameter is; two parameters may be one buffer.
// CHECK-LABEL: @parameters(
// CHECK: tile.store_shared %v, %s
// CHECK-NEXT: %{{.*}} = tile.load_shared %p
// CHECK-NEXT: tile.store_shared %v, %r
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store_shared %v, %q
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @parameters(%v: f32, %i: index, %j: index, %p: memref<128xf32, 3>, %q: memref<128xf32, 3>) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  %r = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  %w = tile.load_shared %p[%j] : memref<128xf32, 3>
  tile.store_shared %v, %r[%i] : memref<128xf32, 3>
  tile.store_shared %v, %q[%i] : memref<128xf32, 3>
  return
}

// The program's own barrier is for both loads; a barrier as late as possible would need another one behind the branch.
// CHECK-LABEL: @before_a_branch(
// CHECK: tile.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @before_a_branch(%v: f32, %i: index, %j: index, %some: i1) -> f32 attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  %t = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  tile.barrier
  scf.if %some {
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
    tile.store_shared %w, %t[%i] : memref<128xf32, 3>
  }
  %x = tile.load_shared %s[%j] : memref<128xf32, 3>
  return %x : f32
}

// For one load, the barrier in the branch is as good, and the later one is used.
// CHECK-LABEL: @in_a_branch(
// CHECK-NOT: tile.barrier
// CHECK: scf.if
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.barrier
func.func @in_a_branch(%v: f32, %i: index, %j: index, %some: i1) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  %t = tile.alloc_shared : memref<128xf32, 3>
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  tile.barrier
  scf.if %some {
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
    tile.store_shared %w, %t[%i] : memref<128xf32, 3>
  }
  return
}

// A missing wait stands before the program's own barrier: behind it, it would need another one.
// CHECK-LABEL: @waits_before_a_branch(
// CHECK: tile.cp_wait_group 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @waits_before_a_branch(%v: f32, %i: index, %j: index, %some: i1, %a: memref<128xf32>) -> f32 attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<128xf32, 3>
  %t = tile.alloc_shared : memref<128xf32, 3>
  %u = tile.alloc_shared : memref<128xf32, 3>
  tile.cp_async %a, %u : memref<128xf32>, memref<128xf32, 3>
  tile.cp_commit_group
  tile.store_shared %v, %s[%i] : memref<128xf32, 3>
  tile.barrier
  scf.if %some {
    %w = tile.load_shared %s[%j] : memref<128xf32, 3>
    tile.store_shared %w, %t[%i] : memref<128xf32, 3>
  }
  %x = tile.load_shared %s[%j] : memref<128xf32, 3>
  %y = tile.load_shared %u[%j] : memref<128xf32, 3>
  %z = arith.addf %x, %y : f32
  return %z : f32
}
