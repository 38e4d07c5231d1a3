"""mma.sync (PTX ISA, "Warp-level matrix instructions: mma", "Matrix Fragments for mma").

    A, B, C registers ──Fragment.gather──▶ matrices in float64 ──sim/products.py──▶ D ──Fragment.scatter──▶ registers

The arithmetic is that of sim/products.py: exact products, summed in order of k, rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tessera_tools.sim import fragments
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.elements import ELEMENTS, Element
from tessera_tools.sim.fragments import Fragment
from tessera_tools.sim.gang import Gang
from tessera_tools.sim.instructions.mma_registers import emit, load_matrix, ports_of, whole_warp
from tessera_tools.sim.instructions.mma_runs import Recipe, Run, join
from tessera_tools.sim.instructions.mma_scaled import require_target, scaled
from tessera_tools.sim.interfaces import HasLanes
from tessera_tools.sim.products import (
    ACCUMULATORS,
    Product,
    fma_chain,
    integer_product,
    multiply_accumulate,
    patterns_of,
)
from tessera_tools.sim.program import Operand
from tessera_tools.sim.warp import JointOutcome, Mask, Warp

__all__ = ["and_popc", "extents", "multiply", "product_of"]


_FP8 = ("e4m3", "e5m2")
_NARROW = ("e3m2", "e2m3", "e2m1")
_TYPES = tuple(ELEMENTS)
_SHAPES: dict[str, tuple[str, ...]] = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "u8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "s4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "u4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "e3m2": ("m16n8k32",),
    "e2m3": ("m16n8k32",),
    "e2m1": ("m16n8k32",),
}
"""The shapes of each element type of A; m8n8k4 of f16 is a separate instruction."""
_TOGETHER = (("s8", "u8"), ("s4", "u4"), (*_FP8, *_NARROW))
"""Types that A and B may combine."""
_ALL_SHAPES = tuple(dict.fromkeys(shape for shapes in _SHAPES.values() for shape in shapes))


def extents(shape: str) -> tuple[int, int, int]:
    """`m16n8k32` → (16, 8, 32)."""
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def multiply(
    ctx: Context,
    operands: Sequence[Operand],
    fragments_abcd: tuple[Fragment, Fragment, Fragment, Fragment],
    types: tuple[Element, Element, str, str],
    product: Product,
    *,
    saturate: bool,
    flops: int,
    unit: str,
) -> Execute:
    """d, a, b, c → the closure of a warp's matrix product; shared by mma and wmma.mma."""
    d, a, b, c = operands
    at, bt, ct, dt = fragments_abcd
    a_type, b_type, c_name, d_name = types
    c_type, d_type = ACCUMULATORS[c_name], ACCUMULATORS[d_name]
    a_ports = ports_of(ctx, a, "A", at.registers, max(32, a_type.bits), write=False)
    b_ports = ports_of(ctx, b, "B", bt.registers, max(32, b_type.bits), write=False)
    c_ports = ports_of(ctx, c, "C", ct.registers, max(32, c_type.bits), write=False)
    d_ports = ports_of(ctx, d, "D", dt.registers, max(32, d_type.bits), write=True)
    take_a = load_matrix(a_ports, at, a_type.bits, a_type.values, -1)
    take_b = load_matrix(b_ports, bt, b_type.bits, b_type.values, -2)
    take_c = load_matrix(c_ports, ct, c_type.bits, c_type.values, None)
    give = emit(d_ports, dt)
    patterns = patterns_of(product, d_type, saturate=saturate)
    run: Run | None = None
    if len(at.shape) == 2 and unit == "mma.sync":
        recipe = Recipe(
            (ctx.inst.modifiers,),
            (at, a_type.bits, a_type.values),
            (bt, b_type.bits, b_type.values),
            (ct, c_type.bits, c_type.values),
            dt,
            patterns,
        )
        run = join(ctx, recipe, operands)

    def together(gang: Gang, mask: HasLanes) -> JointOutcome:
        assert run is not None
        if gang.stats is not None:
            return NotImplemented
        return run.execute(gang.registers)

    if run is not None:
        ctx.together = together

    def execute(warp: Warp, mask: Mask) -> int | None:
        if not whole_warp(warp, mask):
            return None
        if run is not None and run.end > run.start + 1:
            count = len(run)
            if warp.stats is not None:
                warp.stats.flops[unit] += flops * count
                warp.stats.instructions["mma"] += count - 1
                warp.stats.repeat(count)
            warp.instructions += count - 1
            warp.cta.cluster.launch.executed += count - 1
            return run.execute(warp.cta.registers[32][:, warp.index : warp.index + 1])
        if warp.stats is not None:
            warp.stats.flops[unit] += flops
        give(warp, patterns(take_a(warp), take_b(warp), take_c(warp)))
        return None

    return execute


def and_popc(a: Array, b: Array, c: Array) -> Array:
    return integer_product(a, b, c)


def xor_popc(a: Array, b: Array, c: Array) -> Array:
    """The bits that differ: a and not b, or b and not a."""
    return integer_product(a, 1 - b, c) + integer_product(1 - a, b, np.zeros_like(c))


