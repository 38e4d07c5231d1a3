"""What a layout conversion costs, in the words of remarks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Block
from tessera_tools.ir.types import F16, F32, F64, FloatType, RankedTensorType
from tessera_tools.layout import LinearLayout
from tessera_tools.passes.llvm.explain import conversion_cost
from tessera_tools.planning.shared_memory import PARTS
from tessera_tools.target import lookup

SM_80 = lookup("sm_80")


def layout(register: Sequence[int], lane: Sequence[int], warp: Sequence[int] = ()) -> LinearLayout:
    """Of a tile of one dimension, by the bits of the element's index that each input bit sets."""
    given = {"register": register, "lane": lane, "warp": warp, "block": ()}
    columns = {name: [(x,) for x in bits] for name, bits in given.items()}
    return LinearLayout(columns, [("dim0", 1 << len(register) + len(lane) + len(warp))])


def cost(src: LinearLayout, dst: LinearLayout, element: FloatType = F32, parts: int = 1) -> str:
    """The text of the conversion's cost on sm_80."""
    plain = RankedTensorType((dst.out_size("dim0"),), element)
    value = Block().add_argument(nv_tileas.with_layout(plain, src))
    op = nv_tileas.ConvertLayout(value, res=nv_tileas.with_layout(plain, dst))
    if parts > 1:
        op.attributes[PARTS] = i32(parts)
    return conversion_cost(op, SM_80)


LANES = [1, 2, 4, 8, 16]


def test_other_names_for_registers_cost_nothing():
    assert cost(layout([32, 64], LANES), layout([64, 32], LANES)) == ""


def test_selects_are_counted_by_register():
    """The lane's lowest bit moves its registers by one."""
    assert cost(layout([32], LANES), layout([32], [33, 2, 4, 8, 16])) == "2 selects per thread"


@pytest.mark.parametrize(("element", "count"), [(F16, 2), (F32, 2), (F64, 4)])
def test_shuffles_are_counted_by_words(element: FloatType, count: int):
    src, dst = layout([32], LANES), layout([32], [2, 1, 4, 8, 16])
    assert cost(src, dst, element) == f"{count} shuffles per thread"


def test_a_round_trip_names_its_bytes():
    src, dst = layout([128], LANES, [32, 64]), layout([1], [2, 4, 8, 16, 32], [64, 128])
    assert cost(src, dst) == "2 stores and 1 load per thread through 1024 bytes of shared memory"


def test_a_round_trip_in_parts_says_how_many():
    """The bit 256 is a register's in both layouts: each half of the tile goes through the same bytes."""
    src, dst = layout([256, 128], LANES, [32, 64]), layout([256, 1], [2, 4, 8, 16, 32], [64, 128])
    assert cost(src, dst, parts=2) == (
        "4 stores and 2 loads per thread through 1024 bytes of shared memory, in 2 parts"
    )
