"""The layout of a tile of bytes that changes its axis in shared memory: words of both axes, if the tile is permuted and
reshaped on its way."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.nv_tileas import SharedAttr
from tessera_tools.layout import blocked, swizzled
from tessera_tools.layout.access import vector_cost
from tessera_tools.parser import parse_module
from tessera_tools.planning.transposition import _boxes, transposing_layout

ROWS = (
    "[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [1, 16], [2, 32], [4, 64], [8, 0], [16, 0], "
    "[32, 0], [64, 0]"
)
"""128 rows of 128 bytes, swizzled by 128 bytes."""
COLUMNS = ", ".join(f"[{b}, {a}]" for a, b in (pair.split(", ") for pair in ROWS[1:-1].split("], [")))


def stored(
    source: str,
    shape: str,
    moves: str,
    target: str = COLUMNS,
    uses: str = "",
    loaded: str = "",
    tile: str = "128x128",
) -> nv_tileas.Store:
    """The store of a tile to a buffer of 128x128 bytes, after some ops on all or a part of another buffer."""
    loaded = loaded or shape
    module = parse_module(
        f"""
module {{
  nv_tileaa.func @f(%a: !nv_tileas.smem<1x{shape}xf8E4M3FN, #nv_tileas.shared<{{offset = [{source}]}}>>,
                    %b: !nv_tileas.smem<1x128x128xf8E4M3FN, #nv_tileas.shared<{{offset = [{target}]}}>>) {{
    %zero = arith.constant 0 : i32
    %0 = nv_tileas.load %a[%zero] offsets = [{", ".join("0" * len(shape.split("x")))}]
      {{atom = #cute.copy_atom<sm75_ldmatrix_x4_f8E4M3FN>}}
      : !nv_tileas.smem<1x{shape}xf8E4M3FN, #nv_tileas.shared<{{offset = [{source}]}}>> -> tensor<{loaded}xf8E4M3FN>
    {moves}
    nv_tileas.store %1, %b[%zero] offsets = [0, 0] {{atom = #cute.copy_atom<sm80_sts_8_f8E4M3FN>}}
      : tensor<{tile}xf8E4M3FN>, !nv_tileas.smem<1x128x128xf8E4M3FN, #nv_tileas.shared<{{offset = [{target}]}}>>
    {uses}
    nv_tileaa.return
  }}
}}
""",
        "kernel.mlir",
    )
    return next(op for op in module.walk() if isinstance(op, nv_tileas.Store))


def reshaped(shape: str, to: str = "128x128", source: str = "0", name: str = "1") -> str:
    return f"%{name} = nv_tileaa.reshape %{source} : tensor<{shape}xf8E4M3FN> -> tensor<{to}xf8E4M3FN>\n    "


BATCH = ROWS.replace("[", "[0, ")


@pytest.mark.parametrize(
    "source, shape, moves",
    [
        (BATCH, "1x128x128", reshaped("1x128x128")),
        (
            BATCH,
            "1x128x128",
            reshaped("1x128x128", "128x1x128", name="2") + reshaped("128x1x128", source="2"),
        ),
    ],
    ids=["reshaped", "reshaped twice"],
)
def test_a_tile_has_words_of_both_axes(source: str, shape: str, moves: str) -> None:
    store = stored(source, shape, moves)
    layout = transposing_layout(store, 8)
    assert layout is not None
    target = store.buffer.type.layout
    assert target is not None
    # 16 KB take 128 wavefronts of 128 bytes.
    assert vector_cost(layout, target.layout, 8).total <= 256


def test_words_of_32_bits_change_their_axis_without_bank_conflicts() -> None:
    """From rows of 128 floats along N to rows of 32 floats along K, both swizzled by 128 bytes."""
    rows = SharedAttr(swizzled((32, 128), 32))
    columns = SharedAttr(swizzled((32, 128), 32, (0, 1)))
    module = parse_module(
        f"""
nv_tileaa.func @f(%a: !nv_tileas.smem<1x32x128xtf32, {rows}>, %b: !nv_tileas.smem<1x32x128xtf32, {columns}>) {{
  %zero = arith.constant 0 : i32
  %0 = nv_tileas.load %a[%zero] offsets = [0, 0] {{atom = #cute.copy_atom<sm80_lds_32_tf32>}}
    : !nv_tileas.smem<1x32x128xtf32, {rows}> -> tensor<32x128xtf32>
  nv_tileas.store %0, %b[%zero] offsets = [0, 0] {{atom = #cute.copy_atom<sm80_sts_32_tf32>}}
    : tensor<32x128xtf32>, !nv_tileas.smem<1x32x128xtf32, {columns}>
  nv_tileaa.return
}}
""",
        "kernel.mlir",
    )
    store = next(op for op in module.walk() if isinstance(op, nv_tileas.Store))
    layout = transposing_layout(store, 4)
    assert layout is not None
    # 16 KB take 128 wavefronts of 128 bytes, 32 of each of four warps.
    assert [vector_cost(layout, memory.layout, 32).total for memory in (rows, columns)] == [32, 32]


def test_a_tile_that_keeps_its_axis_has_no_such_layout() -> None:
    assert transposing_layout(stored(BATCH, "1x128x128", reshaped("1x128x128"), ROWS), 8) is None


def test_a_tile_that_others_use_has_no_such_layout() -> None:
    others = reshaped("128x128", "1x128x128", "1", "3").strip()
    assert transposing_layout(stored(BATCH, "1x128x128", reshaped("1x128x128"), uses=others), 8) is None


@pytest.mark.parametrize(
    "loaded, tile, moves",
    [
        ("1x128x64", "128x64", reshaped("1x128x64", "128x64")),
        ("1x64x128", "64x128", reshaped("1x64x128", "64x128")),
    ],
    ids=["columns", "rows"],
)
def test_a_part_of_a_tile_has_words_of_both_axes(loaded: str, tile: str, moves: str) -> None:
    store = stored(BATCH, "1x128x128", moves, loaded=loaded, tile=tile)
    layout = transposing_layout(store, 8)
    assert layout is not None
    sizes = [dict(layout.outs)[f"dim{axis}"] for axis in range(2)]
    assert sizes == [int(size) for size in tile.split("x")]


def test_a_part_that_is_permuted_has_words_of_both_axes() -> None:
    turned = (
        "%2 = nv_tileaa.permute %0 [0, 2, 1] : tensor<1x128x64xf8E4M3FN> -> tensor<1x64x128xf8E4M3FN>\n    "
    )
    moves = turned + reshaped("1x64x128", "64x128", source="2")
    store = stored(BATCH, "1x128x128", moves, ROWS, loaded="1x128x64", tile="64x128")
    layout = transposing_layout(store, 8)
    assert layout is not None
    assert dict(layout.outs) == {"dim0": 64, "dim1": 128}


def test_a_part_along_two_axes_has_no_such_layout() -> None:
    store = stored(BATCH, "1x128x128", reshaped("1x64x64", "64x64"), loaded="1x64x64", tile="64x64")
    assert transposing_layout(store, 4) is None


def test_a_buffer_of_other_extents_has_no_such_layout() -> None:
    half = BATCH.removesuffix(", [0, 64, 0]")
    store = stored(half, "1x64x128", reshaped("1x64x128", "64x128"), tile="64x128")
    assert transposing_layout(store, 4) is None


def test_a_thread_may_have_longer_columns_than_rows() -> None:
    assert blocked((64, 64), (16, 4), (4, 8), (1, 2), (1, 0)) in _boxes((64, 64), 2, 8)
