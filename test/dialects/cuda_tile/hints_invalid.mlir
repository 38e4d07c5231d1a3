// RUN: tessera-opt %s -Wunsupported-hints --verify-diagnostics --split-input-file
// RUN: not tessera-opt %s -Wunsupported-hints -Werr-hints --split-input-file 2>&1 | filecheck %s

// CHECK-COUNT-6: error: 'cuda_tile.{{.*}}' op Optimization hints verification failed

// expected-warning @below {{unknown hint key sm_91}}
entry @architecture() optimization_hints=<sm_91 = {occupancy = 1}> {
}

// -----

// expected-warning @below {{latency is not known hint for current Operation}}
entry @name() optimization_hints=<default = {latency = 2}> {
}

// -----

// expected-warning @below {{expected 1 for sm_86.num_cta_in_cga}}
entry @one_block() optimization_hints=<sm_86 = {num_cta_in_cga = 2}> {
}

// -----

// expected-warning @below {{integer value in the range [1, 32] is expected for default.occupancy}}
entry @range() optimization_hints=<default = {occupancy = 33}> {
}

// -----

entry @kinds(%p: tile<ptr<i32>>) {
  // expected-warning @below {{integer value expected for sm_90.latency}}
  %x, %t = load_ptr_tko weak %p optimization_hints = <sm_90 = {latency = true}> : tile<ptr<i32>> -> tile<i32>, token
}

// -----

entry @not_for_pointers(%p: tile<ptr<i32>>) {
  // expected-warning @below {{allow_tma is not known hint for current Operation}}
  %x, %t = load_ptr_tko weak %p optimization_hints = <sm_90 = {allow_tma = true}> : tile<ptr<i32>> -> tile<i32>, token
}

// -----

entry @right(%p: tile<ptr<i32>>) optimization_hints=<default = {occupancy = 32}, sm_90 = {num_cta_in_cga = 16}> {
  %x, %t = load_ptr_tko weak %p optimization_hints = <sm_90 = {latency = 10}> : tile<ptr<i32>> -> tile<i32>, token
}
