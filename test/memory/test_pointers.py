"""Tiles of pointers on the simulated GPU against NumPy: any element, index, mask and shape; how wide accesses are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, Array, check_tools, compiled, empty, fresh_seed, random, run, tile


def spread(name: str, value: str, element: str, shape: tuple[int, ...]) -> str:
    """Ops that make %name a tile of that shape of a scalar."""
    ones = tile(element, (1,) * len(shape))
    return (
        f"%{name}U = reshape {value} : {tile(element, ())} -> {ones}\n"
        f"%{name} = broadcast %{name}U : {ones} -> {tile(element, shape)}\n"
    )


def line(name: str, axis: int, shape: tuple[int, ...], index: str = "i32") -> str:
    """Ops that make %name the coordinates of a tile along an axis."""
    size = shape[axis]
    along = tuple(size if d == axis else 1 for d in range(len(shape)))
    return (
        f"%{name}I = iota : {tile(index, (size,))}\n"
        f"%{name}U = reshape %{name}I : {tile(index, (size,))} -> {tile(index, along)}\n"
        f"%{name} = broadcast %{name}U : {tile(index, along)} -> {tile(index, shape)}\n"
    )


def entry(parameters: str, body: str) -> str:
    return f"entry @kernel({parameters}) {{\n{body}return\n}}\n"


def rng() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


def accesses(text: str, target: str = "sm_80") -> list[str]:
    """The loads and stores of a program's PTX: their vectors and types."""
    return re.findall(r"\b(?:ld|st)\.global\.(\S+)", compiled(text, target).ptx)


# -- rows of elements


def ragged(element: str, size: int, aligned: int = 0, divisor: int = 1) -> str:
    """out[i] = in[i] for i < n, a block of `size` elements a tile block; what is read beyond is replaced by 1."""
    pointers, moved = tile(f"ptr<{element}>", (size,)), tile(element, (size,))
    body = "%x, %y, %z = get_tile_block_id : tile<i32>\n"
    for name in "io":
        body += (
            f"%{name}A = assume div_by<{aligned}>, %{name} : tile<ptr<{element}>>\n"
            if aligned
            else f"%{name}Z = constant <i32: 0> : tile<i32>\n"
            f"%{name}A = offset %{name}, %{name}Z : tile<ptr<{element}>>, tile<i32> -> tile<ptr<{element}>>\n"
        )
    body += f"""%m = assume div_by<{divisor}>, %n : tile<i32>
%size = constant <i32: {size}> : tile<i32>
%start = muli %x, %size : tile<i32>
{spread("s", "%start", "i32", (size,))}{line("l", 0, (size,))}
%j = addi %s, %l : tile<{size}xi32>
{spread("b", "%m", "i32", (size,))}
%mask = cmpi less_than %j, %b, signed : tile<{size}xi32> -> tile<{size}xi1>
{spread("p", "%iA", f"ptr<{element}>", (size,))}
{spread("q", "%oA", f"ptr<{element}>", (size,))}
%ps = offset %p, %j : {pointers}, tile<{size}xi32> -> {pointers}
%qs = offset %q, %j : {pointers}, tile<{size}xi32> -> {pointers}
%pad = constant <{element}: {"1" if element.startswith("i") else "1.0"}> : tile<{size}x{element}>
%v, %t = load_ptr_tko weak %ps, %mask, %pad : {pointers}, tile<{size}xi1>, {moved} -> {moved}, token
%u = store_ptr_tko weak %qs, %v : {pointers}, {moved} -> token
"""
    return entry(f"%i: tile<ptr<{element}>>, %o: tile<ptr<{element}>>, %n: tile<i32>", body)


ELEMENTS = ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "tf32", "f32", "f64", "f8E4M3FN", "f8E5M2"]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("aligned", [0, 16], ids=["anywhere", "aligned"])
def test_a_ragged_row_is_padded(element: str, aligned: int) -> None:
    given = random(element, (208,), rng())
    text = ragged(element, 128, aligned, 16 if aligned else 1)
    got = run(text, given, empty(element, (256,)), np.int32(208), grid=(2,))[1]
    assert got[:208].tobytes() == given.tobytes()
    assert len(set(got[208:].tolist())) == 1
    assert not (got[208:] == empty(element, (1,))).any()


