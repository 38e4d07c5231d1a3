// RUN: tessera-translate %S/../../../examples/attention.mlir --mlir-to-ptx --gpu-name=sm_90a -o %t.ptx 2>&1 | filecheck %s --check-prefix=ALWAYS
// RUN: tessera-translate %S/../../../examples/gemm_stage1.mlir --mlir-to-ptx --gpu-name=sm_90a -o %t.ptx > %t.out 2>&1
// RUN: filecheck %s --input-file %t.out --allow-empty --check-prefix=UNASKED
// RUN: tessera-translate %S/../../../examples/gemm_stage1.mlir --mlir-to-ptx --gpu-name=sm_90a --remarks=text -o %t.ptx 2>&1 | filecheck %s --check-prefix=ASKED

// Why TMA does not bring a tile is a remark like any other. What it ignores is always said.
// ALWAYS: coalesce is ignored
// UNASKED-NOT: [tma]
// ASKED: the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads from a base {{.*}} [tma]
