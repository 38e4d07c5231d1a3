"""What an older version of the format cannot say is refused at the operation; what has no place in bytecode, too."""

from __future__ import annotations

import re

import pytest

from tessera_tools.bytecode import VERSIONS, Version, read_bytecode, write_bytecode
from tessera_tools.diagnostics import DiagnosticError, collect
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

V1, V2, V3, V4, V5 = VERSIONS


def write(text: str, version: Version = V5) -> bytes:
    module = parse_module(text, "x.mlir")
    verify_or_raise(module)
    return write_bytecode(module, version)


def refusal(text: str, version: Version) -> str:
    with pytest.raises(DiagnosticError) as failure:
        write(text, version)
    first = failure.value.diagnostics[0]
    place = first.location.start() if first.location is not None else None
    assert place is not None
    return f"{place[1]}:{place[2]}: {first.message}"


def through(text: str, version: Version = V5) -> str:
    """The text, to bytecode and back."""
    return print_op(read_bytecode(write(text, version)))


def body(*lines: str, arguments: str = "%f: tile<f32>, %i: tile<i32>, %p: tile<ptr<f32>>") -> str:
    return "\n".join([f"entry @k({arguments}) {{", *(f"  {line}" for line in lines), "}", ""])


LATER = {
    2: [
        "%0 = atan2 %f, %f : tile<f32>",
        "%0 = negi %i overflow<no_signed_wrap> : tile<i32>",
        "%0 = tanh %f rounding<approx> : tile<f32>",
        "for unsigned %n in (%i to %i, step %i) : tile<i32> {\n  }",
        "%0 = iota : tile<8xi8>\n  %1 = itof %0 unsigned : tile<8xi8> -> tile<8xf32>\n"
        "  %2 = ftof %1 rounding<zero> : tile<8xf32> -> tile<8xf8E8M0FNU>",
    ],
    3: [
        "%0 = exp %f rounding<approx> : tile<f32>",
        "%0 = iota : tile<8xi32>\n  %1 = pack %0 : tile<8xi32> -> tile<32xi8>",
        "%0 = alloca num_elem = 8, alignment = 16 : tile<ptr<f32>>",
    ],
    4: [
        "%0 = fpowi %f, %i : tile<f32>, tile<i32>",
        "%0 = gdc_wait_tko -> token",
        "%0 = ftoi %f signed saturating : tile<f32> -> tile<i32>",
        "%0 = iota : tile<8xi32>\n  %1 = iota : tile<32xi32>\n"
        "  %2 = insert %0, %1[%i] : tile<8xi32>, tile<32xi32>",
    ],
}


@pytest.mark.parametrize(
    ("since", "line"), [(since, line) for since, lines in LATER.items() for line in lines]
)
def test_what_a_version_added_is_refused_before_it(since: int, line: str) -> None:
    older = Version(13, since - 1)
    said = refusal(body(line), older)
    assert (
        f"requires bytecode version 13.{since}+, but targeting {older}" in said
        or f"requires bytecode version 13.{since}+, targeting {older}" in said
        or f"is not available in bytecode version {older} (since 13.{since})" in said
    )
    write(body(line), Version(13, since))


@pytest.mark.parametrize(
    ("word", "name", "since"), [("f8E8M0FNU", "Float8E8M0FNU", 2), ("f4E2M1FN", "Float4E2M1FN", 3)]
)
def test_a_type_younger_than_the_version_is_named_as_the_reference_names_it(
    word: str, name: str, since: int
) -> None:
    older = Version(13, since - 1)
    line = f"%0 = constant <{word}: 1.0> : tile<8x{word}>"
    expected = f"cannot be written: type '{name}' requires bytecode version 13.{since}+, targeting {older}"
    assert expected in refusal(body(line), older)
    write(body(line), Version(13, since))


def generic(module: str) -> str:
    """The generic form, where values have no names of their own."""
    return re.sub(r"%[\w#]+", "%", print_op(parse_module(module), generic=True))


@pytest.mark.parametrize("line", [line for lines in LATER.values() for line in lines])
def test_what_a_version_added_comes_back(line: str) -> None:
    assert generic(through(body(line))) == generic(body(line))


def test_a_field_that_an_older_version_lacks_may_have_its_default() -> None:
    text = body("%0 = exp %f : tile<f32>", "%1 = negi %i : tile<i32>", "%2 = tanh %f : tile<f32>")
    for version in VERSIONS:
        assert generic(through(text, version)) == generic(text)


def test_a_token_of_print_tko_is_no_value_before_13_2() -> None:
    text = body(
        '%t = print_tko "%d", %i : tile<i32> -> token', "%1 = absi %i : tile<i32>", "%2 = absi %1 : tile<i32>"
    )
    assert "absi %1" in through(text, V1)
    used = body('%t = print_tko "" -> token', "%1 = join_tokens %t, %t : token")
    assert "is used, but version 13.1 of bytecode has none" in refusal(used, V1)
    write(used, V2)


def test_pow_is_written_as_fpowf() -> None:
    assert "fpowf %arg0, %arg0 : tile<f32>" in through(body("%0 = pow %f, %f : tile<f32>"), V1)


