// RUN: tessera-opt %s --allow-unregistered-dialect --tileas-deal-programs -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --allow-unregistered-dialect --tileas-deal-programs | diff %t -

module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {

// One group of threads: the next number is one that no other CTA has taken.
// CHECK-LABEL: @counter(
// CHECK-SAME: %[[AT:[^ ]+]]: !llvm.ptr<1>)
// CHECK: %[[CTAS:.+]] = nv_tileaa.get_num_programs {axis = 0 : i32}
// CHECK: nv_tileaa.loop (%[[PID:.+]] = %{{.*}}) : (i32) {
// CHECK-NEXT: %[[LEFT:.+]] = arith.cmpi ult, %[[PID]], %programs : i32
// CHECK-NEXT: nv_tileaa.if %[[LEFT]] {
// CHECK-NEXT: } else {
// CHECK-NEXT: nv_tileaa.break
// CHECK: %[[TAKEN:.+]]:2 = nv_tileaa.atomic_rmw add relaxed gpu %[[AT]],
// CHECK: %[[OLD:.+]] = nv_tileaa.assume %[[TAKEN]]#0
// CHECK: %[[NEXT:.+]] = arith.addi %[[OLD]], %[[CTAS]] : i32
// CHECK: nv_tileaa.continue %[[NEXT]] : i32
nv_tileaa.func @counter(%programs: i32, %counter: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %ctas = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  scf.for %p = %own to %programs step %ctas : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// One thread asks while the program runs; the answer is read behind the wait for it, and before the next question.
// CHECK-LABEL: @cancel(
// CHECK: nv_tileas.async.mbarrier_init %[[BARRIER:.+]][%{{.*}}], 1
// CHECK: nv_tileaa.loop (%{{.*}} = %{{.*}}, %[[PARITY:.+]] = %{{.*}}) : (i32, i32) {
// CHECK: nv_tileas.async.cancel_launch %[[RESPONSE:.+]], %[[BARRIER]]
// CHECK: nv_tileas.async.mbarrier_wait %[[BARRIER]][%{{.*}}], %[[PARITY]]
// CHECK-NEXT: %[[NEXT:.+]] = nv_tileas.canceled_program_id %[[RESPONSE]]
// CHECK-NEXT: nv_tileas.fence_proxy
// CHECK: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[FLIPPED:.+]] = arith.xori %[[PARITY]], %[[ONE]] : i32
// CHECK: nv_tileaa.continue %[[NEXT]], %[[FLIPPED]] : i32, i32
nv_tileaa.func @cancel() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileaa.persistent = {scheduler = "cancel"}} {
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %programs = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  scf.for %p = %own to %programs step %programs : i32 {
    scf.yield
  } {nv_tileas.dealt = "cancel"}
  nv_tileaa.return
}

// plan-cta has chosen tickets for a cluster, and no agents have been made that would read them: the loop keeps its
// bounds.
// CHECK-LABEL: @chosen_by_price(
// CHECK-NOT: nv_tileas.persistent_if_auto
// CHECK: scf.for
// CHECK-NOT: nv_tileas.dealt
// CHECK: nv_tileaa.return
nv_tileaa.func @chosen_by_price(%programs: i32, %counter: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}, nv_tileas.persistent_if_auto = "counter"} {
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %ctas = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  scf.for %p = %own to %programs step %ctas : i32 {
    scf.yield
  } {nv_tileas.dealt = "counter"}
  nv_tileaa.return
}

// Agents: the first one takes the number of the next program before its own, and gives it to the others behind it. Each
// of their warps releases it. Its own warp has the number.
// CHECK-LABEL: @counter_of_agents(
// CHECK-SAME: %[[AT:[^ ]+]]: !llvm.ptr<1>)
// CHECK: %[[TICKETS:.+]] = nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 4
// CHECK: %[[NUMBERS:.+]] = nv_tileas.alloc_tensor {{.*}} : !nv_tileas.smem<4x1xi32
// CHECK: nv_tileas.async.pipeline.agent_switch
// CHECK: %[[FIRST:.+]] = nv_tileas.async.pipeline.create_iterator %[[TICKETS]]
// CHECK: nv_tileaa.loop (%[[PID:.+]] = %{{.*}}, %[[I:.+]] = %[[FIRST]])
// CHECK: nv_tileaa.break
// CHECK: %[[TAKEN:.+]] = nv_tileas.take_number %[[AT]]
// CHECK: "test.load"(%[[PID]])
// CHECK: nv_tileas.async.pipeline.producer_acquire %[[TICKETS]], %[[I]]
// CHECK: nv_tileas.store_element
// CHECK: nv_tileas.async.pipeline.producer_commit
// CHECK: %[[NEXT:.+]] = nv_tileas.of_first_lane
// CHECK: %[[J:.+]] = nv_tileas.async.pipeline.inc_iter %[[I]]
// CHECK: nv_tileaa.continue %[[NEXT]], %[[J]]
// CHECK: }, {
// CHECK: %[[SUM:.+]] = nv_tileaa.loop (%[[PID2:.+]] = %{{.*}}, %[[CARRIED:.+]] = %{{.*}}, %[[I2:.+]] = %{{.*}})
// CHECK: nv_tileaa.break %[[CARRIED]] : i32
// CHECK-NOT: take_number
// CHECK: %[[USED:.+]] = "test.use"(%[[PID2]])
// CHECK: %[[NEXT2:.+]] = nv_tileas.async.pipeline.consume_one %[[TICKETS]], %[[I2]]
// CHECK: nv_tileas.load_element
// CHECK: nv_tileas.async.pipeline.consumer_release
// CHECK: nv_tileaa.continue %[[NEXT2]], %[[USED]], %{{.*}}
// CHECK: "test.end"(%[[SUM]])
nv_tileaa.func @counter_of_agents(%programs: i32, %counter: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 5>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %ctas = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 1] {
    scf.for %p = %own to %programs step %ctas : i32 {
      "test.load"(%p) : (i32) -> ()
      scf.yield
    } {nv_tileas.dealt = "counter"}
    nv_tileas.async.pipeline.yield
  }, {
    %sum = scf.for %p = %own to %programs step %ctas iter_args(%s = %own) -> (i32) : i32 {
      %used = "test.use"(%p) : (i32) -> i32
      scf.yield %used : i32
    } {nv_tileas.dealt = "counter"}
    "test.end"(%sum) : (i32) -> ()
    nv_tileas.async.pipeline.yield
  }
  nv_tileaa.return
}

