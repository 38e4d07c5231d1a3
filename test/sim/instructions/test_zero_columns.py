"""The zero-column masks of tcgen05.mma.ws: products against NumPy, the examples of the ISA, and invalid descriptors."""

from __future__ import annotations

import numpy as np
import pytest
from sim.instructions.tensor_memory_kernel import run
from sim.instructions.test_tcgen05_mma import SEED, Case, refused

from tessera_tools.sim import zero_columns
from tessera_tools.sim.instruction_descriptor import encode


def spans(first: int, ones: int, zeros: int, start: int, count: int) -> list[int]:
    """`count` bits of spans in turn, without the first `start`."""
    one, other = ([1] * ones, [0] * zeros) if first else ([0] * zeros, [1] * ones)
    return ((one + other) * (count + start))[start : start + count]


@pytest.mark.parametrize("transposed", [False, True], ids=["k-major", "n-major"])
@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_zero_columns_of_any_descriptor(m: int, transposed: bool, mode: str) -> None:
    rng = np.random.default_rng(SEED)
    parts, n = 128 // m, 64
    ones, zeros = (int(number) for number in rng.integers(1, 20, 2))
    starts = tuple(int(number) for number in rng.integers(0, 30, parts))
    firsts = tuple(int(number) for number in rng.integers(0, 2, parts))
    # Where columns are contiguous, B has 8 of them in 16 bytes.
    shift = 8 if transposed else int(rng.integers(0, 17))
    zero = [
        bit
        for first, start in zip(firsts, starts, strict=True)
        for bit in spans(first, ones, zeros, start, n // parts)
    ]
    descriptor = zero_columns.encode(ones, zeros, starts=starts, firsts=firsts, shift=shift)
    case = Case(
        "f16", "f16", "f16", m=m, n=n, stationary=True, swizzles=(0, 0), transposed=(False, transposed),
        zero_columns=(descriptor, zero, shift),
    )  # fmt: skip
    case.check(mode=mode)


@pytest.mark.parametrize(
    ("m", "starts", "firsts", "masks"),
    [
        (128, (0,), (0,), ["1110000"]),
        (64, (0, 0), (1, 0), ["0000111", "1110000"]),
        (32, (0, 1, 2, 1), (1, 1, 0, 0), ["0000111", "1000011", "0011100", "0111000"]),
    ],
)
def test_zero_columns_of_the_examples_of_the_isa(
    m: int, starts: tuple[int, ...], firsts: tuple[int, ...], masks: list[str]
) -> None:
    """PTX ISA, "Zero-Column Mask Descriptor": a skip span of 2 and a use span of 3; the last bits of each sub-mask."""
    bits = sum(start << 8 * part for part, start in enumerate(starts))
    bits |= sum(first << 32 + part for part, first in enumerate(firsts)) | 1 << 39 | 2 << 40 | 3 << 48
    found = zero_columns.decode(bits, m, 128)
    assert isinstance(found, zero_columns.ZeroColumns)
    length = len(found.zero) // len(masks)
    for part, mask in enumerate(masks):
        lowest = found.zero[part * length : part * length + 7]
        assert "".join(str(int(bit)) for bit in reversed(lowest)) == mask


def test_a_descriptor_without_a_mask_has_no_zero_columns() -> None:
    descriptor = zero_columns.encode(5, 4, masked=False)
    Case("f16", "f16", "f16", n=64, stationary=True, zero_columns=(descriptor, [0] * 64, 0)).check()


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (zero_columns.encode() | 1 << 37, "reserved bits"),
        (zero_columns.encode() | 1 << 62, "reserved bits"),
        (zero_columns.encode(shift=33), "shifts by 33 columns; with M of 128 at most 32"),
    ],
)
def test_invalid_masks_of_zero_columns_are_reported(descriptor: int, message: str) -> None:
    case = Case("f16", "f16", "f16", n=64, stationary=True, zero_columns=(descriptor, [0] * 64, 0))
    refused(case, "illegal", message)


def test_a_reused_b_shifts_by_what_the_instruction_descriptor_allows() -> None:
    """Bits 30 and 31: 0, 8, 16 or 32 columns."""
    case = Case("f16", "f16", "f16", n=64, stationary=True, zero_columns=(0, [0] * 64, 0))
    case.parameters = (*case.parameters[:2], zero_columns.encode(shift=9), case.parameters[3])
    case.text = case.text.replace("kind::f16", "kind::f16.collector::b0::fill")
    refused(
        case,
        "illegal",
        f"the zero-column mask descriptor {zero_columns.encode(shift=9):#018x} shifts by 9 columns of a B that is "
        "reused; bits 30 and 31 of the instruction descriptor allow 0",
    )
    allowed = encode("f16", 128, 64, "f16", "f16", reuse_shift=16)
    case.text = f"mov.u32 %r10, {allowed};\n" + case.text.split("\n", 1)[1]
    result, _ = run(case.text, case.image, case.words, case.parameters)
    assert not result.findings
