"""ld and st (PTX ISA, "ld", "ld.global.nc", "ldu", "st"), fence, membar, prefetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.access import SPACES, load, memory_of, memory_of_warps, store
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.gang import Gang
from tessera_tools.sim.interfaces import HasLanes, Warps
from tessera_tools.sim.memory import BASE
from tessera_tools.sim.order import fence, strong_read, strong_write
from tessera_tools.sim.program import Address, Group, Name, Operand, Vector, is_sink
from tessera_tools.sim.tensormap_proxy import read_map
from tessera_tools.sim.types import TYPES, Type
from tessera_tools.sim.warp import JointOutcome, Mask, Warp, mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.counters import Counters

_CACHE = ("ca", "cg", "cs", "lu", "cv", "wb", "wt")
_LEVELS = (
    "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
    "L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::64B", "L2::128B", "L2::256B",
)  # fmt: skip
_FIXED = ("param", "const")
"""Spaces that a kernel cannot write."""
_SCOPES = ("cta", "cluster", "gpu", "sys")
_TYPES = (
    "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64",
)  # fmt: skip
_ORDERS = ("weak", "relaxed", "acquire", "release", "volatile", "mmio")


def _qualifiers(ctx: Context) -> tuple[str, str, int, Type]:
    """Order, space, vector length and type; also takes caching hints."""
    order = ctx.choose(*_ORDERS, default="weak")
    scope = ctx.choose(*_SCOPES, default="")
    if order in ("relaxed", "acquire", "release") and not scope:
        raise ctx.error(f"has .{order} without a scope; expected .{', .'.join(_SCOPES)}")
    if scope and order in ("weak", "volatile"):
        raise ctx.error(f"has the scope .{scope} without .relaxed, .acquire or .release")
    if order == ("release" if ctx.inst.opcode != "st" else "acquire"):
        raise ctx.error(f"has .{order}, which belongs to the other direction")
    space = ctx.choose(*SPACES, "param::entry", "param::func", default="generic")
    ctx.choose(*_CACHE, default="")
    ctx.flag("nc")
    for level in _LEVELS:
        ctx.flag(level)
    hinted = ctx.flag("L2::cache_hint")
    count = int(ctx.choose("v2", "v4", "v8", default="v1")[1:])
    type = ctx.type(*_TYPES)
    if not ctx.remaining():
        # The cache policy is the last operand; it has no effect on values.
        ctx.operands(2 + hinted)
    return order, space, count, type


def _elements(ctx: Context, operand: Operand, count: int) -> tuple[Operand, ...]:
    elements = operand.elements if isinstance(operand, Group | Vector) else (operand,)
    if len(elements) != count:
        raise ctx.error(f"moves {count} values, and names {len(elements)} registers")
    return elements


def unit(width: int) -> np.dtype:
    """The dtype of the rows that memories return for an access of `width` bytes."""
    return np.dtype(f"<u{min(width, 8)}")


@instruction("ld", "ldu")
def ld(ctx: Context) -> Execute:
    """ld{.order}{.scope}{.space}{.cache}{.vec}.type d, [a]."""
    order, space, count, type = _qualifiers(ctx)
    target, source = ctx.operands()[:2]
    space = ctx.space_of(source, space)
    address = ctx.address(source)
    width = type.bytes * count
    destinations = [
        (column, ctx.write_pattern(element, type) if type.is_float else ctx.write(element, type))
        for column, element in enumerate(_elements(ctx, target, count))
        if not is_sink(element)
    ]
    line, pc = ctx.inst.line, ctx.pc
    constant = (
        isinstance(source, Address)
        and isinstance(source.base, Name)
        and ctx.variable(source.base.name) is not None
    )
    direct = space not in ("generic", "shared::cluster", "param", "const")
    strong = order != "weak"
    # A floating-point number in a wider register is a pattern below zeros.
    dtype = TYPES[f"b{type.bits}"].dtype if type.is_float else type.dtype

    def fetch(warp: Warp, mask: Mask) -> Array:
        addresses = address(warp)
        if warp.stats is not None:
            count_access(warp.stats, mask, f"ld.{space}", line, addresses, width)
        if strong:
            values = load(warp, mask, space, addresses, width, True)
            strong_read(warp, mask, space, addresses, order == "acquire")
            return values
        if direct:
            return memory_of(warp, space).load(warp, mask, addresses, width)
        return load(warp, mask, space, addresses, width)

    def together(gang: Warps, mask: HasLanes) -> JointOutcome:
        if gang.stats is not None:
            return NotImplemented
        addresses, records = address(gang), gang.records()
        if space in _FIXED:
            addresses = addresses | np.uint64(BASE[space])
        if not mask.full:
            addresses, records = addresses[mask.array], records[mask.array]
        values = memory_of_warps(gang, space).load_together(gang, addresses, width, records)
        if values is None:
            return NotImplemented
        rows = values.view(dtype).reshape(-1, count)
        for column, port in destinations:
            if mask.full:
                gang.ports[port][...] = rows[:, column]
            else:
                gang.ports[port][mask.array] = rows[:, column]
        return None

    def parameter(gang: Gang, mask: HasLanes) -> JointOutcome:
        """A load of a parameter, whose values are the same in the whole launch."""
        known = gang.ports.lasting.parameters.get(pc)
        if known is None or not mask.full:
            result = together(gang, mask)
            if result is None and mask.full:
                gang.ports.lasting.parameters[pc] = [gang.ports[port].copy() for _, port in destinations]
            return result
        for (_, port), row in zip(destinations, known, strict=True):
            gang.ports[port][...] = row
        return None

    if space in ("shared", "global", *_FIXED) and not strong and type.bits <= 64:
        ctx.together, ctx.effect = together, "none" if space in _FIXED else "load"
        if space == "param" and constant:
            ctx.together, ctx.alone = parameter, True
    if type.bits == 128:
        ((_, whole),) = destinations

        def wide(warp: Warp, mask: Mask) -> None:
            warp.ports[whole][mask.array] = fetch(warp, mask)

        return wide
    if count == 1:
        if not destinations:

            def discarded(warp: Warp, mask: Mask) -> None:
                fetch(warp, mask)

            return discarded
        ((_, single),) = destinations

        def scalar(warp: Warp, mask: Mask) -> None:
            values = fetch(warp, mask).view(dtype)
            if mask.full:
                warp.ports[single][...] = values
            else:
                warp.ports[single][mask.array] = values

        return scalar

    def vector(warp: Warp, mask: Mask) -> None:
        values = fetch(warp, mask)
        rows = values.reshape(len(values), -1).view(dtype)
        ports = warp.ports
        if mask.full:
            for column, port in destinations:
                ports[port][...] = rows[:, column]
        else:
            for column, port in destinations:
                ports[port][mask.array] = rows[:, column]

    return vector


@instruction("st")
def st(ctx: Context) -> Execute:
    """st{.order}{.scope}{.space}{.cache}{.vec}.type [a], b."""
    order, space, count, type = _qualifiers(ctx)
    target, source = ctx.operands()[:2]
    space = ctx.space_of(target, space)
    if space in ("const", "param"):
        raise ctx.error(f"writes to .{space}, which is read-only here")
    address = ctx.address(target)
    width = type.bytes * count
    bits = TYPES[f"b{type.bits}"]
    sources = [ctx.read_pattern(element, type) for element in _elements(ctx, source, count)]
    line = ctx.inst.line
    direct = space not in ("generic", "shared::cluster")
    strong = order != "weak"
    wanted = unit(width)

    def execute(warp: Warp, mask: Mask) -> None:
        addresses = address(warp)
        if warp.stats is not None:
            count_access(warp.stats, mask, f"st.{space}", line, addresses, width)
        ports = warp.ports
        if count == 1:
            values = ports[sources[0]]
        else:
            values = np.empty((32, count), bits.dtype)
            for column, port in enumerate(sources):
                values[:, column] = ports[port]
            values = values.view(wanted)
            if width <= 8:
                values = values[:, 0]
        if not mask.full:
            values = values[mask.array]
        if strong:
            store(warp, mask, space, addresses, width, values, True)
            strong_write(warp, mask, space, addresses, order == "release")
        elif direct:
            memory_of(warp, space).store(warp, mask, addresses, width, values)
        else:
            store(warp, mask, space, addresses, width, values)

    def together(gang: Warps, mask: HasLanes) -> JointOutcome:
        if gang.stats is not None:
            return NotImplemented
        rows = np.empty((len(mask.array), count), bits.dtype)
        for column, port in enumerate(sources):
            rows[:, column] = gang.ports[port]
        values = rows.view(wanted)
        memory = gang.cta.shared if space == "shared" else gang.cta.cluster.launch.memory
        values = values if width > 8 else values[:, 0]
        addresses, records = address(gang), gang.records()
        if not mask.full:
            addresses, records, values = addresses[mask.array], records[mask.array], values[mask.array]
        if memory.store_together(gang, addresses, width, values, records):
            return None
        return NotImplemented

    if space in ("shared", "global") and not strong and type.bits <= 64:
        ctx.together, ctx.effect = together, "store"
    return execute


def count_access(stats: Counters, mask: Mask, what: str, line: int, addresses: Array, width: int) -> None:
    """Add an access to the launch's counters, according to its addresses."""
    active = addresses[mask.array]
    stats.bytes[what] += len(active) * width
    if "shared" in what:
        stats.shared_access(line, active, width)
    elif what.endswith((".global", ".generic")):
        stats.global_access(line, active, width)


