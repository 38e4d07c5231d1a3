"""Facts about integers: what each operation keeps, loops, and a check of every claim by evaluation."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.transfer import ZERO_DIVISOR
from tessera_tools.dialects import arith, math, nv_tileaa, scf
from tessera_tools.dialects.arith.attributes import IntegerOverflowFlagsAttr
from tessera_tools.dialects.arith.constants import signed
from tessera_tools.dialects.arith.numbers import INTEGER
from tessera_tools.dialects.llvm.arith import IntToPtr
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, OpResult, Region, Value
from tessera_tools.ir.types import F32, I1, I8, I16, I32, I64, IntegerType
from tessera_tools.opdef.dialect import find_op

NSW = IntegerOverflowFlagsAttr("nsw")
POINTER = PointerType(1)


class Program:
    """A block under construction, whose arguments are unknown."""

    def __init__(self) -> None:
        self.block = Block()
        self.builder = Builder.at_end(self.block)

    def unknown(self, type: Any = I32) -> Value:
        return self.block.add_argument(type)

    def const(self, value: int, type: Any = I32) -> Value:
        return self.builder.insert(arith.Constant(IntegerAttr.wrap(value, type))).result

    def assume(self, value: Value | None = None, **facts: int) -> Value:
        source = value if value is not None else self.unknown()
        attributes: dict[str, Any] = {key: i64(number) for key, number in facts.items()}
        return self.builder.insert(nv_tileaa.Assume(source, **attributes)).res

    def op(self, name: str, *operands: Any, **attributes: Any) -> Value:
        kind = find_op(f"arith.{name}")
        assert kind is not None
        return self.builder.insert(kind(*operands, **attributes)).results[0]


def known(value: Value) -> tuple[int, int | None, int | None]:
    facts = Facts()
    return facts.divisor(value), facts.lower(value), facts.upper(value)


def test_nothing_is_known_of_an_argument() -> None:
    assert known(Program().unknown()) == (1, None, None)


def test_nothing_is_known_of_a_float() -> None:
    assert known(Program().unknown(F32))[0] == 1


def test_a_constant_is_its_own_divisor_and_bounds() -> None:
    assert known(Program().const(24)) == (24, 24, 24)


def test_the_divisor_of_a_negative_constant_is_positive() -> None:
    assert known(Program().const(-24)) == (24, -24, -24)


def test_zero_has_a_huge_power_of_two_as_divisor() -> None:
    divisor, lower, upper = known(Program().const(0))
    assert (divisor, lower, upper) == (ZERO_DIVISOR, 0, 0)
    assert divisor & (divisor - 1) == 0


def test_assumptions_add_up() -> None:
    p = Program()
    value = p.assume(p.assume(p.assume(divisor=4), divisor=6), lower=0, upper=100)
    assert known(value) == (12, 0, 100)


def test_an_assumption_that_cannot_hold_is_left_out() -> None:
    p = Program()
    assert known(p.assume(p.const(5), lower=10)) == (5, 5, 5)


def test_a_pointer_has_a_divisor_in_bytes() -> None:
    p = Program()
    assert Facts().divisor(p.assume(p.unknown(POINTER), divisor=16)) == 16


def test_a_pointer_from_an_integer_keeps_the_power_of_two() -> None:
    p = Program()
    address = p.assume(p.unknown(I64), divisor=48)
    assert Facts().divisor(p.builder.insert(IntToPtr(address, res=POINTER)).results[0]) == 16


def test_a_sum_has_the_common_divisor() -> None:
    p = Program()
    a, b = p.assume(divisor=12, lower=0, upper=1000), p.assume(divisor=8, lower=-16, upper=1000)
    assert known(p.op("addi", a, b)) == (4, -16, 2000)


def test_a_sum_that_may_wrap_keeps_the_power_of_two_alone() -> None:
    p = Program()
    a, b = p.assume(divisor=12), p.assume(divisor=12)
    assert known(p.op("addi", a, b)) == (4, None, None)


def test_a_sum_that_is_promised_not_to_wrap_keeps_all() -> None:
    p = Program()
    a, b = p.assume(divisor=12, lower=0), p.assume(divisor=12, lower=1)
    assert known(p.op("addi", a, b, overflow_flags=NSW)) == (12, 1, None)


def test_a_product_multiplies_divisors() -> None:
    p = Program()
    assert known(p.op("muli", p.assume(divisor=8, lower=0, upper=64), p.const(6))) == (48, 0, 384)


def test_a_product_that_may_wrap_keeps_powers_of_two() -> None:
    p = Program()
    assert known(p.op("muli", p.assume(divisor=8), p.const(6))) == (16, None, None)


def test_an_exact_quotient_keeps_the_rest_of_the_divisor() -> None:
    p = Program()
    assert known(p.op("divsi", p.assume(divisor=64, lower=0), p.const(16)))[0] == 4


def test_an_inexact_quotient_has_no_divisor() -> None:
    p = Program()
    assert known(p.op("divsi", p.assume(divisor=64, lower=0, upper=640), p.const(48))) == (1, 0, 13)


def test_nothing_is_known_of_a_quotient_by_what_may_be_zero() -> None:
    p = Program()
    assert known(p.op("divsi", p.const(64), p.assume(lower=0))) == (1, None, None)


def test_an_unsigned_quotient_is_not_negative() -> None:
    p = Program()
    assert known(p.op("divui", p.unknown(), p.const(32))) == (1, 0, (1 << 27) - 1)


def test_the_number_of_tiles_is_not_negative() -> None:
    p = Program()
    extent = p.assume(lower=0)
    total = p.op("addi", extent, p.const(31), overflow_flags=IntegerOverflowFlagsAttr("nuw"))
    assert known(p.op("divui", total, p.const(32)))[1] == 0


def test_a_remainder_is_bounded_by_the_divisor() -> None:
    p = Program()
    assert known(p.op("remsi", p.assume(divisor=4), p.const(16))) == (4, -15, 15)
    assert known(p.op("remsi", p.assume(divisor=32), p.const(16)))[1:] == (0, 0)


def test_shifts_move_divisors() -> None:
    p = Program()
    a = p.assume(divisor=8, lower=0, upper=100)
    assert known(p.op("shli", a, p.const(2))) == (32, 0, 400)
    assert known(p.op("shrsi", a, p.const(2))) == (2, 0, 25)


def test_nothing_is_known_of_a_shift_by_too_much() -> None:
    p = Program()
    assert known(p.op("shli", p.const(1), p.const(32))) == (1, None, None)


def test_a_mask_clears_low_bits() -> None:
    p = Program()
    assert known(p.op("andi", p.unknown(), p.const(-16))) == (16, None, None)
    assert known(p.op("andi", p.unknown(), p.const(15))) == (1, 0, 15)


def test_zero_extension_of_what_may_be_negative_is_not_negative() -> None:
    p = Program()
    assert known(p.op("extui", p.unknown(), out=I64)) == (1, 0, (1 << 32) - 1)


def test_truncation_keeps_what_fits() -> None:
    p = Program()
    small = p.assume(p.unknown(I64), divisor=12, lower=0, upper=1200)
    assert known(p.op("trunci", small, out=I32)) == (12, 0, 1200)
    assert known(p.op("trunci", p.assume(p.unknown(I64), divisor=12), out=I32)) == (4, None, None)


def test_a_selection_is_one_or_the_other() -> None:
    p = Program()
    assert known(p.op("select", p.unknown(I1), p.const(12), p.const(-8))) == (4, -8, 12)


def test_a_program_index_is_not_negative() -> None:
    op = nv_tileaa.GetProgramId(i32(1))
    assert known(op.res) == (1, 0, 65534)


def make_loop(
    p: Program, lower: int, upper: Value, step: int, inits: list[Value], body: Any, **kwargs: Any
) -> scf.For:
    block = Block([I32, *(v.type for v in inits)])
    inner = Program()
    inner.block, inner.builder = block, Builder.at_end(block)
    block.append(scf.Yield(body(inner, *block.arguments)))
    loop = scf.For(
        p.const(lower), upper, p.const(step), inits, results=[v.type for v in inits], body=block, **kwargs
    )
    return p.builder.insert(loop)


def test_a_counter_has_the_divisor_of_start_and_step() -> None:
    p = Program()
    loop = make_loop(p, 8, p.const(100), 12, [], lambda q, i: [])
    assert known(loop.induction[0]) == (4, 8, 99)


def test_a_counter_compared_as_unsigned_may_look_negative() -> None:
    p = Program()
    loop = make_loop(p, 0, p.unknown(), 12, [], lambda q, i: [], unsigned_cmp=UNIT)
    assert known(loop.induction[0]) == (4, None, None)


def test_a_carried_value_keeps_what_the_body_keeps() -> None:
    p = Program()
    loop = make_loop(p, 0, p.unknown(), 1, [p.const(64)], lambda q, i, a: [q.op("addi", a, q.const(32))])
    assert known(loop.iter_args[0]) == (32, None, None)
    assert known(loop.results[0]) == (32, None, None)


def test_a_bound_that_each_iteration_sets_holds_of_the_result() -> None:
    p = Program()

    def body(q: Program, i: Value, a: Value) -> list[Value]:
        return [q.op("minsi", q.op("addi", a, q.const(2)), q.const(10))]

    loop = make_loop(p, 0, p.unknown(), 1, [p.const(0)], body)
    assert Facts().upper(loop.iter_args[0]) is None
    assert known(loop.results[0]) == (2, None, 10)


def test_values_carried_crosswise_settle_together() -> None:
    p = Program()
    loop = make_loop(p, 0, p.unknown(), 1, [p.const(8), p.const(12)], lambda q, i, a, b: [b, a])
    assert known(loop.results[0])[0] == 4


def test_a_value_that_the_body_replaces_by_anything_is_unknown() -> None:
    p = Program()
    loop = make_loop(p, 0, p.unknown(), 1, [p.const(8)], lambda q, i, a: [i])
    assert known(loop.results[0])[0] == 1


def test_what_follows_from_a_failed_assumption_of_an_inner_loop_is_forgotten() -> None:
    p = Program()
    doubled: list[Value] = []

    def body(q: Program, i: Value, a: Value) -> list[Value]:
        def inner(r: Program, j: Value, b: Value) -> list[Value]:
            doubled.append(r.op("muli", b, r.const(2)))
            return [r.op("addi", doubled[0], r.const(1))]

        return list(make_loop(q, 0, q.const(4), 1, [q.const(8)], inner).results)

    loop = make_loop(p, 0, p.unknown(), 1, [p.const(8)], body)
    facts = Facts()
    assert facts.divisor(loop.results[0]) == 1
    assert facts.divisor(doubled[0]) == 2


def test_values_of_an_unreachable_block_that_need_each_other_are_unknown() -> None:
    p = Program()
    first = p.op("addi", p.unknown(), p.const(4))
    second = p.op("addi", first, p.const(4))
    assert isinstance(first, OpResult)
    first.op.op_operands[0].set(second)
    assert known(first) == known(second) == (1, None, None)


def test_loops_within_loops_are_followed() -> None:
    p = Program()

    def body(q: Program, i: Value, a: Value) -> list[Value]:
        inner = make_loop(q, 0, q.const(4), 1, [a], lambda r, j, b: [r.op("addi", b, r.const(16))])
        return list(inner.results)

    loop = make_loop(p, 0, p.unknown(), 1, [p.const(0)], body)
    assert Facts().divisor(loop.results[0]) == 16


def test_a_result_of_a_branch_is_one_of_two() -> None:
    p = Program()
    then, other = Block(), Block()
    then.append(scf.Yield([p.const(24)]))
    other.append(scf.Yield([p.const(36)]))
    branch = scf.If(p.unknown(I1), results=[I32], then=then, otherwise=other)
    assert known(branch.results[0]) == (12, 24, 36)


def test_long_chains_need_no_recursion() -> None:
    p = Program()
    value, four = p.assume(divisor=8), p.const(4)
    for _ in range(20_000):
        value = p.op("addi", value, four)
    assert Facts().divisor(value) == 4


# -- brute force

BINARY = sorted(INTEGER)
WIDTHS: dict[int, Any] = {8: I8, 16: I16, 32: I32}
interesting = st.one_of(
    st.integers(-20, 20),
    st.sampled_from([2**k for k in range(1, 31)]),
    st.sampled_from([-(2**k) for k in range(1, 31)]),
    st.integers(-(2**31), 2**31 - 1),
)


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], int, list[list[int]]]:
    """A list of instructions on values of one width, and inputs to run them on."""
    width = draw(st.sampled_from(sorted(WIDTHS)))
    steps: list[tuple[Any, ...]] = []
    arguments = draw(st.integers(1, 3))
    facts = []
    for _ in range(arguments):
        divisor = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16]))
        lower = draw(st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1))
        upper = draw(st.integers(lower, 2 ** (width - 1) - 1))
        first = -(-lower // divisor) * divisor
        if first > upper:
            divisor, first = 1, lower
        steps.append(("assume", divisor, lower, upper))
        facts.append((first, divisor, (upper - first) // divisor))
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["const", "binary", "binary", "binary", "select", "resize"]))
        pick = st.integers(0, len(steps) - 1)
        if kind == "const":
            steps.append(("const", draw(interesting)))
        elif kind == "binary":
            steps.append((draw(st.sampled_from(BINARY)), draw(pick), draw(pick)))
        elif kind == "select":
            steps.append(("select", draw(pick), draw(pick), draw(pick)))
        else:
            steps.append((draw(st.sampled_from(["extsi", "extui"])), draw(pick), draw(st.booleans())))
    inputs = [
        [first + divisor * draw(st.integers(0, count)) for first, divisor, count in facts]
        for _ in range(draw(st.integers(1, 6)))
    ]
    return steps, width, inputs


def build(steps: list[tuple[Any, ...]], width: int) -> list[Value]:
    p, type = Program(), WIDTHS[width]
    wide = IntegerType(2 * width)
    values: list[Value] = []
    for name, *rest in steps:
        if name == "assume":
            divisor, lower, upper = rest
            values.append(p.assume(p.unknown(type), divisor=divisor, lower=lower, upper=upper))
        elif name == "const":
            values.append(p.const(rest[0], type))
        elif name == "select":
            a, b, c = (values[i] for i in rest)
            condition = p.op("cmpi", i64(2), a, b)
            values.append(p.op("select", condition, b, c))
        elif name in ("extsi", "extui"):
            middle = p.op(name, values[rest[0]], out=wide)
            if rest[1]:
                middle = p.op("muli", middle, p.const(3, wide))
            values.append(p.op("trunci", middle, out=type))
        else:
            values.append(p.op(name, values[rest[0]], values[rest[1]]))
    return values


def run(steps: list[tuple[Any, ...]], width: int, inputs: list[int]) -> list[int | None]:
    """The values of all steps, signed; None where a step is undefined."""
    mask = (1 << width) - 1
    source = iter(inputs)
    found: list[int | None] = []
    for name, *rest in steps:
        if name == "assume":
            found.append(next(source))
            continue
        if name == "const":
            found.append(signed(rest[0] & mask, width))
            continue
        operands = [found[i] for i in (rest if name == "select" or name in INTEGER else rest[:1])]
        if any(v is None for v in operands):
            found.append(None)
            continue
        a, *others = (v for v in operands if v is not None)
        if name == "select":
            found.append(others[0] if a < others[0] else others[1])
        elif name in ("extsi", "extui"):
            number = a if name == "extsi" else a & mask
            found.append(signed(number * (3 if rest[1] else 1) & mask, width))
        else:
            result = INTEGER[name](a & mask, others[0] & mask, width)
            found.append(None if result is None else signed(result & mask, width))
    return found


@given(programs())
def test_every_claim_holds_of_every_value(
    program: tuple[list[tuple[Any, ...]], int, list[list[int]]],
) -> None:
    steps, width, inputs = program
    values, facts = build(steps, width), Facts()
    for given_inputs in inputs:
        for step, value, number in zip(steps, values, run(steps, width, given_inputs), strict=True):
            if number is None:
                continue
            claim = facts.fact(value)
            assert claim.lower <= number <= claim.upper, (step, claim, number)
            assert number % claim.divisor == 0, (step, claim, number)


def test_an_absolute_value_keeps_the_divisor_and_turns_the_bounds() -> None:
    p = Program()
    size = p.builder.insert(math.AbsI(p.assume(lower=-96, upper=-32, divisor=8))).result
    assert known(size) == (8, 32, 96)
    least = p.builder.insert(math.AbsI(p.unknown())).result
    assert known(least) == (1, None, None)


def test_the_high_half_of_a_product_is_bounded_where_the_factors_are_not_negative() -> None:
    p = Program()
    factors = p.assume(lower=0, upper=1 << 20), p.assume(lower=0, upper=1 << 14)
    low, high = p.builder.insert(arith.MulUIExtended(*factors)).results
    assert known(low) == (1, None, None)
    assert known(high) == (1, 0, 4)
    _, unknown = p.builder.insert(arith.MulUIExtended(p.unknown(), p.unknown())).results
    assert known(unknown) == (1, None, None)


@given(
    st.integers(-50, 50),
    st.integers(-50, 50),
    st.integers(1, 20),
    st.lists(st.integers(-30, 30), min_size=2, max_size=2),
)
def test_claims_about_loops_hold_in_every_round(
    lower: int, upper: int, step: int, numbers: list[int]
) -> None:
    p = Program()
    init, add = numbers

    def body(q: Program, i: Value, a: Value, b: Value) -> list[Value]:
        return [q.op("addi", a, q.const(add)), q.op("subi", a, i)]

    loop = make_loop(p, lower, p.const(upper), step, [p.const(init), p.const(4 * init)], body)
    facts = Facts()
    counter, first, second = (facts.fact(v) for v in loop.body.entry.arguments)
    a, b = init, 4 * init
    for i in range(lower, upper, step):
        for claim, number in ((counter, i), (first, a), (second, b)):
            assert claim.lower <= number <= claim.upper
            assert number % claim.divisor == 0
        a, b = a + add, a - i
    for value, number in zip(loop.results, (a, b), strict=True):
        assert number % facts.divisor(value) == 0
        assert facts.fact(value).lower <= number <= facts.fact(value).upper


@pytest.mark.parametrize("name", ["addf", "cmpi"])
def test_ops_without_a_rule_are_unknown(name: str) -> None:
    p = Program()
    value = (
        p.op("addf", p.unknown(F32), p.unknown(F32))
        if name == "addf"
        else p.op("cmpi", i64(0), p.const(1), p.const(1))
    )
    assert Facts().divisor(value) == 1


@pytest.mark.parametrize(("depth", "divisor"), [(4, 8), (5, 1), (9, 1)])
def test_values_that_more_than_four_loops_carry_are_unknown(depth: int, divisor: int) -> None:
    """Each level would double the work; what is claimed stays true."""
    program = Program()
    zero, one, upper = program.const(0), program.const(1), program.unknown()

    def nest(builder: Builder, carried: Value, left: int) -> Value:
        body = Block([I32, I32])
        inner = Builder.at_end(body)
        made = nest(inner, body.arguments[1], left - 1) if left else body.arguments[1]
        inner.insert(scf.Yield([made]))
        loop = scf.For.create([zero, upper, one, carried], [I32], {}, [Region([body])])
        return builder.insert(loop).results[0]

    assert Facts().divisor(nest(program.builder, program.const(8), depth - 1)) == divisor


# -- how much is kept

WORD = 1 << 32


def between(p: Program, bounds: tuple[int, int]) -> Value:
    return p.assume(lower=bounds[0], upper=bounds[1])


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("minui", (0, 5), (3, 9), (1, 0, 5)),
        ("maxui", (0, 5), (3, 9), (1, 3, 9)),
        ("minui", (-1, 5), (3, 9), (1, -1, 9)),  # -1 is the greatest
        ("maxui", (3, 9), (-1, 5), (1, -1, 9)),
        ("minsi", (-1, 5), (3, 9), (1, -1, 5)),
        ("maxsi", (-1, 5), (3, 9), (1, 3, 9)),
        ("ori", (4, 5), (2, 8), (1, 4, 15)),
        ("ori", (0, 7), (0, 7), (1, 0, 7)),
        ("ori", (-1, 7), (0, 7), (1, None, None)),
        ("ori", (0, 7), (-1, 7), (1, None, None)),
        ("xori", (4, 5), (2, 8), (1, 0, 15)),
        ("andi", (0, 5), (0, 9), (1, 0, 5)),
        ("andi", (-3, 5), (0, 9), (1, 0, 9)),
        ("andi", (0, 9), (-3, 5), (1, 0, 9)),
        ("andi", (-3, 5), (-1, 9), (1, None, None)),
        ("andi", (3, 5), (-1, -1), (1, 3, 5)),
        ("andi", (-1, -1), (3, 5), (1, 3, 5)),
    ],
)
def test_bounds_of_two_bounded_numbers(
    name: str, a: tuple[int, int], b: tuple[int, int], expected: tuple[int, int | None, int | None]
) -> None:
    p = Program()
    assert known(p.op(name, between(p, a), between(p, b))) == expected


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((-7, 3), (1, 0, 7)),
        ((-7, -2), (1, 2, 7)),
        ((2, 7), (1, 2, 7)),
        ((1 - (1 << 31), 3), (1, 0, None)),
        ((-(1 << 31), 3), (1, None, None)),  # its absolute value is itself
    ],
)
def test_bounds_of_an_absolute_value(
    bounds: tuple[int, int], expected: tuple[int, int | None, int | None]
) -> None:
    p = Program()
    assert known(p.builder.insert(math.AbsI(between(p, bounds))).results[0]) == expected


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        ((0, 7), (0, 9), (1, 0, 63), (ZERO_DIVISOR, 0, 0)),
        ((2, 7), (3, 9), (1, 6, 63), (ZERO_DIVISOR, 0, 0)),
        ((1 << 30, (1 << 31) - 1), (8, 8), (8, None, None), (1, 2, 3)),
        ((-1, 7), (0, 9), (1, None, None), (1, None, None)),
        ((0, 7), (-1, 9), (1, None, None), (1, None, None)),
    ],
)
def test_the_halves_of_a_product(
    a: tuple[int, int], b: tuple[int, int], low: tuple[int | None, ...], high: tuple[int | None, ...]
) -> None:
    p = Program()
    product = p.op("mului_extended", between(p, a), between(p, b)).defining_op
    assert product is not None
    assert [known(half) for half in product.results] == [low, high]


@pytest.mark.parametrize(
    ("bounds", "expected"), [((0, 5), (1, 0, 5)), ((-1, 5), (1, 0, WORD - 1)), ((3, 5), (1, 3, 5))]
)
def test_an_extension_by_zeros_keeps_what_is_not_negative(
    bounds: tuple[int, int], expected: tuple[int, int, int]
) -> None:
    p = Program()
    assert known(p.op("extui", between(p, bounds), out=I64)) == expected
