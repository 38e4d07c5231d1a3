"""What the reader says of broken files: the byte, what was found, what was expected; and how much it takes for it."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from bytecode.handmade import (
    CONSTANT,
    DEBUG,
    FUNCTION,
    GLOBAL,
    I1,
    I32,
    NO_ARGUMENTS,
    PRODUCER,
    RETURN,
    STRING,
    TYPE,
    file,
    kernel,
    table,
    varint,
)

from tessera_tools.bytecode import read_bytecode
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile import OverflowAttr
from tessera_tools.dialects.cuda_tile.bytecode_numbers import ATTRIBUTE_TAGS as TAGS
from tessera_tools.ir.printing import print_op

HERE = Path(__file__).parents[1]


def refusal(data: bytes) -> tuple[str, int]:
    """The first error's message and the byte that its position names."""
    with pytest.raises(DiagnosticError) as failure:
        read_bytecode(data, "f.tileirbc")
    first = failure.value.diagnostics[0]
    place = first.location.start() if first.location is not None else None
    assert place is not None
    assert place[:2] == ("f.tileirbc", 1)
    return first.message, place[2] - 1


def text(data: bytes) -> str:
    return print_op(read_bytecode(data, "f.tileirbc"))


# -- the container


def test_an_empty_kernel() -> None:
    assert text(kernel(RETURN)) == "entry @k() {\n  return\n}\n"


def test_a_file_that_is_no_bytecode() -> None:
    message, at = refusal(b"\x7fTileXR\x00" + bytes(20))
    assert message == "malformed bytecode at byte 5: invalid magic number; expected 7F 'TileIR' 00"
    assert at == 5


@pytest.mark.parametrize(("major", "minor"), [(12, 9), (13, 0), (13, 6), (18, 0), (255, 255)])
def test_versions_that_are_not_supported(major: int, minor: int) -> None:
    message, at = refusal(file({STRING: table([], 4)}, minor, major))
    assert (
        f"unsupported Tile version {major}.{minor}.0, this reader supports versions [13.1 - 13.5]" in message
    )
    assert at == 8


def test_preview_features_are_refused() -> None:
    message, at = refusal(file({STRING: table([], 4)}, tag=1))
    assert "preview features, which have no stable encoding" in message
    assert at == 10


def test_an_unknown_tag_of_a_version() -> None:
    assert "unsupported Tile version 13.1.4" in refusal(file({STRING: table([], 4)}, tag=4))[0]


def test_an_unknown_section() -> None:
    message, at = refusal(file({100: b""}))
    assert "unknown section ID: 100" in message
    assert at == 12


def test_a_section_that_stands_twice() -> None:
    once = file({GLOBAL: b"\0"})
    message, at = refusal(once[:-1] + once[12:])
    assert "a second global section" in message
    assert at == 15


def test_a_section_longer_than_the_file() -> None:
    message, _ = refusal(file({})[:-1] + bytes([GLOBAL]) + varint(1 << 40))
    assert "the global section takes 1099511627776 bytes, but only 0 remain" in message


def test_bytes_behind_the_end() -> None:
    assert "end section is not the last section: 3 bytes follow" in refusal(kernel(RETURN) + b"abc")[0]


def test_a_section_without_the_alignment_that_it_needs() -> None:
    data = file({})[:-1] + bytes([TYPE]) + varint(1, 0) + b"\0"
    assert "the type section must be aligned to 4 bytes, found 1" in refusal(data)[0]


def test_an_alignment_that_is_no_power_of_two() -> None:
    data = file({})[:-1] + bytes([GLOBAL | 0x80]) + varint(1, 3)
    assert "the alignment of the global section, 3, is not a power of two" in refusal(data)[0]


def test_a_file_without_strings() -> None:
    assert "no string section" in refusal(file({TYPE: table([], 4)}))[0]


def test_every_prefix_of_a_file_is_refused_with_its_byte() -> None:
    data = (HERE / "cutile/13.3/gathers.tileirbc").read_bytes()
    for size in range(0, len(data), 7):
        assert "byte" in refusal(data[:size])[0]


# -- tables


