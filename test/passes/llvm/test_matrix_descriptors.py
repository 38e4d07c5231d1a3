"""Buffers that neither a product nor TMA can use are refused, with the reason."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.cute_nvgpu import TmaAtom, TmaLoadAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import F16, F32
from tessera_tools.layout.shared import swizzled
from tessera_tools.passes.llvm.matrix_descriptors import Matrix
from tessera_tools.passes.llvm.tiles import Buffer
from tessera_tools.passes.llvm.tma import _step, check_boxes


def buffer(
    element: Type = F16,
    bits: int = 16,
    order: tuple[int, int] = (1, 0),
    swizzle: int = 128,
    offset: int = 0,
    atomicity: int = 16,
) -> Buffer:
    """A tile of 64x64 in the layout of a swizzle."""
    layout = swizzled((64, 64), bits, order, swizzle, atomicity)
    return Buffer(offset, SmemType((1, 64, 64), element, SharedAttr(layout)))


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (buffer(swizzle=0), "the buffer's layout does not match a swizzle of 32, 64 or 128 bytes"),
        (buffer(F32, 32, (0, 1)), "the product requires elements of 32 bits to be contiguous along K"),
        (buffer(offset=512), "the buffer is not aligned to a multiple of 1024 bytes"),
        (buffer(atomicity=32), "the product requires 16 bytes along K to be permuted together"),
    ],
)
def test_a_product_reads_what_is_swizzled_and_aligned(made: Buffer, reason: str) -> None:
    assert Matrix.of(buffer(), 1, {16: 16}).fixed >> 61 == 2
    with pytest.raises(Refusal) as caught:
        Matrix.of(made, 1, {16: 16})
    assert str(caught.value) == reason


def test_words_across_k_are_permuted_by_32_bytes() -> None:
    """Groups of 4 rows of 128 bytes; 32 columns further, the next 64 rows (PTX ISA, "Strides")."""
    found = Matrix.of(buffer(F32, 32, (0, 1), atomicity=32), 1, {32: 32})
    assert (found.fixed >> 61, found.k_major, found.leading, found.stride) == (1, False, 64 * 128, 4 * 128)
    with pytest.raises(Refusal, match="requires elements of 32 bits to be contiguous along K"):
        Matrix.of(buffer(F32, 32, (0, 1)), 1, {32: 32})


@pytest.mark.parametrize(
    ("made", "box", "reason"),
    [
        (
            buffer(swizzle=64),
            (64, 64),
            "the buffer's layout does not match boxes [64, 64] with a swizzle of 128 bytes",
        ),
        (
            buffer(),
            (64, 32),
            "the buffer's layout does not match boxes [64, 32] with a swizzle of 128 bytes",
        ),
        (
            buffer(offset=512),
            (64, 64),
            "the buffer is not aligned to 1024 bytes, which TMA requires for a swizzle of 128 bytes",
        ),
    ],
)
def test_tma_copies_boxes_that_are_swizzled_and_aligned(
    made: Buffer, box: tuple[int, int], reason: str
) -> None:
    atom: TmaAtom = TmaLoadAtomAttr(2, F16, 128)
    check_boxes(atom, buffer(), (64, 64))
    with pytest.raises(Refusal) as caught:
        check_boxes(atom, made, box)
    assert str(caught.value) == reason


def test_parts_that_ctas_copy_for_each_other_are_evenly_apart() -> None:
    """The rows of a swizzle repeat after eight."""
    assert _step(buffer(), 0, 8) == 8 * 64
    with pytest.raises(Refusal, match="parts of 2 rows are not evenly apart in the buffer"):
        _step(buffer(), 0, 2)
