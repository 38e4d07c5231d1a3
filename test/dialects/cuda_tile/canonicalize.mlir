// RUN: tessera-opt %s --canonicalize --allow-unregistered-dialect | filecheck %s

// A branch that leaves has an effect, whatever else is in it.
// CHECK-LABEL: entry @early_return
entry @early_return(%c: tile<i1>, %p: tile<ptr<i32>>) {
  // CHECK: if %{{.*}} {
  // CHECK-NEXT: return
  // CHECK-NEXT: }
  // CHECK: store_ptr_tko
  %x = constant <i32: 1> : tile<i32>
  if %c {
    return
  }
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
}

// CHECK-LABEL: entry @break_out
entry @break_out(%c: tile<i1>, %p: tile<ptr<i32>>) {
  // CHECK: loop {
  // CHECK: if
  // CHECK-NEXT: break
  %x = constant <i32: 1> : tile<i32>
  loop {
    if %c {
      break
    }
    %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  }
}

// What follows a branch that is known to return goes.
// CHECK-LABEL: @known_return
cuda_tile.testing$func @known_return(%a: tile<i32>) -> tile<i32> {
  // CHECK-NEXT: return %{{.*}} : tile<i32>
  // CHECK-NEXT: }
  %true = constant <i1: true> : tile<i1>
  if %true {
    return %a : tile<i32>
  }
  %b = addi %a, %a : tile<i32>
  return %b : tile<i32>
}

// CHECK-LABEL: @known_false_without_else
cuda_tile.testing$func @known_false_without_else(%a: tile<i32>) -> tile<i32> {
  // CHECK-NEXT: return
  %false = constant <i1: false> : tile<i1>
  if %false {
    print_tko "%i", %a : tile<i32> -> token
  }
  return %a : tile<i32>
}

// Select takes no sub-byte elements.
// CHECK-LABEL: @branch_of_half_bytes
cuda_tile.testing$func @branch_of_half_bytes(%c: tile<i1>, %a: tile<2x4xf4E2M1FN>, %b: tile<2x4xf4E2M1FN>) -> tile<2x4xf4E2M1FN> {
  // CHECK: if %{{.*}} -> (tile<2x4xf4E2M1FN>)
  // CHECK-NOT: select
  %r = if %c -> (tile<2x4xf4E2M1FN>) {
    yield %a : tile<2x4xf4E2M1FN>
  } else {
    yield %b : tile<2x4xf4E2M1FN>
  }
  return %r : tile<2x4xf4E2M1FN>
}

// CHECK-LABEL: @select_of_a_tile
cuda_tile.testing$func @select_of_a_tile(%c: tile<i1>, %a: tile<2x4xf32>, %b: tile<2x4xf32>) -> tile<2x4xf32> {
  // CHECK: %[[R:.*]] = reshape %{{.*}} : tile<i1> -> tile<1x1xi1>
  // CHECK: %[[B:.*]] = broadcast %[[R]] : tile<1x1xi1> -> tile<2x4xi1>
  // CHECK: select %[[B]]
  %r = if %c -> (tile<2x4xf32>) {
    yield %a : tile<2x4xf32>
  } else {
    yield %b : tile<2x4xf32>
  }
  return %r : tile<2x4xf32>
}

// CHECK-LABEL: @unused_result
cuda_tile.testing$func @unused_result(%c: tile<i1>, %a: tile<i32>) -> tile<i32> {
  // CHECK: if %{{.*}} -> (tile<i32>) {
  // CHECK: yield %{{[^,]*}} : tile<i32>
  %r:2 = if %c -> (tile<i32>, tile<i32>) {
    %x = addi %a, %a : tile<i32>
    %y = muli %a, %a : tile<i32>
    yield %x, %y : tile<i32>, tile<i32>
  } else {
    %x = subi %a, %a : tile<i32>
    yield %x, %x : tile<i32>, tile<i32>
  }
  return %r#0 : tile<i32>
}

// The two conditions exclude each other: the regions of the second change places.
// CHECK-LABEL: @condition_and_negation
cuda_tile.testing$func @condition_and_negation(%c: tile<i1>, %a: tile<i32>) {
  // CHECK: if
  // CHECK-NEXT: print_tko "first"
  // CHECK-NEXT: } else {
  // CHECK-NEXT: print_tko "second"
  // CHECK-NOT: if
  %true = constant <i1: true> : tile<i1>
  %n = xori %c, %true : tile<i1>
  if %c {
    print_tko "first" -> token
  }
  if %n {
    print_tko "second" -> token
  }
  return
}

// Something between two ifs keeps them apart: its order to what is in them stays.
// CHECK-LABEL: @not_in_a_row
cuda_tile.testing$func @not_in_a_row(%c: tile<i1>) {
  // CHECK: print_tko "first"
  // CHECK: print_tko "between"
  // CHECK: print_tko "second"
  if %c {
    print_tko "first" -> token
  }
  print_tko "between" -> token
  if %c {
    print_tko "second" -> token
  }
  return
}

