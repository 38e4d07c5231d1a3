// RUN: tessera-opt %s --loop-split | filecheck %s
// RUN: tessera-opt %s --loop-split=split-threshold=2 | filecheck %s --check-prefix=LARGE

// CHECK-LABEL: entry @less_than
// LARGE-LABEL: entry @less_than
entry @less_than(%p: tile<ptr<i32>>, %lb: tile<i32>, %ub: tile<i32>, %v: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  // CHECK: %[[END:.*]] = mini %[[V:.*]], %[[UB:.*]] signed
  // CHECK: %[[START:.*]] = maxi %[[V]], %[[LB:.*]] signed
  // CHECK: %[[FIRST:.*]] = for %[[I:.*]] in (%[[LB]] to %[[END]],
  // CHECK-NOT: if
  // CHECK: addi %{{.*}}, %[[I]]
  // CHECK: %[[SECOND:.*]] = for %[[J:.*]] in (%[[START]] to %[[UB]], {{.*}} iter_values(%{{.*}} = %[[FIRST]])
  // CHECK-NOT: if
  // CHECK: subi %{{.*}}, %[[J]]
  // CHECK: store_ptr_tko weak %{{.*}}, %[[SECOND]]
  // LARGE: for
  // LARGE: if
  %r = for %i in (%lb to %ub, step %one) : tile<i32> iter_values(%a = %lb) -> (tile<i32>) {
    %c = cmpi less_than %i, %v, signed : tile<i32> -> tile<i1>
    %n = if %c -> (tile<i32>) {
      %x = addi %a, %i : tile<i32>
      yield %x : tile<i32>
    } else {
      %x = subi %a, %i : tile<i32>
      yield %x : tile<i32>
    }
    continue %n : tile<i32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
}

// The number past the value compared with is taken below the upper bound, where it cannot wrap around.
// CHECK-LABEL: entry @greater_than
entry @greater_than(%p: tile<ptr<i32>>, %lb: tile<i32>, %ub: tile<i32>, %v: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  // CHECK: %[[LAST:.*]] = subi %[[UB:.*]], %[[ONE:.*]] : tile<i32>
  // CHECK: %[[LEAST:.*]] = mini %[[V:.*]], %[[LAST]] signed
  // CHECK: %[[POINT:.*]] = addi %[[LEAST]], %[[ONE]]
  // CHECK: mini %[[POINT]], %[[UB]] signed
  %r = for %i in (%lb to %ub, step %one) : tile<i32> iter_values(%a = %lb) -> (tile<i32>) {
    %c = cmpi greater_than %i, %v, signed : tile<i32> -> tile<i1>
    %n = if %c -> (tile<i32>) {
      yield %i : tile<i32>
    } else {
      yield %a : tile<i32>
    }
    continue %n : tile<i32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
}

// A value that changes in the loop is no point to split it at: neither a carried one nor one computed there.
// CHECK-LABEL: entry @carried
entry @carried(%p: tile<ptr<i32>>, %lb: tile<i32>, %ub: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  // CHECK: for
  // CHECK: if
  // CHECK-NOT: for
  %r = for %i in (%lb to %ub, step %one) : tile<i32> iter_values(%a = %lb) -> (tile<i32>) {
    %c = cmpi less_than %i, %a, signed : tile<i32> -> tile<i1>
    %n = if %c -> (tile<i32>) {
      yield %i : tile<i32>
    } else {
      yield %a : tile<i32>
    }
    continue %n : tile<i32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
}

// CHECK-LABEL: entry @hint_says_no
entry @hint_says_no(%p: tile<ptr<i32>>, %lb: tile<i32>, %ub: tile<i32>, %v: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  // CHECK: for
  // CHECK: if
  // CHECK-NOT: for
  %r = for %i in (%lb to %ub, step %one) : tile<i32> iter_values(%a = %lb) -> (tile<i32>) {
    %c = cmpi less_than %i, %v, signed : tile<i32> -> tile<i1>
    %n = if %c -> (tile<i32>) {
      yield %i : tile<i32>
    } else {
      yield %a : tile<i32>
    }
    continue %n : tile<i32>
  } {cuda_tile.loop_split = 0 : i32}
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
}
