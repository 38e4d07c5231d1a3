"""Each statement that a kernel cannot have: the message, and the part of the source at which it points."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools.dsl import constexpr, f32, kernel, load, ptr, store

SOURCE = """
import math

import tessera_tools.dsl as tl
from tessera_tools.dsl import *

@kernel
def other(x: ptr[f32]):
    store(x, 1.0)

def endless(n):
    return endless(n)

def listed(*numbers):
    return numbers

@kernel
def k(x: ptr[f32], n: i32):
    p = x + arange(4)
    v = load(p)
    t = make_tensor_view(x, [64])
    w = make_partition_view(t, tile=(32,))
    BODY
"""


def refused(path: Path, body: str) -> tuple[str, str]:
    """The message for a kernel with the statements, and the rest of the line from its place."""
    path.write_text(SOURCE.replace("BODY", body.replace("\n", "\n    ")))
    with pytest.raises(tt.DiagnosticError) as found:
        tt.compile(runpy.run_path(str(path))["k"], "sm_80")
    diagnostic = found.value.diagnostics[0]
    assert diagnostic.location is not None
    place = diagnostic.location.start()
    assert place is not None and place[0] == str(path)
    return diagnostic.message, path.read_text().split("\n")[place[1] - 1][place[2] - 1 :]


@kernel
def any_number(x: ptr[f32], *rest: ptr[f32]):
    store(x, 1.0)


@kernel
def scaled(x: ptr[f32], factor: constexpr):
    store(x, load(x) * factor + 1.0)


ONES = np.ones(4, np.float32)

EXPRESSIONS = [
    ("a = b'text'", "b'text'", "found b'text', expected a number or text"),
    ("max(*n)", "n)", "found a tile<i32>, expected a tuple or a list"),
    ("constant({**{}}, f32)", "{**{}}", "'**' is not supported in dictionaries"),
    ("f'{v}'", "f'{v}'", "a tile<4xf32> is not known when the kernel is compiled; print it with a format"),
    ("f'{(v, 1)}'", "f'{", "a tile<4xf32> is not known when the kernel is compiled; print it with a format"),
    (
        "str([1, {2: n}])",
        "str(",
        "a tile<i32> is not known when the kernel is compiled; print it with a format",
    ),
    ("'%s' % v", "'%s'", "a tile<4xf32> is not known when the kernel is compiled; print it with a format"),
    (
        "'%s %s' % (n, 1)",
        "'%s",
        "a tile<i32> is not known when the kernel is compiled; print it with a format",
    ),
    (
        "reduce((v, n), 0, lambda a, b: a, (0.0, 0))",
        "reduce(",
        "found (tile<4xf32>, tile<i32>), expected tiles of one shape, of one dimension or more",
    ),
    ("reduce((v, v), 0, lambda a, b: a, 0.0)", "reduce(", "found 0.0 for 2 tiles, expected a tuple of 2"),
    (
        "reduce((v, v), 0, lambda a, b: a[0], (0.0, 0.0))",
        "reduce(",
        "found a tile<f32> for 2 tiles, expected a tuple of 2",
    ),
    (
        "n if n > 0 else v",
        "n if",
        "the value is a tile<i32> on one side of the 'if' and a tile<4xf32> on the other; expected one type",
    ),
    (
        "store(p, (v, n) if n > 0 else (v, 1))",
        "(v, n) if",
        "the sides of the 'if' in line 23 assign (tile<4xf32>, tile<i32>) and (tile<4xf32>, 1); only tiles and numbers "
        "are merged",
    ),
    ("n in (1, 2)", "n in", "'n in (1, 2)' is not known when the kernel is compiled"),
    ("1 < 'a'", "1 <", "found 1 and 'a', which cannot be compared"),
    ("v.__class__", "v.__class__", "the private attribute '__class__' cannot be used in kernels"),
    (
        "(1, 2)[n]",
        "(1, 2)[n]",
        "found a tile<i32> as an index, expected a number that is known at compile time",
    ),
    ("t[0]", "t[0]", "a tensor_view<64xf32, strides=[1]> has no parts by index; expected a tile"),
    ("zeros(**{})", "zeros(", "'**' is not supported in calls"),
    ("f32(1, 2)", "f32(", "f32() takes one tile or number"),
    ("int(v)", "int(", "a tile<4xf32> is converted by .to(i32)"),
    ("float(v)", "float(", "a tile<4xf32> is converted by .to(f32)"),
    ("len(v)", "len(", "len() of a tile<4xf32> is not known when the kernel is compiled"),
    ("math.exp(v)", "math.exp(", "math.exp() of a tile; use exp() of tessera_tools.dsl"),
    ("other(x)", "other(", "'other' is a kernel; a kernel calls only functions without @kernel"),
    ("endless(1)", "endless(", "calls are nested more than 64 deep; recursion is not supported"),
    ("listed(1)", "listed(", "'listed' has '*' or '**' parameters, which are not supported"),
    ("'a' * 10000000", "'a' *", "10000000 repetitions are too many"),
    ("max(v, v, key=1)", "max(", "max() of several values takes no keywords"),
    ("program_id(3)", "program_id(", "found 3 as an axis, expected a number from 0 to 2"),
    ("num_programs(n)", "num_programs(", "found a tile<i32> as an axis, expected a number from 0 to 2"),
    (
        "make_tensor_view(n, [4])",
        "make_tensor_view(",
        "found a tile<i32> as the base of a tensor, expected a pointer or an array",
    ),
    (
        "make_partition_view(w, tile=(4,))",
        "make_partition_view(",
        "found a partition_view<tile=(32), padding_value = zero, tensor_view<64xf32, strides=[1]>> as the base of "
        "a tensor, expected a pointer or an array",
    ),
    (
        "make_tensor_view(x)",
        "make_tensor_view(",
        "a tensor at a pointer has a shape: make_tensor_view(pointer, [m, n])",
    ),
    ("make_tensor_view(x, [1.5])", "make_tensor_view(", "found 1.5 in the shape, expected an integer"),
    (
        "make_tensor_view(x, [4], [True])",
        "make_tensor_view(",
        "found True in the strides, expected an integer",
    ),
    (
        "make_partition_view(t, [4], tile=(4,))",
        "make_partition_view(",
        "a tensor has a shape and strides already",
    ),
    (
        "make_partition_view(t)",
        "make_partition_view(",
        "found no extents as tile=, expected numbers that are known at compile time",
    ),
    (
        "make_partition_view(t, tile=(n,))",
        "make_partition_view(",
        "found (tile<i32>,) as tile=, expected numbers that are known at compile time",
    ),
    (
        "num_tiles(t)",
        "num_tiles(",
        "found a tensor_view<64xf32, strides=[1]>, expected a view of a tensor as tiles",
    ),
    (
        "load(w, 0, mask=v > 0)",
        "load(",
        "the load of a view has no mask=; its padding says what is out of bounds",
    ),
    ("load(p, 0)", "load(", "a load through pointers has no index; add it to the pointers"),
    ("load(n)", "load(", "found a tile<i32>, expected a view or a tile of pointers"),
    (
        "load(t, 0)",
        "load(",
        "found a tensor_view<64xf32, strides=[1]>, expected a view of it as tiles, as make_partition_view makes",
    ),
    ("store(w, v)", "store(", "expected store(view, index, tile)"),
    (
        "store(t, 0, v)",
        "store(",
        "found a tensor_view<64xf32, strides=[1]>, expected a view of a tensor as tiles",
    ),
    ("store(p, 0, v)", "store(", "expected store(pointers, tile)"),
    ("zeros((4, 4))", "zeros(", "found the shape (4, 4), expected a dtype too, as in zeros((128, 64), f32)"),
    ("constant([1, 2, 3], tile[4, i32])", "constant(", "found 3 numbers, expected 1 or 4 for a tile<4xi32>"),
    (
        "constant([n], tile[1, i32])",
        "constant(",
        "found a tile<i32>, expected numbers that are known at compile time",
    ),
    ("arange(n)", "arange(", "found a tile<i32>, expected a number that is known at compile time"),
    ("addf(v, v, v, v, v, v, v)", "addf(", "addf() takes at most 3 positional arguments, found 7"),
    (
        "load(w, 0, volatil=1)",
        "load(",
        "load_view_tko() has no parameter 'volatil'; expected one of inbounds, index, memory_ordering_semantics, "
        "memory_scope, optimization_hints, token, view",
    ),
    ("addf(v, None)", "addf(", "addf() misses the argument 'rhs'"),
    (
        "bitcast(v)",
        "bitcast(",
        "bitcast() misses the type of its result, tile of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or "
        "f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values; give it as result=",
    ),
    (
        "v.to('nothing')",
        "v.to(",
        "'nothing' is not a type: unknown type '!cuda_tile.nothing' in dialect 'cuda_tile'",
    ),
    ("reshape('a', 4)", "reshape(", "found 'a', expected a tile or a number"),
    (
        "zeros(tile[4, f16]) + zeros(tile[4, bf16])",
        "zeros(",
        "found elements of f16 and bf16, which have no common type; convert one with .to()",
    ),
    ("store(p, zeros(tile[8, f32]))", "store(", "a tile<8xf32> cannot be broadcast to the shape (4,)"),
    ("p.to(i32)", "p.to(", "a tile<4xptr<f32>> cannot be converted to i32; use ptr_to_ptr or ptr_to_int"),
    ("p * 2", "p * 2", "'*' of a tile<4xptr<f32>> and 2; pointers are moved by '+' and '-'"),
    ("v & 1", "v & 1", "'&' of a tile<4xf32> and 1; expected integers"),
    ("p + 1.5", "p + 1.5", "a tile<4xptr<f32>> is moved by a tile<f32>; expected integers"),
    ("v < 'a'", "v <", "found a tile<4xf32> and 'a', which cannot be compared"),
    ("where(v, v, v)", "where(", "found a tile<4xf32> as a condition, expected a tile of i1"),
    ("v.T", "v.T", "a tile<4xf32> has no transpose; expected two dimensions or more"),
    ("v.permute(1)", "v.permute(", "found the order (1,), expected each of the 1 dimensions once"),
    ("v.reshape(n, 2)", "v.reshape(", "found a tile<i32>, expected a number that is known at compile time"),
    ("v @ v", "v @ v", "found a tile<4xf32> as a factor of a product, expected a matrix"),
    (
        "v[0]",
        "v[0]",
        "found 0 as an index of a tile<4xf32>; only ':' and None are supported, and extract() for parts",
    ),
    ("tl.range(10)", "tl.range(", "range() is only supported in 'for … in range(…)'"),
    ("a = range(100000000)", "range(", "100000000 numbers are too many at compile time"),
    (
        "reduce(n, 0, lambda a, b: a + b, 0)",
        "reduce(",
        "found a tile<i32>, expected a tile of one dimension or more",
    ),
    ("where(v > 0, v, 'a')", "where(", "found 'a', expected a tile or a number"),
    ("max([v, 1.0])", "max(", "a tile<4xi1> has no truth value while the kernel is compiled"),
    (
        "make_partition_view(t, tile=(32,), dim_map=v)",
        "make_partition_view(",
        "a tile<4xf32> cannot be iterated or unpacked",
    ),
    (
        "load(w, 0, optimization_hints={'sm_80': v})",
        "load(",
        "found a tile<4xf32>, expected a number, text or a dictionary",
    ),
    (
        "load(w, 0, optimization_hints='optimization_hints<sm_80')",
        "load(",
        "'optimization_hints<sm_80' is not an attribute: expected '=', found end of file",
    ),
]

STATEMENTS = [
    ("v[0] += 1", "v[0] +=", "found an assignment to a part, expected a variable"),
    ("a, b = n", "a, b", "found a tile<i32>, expected 2 values"),
    ("a, *b = 1, 2, 3", "*b", "'*' is not supported in assignments; name each value"),
    ("a, b = 1, 2, 3", "a, b", "found 3 values, expected 2"),
    ("assert n > 0, 1", "assert", "found 1, expected text"),
    ("assert 1 > 2", "assert", "the assertion fails: 1 > 2 is false"),
    ("@endless\ndef f(): return 1", "def f", "functions in a kernel have no decorators"),
    ("return v", "return", "a kernel returns nothing; store the result"),
    (
        "for i in static_range(4):\n    if n > i:\n        break",
        "break",
        "found a 'break' of an unrolled loop under a condition that is known only when the kernel runs",
    ),
    (
        "for i in v:\n    pass",
        "v:",
        "found a tile<4xf32>, expected range(…), static_range(…), a tuple or a list",
    ),
    (
        "for i, j in range(n):\n    pass",
        "i, j",
        "found several variables, expected one for the numbers of range()",
    ),
    ("for i in range(0, 4, 0):\n    pass", "range(", "found the step 0 in range(), expected another number"),
    (
        "for i in range(n, 1 << 31):\n    pass",
        "range(",
        "found 2147483648 in range() of i32, expected numbers that it holds",
    ),
    (
        "for i in range(n, -(1 << 31) - 1, -1):\n    pass",
        "range(",
        "found -2147483649 in range() of i32, expected numbers that it holds",
    ),
    ("for i in range(1.5):\n    pass", "range(", "found 1.5 in range(), expected integers"),
    ("for i in range(v):\n    pass", "range(", "found a tile<4xf32> in range(), expected integers"),
    (
        "a = 1.0\nfor i in range(n):\n    if i > 2:\n        a = w\nstore(x, a)",
        "for",
        "'a' has no value at the end of the iteration: the sides of the 'if' in line 25 assign a "
        "partition_view<tile=(32), padding_value = zero, tensor_view<64xf32, strides=[1]>> and a tile<f32>; only "
        "tiles and numbers are merged",
    ),
    (
        "a = w\nfor i in range(n):\n    if i > 2:\n        a = 1.0\nstore(a, 0, v)",
        "for",
        "'a' has no value at the end of the iteration: the sides of the 'if' in line 25 assign 1.0 and a "
        "partition_view<tile=(32), padding_value = zero, tensor_view<64xf32, strides=[1]>>; only tiles and numbers "
        "are merged",
    ),
    ("for i in range():\n    pass", "range(", "range() takes 1 to 3 numbers"),
]

# What a kernel is made of, before its statements.


def test_a_kernel_of_any_number_of_arguments() -> None:
    with pytest.raises(tt.DiagnosticError) as found:
        tt.compile(any_number, "sm_80")
    assert "a kernel has no '*' and '**' parameters" in str(found.value)
    assert f"{__file__}:{any_number.function.__code__.co_firstlineno + 1}:1" in str(found.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scaled.with_options(num_warp=4), "'num_warp' is no option; expected some of num_warps"),
        (scaled.bind(factor=2)[1], "the arguments of 'scaled': missing a required argument: 'x'"),
        (lambda: scaled[1](ONES, [1]), "'factor': found [1], expected a constant such as a number"),
        (lambda: tt.compile(kernel(lambda x: x)), "'<lambda>' is not defined by a 'def' statement"),
        (lambda: scaled.tune((ONES,), lambda *_: 1), "there is nothing to tune: no constants are given\n"
         "note: expected some values, as in n=(64, 128), or options to search"),
        (lambda: scaled.tune((ONES,), lambda: 1, factor=(1, 2), target="sm_80"),
         "the grid is no function of the arguments and constants: too many positional arguments\n"
         "note: it is called as grid(*args, factor=)"),
    ],
)  # fmt: skip
def test_refused_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(tt.DiagnosticError) as found:
        call()
    assert message in str(found.value)


@pytest.mark.parametrize(("body", "place", "message"), [*EXPRESSIONS, *STATEMENTS])
def test_refused(tmp_path: Path, body: str, place: str, message: str) -> None:
    found, rest = refused(tmp_path / "kernel.py", body)
    assert found == message
    assert rest.startswith(place)
