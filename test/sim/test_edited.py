"""`Module.edited`: a program with other instructions at some lines, without loading it again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import kernel

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

ADD = kernel("  mov.u32 %r0, 5;\n  add.u32 %r1, %r0, 2;\n  st.global.u32 [%rd0], %r1;")
LINE = next(number for number, text in enumerate(ADD.split("\n"), 1) if "add.u32" in text)


def run(module: sim.Module, *arrays: Any, **options: Any) -> tuple[list[Any], str]:
    """The arrays after a launch of the only entry, and its findings."""
    buffers = [module.memory.allocate(np.copy(array), f"array {n}") for n, array in enumerate(arrays)]
    given = {"grid": (1,), "block": (1,), "max_instructions": 20_000, **options}
    result = module.launch(None, given.pop("grid"), given.pop("block"), buffers, **given)
    module.memory.regions.clear()
    return [buffer.array() for buffer in buffers], result.findings.text("k")


def stored(module: sim.Module) -> int:
    ((array,), findings) = run(module, np.zeros(1, np.uint32))
    assert not findings
    return int(array[0])


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("add.u32 %r1, %r0, 1000;", 1005),
        ("@!%p0 sub.u32 %r1, %r0, 2;", 3),
        ("@%p0 sub.u32 %r1, %r0, 2;", 0),
        ("", 0),
    ],
)
def test_another_instruction_is_in_its_place(text: str, result: int) -> None:
    module = sim.load(ADD)
    assert stored(module.edited({LINE: text})) == result
    assert stored(module) == 7


def test_all_instructions_of_a_line_go() -> None:
    body = "  mov.u32 %r1, 1;\n  add.u32 %r1, %r1, 2; add.u32 %r1, %r1, 4;\n  st.global.u32 [%rd0], %r1;"
    module = sim.load(kernel(body))
    assert [stored(module.edited({LINE: text})) for text in ("", "add.u32 %r1, %r1, 8;")] == [1, 9]


def test_a_branch_may_go() -> None:
    body = "  mov.u32 %r1, 1;\n  bra END;\n  mov.u32 %r1, 2;\nEND:\n  st.global.u32 [%rd0], %r1;"
    module = sim.load(kernel(body))
    assert (stored(module), stored(module.edited({LINE: ""}))) == (1, 2)


def test_a_function_that_is_called_may_be_edited() -> None:
    called = ".func (.param .b32 out) f() {\n  st.param.b32 [out], 3;\n  ret;\n}\n"
    body = "  { .param .b32 got; call (got), f, (); ld.param.b32 %r1, [got]; }\n  st.global.u32 [%rd0], %r1;"
    ptx = kernel(body, module=called)
    (line,) = (n for n, text in enumerate(ptx.split("\n"), 1) if "st.param" in text)
    module = sim.load(ptx)
    assert (stored(module), stored(module.edited({line: "st.param.b32 [out], 77;"}))) == (3, 77)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add.u32 %r1, %r0", "cannot read the instruction 'add.u32 %r1, %r0'"),
        ("add.u32 %r1, %r0, 2; ret;", "'add.u32': "),
        ("frobnicate %r1;", "unknown instruction 'frobnicate'"),
        ("add.u32 %r1, %unknown, 2;", "uses '%unknown', which is not declared"),
    ],
)
def test_what_is_no_instruction_is_refused_at_the_line(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as found:
        sim.load(ADD, file="k.ptx").edited({LINE: text})
    assert f"k.ptx:{LINE}:" in str(found.value) and message in str(found.value)
