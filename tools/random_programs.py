"""Random well-typed cuda_tile programs, as statements that can be taken away again.

    program = Generator(random.Random(seed)).program()
    program.text()                 one entry: pointers of the inputs, of the outputs
    program.inputs, program.outputs

Every statement has the values that it defines and uses, so that a failing program can be made smaller. Nothing here is
undefined behaviour: divisors are odd, shifts are less than the width, loops are short, indices are in bounds.

A value is *exact* if IEEE arithmetic (or integer arithmetic) decides all its bits: such values are compared bit by bit
with an interpretation; functions like exp, and sums whose order is open, make the others.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

INTEGERS = ("i1", "i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
WIDTH = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
MOST_BITS = 9
"""log2 of the elements of the largest tile."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tile (or a number, of shape ()) of the program."""

    name: str
    element: str
    shape: tuple[int, ...]
    exact: bool = True
    small: bool = False
    """Whether a float is an integer of at most 3 bits, so that short sums and products of it are exact."""

    @property
    def type(self) -> str:
        return tile(self.element, self.shape)


def tile(element: str, shape: Sequence[int]) -> str:
    """`tile<4x8xf32>`."""
    return f"tile<{'x'.join(map(str, (*shape, element)))}>"


@dataclass(eq=False)
class Statement:
    """`text` with `$0`, `$1`, … for the values used, `$a`, `$b`, … for those defined, `$body` for nested statements."""

    text: str
    uses: list[Value]
    defs: list[Value]
    body: list[Statement] = field(default_factory=list["Statement"])
    yields: list[Value] = field(default_factory=list[Value])
    arguments: list[Value] = field(default_factory=list[Value])

    def all_uses(self) -> Iterator[Value]:
        """The values used, those of nested statements too."""
        yield from self.uses
        yield from self.yields
        for inner in self.body:
            yield from inner.all_uses()

    def render(self, indent: str) -> str:
        body = "\n".join(inner.render(indent + "  ") for inner in self.body)

        def put(match: re.Match[str]) -> str:
            key = match[1]
            if key == "body":
                return body
            if key == "yields":
                return ", ".join(v.name for v in self.yields)
            if key == "types":
                return ", ".join(v.type for v in self.yields)
            if key.isdigit():
                return self.uses[int(key)].name
            return self.defs[ord(key) - ord("a")].name

        return indent + re.sub(r"\$(body|yields|types|\d+|[a-z])", put, self.text).replace(
            "\n", "\n" + indent
        )


@dataclass
class Program:
    """Statements between loads of the inputs and stores of the outputs."""

    inputs: list[Value]
    statements: list[Statement]
    outputs: list[Value]

    def text(self) -> str:
        """The entry as text."""
        tensors = [*self.inputs, *self.outputs]
        parameters = ", ".join(f"%p{i}: tile<ptr<{v.element}>>" for i, v in enumerate(tensors))
        lines = [f"entry @kernel({parameters}) {{", "  %zero = constant <i32: 0> : tile<i32>"]
        for i, value in enumerate(tensors):
            shape = value.shape or (1,)
            dims = "x".join(map(str, shape))
            strides = [1]
            for n in reversed(shape[1:]):
                strides.insert(0, strides[0] * n)
            view = f"tensor_view<{dims}x{value.element}, strides=[{','.join(map(str, strides))}]>"
            part = f"partition_view<tile=({dims}), {view}>"
            lines.append(
                f"  %v{i} = make_tensor_view %p{i}, shape = [{', '.join(map(str, shape))}], "
                f"strides = [{', '.join(map(str, strides))}] : {view}"
            )
            lines.append(f"  %q{i} = make_partition_view %v{i} : {part}")
            indices = ", ".join(["%zero"] * len(shape))
            if i < len(self.inputs):
                lines.append(
                    f"  {value.name}, %l{i} = load_view_tko weak %q{i}[{indices}] : {part}, tile<i32> -> "
                    f"{tile(value.element, shape)}, token"
                )
        lines += [statement.render("  ") for statement in self.statements]
        for i, value in enumerate(self.outputs, len(self.inputs)):
            shape = value.shape or (1,)
            dims = "x".join(map(str, shape))
            stored = value.name
            if not value.shape:
                stored = f"%o{i}"
                lines.append(
                    f"  {stored} = reshape {value.name} : {value.type} -> {tile(value.element, (1,))}"
                )
            strides = [1]
            for n in reversed(shape[1:]):
                strides.insert(0, strides[0] * n)
            view = f"tensor_view<{dims}x{value.element}, strides=[{','.join(map(str, strides))}]>"
            part = f"partition_view<tile=({dims}), {view}>"
            indices = ", ".join(["%zero"] * len(shape))
            lines.append(
                f"  %s{i} = store_view_tko weak {stored}, %q{i}[{indices}] : {tile(value.element, shape)}, {part}, "
                "tile<i32> -> token"
            )
        return "\n".join([*lines, "  return", "}", ""])

    def needed(self) -> Program:
        """Without the statements and inputs that no output depends on."""
        live = set(self.outputs)
        kept: list[Statement] = []
        for statement in reversed(self.statements):
            if any(v in live for v in statement.defs):
                kept.append(statement)
                live.update(statement.all_uses())
        return Program([v for v in self.inputs if v in live], kept[::-1], self.outputs)


