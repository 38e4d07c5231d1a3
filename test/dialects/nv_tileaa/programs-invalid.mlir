// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileaa.func @k(%n: i32) {
  // expected-error @below {{axis must be 0, 1 or 2, got 3}}
  %x = nv_tileaa.get_program_id of %n {axis = 3 : i32} : i32
  nv_tileaa.return
}

// -----

nv_tileaa.func @k(%n: i64) {
  // expected-error @below {{'nv_tileaa.is_valid_program_id' op operand #0 must be i32, but got 'i64'}}
  %x = nv_tileaa.is_valid_program_id %n : i64 -> i1
  nv_tileaa.return
}