def test_a_table_whose_starts_run_backwards() -> None:
    strings = varint(2) + b"\xcb\xcb\xcb" + (4).to_bytes(4, "little") + (1).to_bytes(4, "little") + b"abcdef"
    sections = {FUNCTION: varint(1, 0, 0, 2, 0, 0), STRING: strings}
    assert "entry 0 of the strings ends before it starts or outside the section" in refusal(file(sections))[0]


def test_a_count_that_the_file_cannot_hold() -> None:
    message, _ = refusal(file({STRING: varint(1 << 50)}))
    assert "strings cannot fit in the 0 remaining bytes" in message


def test_a_string_that_is_no_utf8() -> None:
    sections = {FUNCTION: varint(1, 0, 0, 2, 0, 0), STRING: table([b"\xff\xfe"], 4)}
    assert "string 0 is not UTF-8" in refusal(file(sections))[0]


@pytest.mark.parametrize("index", [1, 2])
def test_a_string_that_is_not_there(index: int) -> None:
    sections = {FUNCTION: varint(1, index, 0, 2, 0, 0), STRING: table([b"k"], 4)}
    assert f"string {index} is out of range: there are only 1" in refusal(file(sections))[0]


def test_a_type_that_contains_itself() -> None:
    loop = b"\x10" + varint(1, 4, 0)
    data = kernel(varint(58, 4) + RETURN, types=[loop])
    assert "contains itself" in refusal(data)[0]


def test_a_type_that_the_dialect_refuses() -> None:
    three = b"\x0d" + varint(1, 1) + (3).to_bytes(8, "little")
    assert (
        "all dimensions must be powers of two, got 3"
        in refusal(kernel(varint(58, 4) + RETURN, types=[three]))[0]
    )


def test_an_unknown_type_tag() -> None:
    assert "unknown type tag 99" in refusal(kernel(varint(58, 4) + RETURN, types=[b"\x63"]))[0]


@pytest.mark.parametrize(
    ("tag", "name", "since"),
    [
        (b"\x12", "Float8E8M0FNU", 2),
        (b"\x13", "Float4E2M1FN", 3),
        (b"\x14", "GatherScatterView", 3),
        (b"\x15", "StridedView", 3),
        (b"\x16", "i4", 3),
        (b"\x82\x01", "fnv8E5M3FNU", 4),
    ],
)
def test_a_type_younger_than_the_file(tag: bytes, name: str, since: int) -> None:
    message, _ = refusal(kernel(varint(58, 4) + RETURN, types=[tag], minor=since - 1))
    assert f"type '{name}' requires bytecode version 13.{since}+, file version is 13.{since - 1}" in message


def test_a_view_of_a_0d_array_names_the_frontend_s_construct() -> None:
    tensor = b"\x0e" + varint(1, 0, 0)
    view = b"\x0f" + varint(0, 4, 0, 0)
    with pytest.raises(DiagnosticError) as failure:
        read_bytecode(kernel(varint(66, 5, 0), types=[tensor, view]))
    (only,) = failure.value.diagnostics
    assert only.message.endswith("0-dimension tile shape is not supported")
    assert "load or store of a 0-d array" in only.notes[0].message


def test_an_unsigned_floor_division_names_the_frontend_s_construct() -> None:
    data = kernel(varint(16, 2, 0) + varint(21, 2, 0, 2, 0, 0) + RETURN, constants=[varint(4, 1, 0, 0, 0)])
    with pytest.raises(DiagnosticError) as failure:
        read_bytecode(data)
    (only,) = failure.value.diagnostics
    assert "rounding mode 'negative_inf' is not allowed with 'unsigned' flag" in only.message
    assert "`x // y` on unsigned tiles" in only.notes[0].message


# -- operations


def test_an_unknown_opcode() -> None:
    message, at = refusal(kernel(varint(300)))
    assert "unknown opcode 300" in message
    assert kernel(varint(300))[at : at + 2] == varint(300)


