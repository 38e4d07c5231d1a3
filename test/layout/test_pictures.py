"""Pictures of layouts: each cell names the place that really holds the element, and the notes tell what is true."""

from __future__ import annotations

import random
import re
from collections import Counter
from xml.etree import ElementTree

import pytest

from tessera_tools.layout import (
    Access,
    LayoutError,
    LinearLayout,
    UsedBy,
    blocked,
    mma_m16n8_accumulator,
    mma_operand_b,
    picture,
    row_major,
    slice_dim,
    swizzled,
)

CELL = re.compile(r"T(\d+) r([\d,-]+)")


def numbers(text: str) -> list[int]:
    """`0-3` or `0,1,8,9`."""
    if "-" in text:
        first, last = map(int, text.split("-"))
        return list(range(first, last + 1))
    return list(map(int, text.split(",")))


@pytest.mark.parametrize(
    "layout",
    [
        mma_m16n8_accumulator((64, 64), (2, 2)),
        blocked((32, 64), (1, 8), (4, 8), (4, 1), (1, 0)),
        mma_operand_b((64, 32), 16, warps=(2, 2)),
    ],
    ids=["mma", "blocked", "operand"],
)
def test_each_cell_of_a_tile_names_the_thread_and_registers_that_hold_it(layout: LinearLayout) -> None:
    shown = picture(layout)
    run = layout.out_size("dim1") // len(shown.columns)
    assert len(shown.rows) == layout.out_size("dim0")
    for row, (name, cells) in enumerate(shown.rows):
        assert name == str(row)
        for column, cell in enumerate(cells):
            match = CELL.fullmatch(cell.label)
            assert match is not None
            thread = int(match[1])
            for at, register in enumerate(numbers(match[2])):
                place = layout.apply(register=register, lane=thread % 32, warp=thread // 32)
                assert place == {"dim0": row, "dim1": column * run + at}


def test_threads_without_registers_hold_their_element_in_one() -> None:
    shown = picture(LinearLayout({"lane": [(0, 1), (1, 0)]}, {"dim0": 2, "dim1": 2}))
    assert [cell.label for _, cells in shown.rows for cell in cells] == ["T0 r0", "T1 r0", "T2 r0", "T3 r0"]


def test_registers_in_a_row_are_a_range_and_a_whole_matrix_has_no_note() -> None:
    shown = picture(blocked((32, 64), (1, 8), (4, 8), (4, 1), (1, 0)))
    assert shown.rows[0][1][0].label == "T0 r0-7"
    assert not any("dimension" in note for note in shown.notes)


def test_copies_are_counted_and_the_first_is_shown() -> None:
    shown = picture(slice_dim(mma_m16n8_accumulator((16, 8), (1, 1)), 1))
    assert shown.rows[0][1][1].label == "T4 r0"
    assert shown.notes == ("4 places hold each element (lane bit 0, lane bit 1); the first is shown",)


def test_an_element_that_no_thread_holds_is_marked() -> None:
    layout = LinearLayout({"register": [(0, 1)], "lane": []}, {"dim0": 2, "dim1": 2})
    assert picture(layout).rows[1][1][0].label == "·"
    assert "no thread holds the elements marked ·" in picture(layout).notes


@pytest.mark.parametrize("mode", [0, 32, 64, 128])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_each_cell_of_a_buffer_names_the_element_at_its_byte(mode: int, bits: int) -> None:
    layout = swizzled((16, 128), bits, None, mode)
    shown = picture(layout, element_bits=bits)
    per_line = 1024 // bits
    run = per_line // len(shown.columns)
    for row, (name, cells) in enumerate(shown.rows):
        assert int(name) == row * 128
        for column, cell in enumerate(cells):
            found = layout.apply(offset=row * per_line + column * run)
            assert cell.label == f"{found['dim0']},{found['dim1']}"


def test_the_wavefronts_of_a_buffer_are_those_of_its_words() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    for _ in range(20):
        columns = list(range(11))
        chosen.shuffle(columns)
        # The 16-byte chunks of rows stay together; rows and chunks are in any order and with any xor.
        images = [1 << bit for bit in range(3)]
        rest = [1 << bit for bit in range(3, 11)]
        chosen.shuffle(rest)
        images += [image ^ chosen.choice([0, *rest[:at]]) for at, image in enumerate(rest)]
        layout = LinearLayout.from_columns([("offset", 2048)], [("dim1", 64), ("dim0", 32)], images)
        layout = layout.transpose_outs(["dim0", "dim1"])
        offset = {tuple(layout.apply(offset=at).values()): at for at in range(2048)}
        banks = Counter(
            word % 32 for word in {offset[row, column] // 2 for row in range(8) for column in range(8)}
        )
        note = picture(layout).notes[-1]
        assert note.startswith("8 chunks of 16 bytes along dim0, as ldmatrix reads: ")
        assert int(note.split(": ", 1)[1].split()[0]) == max(banks.values())


def test_chunks_stand_below_their_banks() -> None:
    """Each line of 128 bytes has the 32 banks again."""
    shown = picture(row_major((64, 64)))
    assert shown.columns[:2] == ("0-3", "4-7") and shown.columns[-1] == "28-31"
    for _, cells in shown.rows:
        assert [cell.title.rsplit("banks ", 1)[1] for cell in cells] == list(shown.columns)


def test_conflicts_are_told_by_access() -> None:
    load = UsedBy("%b = load", Access(mma_operand_b((64, 64), 16, warps=(2, 2)), "matrix"))
    good = picture(swizzled((64, 64), 16), used_by=[load])
    bad = picture(row_major((64, 64)), used_by=[load])
    assert good.notes == ("%b = load: matrices x4.trans, 4 wavefronts, no bank conflict",)
    assert bad.notes == ("%b = load: matrices x4.trans, 32 wavefronts instead of 4: 8-way bank conflict",)


def test_text_keeps_to_its_width_and_says_what_is_left_out() -> None:
    text = picture(mma_m16n8_accumulator((64, 64), (2, 2))).text(width=80, rows=4)
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "not shown: 60 of 64 rows and 27 of 32 columns" in lines


def test_svg_is_well_formed_and_shows_every_cell() -> None:
    shown = picture(swizzled((8, 64), 16), name='<b> "&')
    root = ElementTree.fromstring(shown.svg())
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {cell.label for _, cells in shown.rows for cell in cells} <= set(texts)
    assert any('<b> "&' in (text or "") for text in texts)


def test_the_label_of_a_cell_is_in_its_middle() -> None:
    root = ElementTree.fromstring(picture(swizzled((8, 64), 16)).svg())
    space = "{http://www.w3.org/2000/svg}"
    for group in root.iter(f"{space}g"):
        box, label = group.find(f"{space}rect"), group.find(f"{space}text")
        assert box is not None and label is not None
        middle = int(box.attrib["x"]) + int(box.attrib["width"]) / 2
        assert abs(int(label.attrib["x"]) - middle) <= 1


def test_a_large_tile_is_cut() -> None:
    shown = picture(blocked((1024, 1024), (1, 8), (4, 8), (4, 1), (1, 0)))
    assert sum(len(cells) for _, cells in shown.rows) <= 4096
    assert any(note.startswith("the picture shows ") for note in shown.notes)


def test_a_layout_that_is_no_buffer_is_refused() -> None:
    with pytest.raises(LayoutError, match="one offset for each element"):
        picture(LinearLayout({"offset": [(1,), (1,)]}, {"dim0": 2}))
