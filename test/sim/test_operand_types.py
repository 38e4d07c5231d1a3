"""Registers and numbers of every type as operands, and random conversions: the simulated GPU takes what ptxas takes."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from programs import fresh_seed

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim import load

TYPES = [
    "b16",
    "b32",
    "b64",
    "b128",
    "u16",
    "u32",
    "u64",
    "s16",
    "s32",
    "s64",
    "f16",
    "f32",
    "f64",
    "f16x2",
    "pred",
]
DECLARED = "".join(f".reg .{name} %{name}_<4>;\n" for name in TYPES) + ".reg .b64 %address;\n"
HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n" + DECLARED
FIRST = HEADER.count("\n") + 1
"""The line of the first instruction."""
NUMBERS = ("5", "-1", "1.5", "0f3F800000", "0d3FF8000000000000", "%tid.x", "WARP_SZ")
OPERANDS = [*NUMBERS, *(f"%{name}_3" for name in TYPES)]
INSTRUCTIONS = (
    "add.u32 %u32_0, %u32_1, X;",
    "add.s64 %s64_0, X, %s64_1;",
    "add.u16 X, %u16_1, %u16_2;",
    "add.f16 %f16_0, X, %f16_1;",
    "add.f32 %f32_0, X, %f32_1;",
    "add.f64 X, %f64_0, %f64_1;",
    "add.f16x2 %b32_0, X, %b32_1;",
    "add.bf16 %b16_0, X, %b16_1;",
    "fma.rn.f32 %f32_0, %f32_1, X, %f32_2;",
    "min.s16 X, %s16_0, %s16_1;",
    "mul.wide.u16 X, %u16_0, %u16_1;",
    "mad.lo.s32 %s32_0, %s32_1, %s32_2, X;",
    "div.rn.f32 X, %f32_1, %f32_2;",
    "rcp.approx.ftz.f32 %f32_0, X;",
    "ex2.approx.f32 X, %f32_0;",
    "abs.f32 %f32_0, X;",
    "neg.f16 %f16_0, X;",
    "mov.u32 %u32_0, X;",
    "mov.f32 %f32_0, X;",
    "mov.b64 X, %b64_0;",
    "and.b64 %b64_0, %b64_1, X;",
    "mov.pred %pred_0, %is_explicit_cluster;",
    "st.global.v2.u32 [%address], {%tid.x, %u32_1};",
    "cvt.rn.f16x2.f32 X, %f32_0, %f32_1;",
    "cvt.pack.sat.s8.s32.b32 %b32_0, %s32_0, %s32_1, X;",
    "atom.global.add.u32 X, [%address], %u32_0;",
    "atom.global.add.f32 X, [%address], %f32_0;",
    "mov.b32 %b32_0, X;",
    "st.global.u8 [%address], X;",
    "st.global.f32 [%address], X;",
    "st.global.b32 [%address], X;",
    "ld.global.s16 X, [%address];",
    "ld.global.f32 X, [%address];",
    "ld.global.b64 X, [%address];",
    "setp.lt.u32 %pred_0, X, %u32_1;",
    "setp.lt.f32 %pred_0, X, %f32_1;",
    "selp.f32 %f32_0, X, %f32_1, %pred_0;",
    "and.b16 X, %b16_0, %b16_1;",
    "cvt.u64.u32 %u64_0, X;",
    "cvt.u16.u64 X, %u64_0;",
    "cvt.rn.f32.s32 X, %s32_0;",
    "cvt.rn.f16.f32 %f16_0, X;",
    "cvt.rn.bf16.f32 X, %f32_0;",
    "cvt.rn.bf16x2.f32 X, %f32_0, %f32_1;",
    "cvt.rn.satfinite.e4m3x2.f32 X, %f32_0, %f32_1;",
    "atom.global.add.f32 %f32_0, [%address], X;",
    "atom.global.add.u32 %u32_0, [%address], X;",
)
LENIENT = (("f16", "bf16"), ("bf16", "f16"), ("f32", "bf16"), ("f64", "bf16"))
"""Conversions (to, from) whose rounding ptxas does not look at, against the PTX ISA."""


def text(lines: list[str]) -> str:
    return HEADER + "".join(f"{line}\n" for line in lines) + "ret;\n}\n"


def taken_by_ptxas(lines: list[str], folder: Path) -> set[str]:
    ptxas, path, left = require_tool("ptxas"), folder / "k.ptx", list(lines)
    # One run reports all errors up to the first one of syntax.
    while True:
        path.write_text(text(left))
        command = [str(ptxas), "-arch=sm_100a", "-O0", str(path), "-o", str(folder / "k.cubin")]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        wrong = {int(line) - FIRST for line in re.findall(r"line (\d+); (?:error|fatal)", found)}
        if not wrong:
            assert "error" not in found, found
            return set(left)
        left = [line for number, line in enumerate(left) if number not in wrong]


def taken_by_simulator(lines: list[str]) -> set[str]:
    module = load(text(["mov.u32 %u32_0, 0;"]))
    found: set[str] = set()
    for line in lines:
        try:
            module.edited({FIRST: line})
        except DiagnosticError:
            continue
        found.add(line)
    return found


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_operands(instruction: str, tmp_path: Path) -> None:
    lines = [instruction.replace("X", operand) for operand in OPERANDS]
    assert taken_by_simulator(lines) == taken_by_ptxas(lines, tmp_path)


CONVERTED = [
    "u8",
    "u16",
    "u32",
    "u64",
    "s8",
    "s16",
    "s32",
    "s64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "tf32",
    "e4m3",
    "f16x2",
    "bf16x2",
    "e4m3x2",
    "e5m2x2",
]
OWN = {"u8": "b16", "s8": "b16", "bf16": "b16", "e4m3": "b16", "e4m3x2": "b16", "e5m2x2": "b16",
       "tf32": "b32", "f16x2": "b32", "bf16x2": "b32"}  # fmt: skip
"""The registers of types that are not declared."""


def conversion(rng: random.Random) -> str:
    to, source = rng.choice(CONVERTED), rng.choice(CONVERTED)
    rounding = rng.choice(("", ".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi"))
    other = rng.choice(("", "", ".ftz", ".sat", ".satfinite", ".relu"))
    d, a, b = (f"%{OWN.get(name, name)}_{n}" for n, name in enumerate((to, source, source)))
    operands = [d, a, b] if "x2" in to and source == "f32" else [d, a]
    return f"cvt{rounding}{other}.{to}.{source} {', '.join(operands)};"


def test_conversions(tmp_path: Path) -> None:
    rng = random.Random(fresh_seed())
    lines = list(dict.fromkeys(conversion(rng) for _ in range(1000)))
    lines = [line for line in lines if not any(f".{to}.{source} " in line for to, source in LENIENT)]
    found, expected = taken_by_simulator(lines), taken_by_ptxas(lines, tmp_path)
    assert found - expected == expected - found == set()
    assert expected