@instruction("fence", "membar")
def fence_(ctx: Context) -> Execute:
    """fence{.sc,.acq_rel,.acquire,.release}.scope, membar.level (PTX ISA, "membar / fence")."""
    if ctx.inst.opcode == "membar":
        ctx.choose("cta", "gl", "sys")
    else:
        ctx.choose("sc", "acq_rel", "acquire", "release", default="acq_rel")
        restricted = ctx.choose("sync_restrict::shared::cta", "sync_restrict::shared::cluster", default="")
        ctx.choose(*_SCOPES, default="cluster" if restricted else None)
    ctx.operands(0)
    return lambda warp, mask: fence(warp)


def prefetch_map(ctx: Context) -> Execute:
    """prefetch{.param, .const}.tensormap [map]: has no effect on values; an address without a map is a finding."""
    ctx.choose("param", "const", default="generic")
    (operand,) = ctx.operands(1)
    address = ctx.address(operand)
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"

    def execute(warp: Warp, mask: Mask) -> None:
        for lane in map(int, mask.lanes):
            # CUTLASS prefetches the map of a matrix that it does not have.
            read_map(warp, mask_of(1 << lane), int(address(warp)[lane]), what, severity="warning")

    return execute


@instruction("prefetch", "prefetchu", "applypriority", "discard")
def prefetch(ctx: Context) -> Execute:
    """prefetch, prefetchu, applypriority, discard: hints without an effect on values."""
    if ctx.flag("tensormap"):
        return prefetch_map(ctx)
    for modifier in ctx.remaining():
        ctx.flag(modifier)
    return lambda warp, mask: None