@pytest.mark.parametrize(
    ("opcode", "word", "since"),
    [(110, "atan2", 2), (111, "pack", 3), (118, "insert", 4), (125, "multimem_store_view_tko", 5)],
)
def test_an_opcode_younger_than_the_file(opcode: int, word: str, since: int) -> None:
    message, _ = refusal(kernel(varint(opcode), minor=since - 1))
    assert (
        f"opcode {opcode} ('{word}') was added in 13.{since}, but the file has version 13.{since - 1}"
        in message
    )


def test_an_opcode_of_a_preview_feature() -> None:
    assert "belongs to a preview feature" in refusal(kernel(varint(16386), minor=5))[0]


@pytest.mark.parametrize("opcode", [22, 49, 75])
def test_an_op_that_has_a_section_of_its_own(opcode: int) -> None:
    assert "is not allowed in a function" in refusal(kernel(varint(opcode)))[0]


@pytest.mark.parametrize("number", [7, 200])
def test_a_value_that_is_not_defined(number: int) -> None:
    data = kernel(varint(1, 2, number))
    message, place = refusal(data)
    assert "use of an undefined value; there are 0" in message
    assert data[: place + 1].endswith(varint(1, 2, number))


def test_a_value_of_a_region_is_unknown_outside() -> None:
    body = varint(58, 4)  # value 0: iota
    body += varint(65, 0, 0, 1, 1, 0, 2) + varint(1, 2, 0) + varint(10, 0, 0)  # loop { absi; break }
    body += varint(1, 2, 1)
    assert (
        "use of an undefined value; there are 1"
        in refusal(kernel(body, types=[b"\x0d" + varint(1, 1) + (8).to_bytes(8, "little")]))[0]
    )


def test_a_case_that_an_enumeration_lacks() -> None:
    assert "9 is not a case of cuda_tile.overflow" in refusal(kernel(varint(3, 2, 9, 0, 0)))[0]


def test_the_first_number_behind_an_enumeration() -> None:
    cases = len(OverflowAttr.cases)
    message = refusal(kernel(varint(3, 2, cases, 0, 0)))[0]
    assert f"{cases} is not a case of cuda_tile.overflow; expected less than {cases}" in message


def test_an_empty_block() -> None:
    assert "a block has no operations" in refusal(kernel(varint(65, 0, 0, 1, 1, 0, 0)))[0]


def test_a_wrong_number_of_regions() -> None:
    assert "'cuda_tile.loop' has 1 regions, found 5" in refusal(kernel(varint(65, 0, 0, 5)))[0]


def test_regions_that_nest_without_end_are_refused_quickly() -> None:
    body = varint(65, 0, 0, 1, 1, 0, 1) * 5000
    begin = time.perf_counter()
    assert "regions nest deeper than 1000 levels" in refusal(kernel(body))[0]
    assert time.perf_counter() - begin < 2


def test_a_constant_of_the_wrong_size() -> None:
    data = kernel(varint(16, 2, 0) + RETURN, constants=[varint(3) + b"abc"])
    assert "takes 4 or 4 bytes, found 3" in refusal(data)[0]


def test_what_the_verifier_refuses_names_the_byte() -> None:
    data = kernel(varint(58, 2) + RETURN)  # iota of rank 0
    with pytest.raises(DiagnosticError) as failure:
        read_bytecode(data, "f.tileirbc")
    (only,) = failure.value.diagnostics
    assert "expects result type to be 1-d tile" in only.message
    at = data.index(varint(58, 2))
    assert [note.message for note in only.notes] == [f"the operation is at byte {at}"]


def test_a_function_that_is_no_kernel() -> None:
    data = bytearray(kernel(RETURN))
    data[data.index(varint(1, 0, 3, 2)) + 3] = 0
    assert "function 'k' is not a kernel; only kernels are supported" in refusal(bytes(data))[0]


# -- debug information


def debug(entries: list[bytes], indices: list[int]) -> bytes:
    """A debug section for one function."""
    head = varint(1) + b"\xcb" * 3 + bytes(4) + varint(len(indices))
    head += b"\xcb" * (-len(head) % 8) + b"".join(i.to_bytes(8, "little") for i in indices)
    inner = varint(len(entries))
    inner += b"\xcb" * (-(len(head) + len(inner)) % 4)
    start = 0
    for entry in entries:
        inner += start.to_bytes(4, "little")
        start += len(entry)
    return head + inner + b"".join(entries)


