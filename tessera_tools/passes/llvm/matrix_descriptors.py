"""Descriptors of matrices in shared memory, which wgmma and tcgen05.mma read.

    a buffer in one of the hardware's swizzles ──Matrix.of()──▶ swizzle, major order, distances between core matrices
    start of a stage ──start_of()──▶ 64 bits ── + place_in() / 16 ──▶ the descriptor of a piece

A buffer is panels as wide as the pattern of its swizzle (layout/shared.py).  If the panels are along K, the matrix is
K-major; otherwise M- or N-major, which instructions support for elements of some sizes.  PTX ISA, "Matrix Descriptor
Format", "Shared Memory Descriptor".
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64
from tessera_tools.layout.shared import ATOMICITY, SWIZZLE_ALIGNMENT, WIDE_ATOMICITY, swizzled
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.lowering import Lowering
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM, memory_offset
from tessera_tools.passes.llvm.tiles import Buffer
from tessera_tools.records import dataclass

_ROWS = 8
"""Rows of a core matrix."""
_MODE_SHIFT = 61
"""The first bit of the swizzle mode in a descriptor."""
_MODES = {
    (128, ATOMICITY): 2, (64, ATOMICITY): 4, (32, ATOMICITY): 6, (128, WIDE_ATOMICITY): 1,
}  # fmt: skip
"""The swizzle mode by the bytes of its rows and its atomicity.  wgmma has the even ones."""
_LOW_WORD = (1 << 32) - 1
_PLACES = 1 << 18
"""Descriptors hold the addresses of this many bytes."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The layout of a matrix in a buffer: `k_axis` is its axis of K; offsets are in bytes."""

    mode: int
    """Of the swizzle."""
    k_major: bool
    leading: int
    stride: int

    @classmethod
    def of(cls, buffer: Buffer, k_axis: int, transposed: Mapping[int, int]) -> Matrix:
        """The matrix in a buffer; `transposed`: the bits of the elements that need not be contiguous along K, and the
        atomicity of the swizzle that they have then.  Raises Refusal unless the instruction can read its layout."""
        bits = 8 * element_bytes(buffer.type.element)
        tile = buffer.type.tile
        for order in ((1, 0), (0, 1)):
            for (swizzle, atomicity), mode in _MODES.items():
                if tile[order[0]] * bits < 8 * swizzle:
                    continue
                if buffer.layout != swizzled(tile, bits, order, swizzle, atomicity):
                    continue
                k_major = order[0] == k_axis
                if k_major and atomicity != ATOMICITY:
                    raise Refusal(f"the product requires {ATOMICITY} bytes along K to be permuted together")
                if not k_major and transposed.get(bits) != atomicity:
                    raise Refusal(f"the product requires elements of {bits} bits to be contiguous along K")
                if buffer.offset % SWIZZLE_ALIGNMENT[swizzle]:
                    raise Refusal(
                        f"the buffer is not aligned to a multiple of {SWIZZLE_ALIGNMENT[swizzle]} bytes"
                    )
                panel = tile[order[1]] * swizzle
                rows = _ROWS * ATOMICITY // atomicity
                return cls(mode, k_major, ATOMICITY if k_major else panel, rows * swizzle)
        raise Refusal("the buffer's layout does not match a swizzle of 32, 64 or 128 bytes")

    @property
    def fixed(self) -> int:
        """The descriptor without its start address."""
        return self.leading >> 4 << 16 | self.stride >> 4 << 32 | self.mode << _MODE_SHIFT


def start_of(low: Lowering, buffer: Buffer, fixed: int, moved: Int = 0) -> Int:
    """The descriptor of the matrix that begins so many bytes after the begin of a buffer; `fixed`: its other fields."""
    e = low.e
    # Only the number of the stage changes in a loop.  Its multiple is added behind the shift and the fixed bits.
    low_word, high_word = fixed & _LOW_WORD, fixed & ~_LOW_WORD
    place = e.add(e.add(_address(e), buffer.offset), moved)
    if low.ctas > 1:
        # The address holds the rank of the CTA, which would change the leading distance.
        place = e.and_(place, _PLACES - 1)
    word = e.or_(e.lshr(place, 4), low_word)
    if buffer.slot is not None:
        word = e.add(word, e.mul(buffer.slot, buffer.stage_bytes >> 4))
    start = e.or_(e.zext(e.constant(word)), high_word - (1 << 64) if high_word >> 63 else high_word, I64)
    return start if buffer.slot is None else _opaque(e, e.constant(start, I64))


def _opaque(e: Emitter, descriptor: Value) -> Value:
    """The descriptor of a stage, such that LLVM knows nothing about it.

    Otherwise LLVM makes an `or` of an addition to bits that it knows to be 0, and adds constants to the fixed bits.
    ptxas needs two or three instructions for each of these, and one for an addition to 64 bits.
    """
    return e.pure(
        "opaque",
        (descriptor,),
        lambda: llvm.InlineAsm([descriptor], StringAttr(""), StringAttr("=l,0"), res=I64),
    )


def place_in(buffer: Buffer, k_axis: int, along: int, k: int) -> int:
    """The byte offset of an element in its buffer: `along` M or N, and along K."""
    place = memory_offset(buffer.layout, (along, k) if k_axis else (k, along))
    return place * element_bytes(buffer.type.element)


def _address(e: Emitter) -> Value:
    smem = e.address_of(GLOBAL_SMEM)
    return e.pure("smem address", (smem,), lambda: llvm.PtrToInt(smem, res=I32))
