// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileaa.func @no_loop(%c: i1) {
  nv_tileaa.if %c {
    // expected-error @+1 {{'nv_tileaa.break' op expects an 'nv_tileaa.loop' around it, with nothing but 'nv_tileaa.if' between}}
    nv_tileaa.break
  }
  nv_tileaa.return
}

// -----

// An scf.if is not left early.
nv_tileaa.func @through_scf(%c: i1) {
  nv_tileaa.loop {
    // expected-error @+1 {{'scf.if' op expects region to terminate with 'scf.yield', but found 'nv_tileaa.break'}}
    scf.if %c {
      nv_tileaa.break
    }
    nv_tileaa.continue
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @break_types(%x: i32, %y: f32) {
  // expected-error @+1 {{'nv_tileaa.loop' op along control flow edge from Operation nv_tileaa.break to parent: successor operand type #0 'f32' should match successor input type #0 'i32'}}
  %r = nv_tileaa.loop -> i32 {
    // expected-note @+1 {{region branch point}}
    nv_tileaa.break %y : f32
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @continue_types(%x: i32, %c: i1) {
  // expected-error @+1 {{'nv_tileaa.loop' op along control flow edge from Operation nv_tileaa.continue to Region #0: region branch point has 0 operands, but region successor needs 1 inputs}}
  nv_tileaa.loop (%a = %x) : (i32) {
    nv_tileaa.if %c {
      // expected-note @+1 {{region branch point}}
      nv_tileaa.continue
    }
    nv_tileaa.continue %a : i32
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @yielding_loop() {
  nv_tileaa.loop {
    // expected-error @+1 {{'nv_tileaa.yield' op cannot end a loop's body; 'nv_tileaa.continue' and 'nv_tileaa.break' do}}
    nv_tileaa.yield
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @no_else(%x: i32, %c: i1) {
  // expected-error @+1 {{'nv_tileaa.if' op must have an else block if defining values}}
  %r = nv_tileaa.if %c -> (i32) {
    nv_tileaa.yield %x : i32
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @yield_types(%x: i32, %c: i1) {
  // expected-error @+1 {{'nv_tileaa.if' op along control flow edge from Operation nv_tileaa.yield to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %r = nv_tileaa.if %c -> (i32) {
    // expected-note @+1 {{region branch point}}
    nv_tileaa.yield
  } else {
    nv_tileaa.return
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @early(%x: i32, %c: i1) -> i32 {
  nv_tileaa.if %c {
    // expected-error @+1 {{'nv_tileaa.return' op returns () from a function whose results are (i32)}}
    nv_tileaa.return
  }
  nv_tileaa.return %x : i32
}

// -----

nv_tileaa.func @a_loop_without_a_body() {
  // expected-error @below {{'nv_tileaa.loop' op region #0 must have one block}}
  "nv_tileaa.loop"() ({}) : () -> ()
  nv_tileaa.return
}

// -----

nv_tileaa.func @a_branch_without_a_then_block(%c: i1) {
  // expected-error @below {{'nv_tileaa.if' op must have a then block}}
  "nv_tileaa.if"(%c) ({}, {}) : (i1) -> ()
  nv_tileaa.return
}