// The answer to what one thread asks fills the stage. A fence stands between a thread's read and its release, behind
// which the async proxy writes the next answer.
// CHECK-LABEL: @cancel_of_agents(
// CHECK: %[[TICKETS:.+]] = nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 5
// CHECK: %[[ANSWERS:.+]] = nv_tileas.alloc_tensor {{.*}} : !nv_tileas.smem<4x4xi32
// CHECK: nv_tileas.async.pipeline.produce_one %[[TICKETS]], %[[I:.+]] {
// CHECK: nv_tileas.async.request_launch %[[ANSWERS]], %[[I]]
// CHECK: "test.load"
// CHECK: nv_tileas.async.pipeline.consumer_wait %[[TICKETS]], %[[I]]
// CHECK: nv_tileas.canceled_program_id
// CHECK-NEXT: nv_tileas.fence_proxy
// CHECK: nv_tileas.async.pipeline.consumer_release
// CHECK: }, {
// CHECK-NOT: request_launch
// CHECK: nv_tileas.async.pipeline.consumer_wait %[[TICKETS]]
// CHECK: nv_tileas.canceled_program_id
// CHECK-NEXT: nv_tileas.fence_proxy
// CHECK: nv_tileas.async.pipeline.consumer_release
nv_tileaa.func @cancel_of_agents() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 5>, nv_tileaa.persistent = {scheduler = "cancel"}} {
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %programs = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 1] {
    scf.for %p = %own to %programs step %programs : i32 {
      "test.load"(%p) : (i32) -> ()
      scf.yield
    } {nv_tileas.dealt = "cancel"}
    nv_tileas.async.pipeline.yield
  }, {
    scf.for %p = %own to %programs step %programs : i32 {
      "test.use"(%p) : (i32) -> ()
      scf.yield
    } {nv_tileas.dealt = "cancel"}
    nv_tileas.async.pipeline.yield
  }
  nv_tileaa.return
}

// A cluster: the first CTA takes tickets for all, and each warp of all of them releases them there. An agent that
// multiplies in one CTA of a pair reads them in the other one, too.
// CHECK-LABEL: @clusters(
// CHECK: %[[TICKETS:.+]] = nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 4 by_first
// CHECK: nv_tileas.async.pipeline.agent_switch
// CHECK: nv_tileas.take_number
// CHECK: nv_tileas.async.pipeline.consume_one %[[TICKETS]]
// CHECK: }, {
// CHECK: scf.if
// CHECK: "test.multiply"
// CHECK: nv_tileas.async.pipeline.consume_one %[[TICKETS]]
// CHECK: } else {
// CHECK: nv_tileaa.loop
// CHECK-NOT: "test.multiply"
// CHECK: nv_tileas.async.pipeline.consume_one %[[TICKETS]]
nv_tileaa.func @clusters(%programs: i32, %counter: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 2, cluster = [2, 1, 1]>, nv_tileaa.persistent = {counter = 1 : i64, grid = [0, 0, 0], scheduler = "counter"}} {
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %ctas = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 1] warp_id = [0, 1] {
    scf.for %p = %own to %programs step %ctas : i32 {
      "test.load"(%p) : (i32) -> ()
      scf.yield
    } {nv_tileas.dealt = "counter"}
    nv_tileas.async.pipeline.yield
  }, {
    %leads = "test.leads"() : () -> i1
    scf.if %leads {
      scf.for %p = %own to %programs step %ctas : i32 {
        "test.multiply"(%p) : (i32) -> ()
        scf.yield
      } {nv_tileas.dealt = "counter"}
    }
    nv_tileas.async.pipeline.yield
  }
  nv_tileaa.return
}
}
