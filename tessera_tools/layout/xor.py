"""A layout as address arithmetic: constants for registers, shifts and masks for lanes and warps.

    layout (register, lane, warp) → offset
        ──as_xor_expression──▶  base(lane, warp) ^ constant[register]

The register index is known at compile time, so its part of the xor is a Python integer. Each thread computes the rest
once. If the bits of both are disjoint, `^` can be `+`, and the constant can be an immediate offset of the access.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.records import dataclass


@dataclass(frozen=True, slots=True)
class XorTerm:
    """If bit `bit` of the run-time input `dim` is set, xor `value`."""

    dim: str
    bit: int
    value: int


@dataclass(frozen=True, slots=True)
class Shift:
    """`(dim & mask) << shift`. A negative `shift` shifts to the right."""

    dim: str
    mask: int
    shift: int

    def evaluate(self, value: int) -> int:
        """Returns the value of this term for a value of its input."""
        kept = value & self.mask
        return kept << self.shift if self.shift >= 0 else kept >> -self.shift


@dataclass(frozen=True, slots=True)
class XorExpression:
    """`constants[i] ^ (xor of the terms)`: i is known at compile time, the inputs of the terms are not."""

    constants: tuple[int, ...]
    terms: tuple[XorTerm, ...]

    def evaluate(self, index: int = 0, **inputs: int) -> int:
        """Returns the value for compile-time index `index`. An absent input is 0."""
        return self.constants[index] ^ self.base(**inputs)

    def base(self, **inputs: int) -> int:
        """Only the run-time part."""
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

    def split(self, constant: int) -> tuple[int, int]:
        """Returns (x, a) with base ^ constant == (base ^ x) + a. Only x shares bits with the base.

        The offset a can be an immediate. Registers with the same x share one computed address.
        """
        return constant & self.base_bits, constant & ~self.base_bits

    def shifts(self) -> tuple[Shift, ...]:
        """Returns the run-time part as an xor of masked shifts. Bits that move by the same distance share a shift.

        Example: if lane bits 0, 1, 2 give 2, 4, 8, one `(lane & 7) << 1` replaces three selects.
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
    """Converts `layout` to constants for each value of `constant_dim` and terms for the bits of the other inputs.

    `ins` are the run-time inputs (default: all others). `out` is the output to compute (default: the only one).
    Bits that contribute nothing have no term. Raises `LayoutError` if an input or the output is unknown.
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
