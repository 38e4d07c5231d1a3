// Integers are decimal, whatever zeros they begin with; `0x` makes them hexadecimal.
// RUN: tessera-opt %s | FileCheck %s

func.func @f(%lane: index, %flag: i32) {
  // CHECK: gpu.warp_execute_on_lane_0(%{{.*}})[32]
  gpu.warp_execute_on_lane_0(%lane)[032] {
  }
  // CHECK: scf.forall (%{{.*}}) in (10)
  scf.forall (%i) in (010) {
  }
  // CHECK: case 16
  scf.index_switch %lane
  case 0x10 {
    scf.yield
  }
  // CHECK: case 9
  case 09 {
    scf.yield
  }
  default {
  }
  // CHECK: 7: ^
  cf.switch %flag : i32, [
    default: ^end,
    007: ^end
  ]
^end:
  return
}

// CHECK: entry @hinted
// CHECK: bounded<8, 16>
cuda_tile.module @m {
  entry @hinted(%n: tile<i32>) {
    %m = assume bounded<08, 0x10>, %n : tile<i32>
    return
  }
}
