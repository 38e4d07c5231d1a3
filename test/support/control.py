"""Programs of control flow, of entries, the grid, tokens and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from programs import decode, encode
from support.table import on
from support.writer import (
    BITS,
    ELEMENTS,
    HALF_BYTES,
    INTEGERS,
    Writer,
    numbers,
    random_shape,
    storage,
    tile_of,
)


def carried(w: Writer, element: str) -> tuple[str, str, tuple[int, ...], str]:
    """(two tiles of a type, their shape, their type)."""
    shape = random_shape(w.rng, 8, 1)
    return w.input(element, shape), w.input(element, shape), shape, tile_of(element, shape)


def chosen(w: Writer, a: str, b: str, when: str, type: str) -> str:
    """An `if` that gives one of two tiles."""
    return f"if {when} -> ({type}) {{\n    yield {a} : {type}\n  }} else {{\n    yield {b} : {type}\n  }}"


@on("for", ("", "unsigned"))
def _for(w: Writer, element: str, way: str) -> None:
    """Two tiles change places a number of times; the counter is summed up. A signed i1 has no positive step."""
    sign, count = way, str(w.rng.choice(INTEGERS if way else INTEGERS[1:]))
    a, b, shape, type = carried(w, element)
    most = 1 if count == "i1" else 6
    low, high, step = (
        w.constant(count, 0),
        w.scalar(count, _number(count, int(w.rng.integers(0, most + 1)))),
        w.constant(count, 1),
    )
    name, number = w.name(), f"tile<{count}>"
    w.line(
        f"{name}:3 = for {sign} %i in ({low} to {high}, step {step}) : {number} iter_values(%x = {a}, %y = {b}, "
        f"%s = {low}) -> ({type}, {type}, {number}) {{\n    %n = xori %s, %i : {number}\n"
        f"    continue %y, %x, %n : {type}, {type}, {number}\n  }}"
    )
    w.result(f"{name}#0", element, shape)
    w.result(f"{name}#2", count, ())


def _number(element: str, value: int) -> Any:
    return bool(value) if element == "i1" else storage(element).type(value)


@on("if")
def _if(w: Writer, element: str, way: str) -> None:
    a, b, shape, type = carried(w, element)
    when = w.scalar("i1", bool(w.rng.integers(0, 2)))
    w.result(w.define(chosen(w, a, b, when, type)), element, shape)


@on("yield")
def _yield(w: Writer, element: str, way: str) -> None:
    _if(w, element, way)


def _loop(w: Writer, element: str) -> None:
    """Two tiles change places until a counter says enough; an iteration is cut short now and then."""
    a, b, shape, type = carried(w, element)
    most, one = w.scalar("i32", np.int32(w.rng.integers(1, 6))), w.constant("i32", 1)
    name = w.name()
    w.line(
        f"{name}:2 = loop iter_values(%x = {a}, %y = {b}, %k = {one}) : {type}, {type}, tile<i32> -> "
        f"{type}, tile<i32> {{\n"
        f"    %more = cmpi less_than %k, {most}, signed : tile<i32> -> tile<i1>\n"
        f"    %next = addi %k, {one} : tile<i32>\n"
        f"    %bit = andi %k, {one} : tile<i32>\n"
        f"    %odd = cmpi equal %bit, {one}, signed : tile<i32> -> tile<i1>\n"
        f"    if %more {{\n      if %odd {{\n        continue %y, %x, %next : {type}, {type}, tile<i32>\n      }}\n"
        f"    }} else {{\n      break %x, %k : {type}, tile<i32>\n    }}\n"
        f"    continue %x, %y, %next : {type}, {type}, tile<i32>\n  }}"
    )
    w.result(f"{name}#0", element, shape)
    w.result(f"{name}#1", "i32", ())


@on("loop")
def _loop_row(w: Writer, element: str, way: str) -> None:
    _loop(w, element)


@on("break")
def _break(w: Writer, element: str, way: str) -> None:
    _loop(w, element)


@on("continue")
def _continue(w: Writer, element: str, way: str) -> None:
    _loop(w, element)


@on("return", elements=False)
def _return(w: Writer, element: str, way: str) -> None:
    """Some of the tile blocks return early."""
    w.grid = (4,)
    pointer = w.memory("i32", np.zeros(4, np.int32))
    name, two = w.name(), w.constant("i32", 2)
    w.line(f"{name}x, {name}y, {name}z = get_tile_block_id : tile<i32>")
    early = w.define(f"cmpi less_than {name}x, {two}, signed : tile<i32> -> tile<i1>")
    w.line(f"if {early} {{\n    return\n  }}")
    place = w.define(f"offset {pointer}, {name}x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>")
    w.define(f"store_ptr_tko weak {place}, {two} : tile<ptr<i32>>, tile<i32> -> token")


@on("entry")
def _entry(w: Writer, element: str, way: str) -> None:
    """A number of the type is a parameter."""
    if element in HALF_BYTES:
        name = w.scalar(element, 1)
        w.result(w.spread(element, name, (2,)), element, (2,))
        return
    if element == "ptr":
        w.result(w.memory("f32", numbers("f32", (1,), w.rng)), "ptr", ())
        return
    [value] = numbers(element, (1,), w.rng)
    if element == "i1":
        value = bool(value)
    elif element.startswith("f8"):
        value = np.int8(np.uint8(value).view(np.int8))
    elif element in ("bf16", "tf32"):
        value = float(decode(element, np.asarray([value]))[0])
    w.result(w.scalar(element, value), element, ())


@on("module", elements=False)
def _module(w: Writer, element: str, way: str) -> None:
    x = w.input("i32", (8,))
    w.result(x, "i32", (8,))
    w.before.append("cuda_tile.module @m {")
    w.behind.append("}")


def _grid(w: Writer, op: str) -> None:
    w.grid = tuple(int(n) for n in w.rng.integers(1, 4, 3))
    count = int(np.prod(w.grid))
    pointer = w.memory("i32", np.zeros(3 * count, np.int32))
    at, got, size = w.name(), w.name(), w.name()
    w.line(f"{at}x, {at}y, {at}z = get_tile_block_id : tile<i32>")
    w.line(f"{size}x, {size}y, {size}z = get_num_tile_blocks : tile<i32>")
    w.line(f"{got}x, {got}y, {got}z = {op} : tile<i32>")
    number = f"{at}z"
    for axis in "yx":
        row = w.define(f"muli {number}, {size}{axis} : tile<i32>")
        number = w.define(f"addi {row}, {at}{axis} : tile<i32>")
    for i, axis in enumerate("xyz"):
        shift = w.define(f"muli {number}, {w.constant('i32', 3)} : tile<i32>")
        place = w.define(f"addi {shift}, {w.constant('i32', i)} : tile<i32>")
        target = w.define(f"offset {pointer}, {place} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>")
        w.define(f"store_ptr_tko weak {target}, {got}{axis} : tile<ptr<i32>>, tile<i32> -> token")


@on("get_tile_block_id", elements=False)
def _block(w: Writer, element: str, way: str) -> None:
    _grid(w, "get_tile_block_id")


@on("get_num_tile_blocks", elements=False)
def _blocks(w: Writer, element: str, way: str) -> None:
    _grid(w, "get_num_tile_blocks")


def _ordered(w: Writer, between: str) -> None:
    """A store, what stands between, and a load of the same place."""
    pointer = w.memory("i32", numbers("i32", (1,), w.rng))
    value = w.input("i32", ())
    first = w.define(
        f"store_ptr_tko weak {pointer}, {value} token=%token : tile<ptr<i32>>, tile<i32> -> token"
    )
    then = w.define(between.format(first)) if between else first
    name = w.name()
    w.line(f"{name}, {name}T = load_ptr_tko weak {pointer} token={then} : tile<ptr<i32>> -> tile<i32>, token")
    w.result(name, "i32", ())


@on("make_token", elements=False)
def _make_token(w: Writer, element: str, way: str) -> None:
    _ordered(w, "")


@on("join_tokens", elements=False)
def _join(w: Writer, element: str, way: str) -> None:
    _ordered(w, "join_tokens {0}, %token : token")


@on("memory_fence_alias_tko", elements=False)
def _fence(w: Writer, element: str, way: str) -> None:
    _ordered(w, "memory_fence_alias_tko {0}")


@on("gdc_wait_tko", elements=False)
def _wait(w: Writer, element: str, way: str) -> None:
    _ordered(w, "gdc_wait_tko token = {0} -> token")


@on("gdc_launch_dependents_tko", elements=False)
def _launch(w: Writer, element: str, way: str) -> None:
    _ordered(w, "gdc_launch_dependents_tko token = {0} -> token")


@on("assert")
def _assert(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 8, 1)
    data = np.ones(shape, np.uint8) if element == "i1" else None
    x = w.input(element, shape, data)
    w.line(f'assert {x}, "is true" : {tile_of(element, shape)}')


@on("print_tko")
def _print(w: Writer, element: str, way: str) -> None:
    """What is printed is compared by `prove`: numbers that every format has, without a fraction."""
    shape = random_shape(w.rng, 5, 1, (1, 1 if element in HALF_BYTES else 3))
    data = None
    if element in ELEMENTS[6:14]:
        data = encode(element, w.rng.choice((1.0, 2.0, 4.0), shape))
    x = w.input(element, shape, data)
    form = "%lld" if BITS[element] == 64 else "%d"
    form = form if element in (*INTEGERS, "i4") else "%p" if element == "ptr" else "%f"
    w.define(f'print_tko "{form}\\n", {x} token=%token : {tile_of(element, shape)} -> token')
    w.result(x, element, shape)
    w.output = form if element != "ptr" else None
