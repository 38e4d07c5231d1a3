"""mov, cvta, selp: data movement (PTX ISA, "Data Movement and Conversion Instructions")."""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.access import SPACES
from tessera_tools.sim.decode import Context, Execute, instruction, lanewise
from tessera_tools.sim.instructions.common import computed, elementwise, put
from tessera_tools.sim.interfaces import HasLanes, HasPorts
from tessera_tools.sim.memory import BASE, REMOTE_SHIFT
from tessera_tools.sim.program import Name, Operand, Vector, is_sink
from tessera_tools.sim.special import VARYING
from tessera_tools.sim.types import TYPES, UNSIGNED, Type


@instruction("mov")
def mov(ctx: Context) -> Execute:
    """mov.type d, a; also packs and unpacks vectors (PTX ISA, "mov")."""
    type = ctx.type()
    target, source = ctx.operands(2)
    if isinstance(source, Vector) and isinstance(target, Vector):
        raise ctx.error("has a vector on both sides")
    if isinstance(source, Vector):
        return _pack(ctx, type, target, source)
    if isinstance(target, Vector):
        return _unpack(ctx, type, target, source)
    if isinstance(source, Name) and source.name in VARYING:
        if type.kind == "p":
            raise ctx.error(f"moves {source.name} to a predicate")
        ctx.check_special(source)
        value = VARYING[source.name]
        destination = ctx.write(target, TYPES[f"u{type.bits}"])
        limit = 1 << type.bits
        return lambda warp, mask: put(
            warp, mask, destination, np.array(value(warp) % limit).astype(f"u{limit.bit_length() // 8}")
        )
    if type.kind == "p":
        return computed(np.array, ctx.write(target, type), ctx.read(source, type))
    return (
        elementwise(np.positive, ctx.write(target, type), ctx.read(source, type))
        if type.bits != 128 and type.kind in "bus"
        else _copy(ctx.write(target, type), ctx.read(source, type))
    )


def _copy(destination: int, source: int) -> Execute:
    def execute(warp: HasPorts, mask: HasLanes) -> None:
        if mask.full:
            warp.ports[destination][...] = warp.ports[source]
        else:
            warp.ports[destination][mask.array] = warp.ports[source][mask.array]

    return lanewise(execute)


def _part(ctx: Context, type: Type, count: int) -> Type:
    bits = type.bits // count
    if bits * count != type.bits or bits not in UNSIGNED:
        raise ctx.error(f"splits {type} into {count}")
    return TYPES[f"b{bits}"]


def _pack(ctx: Context, type: Type, target: Operand, source: Vector) -> Execute:
    part = _part(ctx, type, len(source.elements))
    sources = ctx.reads(source, part)
    destination = ctx.write(target, TYPES[f"b{type.bits}"])
    count = len(sources)

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        rows = np.empty((len(mask.array), count), part.dtype)
        for column, port in enumerate(sources):
            rows[:, column] = ports[port]
        whole = rows.view(np.uint64) if type.bits == 128 else rows.view(f"<u{type.bytes}")[:, 0]
        ports[destination][mask.array] = whole[mask.array]

    return lanewise(execute)


def _unpack(ctx: Context, type: Type, target: Vector, source: Operand) -> Execute:
    part = _part(ctx, type, len(target.elements))
    port = ctx.read(source, TYPES[f"b{type.bits}"])
    destinations = [
        (column, ctx.write(element, part))
        for column, element in enumerate(target.elements)
        if not is_sink(element)
    ]

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        whole = np.ascontiguousarray(warp.ports[port]).reshape(len(mask.array), -1).view(part.dtype).copy()
        for column, destination in destinations:
            put(warp, mask, destination, whole[:, column])

    return lanewise(execute)


@instruction("selp")
def selp(ctx: Context) -> Execute:
    """selp.type d, a, b, c: a if c is true, else b."""
    type = ctx.type()
    target, first, second, condition = ctx.operands(4)
    a, b = ctx.read(first, type), ctx.read(second, type)
    chosen, negated = ctx.predicate(condition)
    if negated:
        a, b = b, a
    return computed(np.where, ctx.write(target, type), chosen, a, b)


@instruction("cvta")
def cvta(ctx: Context) -> Execute:
    """cvta{.to}.space.size: converts between a space's own addresses and generic ones."""
    to = ctx.flag("to")
    space = ctx.choose(*SPACES, "param::entry").split("::")[0]
    type = ctx.type("u32", "u64")
    target, source = ctx.operands(2)
    base = np.uint64(0 if space == "global" else BASE[space])
    a, d = ctx.read(source, type), ctx.write(target, type)
    if to:
        return computed(lambda row: row - base, d, a)
    return computed(lambda row: row + base, d, a)


@instruction("isspacep")
def isspacep(ctx: Context) -> Execute:
    """isspacep.space p, a: whether the generic address is in the window of the space."""
    space = ctx.choose(*SPACES, "param::entry")
    target, source = ctx.operands(2)
    window = np.uint64(BASE[space.split("::")[0]] >> 40)
    own = space in ("shared", "shared::cta")
    a, d = ctx.read(source, TYPES["u64"]), ctx.write(target, TYPES["pred"])
    if not own:
        return computed(lambda row: row >> np.uint64(40) == window, d, a)
    rank = ctx.special("%cluster_ctarank", TYPES["u32"])
    return computed(
        lambda row, rank: row >> np.uint64(REMOTE_SHIFT) == (window << np.uint64(40 - REMOTE_SHIFT)) + rank,
        d,
        a,
        rank,
    )
