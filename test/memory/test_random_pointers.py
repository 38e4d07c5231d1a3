"""Random indices and masks against NumPy: accesses are as wide as is proven, so that what is proven must be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from memory.test_pointers import entry, line, spread
from programs import TARGETS, Array, fresh_seed, random, run, tile


class Indices:
    """A random tile of indices, as ops and as numbers."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.shape: tuple[int, ...] = self.choice([(64,), (256,), (8, 32), (32, 8), (4, 4, 16)])
        self.scalars: dict[str, tuple[int, int]] = {}
        self.text = ""
        self.values: list[tuple[str, Array]] = []
        for axis in range(len(self.shape)):
            self.text += line(f"x{axis}", axis, self.shape)
            self.values.append((f"%x{axis}", np.indices(self.shape)[axis].astype(np.int32)))
        for _ in range(int(self.rng.integers(1, 6))):
            self.choice([self.sum, self.sum, self.scale, self.shift, self.part, self.chosen])()

    def choice(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    @property
    def kind(self) -> str:
        return tile("i32", self.shape)

    def add(self, op: str, value: Array) -> None:
        name = f"%e{len(self.values)}"
        self.text += f"{name} = {op}\n"
        self.values.append((name, value.astype(np.int32)))

    def constant(self, number: int) -> str:
        name = f"%k{len(self.text)}"
        self.text += f"{name} = constant <i32: {number}> : {self.kind}\n"
        return name

    def scalar(self) -> tuple[str, int]:
        """A parameter of which a divisor is promised, spread over the tile."""
        divisor = self.choice([1, 2, 4, 8, 16])
        number = divisor * int(self.rng.integers(0, 9))
        name = f"s{len(self.scalars)}"
        self.scalars[name] = (number, divisor)
        self.text += f"%{name}A = assume div_by<{divisor}>, %{name} : tile<i32>\n"
        self.text += spread(f"{name}T", f"%{name}A", "i32", self.shape)
        return f"%{name}T", number

    def sum(self) -> None:
        (a, x), (b, y) = self.choice(self.values), self.choice(self.values)
        self.add(f"addi {a}, {b} : {self.kind}", x + y)

    def scale(self) -> None:
        a, x = self.choice(self.values)
        factor = self.choice([1, 2, 3, 4, 8, 16, 32])
        self.add(f"muli {a}, {self.constant(factor)} : {self.kind}", x * factor)

    def shift(self) -> None:
        a, x = self.choice(self.values)
        name, number = self.scalar()
        self.add(f"addi {a}, {name} : {self.kind}", x + number)

    def part(self) -> None:
        a, x = self.choice(self.values)
        divisor = self.choice([2, 4, 8, 16, 3])
        constant = self.constant(divisor)
        if self.rng.integers(2):
            self.add(f"divi {a}, {constant} signed : {self.kind}", x // divisor)
        else:
            self.add(f"remi {a}, {constant} signed : {self.kind}", x % divisor)

    def chosen(self) -> None:
        (a, x), (b, y) = self.choice(self.values), self.choice(self.values)
        word, function = self.choice([("maxi", np.maximum), ("mini", np.minimum)])
        self.add(f"{word} {a}, {b} signed : {self.kind}", function(x, y))


@pytest.mark.parametrize("number", range(16))
def test_any_indices_under_any_bound(number: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    indices = Indices(rng)
    element = indices.choice(["f32", "f16", "i8", "f64"])
    name, numbers = indices.values[-1]
    shape, kind, pointers = indices.shape, indices.kind, tile(f"ptr<{element}>", indices.shape)
    bound, limit = indices.scalar()
    bit = tile("i1", shape)
    aligned = indices.choice([1, 8, 16])
    text = indices.text + f"%pa = assume div_by<{aligned}>, %p : tile<ptr<{element}>>\n"
    text += (
        f"%low = cmpi less_than {name}, {bound}, signed : {kind} -> {bit}\n%z = constant <i32: 0> : {kind}\n"
    )
    text += f"%pos = cmpi greater_than_or_equal {name}, %z, signed : {kind} -> {bit}\n%m = andi %low, %pos : {bit}\n"
    text += spread("pb", "%pa", f"ptr<{element}>", shape) + spread("qb", "%q", f"ptr<{element}>", shape)
    text += f"%ps = offset %pb, {name} : {pointers}, {kind} -> {pointers}\n"
    at, strides = "", [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    for axis, stride in enumerate(strides):
        text += (
            f"%st{axis} = constant <i32: {stride}> : {kind}\n%w{axis} = muli %x{axis}, %st{axis} : {kind}\n"
        )
        text += f"%at{axis} = addi {at or '%z'}, %w{axis} : {kind}\n"
        at = f"%at{axis}"
    moved = tile(element, shape)
    text += f"%qs = offset %qb, {at} : {pointers}, {kind} -> {pointers}\n"
    text += f"%pad = constant <{element}: {'1' if element == 'i8' else '1.0'}> : {moved}\n"
    text += f"%v, %t = load_ptr_tko weak %ps, %m, %pad : {pointers}, {bit}, {moved} -> {moved}, token\n"
    text += f"%u = store_ptr_tko weak %qs, %v : {pointers}, {moved} -> token\n"
    parameters = "".join(f", %{scalar}: tile<i32>" for scalar in indices.scalars)
    program = entry(f"%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>{parameters}", text)
    print(program, indices.scalars)
    given = random(element, (max(limit, 1),), rng)
    out = np.zeros(shape, given.dtype)
    passed = [np.int32(value) for value, _ in indices.scalars.values()]
    got = run(program, given, out, *passed, target=TARGETS[number % len(TARGETS)])[1]
    inside = (numbers >= 0) & (numbers < limit)
    expected = np.where(inside, given[np.where(inside, numbers, 0)], given.dtype.type(1))
    assert got.tobytes() == expected.tobytes()
