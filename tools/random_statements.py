"""Makers of statements for random programs: each adds some, or none where nothing in scope fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from random_programs import (
    FLOATS,
    INTEGERS,
    MOST_BITS,
    NARROW,
    STORED,
    WIDTH,
    Generator,
    Statement,
    Value,
    tile,
)


def integer_binary(g: Generator) -> None:
    a = g.pick(lambda v: v.element in INTEGERS)
    if a is None:
        return
    b = g.like(a)
    op = g.rng.choice(
        ("addi", "subi", "muli", "andi", "ori", "xori", "maxi", "mini", "mulhii", "cmp", "shift", "div")
    )
    sign = g.rng.choice(("signed", "unsigned"))
    if op in ("maxi", "mini"):
        g.add(f"$a = {op} $0, $1 {sign} : $T", [a, b], a.element, a.shape)
    elif op == "cmp":
        word = g.rng.choice(("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than"))
        g.add(f"$a = cmpi {word} $0, $1, {sign} : $0T -> $T", [a, b], "i1", a.shape)
    elif op == "shift":
        if a.element == "i1":
            return
        mask = g.constant(a.element, a.shape, WIDTH[a.element] - 1)
        by = g.add("$a = andi $0, $1 : $T", [b, mask], a.element, a.shape)
        left = g.rng.random() < 0.5
        g.add(
            "$a = shli $0, $1 : $T" if left else f"$a = shri $0, $1 {sign} : $T", [a, by], a.element, a.shape
        )
    elif op == "div":
        if a.element == "i1":
            return
        # Odd divisors that are not negative when read as signed: no zero, no overflow.
        mask = g.constant(a.element, a.shape, 62)
        low = g.add("$a = andi $0, $1 : $T", [b, mask], a.element, a.shape)
        one = g.constant(a.element, a.shape, 1)
        by = g.add("$a = ori $0, $1 : $T", [low, one], a.element, a.shape)
        if g.rng.random() < 0.4:
            g.add(f"$a = remi $0, $1 {sign} : $T", [a, by], a.element, a.shape)
        else:
            floor = ("", " rounding<negative_inf>") if sign == "signed" else ("",)
            mode = g.rng.choice((*floor, " rounding<positive_inf>"))
            g.add(f"$a = divi $0, $1 {sign}{mode} : $T", [a, by], a.element, a.shape)
    elif op == "mulhii" and a.element == "i1":
        return
    else:
        g.add(f"$a = {op} $0, $1 : $T", [a, b], a.element, a.shape)


def float_binary(g: Generator) -> None:
    a = g.pick(lambda v: v.element in FLOATS)
    if a is None:
        return
    b = g.like(a)
    op = g.rng.choice(("addf", "subf", "mulf", "divf", "maxf", "minf", "cmpf", "fma", "remf"))
    if op == "cmpf":
        word = g.rng.choice(("equal", "not_equal", "less_than", "greater_than_or_equal"))
        order = g.rng.choice(("ordered", "unordered"))
        g.add(f"$a = cmpf {word} {order} $0, $1 : $0T -> $T", [a, b], "i1", a.shape)
    elif op == "fma":
        g.add("$a = fma $0, $1, $2 : $T", [a, b, g.like(a)], a.element, a.shape, exact=False)
    elif op == "remf":
        g.add("$a = remf $0, $1 : $T", [a, b], a.element, a.shape, exact=False)
    else:
        g.add(f"$a = {op} $0, $1 : $T", [a, b], a.element, a.shape)


def float_unary(g: Generator) -> None:
    a = g.pick(lambda v: v.element in FLOATS)
    if a is None:
        return
    op = g.rng.choice(
        ("negf", "absf", "ceil", "floor", "sqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tanh", "rsqrt")
    )
    exact = op in ("negf", "absf", "ceil", "floor", "sqrt")
    g.add(f"$a = {op} $0 : $T", [a], a.element, a.shape, exact=exact)


def select(g: Generator) -> None:
    a = g.pick(lambda v: v.element != "f4E2M1FN")
    if a is None:
        return
    condition = g.like(replace(a, element="i1"))
    g.add("$a = select $0, $1, $2 : $0T, $T", [condition, a, g.like(a)], a.element, a.shape)


def cast(g: Generator) -> None:
    a = g.pick(lambda v: v.element in (*INTEGERS, *FLOATS))
    if a is None:
        return
    sign = g.rng.choice(("signed", "unsigned"))
    if a.element in FLOATS:
        to = g.rng.choice([e for e in FLOATS if e != a.element])
        g.add("$a = ftof $0 : $0T -> $T", [a], to, a.shape, small=a.small)
        return
    if g.rng.random() < 0.4:
        to = g.rng.choice(FLOATS)
        g.add(f"$a = itof $0 {sign} : $0T -> $T", [a], to, a.shape)
        return
    to = g.rng.choice([e for e in INTEGERS if e != a.element])
    if WIDTH[to] > WIDTH[a.element]:
        g.add(f"$a = exti $0 {sign} : $0T -> $T", [a], to, a.shape)
    else:
        g.add("$a = trunci $0 : $0T -> $T", [a], to, a.shape)


def small_float(g: Generator) -> None:
    """A float that is a small integer."""
    a = g.pick(lambda v: v.element in INTEGERS and v.element != "i1")
    if a is None:
        return
    low = g.add("$a = andi $0, $1 : $T", [a, g.constant(a.element, a.shape, 7)], a.element, a.shape)
    g.add("$a = itof $0 signed : $0T -> $T", [low], g.rng.choice(FLOATS), a.shape, small=True)


def reshape(g: Generator) -> None:
    a = g.pick(lambda v: True)
    if a is None:
        return
    bits = sum(n.bit_length() - 1 for n in a.shape)
    shape = [1] * g.rng.randint(0 if not bits else 1, 4)
    for _ in range(bits):
        shape[g.rng.randrange(len(shape))] *= 2
    g.add("$a = reshape $0 : $0T -> $T", [a], a.element, tuple(shape), small=a.small)


def permute(g: Generator) -> None:
    a = g.pick(lambda v: len(v.shape) > 1)
    if a is None:
        return
    order = g.rng.sample(range(len(a.shape)), len(a.shape))
    g.add(
        f"$a = permute $0 {order} : $0T -> $T",
        [a],
        a.element,
        tuple(a.shape[i] for i in order),
        small=a.small,
    )


def broadcast(g: Generator) -> None:
    a = g.pick(lambda v: 1 in v.shape)
    if a is None:
        return
    room = MOST_BITS - sum(n.bit_length() - 1 for n in a.shape)
    shape = list(a.shape)
    for i, n in enumerate(shape):
        if n == 1 and room > 0 and g.rng.random() < 0.7:
            bits = g.rng.randint(0, min(room, 5))
            shape[i] <<= bits
            room -= bits
    g.add("$a = broadcast $0 : $0T -> $T", [a], a.element, tuple(shape), small=a.small)


def cat(g: Generator) -> None:
    a = g.pick(lambda v: bool(v.shape) and sum(n.bit_length() - 1 for n in v.shape) < MOST_BITS)
    if a is None:
        return
    axis = g.rng.randrange(len(a.shape))
    shape = tuple(2 * n if i == axis else n for i, n in enumerate(a.shape))
    g.add(f"$a = cat $0, $1 dim = {axis} : $0T, $1T -> $T", [a, g.like(a)], a.element, shape)


def extract(g: Generator) -> None:
    a = g.pick(lambda v: any(n > 1 for n in v.shape))
    if a is None:
        return
    part = tuple(n >> g.rng.randint(0, min(3, n.bit_length() - 1)) for n in a.shape)
    index = [g.constant("i32", (), g.rng.randrange(n // m)) for n, m in zip(a.shape, part, strict=True)]
    names = ", ".join(f"${i + 1}" for i in range(len(index)))
    g.add(f"$a = extract $0[{names}] : $0T -> $T", [a, *index], a.element, part, small=a.small)


def iota(g: Generator) -> None:
    element = g.rng.choice(("i8", "i16", "i32", "i64"))
    size = 1 << g.rng.randint(0, 6 if element == "i8" else MOST_BITS)
    g.add("$a = iota : $T", [], element, (size,))


_FOLDS = {
    "addi": ("0", ""), "maxi": ("LOW", " signed"), "mini": ("HIGH", " signed"), "andi": ("ONES", ""), "ori": ("0", ""),
    "xori": ("0", ""), "muli": ("1", ""),
}  # fmt: skip


def reduce_or_scan(g: Generator) -> None:
    a = g.pick(lambda v: bool(v.shape) and v.element in (*INTEGERS[1:], *FLOATS))
    if a is None:
        return
    axis = g.rng.randrange(len(a.shape))
    scan = g.rng.random() < 0.4
    element = tile(a.element, ())
    if a.element in INTEGERS:
        fold = g.rng.choice(list(_FOLDS))
        start, tail = _FOLDS[fold]
        width = WIDTH[a.element]
        limits = {"LOW": -(1 << (width - 1)), "HIGH": (1 << (width - 1)) - 1, "ONES": -1}
        identity = f"{limits.get(start, start)} : {a.element}"
        exact = True
    else:
        fold, tail = g.rng.choice(("maxf", "minf", "addf")), ""
        negative = fold == "maxf"
        infinity = {
            "f16": ("0x7C00", "0xFC00"), "bf16": ("0x7F80", "0xFF80"), "f32": ("0x7F800000", "0xFF800000"),
            "f64": ("0x7FF0000000000000", "0xFFF0000000000000"),
        }[a.element]  # fmt: skip
        identity = f"0.0 : {a.element}" if fold == "addf" else f"{infinity[negative]} : {a.element}"
        # Sums in another order differ, except those of few small integers; an infinity is not an identity for NaN.
        exact = a.small and a.shape[axis] <= 16
    shape = a.shape if scan else (*a.shape[:axis], *a.shape[axis + 1 :])
    head = (
        f"scan $0 dim={axis} reverse={g.rng.choice(('true', 'false'))}" if scan else f"reduce $0 dim={axis}"
    )
    g.add(
        f"$a = {head} identities=[{identity}] : $0T -> $T\n"
        f"(%cur: {element}, %acc: {element}) {{\n  %folded = {fold} %cur, %acc{tail} : {element}\n"
        f"  yield %folded : {element}\n}}",
        [a], a.element, shape, exact=exact,
    )  # fmt: skip


def product(g: Generator) -> None:
    """A matrix product of small integers, whose sums are exact."""
    kind = g.rng.choice(("f16", "bf16", "f32", "f64", "i8", *NARROW))
    m, n, k = (1 << g.rng.randint(0, 5) for _ in range(3))
    batch = (1 << g.rng.randint(0, 2),) if g.rng.random() < 0.3 else ()

    def operand(shape: tuple[int, ...]) -> Value:
        size = 1
        for extent in shape:
            size *= extent
        count = g.add("$a = iota : $T", [], "i32", (size,))
        times = g.add(
            "$a = muli $0, $1 : $T",
            [count, g.constant("i32", (size,), g.rng.choice((3, 5, 7, 11)))],
            "i32",
            (size,),
        )
        by = g.add("$a = shri $0, $1 signed : $T", [times, g.constant("i32", (size,), 1)], "i32", (size,))
        low = g.add("$a = andi $0, $1 : $T", [by, g.constant("i32", (size,), 7)], "i32", (size,))
        shaped = g.add("$a = reshape $0 : $0T -> $T", [low], "i32", shape)
        if kind == "i8":
            return g.add("$a = trunci $0 : $0T -> $T", [shaped], "i8", shape)
        return g.add("$a = itof $0 signed : $0T -> $T", [shaped], kind, shape, small=True)

    a, b = operand((*batch, m, k)), operand((*batch, k, n))
    result = "i32" if kind == "i8" else "f64" if kind == "f64" else "f32"
    acc = g.constant(result, (*batch, m, n), g.rng.randint(0, 9))
    if kind == "i8":
        g.add("$a = mmai $0, $1, $2 signed unsigned : $0T, $1T, $2T", [a, b, acc], result, acc.shape)
    else:
        g.add("$a = mmaf $0, $1, $2 : $0T, $1T, $2T", [a, b, acc], result, acc.shape)


def loop(g: Generator) -> None:
    if g.depth > 1:
        return
    inits = [v for v in (g.pick(lambda v: True) for _ in range(g.rng.randint(1, 3))) if v is not None]
    if not inits:
        return
    low, high = g.constant("i32", (), g.rng.randint(0, 2)), g.constant("i32", (), g.rng.randint(0, 6))
    step = g.constant("i32", (), g.rng.randint(1, 3))
    counter = g.new("i32", ())
    arguments = [g.new(v.element, v.shape, v.exact) for v in inits]
    body = g.nested([counter, *arguments], g.rng.randint(1, 5))
    inner = g.inner_values
    yields = []
    for argument in arguments:
        same = [v for v in inner if v.type == argument.type]
        yields.append(same[-1] if g.rng.random() < 0.8 else argument)
    # Iterations use the results of the previous one: all results are exact, or none.
    exact = all(v.exact for v in (*yields, *inits))
    results = [g.new(v.element, v.shape, exact) for v in arguments]
    carried = ", ".join(f"{a.name} = ${i + 3}" for i, a in enumerate(arguments))
    names = ", ".join(f"${chr(ord('a') + i)}" for i in range(len(results)))
    types = ", ".join(v.type for v in results)
    early = g.rng.choice([v for v in inner if v.type == "tile<i1>"] or [None])
    leave = "" if early is None else f"  if $e0 {{\n    continue $arguments : {types}\n  }}\n"
    if early is not None and not early.exact:
        results = [replace(v, exact=False) for v in results]
    text = (
        f"{names} = for {counter.name} in ($0 to $1, step $2) : tile<i32> iter_values({carried}) -> ({types}) {{\n"
        f"$body\n{leave}  continue $yields : $types\n}}"
    )
    extra = [] if early is None else [early]
    g.out.append(
        Statement(text, [low, high, step, *inits], results, body, yields, [counter, *arguments], extra)
    )
    g.values += results


def branch(g: Generator) -> None:
    if g.depth > 1:
        return
    condition = g.pick(lambda v: v.type == "tile<i1>")
    if condition is None:
        number = g.pick(lambda v: v.shape == () and v.element in INTEGERS)
        if number is None:
            return
        zero = g.constant(number.element, (), 0)
        condition = g.add("$a = cmpi less_than $0, $1, signed : $0T -> $T", [number, zero], "i1", ())
    a = g.pick(lambda v: True)
    if a is None:
        return
    body = g.nested([], g.rng.randint(1, 4))
    same = [v for v in g.inner_values if v.type == a.type]
    then = same[-1]
    made = g.new(a.element, a.shape, a.exact and then.exact and condition.exact)
    text = (
        f"$a = if $0 -> ({a.type}) {{\n$body\n  yield $yields : $types\n}} else {{\n  yield $1 : {a.type}\n}}"
    )
    g.out.append(Statement(text, [condition, a], [made], body, [then]))
    g.values.append(made)


def repeat(g: Generator) -> None:
    """A loop that a condition ends, at the latest after some iterations."""
    if g.depth > 1:
        return
    a = g.pick(lambda v: True)
    if a is None:
        return
    first, most = g.constant("i32", (), 0), g.constant("i32", (), g.rng.randint(1, 5))
    counter, argument = g.new("i32", ()), g.new(a.element, a.shape, a.exact)
    body = g.nested([counter, argument], g.rng.randint(1, 4))
    inner = g.inner_values
    last = [v for v in inner if v.type == argument.type][-1]
    early = g.rng.choice([v for v in inner if v.type == "tile<i1>"] or [None])
    exact = a.exact and last.exact and (early is None or early.exact)
    result = g.new(a.element, a.shape, exact)
    one, next_, more, both = (g.name() for _ in range(4))
    ended = more if early is None else both
    either = "" if early is None else f"  {both} = ori {more}, $e1 : tile<i1>\n"
    text = (
        f"$a = loop iter_values({counter.name} = $0, {argument.name} = $2) : tile<i32>, {a.type} -> {a.type} {{\n"
        f"$body\n  {one} = constant <i32: 1> : tile<i32>\n  {next_} = addi {counter.name}, {one} : tile<i32>\n"
        f"  {more} = cmpi greater_than_or_equal {next_}, $1, signed : tile<i32> -> tile<i1>\n{either}"
        f"  if {ended} {{\n    break $e0 : {a.type}\n  }}\n  continue {next_}, $e0 : tile<i32>, {a.type}\n}}"
    )
    extra = [last] if early is None else [last, early]
    g.out.append(Statement(text, [first, most, a], [result], body, [], [counter, argument], extra))
    g.values.append(result)


def narrow(g: Generator) -> None:
    """To a format of few bits, or from it; each of its numbers is one of the wider formats'."""
    a = g.pick(lambda v: v.element in NARROW) if g.rng.random() < 0.5 else None
    if a is not None:
        to = g.rng.choice(("f32", "f64") if a.element == "tf32" else FLOATS)
        g.add("$a = ftof $0 : $0T -> $T", [a], to, a.shape, small=a.small)
        return
    a = g.pick(lambda v: v.element in FLOATS)
    if a is None:
        return
    to = g.rng.choice(("tf32",) if a.element == "f64" else NARROW)
    to = to if WIDTH[a.element] > 16 or to != "tf32" else "f8E5M2"
    mode = g.rng.choice(("", " rounding<zero>"))
    g.add(f"$a = ftof $0{mode} : $0T -> $T", [a], to, a.shape, small=a.small)


