"""Refusals of modules and launches, with their whole messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import HEADER, kernel

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

ENTRY = ".visible .entry k() { ret; }\n"


def diagnostic(failure: pytest.ExceptionInfo[DiagnosticError]) -> tuple[str, int]:
    """The message and the line."""
    (only,) = failure.value.diagnostics
    assert only.location is not None
    place = only.location.start()
    assert place is not None
    return only.message, place[1]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (
            ".target sm_90a\n.address_size 64\n" + ENTRY,
            "the PTX has no .version directive; expected it first", 1,
        ),
        (".version 8.0\n.address_size 64\n" + ENTRY, "the PTX has no .target directive", 1),
        (
            ".version 8.0\n.target sm_90a\n" + ENTRY,
            "the PTX has no .address_size directive, so addresses have 32 bits; expected .address_size 64", 1,
        ),
        (HEADER + ".visible .entry k() {\n ret;\n", "unexpected end of PTX: a '}' or ';' is missing", 6),
        (
            kernel("call f, ();", module=".extern .func f();"),
            "'call' calls 'f', which is declared but not defined; link its PTX into the module", 8,
        ),
        (
            kernel("call f, (%r0);", module=".func f(.param .b32 a) { ret; }"),
            "'call' passes something other than a .param variable", 8,
        ),
    ],
)  # fmt: skip
def test_a_module_is_refused(text: str, message: str, line: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        sim.load(text, file="k.ptx")
    assert diagnostic(caught) == (message, line)


@pytest.mark.parametrize(
    ("declared", "argument", "message"),
    [
        (".u32 n", b"123", "argument 0 ('n') has 3 bytes; the parameter has 4"),
        (".align 4 .b8 n[8]", 1, "argument 0 ('n') is an aggregate of 8 bytes; specify its bytes"),
        (".u32 n", "buffer", "argument 0 ('n') is a buffer; the parameter is .u32"),
        (".u32 n", 1.0, "argument 0 ('n') is a float; the parameter is .u32"),
        (".u32 n", np.float64(1), "argument 0 ('n') is a float; the parameter is .u32"),
        (".u32 n", 1 << 32, "argument 0 ('n') is 4294967296, which does not fit .u32"),
        (".u32 n", None, "argument 0 ('n') is a NoneType; expected a Buffer, a number or bytes"),
    ],
)
def test_an_argument_that_does_not_fit_its_parameter_is_refused(
    declared: str, argument: Any, message: str
) -> None:
    module = sim.load(f"{HEADER}.visible .entry k(.param {declared}) {{ ret; }}\n", file="k.ptx")
    if argument == "buffer":
        argument = module.memory.allocate(np.zeros(4, np.uint32), "x")
    with pytest.raises(DiagnosticError) as caught:
        module.launch("k", (1,), (1,), [argument])
    assert diagnostic(caught) == (f"cannot launch 'k': {message}", 4)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        sim.load(HEADER + ENTRY, file="k.ptx").launch("k", (1,), (1,), [], mode="soon")
    assert diagnostic(caught) == ("cannot launch 'k': the mode is 'soon'; expected 'late' or 'early'", 4)


def test_an_extern_variable_that_no_module_defines_is_refused() -> None:
    text = kernel("ld.global.u32 %r0, [other];", parameters=0, module=".extern .global .b32 other;")
    with pytest.raises(DiagnosticError) as caught:
        sim.load(text, file="k.ptx").launch("k", (1,), (1,), [])
    assert diagnostic(caught) == (
        "cannot launch 'k': it uses the extern variable 'other', which no module defines", 5,
    )  # fmt: skip


def test_an_unknown_entry_is_refused_with_those_that_exist() -> None:
    with pytest.raises(DiagnosticError) as caught:
        sim.load(HEADER + ENTRY, file="k.ptx").launch("other", (1,), (1,), [])
    assert diagnostic(caught) == ("the module has no entry 'other'; it has 'k'", 1)
