"""Random nests of loops and branches do on the simulated GPU what an interpreter does."""

from __future__ import annotations

import numpy as np
import pytest
from control.random_programs import SLOTS, WIDTH, Maker, interpret, text_of
from programs import TARGETS, fresh_seed, run

PROGRAMS = 12


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_a_random_program_does_what_the_interpreter_does(number: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    maker = Maker(rng)
    program = [s for _ in range(3) for s in maker.block(0)]
    buffer = rng.integers(-100, 100, SLOTS * WIDTH, dtype=np.int32)
    numbers = [int(n) for n in rng.integers(-3, 10, 3)]
    text = text_of(program)
    expected = interpret(program, buffer, numbers)
    [found] = run(text, buffer, *numbers, target=TARGETS[number % len(TARGETS)])
    assert (found == expected).all(), text
