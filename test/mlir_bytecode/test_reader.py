"""What the reader says of broken files: the byte, what was found, what was expected; and how much it takes for it."""

from __future__ import annotations

import tracemalloc

import pytest
from mlir_bytecode.handmade import (
    ATTRIBUTES,
    HAS_PROPERTIES,
    I32,
    NO_NAMES,
    OPERANDS,
    REGIONS,
    RESOURCE,
    RESULTS,
    SUCCESSORS,
    UNKNOWN,
    USE_LISTS,
    VERSIONS,
    file,
    module,
    section,
    varint,
)

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.printing import print_op
from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode
from tessera_tools.parser import parse_module

ALL = (0, True, UNKNOWN)
T_OP = varint(1, 1, 3 << 1)
"""The op name `t.op`, not registered, of the third string's dialect."""


def two_ops(**given: object) -> bytes:
    """A file with the op names `builtin.module` (0) and `t.op` (1)."""
    return file(
        texts=(b"builtin", b"t", b"module", b"op"),
        names=2,
        op_names=(varint(0, 1, 2 << 1 | 1), T_OP),
        properties=NO_NAMES,
        **given,  # type: ignore[arg-type]
    )


def refusal(data: bytes, *, allow_unregistered: bool = True) -> str:
    """The first error's message; its position is the byte that it names."""
    with pytest.raises(DiagnosticError) as failure:
        read_mlir_bytecode(data, "f.mlirbc", allow_unregistered=allow_unregistered)
    first = failure.value.diagnostics[0]
    place = first.location.start() if first.location is not None else None
    assert place is not None
    assert place[:2] == ("f.mlirbc", 1)
    prefix = f"malformed bytecode at byte {place[2] - 1}: "
    assert first.message.startswith(prefix)
    return first.message.removeprefix(prefix)


def text(data: bytes) -> str:
    return print_op(read_mlir_bytecode(data, "f.mlirbc", allow_unregistered=True), generic=True)


# -- the container


def test_an_empty_module() -> None:
    data = file(ops=module(varint(0)), op_names=(varint(0, 1, 1 << 1 | 1),), properties=NO_NAMES)
    assert text(data) == '"builtin.module"() ({\n^bb0:\n}) : () -> ()\n'


def test_a_file_that_is_no_bytecode() -> None:
    assert refusal(b"ML\xefX") == "invalid magic number; expected 'ML' EF 'R'"


def test_a_newer_version() -> None:
    assert (
        refusal(b"ML\xefR" + varint(7))
        == "bytecode version 7 is not supported; this reader supports versions 0 to 6"
    )


@pytest.mark.parametrize("size", range(4, 90))
def test_a_file_that_ends_too_early(size: int) -> None:
    whole = write_mlir_bytecode(parse_module("func.func @f(%a: i32) -> i32 { return %a : i32 }"))
    refusal(whole[:size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (file(more=b"\x09"), "unknown section ID: 9; expected 0 to 8"),
        (file(more=section(8, b"")), "duplicate top-level section: Properties"),
        (b"ML\xefR" + varint(6) + b"by hand\0", "missing data for top-level section: String"),
        (file(more=section(RESOURCE, b"")), "missing data for top-level section: ResourceOffset"),
        (
            file(more=b"\x85" + varint(0, 3)),
            "the alignment of the Resource section, 3, is not a power of two",
        ),
        (file(texts=(b"builtin",)), "invalid string index: 1; there are only 1"),
        (
            file(version=4, op_names=(varint(5, 1, 1),)),
            "invalid dialect index: 5; there are only 1",
        ),
        (file(attributes=[(3, True, UNKNOWN)]), "invalid dialect index: 3; there are only 1"),
        (file(properties=varint(1, 9)), "properties takes 9 bytes, but only 0 remain"),
        (file(properties=varint(0) + b"x"), "1 bytes follow the properties"),
    ],
)
def test_broken_sections(data: bytes, message: str) -> None:
    assert refusal(data) == message


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (varint(1, 9) + b"t\0", "a string of 9 bytes exceeds the 4 bytes of strings"),
        (varint(1, 0) + b"t\0", "a string has no room for its terminating zero byte"),
        (varint(1, 2) + b"t\0more", "unexpected data between the sizes of strings and their bytes"),
        (varint(1, 1) + b"t", "a string has no terminating zero byte"),
    ],
)  # fmt: skip
def test_broken_strings(strings: bytes, message: str) -> None:
    data = b"ML\xefR" + varint(6) + b"by hand\0" + section(0, strings) + section(1, varint(1, 0, 0))
    assert refusal(data).startswith(message)


def test_a_producer_without_its_end() -> None:
    assert refusal(b"ML\xefR" + varint(6) + b"by hand") == "the producer has no terminating zero byte"


def test_another_section_in_place_of_a_dialect_s_version() -> None:
    data = b"ML\xefR" + varint(6) + b"by hand\0"
    data += section(1, varint(1, 0 << 1 | 1) + section(RESOURCE, b"\1") + varint(0))
    data += section(0, varint(1, 5) + b"test\0")
    assert refusal(data) == "expected the version of dialect 'test', found section Resource"


