// RUN: tessera-opt %s --verify-diagnostics

// Upstream accepts this, but its custom form drops the argument.
func.func @switch_arguments(%i: index) {
  // expected-error @below {{'scf.index_switch' op expects regions without arguments}}
  "scf.index_switch"(%i) <{cases = array<i64>}> ({
  ^bb0(%x: i32):
    scf.yield
  }) : (index) -> ()
  return
}
