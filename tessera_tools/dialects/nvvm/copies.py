"""Asynchronous copies: cp.async, bulk copies, TMA tensor copies, prefetches (PTX ISA, "Data Movement")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.base import POINTER, pointer_in
from tessera_tools.dialects.llvm.types import PointerType, pointer
from tessera_tools.dialects.nvvm.attributes import (
    CacheEvictionPriorityAttr,
    CTAGroupAttr,
    LoadCacheModifierAttr,
    PrefetchCacheLevelAttr,
    TMALoadModeAttr,
    TMAReduxKindAttr,
    TMAStoreModeAttr,
)
from tessera_tools.dialects.nvvm.base import (
    CLUSTER,
    GENERIC,
    GENERIC_OR_SHARED,
    GLOBAL,
    I1_TYPE,
    I16_TYPE,
    I32_TYPE,
    I64_TYPE,
    SHARED,
    SHARED_OR_CLUSTER,
    NVVMOp,
    flag,
    space,
)
from tessera_tools.ir.builtin_attributes import FALSE, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I64
from tessera_tools.opdef import (
    BOOL_ATTR,
    I32_ATTR,
    I64_ATTR,
    IN_ORDER,
    UNIT_ATTR,
    Completion,
    CustomDirective,
    MemoryEffects,
    Op,
    arrive,
    attribute,
    enum,
    of_class,
    operand,
    optional_operand,
    read,
    variadic_operand,
    wait,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

LOAD_TILE, STORE_TILE = TMALoadModeAttr("tile"), TMAStoreModeAttr("tile")


class ShortPointer(CustomDirective, name="ShortPointer"):
    """`<3>` for `!llvm.ptr<3>`: how upstream prints the type of an operand that can only be a pointer."""

    grammar = """
    custom: TYPE -> full
          | "<" INTEGER ">" -> short
    """

    def read(self, state: OpState, node: Node) -> None:
        form, (given,) = node
        state.types(self.arguments[0], [given if form == "full" else pointer(integer_of(given.text))])

    def write(self, p: Printer, op: Op) -> None:
        (value,) = op.values_of(self.arguments[0])
        type = value.type
        assert isinstance(type, PointerType)
        p.space()
        p.write(f"<{type.address_space}>" if type.address_space else p.type(type))


def _or_zero(e: Emitter, value: Value | None, type: str) -> str:
    return f"{type} 0" if value is None else e.operand(value)


def _given(value: Value | None) -> str:
    return f"i1 {'false' if value is None else 'true'}"


class CpAsync(
    NVVMOp,
    name="nvvm.cp.async.shared.global",
    traits=(MemoryEffects(read("src"), write("dst", by=Completion.GROUP)),),
):
    """Copy `size` bytes (4, 8 or 16) from global to shared memory; of them `cp_size` from memory, the rest zeros."""

    dst = operand(SHARED)
    src = operand(GLOBAL)
    size = attribute(I32_ATTR)
    modifier = attribute(enum(LoadCacheModifierAttr))
    cp_size = optional_operand(I32_TYPE)
    assembly = "$dst `,` $src `,` $size `,` `cache` `=` ` ` ` ` $modifier (`,` $cp_size^)? attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        partial = ".s" if self.cp_size is not None else ""
        return f"llvm.nvvm.cp.async.{self.modifier.value}.shared.global.{self.size.value}{partial}"

    def verify_op(self) -> None:
        if self.modifier.value not in ("ca", "cg"):
            raise self.error("Only CG and CA cache modifiers are supported.")
        if self.size.value not in (4, 8, 16):
            raise self.error("expected byte size to be either 4, 8 or 16.")
        if self.modifier.value == "cg" and self.size.value != 16:
            raise self.error("CG cache modifier is only support for 16 bytes copy.")


class CpAsyncCommitGroup(
    NVVMOp, name="nvvm.cp.async.commit.group", traits=(MemoryEffects(arrive(Completion.GROUP)),)
):
    """The copies so far are a group."""

    intrinsic = "llvm.nvvm.cp.async.commit.group"
    assembly = "attr-dict"


class CpAsyncWaitGroup(
    NVVMOp, name="nvvm.cp.async.wait.group", traits=(MemoryEffects(wait(Completion.GROUP)),)
):
    """Wait until at most `n` groups are in flight."""

    intrinsic = "llvm.nvvm.cp.async.wait.group"
    n = attribute(I32_ATTR)
    assembly = "$n attr-dict"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.GROUP, pending=self.n.value))

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [f"i32 {self.n.value}"]


class CpAsyncMBarrierArrive(
    NVVMOp, name="nvvm.cp.async.mbarrier.arrive", traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),)
):
    """Arrive at an mbarrier when the copies so far are done."""

    addr = operand(GENERIC_OR_SHARED)
    noinc = attribute(BOOL_ATTR, default=FALSE)
    assembly = "$addr attr-dict `:` type(operands)"

    def intrinsic_name(self) -> str:
        marks = (".noinc" if flag(self, "noinc") else "") + (".shared" if space(self.addr) == 3 else "")
        return f"llvm.nvvm.cp.async.mbarrier.arrive{marks}"


class CpAsyncBulkCommitGroup(
    NVVMOp, name="nvvm.cp.async.bulk.commit.group", traits=(MemoryEffects(arrive(Completion.BULK)),)
):
    """The bulk copies so far are a group."""

    intrinsic = "llvm.nvvm.cp.async.bulk.commit.group"
    assembly = "attr-dict"


class CpAsyncBulkWaitGroup(
    NVVMOp, name="nvvm.cp.async.bulk.wait_group", traits=(MemoryEffects(wait(Completion.BULK)),)
):
    """Wait until at most `group` bulk groups are in flight (`read`: have yet to read their source)."""

    group = attribute(I32_ATTR)
    read = attribute(UNIT_ATTR, optional=True)
    assembly = "$group attr-dict"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.BULK, pending=self.group.value))

    def intrinsic_name(self) -> str:
        return "llvm.nvvm.cp.async.bulk.wait.group" + (".read" if self.read is not None else "")

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [f"i32 {self.group.value}"]


class CpAsyncBulkTensorGlobalToSharedCluster(
    NVVMOp,
    name="nvvm.cp.async.bulk.tensor.shared.cluster.global",
    traits=(
        MemoryEffects(read("tma_descriptor", Resource.GLOBAL), write("dst_mem", by=Completion.MBARRIER)),
    ),
):
    """Copy a box of a tensor to shared memory; arrives with its bytes at `mbar`."""

    dst_mem = operand(SHARED_OR_CLUSTER)
    tma_descriptor = operand(GENERIC)
    coordinates = variadic_operand(I32_TYPE)
    mbar = operand(SHARED)
    im2col_offsets = variadic_operand(I16_TYPE)
    multicast_mask = optional_operand(I16_TYPE)
    l2_cache_hint = optional_operand(I64_TYPE)
    mode = attribute(of_class(TMALoadModeAttr), default=LOAD_TILE)
    is_cta_only = attribute(BOOL_ATTR, default=FALSE, key="isCTAOnly")
    group = attribute(of_class(CTAGroupAttr), optional=True)
    predicate = optional_operand(I1_TYPE)
    assembly = (
        "$dst_mem `,` $tma_descriptor `,` $mbar `,` `box` `[` $coordinates `]` (`im2col` `[` $im2col_offsets^ `]`)? "
        "(`multicast_mask` `=` $multicast_mask^)? (`l2_cache_hint` `=` $l2_cache_hint^)? "
        "(`predicate` `=` $predicate^)? attr-dict `:` type($dst_mem) `,` type($tma_descriptor)"
    )

    def intrinsic_name(self) -> str:
        cta = "cta." if flag(self, "isCTAOnly") else ""
        rank = 2 if self.mode.value == "tile_gather4" else len(self.coordinates)
        return f"llvm.nvvm.cp.async.bulk.tensor.g2s.{cta}{_mode(self.mode.value)}.{rank}d"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        destination = e.operand(self.dst_mem)
        cta = flag(self, "isCTAOnly")
        if not cta and space(self.dst_mem) == 3:
            destination = (
                f"ptr addrspace(7) {e.temporary(f'addrspacecast {destination} to ptr addrspace(7)')}"
            )
        arguments = [destination, e.operand(self.mbar), e.operand(self.tma_descriptor)]
        arguments += map(e.operand, [*self.coordinates, *self.im2col_offsets])
        if cta:
            return [*arguments, _or_zero(e, self.l2_cache_hint, "i64"), _given(self.l2_cache_hint)]
        arguments += [_or_zero(e, self.multicast_mask, "i16"), _or_zero(e, self.l2_cache_hint, "i64")]
        arguments += [_given(self.multicast_mask), _given(self.l2_cache_hint)]
        group = 0 if self.group is None else int(self.group.value[-1])
        return [*arguments, f"i32 {group}"]

    def ptx(self) -> str:
        rank, offsets = len(self.coordinates), len(self.im2col_offsets)
        text = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
        text += (".im2col" if offsets else "") + (
            ".multicast::cluster" if self.multicast_mask is not None else ""
        )
        text += ".L2::cache_hint" if self.l2_cache_hint is not None else ""
        box = ",".join(f"${2 + i}" for i in range(rank))
        text += f" [$0], [$1, {{{box}}} ], [${2 + rank}]"
        extra = 3 + rank
        if offsets:
            text += ",{" + ",".join(f"${extra + i}" for i in range(offsets)) + "}"
        extra += offsets
        for value in (self.multicast_mask, self.l2_cache_hint):
            if value is not None:
                text += f", ${extra}"
                extra += 1
        return text + ";"

    def verify_op(self) -> None:
        rank = len(self.coordinates)
        if not 1 <= rank <= 5:
            raise self.error("expects coordinates between 1 to 5 dimension")
        if flag(self, "isCTAOnly") and self.multicast_mask is not None:
            raise self.error("multicast is not supported with shared::cta mode")
        if flag(self, "isCTAOnly") and self.group is not None:
            raise self.error("CTAGroup is not supported with shared::cta mode")


def _mode(word: str) -> str:
    return word.replace("_", ".")


class CpAsyncBulkTensorSharedCTAToGlobal(
    NVVMOp,
    name="nvvm.cp.async.bulk.tensor.global.shared.cta",
    traits=(MemoryEffects(read("src_mem"), write("tma_descriptor", Resource.GLOBAL, by=Completion.BULK)),),
):
    """Copy shared memory to a box of a tensor."""

    tma_descriptor = operand(GENERIC)
    src_mem = operand(SHARED)
    coordinates = variadic_operand(I32_TYPE)
    l2_cache_hint = optional_operand(I64_TYPE)
    mode = attribute(of_class(TMAStoreModeAttr), default=STORE_TILE)
    predicate = optional_operand(I1_TYPE)
    assembly = (
        "$tma_descriptor `,` $src_mem `,` `box` `[` $coordinates `]` (`l2_cache_hint` `=` $l2_cache_hint^)? "
        "(`,` `predicate` `=` $predicate^)? attr-dict `:` type($tma_descriptor) `,` custom<ShortPointer>($src_mem)"
    )

    def intrinsic_name(self) -> str:
        rank = 2 if self.mode.value == "tile_scatter4" else len(self.coordinates)
        return f"llvm.nvvm.cp.async.bulk.tensor.s2g.{_mode(self.mode.value)}.{rank}d"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        arguments = [
            e.operand(self.src_mem),
            e.operand(self.tma_descriptor),
            *map(e.operand, self.coordinates),
        ]
        return [*arguments, _or_zero(e, self.l2_cache_hint, "i64"), _given(self.l2_cache_hint)]

    def ptx(self) -> str:
        rank = len(self.coordinates)
        box = ", ".join(f"${2 + i}" for i in range(rank))
        return f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [$0, {{{box}}} ], [$1];"


class CpAsyncBulkTensorPrefetch(NVVMOp, name="nvvm.cp.async.bulk.tensor.prefetch", traits=(IN_ORDER,)):
    """Bring a box of a tensor into L2."""

    tma_descriptor = operand(GENERIC)
    coordinates = variadic_operand(I32_TYPE)
    im2col_offsets = variadic_operand(I16_TYPE)
    mode = attribute(of_class(TMALoadModeAttr), default=LOAD_TILE)
    l2_cache_hint = optional_operand(I64_TYPE)
    assembly = (
        "$tma_descriptor `,` `box` `[` $coordinates `]` (`im2col` `[` $im2col_offsets^ `]`)? "
        "(`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:` type($tma_descriptor)"
    )

    def intrinsic_name(self) -> str:
        rank = 2 if self.mode.value == "tile_gather4" else len(self.coordinates)
        return f"llvm.nvvm.cp.async.bulk.tensor.prefetch.{_mode(self.mode.value)}.{rank}d"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        arguments = [*map(e.operand, [self.tma_descriptor, *self.coordinates, *self.im2col_offsets])]
        return [*arguments, _or_zero(e, self.l2_cache_hint, "i64"), _given(self.l2_cache_hint)]


class CpAsyncBulkTensorReduce(
    NVVMOp,
    name="nvvm.cp.async.bulk.tensor.reduce",
    traits=(MemoryEffects(read("src_mem"), write("tma_descriptor", Resource.GLOBAL, by=Completion.BULK)),),
):
    """Combine shared memory into a box of a tensor."""

    tma_descriptor = operand(POINTER)
    src_mem = operand(SHARED)
    red_kind = attribute(of_class(TMAReduxKindAttr), key="redKind")
    mode = attribute(of_class(TMAStoreModeAttr), default=STORE_TILE)
    coordinates = variadic_operand(I32_TYPE)
    l2_cache_hint = optional_operand(I64_TYPE)
    assembly = (
        "$tma_descriptor `,` $src_mem `,` `box` `[` $coordinates `]` (`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict "
        "`:` custom<ShortPointer>($tma_descriptor) `,` custom<ShortPointer>($src_mem)"
    )

    def intrinsic_name(self) -> str:
        kind = f"{self.red_kind.value}.{_mode(self.mode.value)}"
        return f"llvm.nvvm.cp.async.bulk.tensor.reduce.{kind}.{len(self.coordinates)}d"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        arguments = [
            e.operand(self.src_mem),
            e.operand(self.tma_descriptor),
            *map(e.operand, self.coordinates),
        ]
        return [*arguments, _or_zero(e, self.l2_cache_hint, "i64"), _given(self.l2_cache_hint)]


class CpAsyncBulkGlobalToSharedCluster(
    NVVMOp,
    name="nvvm.cp.async.bulk.shared.cluster.global",
    traits=(MemoryEffects(read("src_mem"), write("dst_mem", by=Completion.MBARRIER)),),
):
    """Copy `size` bytes (a multiple of 16) to shared memory; arrives with them at `mbar`."""

    dst_mem = operand(SHARED_OR_CLUSTER)
    src_mem = operand(GLOBAL)
    mbar = operand(SHARED)
    size = operand(I32_TYPE)
    multicast_mask = optional_operand(I16_TYPE)
    l2_cache_hint = optional_operand(I64_TYPE)
    assembly = (
        "$dst_mem `,` $src_mem `,` $mbar `,` $size (`multicast_mask` `=` $multicast_mask^)? "
        "(`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:` type($dst_mem) `,` custom<ShortPointer>($src_mem)"
    )

    def intrinsic_name(self) -> str:
        where = "cta" if space(self.dst_mem) == 3 else "cluster"
        return f"llvm.nvvm.cp.async.bulk.global.to.shared.{where}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        arguments = [*map(e.operand, [self.dst_mem, self.mbar, self.src_mem, self.size])]
        hint = _or_zero(e, self.l2_cache_hint, "i64")
        if space(self.dst_mem) == 3:
            return [*arguments, hint, _given(self.l2_cache_hint)]
        mask = _or_zero(e, self.multicast_mask, "i16")
        return [*arguments, mask, hint, _given(self.multicast_mask), _given(self.l2_cache_hint)]

    def verify_op(self) -> None:
        if space(self.dst_mem) == 3 and self.multicast_mask is not None:
            raise self.error("multicast is not supported with shared::cta mode")


class CpAsyncBulkSharedCTAToSharedCluster(
    NVVMOp,
    name="nvvm.cp.async.bulk.shared.cluster.shared.cta",
    traits=(MemoryEffects(read("src_mem"), write("dst_mem", by=Completion.MBARRIER)),),
):
    """Copy `size` bytes to another CTA's shared memory; arrives with them at `mbar`."""

    intrinsic = "llvm.nvvm.cp.async.bulk.shared.cta.to.cluster"
    dst_mem = operand(CLUSTER)
    src_mem = operand(SHARED)
    mbar = operand(SHARED)
    size = operand(I32_TYPE)
    assembly = (
        "$dst_mem `,` $src_mem `,` $mbar `,` $size attr-dict "
        "`:` custom<ShortPointer>($dst_mem) `,` custom<ShortPointer>($src_mem)"
    )

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [*map(e.operand, [self.dst_mem, self.mbar, self.src_mem, self.size])]


