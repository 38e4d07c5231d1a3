"""What an instruction costs on the clock where its SASS is not known."""

from __future__ import annotations

import pytest
from sim.kernels import kernel

from tessera_tools import sim
from tessera_tools.sim.clock.cost import costs
from tessera_tools.target import lookup
from tessera_tools.target.timing import timing


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
