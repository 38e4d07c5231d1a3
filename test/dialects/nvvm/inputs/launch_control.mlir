llvm.func @cancel(%p: !llvm.ptr<3>, %b: !llvm.ptr<3>, %r: i128) {
  nvvm.clusterlaunchcontrol.try.cancel %p, %b
  nvvm.clusterlaunchcontrol.try.cancel multicast, %p, %b
  %c = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %r : i1
  %x = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_x, %r : i32
  %y = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_y, %r : i32
  %z = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_z, %r : i32
  llvm.return
}
