"""What is claimed of the rows of tiles: examples, and random programs against NumPy."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tessera_tools.analysis.axis import Axes, Run, pointer_limit, pointer_vector
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType, bit_width, element_type
from tessera_tools.parser import parse_module

HUGE = 1 << 62


def function(body: str, arguments: str = "%i: i32, %n: i32, %p: !llvm.ptr<1>") -> list[Operation]:
    """The ops of a function."""
    module = parse_module(f"nv_tileaa.func @f({arguments}) {{\n{body}\nnv_tileaa.return\n}}", "axis.mlir")
    return [
        op for op in module.walk() if not isinstance(op, aa.Func | aa.Return) and op.name != "builtin.module"
    ]


def runs_of(body: str) -> tuple[Run, ...]:
    """The runs of the last tile of a program."""
    return Axes(Facts()).of(function(body)[-1].results[0])


START = """
%t = arith.constant 16 : i32
%s = arith.muli %i, %t : i32
%b = nv_tileaa.splat %s : i32 -> tensor<16xi32>
%x = nv_tileaa.iota : tensor<16xi32>
%j = arith.addi %b, %x : tensor<16xi32>
"""


def test_indices_count_up() -> None:
    assert runs_of("%x = nv_tileaa.iota : tensor<16xi32>") == (Run(16, 1, HUGE),)


def test_a_block_starts_at_a_multiple() -> None:
    assert runs_of(START) == (Run(16, 1, 16),)


def test_an_unknown_start_has_no_divisor() -> None:
    body = START.replace("%b = nv_tileaa.splat %s", "%b = nv_tileaa.splat %n")
    assert runs_of(body) == (Run(16, 1, 1),)
    # … and may wrap around where it is extended.
    assert runs_of(body + "%y = arith.extsi %j : tensor<16xi32> to tensor<16xi64>")[0].length == 1
    assert runs_of(START + "%y = arith.extsi %j : tensor<16xi32> to tensor<16xi64>") == (Run(16, 1, 16),)


def test_a_bound_that_blocks_divide_cuts_no_block() -> None:
    bound = """
    %m = nv_tileaa.assume %n {{divisor = {} : i64}} : i32
    %k = nv_tileaa.splat %m : i32 -> tensor<16xi32>
    %c = arith.cmpi {}, %j, %k : tensor<16xi32>
    """
    assert runs_of(START + bound.format(8, "slt"))[0][:2] == (8, 0)
    assert runs_of(START + bound.format(64, "sge"))[0][:2] == (16, 0)
    assert runs_of(START + bound.format(8, "sle"))[0].length == 1
    assert runs_of(START + bound.format(1, "slt"))[0].length == 1
    anywhere = START.replace("%b = nv_tileaa.splat %s", "%b = nv_tileaa.splat %n")
    assert runs_of(anywhere + bound.format(8, "slt"))[0].length == 1


def test_a_comparison_that_bounds_decide_is_one_constant() -> None:
    body = """
    %x = nv_tileaa.iota : tensor<16xi32>
    %k = nv_tileaa.constant_tensor dense<16> : tensor<16xi32>
    %c = arith.cmpi PREDICATE, %x, %k : tensor<16xi32>
    """
    for predicate, known in (
        ("slt", -1),
        ("ult", -1),
        ("sge", 0),
        ("ne", -1),
        ("eq", 0),
        ("sle", -1),
        ("ugt", 0),
    ):
        value = function(body.replace("PREDICATE", predicate))[-1].results[0]
        fact = Facts().fact(value)
        assert (fact.lower, fact.upper) == (known, known)
        assert Axes(Facts()).of(value)[0][:2] == (16, 0)


def test_a_pointer_moves_by_whole_elements() -> None:
    body = """
    %q = nv_tileaa.assume %p {divisor = 64 : i64} : !llvm.ptr<1>
    %o = nv_tileaa.assume %i {divisor = 12 : i64} : i32
    %r = nv_tileaa.offset %q, %o, f16 : !llvm.ptr<1>, i32
    """
    assert Facts().divisor(function(body)[-1].results[0]) == 8


def test_rows_and_columns_of_a_tile() -> None:
    body = """
    %x = nv_tileaa.iota : tensor<8xi32>
    %r = nv_tileaa.reshape %x : tensor<8xi32> -> tensor<8x1xi32>
    %s = nv_tileaa.broadcast %r : tensor<8x1xi32> -> tensor<8x4xi32>
    %k = nv_tileaa.constant_tensor dense<4> : tensor<8x4xi32>
    %m = arith.muli %s, %k : tensor<8x4xi32>
    %y = nv_tileaa.iota : tensor<4xi32>
    %u = nv_tileaa.reshape %y : tensor<4xi32> -> tensor<1x4xi32>
    %v = nv_tileaa.broadcast %u : tensor<1x4xi32> -> tensor<8x4xi32>
    %w = arith.addi %m, %v : tensor<8x4xi32>
    """
    assert runs_of(body) == (Run(8, 4, 1), Run(4, 1, 4))


@pytest.mark.parametrize("extend", ["extsi", "extui"])
@pytest.mark.parametrize(("count", "known"), [(128, 128), (256, 128)])
def test_numbers_that_do_not_wrap_stay_a_row_in_a_wider_type(extend: str, count: int, known: int) -> None:
    """128 numbers do not wrap in i8, as facts show; of 256, blocks are known."""
    body = f"""
    %x = nv_tileaa.iota : tensor<{count}xi8>
    %y = arith.{extend} %x : tensor<{count}xi8> to tensor<{count}xi64>
    """
    assert runs_of(body)[0].length == known


def test_an_assumption_about_a_tile() -> None:
    body = """
    %x = nv_tileaa.splat %i : i32 -> tensor<8x8xi32>
    %y = arith.addi %x, %z : tensor<8x8xi32>
    %a = nv_tileaa.assume %y {divisor = 32 : i64, every = 4 : i64, along = 1 : i64} : tensor<8x8xi32>
    %b = nv_tileaa.assume %a {same = array<i64: 2, 1>} : tensor<8x8xi32>
    """
    ops = function(body, "%i: i32, %z: tensor<8x8xi32>")
    assert Axes(Facts()).of(ops[-1].results[0]) == (Run(2, 0, 1), Run(4, 1, 32))


def test_an_assumption_does_not_shorten_the_rows_that_are_known() -> None:
    body = """
    %x = nv_tileaa.iota : tensor<16xi32>
    %a = nv_tileaa.assume %x {every = 4 : i64, along = 0 : i64} : tensor<16xi32>
    """
    assert runs_of(body) == (Run(16, 1, HUGE),)


def test_assumed_rows_need_no_divisor() -> None:
    body = "%a = nv_tileaa.assume %y {every = 4 : i64, along = 0 : i64} : tensor<8xi32>"
    (made,) = function(body, "%y: tensor<8xi32>")
    assert Axes(Facts()).of(made.results[0]) == (Run(4, 1, 1),)


def test_pointers_carried_by_a_loop_stay_in_rows() -> None:
    body = """
    %q = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %b = nv_tileaa.splat %q : !llvm.ptr<1> -> tensor<16x!llvm.ptr<1>>
    %x = nv_tileaa.iota : tensor<16xi32>
    %o = nv_tileaa.offset %b, %x, f32 : tensor<16x!llvm.ptr<1>>, tensor<16xi32>
    %k = nv_tileaa.constant_tensor dense<STEP> : tensor<16xi32>
    %l = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %e = scf.for %z = %l to %n step %one iter_args(%c = %o) -> (tensor<16x!llvm.ptr<1>>) : i32 {
      %v, %t = nv_tileaa.load %c, %tok {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} :
        tensor<16x!llvm.ptr<1>> -> tensor<16xf32>, !nv_tileaa.mem_token
      %d = nv_tileaa.offset %c, %k, f32 : tensor<16x!llvm.ptr<1>>, tensor<16xi32>
      scf.yield %d : tensor<16x!llvm.ptr<1>>
    }
    """
    for step, wide in ((16, 4), (6, 2), (3, 1)):
        ops = function(body.replace("STEP", str(step)))
        load = next(op for op in ops if isinstance(op, aa.Load))
        assert pointer_vector(load, Axes(Facts())) == (0, wide)


POINTERS = """
%q = nv_tileaa.assume %p {{divisor = {divisor} : i64}} : !llvm.ptr<1>
%b = nv_tileaa.splat %q : !llvm.ptr<1> -> tensor<16x!llvm.ptr<1>>
%y = nv_tileaa.iota : tensor<16xi32>
%k = nv_tileaa.constant_tensor dense<{step}> : tensor<16xi32>
%x = arith.muli %y, %k : tensor<16xi32>
{more}
%o = nv_tileaa.offset %b, %x, f32 : tensor<16x!llvm.ptr<1>>, tensor<16xi32>
%tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
%v, %t = nv_tileaa.load %o{mask}, %tok {{copy_atom = #cute.copy_atom<sm80_ldg_32_f32>}} :
  tensor<16x!llvm.ptr<1>>{masked} -> tensor<16xf32>, !nv_tileaa.mem_token
"""


@pytest.mark.parametrize(
    ("divisor", "step", "count", "why"),
    [
        (16, 1, 4, ""),
        (8, 1, 2, "the addresses are not known to be multiples of 16 bytes: add an assume"),
        (4, 1, 1, "the addresses are not known to be multiples of 8 bytes: add an assume"),
        (16, 2, 1, "no adjacent elements are known to have contiguous addresses"),
    ],
)
def test_why_an_access_is_not_wider(divisor: int, step: int, count: int, why: str) -> None:
    ops = function(POINTERS.format(divisor=divisor, step=step, more="", mask="", masked=""))
    load = next(op for op in ops if isinstance(op, aa.Load))
    assert pointer_limit(load, Axes(Facts())) == (0, count, why)


def test_an_access_is_no_wider_than_its_rows() -> None:
    body = POINTERS.format(divisor=16, step=1, more="", mask="", masked="")
    rows = "%x = nv_tileaa.assume %z {divisor = 4 : i64, every = 2 : i64, along = 0 : i64} : tensor<16xi32>"
    body = body.replace("%x = arith.muli %y, %k : tensor<16xi32>", rows)
    ops = function(body, "%p: !llvm.ptr<1>, %z: tensor<16xi32>")
    load = next(op for op in ops if isinstance(op, aa.Load))
    why = "only 2 adjacent elements along dimension 0 are known to have contiguous addresses"
    assert pointer_limit(load, Axes(Facts())) == (0, 2, why)


def test_an_access_is_no_wider_than_its_mask() -> None:
    body = POINTERS.format(divisor=16, step=1, more="", mask=" mask %m", masked="")
    ops = function(body, "%p: !llvm.ptr<1>, %m: tensor<16xi1>")
    load = next(op for op in ops if isinstance(op, aa.Load))
    why = "the mask is not known to be uniform for 2 adjacent elements along dimension 0"
    assert pointer_limit(load, Axes(Facts())) == (0, 1, why)


# -- random programs against NumPy

Array = np.ndarray[Any, Any]


class Program:
    """A random chain of ops on tiles, with the numbers that each value has."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.values: dict[str, tuple[str, Array]] = {}
        width = int(rng.choice([8, 16, 32]))
        self.type, self.dtype = f"i{width}", np.dtype(f"int{width}")
        for _ in range(3):
            self.leaf()
        for _ in range(12):
            self.choice(
                [
                    self.binary,
                    self.binary,
                    self.binary,
                    self.by_constant,
                    self.leaf,
                    self.shape,
                    self.compare,
                    self.select,
                ]
            )()

    def choice(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def add(self, text: str, type: str, value: Array) -> None:
        name = f"%v{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = (type, value)

    def pick(
        self, shape: tuple[int, ...] | None = None, type: str | None = None
    ) -> tuple[str, str, Array] | None:
        found = [
            (name, kind, value)
            for name, (kind, value) in self.values.items()
            if kind == (type or self.type) and (shape is None or value.shape == shape)
        ]
        return self.choice(found) if found else None

    def tensor(self, shape: tuple[int, ...], type: str | None = None) -> str:
        return f"tensor<{'x'.join(map(str, (*shape, type or self.type)))}>"

    def leaf(self) -> None:
        shape = self.choice([(16,), (8,), (4, 8), (2, 16)])
        if len(shape) == 1 and self.rng.integers(2):
            self.add(
                f"nv_tileaa.iota : {self.tensor(shape)}", self.type, np.arange(shape[0], dtype=self.dtype)
            )
        else:
            bits = np.iinfo(self.dtype).bits
            number = int(self.rng.integers(-1 << 8, 1 << 8)) << int(self.rng.integers(0, bits))
            value = np.array(number).astype(self.dtype)
            text = f"nv_tileaa.constant_tensor dense<{int(value)}> : {self.tensor(shape)}"
            self.add(text, self.type, np.full(shape, value))

    def binary(self) -> None:
        a = self.pick()
        assert a is not None
        b = self.pick(a[2].shape)
        assert b is not None
        functions: dict[str, Callable[[Array, Array], Array]] = {
            "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
        }  # fmt: skip
        name = self.choice(list(functions))
        with np.errstate(over="ignore"):
            value = functions[name](a[2], b[2])
        self.add(f"arith.{name} {a[0]}, {b[0]} : {self.tensor(value.shape)}", self.type, value)

    def by_constant(self) -> None:
        a = self.pick()
        assert a is not None
        number = int(self.choice([1, 2, 4, 8, 16, 3, 6]))
        shape = a[2].shape
        self.add(
            f"nv_tileaa.constant_tensor dense<{number}> : {self.tensor(shape)}",
            self.type,
            np.full(shape, number, self.dtype),
        )
        constant = list(self.values)[-1]
        unsigned = a[2].view(f"u{self.dtype.name}")
        divisor, other = np.array(number, self.dtype), np.array(number, unsigned.dtype)
        made: dict[str, Array] = {
            "divui": unsigned // other,
            "remui": unsigned % other,
            "floordivsi": a[2] // divisor,
            "divsi": np.trunc(a[2].astype(np.float64) / number),
            "remsi": np.fmod(a[2], divisor),
        }
        if number < 8:
            made |= {"shli": a[2] << divisor, "shrsi": a[2] >> divisor, "shrui": unsigned >> other}
        name = self.choice(list(made))
        text = f"arith.{name} {a[0]}, {constant} : {self.tensor(shape)}"
        self.add(text, self.type, made[name].astype(self.dtype))

    def shape(self) -> None:
        a = self.pick()
        assert a is not None
        old = a[2].shape
        size = int(np.prod(old))
        new = self.choice([(size,), (size // 2, 2), (2, size // 2), (1, size), (size // 4, 2, 2)])
        self.add(
            f"nv_tileaa.reshape {a[0]} : {self.tensor(old)} -> {self.tensor(new)}",
            self.type,
            a[2].reshape(new),
        )
        name = list(self.values)[-1]
        if new[0] == 1:
            wide = (4, size)
            self.add(
                f"nv_tileaa.broadcast {name} : {self.tensor(new)} -> {self.tensor(wide)}",
                self.type,
                np.broadcast_to(a[2].reshape(new), wide),
            )
        elif len(new) == 2:
            self.add(
                f"nv_tileaa.permute {name} [1, 0] : {self.tensor(new)} -> {self.tensor(new[::-1])}",
                self.type,
                a[2].reshape(new).T,
            )

    def compare(self) -> None:
        a = self.pick()
        assert a is not None
        b = self.pick(a[2].shape)
        assert b is not None
        x, y = a[2], b[2]
        u, v = x.view(f"u{self.dtype.name}") if x.flags.c_contiguous else None, None
        made = {"slt": x < y, "sle": x <= y, "sgt": x > y, "sge": x >= y, "eq": x == y, "ne": x != y}
        if u is not None and y.flags.c_contiguous:
            v = y.view(u.dtype)
            made |= {"ult": u < v, "ule": u <= v, "ugt": u > v, "uge": u >= v}
        name = self.choice(list(made))
        self.add(f"arith.cmpi {name}, {a[0]}, {b[0]} : {self.tensor(x.shape)}", "i1", made[name])

    def select(self) -> None:
        c = self.pick(type="i1")
        if c is None:
            return
        a, b = self.pick(c[2].shape), self.pick(c[2].shape)
        if a is None or b is None:
            return
        kind = self.tensor(c[2].shape)
        self.add(
            f"arith.select {c[0]}, {a[0]}, {b[0]} : {self.tensor(c[2].shape, 'i1')}, {kind}",
            self.type,
            np.where(c[2], a[2], b[2]),
        )


def check(value: Value, numbers: Array, axes: Axes) -> None:
    """Every run that is claimed is one."""
    assert isinstance(value.type, RankedTensorType)
    width = bit_width(element_type(value.type))
    whole = numbers.astype(object)
    if width == 1:
        whole = -whole
    fact = axes.facts.fact(value)
    assert fact.lower <= whole.min() and whole.max() <= fact.upper
    assert not any(int(number) % fact.divisor for number in whole.reshape(-1))
    for axis, run in enumerate(axes.of(value)):
        blocks = np.moveaxis(whole, axis, -1).reshape(-1, run.length)
        for block in blocks:
            assert int(block[0]) % (1 << width) % min(run.divisor, 1 << width) == 0
            for i, number in enumerate(block):
                assert (int(number) - int(block[0]) - i * run.step) % (1 << width) == 0


def test_every_claim_about_a_row_holds() -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for _ in range(60):
        program = Program(rng)
        ops = function("\n".join(program.lines))
        axes = Axes(Facts())
        for op, (_, numbers) in zip(ops, program.values.values(), strict=True):
            check(op.results[0], numbers, axes)


@pytest.mark.parametrize(
    ("run", "length", "cut"),
    [
        (Run(16, 1, 64), 4, Run(4, 1, 4)),
        (Run(16, 0, 64), 4, Run(4, 0, 64)),
        (Run(16, 12, 8), 2, Run(2, 12, 8)),
        (Run(4, 1, 8), 8, Run(4, 1, 8)),
    ],
)
def test_shorter_blocks_start_at_smaller_multiples(run: Run, length: int, cut: Run) -> None:
    assert run.cut(length) == cut
