// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa --split-input-file --verify-diagnostics

entry @star(%x: tile<i32>) {
  // expected-error @below {{'cuda_tile.print_tko' op is not supported by convert-cuda-tile-to-tileaa in this version: '%*d' is not a supported printf conversion; expected '%' with optional flags, width, precision and length, and one of the letters d i o u x X e E f F g G a A c s p}}
  %t = print_tko "%*d", %x : tile<i32> -> token
  return
}

// -----

entry @count(%x: tile<i32>) {
  // expected-error @below {{'%n' is not a supported printf conversion}}
  %t = print_tko "%n", %x : tile<i32> -> token
  return
}

// -----

entry @no_text(%x: tile<f32>) {
  // expected-error @below {{prints a value of type f32 with '%s', which expects the address of a string}}
  %t = print_tko "%s", %x : tile<f32> -> token
  return
}

// -----

entry @texts(%x: tile<ptr<i8>>) {
  %a = reshape %x : tile<ptr<i8>> -> tile<1xptr<i8>>
  // expected-error @below {{with '%s', which expects the address of a string}}
  %t = print_tko "%s", %a : tile<1xptr<i8>> -> token
  return
}