@pytest.mark.parametrize(
    ("element", "size", "aligned", "divisor", "found"),
    [
        ("f32", 512, 16, 4, "v4.b32"),
        ("f32", 512, 8, 4, "v2.b32"),
        ("f32", 512, 16, 2, "v2.b32"),
        ("f32", 512, 16, 1, "b32"),
        ("f32", 512, 0, 4, "b32"),
        ("f64", 512, 16, 64, "v2.b64"),
        ("f16", 1024, 16, 8, "v4.b32"),
        ("i8", 2048, 16, 16, "v4.b32"),
        ("i8", 2048, 4, 16, "b32"),
    ],
)
def test_loads_are_as_wide_as_is_known_to_be_legal(
    element: str, size: int, aligned: int, divisor: int, found: str
) -> None:
    text = ragged(element, size, aligned, divisor)
    assert accesses(text)[0] == found


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_takes_rows(target: str) -> None:
    text = ragged("f16", 1024, 16, 8)
    given = random("f16", (1000,), rng())
    got = run(text, given, empty("f16", (1024,)), np.int32(1000), target=target)[1]
    assert got[:1000].tobytes() == given.tobytes()
    check_tools(text, target)


# -- gather and scatter


def gather(element: str, index: str, size: int, store: bool) -> str:
    """out[i] = in[index[i]], or out[index[i]] = in[i]."""
    indices, moved = tile(index, (size,)), tile(element, (size,))
    pointers, ones = tile(f"ptr<{element}>", (size,)), tile(f"ptr<{index}>", (size,))
    source, dest = ("%q", "%far") if store else ("%far", "%q")
    body = f"""{line("l", 0, (size,))}
{spread("p", "%i", f"ptr<{element}>", (size,))}{spread("o", "%d", f"ptr<{element}>", (size,))}
{spread("r", "%x", f"ptr<{index}>", (size,))}
%rs = offset %r, %l : {ones}, tile<{size}xi32> -> {ones}
%k, %t = load_ptr_tko weak %rs : {ones} -> {indices}, token
%q = offset {"%p" if store else "%o"}, %l : {pointers}, tile<{size}xi32> -> {pointers}
%far = offset {"%o" if store else "%p"}, %k : {pointers}, {indices} -> {pointers}
%v, %u = load_ptr_tko weak {source} : {pointers} -> {moved}, token
%w = store_ptr_tko weak {dest}, %v : {pointers}, {moved} -> token
"""
    return entry(f"%i: tile<ptr<{element}>>, %x: tile<ptr<{index}>>, %d: tile<ptr<{element}>>", body)