def located(entries: list[bytes], indices: list[int]) -> bytes:
    """An empty kernel with debug information."""
    body = RETURN
    return file({
        FUNCTION: varint(1) + varint(0, 1, 2, 1) + varint(len(body)) + body,
        DEBUG: debug(entries, indices),
        TYPE: table([b"\x00", b"\x10" + varint(0, 0)], 4),
        STRING: table([b"k", b"k.py", b"/src"], 4),
    })  # fmt: skip


GOOD = [varint(2, 1, 2), varint(1, 1), varint(5, 1, 3, 0, 0, 2, 3), varint(4, 3, 1, 4, 2)]


def test_positions_with_scopes() -> None:
    shown = print_op(read_bytecode(located(GOOD, [4, 4])), debuginfo=True)
    assert "di_subprogram<file = " in shown
    assert 'loc("k.py":4:2)' in shown


@pytest.mark.parametrize(
    ("entries", "indices", "message"),
    [
        (GOOD, [4], "debug index 1 is out of range: there are only 1"),
        (GOOD, [9, 9], "debug attribute 9 is out of range: there are only 4"),
        (GOOD, [1, 1], "debug attribute 1 is not a position of an operation"),
        ([varint(3, 1, 1, 1, 1)], [1, 1], "contains itself"),
        ([varint(6, 1, 1)], [1, 1], "contains itself"),
        ([varint(77)], [1, 1], "unknown debug tag 77"),
        ([*GOOD[:3], varint(4, 1, 1, 4, 2)], [4, 4], "expected a subprogram or a lexical block"),
    ],
)
def test_broken_debug_information(entries: list[bytes], indices: list[int], message: str) -> None:
    assert message in refusal(located(entries, indices))[0]


# -- globals and the producer


def test_a_producer_keeps_the_module() -> None:
    sections = {PRODUCER: varint(0), STRING: table([b"some compiler"], 4)}
    assert (
        text(file(sections, 3)) == 'cuda_tile.module @kernels attributes {producer = "some compiler"} {\n}\n'
    )


def test_globals_of_both_forms() -> None:
    parts = {
        CONSTANT: table([varint(4) + bytes([7, 0, 0, 0])], 8),
        TYPE: table([b"\x03", b"\x0d" + varint(0, 1) + (1).to_bytes(8, "little")], 4),
        STRING: table([b"g"], 4),
    }
    old = file({GLOBAL: varint(1, 0, 1, 0, 16), **parts})
    new = file({GLOBAL: varint(1, 0, 1, 0, 16, 1, 1), **parts}, 3)
    assert text(old).split() == ["global", "@g", "alignment", "=", "16", "<i32:", "7>", ":", "tile<1xi32>"]
    assert text(new).split() == [
        *["global", "private", "constant", "@g", "alignment", "=", "16", "<i32:", "7>", ":"],
        "tile<1xi32>",
    ]


# -- one broken number each


def with_function(*numbers: int, minor: int = 1) -> bytes:
    """A file whose only function begins with these numbers."""
    tables = {TYPE: table([I1, NO_ARGUMENTS], 4), STRING: table([b"k", b""], 4)}
    return file({FUNCTION: varint(1, *numbers) + bytes(8), **tables}, minor)


def with_global(*numbers: int) -> bytes:
    """A file whose only global has these numbers."""
    types = [I32, b"\x0d" + varint(0, 1) + (1).to_bytes(8, "little")]
    parts = {CONSTANT: table([varint(4) + bytes(4)], 8), TYPE: table(types, 4), STRING: table([b"g", b""], 4)}
    return file({GLOBAL: varint(1, *numbers), **parts}, 3)


