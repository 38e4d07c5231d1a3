"""div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh (PTX ISA, "Floating Point Instructions").

The roundings .rn, .rz, .rm and .rp return the exact result, rounded once. For .approx and .full, PTX defines only an
error bound. The result here is the mathematical result rounded once to the type, which every bound allows. It differs
from a GPU's result in the last bits.
"""

from __future__ import annotations

import numpy as np

from tessera_tools.sim import rounding, wide
from tessera_tools.sim.arrays import Array, OfRows, some
from tessera_tools.sim.decode import Context, Execute, instruction, lanewise
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.instructions.floating import MODES, NAN32, Finish, element_of
from tessera_tools.sim.interfaces import HasLanes, HasPorts
from tessera_tools.sim.program import Operand
from tessera_tools.sim.types import Type


def _apply(
    ctx: Context, type: Type, finish: Finish, compute: OfRows, operands: tuple[Operand, ...]
) -> Execute:
    element = element_of(type)
    d = ctx.write(operands[0], type)
    sources = [ctx.read(operand, type) for operand in operands[1:]]

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        values = compute(*finish.inputs(element, tuple(warp.ports[source] for source in sources)))
        put(warp, mask, d, element.row(finish.encode(element, values)))

    return lanewise(execute)


@instruction("div")
def div(ctx: Context) -> Execute:
    """div{.rnd,.approx,.full}{.ftz}.type d, a, b of floating point; of integers, toward zero."""
    from tessera_tools.sim.instructions import integer

    if integer.is_integer(ctx):
        return integer.divide(ctx)
    type = ctx.type("f32", "f64")
    how = ctx.choose(*MODES, *(("approx", "full") if type.name == "f32" else ()))
    ftz = ctx.flag("ftz") if type.name == "f32" else False
    operands = ctx.operands(3)
    mode = how if how in MODES else "rn"
    if type.name == "f64":
        return _apply(ctx, type, Finish(mode), lambda x, y: wide.divide(x, y, mode), operands)
    compute = rounding.odd_quotient if how != "approx" else _quotient_approx
    if mode == "rn" and not ftz:
        return _native(ctx, type, np.divide, operands, compute if how == "approx" else None)
    return _apply(ctx, type, Finish(mode, ftz), compute, operands)


_LARGE = np.float32(2.0**126)


def _native(
    ctx: Context, type: Type, ufunc: np.ufunc, operands: tuple[Operand, ...], large: OfRows | None = None
) -> Execute:
    """An f32 function that NumPy rounds to nearest even; with `large`, `large` is used if a divisor is above 2^126."""
    element, finish = element_of(type), Finish()
    d = ctx.write(operands[0], type)
    sources = [ctx.read(operand, type) for operand in operands[1:]]

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        rows = tuple(warp.ports[source] for source in sources)
        if large is not None and some(np.abs(rows[-1]) > _LARGE):
            put(warp, mask, d, element.row(finish.encode(element, large(*finish.inputs(element, rows)))))
            return
        result = ufunc(*rows)
        nan = np.isnan(result)
        if some(nan):
            result.view(np.uint32)[nan] = NAN32
        put(warp, mask, d, result)

    return lanewise(execute)


def _quotient_approx(x: Array, y: Array) -> Array:
    """div.approx multiplies by a reciprocal, which is 0 for |b| above 2^126 (PTX ISA, "div")."""
    large = (np.abs(y) > 2.0**126) & np.isfinite(y)
    quotient = rounding.odd_quotient(x, y)
    return np.where(large, x * np.copysign(0.0, y), quotient)


def _reciprocal(x: Array) -> Array:
    return rounding.odd_quotient(np.ones_like(x), x)


def _truncated(values: Array) -> Array:
    """The upper 32 bits of a f64 (the .approx.ftz.f64 forms return no more)."""
    return (values.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)


def _flushed(values: Array) -> Array:
    return np.where(np.abs(values) < np.finfo(np.float64).tiny, np.copysign(0.0, values), values)


@instruction("rcp", "sqrt")
def rcp(ctx: Context) -> Execute:
    """rcp, sqrt {.approx,.rnd}{.ftz}.f32, .rnd.f64; rcp.approx.ftz.f64."""
    opcode = ctx.inst.opcode
    type = ctx.type("f32", "f64")
    how = ctx.choose(*MODES, "approx")
    ftz = ctx.flag("ftz")
    operands = ctx.operands(2)
    mode = how if how in MODES else "rn"
    if type.name == "f32":
        narrow = _reciprocal if opcode == "rcp" else rounding.odd_root
        if mode == "rn" and not ftz:
            return _native(ctx, type, np.reciprocal if opcode == "rcp" else np.sqrt, operands)
        return _apply(ctx, type, Finish(mode, ftz), narrow, operands)
    if how == "approx":
        if opcode == "sqrt" or not ftz:
            raise ctx.error("has .approx for .f64, where only rcp.approx.ftz.f64 exists")
        return _apply(
            ctx, type, Finish(), lambda x: _flushed(_truncated(1.0 / _flushed(_truncated(x)))), operands
        )
    if ftz:
        raise ctx.error("has .ftz for .f64")
    if opcode == "sqrt":
        return _apply(ctx, type, Finish(), lambda x: wide.root(x, mode), operands)
    return _apply(ctx, type, Finish(), lambda x: wide.divide(np.ones_like(x), x, mode), operands)


@instruction("rsqrt")
def rsqrt(ctx: Context) -> Execute:
    """rsqrt.approx{.ftz}.f32/.f64."""
    ctx.choose("approx")
    ftz = ctx.flag("ftz")
    type = ctx.type("f32", "f64")
    operands = ctx.operands(2)
    if type.name == "f32":
        return _apply(ctx, type, Finish(ftz=ftz), lambda x: 1.0 / np.sqrt(x), operands)
    if ftz:
        return _apply(
            ctx, type, Finish(), lambda x: _truncated(1.0 / np.sqrt(_flushed(_truncated(x)))), operands
        )
    return _apply(ctx, type, Finish(), lambda x: 1.0 / np.sqrt(x), operands)


@instruction("sin", "cos", "lg2")
def sin(ctx: Context) -> Execute:
    """sin/cos/lg2.approx{.ftz}.f32 d, a; angles are in radians."""
    ctx.choose("approx")
    finish = Finish(ftz=ctx.flag("ftz"))
    compute = {"sin": np.sin, "cos": np.cos, "lg2": np.log2}[ctx.inst.opcode]
    return _apply(ctx, ctx.type("f32"), finish, compute, ctx.operands(2))


@instruction("ex2", "tanh")
def ex2(ctx: Context) -> Execute:
    """ex2/tanh.approx{.ftz}.type d, a, of f32 and the half precisions."""
    ctx.choose("approx")
    type = ctx.type("f32", "f16", "f16x2", "bf16", "bf16x2")
    ftz = False
    if ctx.inst.opcode == "ex2" and type.name in ("f32", "bf16", "bf16x2"):
        ftz = ctx.flag("ftz")
        if type.name != "f32" and not ftz:
            raise ctx.error(f"of {type} needs .ftz")
    compute = np.exp2 if ctx.inst.opcode == "ex2" else np.tanh
    return _apply(ctx, type, Finish(ftz=ftz), compute, ctx.operands(2))
