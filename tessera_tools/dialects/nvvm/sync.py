"""Barriers, warp-level exchange, fences, cluster barriers (PTX ISA, "Parallel Synchronization and Communication")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.types import struct
from tessera_tools.dialects.nvvm.attributes import (
    GridDepActionAttr,
    MatchSyncKindAttr,
    MemOrderAttr,
    MemScopeAttr,
    ProxyKindAttr,
    ReductionAttr,
    ReduxKindAttr,
    SetMaxRegisterActionAttr,
    SharedSpaceAttr,
    ShflKindAttr,
    VoteSyncKindAttr,
)
from tessera_tools.dialects.nvvm.base import (
    CLUSTER,
    GENERIC,
    GENERIC_OR_SHARED,
    I1_TYPE,
    I32_OR_F32,
    I32_OR_I1,
    I32_OR_I64,
    I32_TYPE,
    NVVMOp,
    flag,
    space,
)
from tessera_tools.ir.builtin_attributes import FALSE
from tessera_tools.ir.types import I1, I32
from tessera_tools.opdef import (
    ANY_TYPE,
    BOOL_ATTR,
    I32_ATTR,
    IN_ORDER,
    PURE,
    READ_WRITE,
    SYNCHRONIZES,
    UNIT_ATTR,
    Completion,
    MemoryEffects,
    arrive,
    attribute,
    enum,
    of_class,
    operand,
    optional_operand,
    optional_result,
    result,
    same_as,
    wait,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter


class Barrier0(NVVMOp, name="nvvm.barrier0", traits=(SYNCHRONIZES,)):
    """All threads of the CTA meet at barrier 0."""

    intrinsic = "llvm.nvvm.barrier.cta.sync.aligned.all"
    assembly = "attr-dict"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return ["i32 0"]


class Barrier(NVVMOp, name="nvvm.barrier", traits=(SYNCHRONIZES,)):
    """Threads of the CTA meet at a barrier; optionally reduces a predicate over them."""

    barrier_id = optional_operand(I32_TYPE)
    number_of_threads = optional_operand(I32_TYPE)
    reduction_op = attribute(of_class(ReductionAttr), optional=True, key="reductionOp")
    reduction_predicate = optional_operand(I32_TYPE)
    res = optional_result(I32_TYPE)
    assembly = (
        "(`id` `=` $barrier_id^)? (`number_of_threads` `=` $number_of_threads^)? "
        "($reduction_op^ $reduction_predicate)? (`->` type($res)^)? attr-dict"
    )

    def llvm_ir(self, e: Emitter) -> None:
        count = self.number_of_threads
        arguments = ["i32 0" if self.barrier_id is None else e.operand(self.barrier_id)]
        arguments += [e.operand(count)] if count is not None else []
        suffix = "count" if count is not None else "all"
        if self.reduction_op is None:
            e.call(self, f"llvm.nvvm.barrier.cta.sync.aligned.{suffix}", "void", arguments)
            return
        kind = self.reduction_op.value
        assert self.reduction_predicate is not None
        predicate = e.temporary(f"icmp ne {e.operand(self.reduction_predicate)}, 0")
        produced = "i32" if kind == "popc" else "i1"
        name = f"llvm.nvvm.barrier.cta.red.{kind}.aligned.{suffix}"
        value = e.call_value(name, produced, [*arguments, f"i1 {predicate}"])
        if not self.results:
            return
        if kind == "popc":
            e.names[self.results[0]] = value
        else:
            e.define(self, f"zext i1 {value} to i32")

    def verify_op(self) -> None:
        if self.number_of_threads is not None and self.barrier_id is None:
            raise self.error("barrier id is missing, it should be set between 0 to 15")
        if (self.reduction_op is None) is not (self.reduction_predicate is None):
            raise self.error("reduction predicate and reduction operation must be specified together")


class BarrierArrive(NVVMOp, name="nvvm.barrier.arrive", traits=(MemoryEffects(arrive()),)):
    """Arrive at a barrier without waiting."""

    intrinsic = "llvm.nvvm.barrier.cta.arrive.aligned.count"
    barrier_id = optional_operand(I32_TYPE)
    number_of_threads = operand(I32_TYPE)
    assembly = "(`id` `=` $barrier_id^)? `number_of_threads` `=` $number_of_threads attr-dict"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        number = ["i32 0"] if self.barrier_id is None else []
        return number + [e.operand(v) for v in self.operands]


class SyncWarp(NVVMOp, name="nvvm.bar.warp.sync", traits=(READ_WRITE,)):
    """The lanes in the mask meet."""

    intrinsic = "llvm.nvvm.bar.warp.sync"
    mask = operand(I32_TYPE)
    assembly = "$mask attr-dict `:` type($mask)"


class Shfl(NVVMOp, name="nvvm.shfl.sync", traits=(IN_ORDER,)):
    """A value from another lane."""

    thread_mask = operand(I32_TYPE)
    val = operand(I32_OR_F32)
    offset = operand(I32_TYPE)
    mask_and_clamp = operand(I32_TYPE)
    kind = attribute(enum(ShflKindAttr))
    return_value_and_is_valid = attribute(UNIT_ATTR, optional=True)
    res = result(ANY_TYPE)
    assembly = (
        "` ` ` ` $kind $thread_mask `,` $val `,` $offset `,` $mask_and_clamp attr-dict "
        "`:` type($val) `->` type($res)"
    )

    def intrinsic_name(self) -> str:
        valid = "p" if self.return_value_and_is_valid is not None else ""
        return f"llvm.nvvm.shfl.sync.{self.kind.value}.{self.val.type}{valid}"

    def verify_op(self) -> None:
        type = self.val.type
        wanted = struct(type, I1) if self.return_value_and_is_valid is not None else type
        if self.results[0].type is not wanted:
            raise self.error(f"expected return type '{wanted}', but got '{self.results[0].type}'")


class VoteSync(NVVMOp, name="nvvm.vote.sync", traits=(IN_ORDER,)):
    """A vote of the lanes in the mask on a predicate."""

    mask = operand(I32_TYPE)
    pred = operand(I1_TYPE)
    kind = attribute(enum(VoteSyncKindAttr))
    res = result(I32_OR_I1)
    assembly = "` ` ` ` $kind $mask `,` $pred attr-dict `->` type($res)"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.vote.{self.kind.value}.sync"

    def verify_op(self) -> None:
        wanted = I32 if self.kind.value == "ballot" else I1
        if self.results[0].type is not wanted:
            raise self.error(
                f"vote.sync '{self.kind.value}' returns an {wanted}, but got '{self.results[0].type}'"
            )


class MatchSync(NVVMOp, name="nvvm.match.sync", traits=(IN_ORDER,)):
    """The lanes that have the same value."""

    thread_mask = operand(I32_TYPE)
    val = operand(I32_OR_I64)
    kind = attribute(enum(MatchSyncKindAttr))
    res = result(ANY_TYPE)
    assembly = "` ` ` ` $kind $thread_mask `,` $val attr-dict `:` type($val) `->` type($res)"

    def intrinsic_name(self) -> str:
        every = "p" if self.kind.value == "all" else ""
        return f"llvm.nvvm.match.{self.kind.value}.sync.{self.val.type}{every}"


class ElectSync(NVVMOp, name="nvvm.elect.sync", traits=(IN_ORDER,)):
    """Whether this lane is the one elected of those in the mask."""

    membermask = optional_operand(I32_TYPE)
    pred = result(I1_TYPE)
    assembly = "$membermask attr-dict `->` type($pred)"

    def llvm_ir(self, e: Emitter) -> None:
        mask = "i32 -1" if self.membermask is None else e.operand(self.membermask)
        both = e.call_value("llvm.nvvm.elect.sync", "{ i32, i1 }", [mask])
        e.define(self, f"extractvalue {{ i32, i1 }} {both}, 1")


class Redux(NVVMOp, name="nvvm.redux.sync", traits=(IN_ORDER,)):
    """A reduction over the lanes in the mask."""

    val = operand(I32_OR_F32)
    kind = attribute(enum(ReduxKindAttr))
    mask_and_clamp = operand(I32_TYPE)
    abs = attribute(BOOL_ATTR, default=FALSE)
    nan = attribute(BOOL_ATTR, default=FALSE)
    res = result(same_as("val"))
    assembly = "` ` ` ` $kind $val `,` $mask_and_clamp attr-dict `:` type($val) `->` type($res)"

    def intrinsic_name(self) -> str:
        marks = (".abs" if flag(self, "abs") else "") + (".NaN" if flag(self, "nan") else "")
        return f"llvm.nvvm.redux.sync.{self.kind.value}{marks}"

    def verify_op(self) -> None:
        floating = self.kind.value in ("fmin", "fmax")
        if floating is (self.val.type is I32):
            raise self.error(f"'{self.kind.value}' redux kind unsupported with {self.val.type} type")
        if not floating and (flag(self, "abs") or flag(self, "nan")):
            raise self.error("abs and nan attributes are supported only for f32 type")


class Membar(NVVMOp, name="nvvm.memory.barrier", traits=(READ_WRITE,)):
    """Order memory accesses."""

    scope = attribute(enum(MemScopeAttr, angled=True))
    assembly = "` ` $scope attr-dict"

    def intrinsic_name(self) -> str:
        words = {"cta": "membar.cta", "cluster": "fence.sc.cluster", "gpu": "membar.gl", "sys": "membar.sys"}
        return f"llvm.nvvm.{words[self.scope.value]}"


class FenceMbarrierInit(NVVMOp, name="nvvm.fence.mbarrier.init", traits=(READ_WRITE,)):
    """Makes initialized mbarriers visible to the whole cluster."""

    intrinsic = "llvm.nvvm.fence.mbarrier_init.release.cluster"
    assembly = "attr-dict"


class FenceScCluster(NVVMOp, name="nvvm.fence.sc.cluster", traits=(READ_WRITE,)):
    """Sequentially consistent fence in the cluster."""

    intrinsic = "llvm.nvvm.fence.sc.cluster"
    assembly = "attr-dict"


class FenceSyncRestrict(NVVMOp, name="nvvm.fence.sync_restrict", traits=(READ_WRITE,)):
    """A fence in one direction, restricted to mbarrier operations."""

    order = attribute(of_class(MemOrderAttr))
    assembly = "attr-dict"

    def intrinsic_name(self) -> str:
        where = {"acquire": "cluster", "release": "cta"}[self.order.value]
        return f"llvm.nvvm.fence.{self.order.value}.sync_restrict.space.{where}.scope.cluster"

    def verify_op(self) -> None:
        _verify_direction(self)


def _verify_direction(op: FenceSyncRestrict | FenceProxySyncRestrict) -> None:
    if op.order.value not in ("acquire", "release"):
        raise op.error(f"only acquire and release semantics are supported, but got '{op.order.value}'")


class FenceProxy(NVVMOp, name="nvvm.fence.proxy", traits=(READ_WRITE,)):
    """Order accesses through different proxies."""

    kind = attribute(of_class(ProxyKindAttr))
    space = attribute(of_class(SharedSpaceAttr), optional=True)
    assembly = "attr-dict"

    def intrinsic_name(self) -> str:
        if self.space is not None:
            return f"llvm.nvvm.fence.proxy.async.shared_{self.space.value}"
        return f"llvm.nvvm.fence.proxy.{self.kind.value}"

    def verify_op(self) -> None:
        if self.kind.value in ("tensormap", "generic"):
            raise self.error(
                f"'{self.kind.value}' proxy kind is not supported; use fence.proxy.acquire or release"
            )
        if self.kind.value == "async.shared" and self.space is None:
            raise self.error("async_shared fence requires space attribute")
        if self.kind.value != "async.shared" and self.space is not None:
            raise self.error("only async_shared fence can have space attribute")


GENERIC_PROXY, TENSORMAP_PROXY, ASYNC_PROXY = (ProxyKindAttr(k) for k in ("generic", "tensormap", "async"))


class FenceProxyAcquire(NVVMOp, name="nvvm.fence.proxy.acquire", traits=(READ_WRITE,)):
    """Acquire what another proxy wrote; `size` is the constant 128."""

    scope = attribute(enum(MemScopeAttr, angled=True))
    addr = operand(GENERIC)
    size = operand(I32_TYPE)
    from_proxy = attribute(enum(ProxyKindAttr, angled=True), default=GENERIC_PROXY, key="fromProxy")
    to_proxy = attribute(enum(ProxyKindAttr, angled=True), default=TENSORMAP_PROXY, key="toProxy")
    assembly = (
        "` ` $scope $addr `,` $size (`from_proxy` `=` ` ` $from_proxy^)? "
        "(`to_proxy` `=` ` ` $to_proxy^)? attr-dict"
    )

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.fence.proxy.tensormap_generic.acquire.{self.scope.value}"


class FenceProxyRelease(NVVMOp, name="nvvm.fence.proxy.release", traits=(READ_WRITE,)):
    """Release to another proxy."""

    scope = attribute(enum(MemScopeAttr, angled=True))
    from_proxy = attribute(enum(ProxyKindAttr, angled=True), default=GENERIC_PROXY, key="fromProxy")
    to_proxy = attribute(enum(ProxyKindAttr, angled=True), default=TENSORMAP_PROXY, key="toProxy")
    assembly = "` ` $scope (`from_proxy` `=` ` ` $from_proxy^)? (`to_proxy` `=` ` ` $to_proxy^)? attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.fence.proxy.tensormap_generic.release.{self.scope.value}"


class FenceProxySyncRestrict(NVVMOp, name="nvvm.fence.proxy.sync_restrict", traits=(READ_WRITE,)):
    """A proxy fence in one direction, restricted to mbarrier operations."""

    order = attribute(of_class(MemOrderAttr))
    from_proxy = attribute(of_class(ProxyKindAttr), default=GENERIC_PROXY, key="fromProxy")
    to_proxy = attribute(of_class(ProxyKindAttr), default=ASYNC_PROXY, key="toProxy")
    assembly = "attr-dict"

    def intrinsic_name(self) -> str:
        where = {"acquire": "cluster", "release": "cta"}[self.order.value]
        return f"llvm.nvvm.fence.proxy.async_generic.{self.order.value}.sync_restrict.space.{where}.scope.cluster"

    def verify_op(self) -> None:
        _verify_direction(self)


class _ClusterBarrier(NVVMOp):
    aligned = attribute(UNIT_ATTR, optional=True)
    assembly = "attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.barrier.{self.name.removeprefix('nvvm.')}" + (
            ".aligned" if self.aligned is not None else ""
        )


class ClusterArrive(_ClusterBarrier, name="nvvm.cluster.arrive", traits=(MemoryEffects(arrive()),)):
    """Arrive at the cluster's barrier."""


