// RUN: tessera-opt %s --tileas-dynamic-persistent --split-input-file --verify-diagnostics

// expected-warning @below {{Kernel is already dynamic persistent}}
nv_tileaa.func @again() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %first = nv_tileaa.first_program_id : i32
  %end = scf.while (%pid = %first) : (i32) -> i32 {
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

nv_tileaa.func @early(%ok: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  nv_tileaa.if %ok {
    // expected-error @below {{returns early: the kernel cannot be persistent, because the CTA would skip its other programs}}
    // expected-note @below {{put the rest of the program into the other branch}}
    nv_tileaa.return
  }
  nv_tileaa.return
}

// -----

// expected-error @below {{has no 'nv_tileaa.kernel_spec'; run --convert-tileaa-to-tileas first}}
nv_tileaa.func @unknown() {
  nv_tileaa.return
}