def test_dialect_versions_are_refused() -> None:
    data = b"ML\xefR" + varint(6) + b"by hand\0"
    data += section(1, varint(1, 0 << 1 | 1) + section(VERSIONS, b"\1") + varint(0))
    data += section(0, varint(1, 5) + b"test\0")
    assert refusal(data) == "dialect 'test' has a version; none of the dialects here has versions"


# -- attributes and types


def op_with(attribute: int) -> bytes:
    """A `t.op` at the top with an attribute dictionary."""
    return varint(1) + bytes([ATTRIBUTES]) + varint(0, attribute)


def entries(*found: bytes, types: tuple[bytes, ...] = ()) -> bytes:
    """A file with an op whose attributes are entry 1; entry 0 is the unknown location."""
    return two_ops(
        attributes=[ALL, *((0, True, data) for data in found)],
        types=[(0, True, data) for data in types],
        ops=op_with(1),
    )


def dictionary(name: int, value: int) -> bytes:
    return varint(1, 1, name, value)


NAME = varint(2, 3)
"""The string attribute "op"."""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (entries(varint(19)), "dense elements that are strings are not supported; expected numbers"),
        (entries(varint(99)), "unknown attribute code 99 of dialect 'builtin'"),
        (entries(varint(1, 1, 2, 1), NAME), "attribute 1 contains itself"),
        (entries(dictionary(2, 3), NAME, varint(0, 1, 4), varint(0, 1, 3)), "attribute 3 contains itself"),
        (entries(dictionary(2, 9), NAME), "invalid attribute index: 9; there are only 3"),
        (entries(varint(7)), "expected a dictionary attribute, found 'unit'"),
        (entries(dictionary(0, 0)), "expected a string attribute, found 'loc(unknown)'"),
        (entries(varint(7, 7)), "1 unexpected bytes after the attribute"),
        (entries(varint(1, 2, 2, 0, 2, 0), NAME), "duplicate key 'op' in a dictionary attribute"),
        (entries(varint(1, 1000)), "1000 entries cannot fit in the 0 remaining bytes"),
        (
            entries(dictionary(2, 3), NAME, varint(8, 0) + b"\x80", types=(varint(0, 4 << 2),)),
            "an integer does not fit in 4 bits: 128",
        ),
        (
            entries(dictionary(2, 3), NAME, varint(8, 0) + b"\1", types=(varint(6),)),
            "expected an integer type, found 'f64'",
        ),
        (
            entries(dictionary(2, 3), NAME, varint(18, 0, 3) + b"abc", types=(varint(13, 1, 8, 1), I32)),
            "elements literal has 3 bytes, tensor<4xi32> needs 4 each",
        ),
        (
            entries(dictionary(2, 3), NAME, varint(17, 0, 2, 4) + b"abcd", types=(I32,)),
            "an array of 2 'i32' needs 8 bytes, found 4",
        ),
        (
            entries(dictionary(2, 3), NAME, varint(6, 0), types=(varint(9, 1), varint(12))),
            "invalid element type for complex: none",
        ),
        (entries(dictionary(2, 3), NAME, varint(6, 0), types=(varint(9, 0),)), "type 0 contains itself"),
        (
            entries(dictionary(2, 3), NAME, varint(6, 0), types=(varint(19, 1, 3, 1), I32)),
            "an extent is negative: -2",
        ),
        (
            entries(dictionary(2, 3), NAME, varint(16, 0, 0), types=(varint(13, 0, 1), I32)),
            "invalid resource index: 0; there are only 0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_entries(data: bytes, message: str) -> None:
    assert refusal(data) == message


def test_text_that_does_not_parse_has_its_place_in_the_file() -> None:
    data = two_ops(attributes=[ALL, (0, False, b"{a = affine_map<(d0) -> (d1)>}\0")], ops=op_with(1))
    with pytest.raises(DiagnosticError) as failure:
        read_mlir_bytecode(data, "f.mlirbc", allow_unregistered=True)
    start = failure.value.diagnostics[0].location.start()  # type: ignore[union-attr]
    assert start is not None
    assert data[start[2] - 1 :].startswith(b"d1)>}")


def test_attributes_of_dialects_that_are_not_allowed() -> None:
    data = two_ops(attributes=[ALL, (1, False, b"#t.a\0")], ops=op_with(1))
    message = refusal(data, allow_unregistered=False)
    assert message == "op 't.op' has unregistered dialect 't'; use --allow-unregistered-dialect to allow it"


def test_deep_nesting_is_refused() -> None:
    chain = [varint(0, 1, number + 1) for number in range(3, 400)]
    assert "nest deeper than 256 levels" in refusal(entries(dictionary(2, 3), NAME, *chain, varint(7)))


def test_what_grows_when_it_is_written_out_is_refused() -> None:
    """Forty arrays that each contain the next one twice."""
    chain = [varint(0, 2, number + 1, number + 1) for number in range(3, 43)]
    message = refusal(entries(dictionary(2, 3), NAME, *chain, varint(7)))
    assert message.endswith("characters when it is written out")


# -- operations


def top(*parts: bytes, count: int = 1, types: tuple[bytes, ...] = (I32,), **given: object) -> bytes:
    """A file with ops at the top."""
    return two_ops(ops=b"".join(parts), count=count, types=[(0, True, data) for data in types], **given)


def op(mask: int, *numbers: int, more: bytes = b"") -> bytes:
    return varint(1) + bytes([mask]) + varint(0, *numbers) + more


def in_region(values: int, *ops: bytes) -> bytes:
    """A `t.op` at the top whose region has these ops."""
    return op(REGIONS, 1 << 1) + varint(1, values, len(ops) << 1) + b"".join(ops)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (top(varint(9, 0, 0)), "invalid operation name index: 9; there are only 2"),
        (top(op(0x80)), "unknown parts of an operation: mask 0x80"),
        (top(op(0, more=b"\1")), "1 unexpected bytes after the top-level operations"),
        (top(op(0), count=1000), "1000 operations cannot fit in the 3 remaining bytes"),
        (top(op(OPERANDS, 1, 0)), "invalid value index: 0; there are only 0"),
        (top(op(RESULTS, 1000)), "1000 results cannot fit in the 0 remaining bytes"),
        (top(op(SUCCESSORS, 1, 5)), "invalid successor index: 5; there are only 1"),
        (top(op(REGIONS, 1000 << 1)), "1000 regions cannot fit in the file"),
        (top(op(REGIONS, 1 << 1) + varint(1000)), "1000 blocks cannot fit in the file"),
        (top(op(REGIONS, 1 << 1) + varint(1, 1000)), "1000 values cannot fit in the file"),
        (top(op(REGIONS, 1 << 1 | 1, more=section(0, b""))), "expected a section with regions, found String"),
        (
            top(op(REGIONS, 1 << 1 | 1, more=section(4, varint(0, 9)))),
            "1 unexpected bytes after the regions of an operation",
        ),
        (top(in_region(0, op(RESULTS, 1, 0))), "values 0 to 0 are defined, but the region has only 0 in all"),
        (top(in_region(1, op(OPERANDS, 1, 0))), "a value is used in a region, but not defined there"),
        (top(op(USE_LISTS)), "an order of uses, but there are no values"),
        (
            top(in_region(1, op(RESULTS | USE_LISTS, 1, 0, 2 << 1, 0, 1))),
            "not an order of the 0 uses of a value: [0, 1]",
        ),
        (top(op(HAS_PROPERTIES, 9)), "invalid properties index: 9; there are only 1"),
        (top(varint(0) + b"\0" + varint(0)), "'builtin.module' has no properties; expected them"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_operations(data: bytes, message: str) -> None:
    assert refusal(data) == message


def test_an_operand_may_be_defined_later() -> None:
    data = top(in_region(2, op(RESULTS | OPERANDS, 1, 0, 1, 1), op(RESULTS, 1, 0)))
    assert '%0 = "t.op"(%1) : (i32) -> i32\n    %1 = "t.op"() : () -> i32' in text(data)


def test_regions_that_nest_too_deeply() -> None:
    data = op(0)
    for _ in range(300):
        data = in_region(0, data)
    assert refusal(top(data)) == "regions nest deeper than 256 levels"


def test_ops_that_the_verifier_refuses_have_their_byte() -> None:
    module = parse_module("func.func @f(%a: i32) -> i32 { return %a : i32 }")
    module.regions[0].block.first_op.regions[0].block.last_op.set_operands([])  # type: ignore[union-attr]
    with pytest.raises(DiagnosticError) as failure:
        read_mlir_bytecode(write_mlir_bytecode(module), "f.mlirbc")
    first = failure.value.diagnostics[0]
    assert first.message == "'func.return' op has 0 operands, but enclosing function (@f) returns 1"
    assert any(note.message.startswith("the operation is at byte ") for note in first.notes)


def test_properties_whose_encoding_is_not_known_are_refused() -> None:
    """`tensor.pad`, which its producer registered, and which is not declared here."""
    data = file(
        texts=(b"builtin", b"tensor", b"module", b"pad"),
        names=2,
        op_names=(varint(0, 1, 2 << 1 | 1), varint(1, 1, 3 << 1 | 1)),
        properties=varint(1, 1) + b"\1",
        ops=op(HAS_PROPERTIES, 0),
    )
    assert refusal(data).startswith(
        "the properties of 'tensor.pad' are encoded as its producer declares them, which is not known here"
    )


def test_properties_of_another_release_are_refused() -> None:
    """Its ops may have other properties, in another order."""
    data = file(ops=module(varint(0)), properties=NO_NAMES, producer=b"MLIR21.1.0")
    assert refusal(data).startswith(
        "the properties of 'builtin.module' are encoded as its producer, 'MLIR21.1.0', declares them; only those of "
        "MLIR 22 are known"
    )


def test_small_files_take_little_memory() -> None:
    """Counts of everything that the bytes that follow could hold."""
    filler = bytes(100_000)
    deep = b"".join(op(REGIONS, 20_000 << 1) + varint(20_000, 20_000, 1 << 1) for _ in range(100))
    tracemalloc.start()
    refusal(top(deep + filler))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20