def smaller(program: Program) -> Iterator[Program]:
    """Programs with something taken away: an output, a statement whose results become constants, a nested statement."""
    for output in program.outputs:
        if len(program.outputs) > 1:
            yield Program(
                program.inputs, program.statements, [v for v in program.outputs if v is not output]
            ).needed()
    for value in program.outputs:
        maker = next((s for s in program.statements if value in s.defs), None)
        for used in maker.uses if maker is not None else ():
            if used not in program.outputs and used.element != "ptr":
                others = [v for v in program.outputs if v is not value]
                yield Program(program.inputs, program.statements, [*others, used]).needed()
    for at, statement in enumerate(program.statements):
        if len(statement.defs) == 1 and not statement.text.startswith("$a = constant"):
            value = statement.defs[0]
            one = Statement(
                f"$a = constant <{value.element}: {literal(value.element, 1)}> : {value.type}", [], [value]
            )
            statements = [*program.statements[:at], one, *program.statements[at + 1 :]]
            yield Program(program.inputs, statements, program.outputs).needed()
        for inner in range(len(statement.body)):
            gone = statement.body[inner]
            rest = [*statement.body[:inner], *statement.body[inner + 1 :]]
            if not {v for s in rest for v in s.all_uses()}.union(statement.yields) & set(gone.defs):
                thinner = replace(statement, body=rest)
                statements = [*program.statements[:at], thinner, *program.statements[at + 1 :]]
                yield Program(program.inputs, statements, program.outputs).needed()


def literal(element: str, value: int) -> str:
    """A number as the text of an element type."""
    if element == "i1":
        return "true" if value & 1 else "false"
    return str(value) if element in INTEGERS else f"{float(value):e}"


