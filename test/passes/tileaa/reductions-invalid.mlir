// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa --split-input-file --verify-diagnostics

entry @tile_in_region() {
  %x = constant <f32: 1.0> : tile<8xf32>
  %r = reduce %x dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
  (%a: tile<f32>, %b: tile<f32>) {
    // expected-error @below {{'cuda_tile.constant' op is not supported by convert-cuda-tile-to-tileaa in this version: a value of type '!cuda_tile.tile<4xf32>' in the region of a 'cuda_tile.reduce'; only scalars are supported}}
    %t = constant <f32: 1.0> : tile<4xf32>
    %s = addf %a, %b : tile<f32>
    yield %s : tile<f32>
  }
  return
}

// -----

entry @tile_from_outside() {
  %x = constant <i32: 1> : tile<2x8xi32>
  %r = scan %x dim=1 reverse=false identities=[0 : i32] : tile<2x8xi32> -> tile<2x8xi32>
  (%a: tile<i32>, %b: tile<i32>) {
    // expected-error @below {{a value of type '!cuda_tile.tile<1x1xi32>' in the region of a 'cuda_tile.scan'; only scalars are supported}}
    %t = reshape %a : tile<i32> -> tile<1x1xi32>
    yield %a : tile<i32>
  }
  return
}
