"""Layouts of operands and accumulators against the simulated GPU's own tables of fragments."""

from __future__ import annotations

import pytest

from tessera_tools.dialects.cute_nvgpu import MmaAtomAttr
from tessera_tools.ir.types import BF16, F16, F32, F64, I32, TF32, FloatType, IntegerType, Type
from tessera_tools.layout import LinearLayout, atoms, held_operand, shape_of
from tessera_tools.planning.dot_layouts import fragments, operand_layouts, warp_grid
from tessera_tools.sim import fragments as tables

E4M3, S8 = FloatType("f8E4M3FN"), IntegerType(8, "signed")
INSTRUCTIONS = [
    ("sm80_m16n8k16", F16, F32, 16), ("sm80_m16n8k16", BF16, F32, 16), ("sm80_m16n8k8", TF32, F32, 32),
    ("sm80_m8n8k4", F64, F64, 64), ("sm80_m16n8k32", S8, I32, 8), ("sm89_m16n8k32", E4M3, F32, 8),
]  # fmt: skip


def same(layout: LinearLayout, table: tables.Fragment, packed: int) -> None:
    """Each lane's registers hold the same elements, in the same order."""
    columns = table.shape[1]
    for register in range(layout.in_size("register")):
        for lane in range(32):
            place = layout.apply(register=register, lane=lane)
            word, element = divmod(register, packed)
            assert place["row"] * columns + place["col"] == table.scatter[word, lane, element]
    assert layout.in_size("register") == table.registers * packed


@pytest.mark.parametrize(("shape", "element", "accumulator", "bits"), INSTRUCTIONS)
def test_atoms(shape: str, element: Type, accumulator: Type, bits: int) -> None:
    m, n, k = MmaAtomAttr.of(shape, element, element, accumulator).mnk
    packed = max(1, 32 // bits)
    same(atoms.mma_a(bits, k, m), tables.mma_a(m, k, packed), packed)
    same(atoms.mma_b(bits, k), tables.mma_b(k, n, packed), packed)
    same(atoms.mma_accumulator(m), tables.accumulator(m, n, 1), 1)


@pytest.mark.parametrize("warps", [1, 8])
@pytest.mark.parametrize("tile", [(64, 64, 64), (2, 1, 4), (128, 8, 16)], ids=str)
@pytest.mark.parametrize("batch", [(), (4,)], ids=str)
@pytest.mark.parametrize(("shape", "element", "accumulator", "bits"), INSTRUCTIONS)
def test_an_instruction_has_the_rows_and_columns_of_its_accumulator(
    shape: str,
    element: Type,
    accumulator: Type,
    bits: int,
    tile: tuple[int, int, int],
    batch: tuple[int, ...],
    warps: int,
) -> None:
    """A has the accumulator's rows in the lanes and registers of the fragment, B its columns, whatever the tile."""
    m, n, k = tile
    atom = MmaAtomAttr.of(shape, element, element, accumulator)
    grid = warp_grid((*batch, m, n), warps, atom.mnk[:2])
    a, b, c = operand_layouts((*batch, m, n), k, atom, grid)
    assert [shape_of(x) for x in (a, b, c)] == [(*batch, m, k), (*batch, k, n), (*batch, m, n)]
    assert all(x.is_surjective() for x in (a, b, c))
    row, column = f"dim{len(batch)}", f"dim{len(batch) + 1}"
    for lane in (0, 5, 18, 31):
        for warp in range(warps):
            at = {"lane": lane, "warp": warp, "register": 0}
            assert a.apply(**at)[row] == c.apply(**at)[row]
            # Columns of B go by groups of four lanes, those of the accumulator by lanes within one.
            assert (
                b.apply(lane=lane & 3, warp=warp, register=0)[column]
                == c.apply(lane=0, warp=warp, register=0)[column]
            )


def test_a_small_tile_repeats_rows_and_columns_of_a_larger_one() -> None:
    atom = MmaAtomAttr.of("sm80_m16n8k16", F16, F16, F32)
    a, _, c = operand_layouts((4, 2), 8, atom, (1, 1))
    whole_a, _, whole_c = fragments((4, 2), 8, atom, (1, 1))
    for lane in range(32):
        for register in range(8):
            place, larger = a.apply(register=register, lane=lane), whole_a.apply(register=register, lane=lane)
            assert place == {"dim0": larger["dim0"] % 4, "dim1": larger["dim1"] % 8}
        for register in range(4):
            place, larger = c.apply(register=register, lane=lane), whole_c.apply(register=register, lane=lane)
            assert place == {"dim0": larger["dim0"] % 4, "dim1": larger["dim1"] % 2}


@pytest.mark.parametrize("shape", [(64, 64), (1, 1), (128, 2), (4, 8, 16)], ids=str)
def test_what_a_thread_holds_without_tensor_cores(shape: tuple[int, ...]) -> None:
    """Every thread has all terms of each of its elements."""
    atom = MmaAtomAttr.of("fma", F32, F32, F32)
    a, b, c = operand_layouts(shape, 4, atom, warp_grid(shape, 4, (8, 16)))
    row, column = f"dim{len(shape) - 2}", f"dim{len(shape) - 1}"

    def held(layout: LinearLayout, lane: int, warp: int) -> set[tuple[int, ...]]:
        count = range(layout.in_size("register"))
        return {tuple(layout.apply(register=r, lane=lane, warp=warp).values()) for r in count}

    for lane in (0, 7, 13, 31):
        for warp in range(4):
            mine = held(c, lane, warp)
            assert held(a, lane, warp) == {(*p[:-1], k) for p in mine for k in range(4)}
            assert held(b, lane, warp) == {(*p[:-2], k, p[-1]) for p in mine for k in range(4)}
    assert a.out_size(row) == shape[-2] and b.out_size(column) == shape[-1]


def test_an_operand_needs_an_axis_of_its_accumulator() -> None:
    c = operand_layouts((16, 8), 16, MmaAtomAttr.of("sm80_m16n8k16", F16, F16, F32), (1, 1))[2]
    with pytest.raises(ValueError, match="no axis 2"):
        held_operand(c, 2, 16)


@pytest.mark.parametrize(
    ("shape", "warps", "along_rows", "expected"),
    [
        ((64, 64), 4, False, (2, 2)), ((64, 64), 4, True, (4, 1)), ((32, 64), 4, True, (1, 4)),
        ((16, 128), 4, False, (1, 4)), ((8, 64, 64), 4, False, (4, 1, 1)), ((2, 64, 64), 8, False, (2, 2, 2)),
    ],
)  # fmt: skip
def test_the_grid_of_warps(
    shape: tuple[int, ...], warps: int, along_rows: bool, expected: tuple[int, ...]
) -> None:
    assert warp_grid(shape, warps, along_rows=along_rows) == expected