class CpAsyncBulkSharedCTAToGlobal(
    NVVMOp,
    name="nvvm.cp.async.bulk.global.shared.cta",
    traits=(MemoryEffects(read("src_mem"), write("dst_mem", by=Completion.BULK)),),
):
    """Copy `size` bytes from shared to global memory; `byte_mask` picks bytes of each 16."""

    dst_mem = operand(GLOBAL)
    src_mem = operand(SHARED)
    size = operand(I32_TYPE)
    l2_cache_hint = optional_operand(I64_TYPE)
    byte_mask = optional_operand(I16_TYPE)
    assembly = (
        "$dst_mem `,` $src_mem `,` $size (`l2_cache_hint` `=` $l2_cache_hint^)? (`byte_mask` `=` $byte_mask^)? "
        "attr-dict `:` custom<ShortPointer>($dst_mem) `,` custom<ShortPointer>($src_mem)"
    )

    def intrinsic_name(self) -> str:
        masked = ".bytemask" if self.byte_mask is not None else ""
        return f"llvm.nvvm.cp.async.bulk.shared.cta.to.global{masked}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        arguments = [*map(e.operand, [self.dst_mem, self.src_mem, self.size])]
        arguments += [_or_zero(e, self.l2_cache_hint, "i64"), _given(self.l2_cache_hint)]
        return arguments + ([e.operand(self.byte_mask)] if self.byte_mask is not None else [])


