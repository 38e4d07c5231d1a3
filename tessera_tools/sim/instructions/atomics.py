"""atom and red (PTX ISA, "atom", "red"): read-modify-write of one location per lane.

    old values ─▶ lanes with the same address one after the other, in lane order ─▶ new values, each lane's old value

A warp executes an instruction as a whole, so no access intervenes between the read and the write. Both are strong
accesses in the race detector. sim/order.py implements .acquire and .release.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.access import load, parts, store
from tessera_tools.sim.arrays import Array, every, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.floating import Element, element_of
from tessera_tools.sim.instructions.memory import count_access
from tessera_tools.sim.memory import Region
from tessera_tools.sim.order import strong_read, strong_write
from tessera_tools.sim.program import Vector, elements_of, is_sink
from tessera_tools.sim.rounding import encode, odd_sum
from tessera_tools.sim.types import Type
from tessera_tools.sim.warp import Mask, Warp

Combine = Callable[[Array, Array, Array | None], Array]
Scan = tuple[np.ufunc, type[np.generic]]
"""A ufunc and the dtype in which its `accumulate` applies an operation lane by lane."""

_SPACES = ("global", "shared", "shared::cta", "shared::cluster")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_INTEGERS = ("u32", "s32", "u64", "s64")
_TYPES: dict[str, tuple[str, ...]] = {
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "exch": ("b32", "b64", "b128"), "cas": ("b16", "b32", "b64", "b128"),
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "inc": ("u32",), "dec": ("u32",), "min": _INTEGERS, "max": _INTEGERS,
}  # fmt: skip
_VECTORS = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)}
_UFUNCS: dict[str, np.ufunc] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "add": np.add, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


@instruction("atom", "red")
def atom(ctx: Context) -> Execute:
    """atom/red{.sem}{.scope}{.space}.op{.noftz}{.vec}.type d, [a], b{, c}."""
    returns = ctx.inst.opcode == "atom"
    sem = ctx.choose("relaxed", "acquire", "release", "acq_rel", default="relaxed")
    if not returns and sem in ("acquire", "acq_rel"):
        raise ctx.error(f"has .{sem}; expected .relaxed or .release")
    ctx.choose(*_SCOPES, default="gpu")
    space = ctx.choose(*_SPACES, default="generic")
    hinted = ctx.flag("L2::cache_hint")
    vector = int(ctx.choose("v2", "v4", "v8", default="v1")[1:])
    operation = ctx.choose(*_TYPES)
    if not returns and operation in ("exch", "cas"):
        raise ctx.error(f"has .{operation}, which only atom has")
    noftz = ctx.flag("noftz")
    type = ctx.type(*(_TYPES[operation] if vector == 1 else _VECTORS))
    _check(ctx, operation, type, vector, space, noftz)
    count = 2 + returns + (operation == "cas")
    operands = list(ctx.operands(count + hinted))
    targets = operands.pop(0) if returns else None
    where = operands.pop(0)
    if operation == "cas":
        compare, sources = ctx.read_pattern(operands[0], type), [ctx.read_pattern(operands[1], type)]
    else:
        compare, sources = None, [ctx.read_pattern(element, type) for element in elements_of(operands[0])]
    if len(sources) != vector or (
        vector > 1 and isinstance(targets, Vector) and len(targets.elements) != vector
    ):
        raise ctx.error(f"expects vectors of {vector}")
    destinations = None
    if targets is not None and not is_sink(targets):
        destinations = [ctx.write_pattern(element, type) for element in elements_of(targets)]
    combine = _combine(operation, type, space)
    address = ctx.address(where)
    line, name = ctx.inst.line, f"{ctx.inst.opcode}.{space}"
    total = type.bytes * vector
    acquire, release = sem in ("acquire", "acq_rel"), sem in ("release", "acq_rel")
    ufunc = _associative(operation, type)
    counts = returns and operation == "add" and type.kind in "bus" and vector == 1 and space == "global"

    def execute(warp: Warp, mask: Mask) -> None:
        ports = warp.ports
        base = address(warp)
        if warp.stats is not None:
            count_access(warp.stats, mask, name, line, base, total)
        for element, source in enumerate(sources):
            where = base + np.uint64(element * type.bytes) if element else base
            old = load(warp, mask, space, where, type.bytes, True)
            values = ports[source][mask.array]
            expected = ports[compare][mask.array] if compare is not None else None
            places = _places(warp, mask, space, where)
            seen, new = _serially(places, old, values, expected, combine, ufunc)
            store(warp, mask, space, where, type.bytes, new, True)
            if counts and warp.stats is not None and len(values) == 1:
                seen = warp.stats.counted(warp, int(places[0]), seen, values)
            if destinations is not None:
                ports[destinations[element]][mask.array] = seen
        strong_write(warp, mask, space, base, release)
        strong_read(warp, mask, space, base, acquire)

    return execute


def _check(ctx: Context, operation: str, type: Type, vector: int, space: str, noftz: bool) -> None:
    half = type.name in ("f16", "f16x2", "bf16", "bf16x2")
    if vector > 1:
        if operation not in ("add", "min", "max") or (operation != "add" and type.name == "f32"):
            raise ctx.error(f"has no vector form of .{operation}{type}")
        if vector not in _VECTORS[type.name]:
            raise ctx.error(f"has .v{vector} of {type}")
        if space not in ("global", "generic"):
            raise ctx.error("has a vector form outside .global")
    if half != noftz:
        raise ctx.error(f"{'needs' if half else 'has'} .noftz for {type}")


def _places(warp: Warp, mask: Mask, space: str, addresses: Array) -> Array:
    """The active lanes' locations: only .generic addresses can name one place through two spaces."""
    if space != "generic":
        return addresses[mask.array]
    places = addresses.copy()
    for number, (memory, part, own) in enumerate(parts(warp, mask, space, addresses)):
        if isinstance(memory, Region) and memory.own_history is not None:
            places[part.array] = own[part.array] | np.uint64(number + 1 << 56)
    return places[mask.array]