class ClusterArriveRelaxed(
    _ClusterBarrier, name="nvvm.cluster.arrive.relaxed", traits=(MemoryEffects(arrive()),)
):
    """Arrive at the cluster's barrier without ordering memory."""


class ClusterWait(_ClusterBarrier, name="nvvm.cluster.wait", traits=(MemoryEffects(wait()),)):
    """Wait at the cluster's barrier."""


class Mapa(NVVMOp, name="nvvm.mapa", traits=(PURE,)):
    """The address of the same variable in another CTA of the cluster."""

    a = operand(GENERIC_OR_SHARED)
    b = operand(I32_TYPE)
    res = result(GENERIC | CLUSTER)
    assembly = "$a `,` $b attr-dict `:` type($a) `->` type($res)"

    def verify_op(self) -> None:
        if (space(self.a) == 3) is not (space(self.results[0]) == 7):
            raise self.error("failed to verify that Valid address-space check(or mapping) for mapa Op")

    def intrinsic_name(self) -> str:
        return "llvm.nvvm.mapa.shared.cluster" if space(self.a) == 3 else "llvm.nvvm.mapa"


class SetMaxRegister(NVVMOp, name="nvvm.setmaxregister", traits=(IN_ORDER,)):
    """Change how many registers the warps of the warpgroup have."""

    reg_count = attribute(I32_ATTR, key="regCount")
    action = attribute(enum(SetMaxRegisterActionAttr))
    assembly = "` ` ` ` $action $reg_count attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.setmaxnreg.{self.action.value[:3]}.sync.aligned.u32"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [f"i32 {self.reg_count.value}"]

    def verify_op(self) -> None:
        if self.reg_count.value % 8:
            raise self.error("new register size must be multiple of 8")
        if not 24 <= self.reg_count.value <= 256:
            raise self.error("new register size must be in between 24 to 256")


class Griddepcontrol(
    NVVMOp,
    name="nvvm.griddepcontrol",
    traits=(MemoryEffects(arrive(Completion.GRID), wait(Completion.GRID)),),
):
    """Wait for the grids before, or let the dependent grids start."""

    kind = attribute(enum(GridDepActionAttr))
    assembly = "` ` ` ` $kind attr-dict"

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.griddepcontrol.{self.kind.value.replace('_', '.')}"


class Nanosleep(NVVMOp, name="nvvm.nanosleep", traits=(IN_ORDER,)):
    """Pause for about `duration` nanoseconds."""

    intrinsic = "llvm.nvvm.nanosleep"
    duration = operand(I32_TYPE)
    assembly = "attr-dict $duration"


class Exit(NVVMOp, name="nvvm.exit", traits=(IN_ORDER,)):
    """End the thread."""

    intrinsic = "llvm.nvvm.exit"
    assembly = "attr-dict"


class Breakpoint(NVVMOp, name="nvvm.breakpoint", traits=(IN_ORDER,)):
    """Stop in the debugger."""

    intrinsic = "llvm.debugtrap"
    assembly = "attr-dict"
