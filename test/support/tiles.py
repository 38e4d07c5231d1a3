"""Programs of what makes, moves and combines the elements of tiles, and of products."""

from __future__ import annotations

import numpy as np
from programs import encode, tile
from support.elementwise import MOST, shape_for
from support.table import on
from support.writer import (
    BITS,
    ELEMENTS,
    HALF_BYTES,
    INTEGERS,
    Writer,
    numbers,
    random_shape,
    spelled,
    tile_of,
)

FLOATS = tuple(e for e in ELEMENTS[6:] if e != "ptr")


@on("constant")
def _constant(w: Writer, element: str, way: str) -> None:
    shape = shape_for(w, element, 6)
    count = int(np.prod(shape, dtype=np.int64))
    if element in INTEGERS or element == "i4":
        bits = BITS[element]
        low = 0 if bits == 1 else -(1 << bits - 1)
        values = [int(v) for v in w.rng.integers(low, (1 << bits - 1) - (bits > 1), count, endpoint=True)]
    else:
        values = [float(v) for v in w.rng.choice((0.5, 1.0, 2.0, 4.0), count)]
    words = [("true" if v else "false") if element == "i1" else repr(v) for v in values]

    def nested(items: list[str], extents: tuple[int, ...]) -> str:
        if not extents:
            return items[0]
        size = len(items) // extents[0]
        return f"[{', '.join(nested(items[i : i + size], extents[1:]) for i in range(0, len(items), size))}]"

    w.result(
        w.define(f"constant <{element}: {nested(words, shape)}> : {tile_of(element, shape)}"), element, shape
    )


@on("iota")
def _iota(w: Writer, element: str, way: str) -> None:
    most = min(MOST, BITS[element] - (element in INTEGERS and BITS[element] > 1))
    shape = (1 << int(w.rng.integers(min(1, most), most + 1)),)
    w.result(w.define(f"iota : {tile_of(element, shape)}"), element, shape)


@on("reshape")
def _reshape(w: Writer, element: str, way: str) -> None:
    shape = shape_for(w, element, MOST)
    new = [1] * int(w.rng.integers(1, 6))
    for _ in range(int(np.prod(shape, dtype=np.int64)).bit_length() - 1):
        new[int(w.rng.integers(len(new)))] *= 2
    x = w.input(element, shape)
    made = w.define(f"reshape {x} : {tile_of(element, shape)} -> {tile_of(element, new)}")
    w.result(made, element, new)


@on("broadcast")
def _broadcast(w: Writer, element: str, way: str) -> None:
    full = random_shape(w.rng, 12, 2)
    while True:
        shape = tuple(1 if w.rng.integers(2) else n for n in full)
        if element not in HALF_BYTES or np.prod(shape) > 1:
            break
    x = w.input(element, shape)
    w.result(
        w.define(f"broadcast {x} : {tile_of(element, shape)} -> {tile_of(element, full)}"), element, full
    )


@on("permute")
def _permute(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 12, 2, (2, 5))
    order = [int(i) for i in w.rng.permutation(len(shape))]
    new = tuple(shape[i] for i in order)
    x = w.input(element, shape)
    w.result(
        w.define(f"permute {x} {order} : {tile_of(element, shape)} -> {tile_of(element, new)}"), element, new
    )


@on("cat")
def _cat(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 11, 1)
    axis = int(w.rng.integers(len(shape)))
    new = tuple(2 * n if i == axis else n for i, n in enumerate(shape))
    a, b = w.input(element, shape), w.input(element, shape)
    half = tile_of(element, shape)
    w.result(w.define(f"cat {a}, {b} dim = {axis} : {half}, {half} -> {tile_of(element, new)}"), element, new)


