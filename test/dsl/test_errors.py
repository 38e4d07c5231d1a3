"""What the DSL refuses, with the file, the line and the column of the user's source."""

from __future__ import annotations

import inspect
import runpy
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools.dsl import *  # noqa: F403
from tessera_tools.dsl import (
    arange,
    array,
    constant,
    constexpr,
    f16,
    f32,
    i32,
    kernel,
    load,
    make_partition_view,
    ptr,
    reduce,
    store,
    tile,
    zeros,
)


def refused(function: Any, mark: str, **constants: Any) -> str:
    """The message of the error that compiling the kernel gives, at the place of `mark` in its source."""
    with pytest.raises(tt.DiagnosticError) as found:
        tt.compile(function.bind(**constants) if constants else function, "sm_80")
    lines, first = inspect.getsourcelines(function.function)
    line = next(number for number, text in enumerate(lines) if mark in text)
    place = found.value.diagnostics[0].location
    assert place is not None
    assert place.start() == (__file__, first + line, lines[line].index(mark) + 1)
    return str(found.value)


@kernel
def unknown_name(x: ptr[f32]):
    y = load(x + aragne(4))  # noqa: F405, F841


@kernel
def not_imported(x: ptr[f32]):
    store(x, mysterious(1))  # noqa: F405


def test_an_unknown_name_is_at_the_name() -> None:
    assert "unknown name 'aragne'; did you mean 'arange'?" in refused(unknown_name, "aragne")
    assert "unknown name 'mysterious'" in refused(not_imported, "mysterious")


@kernel
def with_statement(x: ptr[f32]):
    with open("x") as file:  # noqa: F841
        pass


@kernel
def comprehension(x: ptr[f32]):
    y = [i for i in range(3)]  # noqa: C416, F841


@kernel
def changes_a_part(x: ptr[f32]):
    y = load(x + arange(4))
    y[0] = 1


@kernel
def calls_python(x: ptr[f32]):
    open("file")  # noqa: SIM115


@kernel
def loop_else(x: ptr[f32], n: i32):
    for _ in range(n):
        store(x, 1.0)
    else:  # noqa: PLW0120
        store(x, 2.0)


def test_syntax_that_is_not_supported() -> None:
    assert "'with' statements are not supported in kernels" in refused(with_statement, "with open")
    assert "list comprehensions are not supported in kernels" in refused(comprehension, "[i for")
    assert "values of a kernel do not change" in refused(changes_a_part, "y[0]")
    assert "'open' cannot be called in a kernel" in refused(calls_python, "open(")
    assert "'else' of a loop is not supported" in refused(loop_else, "store(x, 2.0)")


@kernel
def method_of_a_constant(x: ptr[f32], n: constexpr = 6):
    store(x, (0.25).as_integer_ratio()[1] - 2 + n.bit_length())


@kernel
def method_with_a_tile(x: ptr[f32]):
    store(x, int.from_bytes((6).to_bytes(load(x))))


@kernel
def method_of_a_string(x: ptr[f32]):
    store(x, len("a".zfill(10**13)))


@kernel
def changes_a_list(x: ptr[f32]):
    numbers = [1, 2]
    numbers.append(3)


def test_methods_of_constants_are_computed_when_the_kernel_is_compiled() -> None:
    x = np.zeros(1, np.float32)
    method_of_a_constant[1](x)
    assert x == 5
    assert "to_bytes() of a tile<f32> is not known when" in refused(method_with_a_tile, "(6).to_bytes")
    assert "'zfill' cannot be called in a kernel" in refused(method_of_a_string, '"a".zfill')
    assert "'append' cannot be called in a kernel" in refused(changes_a_list, "numbers.append")


@kernel
def no_common_shape(x: ptr[f32]):
    y = load(x + arange(4)) + load(x + arange(8))  # noqa: F841


@kernel
def product_of_wrong_shapes(x: ptr[f16]):
    a = zeros(tile[64, 32, f16])
    b = zeros(tile[64, 32, f16])
    c = a @ b  # noqa: F841


@kernel
def odd_tile(x: ptr[f32]):
    y = zeros(tile[3, f32])  # noqa: F841


@kernel
def stores_another_type(x: ptr[f16]):
    view = make_partition_view(x, [64], tile=(32,))
    store(view, 0, zeros(tile[32, f32]))


@kernel
def condition_of_a_tile(x: ptr[f32]):
    v = load(x + arange(4))
    if v > 0:
        store(x, 1.0)


@kernel
def too_many_indices(x: ptr[f16]):
    view = make_partition_view(x, [64], tile=(32,))
    load(view, (0, 1))


@kernel
def raw_op_of_two_types(x: ptr[f16]):
    addf(zeros(tile[4, f16]), zeros(tile[4, f32]))  # noqa: F405


@kernel
def unknown_word(x: ptr[f32]):
    addf(1.0, 2.0, rounding_mode="up")  # noqa: F405