class CpAsyncBulkPrefetch(NVVMOp, name="nvvm.cp.async.bulk.prefetch", traits=(IN_ORDER,)):
    """Bring `size` bytes into L2."""

    intrinsic = "llvm.nvvm.cp.async.bulk.prefetch.L2"
    src_mem = operand(GLOBAL)
    size = operand(I32_TYPE)
    l2_cache_hint = optional_operand(I64_TYPE)
    assembly = "$src_mem `,` $size (`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:` custom<ShortPointer>($src_mem)"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        hint = _or_zero(e, self.l2_cache_hint, "i64")
        return [e.operand(self.src_mem), e.operand(self.size), hint, _given(self.l2_cache_hint)]


class Prefetch(NVVMOp, name="nvvm.prefetch", traits=(IN_ORDER,)):
    """Bring a line of memory, or a tensor map, into a cache."""

    cache_level = attribute(enum(PrefetchCacheLevelAttr), optional=True, key="cacheLevel")
    evict_priority = attribute(enum(CacheEvictionPriorityAttr), optional=True, key="evictPriority")
    addr = operand(pointer_in(0, 1, 4, 5))
    predicate = optional_operand(I1_TYPE)
    tensormap = attribute(UNIT_ATTR, optional=True)
    uniform = attribute(UNIT_ATTR, optional=True)
    in_param_space = attribute(UNIT_ATTR, optional=True)
    assembly = (
        "(`level` `=` ` ` ` ` $cache_level^ (`uniform` $uniform^)? `,`)? "
        "(`tensormap` $tensormap^ (`in_param_space` $in_param_space^)? `,`)? "
        "(`evict_priority` `=` ` ` ` ` $evict_priority^ `,`)? $addr (`,` `predicate` `=` $predicate^)? attr-dict "
        "`:` type(operands)"
    )

    def intrinsic_name(self) -> str:
        where = space(self.addr)
        if self.tensormap is not None:
            return f"llvm.nvvm.prefetch.tensormap.p{101 if self.in_param_space is not None else where}"
        assert self.cache_level is not None  # verified: this or tensormap
        level = self.cache_level.value
        if self.uniform is not None:
            return f"llvm.nvvm.prefetchu.{level}"
        prefix = {0: "", 1: "global.", 5: "local."}[where]
        evict = f".{self.evict_priority.value.replace('_', '.')}" if self.evict_priority is not None else ""
        return f"llvm.nvvm.prefetch.{prefix}{level}{evict}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        text = e.operand(self.addr)
        if self.in_param_space is not None:
            return [f"ptr addrspace(101) {e.temporary(f'addrspacecast {text} to ptr addrspace(101)')}"]
        return [text]

    def ptx(self) -> str:
        return "prefetch.tensormap [$0];"

    def verify_op(self) -> None:
        if (self.cache_level is None) is (self.tensormap is None):
            raise self.error("requires either a cache level or tensormap")
        if self.uniform is not None and self.cache_level is None:
            raise self.error("is uniform only with a cache level")
        if self.in_param_space is not None and self.tensormap is None:
            raise self.error("reads parameter space only for a tensormap")
        if self.predicate is not None and self.tensormap is None:
            raise self.error("predicate supported only on prefetch tensormap")
        if self.evict_priority is not None:
            if self.cache_level is None or self.cache_level.value != "L2":
                raise self.error("cache eviction priority supported only for cache level L2")
            if space(self.addr) != 1:
                raise self.error("cache eviction priority requires a global pointer")


class BulkStore(NVVMOp, name="nvvm.st.bulk", traits=(MemoryEffects(write("addr")),)):
    """Set `size` bytes of shared memory to zero."""

    addr = operand(GENERIC_OR_SHARED)
    size = operand(I64_TYPE)
    init_val = attribute(I64_ATTR, default=IntegerAttr(0, I64), key="initVal")
    assembly = "$addr `,` `size` `=` $size (`,` `init` `=` $init_val^)? attr-dict `:` type($addr)"

    def intrinsic_name(self) -> str:
        return "llvm.nvvm.st.bulk" + (".shared.cta" if space(self.addr) == 3 else "")

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [e.operand(self.addr), e.operand(self.size), f"i64 {self.init_val.value}"]