def nibble(g: Generator) -> None:
    """To i4, or from it."""
    a = g.pick(lambda v: v.element == "i4")
    if a is not None:
        to = g.rng.choice(INTEGERS[1:])
        g.add(f"$a = exti $0 {g.rng.choice(('signed', 'unsigned'))} : $0T -> $T", [a], to, a.shape)
        return
    a = g.pick(lambda v: v.element in INTEGERS[1:])
    if a is not None:
        g.add("$a = trunci $0 : $0T -> $T", [a], "i4", a.shape)


def pack(g: Generator) -> None:
    """The bytes of integers, and integers from their bytes."""
    widths = {"i1": 1, "i4": 4, "i16": 16, "i32": 32, "i64": 64}
    a = g.pick(
        lambda v: len(v.shape) == 1 and v.element in widths and v.shape[0] * widths[v.element] % 8 == 0
    )
    if a is None or a.shape[0] * widths[a.element] < 8:
        return
    size = a.shape[0] * widths[a.element] // 8
    data = g.add("$a = pack $0 : $0T -> $T", [a], "i8", (size,))
    to = g.rng.choice([e for e, bits in widths.items() if 8 * size % bits == 0 and 8 * size // bits <= 4096])
    g.add("$a = unpack $0 : $0T -> $T", [data], to, (8 * size // widths[to],))


def small_bytes(g: Generator) -> None:
    """Bytes read as f4, which become other floats."""
    a = g.pick(lambda v: v.element == "i8" and len(v.shape) == 1 and v.shape[0] < 1 << MOST_BITS)
    if a is None:
        return
    f4 = g.add("$a = unpack $0 : $0T -> $T", [a], "f4E2M1FN", (2 * a.shape[0],))
    g.add("$a = ftof $0 : $0T -> $T", [f4], g.rng.choice(FLOATS), f4.shape)


def insert(g: Generator) -> None:
    a = g.pick(lambda v: any(n > 1 for n in v.shape) and v.element in STORED)
    if a is None:
        return
    shape = tuple(n >> g.rng.randint(0, min(3, n.bit_length() - 1)) for n in a.shape)
    part = g.like(Value("", a.element, shape))
    index = [g.constant("i32", (), g.rng.randrange(n // m)) for n, m in zip(a.shape, shape, strict=True)]
    names = ", ".join(f"${i + 2}" for i in range(len(index)))
    g.add(f"$a = insert $0, $1[{names}] : $0T, $1T", [part, a, *index], a.element, a.shape)


def _places(g: Generator, count: int) -> Value | None:
    """Numbers below a power of two, of some integers."""
    a = g.pick(lambda v: v.element in INTEGERS[1:] and v.exact)
    if a is None:
        return None
    if a.element in ("i8", "i16"):
        a = g.add("$a = exti $0 unsigned : $0T -> $T", [a], "i32", a.shape)
    mask = g.constant(a.element, a.shape, count - 1)
    return g.add("$a = andi $0, $1 : $T", [a, mask], a.element, a.shape)


def _pointers(
    g: Generator, tensor: str, element: str, shape: tuple[int, ...], places: str
) -> tuple[str, str, str]:
    """(ops that make pointers, the pointers, their type): `tensor` and `places` as in a statement's text."""
    type = tile(f"ptr<{element}>", shape)
    spread, lines = tensor, ""
    if shape:
        one, spread = g.name(), g.name()
        ones = tile(f"ptr<{element}>", (1,) * len(shape))
        lines = f"{one} = reshape {tensor} : {tile(f'ptr<{element}>', ())} -> {ones}\n"
        lines += f"{spread} = broadcast {one} : {ones} -> {type}\n"
    made = g.name()
    return f"{lines}{made} = offset {spread}, {places} : {type}, $1T -> {type}\n", made, type


def _types(text: str, uses: list[Value]) -> str:
    for i, value in enumerate(uses):
        text = text.replace(f"${i}T", value.type)
    return text


def gather(g: Generator) -> None:
    """Elements of an input at computed indices, with a mask."""
    whole = [v for v in g.inputs if v.element in STORED]
    tensor = g.rng.choice(whole)
    count = 1
    for n in tensor.shape:
        count *= n
    places = _places(g, count)
    if places is None:
        return
    mask = g.like(replace(places, element="i1"))
    padding = g.like(Value("", tensor.element, places.shape))
    uses = [tensor, places, mask, padding]
    lines, pointers, type = _pointers(g, "$p0", tensor.element, places.shape, "$1")
    made = g.new(tensor.element, places.shape, all(v.exact for v in uses))
    text = f"{lines}$a, {g.name()} = load_ptr_tko weak {pointers}, $2, $3 : {type}, $2T, $3T -> {made.type}, token"
    g.out.append(Statement(_types(text, uses), uses, [made]))
    g.values.append(made)
    g.whole.add(tensor)


def atomics(g: Generator) -> None:
    """Integers changed in any order, by operations whose order makes no difference."""
    if g.depth:
        return
    if not g.cells or g.rng.random() < 0.3:
        cell = g.new(g.rng.choice(("i32", "i64")), (1 << g.rng.randint(0, 6),))
        g.cells.append(cell)
        g.atomics[cell] = g.rng.choice(("add", "max", "umin", "or", "and", "xor"))
    cell = g.rng.choice(g.cells)
    places = _places(g, cell.shape[0])
    if places is None:
        return
    mask, data = g.like(replace(places, element="i1")), g.like(replace(places, element=cell.element))
    if not (mask.exact and data.exact and places.exact):
        return
    uses = [cell, places, mask, data]
    lines, pointers, type = _pointers(g, "$p0", cell.element, places.shape, "$1")
    text = (
        f"{lines}{g.name()}, {g.name()} = atomic_rmw_tko relaxed device {pointers}, {g.atomics[cell]}, $3, $2 : "
        f"{type}, $3T, $2T -> {data.type}, token"
    )
    g.out.append(Statement(_types(text, uses), uses, [], effect=True))


def scaled_product(g: Generator) -> None:
    """mmaf_scaled of small whole numbers, by powers of two."""
    kind = g.rng.choice(("f8E4M3FN", "f8E5M2"))
    m, n, k = 1 << g.rng.randint(0, 5), 1 << g.rng.randint(0, 5), 32 << g.rng.randint(0, 1)

    def operand(shape: tuple[int, int]) -> Value:
        size = shape[0] * shape[1]
        count = g.add("$a = iota : $T", [], "i32", (size,))
        low = g.add("$a = andi $0, $1 : $T", [count, g.constant("i32", (size,), 3)], "i32", (size,))
        shaped = g.add("$a = reshape $0 : $0T -> $T", [low], "i32", shape)
        return g.add("$a = itof $0 signed : $0T -> $T", [shaped], kind, shape, small=True)

    def scale(shape: tuple[int, int]) -> Value:
        return g.add(
            f"$a = constant <f8E8M0FNU: {g.rng.choice((0.5, 1.0, 2.0))}> : $T", [], "f8E8M0FNU", shape
        )

    a, b, acc = operand((m, k)), operand((k, n)), g.constant("f32", (m, n), g.rng.randint(0, 9))
    uses = [a, b, acc, scale((m, k // 32)), scale((k // 32, n))]
    g.add("$a = mmaf_scaled $0, $1, $2, $3, $4 : $0T, $1T, $2T, $3T, $4T", uses, "f32", (m, n))


MAKERS: list[tuple[Callable[[Generator], None], int]] = [
    (integer_binary, 10), (float_binary, 8), (float_unary, 3), (select, 4), (cast, 6), (small_float, 2), (reshape, 4),
    (permute, 4), (broadcast, 4), (cat, 2), (extract, 2), (iota, 2), (reduce_or_scan, 5), (product, 2), (loop, 2),
    (branch, 2), (repeat, 2), (narrow, 4), (nibble, 2), (pack, 2), (small_bytes, 1), (insert, 2), (gather, 3),
    (atomics, 2), (scaled_product, 1),
]  # fmt: skip
