"""Which instruction an op becomes, where one says all; and that upstream knows the intrinsics."""

from __future__ import annotations

import subprocess

import pytest
from oracles import require_tool
from programs import compiled, program, tile

SHAPE = (64,)
INSTRUCTIONS = {
    "addf %x, %y rounding<zero>": "add.rz.f32",
    "addf %x, %y rounding<negative_inf> flush_to_zero": "add.rm.ftz.f32",
    "addf %x, %y": "add.rn.f32",
    "mulf %x, %y": "mul.rn.f32",
    "divf %x, %y": "div.rn.f32",
    "divf %x, %y rounding<approx>": "div.approx.f32",
    "divf %x, %y rounding<full>": "div.full.f32",
    "divf %x, %y rounding<full> flush_to_zero": "div.full.ftz.f32",
    "fma %x, %y, %x rounding<positive_inf>": "fma.rp.f32",
    "sqrt %x": "sqrt.rn.f32",
    "sqrt %x rounding<approx> flush_to_zero": "sqrt.approx.ftz.f32",
    "rsqrt %x": "rsqrt.approx.f32",
    "rsqrt %x flush_to_zero": "rsqrt.approx.ftz.f32",
    "exp2 %x": "ex2.approx.f32",
    "exp2 %x flush_to_zero": "ex2.approx.ftz.f32",
    "exp %x rounding<approx>": "ex2.approx.f32",
    "tanh %x rounding<approx>": "tanh.approx.f32",
    "maxf %x, %y": "max.f32",
    "maxf %x, %y propagate_nan": "max.NaN.f32",
    "minf %x, %y flush_to_zero propagate_nan": "min.ftz.NaN.f32",
}


def text(body: str) -> str:
    return program(body, {"x": ("f32", SHAPE), "y": ("f32", SHAPE)}, {"z": ("f32", SHAPE)})


@pytest.mark.parametrize("op", INSTRUCTIONS)
def test_an_op_is_an_instruction(op: str) -> None:
    ptx = compiled(text(f"%z = {op} : {tile('f32', SHAPE)}"), "sm_90a").ptx
    assert f"\t{INSTRUCTIONS[op]} " in ptx


def test_upstream_translates_the_intrinsics() -> None:
    type = tile("f32", SHAPE)
    ops = [*INSTRUCTIONS, "sin %x", "fpowf %x, %y", "remf %x, %y"]
    body = "\n  ".join(f"%r{i} = {op} : {type}" for i, op in enumerate(ops))
    body += f"\n  %s0 = addf %x, %y : {type}"
    body += "".join(f"\n  %s{i + 1} = addf %s{i}, %r{i} : {type}" for i in range(len(ops)))
    module = compiled(text(f"{body}\n  %z = addf %s{len(ops)}, %x : {type}"), "sm_90a").llvm
    tool = require_tool("mlir-translate-22")
    done = subprocess.run(
        [tool, "--mlir-to-llvmir"], input=module, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
