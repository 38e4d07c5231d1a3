// RUN: tessera-opt %s | FileCheck %s
// CHECK: irdl.dialect @cmath

irdl.dialect @cmath {
  irdl.type @complex {
    %0 = irdl.is f32
    %1 = irdl.is f64
    %2 = irdl.any_of(%0, %1)
    irdl.parameters(elem: %2)
  }
  irdl.attribute @scale {
    %0 = irdl.base "#builtin.integer"
    irdl.parameters(by: %0)
  }
  irdl.operation @norm {
    %0 = irdl.any
    %1 = irdl.parametric @cmath::@complex<%0>
    %2 = irdl.base @cmath::@scale
    irdl.operands(complex: %1)
    irdl.results(norm: %0)
    irdl.attributes {"scale" = %2}
  }
  irdl.operation @concat {
    %0 = irdl.is i16
    %1 = irdl.is i32
    irdl.operands(first: variadic %0, second: optional %1)
    irdl.results(sum: optional %1)
  }
  irdl.operation @loop {
    %0 = irdl.base "!builtin.integer"
    %1 = irdl.region(%0) with size 1
    irdl.operands(bound: %0)
    irdl.regions(body: %1)
  }
}