@pytest.mark.parametrize("index", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("store", [False, True], ids=["gather", "scatter"])
def test_elements_anywhere(index: str, store: bool) -> None:
    generator = rng()
    given = random("f32", (64,), generator)
    places = generator.permutation(64).astype(f"int{index[1:]}")
    got = run(gather("f32", index, 64, store), given, places, empty("f32", (64,)))[2]
    expected = np.empty_like(given)
    if store:
        expected[places] = given
    else:
        expected = given[places]
    assert got.tobytes() == expected.tobytes()


def test_offsets_are_signed() -> None:
    text = entry(
        "%i: tile<ptr<i16>>, %o: tile<ptr<i16>>",
        """%c = constant <i8: [5, 6, 7, 8]> : tile<4xi8>
%b = constant <i8: -5> : tile<i8>
%n = constant <i32: 10> : tile<i32>
%p = offset %i, %n : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
%m = offset %p, %b : tile<ptr<i16>>, tile<i8> -> tile<ptr<i16>>
%z = constant <i8: [-1, -2, -3, -4]> : tile<4xi8>
"""
        + spread("q", "%m", "ptr<i16>", (4,))
        + spread("r", "%o", "ptr<i16>", (4,))
        + """%s = offset %q, %z : tile<4xptr<i16>>, tile<4xi8> -> tile<4xptr<i16>>
%t = offset %r, %c : tile<4xptr<i16>>, tile<4xi8> -> tile<4xptr<i16>>
%v, %k = load_ptr_tko weak %s : tile<4xptr<i16>> -> tile<4xi16>, token
%w = store_ptr_tko weak %t, %v : tile<4xptr<i16>>, tile<4xi16> -> token
""",
    )
    got = run(text, np.arange(10, 20, dtype=np.int16), np.zeros(9, np.int16))[1]
    assert got.tolist() == [0, 0, 0, 0, 0, 14, 13, 12, 11]


# -- scalars


@pytest.mark.parametrize("ordering", ["weak", "relaxed device"])
def test_a_scalar_under_a_mask(ordering: str) -> None:
    text = entry(
        "%i: tile<ptr<f32>>, %o: tile<ptr<f32>>, %c: tile<i1>",
        f"""%pad = constant <f32: 5.0> : tile<f32>
%v, %t = load_ptr_tko {ordering} %i, %c, %pad : tile<ptr<f32>>, tile<i1>, tile<f32> -> tile<f32>, token
%one = constant <i32: 1> : tile<i32>
%u = store_ptr_tko {ordering} %o, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
%q = offset %o, %one : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
%w = store_ptr_tko {ordering} %q, %v, %c token=%u : tile<ptr<f32>>, tile<f32>, tile<i1> -> token
""",
    )
    for condition, expected in ((1, [3.0, 3.0]), (0, [5.0, 7.0])):
        got = run(text, np.full(1, 3, np.float32), np.full(2, 7, np.float32), np.bool_(condition))[1]
        assert got.tolist() == expected


# -- tiles of higher rank


def block(element: str, shape: tuple[int, int], strides: tuple[int, int], mask: str = "") -> str:
    """out = in, both with these strides, in one tile whose coordinates are multiplied with the strides."""
    pointers, indices = tile(f"ptr<{element}>", shape), tile("i32", shape)
    moved = tile(element, shape)
    body = line("r", 0, shape) + line("c", 1, shape)
    body += f"%ia = assume div_by<16>, %i : tile<ptr<{element}>>\n%oa = assume div_by<16>, %o : tile<ptr<{element}>>\n"
    for name, stride in (("r", strides[0]), ("c", strides[1])):
        body += f"%{name}S = constant <i32: {stride}> : {indices}\n%{name}M = muli %{name}, %{name}S : {indices}\n"
    body += f"""%at = addi %rM, %cM : {indices}
{spread("p", "%ia", f"ptr<{element}>", shape)}{spread("q", "%oa", f"ptr<{element}>", shape)}
%ps = offset %p, %at : {pointers}, {indices} -> {pointers}
%qs = offset %q, %at : {pointers}, {indices} -> {pointers}
%v, %t = load_ptr_tko weak %ps : {pointers} -> {moved}, token
%u = store_ptr_tko weak %qs, %v : {pointers}, {moved} -> token
"""
    return entry(f"%i: tile<ptr<{element}>>, %o: tile<ptr<{element}>>", body)


@pytest.mark.parametrize(
    ("shape", "strides", "found"),
    [
        ((16, 64), (64, 1), "v4.b32"),
        ((64, 16), (1, 64), "v4.b32"),
        ((64, 16), (1, 66), "v2.b32"),
        ((16, 64), (65, 1), "b32"),
        ((32, 32), (66, 2), "b32"),
    ],
)
def test_rows_and_columns(shape: tuple[int, int], strides: tuple[int, int], found: str) -> None:
    text = block("f32", shape, strides)
    assert set(accesses(text)) == {found}
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    given, out = random("f32", (size,), rng()), empty("f32", (size,))
    expected = out.copy()
    places = np.add.outer(np.arange(shape[0]) * strides[0], np.arange(shape[1]) * strides[1])
    expected[places] = given[places]
    assert run(text, given, out)[1].tobytes() == expected.tobytes()


def rearranged(ops: str, result: tuple[int, ...]) -> str:
    """out = what is at the pointers %e, which `ops` make of the 8x16 row-major pointers %ps."""
    shape = (8, 16)
    pointers, last = tile("ptr<i32>", shape), tile("ptr<i32>", result)
    count = int(np.prod(result))
    body = line("r", 0, shape) + line("c", 1, shape)
    body += f"""%rS = constant <i32: 16> : tile<8x16xi32>
%rM = muli %r, %rS : tile<8x16xi32>
%at = addi %rM, %c : tile<8x16xi32>
{spread("p", "%i", "ptr<i32>", shape)}%ps = offset %p, %at : {pointers}, tile<8x16xi32> -> {pointers}
{ops}
%v, %t = load_ptr_tko weak %e : {last} -> {tile("i32", result)}, token
%f = reshape %v : {tile("i32", result)} -> {tile("i32", (count,))}
{line("l", 0, (count,))}{spread("q", "%o", "ptr<i32>", (count,))}
%qs = offset %q, %l : {tile("ptr<i32>", (count,))}, {tile("i32", (count,))} -> {tile("ptr<i32>", (count,))}
%u = store_ptr_tko weak %qs, %f : {tile("ptr<i32>", (count,))}, {tile("i32", (count,))} -> token
"""
    return entry("%i: tile<ptr<i32>>, %o: tile<ptr<i32>>", body)


P = "tile<8x16xptr<i32>>"
REARRANGED: dict[str, tuple[str, Any]] = {
    "permute": (f"%e = permute %ps [1, 0] : {P} -> tile<16x8xptr<i32>>", lambda x: x.T),
    "reshape": (f"%e = reshape %ps : {P} -> tile<4x2x16xptr<i32>>", lambda x: x.reshape(4, 2, 16)),
    "cat": (
        f"%e = cat %ps, %ps dim = 0 : {P}, {P} -> tile<16x16xptr<i32>>",
        lambda x: np.concatenate([x, x]),
    ),
    "extract": (
        f"%k = constant <i32: 1> : tile<i32>\n%e = extract %ps[%k, %k] : {P} -> tile<4x8xptr<i32>>",
        lambda x: x[4:, 8:],
    ),
    "select": (
        "%h = constant <i32: 5> : tile<8x16xi32>\n"
        "%m = cmpi less_than %r, %h, signed : tile<8x16xi32> -> tile<8x16xi1>\n"
        f"%e = select %m, %ps, %p : tile<8x16xi1>, {P}",
        lambda x: np.where(np.arange(8)[:, None] < 5, x, x[0, 0]),
    ),
    "integers": (
        f"%n = ptr_to_int %ps : {P} -> tile<8x16xi64>\n%k = constant <i64: 4> : tile<8x16xi64>\n"
        f"%s = subi %n, %k : tile<8x16xi64>\n%g = constant <i32: 1> : tile<8x16xi32>\n"
        f"%w = int_to_ptr %s : tile<8x16xi64> -> {P}\n%e = offset %w, %g : {P}, tile<8x16xi32> -> {P}",
        lambda x: x,
    ),
    "other pointees": (
        f"%b = ptr_to_ptr %ps : {P} -> tile<8x16xptr<i8>>\n%k = constant <i32: 4> : tile<8x16xi32>\n"
        "%s = offset %b, %k : tile<8x16xptr<i8>>, tile<8x16xi32> -> tile<8x16xptr<i8>>\n"
        f"%w = ptr_to_ptr %s : tile<8x16xptr<i8>> -> {P}\n%g = constant <i32: -1> : tile<8x16xi32>\n"
        f"%e = offset %w, %g : {P}, tile<8x16xi32> -> {P}",
        lambda x: x,
    ),
}


@pytest.mark.parametrize("name", REARRANGED)
def test_pointers_move_as_any_element(name: str) -> None:
    ops, expected = REARRANGED[name]
    given = np.arange(128, dtype=np.int32).reshape(8, 16)
    wanted: Array = expected(given)
    got = run(rearranged(ops, wanted.shape), given, empty("i32", (wanted.size,)))[1]
    assert got.tolist() == wanted.reshape(-1).tolist()


# -- loops and order


def test_pointers_that_a_loop_moves_on_stay_wide() -> None:
    size, steps = 512, 5
    pointers = tile("ptr<f32>", (size,))
    text = entry(
        "%i: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i32>",
        f"""%ia = assume div_by<16>, %i : tile<ptr<f32>>
{spread("p", "%ia", "ptr<f32>", (size,))}{spread("q", "%o", "ptr<f32>", (size,))}{line("l", 0, (size,))}
%ps = offset %p, %l : {pointers}, tile<{size}xi32> -> {pointers}
%qs = offset %q, %l : {pointers}, tile<{size}xi32> -> {pointers}
%step = constant <i32: {size}> : tile<{size}xi32>
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%none = constant <f32: 0.0> : tile<{size}xf32>
%sum, %end = for %k in (%zero to %n, step %one) : tile<i32>
    iter_values(%s = %none, %at = %ps) -> (tile<{size}xf32>, {pointers}) {{
  %v, %t = load_ptr_tko weak %at : {pointers} -> tile<{size}xf32>, token
  %w = addf %s, %v : tile<{size}xf32>
  %next = offset %at, %step : {pointers}, tile<{size}xi32> -> {pointers}
  continue %w, %next : tile<{size}xf32>, {pointers}
}}
%u = store_ptr_tko weak %qs, %sum : {pointers}, tile<{size}xf32> -> token
""",
    )
    given = random("f32", (steps, size), rng())
    got = run(text, given, empty("f32", (size,)), np.int32(steps))[1]
    expected = np.zeros(size, np.float32)
    for row in given:
        expected += row
    assert got.tobytes() == expected.tobytes()
    assert "v4.b32" in accesses(text)


def test_a_load_sees_what_the_tokens_put_before_it() -> None:
    size = 256
    pointers = tile("ptr<i32>", (size,))
    text = entry(
        "%i: tile<ptr<i32>>, %o: tile<ptr<i32>>",
        f"""{spread("p", "%i", "ptr<i32>", (size,))}{spread("q", "%o", "ptr<i32>", (size,))}{line("l", 0, (size,))}
%last = constant <i32: {size - 1}> : tile<{size}xi32>
%back = subi %last, %l : tile<{size}xi32>
%ps = offset %p, %l : {pointers}, tile<{size}xi32> -> {pointers}
%rs = offset %p, %back : {pointers}, tile<{size}xi32> -> {pointers}
%qs = offset %q, %l : {pointers}, tile<{size}xi32> -> {pointers}
%t0 = store_ptr_tko weak %ps, %l : {pointers}, tile<{size}xi32> -> token
%v, %t1 = load_ptr_tko weak %rs token=%t0 : {pointers} -> tile<{size}xi32>, token
%t2 = store_ptr_tko weak %qs, %v token=%t1 : {pointers}, tile<{size}xi32> -> token
""",
    )
    got = run(text, empty("i32", (size,)), empty("i32", (size,)))[1]
    assert got.tolist() == list(range(size))[::-1]


def test_any_byte_but_zero_is_true() -> None:
    text = gather("i1", "i32", 16, store=False)
    given = np.array([0, 1, 2, 128, 255, 0, 3, 16] * 2, np.uint8)
    got = run(text, given, np.arange(16, dtype=np.int32), empty("i1", (16,)))[2]
    assert got.tolist() == (given != 0).astype(int).tolist()


# -- a matrix product through pointers


def product(m: int, n: int, k: int) -> str:
    """c = a · b for any extents, row by row, in tiles of m x n and steps of k; what lies behind the end is 0."""

    def grid(name: str, rows: str, columns: str, shape: tuple[int, int], pitch: str) -> str:
        """%nameP, %nameM: the addresses %name + row · pitch + column, and where row and column lie inside."""
        indices = tile("i32", shape)
        pointers = tile("ptr<f16>" if name != "c" else "ptr<f32>", shape)
        text = ""
        for what, value, axis in (("R", rows, 0), ("C", columns, 1)):
            along = tuple(size if d == axis else 1 for d, size in enumerate(shape))
            text += (
                f"%{name}{what}1 = reshape {value} : {tile('i32', (shape[axis],))} -> {tile('i32', along)}\n"
            )
            text += f"%{name}{what} = broadcast %{name}{what}1 : {tile('i32', along)} -> {indices}\n"
        text += spread(f"{name}S", pitch, "i32", shape)
        text += f"%{name}X = muli %{name}R, %{name}S : {indices}\n%{name}O = addi %{name}X, %{name}C : {indices}\n"
        text += spread(f"{name}B", f"%{name}", "ptr<f16>" if name != "c" else "ptr<f32>", shape)
        return text + f"%{name}P = offset %{name}B, %{name}O : {pointers}, {indices} -> {pointers}\n"

    def inside(name: str, tensor: str, what: str, bound: str, shape: tuple[int, int]) -> str:
        indices, flags = tile("i32", shape), tile("i1", shape)
        text = spread(f"{name}N", bound, "i32", shape)
        return text + f"%{name} = cmpi less_than %{tensor}{what}, %{name}N, signed : {indices} -> {flags}\n"

    a, b, c = (m, k), (k, n), (m, n)
    body = "%x, %y, %z = get_tile_block_id : tile<i32>\n"
    for name, size, start in (("m", m, "%x"), ("n", n, "%y")):
        body += (
            f"%{name}T = constant <i32: {size}> : tile<i32>\n%{name}0 = muli {start}, %{name}T : tile<i32>\n"
        )
        body += spread(f"{name}S", f"%{name}0", "i32", (size,)) + line(f"{name}L", 0, (size,))
        body += f"%{name}I = addi %{name}S, %{name}L : {tile('i32', (size,))}\n"
    body += f"""%zero = constant <i32: 0> : tile<i32>
%step = constant <i32: {k}> : tile<i32>
%none = constant <f32: 0.0> : {tile("f32", c)}
%az = constant <f16: 0.0> : {tile("f16", a)}
%bz = constant <f16: 0.0> : {tile("f16", b)}
%sum = for %k0 in (%zero to %K, step %step) : tile<i32> iter_values(%s = %none) -> ({tile("f32", c)}) {{
{spread("kS", "%k0", "i32", (k,))}{line("kL", 0, (k,))}
%kI = addi %kS, %kL : {tile("i32", (k,))}
{grid("a", "%mI", "%kI", a, "%K")}{grid("b", "%kI", "%nI", b, "%N")}
{inside("aM", "a", "R", "%M", a)}{inside("aK", "a", "C", "%K", a)}%aI = andi %aM, %aK : {tile("i1", a)}
{inside("bK", "b", "R", "%K", b)}{inside("bN", "b", "C", "%N", b)}%bI = andi %bK, %bN : {tile("i1", b)}
%av, %at = load_ptr_tko weak %aP, %aI, %az : {tile("ptr<f16>", a)}, {tile("i1", a)}, {tile("f16", a)} -> {tile("f16", a)}, token
%bv, %bt = load_ptr_tko weak %bP, %bI, %bz : {tile("ptr<f16>", b)}, {tile("i1", b)}, {tile("f16", b)} -> {tile("f16", b)}, token
%w = mmaf %av, %bv, %s : {tile("f16", a)}, {tile("f16", b)}, {tile("f32", c)}
continue %w : {tile("f32", c)}
}}
{grid("c", "%mI", "%nI", c, "%N")}
{inside("cM", "c", "R", "%M", c)}{inside("cN", "c", "C", "%N", c)}%cI = andi %cM, %cN : {tile("i1", c)}
%u = store_ptr_tko weak %cP, %sum, %cI : {tile("ptr<f32>", c)}, {tile("f32", c)}, {tile("i1", c)} -> token
"""  # noqa: E501
    return entry(
        "%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %M: tile<i32>, %N: tile<i32>, %K: tile<i32>",
        body,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_matrix_product_through_pointers(target: str) -> None:
    text = product(32, 64, 32)
    m, n, k = 40, 100, 70
    generator = rng()
    a, b = random("f16", (m, k), generator), random("f16", (k, n), generator)
    got = run(text, a, b, empty("f32", (m, n)), *map(np.int32, (m, n, k)), target=target, grid=(2, 2))[2]
    np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-3)
    check_tools(text, target)


def test_what_a_mask_leaves_open_decides_nothing() -> None:
    shape = (64,)
    text = entry(
        "%x: tile<ptr<i32>>, %i: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i32>",
        f"""{line("l", 0, shape)}{spread("b", "%n", "i32", shape)}
%m = cmpi less_than %l, %b, signed : tile<64xi32> -> tile<64xi1>
{spread("xp", "%x", "ptr<i32>", shape)}{spread("ip", "%i", "ptr<f32>", shape)}{spread("op", "%o", "ptr<f32>", shape)}
%xs = offset %xp, %l : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
%k, %t = load_ptr_tko weak %xs, %m : tile<64xptr<i32>>, tile<64xi1> -> tile<64xi32>, token
%h = cmpi less_than %k, %b, signed : tile<64xi32> -> tile<64xi1>
%g = andi %h, %m : tile<64xi1>
%is = offset %ip, %k : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
%z = constant <f32: 0.0> : tile<64xf32>
%v, %u = load_ptr_tko weak %is, %g, %z : tile<64xptr<f32>>, tile<64xi1>, tile<64xf32> -> tile<64xf32>, token
%os = offset %op, %l : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
%w = store_ptr_tko weak %os, %v : tile<64xptr<f32>>, tile<64xf32> -> token
""",
    )
    places = rng().integers(0, 60, 40, dtype=np.int32)
    given = np.arange(1, 41, dtype=np.float32)
    expected = np.zeros(64, np.float32)
    expected[:40] = np.where(places < 40, given[np.minimum(places, 39)], 0)
    assert run(text, places, given, empty("f32", shape), np.int32(40))[2].tolist() == expected.tolist()


def test_what_is_known_of_a_product_makes_it_wide() -> None:
    head, body = product(64, 64, 32).split("{\n", 1)
    assumed = ""
    for name, divisor, kind in (
        ("a", 16, "ptr<f16>"), ("b", 16, "ptr<f16>"), ("c", 16, "ptr<f32>"), ("N", 8, "i32"), ("K", 8, "i32"),
    ):  # fmt: skip
        assumed += f"%{name}A = assume div_by<{divisor}>, %{name} : tile<{kind}>\n"
        body = re.sub(rf"%{name}(?![A-Za-z0-9_])", f"%{name}A", body)
    text = f"{head}{{\n{assumed}{body}"
    found = re.findall(r"\bld\.global\.(\S+)", compiled(text).ptx)
    assert set(found) == {"v4.b32"}
    m, n, k = 70, 104, 72
    generator = rng()
    a, b = random("f16", (m, k), generator), random("f16", (k, n), generator)
    got = run(text, a, b, empty("f32", (m, n)), *map(np.int32, (m, n, k)), grid=(2, 2))[2]
    np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-3)


