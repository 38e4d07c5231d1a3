// RUN: not tessera-opt %s --convert-tileaa-to-tileas=cluster=2 2>&1 | filecheck %s --check-prefix=CLUSTER
// RUN: not tessera-opt %s --convert-tileaa-to-tileas=cluster=0x2 2>&1 | filecheck %s --check-prefix=CLUSTER
// RUN: not tessera-opt %s --convert-tileaa-to-tileas=cluster=blocks:ax2 2>&1 | filecheck %s --check-prefix=CLUSTER
// RUN: not tessera-opt %s --tileas-materialize-pipeline=num-stages=-1 2>&1 | filecheck %s --check-prefix=STAGES
// RUN: not tessera-opt %s --tileas-schedule=num-stages=-1 2>&1 | filecheck %s --check-prefix=STAGES
// RUN: not tessera-opt %s --tileas-schedule=num-consumer-warpgroups=-1 2>&1 | filecheck %s --check-prefix=WARPGROUPS
// RUN: not tessera-opt %s --plan-cta=stop=middle 2>&1 | filecheck %s --check-prefix=STOP
// RUN: not tessera-opt %s --tileas-slicing=slice-count=-1 2>&1 | filecheck %s --check-prefix=SLICES
// RUN: not tessera-opt %s --tileas-slicing=slice-count=1025 2>&1 | filecheck %s --check-prefix=SLICES
// RUN: not tessera-opt %s --tileas-split-k=parts=3 2>&1 | filecheck %s --check-prefix=PARTS

// A value that an option cannot have is refused at the module.
// CLUSTER: :20:1: error: 'builtin.module' op option cluster={{2|0x2|blocks:ax2}} is invalid; expected ROWSxCOLUMNS, such as 2x1, blocks:XxY, or auto
// STAGES: :20:1: error: 'builtin.module' op option num-stages=-1 is invalid; expected a number of stages, or 0
// WARPGROUPS: :20:1: error: 'builtin.module' op option num-consumer-warpgroups=-1 is invalid; expected 1, 2 or 4, or 0
// STOP: :20:1: error: 'builtin.module' op option stop=middle is invalid; expected seeds or layouts
// SLICES: :20:1: error: 'builtin.module' op option slice-count={{-1|1025}} is invalid; expected a number from 0 to 1024
// PARTS: :20:1: error: 'builtin.module' op option parts=3 is invalid; expected 0, 1, 2, 4 or 8

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    nv_tileaa.return
  }
}