def test_globals_of_later_versions() -> None:
    private, constant = (
        "global private @g <i32: 7> : tile<1xi32>\n",
        "global constant @g <i32: 7> : tile<1xi32>\n",
    )
    assert "uses non-public symbol visibility" in refusal(private, V2)
    assert "the `constant` attribute requires bytecode 13.3+" in refusal(constant, V2)
    assert generic(through(private, V3)) == generic(private)
    assert generic(through(constant, V3)) == generic(constant)


def test_the_producer_is_written_since_13_3() -> None:
    text = 'cuda_tile.module @kernels attributes {producer = "me"} {\n}\n'
    assert through(text, V3) == text
    assert through(text, V2).strip() in ("", "module {\n}")


def test_hints_are_written_at_every_version() -> None:
    text = "entry @k() optimization_hints=<sm_90 = {num_cta_in_cga = 2, occupancy = 1}> {\n  return\n}\n"
    for version in VERSIONS:
        assert through(text, version) == text


@pytest.mark.parametrize(
    "value",
    [
        "<i1: true> : tile<i1>", "<i1: [true, false]> : tile<2xi1>", "<i1: true> : tile<64xi1>",
        "<i8: [1, -1]> : tile<2xi8>", "<i64: -9223372036854775808> : tile<i64>", "<f16: 1.500000e+00> : tile<4xf16>",
        "<tf32: 1.000000e+00> : tile<tf32>", "<f64: 0x7FF0000000000000> : tile<f64>",
        "<f8E5M2: [1.000000e+00, -2.000000e+00]> : tile<2xf8E5M2>",
    ],
)  # fmt: skip
def test_constants_come_back(value: str) -> None:
    assert f"constant {value}" in through(body(f"%0 = constant {value}"))


@pytest.mark.parametrize(
    ("kind", "identity"),
    [
        ("i8", "0 : i8"), ("i64", "-1"), ("i1", "true"), ("f32", "0xFF800000 : f32"),
        ("f64", "0xFFF0000000000000 : f64"),
        ("f16", "1.000000e+00 : f16"), ("bf16", "-0.000000e+00 : bf16"),
    ],
)  # fmt: skip
def test_identities_come_back(kind: str, identity: str) -> None:
    combine = "maxf" if "f" in kind else "andi"
    text = body(
        f"%y = reshape %s : tile<{kind}> -> tile<1x{kind}>",
        f"%z = broadcast %y : tile<1x{kind}> -> tile<8x{kind}>",
        f"%r = reduce %z dim=0 identities=[{identity}] : tile<8x{kind}> -> tile<{kind}>",
        f"(%a: tile<{kind}>, %b: tile<{kind}>) {{",
        f"  %c = {combine} %a, %b : tile<{kind}>",
        f"  yield %c : tile<{kind}>",
        "}",
        arguments=f"%s: tile<{kind}>",
    )
    assert f"identities=[{identity}]" in through(text)


def test_ops_of_other_dialects_have_no_place() -> None:
    text = "cuda_tile.module @m {\n  entry @k() {\n    %0 = arith.constant 1 : i32\n    return\n  }\n}\n"
    with collect() as said:
        assert "only ops from the 'cuda_tile' dialect are allowed; write bytecode before lowering" in refusal(
            text, V1
        )
    assert [d.message for d in said] == ["invalid op: arith.constant"]


def test_a_refusal_stands_at_the_program_around_the_op() -> None:
    inner = (
        "cuda_tile.module @m {\n    entry @k() {\n      %0 = arith.constant 1 : i32\n      return\n    }\n  }"
    )
    text = f"module {{\n  {inner}\n}}\n"
    with collect() as said, pytest.raises(DiagnosticError) as caught:
        write_bytecode(parse_module(text, "program.mlir"), V1)
    places = [one.location.start() for one in (*caught.value.diagnostics, *said) if one.location is not None]
    assert places == [("program.mlir", 2, 3), ("program.mlir", 4, 12)]


def test_only_kernels_and_globals_stand_in_a_program() -> None:
    text = "func.func @f() {\n  return\n}\n"
    with collect():
        assert "only function and global ops are allowed in the body" in refusal(text, V1)


def test_a_type_of_another_dialect() -> None:
    with pytest.raises(DiagnosticError) as failure:
        write_bytecode(parse_module("entry @k(%a: tensor<2xi16>) {\n}\n"))
    assert "unsupported type in bytecode writer: 'tensor<2xi16>'" in failure.value.diagnostics[0].message


def test_locations_that_bytecode_cannot_say() -> None:
    text = body('%0 = absi %i : tile<i32> loc("name"("x.py":1:2))')
    assert "unsupported location, got NameLoc, expected DILocAttr or CallSiteLoc" in refusal(text, V1)


@pytest.mark.parametrize(
    ("other", "op"),
    [("cuda_tile.module @b {\n}", "cuda_tile.module"), ("func.func private @g()", "func.func")],
)
def test_bytecode_is_of_one_program(other: str, op: str) -> None:
    assert refusal(f"cuda_tile.module @a {{\n}}\n{other}", V5) == (
        f"3:1: '{op}' op is not part of the program; bytecode contains a single 'cuda_tile.module'"
    )


def test_attributes_of_arguments_need_a_version_that_has_them() -> None:
    text = "entry @k(%a: tile<i32> {x.y = 1 : i32}) {\n  return\n}"
    assert refusal(text, Version(13, 4)) == (
        "1:1: 'cuda_tile.entry' op cannot be written: argument attributes require bytecode version 13.5+, but "
        "targeting 13.4"
    )
    write(text, V5)
