// RUN: tessera-opt %s --reconcile-unrealized-casts | filecheck %s

// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: %[[A:.*]]: i32
func.func @there_and_back(%a: i32) -> i32 {
  // CHECK-NEXT: return %[[A]]
  %0 = builtin.unrealized_conversion_cast %a : i32 to i64
  %1 = builtin.unrealized_conversion_cast %0 : i64 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @three
// CHECK-SAME: %[[A:.*]]: i32
func.func @three(%a: i32) -> i32 {
  // CHECK-NEXT: return %[[A]]
  %0 = builtin.unrealized_conversion_cast %a : i32 to i64
  %1 = builtin.unrealized_conversion_cast %0 : i64 to i16
  %2 = builtin.unrealized_conversion_cast %1 : i16 to i32
  return %2 : i32
}

// CHECK-LABEL: func.func @not_back
func.func @not_back(%a: i32) -> i16 {
  // CHECK-NEXT: builtin.unrealized_conversion_cast
  // CHECK-NEXT: builtin.unrealized_conversion_cast
  %0 = builtin.unrealized_conversion_cast %a : i32 to i64
  %1 = builtin.unrealized_conversion_cast %0 : i64 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @unused
func.func @unused(%a: i32) {
  // CHECK-NEXT: return
  %0 = builtin.unrealized_conversion_cast %a : i32 to i64
  return
}

// CHECK-LABEL: func.func @one_to_many
// CHECK-SAME: %[[A:.*]]: i64
func.func @one_to_many(%a: i64) -> i64 {
  // CHECK-NEXT: return %[[A]]
  %0:2 = builtin.unrealized_conversion_cast %a : i64 to i32, i32
  %1 = builtin.unrealized_conversion_cast %0#0, %0#1 : i32, i32 to i64
  return %1 : i64
}
