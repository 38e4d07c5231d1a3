// RUN: tessera-opt %s | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// CHECK-LABEL: irdl.dialect @cmath {
irdl.dialect @cmath {
  // CHECK: irdl.type @complex {
  // CHECK:   %[[F32:.*]] = irdl.is f32
  // CHECK:   %[[F64:.*]] = irdl.is f64
  // CHECK:   %[[ANY:.*]] = irdl.any_of(%[[F32]], %[[F64]])
  // CHECK:   irdl.parameters(elem: %[[ANY]])
  irdl.type @complex {
    %0 = irdl.is f32
    %1 = irdl.is f64
    %2 = irdl.any_of(%0, %1)
    irdl.parameters(elem: %2)
  }

  // An empty body is not written.
  // CHECK: irdl.type @unit{{$}}
  irdl.type @unit {}

  // CHECK: irdl.attribute @scale {
  // CHECK:   irdl.base "#builtin.integer"
  irdl.attribute @scale {
    %0 = irdl.base "#builtin.integer"
    irdl.parameters(by: %0)
  }

  // CHECK: irdl.operation @norm attributes {doc = "the absolute value"} {
  // CHECK:   %[[T:.*]] = irdl.any
  // CHECK:   %[[C:.*]] = irdl.parametric @cmath::@complex<%[[T]]>
  // CHECK:   %[[S:.*]] = irdl.base @cmath::@scale
  // CHECK:   %[[U:.*]] = irdl.parametric @cmath::@unit<>
  // CHECK:   irdl.operands(complex: %[[C]], rest: variadic %[[C]], last: optional %[[U]])
  // CHECK:   irdl.results(norm: %[[T]])
  // CHECK:   irdl.attributes {"scale" = %[[S]], "mode" = %[[T]]}
  irdl.operation @norm attributes {doc = "the absolute value"} {
    %0 = irdl.any
    %1 = irdl.parametric @cmath::@complex<%0>
    %2 = irdl.base @cmath::@scale
    %3 = irdl.parametric @cmath::@unit<>
    irdl.operands(complex: single %1, rest: variadic %1, last: optional %3)
    irdl.results(norm: %0)
    irdl.attributes {"scale" = %2, "mode" = %0}
  }

  // CHECK: irdl.operation @loop {
  // CHECK:   %[[P:.*]] = irdl.c_pred "$_self.isa<IntegerAttr>()"
  // CHECK:   %[[A:.*]] = irdl.all_of(%[[P]])
  // CHECK:   %[[R0:.*]] = irdl.region{{$}}
  // CHECK:   %[[R1:.*]] = irdl.region()
  // CHECK:   %[[R2:.*]] = irdl.region(%[[A]]) with size 3
  // CHECK:   irdl.regions(any: %[[R0]], none: %[[R1]], body: %[[R2]])
  // CHECK:   irdl.attributes{{$}}
  irdl.operation @loop {
    %0 = irdl.c_pred "$_self.isa<IntegerAttr>()"
    %1 = irdl.all_of(%0)
    %2 = irdl.region
    %3 = irdl.region()
    %4 = irdl.region(%1) with size 3
    irdl.regions(any: %2, none: %3, body: %4)
    irdl.attributes
  }
}
