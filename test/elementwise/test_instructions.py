"""Which instruction an op becomes, where one says all; and that upstream knows the intrinsics."""

from __future__ import annotations

import subprocess

import pytest
from elementwise.numbers import FLOATS
from elementwise.ops import text
from programs import TARGETS, check_tools, compiled

from oracles import require_tool

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


@pytest.mark.parametrize("op", INSTRUCTIONS)
def test_an_op_is_an_instruction(op: str) -> None:
    assert f"\t{INSTRUCTIONS[op]} " in compiled(text([op], "f32", SHAPE, 2), "sm_90a").ptx


UNARY = (
    "sqrt", "rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "ceil", "floor",
    "absf", "negf",
)  # fmt: skip
BINARY = ("fpowf", "atan2", "remf", "maxf", "minf", "addf", "subf", "mulf", "divf")
FUNCTIONS = [*(f"{name} %x" for name in UNARY), *(f"{name} %x, %y" for name in BINARY)]
DIRECTED = [
    "addf %x, %y rounding<zero>",
    "divf %x, %y rounding<negative_inf>",
    "sqrt %x rounding<positive_inf>",
]


@pytest.mark.parametrize("element", FLOATS)
def test_upstream_and_ptxas_take_every_op(element: str) -> None:
    check_tools(text([*FUNCTIONS, *DIRECTED], element, (32,), 2), *TARGETS)


def test_upstream_translates_the_intrinsics() -> None:
    module = compiled(text([*INSTRUCTIONS, *FUNCTIONS], "f32", SHAPE, 2), "sm_90a").llvm
    tool = require_tool("mlir-translate-22")
    done = subprocess.run(
        [tool, "--mlir-to-llvmir"], input=module, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
