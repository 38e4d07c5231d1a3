// RUN: tessera-translate %S/../../../examples/attention.mlir --mlir-to-ptx --gpu-name=sm_90a -o %t.ptx 2>&1 | filecheck %s
// RUN: tessera-translate %S/../../../examples/attention.mlir --mlir-to-ptx --gpu-name=sm_90a --remarks=text -o %t.ptx 2>&1 | filecheck %s --check-prefix=ASKED

// Why a kernel has no agents is a remark like any other. What it ignores is always said.
// CHECK-NOT: [agents]
// CHECK: coalesce is ignored
// CHECK-NOT: [agents]
// ASKED: TMA and wgmma are not used: nv_tileas.dot has no operand that is loaded [agents]