class Generator:
    """Makes programs from a source of randomness."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.values: list[Value] = []
        self.out: list[Statement] = []
        self.depth = 0

    def program(self, length: int | None = None) -> Program:
        """A program of about `length` statements."""
        rng = self.rng
        inputs = [
            self.new(rng.choice(INTEGERS + FLOATS), self.shape() or (1,)) for _ in range(rng.randint(1, 4))
        ]
        self.values = list(inputs)
        self.out = []
        makers = MAKERS
        weights = [weight for _, weight in makers]
        for _ in range(length or rng.randint(3, 25)):
            make = rng.choices([m for m, _ in makers], weights)[0]
            make(self)
        made = [v for s in self.out for v in s.defs if v.element != "ptr"]
        if not made:
            return self.program(length)
        outputs = rng.sample(made, min(len(made), rng.randint(1, 4)))
        return Program(inputs, self.out, outputs).needed()

    # -- pieces

    def name(self) -> str:
        self.count += 1
        return f"%x{self.count}"

    def new(self, element: str, shape: tuple[int, ...], exact: bool = True, small: bool = False) -> Value:
        return Value(self.name(), element, shape, exact, small)

    def shape(self, most: int = MOST_BITS) -> tuple[int, ...]:
        rng = self.rng
        rank = rng.choice((0, 1, 1, 1, 2, 2, 2, 3, 4))
        if not rank:
            return ()
        bits = [0] * rank
        for _ in range(rng.randint(0, most)):
            bits[rng.randrange(rank)] += 1
        return tuple(1 << b for b in bits)

    def pick(self, fits: Callable[[Value], bool]) -> Value | None:
        """A value in scope that fits, the latest ones most often."""
        found = [v for v in self.values if fits(v)]
        if not found:
            return None
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def like(self, value: Value) -> Value:
        """A value of the same type: one in scope, or a constant."""
        found = self.pick(lambda v: v.type == value.type and (v is not value or self.rng.random() < 0.1))
        return (
            found
            if found is not None and self.rng.random() < 0.8
            else self.constant(value.element, value.shape)
        )

    def constant(self, element: str, shape: tuple[int, ...], value: int | None = None) -> Value:
        rng = self.rng
        if value is None:
            most = {"i1": 1, "i8": 100}.get(element, 1000)
            value = rng.choice((0, 1, rng.randint(0 if element == "i1" else -most, most)))
        return self.add(f"$a = constant <{element}: {literal(element, value)}> : $T", [], element, shape)

    def add(
        self,
        text: str,
        uses: list[Value],
        element: str,
        shape: tuple[int, ...],
        exact: bool = True,
        small: bool = False,
    ) -> Value:
        """A statement with one result; `$T` is its type, `$0T` the type of a value used."""
        made = self.new(element, shape, exact and all(v.exact for v in uses), small)
        for i, value in enumerate(uses):
            text = text.replace(f"${i}T", value.type)
        self.out.append(Statement(text.replace("$T", made.type), uses, [made]))
        self.values.append(made)
        return made

    def nested(self, arguments: list[Value], makers: int) -> list[Statement]:
        """Statements that see what is in scope and the arguments; their values are not seen after."""
        saved_out, saved_values = self.out, self.values
        self.out, self.values = [], [*saved_values, *arguments]
        self.depth += 1
        for _ in range(makers):
            self.rng.choices([m for m, _ in MAKERS], [w for _, w in MAKERS])[0](self)
        self.depth -= 1
        body = self.out
        self.inner_values = self.values
        self.out, self.values = saved_out, saved_values
        return body


# -- makers of statements: each adds some, or none where nothing in scope fits


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
    a = g.pick(lambda v: v.element != "ptr")
    if a is None:
        return
    condition = g.like(replace(a, element="i1"))
    g.add("$a = select $0, $1, $2 : $0T, $T", [condition, a, g.like(a)], a.element, a.shape)


def cast(g: Generator) -> None:
    a = g.pick(lambda v: True)
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
    a = g.pick(lambda v: bool(v.shape) and v.element != "i1")
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
        # Sums in another order differ, except those of few small integers; an infinity is no identity beside NaN.
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
    kind = g.rng.choice(("f16", "bf16", "f32", "f64", "i8"))
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
    # What one iteration makes, the next one uses: all results are exact, or none.
    exact = all(v.exact for v in (*yields, *inits))
    results = [g.new(v.element, v.shape, exact) for v in arguments]
    carried = ", ".join(f"{a.name} = ${i + 3}" for i, a in enumerate(arguments))
    names = ", ".join(f"${chr(ord('a') + i)}" for i in range(len(results)))
    types = ", ".join(v.type for v in results)
    text = (
        f"{names} = for {counter.name} in ($0 to $1, step $2) : tile<i32> iter_values({carried}) -> ({types}) {{\n"
        "$body\n  continue $yields : $types\n}"
    )
    g.out.append(Statement(text, [low, high, step, *inits], results, body, yields, [counter, *arguments]))
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


MAKERS: list[tuple[Callable[[Generator], None], int]] = [
    (integer_binary, 10), (float_binary, 8), (float_unary, 3), (select, 4), (cast, 6), (small_float, 2), (reshape, 4),
    (permute, 4), (broadcast, 4), (cat, 2), (extract, 2), (iota, 2), (reduce_or_scan, 5), (product, 2), (loop, 2),
    (branch, 2),
]  # fmt: skip
