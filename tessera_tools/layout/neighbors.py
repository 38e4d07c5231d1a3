"""Layouts of rank-1 tiles whose elements are split into equal parts or joined with adjacent elements.

source   0   1   2   3            coordinates of `refined(layout, 2)`
parts   0 1 2 3 4 5 6 7           a thread that holds source element 2 holds parts 4 and 5, in registers
"""

from __future__ import annotations

from tessera_tools.layout.linear import LayoutError, LinearLayout


def refined(layout: LinearLayout, parts: int) -> LinearLayout:
    """Returns the layout of the parts: f'(r·parts + i, …) = f(r, …)·parts + i.  `parts` is a power of two."""
    ((name, size),) = layout.outs
    low = [(1 << bit,) for bit in range(parts.bit_length() - 1)]
    bases = {key: [(basis[0] * parts,) for basis in vectors] for key, vectors in layout.bases.items()}
    bases["register"] = [*low, *bases.get("register", ())]
    return LinearLayout(bases, [(name, size * parts)])


def coarsened(layout: LinearLayout, parts: int) -> LinearLayout:
    """Returns the layout of the element that contains each part: f'(…) = f(…) // parts.  `parts` is a power of two."""
    ((name, size),) = layout.outs
    if size % parts:
        raise LayoutError(f"{size} elements are not a multiple of {parts}: {layout}")
    bases = {key: [(basis[0] // parts,) for basis in vectors] for key, vectors in layout.bases.items()}
    return LinearLayout(bases, [(name, size // parts)])


def holds_whole(layout: LinearLayout, parts: int) -> bool:
    """Returns true if a thread that holds one part of an element holds all of them: only registers select a part."""
    return all(
        basis[0] % parts == 0
        for key, vectors in layout.bases.items()
        if key != "register"
        for basis in vectors
    )
