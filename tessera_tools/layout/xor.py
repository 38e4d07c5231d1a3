"""A layout as address arithmetic: constants for registers, shifts and masks for lanes and warps.

    layout (register, lane, warp) → offset
        ──as_xor_expression──▶  base(lane, warp) ^ constant[register]

The register index is known at compile time, so its share of the xor is a Python integer. The rest is computed
once for each thread. Where the bits of both are disjoint, `^` may be `+`, and so an immediate of the access.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tessera_tools.layout.linear import LayoutError, LinearLayout


@dataclass(frozen=True, slots=True)
class XorTerm:
    """If bit `bit` of the run-time input `dim` is set, xor `value`."""

    dim: str
    bit: int
    value: int


@dataclass(frozen=True, slots=True)
class Shift:
    """`(dim & mask) << shift`, to the right where `shift` is negative."""

    dim: str
    mask: int
    shift: int

    def evaluate(self, value: int) -> int:
        """The value of this summand for a value of its input."""
        kept = value & self.mask
        return kept << self.shift if self.shift >= 0 else kept >> -self.shift


@dataclass(frozen=True, slots=True)
class XorExpression:
    """`constants[i] ^ (xor of the terms)`: i is known at compile time, the inputs of the terms are not."""

    constants: tuple[int, ...]
    terms: tuple[XorTerm, ...]

    def evaluate(self, index: int = 0, **inputs: int) -> int:
        """The value for compile-time index `index`; an absent input is 0."""
        return self.constants[index] ^ self.base(**inputs)

    def base(self, **inputs: int) -> int:
        """The run-time part alone."""
        result = 0
        for term in self.terms:
            if inputs.get(term.dim, 0) >> term.bit & 1:
                result ^= term.value
        return result

    @property
    def base_bits(self) -> int:
        """Every bit that the run-time part can set."""
        bits = 0
        for term in self.terms:
            bits |= term.value
        return bits

    @property
    def terms_are_disjoint(self) -> bool:
        """True if no two terms share a bit: the run-time part may be a sum of its terms."""
        return sum(term.value for term in self.terms) == self.base_bits

    @property
    def may_add(self) -> bool:
        """True if `base + constants[i]` equals `base ^ constants[i]` for every i: their bits are disjoint."""
        return not any(constant & self.base_bits for constant in self.constants)

    def split(self, index: int) -> tuple[int, int]:
        """(x, a) with value == (base ^ x) + a: only x meets the bits of the base, a may be an immediate.

        Registers with the same x share one computed address.
        """
        constant = self.constants[index]
        return constant & self.base_bits, constant & ~self.base_bits

    def shifts(self) -> tuple[Shift, ...]:
        """The run-time part as an xor of masked shifts: bits that move by the same distance move together.

        Example: lane bits 0, 1, 2 going to 2, 4, 8 are one `(lane & 7) << 1`, not three selections.
        """
        masks: dict[tuple[str, int], int] = {}
        for term in self.terms:
            value = term.value
            while value:
                low = value & -value
                key = (term.dim, low.bit_length() - 1 - term.bit)
                masks[key] = masks.get(key, 0) | 1 << term.bit
                value ^= low
        return tuple(Shift(dim, mask, shift) for (dim, shift), mask in masks.items())


def as_xor_expression(
    layout: LinearLayout,
    ins: Sequence[str] | None = None,
    constant_dim: str = "register",
    out: str | None = None,
) -> XorExpression:
    """`layout` as constants for each value of `constant_dim` and terms for the bits of the other inputs.

    `ins` are the run-time inputs (default: all others); `out` is the output wanted (default: the only one).
    Bits that contribute nothing have no term. Raises `LayoutError` where an input or the output is unknown.
    """
    if out is None:
        if len(layout.out_dims) != 1:
            raise LayoutError(f"expected one output dimension, or the name of one, in {layout}")
        out = layout.out_dims[0]
    names = list(ins) if ins is not None else [name for name in layout.in_dims if name != constant_dim]
    part = layout.sublayout(names, [out])
    constants = [0]
    if constant_dim in layout.in_dims:
        for column in layout.sublayout([constant_dim], [out]).columns:
            constants += [constant ^ column for constant in constants]
    terms = [
        XorTerm(name, bit, basis[0])
        for name, vectors in part.bases.items()
        for bit, basis in enumerate(vectors)
        if basis[0]
    ]
    return XorExpression(tuple(constants), tuple(terms))
