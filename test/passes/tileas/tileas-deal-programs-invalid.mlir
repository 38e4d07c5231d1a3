// RUN: tessera-opt %s --tileas-deal-programs --split-input-file --verify-diagnostics

nv_tileaa.func @unknown(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  // expected-error @below {{deals out programs, but its kernel has no nv_tileaa.persistent; run --tileas-resolve-program-ids}}
  scf.for %p = %n to %n step %n : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// -----

nv_tileaa.func @inner(%n: i32, %c: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  scf.for %q = %n to %n step %n : i32 {
    // expected-error @below {{has the attribute nv_tileas.dealt; expected an scf.for of i32 in the block of the kernel, or of an agent}}
    scf.for %p = %n to %n step %n : i32 {
      scf.yield
    } {nv_tileas.dealt = "counter"}
    scf.yield
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @two(%n: i32, %c: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  scf.for %p = %n to %n step %n : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  // expected-error @below {{deals out programs, as another loop does; expected one loop in the kernel, or in each agent}}
  scf.for %p = %n to %n step %n : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// -----

// expected-error @below {{has the scheduler counter, but no parameter for the counter}}
nv_tileaa.func @lost(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileaa.persistent = {counter = 7 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  scf.for %p = %n to %n step %n : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// -----

// Nothing hands a number to the other CTAs.
// expected-error @below {{has clusters of 2 CTAs, which would each take a number from the counter, and no agents}}
// expected-note @below {{use the scheduler static}}
nv_tileaa.func @cluster(%n: i32, %c: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  scf.for %p = %n to %n step %n : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// -----

// A launch for a stride has no CTAs that could be canceled.
nv_tileaa.func @stride(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileaa.persistent = {grid = [0, 0, 0], scheduler = "static"}} {
  // expected-error @below {{has nv_tileas.dealt = "counter", and its kernel the scheduler static; expected counter or cancel for both}}
  scf.for %p = %n to %n step %n : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// -----

// The attribute is lost in one agent, which would run other programs than the other one.
nv_tileaa.func @one_agent(%n: i32, %c: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    // expected-note @below {{CTAs deal out this loop}}
    scf.for %p = %n to %n step %n : i32 {
      scf.yield
    } {nv_tileas.dealt = "counter"}
    nv_tileas.async.pipeline.yield
  }, {
    // expected-error @below {{runs the programs of its bounds, but CTAs deal out those of another agent; expected nv_tileas.dealt on the loops over programs of all agents}}
    scf.for %p = %n to %n step %n : i32 {
      scf.yield
    }
    nv_tileas.async.pipeline.yield
  }
  nv_tileaa.return
}