def with_type(*parts: bytes) -> bytes:
    """A kernel whose type 4, and others behind it, are these; type 4 is used."""
    return kernel(varint(58, 4) + RETURN, types=list(parts))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda: file({})[:-1] + b"\x80", "the end section must not be aligned"),
        (lambda: file({})[:-1] + bytes([TYPE | 0x80]) + varint(0, 64), "unexpected end of data in padding"),
        (lambda: file({})[:-1] + bytes([GLOBAL]) + b"\xff", "unexpected end of data in a variable-length integer"),
        (lambda: file({})[:-1] + bytes([GLOBAL]) + b"\xff" * 11, "a variable-length integer has more than 64 bits"),
        (lambda: file({TYPE: table([], 4)}), "the file has no string section"),
        (lambda: with_function(1, 1, 2, 0), "the name of a function is empty"),
        (lambda: with_function(0, 0, 2, 0), "the signature of function 'k' is not a function type, but 'i1'"),
        (lambda: with_function(0, 1, 0x42, 0), "unknown flags 0x42 of function 'k'"),
        (lambda: with_global(1, 1, 0, 0, 0, 0), "the name of a global is empty"),
        (lambda: with_global(0, 1, 0, 0, 9, 0), "9 is not a symbol visibility"),
        (lambda: with_global(0, 0, 0, 0, 0, 0), "a constant must be a tile, not 'i32'"),
        (lambda: with_type(b"\x0f" + varint(0, 1, 0, 0)), "expected a tensor_view, found 'i32'"),
        (lambda: with_type(b"\x0f" + varint(0, 5, 0, 7), b"\x0e" + varint(1, 0, 0)),
         "expected 0 or 1 before an optional padding value, found 7"),
        (lambda: with_type(b"\x0f" + varint(1) + b"\xff\xff\xff\x7f"), "array contains unsupported value 2147483647"),
        (lambda: kernel(varint(16, 5, 0) + RETURN, types=[b"\x0c" + varint(1), b"\x0d" + varint(4, 0)],
                        constants=[varint(0)]),
         "a constant must have numeric elements, not '!cuda_tile.ptr<i32>'"),
    ],
)  # fmt: skip
def test_refused_bytes(data: Callable[[], bytes], message: str) -> None:
    assert refusal(data())[0].partition(": ")[2] == message


@pytest.mark.parametrize(
    ("tagged", "message"),
    [
        (varint(99), "unknown attribute tag 99"),
        (varint(TAGS["array"], 1) * 70, "attributes nest deeper than 64 levels"),
        (varint(TAGS["integer"], 1), "expected an integer type, found '() -> ()'"),
        (varint(TAGS["float"], 0), "expected a floating-point type, found 'i1'"),
        (varint(TAGS["dense_elements"], 0), "expected a tile type, found 'i1'"),
        (varint(TAGS["dictionary"], 1, 1), "invalid empty attribute name for DictionaryAttr element 0"),
        (varint(TAGS["dictionary"], 2, 0, TAGS["bool"], 1, 0),
         "the key 'k' appears twice in a dictionary"),
        (varint(TAGS["bool"], 1), "expected the optimization hints of function 'k', found 'true'"),
    ],
)  # fmt: skip
def test_refused_attributes(tagged: bytes, message: str) -> None:
    data = with_function(0, 1, 2, 0, *tagged, minor=5)
    assert refusal(data)[0].partition(": ")[2] == message


# -- bounds

WIDE_I1 = b"\x0d" + varint(0, 1) + (1 << 24).to_bytes(8, "little")
"""tile<16777216xi1>"""


@pytest.mark.parametrize(
    "broken",
    [
        lambda: file({STRING: varint((1 << 63) - 1)}),
        lambda: file({STRING: table([], 4), CONSTANT: varint(1 << 60)}),
        lambda: file({STRING: table([], 4), DEBUG: varint(1 << 40)}),
        lambda: kernel(varint(58, 4) + RETURN, types=[b"\x0d" + varint(1, 1 << 50)]),
        lambda: kernel(varint(60, 1 << 30)),
        lambda: kernel(varint(16, 4, 0) + RETURN, types=[WIDE_I1], constants=[varint(1 << 40)]),
    ],
)  # fmt: skip
def test_huge_counts_take_no_memory(broken: Callable[[], bytes]) -> None:
    data = broken()
    tracemalloc.start()
    refusal(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20
