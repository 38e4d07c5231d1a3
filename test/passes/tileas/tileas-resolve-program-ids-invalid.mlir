// RUN: tessera-opt %s --tileas-resolve-program-ids=scheduler=counter --split-input-file --verify-diagnostics
// RUN: not tessera-opt %s --tileas-resolve-program-ids=raster=hilbert:3 2>&1 | filecheck %s --check-prefix=RASTER
// RUN: not tessera-opt %s --tileas-resolve-program-ids=raster=rows:2 2>&1 | filecheck %s --check-prefix=RASTER
// RUN: not tessera-opt %s --tileas-resolve-program-ids=scheduler=lottery 2>&1 | filecheck %s --check-prefix=SCHEDULER

// RASTER: option raster={{.*}} is invalid; expected rows, reversed, reversed:N, grouped, grouped:N, hilbert, or hilbert:N with N a power of two
// SCHEDULER: option 'scheduler' expects one of static, counter, cancel, auto; found 'lottery'

nv_tileaa.func @alone() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  // expected-error @below {{is not in a loop as tileas-dynamic-persistent makes it: expected one scf.while}}
  %next = nv_tileaa.cancel_next_program_id : i32
  nv_tileaa.return
}

// -----

// A loop that begins with another number.
nv_tileaa.func @other(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %end = scf.while (%pid = %n) : (i32) -> i32 {
    // expected-error @below {{is not in a loop as tileas-dynamic-persistent makes it}}
    %valid = nv_tileaa.is_valid_program_id %pid : i32 -> i1
    scf.condition(%valid) %pid : i32
  } do {
  ^bb0(%program: i32):
    %next = nv_tileaa.cancel_next_program_id : i32
    scf.yield %next : i32
  }
  nv_tileaa.return
}

// -----

// expected-error @below {{has nv_tileas.persistent_if_auto = "lottery"; expected one of static, counter, cancel}}
nv_tileaa.func @wanted() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileas.persistent_if_auto = "lottery"} {
  nv_tileaa.return
}
