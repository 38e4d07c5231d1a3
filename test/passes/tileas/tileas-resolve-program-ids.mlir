// RUN: tessera-opt %s --tileas-dynamic-persistent --tileas-resolve-program-ids -o %t.static
// RUN: filecheck %s --input-file %t.static --check-prefix=STATIC
// RUN: tessera-opt %s --tileas-dynamic-persistent --tileas-resolve-program-ids=scheduler=counter -o %t.counter
// RUN: filecheck %s --input-file %t.counter --check-prefix=COUNTER
// RUN: tessera-opt %s --tileas-resolve-program-ids=raster=grouped:4 -o %t.grouped
// RUN: filecheck %s --input-file %t.grouped --check-prefix=GROUPED
// RUN: tessera-opt %s --tileas-resolve-program-ids | tessera-opt --tileas-resolve-program-ids -o %t.rows
// RUN: tessera-opt %s | diff %t.rows -

// A stride over the CTAs of the grid: the loop is one with bounds.  The extents that the caller asks for are hidden
// parameters, which the launcher knows from the attribute.
// STATIC: @k(%p: !llvm.ptr<1>, %n: i32, %[[X:.+]]: i32, %[[Y:.+]]: i32, %[[Z:.+]]: i32)
// STATIC-SAME: nv_tileaa.persistent = {grid = [2, 3, 4], scheduler = "static"}
// STATIC: %[[COLUMNS:.+]] = nv_tileaa.assume %[[X]]
// STATIC: %[[ROWS:.+]] = nv_tileaa.assume %[[Y]]
// STATIC: %[[CTA:.+]] = nv_tileaa.get_program_id {axis = 0 : i32} : i32
// STATIC: %[[CTAS:.+]] = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
// STATIC: scf.for %[[PID:.+]] = %{{.*}} to %{{.*}} step %{{.*}} : i32 {
// STATIC: %[[I:.+]] = arith.remui %[[PID]], %[[COLUMNS]] : i32
// STATIC: %[[BY:.+]] = arith.divui %[[PID]], %[[COLUMNS]] : i32
// STATIC: %[[J:.+]] = arith.remui %[[BY]], %[[ROWS]] : i32
// STATIC: arith.muli %[[J]], %[[COLUMNS]] : i32

// CTAs deal out the iterations of a marked loop. Without that, each runs those of a stride.
// COUNTER: @k({{.*}}, %[[AT:.+]]: !llvm.ptr<1>) attributes
// COUNTER-SAME: nv_tileaa.persistent = {counter = 5 : i64, grid = [2, 3, 4], scheduler = "counter"}
// COUNTER: %[[CTAS:.+]] = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
// COUNTER: %[[STEP:.+]] = nv_tileaa.assume %[[CTAS]]
// COUNTER: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[STEP]] : i32 {
// COUNTER: } {nv_tileas.dealt = "counter"}

// Without a loop, the order of programs changes as well, within a plane of the grid.
// GROUPED: @k(%p: !llvm.ptr<1>, %n: i32) attributes
// GROUPED: %[[COLUMNS:.+]] = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
// GROUPED: arith.minui
// GROUPED-NOT: scf.for
nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %y = nv_tileaa.get_program_id {axis = 1 : i32} : i32
  %columns = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %row = arith.muli %y, %columns : i32
  %at = arith.addi %row, %x : i32
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %d = nv_tileas.tiled_store %v[%at], %one, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<1xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}