def test_types_that_do_not_fit_say_what_was_found_and_expected() -> None:
    assert "the shapes (4,) and (8,) cannot be broadcast" in refused(no_common_shape, "load(x + arange(4)) +")
    assert "expected 32 rows in the second matrix, found 64" in refused(product_of_wrong_shapes, "a @ b")
    assert "all dimensions must be powers of two, got 3" in refused(odd_tile, "tile[3, f32]")
    text = refused(stores_another_type, "store(view")
    assert "a tile<32xf32> cannot be stored as tile<32xf16>; convert it with .to(f16)" in text
    assert "found a tile<4xi1> as a condition, expected a number" in refused(condition_of_a_tile, "v > 0")
    assert "found 2 indices of a tile, expected 1" in refused(too_many_indices, "load(view, (0")
    assert "expected '!cuda_tile.tile<4xf16>'" in refused(raw_op_of_two_types, "addf(zeros")
    text = refused(unknown_word, 'addf(1.0, 2.0, rounding_mode="up")')
    assert "found 'up' as 'rounding_mode', expected one of nearest_even, zero" in text


@kernel
def changes_its_type(x: ptr[f32], n: i32):
    v = load(x + arange(4))
    for _ in range(n):
        v = v.to(f16)
    store(x + arange(4), v)


@kernel
def carries_a_view(x: ptr[f32], n: i32):
    view = make_partition_view(x, [64], tile=(32,))
    for _ in range(n):
        view = make_partition_view(x, [32], tile=(32,))
    load(view, 0)


@kernel
def only_in_the_loop(x: ptr[f32], n: i32):
    for i in range(n):
        last = i.to(f32)
    store(x, last)


@kernel
def only_on_one_side(x: ptr[f32], n: i32):
    if n > 0:
        value = 1.0
    store(x, value)


@kernel
def two_types(x: ptr[f32], n: i32):
    if n > 0:
        value = load(x)
    else:
        value = load(x).to(f16)
    store(x, value.to(f32))


def test_variables_of_loops_and_branches() -> None:
    text = refused(changes_its_type, "for _ in range(n)")
    assert "'v' is a tile<4xf32> before the loop and a tile<4xf16> after an iteration" in text
    assert "loops carry only tiles and numbers" in refused(carries_a_view, "for ")
    assert "'last' has no value here: it is assigned only in the loop in line" in refused(
        only_in_the_loop, "last)"
    )
    assert "it is assigned on only one side of the 'if' in line" in refused(only_on_one_side, "value)")
    assert "'value' is a tile<f32> on one side of the 'if' and a tile<f16> on the other" in refused(
        two_types, "if n > 0"
    )


@kernel
def carries_a_tuple(x: ptr[f32]):
    pair = (load(x), load(x + 1))
    for i in range(4):
        store(x + i, pair[0])
        pair = (pair[1], pair[0])


@kernel
def leaves_with_another_tuple(x: ptr[f32], n: i32):
    pair = (load(x), load(x + 1))
    for i in range(4):
        if i == n:
            pair = (pair[1], pair[0])
            break
    store(x, pair[0])


def test_a_tuple_that_a_loop_changes_is_refused_even_if_it_is_not_read_behind_it() -> None:
    text = refused(carries_a_tuple, "for ")
    assert "'pair' is (tile<f32>, tile<f32>) before the loop, which assigns" in text
    assert "loops carry only tiles and numbers" in refused(leaves_with_another_tuple, "break")


@kernel
def chooses_by_or(x: ptr[f32], n: i32):
    k = n or 5
    store(x, k.to(f32))


@kernel
def half_an_integer(x: ptr[i32]):
    store(x + arange(2), constant((1, 1.5), tile[2, i32]))


@kernel
def starts_with_half(x: ptr[i32]):
    store(x, reduce(load(x + arange(4)), 0, lambda a, b: a + b, 0.5))


@kernel
def keeps_a_number(x: ptr[f32], n: i32):
    store(x, (n and 1.0))


@kernel
def keeps_one_of_two(x: ptr[i32], n: i32, m: i32):
    k = n and m
    store(x, k)


def test_and_of_numbers_is_refused_where_its_value_is_used() -> None:
    text = refused(keeps_one_of_two, "n and m")
    assert "found a tile<i32> as an operand of 'and', whose value is used; expected a condition" in text
    assert "write a if condition else b" in text
    assert "found a tile<i32> as an operand of 'and'" in refused(keeps_a_number, "n and 1.0")


def test_numbers_that_a_result_cannot_have_are_refused() -> None:
    assert "found a tile<i32> as an operand of 'or'" in refused(chooses_by_or, "n or 5")
    assert "1.5 is not a number of the type i32" in refused(half_an_integer, "constant")
    assert "the identity 0.5 is not a number of the type i32" in refused(starts_with_half, "reduce")


