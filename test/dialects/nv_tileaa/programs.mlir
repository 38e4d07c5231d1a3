// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: nv_tileaa.func @k
nv_tileaa.func @k() {
  // CHECK: nv_tileaa.get_program_id {axis = 2 : i32} : i32
  %z = nv_tileaa.get_program_id {axis = 2 : i32} : i32
  // CHECK: %[[FIRST:.+]] = nv_tileaa.first_program_id : i32
  %first = nv_tileaa.first_program_id : i32
  // CHECK: nv_tileaa.get_program_id of %[[FIRST]] {axis = 1 : i32} : i32
  %y = nv_tileaa.get_program_id of %first {axis = 1 : i32} : i32
  // CHECK: nv_tileaa.is_valid_program_id %[[FIRST]] : i32 -> i1
  %valid = nv_tileaa.is_valid_program_id %first : i32 -> i1
  // CHECK: nv_tileaa.cancel_next_program_id : i32
  %next = nv_tileaa.cancel_next_program_id : i32
  nv_tileaa.return
}
