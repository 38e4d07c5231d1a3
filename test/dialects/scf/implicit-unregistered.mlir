// RUN: tessera-opt --allow-unregistered-dialect %s --mlir-print-op-generic | filecheck %s

// An unregistered op does not end a region that has an implicit terminator, as in MLIR.

func.func @loops(%n: index, %c: i1) {
  // CHECK: "scf.for"
  // CHECK: "some_use"() : () -> ()
  // CHECK-NEXT: "scf.yield"() : () -> ()
  scf.for %i = %n to %n step %n {
    "some_use"() : () -> ()
  }
  // CHECK: "scf.if"
  // CHECK: "foo.yield"() : () -> ()
  // CHECK-NEXT: "scf.yield"() : () -> ()
  scf.if %c {
    "foo.yield"() : () -> ()
  }
  // CHECK: "scf.parallel"
  // CHECK: "some_use"() : () -> ()
  // CHECK-NEXT: "scf.reduce"() : () -> ()
  scf.parallel (%i) = (%n) to (%n) step (%n) {
    "some_use"() : () -> ()
  }
  return
}

// The generic form has no implicit terminators.
// CHECK: "test.region"
// CHECK: "some_use"() : () -> ()
// CHECK-NEXT: }) : () -> ()
"test.region"() ({
  "some_use"() : () -> ()
}) : () -> ()
