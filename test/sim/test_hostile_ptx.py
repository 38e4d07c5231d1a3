"""PTX from strangers: numbers without end and other odd text are refused at their line, never by a fault of ours."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim import load
from tessera_tools.sim.reader import read

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
LONG = "9" * 10_000


def kernel(line: str) -> str:
    return f"{HEADER}.visible .entry k()\n{{\n.reg .b32 %r<4>;\n{line}\nret;\n}}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (kernel(f"mov.b32 %r0, {LONG};"), 7),
        (kernel(f"mov.b32 %r0, -{LONG};"), 7),
        (kernel(f"mov.b32 %r0, 0x{'f' * 10_000};"), 7),
        (kernel(f"mov.b32 %r0, 0{'7' * 10_000};"), 7),
        (kernel(f"ld.global.b32 %r0, [%r1+{LONG}];"), 7),
        (kernel(f".shared .align 4 .b8 a[{LONG}];"), 7),
        (kernel(f".shared .align {LONG} .b8 a[4];"), 7),
        (kernel(f".reg .b32 %x<{LONG}>;"), 7),
        (kernel(f".loc 1 {LONG} 1"), 7),
        (HEADER + f".global .b32 a = {LONG};\n", 4),
        (HEADER + f".global .b64 b;\n.global .b64 a = b+{LONG};\n", 5),
        (HEADER + f".visible .entry k()\n.reqntid {LONG}\n{{\nret;\n}}\n", 5),
        (f".version 8.{LONG}\n", 1),
        (".version 8.0e5\n", 1),
        (f".version 8.0\n.target sm_80\n.address_size {LONG}\n", 3),
    ],
    ids=lambda value: str(value)[-40:] if isinstance(value, str) else None,
)
def test_numbers_without_end_are_refused_at_their_line(text: str, line: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read(text, "k.ptx")
    place = caught.value.diagnostics[0].location
    assert place is not None
    found = place.start()
    assert found is not None
    assert found[:2] == ("k.ptx", line)
    assert len(caught.value.diagnostics[0].message) < 200


@pytest.mark.parametrize(
    "text",
    ["", "{", "}", ".version", HEADER + ".entry", HEADER + ".entry k(", HEADER + "\0", kernel("\x1b[31m;")],
)
def test_text_that_is_not_ptx_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError):
        read(text)


@pytest.mark.parametrize(
    ("declaration", "place", "message"),
    [
        (".reg .v2 .b32 %x;", (7, 6), "vector registers are not simulated; declare scalar registers"),
        ("  .reg .pred %p<1048577>;", (7, 16), "1048577 registers; expected at most 1048576"),
    ],
)
def test_a_declaration_is_refused_at_its_column(
    declaration: str, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        read(kernel(declaration), "k.ptx")
    where = caught.value.diagnostics[0].location
    assert where is not None
    assert where.start() == ("k.ptx", *place)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (".global .b32 a[1] = {1, 2};", "'a' has 4 bytes, and more values than fit"),
        (".const .b8 a[3] = {1, 2, 3, 4};", "'a' has 3 bytes, and more values than fit"),
        (
            ".global .b64 a = nothing;",
            "the initializer of 'a' names 'nothing', which is not a variable or function",
        ),
    ],
)
def test_an_initializer_is_refused_at_its_line(declaration: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        load(f"{HEADER}\n{declaration}\n", file="k.ptx")
    where = caught.value.diagnostics[0].location
    assert where is not None
    assert where.start() == ("k.ptx", 5, 1)


def test_an_initializer_fills_its_variable_to_the_last_byte() -> None:
    module = load(f"{HEADER}.global .b8 a[3] = {{1, 2, 3}};\n.global .b32 b[2] = {{4}};\n")
    contents = {buffer.name: buffer.array().tobytes() for buffer in module.variables.values()}
    assert contents == {"variable 'a'": b"\1\2\3", "variable 'b'": b"\4" + bytes(7)}


def test_a_range_of_as_many_registers_as_there_may_be() -> None:
    program = read(kernel(".reg .pred %p<1048576>;"), "k.ptx")
    assert program.register_counts[1] >= 1 << 20


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mov.b32 {}, %r0;", "found an empty vector, expected at least one element"),
        ("atom.global.add.v2.f32 {}, [%rd0], {%f0, %f0};", "found an empty vector"),
        ("cp.async.wait_group 1.5;", "needs a number of groups"),
        ("cp.async.wait_group -1;", "needs a number of groups"),
        ("wgmma.wait_group.sync.aligned 0f7F800000;", "needs a number of groups"),
        ("lop3.b32 %r0, %r1, %r1, %r1, 0d7FF0000000000000;", "needs an immediate truth table from 0 to 255"),
        ("setmaxnreg.inc.sync.aligned.u32 24.0;", "needs a multiple of 8 from 24 to 256"),
        ("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%rd0], 1.5;", "needs a number from 0 to"),
        ("mov.pred %p0, %clock64;", "moves %clock64 to a predicate"),
    ],
)
def test_an_operand_that_its_instruction_does_not_take_is_refused(line: str, message: str) -> None:
    text = kernel(f".reg .b64 %rd<2>; .reg .f32 %f<2>; .reg .pred %p<2>;\n{line}").replace("sm_80", "sm_90a")
    with pytest.raises(DiagnosticError) as caught:
        load(text, file="k.ptx")
    assert message in caught.value.diagnostics[0].message


@pytest.mark.parametrize("number", [1 << 63, (1 << 64) - 1, -(1 << 63)])
def test_numbers_of_a_shuffle_have_32_bits(number: int) -> None:
    load(kernel(f"shfl.sync.idx.b32 %r0, %r1, {number}, {number}, {number};"), file="k.ptx")


def test_an_access_of_local_memory_that_a_kernel_does_not_have() -> None:
    module = load(kernel("mov.b32 %r0, 0; st.local.b32 [%r0], %r1;"), file="k.ptx")
    result = module.launch("k", (1,), (32,), [])
    assert "out-of-bounds" in result.findings.kinds()