def test_pointers_out_of_a_table_go_from_thread_to_thread() -> None:
    shape, turned = (32, 64), (64, 32)
    p, q = tile("ptr<f32>", shape), tile("ptr<f32>", turned)
    text = entry(
        "%t: tile<ptr<i64>>, %i: tile<ptr<f32>>, %o: tile<ptr<f32>>",
        f"""{line("r", 0, shape)}{line("c", 1, shape)}{line("r2", 0, turned)}{line("c2", 1, turned)}
%k = constant <i32: 64> : tile<32x64xi32>
%rm = muli %r, %k : tile<32x64xi32>
%at = addi %rm, %c : tile<32x64xi32>
{spread("tp", "%t", "ptr<i64>", shape)}{spread("ip", "%i", "ptr<f32>", shape)}{spread("op", "%o", "ptr<f32>", turned)}
%ts = offset %tp, %at : tile<32x64xptr<i64>>, tile<32x64xi32> -> tile<32x64xptr<i64>>
%v, %x = load_ptr_tko weak %ts : tile<32x64xptr<i64>> -> tile<32x64xi64>, token
%is = offset %ip, %v : {p}, tile<32x64xi64> -> {p}
%it = permute %is [1, 0] : {p} -> {q}
%w, %y = load_ptr_tko weak %it : {q} -> tile<64x32xf32>, token
%k2 = constant <i32: 32> : tile<64x32xi32>
%rm2 = muli %r2, %k2 : tile<64x32xi32>
%at2 = addi %rm2, %c2 : tile<64x32xi32>
%os = offset %op, %at2 : {q}, tile<64x32xi32> -> {q}
%z = store_ptr_tko weak %os, %w : {q}, tile<64x32xf32> -> token
""",
    )
    generator = rng()
    table = generator.integers(0, 500, shape, dtype=np.int64)
    given = random("f32", (500,), generator)
    got = run(text, table, given, empty("f32", turned))[2]
    assert got.tobytes() == np.ascontiguousarray(given[table].T).tobytes()
