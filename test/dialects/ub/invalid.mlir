// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @last() {
  // expected-error @below {{'ub.unreachable' op must be the last operation in the parent block}}
  ub.unreachable
  return
}
