// A buffer lies where its alignment asks for.
//
// RUN: tessera-opt %s --convert-tile-to-tileas | filecheck %s
// RUN: tessera-opt %s --convert-tile-to-tileas --tileas-assign-layouts --tileas-insert-barriers | filecheck %s --check-prefix PLACED

// CHECK: nv_tileas.alloc_tensor : !nv_tileas.smem<1x16xf32
// CHECK: nv_tileas.alloc_tensor {nv_tileas.alignment = 512 : i64} : !nv_tileas.smem<1x32xf32
// PLACED-DAG: nv_tileas.alloc_tensor {{.*}}nv_tileas.offset = {{[0-9]+}}
func.func @aligned() attributes {tessera.kernel, tessera.threads = 32} {
  %x = arith.constant 1.0 : f32
  %t = tile.thread_id : index
  %c15 = arith.constant 15 : index
  %i = arith.andi %t, %c15 : index
  %a = tile.alloc_shared {alignment = 16} : memref<16xf32, 3>
  %b = tile.alloc_shared {alignment = 512} : memref<32xf32, 3>
  tile.store_shared %x, %a[%i] : memref<16xf32, 3>
  tile.store_shared %x, %b[%t] : memref<32xf32, 3>
  %y = tile.load_shared %a[%i] : memref<16xf32, 3>
  tile.store_shared %y, %b[%t] : memref<32xf32, 3>
  return
}