// A choice between tokens stays an if.
// CHECK-LABEL: @tokens
cuda_tile.testing$func @tokens(%c: tile<i1>, %s: token, %t: token) -> token {
  // CHECK: if %{{.*}} -> (token)
  %r = if %c -> (token) {
    yield %s : token
  } else {
    yield %t : token
  }
  return %r : token
}

// CHECK-LABEL: @choose_elements
cuda_tile.testing$func @choose_elements() -> tile<4xf32> {
  // CHECK: constant <f32: [1.000000e+00, 6.000000e+00, 3.000000e+00, 8.000000e+00]>
  %c = constant <i1: [true, false, true, false]> : tile<4xi1>
  %a = constant <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
  %b = constant <f32: [5.0, 6.0, 7.0, 8.0]> : tile<4xf32>
  %r = select %c, %a, %b : tile<4xi1>, tile<4xf32>
  return %r : tile<4xf32>
}

// One and zero of a float are no extension of the condition.
// CHECK-LABEL: @one_or_zero
cuda_tile.testing$func @one_or_zero(%c: tile<i1>) -> (tile<i8>, tile<f32>) {
  // CHECK: exti %{{.*}} unsigned : tile<i1> -> tile<i8>
  // CHECK: select
  %one = constant <i8: 1> : tile<i8>
  %zero = constant <i8: 0> : tile<i8>
  %i = select %c, %one, %zero : tile<i1>, tile<i8>
  %fone = constant <f32: 1.0> : tile<f32>
  %fzero = constant <f32: 0.0> : tile<f32>
  %f = select %c, %fone, %fzero : tile<i1>, tile<f32>
  return %i, %f : tile<i8>, tile<f32>
}

// A branch that only holds another one is one branch, on both conditions.
// CHECK-LABEL: @branch_in_branch
cuda_tile.testing$func @branch_in_branch(%c: tile<i1>, %d: tile<i1>, %a: tile<i32>) {
  // CHECK-NEXT: %[[BOTH:.*]] = andi %c, %d : tile<i1>
  // CHECK-NEXT: if %[[BOTH]] {
  // CHECK-NOT: if
  // CHECK: return
  if %c {
    if %d {
      print_tko "%i", %a : tile<i32> -> token
    }
  }
}

// One that holds more stays,
// CHECK-LABEL: @branch_and_more_in_branch
cuda_tile.testing$func @branch_and_more_in_branch(%c: tile<i1>, %d: tile<i1>, %a: tile<i32>) {
  // CHECK-NEXT: if %c {
  // CHECK-NEXT: if %d {
  if %c {
    if %d {
      print_tko "%i", %a : tile<i32> -> token
    }
    print_tko "%i", %a : tile<i32> -> token
  }
}

// and one whose else region gives another value than that of the inner one.
// CHECK-LABEL: @other_values_of_else
cuda_tile.testing$func @other_values_of_else(%c: tile<i1>, %d: tile<i1>, %a: token, %b: token) -> token {
  // CHECK-NEXT: if %c -> (token) {
  // CHECK-NEXT: if %d -> (token) {
  %r = if %c -> (token) {
    %s = if %d -> (token) {
      %t = print_tko "one" token = %a -> token
      yield %t : token
    } else {
      yield %b : token
    }
    yield %s : token
  } else {
    yield %a : token
  }
  return %r : token
}

// CHECK-LABEL: @same_values_of_else
cuda_tile.testing$func @same_values_of_else(%c: tile<i1>, %d: tile<i1>, %a: token, %b: token) -> token {
  // CHECK-NEXT: %[[BOTH:.*]] = andi %c, %d : tile<i1>
  // CHECK-NEXT: if %[[BOTH]] -> (token) {
  // CHECK-NOT: if
  // CHECK: return
  %r = if %c -> (token) {
    %s = if %d -> (token) {
      %t = print_tko "one" token = %a -> token
      yield %t : token
    } else {
      yield %b : token
    }
    yield %s : token
  } else {
    yield %b : token
  }
  return %r : token
}

// A choice by the same condition as the one around it is known; another condition says nothing.
// CHECK-LABEL: @select_of_select
cuda_tile.testing$func @select_of_select(%c: tile<i1>, %e: tile<i1>, %x: tile<f32>, %y: tile<f32>, %z: tile<f32>) -> (tile<f32>, tile<f32>, tile<f32>) {
  // CHECK-NEXT: %[[S:.*]] = select %c, %x, %y
  // CHECK-NEXT: %[[R0:.*]] = select %c, %x, %z
  // CHECK-NEXT: %[[R1:.*]] = select %c, %z, %y
  // CHECK-NEXT: %[[R2:.*]] = select %e, %[[S]], %z
  // CHECK-NEXT: return %[[R0]], %[[R1]], %[[R2]]
  %0 = select %c, %x, %y : tile<i1>, tile<f32>
  %1 = select %c, %0, %z : tile<i1>, tile<f32>
  %2 = select %c, %z, %0 : tile<i1>, tile<f32>
  %3 = select %e, %0, %z : tile<i1>, tile<f32>
  return %1, %2, %3 : tile<f32>, tile<f32>, tile<f32>
}