def product_of(ctx: Context, a: str, rounding: str = "rn") -> Product:
    """The arithmetic for elements of type `a`; takes the operation modifier of b1."""
    if a == "b1":
        operation = ctx.choose("xor", "and")
        ctx.choose("popc")
        return xor_popc if operation == "xor" else and_popc
    if a == "f64":
        return lambda x, y, z: fma_chain(x, y, z, rounding)
    return integer_product if a[0] in "su" else multiply_accumulate


@instruction("mma.sp")
def mma_sp(ctx: Context) -> Execute:
    """Sparse mma: rejected."""
    raise ctx.error("multiplies a sparse matrix, which the simulated GPU does not; expected a dense mma.sync")


@instruction("mma.sync")
def mma(ctx: Context) -> Execute:
    """mma.sync.aligned.shape.alayout.blayout{.kind}{.satfinite}.dtype.atype.btype.ctype{.op.popc} d, a, b, c."""
    ctx.require("aligned")
    ctx.aligned()
    if any(modifier.startswith(("block_scale", "kind::mx")) for modifier in ctx.remaining()):
        return scaled(ctx)
    kind = ctx.choose("kind::f8f6f4", default="")
    if kind:
        require_target(ctx, f"multiplies by .{kind}")
    shape = ctx.choose(*_ALL_SHAPES)
    layouts = ctx.choose("row", "col"), ctx.choose("row", "col")
    saturate = ctx.flag("satfinite")
    rounding = ctx.choose("rn", "rz", "rm", "rp", default="rn")
    d, a, b, c = (ctx.choose(*_TYPES) for _ in range(4))
    operands = ctx.operands(4)
    m, n, k = extents(shape)
    if a == "f16" and shape == "m8n8k4":
        return _quad_pairs(ctx, operands, layouts, (b, c, d))
    _check(ctx, shape, layouts, (a, b, c, d), kind)
    if rounding != "rn" and a != "f64":
        raise ctx.error(f"has .{rounding}, which only .f64 supports")
    if saturate and d != "s32":
        raise ctx.error("has .satfinite, which only integers support")
    a_type, b_type = ELEMENTS[a], ELEMENTS[b]
    product = product_of(ctx, a, rounding)
    found = (
        fragments.mma_a(m, k, a_type.packed),
        fragments.mma_b(k, n, b_type.packed),
        fragments.accumulator(m, n, ACCUMULATORS[c].packed),
        fragments.accumulator(m, n, ACCUMULATORS[d].packed),
    )
    return multiply(
        ctx,
        operands,
        found,
        (a_type, b_type, c, d),
        product,
        saturate=saturate,
        flops=2 * m * n * k,
        unit="mma.sync",
    )


def _check(
    ctx: Context, shape: str, layouts: tuple[str, str], types: tuple[str, str, str, str], kind: str
) -> None:
    """Reject invalid combinations of shape and types."""
    a, b, c, d = types
    if a not in _SHAPES or shape not in _SHAPES[a]:
        raise ctx.error(f"has .{shape} with .{a}; expected .{', .'.join(_SHAPES.get(a, ()))}")
    if a != b and not any(a in group and b in group for group in _TOGETHER):
        raise ctx.error(f"multiplies .{a} by .{b}")
    if layouts != ("row", "col"):
        raise ctx.error(f"has .{layouts[0]}.{layouts[1]}; expected .row.col")
    if (a in _NARROW or b in _NARROW) and not kind:
        raise ctx.error(f"multiplies .{a} by .{b} without .kind::f8f6f4")
    if kind and (a not in (*_FP8, *_NARROW) or shape != "m16n8k32"):
        raise ctx.error(f"has .{kind} with .{shape}.{a}; expected .m16n8k32 and an 8-, 6- or 4-bit float")
    expected: tuple[str, ...] = ("f32",)
    if a == "f64":
        expected = ("f64",)
    elif a == "b1" or a[0] in "su":
        expected = ("s32",)
    elif a in ("f16", *_FP8, *_NARROW):
        expected = ("f16", "f32")
    for name, what in ((d, "D"), (c, "C")):
        if name not in expected:
            raise ctx.error(f"has {what} of .{name} with A of .{a}; expected .{' or .'.join(expected)}")
    if c != d:
        raise ctx.error(f"has D of .{d} and C of .{c}; expected one type")


def _quad_pairs(
    ctx: Context, operands: Sequence[Operand], layouts: tuple[str, str], types: tuple[str, str, str]
) -> Execute:
    """mma.m8n8k4 with f16: four products, one for each quad pair."""
    b, c, d = types
    if b != "f16" or c not in ("f16", "f32") or d not in ("f16", "f32") or (d == "f16" and c == "f32"):
        raise ctx.error(f"has .{d}.f16.{b}.{c}; expected .f16 elements and .f16 or .f32 for D and C")
    half = ELEMENTS["f16"]
    found = (
        fragments.quad_pair_a(by_rows=layouts[0] == "row"),
        fragments.quad_pair_b(by_rows=layouts[1] == "row"),
        fragments.quad_pair_accumulator(ACCUMULATORS[c].packed),
        fragments.quad_pair_accumulator(ACCUMULATORS[d].packed),
    )
    return multiply(
        ctx,
        operands,
        found,
        (half, half, c, d),
        multiply_accumulate,
        saturate=False,
        flops=4 * 512,
        unit="mma.sync",
    )