def _serially(
    places: Array, old: Array, values: Array, expected: Array | None, combine: Combine, ufunc: Scan | None
) -> tuple[Array, Array]:
    """The old value that each lane reads, and the final value of its location."""
    count = len(places)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    again = ordered[1:] == ordered[:-1]
    if not some(again):
        return old, combine(old, values, expected)
    if ufunc is not None and every(again):
        dtype = ufunc[1]
        running = ufunc[0].accumulate(np.concatenate([old[:1], values]).view(dtype), dtype=dtype)
        running = running.view(old.dtype)
        return running[:-1], np.broadcast_to(running[-1], (count,)).copy()
    seen, new = old.copy(), old.copy()
    starts = np.flatnonzero(np.concatenate([[True], ~again]))
    sizes = np.diff(np.concatenate([starts, [count]]))
    current = old[order[starts]]
    for turn in range(int(sizes.max())):
        groups = np.flatnonzero(sizes > turn)
        lanes = order[starts[groups] + turn]
        seen[lanes] = current[groups]
        given = expected[lanes] if expected is not None else None
        current[groups] = combine(current[groups], values[lanes], given)
    new[order] = np.repeat(current, sizes, axis=0)
    return seen, new


def _associative(operation: str, type: Type) -> Scan | None:
    """(ufunc, dtype) whose `accumulate` applies the operation lane by lane."""
    if type.kind in "bus" and operation in _UFUNCS:
        return _UFUNCS[operation], type.dtype
    return None


def _combine(operation: str, type: Type, space: str) -> Combine:
    """(old, b, compare) → new, of compact raw rows."""
    if operation == "exch":
        return lambda old, b, compare: b
    if operation == "cas":

        def swap(old: Array, b: Array, compare: Array | None) -> Array:
            same = old == compare
            if old.ndim == 2:
                same = same.all(axis=1)[:, None]
            return np.where(same, b, old)

        return swap
    if operation == "inc":
        return lambda old, b, compare: np.where(old >= b, np.uint32(0), old + np.uint32(1))
    if operation == "dec":
        return lambda old, b, compare: np.where((old == 0) | (old > b), b, old - np.uint32(1))
    if type.kind in "bus":
        ufunc, dtype = _UFUNCS[operation], type.dtype
        return lambda old, b, compare: ufunc(old.view(dtype), b.view(dtype)).view(old.dtype)
    element = element_of(type)
    if operation != "add":
        return _extreme(element, operation)
    if type.name == "f64":
        return lambda old, b, compare: (old.view(np.float64) + b.view(np.float64)).view(np.uint64)
    # atom.add.f32 flushes subnormals in global memory, and keeps them in shared (PTX ISA, "atom").
    flushes = type.name == "f32" and space in ("global", "generic")

    def add(old: Array, b: Array, compare: Array | None) -> Array:
        x, y = np.ascontiguousarray(old).view(element.dtype), np.ascontiguousarray(b).view(element.dtype)
        if flushes:
            x, y = element.flush(x), element.flush(y)
        assert element.format is not None
        result = encode(odd_sum(element.values(x), element.values(y)), element.format).astype(element.dtype)
        return (element.flush(result) if flushes else result).view(old.dtype)

    return add


def _extreme(element: Element, operation: str) -> Combine:
    from tessera_tools.sim.instructions.floating import extreme

    pick = extreme(element, operation == "max", False)

    def combine(old: Array, b: Array, compare: Array | None) -> Array:
        x, y = np.ascontiguousarray(old).view(element.dtype), np.ascontiguousarray(b).view(element.dtype)
        return pick(x, y).view(old.dtype)

    return combine
