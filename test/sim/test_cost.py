"""What an instruction costs on the clock where its SASS is not known."""

from __future__ import annotations

import pytest
from sim.kernels import kernel

from tessera_tools import sim
from tessera_tools.sim.clock.cost import costs
from tessera_tools.target import lookup
from tessera_tools.target.timing import timing


@pytest.mark.parametrize(
    ("left", "number"),
    [("%rd0", 64 * 16 + 16 * 8), ("{%r0, %r1, %r2, %r3}", 16 * 8)],
    ids=["shared", "registers"],
)
def test_factors_in_shared_memory_feed_a_product(left: str, number: int) -> None:
    """In bytes of each of four tensor cores; the left factor of 64x16 may be in registers."""
    flags = "1, 1, 1, 0, 0" if left == "%rd0" else "1, 1, 1, 0"
    module = sim.load(
        kernel(
            f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, {left}, %rd0, {flags};"
        )
    )
    table = timing(lookup("sm_90"))
    assert table is not None
    found = costs(module.program, [module.entry()], table, {})
    [product] = [one for pc, one in found.items() if module.program.instructions[pc].opcode == "wgmma"]
    assert product.feed == number * 2 / 4


@pytest.mark.parametrize(
    ("instruction", "slots"),
    [
        ("add.f32 %f0, %f1, %f2;", 1),
        ("fma.rn.f32 %f0, %f1, %f2, %f0;", 1),
        ("add.f16x2 %r0, %r1, %r2;", 1),
        ("add.u32 %r0, %r1, %r2;", 1),
        ("add.u64 %rd0, %rd1, %rd2;", 2),
        ("and.b32 %r0, %r1, %r2;", 1),
        ("and.b64 %rd0, %rd1, %rd2;", 2),
        ("popc.b32 %r0, %r1;", 1),
        ("div.u32 %r0, %r1, %r2;", 20),
        ("div.rn.f32 %f0, %f1, %f2;", 9),
        ("ex2.approx.ftz.f32 %f0, %f1;", 1),
        ("ex2.approx.f32 %f0, %f1;", 3),
    ],
)
def test_an_instruction_costs_as_many_slots_as_it_becomes_instructions(instruction: str, slots: int) -> None:
    module = sim.load(kernel(instruction))
    entry = module.entry()
    table = timing(lookup("sm_90"))
    assert table is not None
    (pc,) = (pc for pc, one in enumerate(module.program.instructions) if instruction.startswith(one.name))
    assert costs(module.program, [entry], table, {})[pc].slots == slots
