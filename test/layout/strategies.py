"""Random layouts for the laws, small enough to be checked by brute force."""

from __future__ import annotations

from hypothesis import strategies as st

from tessera_tools.layout import LinearLayout


@st.composite
def layouts(draw: st.DrawFn, ins: tuple[str, ...] = ("register", "lane"), max_bits: int = 3) -> LinearLayout:
    """Any layout: bases may repeat, be zero or depend on one another."""
    outs = {name: 1 << draw(st.integers(0, max_bits)) for name in ("dim0", "dim1")}
    bases = {
        name: draw(
            st.lists(st.tuples(*(st.integers(0, size - 1) for size in outs.values())), max_size=max_bits)
        )
        for name in ins
    }
    return LinearLayout(bases, outs)


@st.composite
def invertible_columns(draw: st.DrawFn, bits: int) -> list[int]:
    """The columns of an invertible matrix: elementary operations on the identity."""
    columns = draw(st.permutations([1 << bit for bit in range(bits)]))
    steps = draw(st.lists(st.tuples(st.integers(0, bits - 1), st.integers(0, bits - 1)), max_size=2 * bits))
    columns = list(columns)
    for into, source in steps:
        if into != source:
            columns[into] ^= columns[source]
    return columns


@st.composite
def tiles(draw: st.DrawFn, bits: int, registers: int, lanes: int) -> LinearLayout:
    """An invertible distributed layout of a 2^(bits//2) × 2^(rest) tile; what is left of the bits are warps."""
    columns = draw(invertible_columns(bits))
    outs = [("dim0", 1 << bits // 2), ("dim1", 1 << (bits - bits // 2))]
    ins = [("register", 1 << registers), ("lane", 1 << lanes), ("warp", 1 << (bits - registers - lanes))]
    return LinearLayout.from_columns(ins, outs, columns)


def resized(layout: LinearLayout, dim: str, size: int) -> LinearLayout:
    """The layout with an input dimension cut to its first positions, or grown by positions that repeat."""
    bits = size.bit_length() - 1
    bases = layout.bases
    zero = (0,) * len(layout.outs)
    bases[dim] = bases[dim][:bits] + (zero,) * (bits - len(bases[dim]))
    return LinearLayout(bases, layout.outs)