@kernel
def without_a_type(x):
    pass


@kernel
def with_a_wrong_type(x: 3):  # type: ignore[valid-type]
    pass


@kernel
def with_a_constant(x: ptr[f32], size: constexpr):
    store(x + arange(size), 1.0)


@kernel
def takes_an_array(x: array[f32, 2]):
    store(x.pointer, 1.0)


def test_parameters() -> None:
    assert "the parameter 'x' has no type" in refused(without_a_type, "x)")
    assert "the type of 'x': found 3, expected a type such as ptr[f16]" in refused(with_a_wrong_type, "3)")
    assert "the constexpr parameter 'size' has no value" in refused(with_a_constant, "def with_a_constant")
    assert "found 'many', expected a number" in refused(with_a_constant, "arange(size)", size="many")
    import numpy as np

    x = np.zeros(8, np.float32)
    with pytest.raises(tt.DiagnosticError, match=r"'other' is no constexpr parameter; found size"):
        with_a_constant.bind(other=3)
    with pytest.raises(tt.DiagnosticError, match="missing a required argument: 'size'"):
        with_a_constant[1](x)
    with pytest.raises(tt.DiagnosticError, match="found an array of 1 dimensions, expected 2"):
        takes_an_array[1](x)
    with pytest.raises(tt.DiagnosticError, match="found an array of 3 dimensions, expected 2"):
        takes_an_array[1](x.reshape(2, 2, 2))
    with pytest.raises(
        tt.DiagnosticError, match=r"found the strides \(1, 4\), expected the last one to be 1"
    ):
        takes_an_array[1](np.zeros((4, 4), np.float32).T)
    with pytest.raises(tt.DiagnosticError, match=r"is a kernel; expected takes_an_array\[grid\]"):
        takes_an_array(x)


def helper(x):
    return x.nothing


@kernel
def error_in_a_function(x: ptr[f32]):
    store(x, helper(load(x)))


def recursive(x):
    return recursive(x)


@kernel
def calls_itself(x: ptr[f32]):
    store(x, recursive(1.0))


def early(x):
    if x > 0:
        return x
    return -x


@kernel
def returns_early(x: ptr[f32]):
    store(x, early(load(x)))


def test_an_error_in_a_function_is_at_the_line_of_the_function() -> None:
    with pytest.raises(tt.DiagnosticError, match="a tile<f32> has no attribute 'nothing'") as found:
        tt.compile(error_in_a_function)
    place = found.value.diagnostics[0].location
    assert place is not None
    assert place.start() == (__file__, inspect.getsourcelines(helper)[1] + 1, 12)
    with pytest.raises(tt.DiagnosticError, match="recursion is not supported"):
        tt.compile(calls_itself)
    with pytest.raises(tt.DiagnosticError, match="assign the value to a variable, and return it at the end"):
        tt.compile(returns_early)


def test_a_function_of_the_dsl_outside_of_a_kernel_says_so() -> None:
    with pytest.raises(ValueError, match="can only be used in a function with @kernel"):
        zeros(tile[4, f32])


def test_a_kernel_without_source_is_refused() -> None:
    space: dict[str, Any] = {"ptr": ptr, "f32": f32}
    exec("def k(x: ptr[f32]):\n    pass", space)
    with pytest.raises(tt.DiagnosticError, match="the source of 'k' cannot be read"):
        tt.compile(kernel(space["k"]))


def test_two_files_with_the_same_code_have_their_own_syntax(tmp_path: Path) -> None:
    """Python compares code objects without their annotations and files."""
    text = "from tessera_tools.dsl import *\n\n\n@kernel\ndef f(x{}):\n    store(x, 1.0)\n"
    found: list[str] = []
    for name, annotation in (("typed", ": ptr[f32]"), ("untyped", "")):
        path = tmp_path / f"{name}.py"
        path.write_text(text.format(annotation))
        names = runpy.run_path(str(path))
        try:
            tt.compile(names["f"], "sm_80")
            found.append("")
        except tt.DiagnosticError as failure:
            found.append(str(failure))
    assert found[0] == ""
    assert f"{tmp_path / 'untyped.py'}:5:7: error: the parameter 'x' has no type" in found[1]


def test_an_uncaught_error_shows_the_launch_and_the_line_of_the_kernel() -> None:
    with pytest.raises(tt.DiagnosticError) as found:
        unknown_name[1](7)
    names = [frame.name for frame in traceback.extract_tb(found.value.__traceback__)]
    assert names == ["test_an_uncaught_error_shows_the_launch_and_the_line_of_the_kernel", "__call__"]
    line = "    y = load(x + aragne(4))  # noqa: F405, F841\n"
    shown = "".join(traceback.format_exception_only(found.value))
    assert shown.endswith(f"{line}{'^':>{line.index('aragne') + 1}}\n")
