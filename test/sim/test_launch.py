"""Launches that no GPU would take, by the limits of the module's architecture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import REGISTERS, kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError


def loaded(target: str = "sm_90a", shared: int = 0, dynamic: bool = False) -> sim.Module:
    variables = f".shared .align 16 .b8 s[{shared}];" if shared else ""
    variables += "\n.extern .shared .align 16 .b8 more[];" if dynamic else ""
    use = "mov.u32 %r0, s;" if shared else ""
    use += "mov.u32 %r1, more;" if dynamic else ""
    return sim.load(
        f".version 8.0\n.target {target}\n.address_size 64\n{variables}\n"
        f".visible .entry k(.param .u32 n) {{{REGISTERS} {use} ret; }}\n"
    )


@pytest.mark.parametrize(
    "options,words",
    [
        ({"block": (1025,)}, "a block of 1025 threads|numbers from 1 to"),
        ({"block": (64, 32)}, "a block of 2048 threads; sm_90 has at most 1024"),
        ({"grid": (1, 70000)}, "the grid is"),
        ({"grid": (0,)}, "the grid is"),
        ({"grid": (9,), "cluster": (9,)}, "guarantees at most 8 CTAs"),
        ({"grid": (3,), "cluster": (2,)}, "not a multiple of the cluster"),
        ({"args": ()}, "0 arguments for 1 parameters"),
        ({"args": (1 << 40,)}, "does not fit"),
        ({"args": ("x",)}, "expected a Buffer, a number or bytes"),
        ({"shared_bytes": 240_000}, "240000 bytes of shared memory; a block of sm_90 has at most 232448"),
        ({"entry": "other"}, "has no entry 'other'"),
    ],
)
def test_a_launch_beyond_the_limits_is_refused(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"entry": "k", "grid": (1,), "block": (32,), "args": (1,), **options}
    with pytest.raises(DiagnosticError, match=words):
        loaded(dynamic=True).launch(**given)


def test_static_shared_memory_has_a_limit_of_its_own() -> None:
    with pytest.raises(DiagnosticError, match="50000 bytes of static shared memory; expected at most 49152"):
        loaded(shared=50_000).launch("k", (1,), (32,), (1,))


def test_a_smaller_gpu_has_less_shared_memory_and_no_clusters() -> None:
    with pytest.raises(DiagnosticError, match="a block of sm_80 has at most 166912"):
        loaded("sm_80").launch("k", (1,), (32,), (1,), shared_bytes=200_000)
    with pytest.raises(DiagnosticError, match="has no clusters"):
        loaded("sm_80").launch("k", (2,), (32,), (1,), cluster=(2,))


def test_an_architecture_outside_the_table_still_runs() -> None:
    assert not loaded("sm_75").launch("k", (1,), (32,), (1,)).findings


SEVERAL = (
    kernel("mov.u32 %r0, 7; st.global.u32 [%rd0], %r0;")
    + f".visible .entry other(.param .u64 p0) {{{REGISTERS} add.u99 %r0, %r0, 1; ret; }}\n"
)


def test_of_several_entries_only_the_launched_one_is_decoded() -> None:
    result, (out,) = run(SEVERAL, np.zeros(1, np.uint32))
    assert not result.findings and out[0] == 7


def test_the_launch_of_an_invalid_entry_is_refused_at_its_instruction() -> None:
    module = sim.load(SEVERAL, file="k.ptx")
    with pytest.raises(DiagnosticError, match=r"'add.u99'"):
        module.launch("other", (1,), (32,), [0])


def test_the_only_entry_is_decoded_when_it_is_loaded() -> None:
    with pytest.raises(DiagnosticError, match=r"'add.u99'"):
        sim.load(kernel("add.u99 %r0, %r0, 1;"))
