"""setp, set, slct, selp against Python's comparisons."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, evaluate_all, refused
from sim.ieee import FORMATS, tuples

ORDERED: dict[str, Any] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda f: f.name)
@pytest.mark.parametrize("name", [*ORDERED, *(n + "u" for n in ORDERED), "num", "nan"])
def test_a_nan_decides_ordered_and_unordered_comparisons(name: str, form: Any) -> None:
    x, y = (array[::7] for array in tuples(form, 2, 100))

    def wanted(p: int, q: int) -> bool:
        a, b = form.value(p), form.value(q)
        unordered = a != a or b != b
        if name in ("num", "nan"):
            return unordered == (name == "nan")
        if unordered:
            return name.endswith("u")
        return ORDERED[name.removesuffix("u") if name not in ORDERED else name](a, b)

    found = evaluate(f"setp.{name}.{form.name} %p0, %a, %b; selp.u32 %d0, 1, 0, %p0;", "u4", x, y)
    assert found.tolist() == [wanted(int(p), int(q)) for p, q in zip(x, y, strict=True)]


def test_the_second_predicate_is_the_opposite_and_both_are_combined() -> None:
    x = np.array([1, 2, 3, 4], np.int32)
    c = np.array([1, 0, 1, 0], np.int32)
    body = """setp.ne.s32 %p2, %b, 0; setp.lt.and.s32 %p0|%p1, %a, 3, !%p2;
      selp.u32 %d0, 1, 0, %p0; selp.u32 %d1, 1, 0, %p1;"""
    first, second = evaluate_all(body, ["u4", "u4"], x, c)
    assert first.tolist() == [0, 1, 0, 0]
    assert second.tolist() == [0, 0, 0, 1]


def test_unsigned_comparisons_by_their_other_names() -> None:
    x, y = np.array([1, 0xFFFFFFFF, 5], np.uint32), np.array([0xFFFFFFFF, 1, 5], np.uint32)
    for name, wanted in (("lo", [1, 0, 0]), ("ls", [1, 0, 1]), ("hi", [0, 1, 0]), ("hs", [0, 1, 1])):
        assert (
            evaluate(f"setp.{name}.u32 %p0, %a, %b; selp.u32 %d0, 1, 0, %p0;", "u4", x, y).tolist() == wanted
        )
    assert evaluate("setp.lt.s32 %p0, %a, %b; selp.u32 %d0, 1, 0, %p0;", "u4", x, y).tolist() == [0, 1, 0]


def test_packed_comparisons_give_two_predicates() -> None:
    x = np.array([1, 2], np.float16).view(np.uint32)
    y = np.array([1, 1], np.float16).view(np.uint32)
    body = "setp.eq.f16x2 %p0|%p1, %a, %b; selp.u32 %d0, 1, 0, %p0; selp.u32 %d1, 1, 0, %p1;"
    first, second = evaluate_all(body, ["u4", "u4"], x, y)
    assert (first.tolist(), second.tolist()) == ([1], [0])


def test_ftz_compares_subnormals_as_zeros() -> None:
    x = np.array([1e-40], np.float32)
    assert evaluate("setp.eq.ftz.f32 %p0, %a, 0f00000000; selp.u32 %d0, 1, 0, %p0;", "u4", x)[0] == 1
    assert evaluate("setp.eq.f32 %p0, %a, 0f00000000; selp.u32 %d0, 1, 0, %p0;", "u4", x)[0] == 0


def test_set_gives_ones_of_the_destination_type() -> None:
    x, y = np.array([1, 3], np.float32), np.array([2, 2], np.float32)
    assert evaluate("set.lt.u32.f32 %d0, %a, %b;", "u4", x, y).tolist() == [0xFFFFFFFF, 0]
    assert evaluate("set.lt.f32.f32 %d0, %a, %b;", "f4", x, y).tolist() == [1, 0]
    halves = x.astype(np.float16).view(np.uint32)
    assert evaluate("set.gt.f16x2.f16x2 %d0, %a, %b;", "u4", halves, halves[::-1].copy()).tolist() == [0]


def test_slct_chooses_by_sign() -> None:
    a, b = np.full(4, 1, np.int32), np.full(4, 2, np.int32)
    assert evaluate(
        "slct.s32.s32 %d0, %a, %b, %c;", "i4", a, b, np.array([0, -1, 5, -9], np.int32)
    ).tolist() == [1, 2, 1, 2]
    c = np.array([-0.0, np.nan, 1, -1e-40], np.float32)
    assert evaluate("slct.s32.f32 %d0, %a, %b, %c;", "i4", a, b, c).tolist() == [1, 2, 1, 2]
    assert evaluate("slct.ftz.s32.f32 %d0, %a, %b, %c;", "i4", a, b, c).tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize(
    "body",
    ["setp.lt.b32 %p0, %r1, %r2;", "setp.ltu.s32 %p0, %r1, %r2;", "setp.hi.f32 %p0, %f1, %f2;",
     "setp.eq.f32 %p0, %f1;", "setp.eq.ftz.f64 %p0, %fd1, %fd2;", "slct.s32.u32 %r0, %r1, %r2, %r3;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)