def _part(w: Writer, element: str, way: str) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    """(shape of a tile, of a part of it, the part's index): known when it is compiled, or not."""
    while True:
        shape = random_shape(w.rng, 10, 1, (1, 4))
        part = tuple(n >> int(w.rng.integers(0, n.bit_length())) for n in shape)
        if element not in HALF_BYTES or np.prod(part) > 1:
            break
    index = [int(w.rng.integers(0, n // m)) for n, m in zip(shape, part, strict=True)]
    names = [w.constant("i32", i) if way == "constant" else w.scalar("i32", np.int32(i)) for i in index]
    return shape, part, ", ".join(names)


@on("extract", ("constant", "argument"))
def _extract(w: Writer, element: str, way: str) -> None:
    shape, part, index = _part(w, element, way)
    x = w.input(element, shape)
    w.result(
        w.define(f"extract {x}[{index}] : {tile_of(element, shape)} -> {tile_of(element, part)}"),
        element,
        part,
    )


@on("insert", ("constant", "argument"))
def _insert(w: Writer, element: str, way: str) -> None:
    shape, part, index = _part(w, element, way)
    x, y = w.input(element, part), w.input(element, shape)
    made = w.define(f"insert {x}, {y}[{index}] : {tile_of(element, part)}, {tile_of(element, shape)}")
    w.result(made, element, shape)


@on("pack", lambda e: [t for t in ELEMENTS if t != e])
def _pack(w: Writer, element: str, way: str) -> None:
    _packing(w, "pack", element, way)


@on("unpack", lambda e: [t for t in ELEMENTS if t != e])
def _unpack(w: Writer, element: str, way: str) -> None:
    """The column is the result's type."""
    _packing(w, "unpack", way, element)


def _packing(w: Writer, op: str, old: str, new: str) -> None:
    total = 1 << int(w.rng.integers(7, 14))
    shapes = [(total // BITS[e],) for e in (old, new)]
    x = w.input(old, shapes[0])
    w.result(w.define(f"{op} {x} : {tile_of(old, shapes[0])} -> {tile_of(new, shapes[1])}"), new, shapes[1])


@on("assume", ("div_by<2>", "same_elements", "bounded<0, ?>"))
def _assume(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 8, 1, (1, 3))
    if element == "ptr":
        x = w.input(element, shape)
        way = "div_by<4>" if way.startswith("div") else way
    elif element in INTEGERS:
        x = w.input(element, shape, np.broadcast_to(np.zeros((), numbers(element, (1,), w.rng).dtype), shape))
    else:
        x = w.input(element, shape)
    way = f"same_elements<[{', '.join('1' for _ in shape)}]>" if way.startswith("same") else way
    w.result(w.define(f"assume {way}, {x} : {tile_of(element, shape)}"), element, shape)


# -- reductions: integers wrap around in any order, floats are small whole numbers


def _folds(element: str) -> tuple[str, ...]:
    """The ops that combine numbers of a type."""
    if element in FLOATS:
        return ("addf", "mulf", "maxf", "minf")
    return ("addi", "muli", "andi", "ori", "xori", "maxi signed", "mini unsigned")


def _fold(w: Writer, op: str, element: str, way: str) -> None:
    shape = random_shape(w.rng, 10, 1)
    axis = int(w.rng.integers(len(shape)))
    fold, _, sign = way.partition(" ")
    number = tile_of(element, ())
    data = None
    if element in FLOATS[:-1]:
        many = (1.0, -1.0) if fold == "mulf" else (0.0, 1.0, 0.0, 0.0, -1.0)
        data = encode(element, w.rng.choice((1.0, 2.0) if element == "f8E8M0FNU" else many, shape))
    width = BITS[element]
    identity = {
        "addi": "0", "muli": "1", "andi": "-1", "ori": "0", "xori": "0", "maxi": str(-(1 << width - 1)), "mini": "-1",
        "addf": "0.0", "mulf": "1.0", "maxf": "-1.0", "minf": "1.0",
    }[fold]  # fmt: skip
    if element == "f8E8M0FNU":
        identity = "1.0"
    if element == "i1":
        identity = {"andi": "true", "muli": "true", "maxi": "true", "mini": "true"}.get(fold, "false")
    kind = "" if element == "i1" else f" : {spelled(element)}"
    x = w.input(element, shape, data)
    new = shape if op == "scan" else (*shape[:axis], *shape[axis + 1 :])
    reverse = " reverse=true" if w.rng.integers(2) else " reverse=false"
    suffix = f" {sign}" if sign else ""
    made = w.define(
        f"{op} {x} dim={axis}{reverse if op == 'scan' else ''} identities=[{identity}{kind}] : "
        f"{tile_of(element, shape)} -> {tile_of(element, new)}\n  (%acc: {number}, %cur: {number}) {{\n"
        f"    %folded = {fold} %acc, %cur{suffix} : {number}\n    yield %folded : {number}\n  }}"
    )
    w.result(made, element, new)


@on("reduce", _folds)
def _reduce(w: Writer, element: str, way: str) -> None:
    _fold(w, "reduce", element, way)


@on("scan", _folds)
def _scan(w: Writer, element: str, way: str) -> None:
    _fold(w, "scan", element, way)


# -- products of small whole numbers, whose sums are exact; the column is the operands' type


def _sizes(w: Writer, least_k: int = 0) -> tuple[tuple[int, ...], int, int, int]:
    """(batches, m, n, k) of a product up to 64x64x64."""
    batch = (1 << int(w.rng.integers(0, 3)),) if w.rng.integers(3) == 0 else ()
    most = 5 if batch else 6
    m, n = (1 << int(w.rng.integers(0, most + 1)) for _ in range(2))
    return batch, m, n, 1 << int(w.rng.integers(least_k, max(most, least_k) + 1))


@on("mmaf", [f"{t}{f}" for t in ("f16", "bf16", "f32", "f64") for f in ("", " fast_acc")])
def _product(w: Writer, element: str, way: str) -> None:
    to, _, flag = way.partition(" ")
    batch, m, n, k = _sizes(w)
    shapes = [(*batch, m, k), (*batch, k, n), (*batch, m, n)]
    operands = []
    for kind, shape in zip((element, element, to), shapes, strict=True):
        numbers_ = (
            None if kind not in FLOATS[:-1] else encode(kind, w.rng.choice((0.0, 1.0, 2.0, -1.0), shape))
        )
        if kind == "f8E8M0FNU":
            numbers_ = encode(kind, w.rng.choice((1.0, 2.0), shape))
        if kind in HALF_BYTES and np.prod(shape) < 2:
            return _product(w, element, way)
        operands.append(w.input(kind, shape, numbers_))
    types = ", ".join(tile_of(e, s) for e, s in zip((element, element, to), shapes, strict=True))
    w.result(w.define(f"mmaf {', '.join(operands)} {flag} : {types}"), to, shapes[2])
    return None


@on("mmai", [f"{a} {b}" for a in ("signed", "unsigned") for b in ("signed", "unsigned")])
def _integer_product(w: Writer, element: str, way: str) -> None:
    batch, m, n, k = _sizes(w, 1)
    shapes = [(*batch, 2 * m, k), (*batch, k, 2 * n), (*batch, 2 * m, 2 * n)]
    operands = [w.input(e, s) for e, s in zip((element, element, "i32"), shapes, strict=True)]
    types = ", ".join(tile_of(e, s) for e, s in zip((element, element, "i32"), shapes, strict=True))
    w.result(w.define(f"mmai {', '.join(operands)} {way} : {types}"), "i32", shapes[2])


@on("mmaf_scaled", ("f8E8M0FNU 32", "f8E8M0FNU 16", "f8E4M3FN 32", "f8E4M3FN 16"), exact=False)
def _scaled_product(w: Writer, element: str, way: str) -> None:
    scale, block = way.split()
    batch, m, n, k = _sizes(w, 5)
    blocks = k // int(block)
    shapes = [(*batch, m, k), (*batch, k, n), (*batch, m, n), (*batch, m, blocks), (*batch, blocks, n)]
    kinds = (element, element, "f32", scale, scale)
    operands = []
    for kind, shape in zip(kinds, shapes, strict=True):
        data = None
        if kind in FLOATS[:-1]:
            positive = kind in ("f8E8M0FNU", scale)
            data = encode(kind, w.rng.choice((1.0, 2.0, 0.5) if positive else (0.0, 1.0, 2.0, -1.0), shape))
        operands.append(w.input(kind, shape, data))
    types = ", ".join(tile(e if e != "ptr" else "ptr<f32>", s) for e, s in zip(kinds, shapes, strict=True))
    w.result(w.define(f"mmaf_scaled {', '.join(operands)} : {types}"), "f32", shapes[2])
