"""The order of the terms of a product in which A needs no exchange between threads.

    accumulator of f32          thread 0 holds columns 0 1 · · · · · · 8 9 …
    A of wgmma, 8 bits          thread 0 holds terms   0 1 2 3 …                ──▶  term 2 is column 8, term 3 is 9

A sum is the same in any order of its terms, if both factors have the same one.  An order that permutes the bits of the
number of a term is a reshape and a permutation of a tile, for which no data moves between registers.
"""

from __future__ import annotations

from tessera_tools.layout import LinearLayout

Order = tuple[int, ...]
"""For each bit of the number of a term, from the lowest one on, the bit of the column."""


def term_order(held: LinearLayout, wanted: LinearLayout) -> Order | None:
    """The order in which threads that hold a tile (M, K) as `held` have it as `wanted`; None if there is none."""
    if dict(held.outs) != dict(wanted.outs):
        return None
    found: dict[int, int] = {}
    for name in wanted.in_dims:
        have, want = held.bases.get(name, ()), wanted.bases[name]
        if name == "register":
            # Registers have names only: their bits may change places.
            pairs = _in_any_order(have, want)
        else:
            pairs = list(zip(have, want, strict=True)) if len(have) == len(want) else None
        if pairs is None:
            return None
        for (row, column), (wanted_row, term) in pairs:
            if row != wanted_row or (column == 0) != (term == 0):
                return None
            if not column:
                continue
            if column & (column - 1) or term & (term - 1):
                return None
            bit = term.bit_length() - 1
            if found.setdefault(bit, column.bit_length() - 1) != column.bit_length() - 1:
                return None
    bits = dict(wanted.outs)["dim1"].bit_length() - 1
    order = tuple(found.get(bit, -1) for bit in range(bits))
    return order if sorted(order) == list(range(bits)) else None


def _in_any_order(
    have: tuple[tuple[int, ...], ...], want: tuple[tuple[int, ...], ...]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]] | None:
    """Pairs of bases: of the same rows, and of columns in the order of both."""
    rows = [[basis for basis in bases if basis[0]] for bases in (have, want)]
    columns = [[basis for basis in bases if not basis[0]] for bases in (have, want)]
    if sorted(rows[0]) != sorted(rows[1]) or len(columns[0]) != len(columns[1]):
        return None
    return [*zip(sorted(rows[0]), sorted(rows[1]), strict=True), *zip(*columns, strict=True)]


def axes_of(order: Order, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the shape to which an axis of `size` terms is split, the permutation of these axes) for an order."""
    bits = len(order)
    # Runs of bits that stay together, from the highest term on.
    runs: list[list[int]] = []
    for column in reversed(order):
        if runs and runs[-1][-1] == column + 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    by_column = sorted(runs, key=lambda run: -run[0])
    assert 1 << bits == size
    return tuple(1 << len(run) for run in by_column), tuple(by_column.index(run) for run in runs)
