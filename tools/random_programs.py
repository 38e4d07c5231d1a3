"""Random well-typed cuda_tile programs, as statements that can be taken away again.

    program = Generator(random.Random(seed)).program()
    program.text()                 one entry: pointers of the inputs, of the outputs
    program.inputs, program.outputs

Every statement has the values that it defines and uses, so that a failing program can be made smaller. Nothing here is
undefined behavior: divisors are odd, shifts are less than the width, loops are short, indices are in bounds, atomics
of one array are of one kind. The statements are made in random_statements.py.

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
NARROW = ("f8E4M3FN", "f8E5M2", "tf32")
STORED = (*INTEGERS, *FLOATS, *NARROW)
"""Element types of inputs and outputs; other types are only used within the program."""
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
    extra: list[Value] = field(default_factory=list[Value])
    """Values of the body, `$e0`, `$e1`, …"""
    effect: bool = False
    """It modifies memory, so it is kept even if it defines no value."""

    def all_uses(self) -> Iterator[Value]:
        """The values used, those of nested statements too."""
        yield from self.uses
        yield from self.yields
        yield from self.extra
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
            if key == "arguments":
                return ", ".join(v.name for v in self.arguments[1:])
            if key[0] == "p":
                return "%p" + self.uses[int(key[1:])].name[1:]
            if key[0] == "e" and key[1:]:
                return self.extra[int(key[1:])].name
            if key.isdigit():
                return self.uses[int(key)].name
            return self.defs[ord(key) - ord("a")].name

        return indent + re.sub(r"\$(body|yields|types|arguments|\d+|[ep]\d+|[a-z])", put, self.text).replace(
            "\n", "\n" + indent
        )


@dataclass
class Program:
    """Statements between loads of the inputs and stores of the outputs, in one tile block or several.

    cells: arrays that statements change by atomics. extents: of tensors that are smaller than their tile; an output has
    those of all blocks, concatenated along its first axis.
    """

    inputs: list[Value]
    statements: list[Statement]
    outputs: list[Value]
    cells: list[Value] = field(default_factory=list[Value])
    extents: dict[Value, tuple[int, ...]] = field(default_factory=dict[Value, tuple[int, ...]])
    blocks: int = 1

    def shape(self, value: Value) -> tuple[int, ...]:
        """The extents of the tensor of an input, an output or a cell."""
        if value in self.extents:
            return self.extents[value]
        shape = value.shape or (1,)
        return (self.blocks * shape[0], *shape[1:]) if value in self.outputs else shape

    def text(self) -> str:
        """The entry as text."""
        tensors = [*self.inputs, *self.outputs, *self.cells]
        parameters = ", ".join(f"%p{v.name[1:]}: tile<ptr<{v.element}>>" for v in tensors)
        lines = [f"// grid: {self.blocks}", f"entry @kernel({parameters}) {{"]
        lines += [
            "  %zero = constant <i32: 0> : tile<i32>",
            "  %block, %by, %bz = get_tile_block_id : tile<i32>",
        ]
        parts = {value: self._view(value, lines) for value in tensors}
        for value in self.inputs:
            shape, name = value.shape or (1,), value.name[1:]
            indices = ", ".join(["%zero"] * len(shape))
            lines.append(
                f"  {value.name}, %l{name} = load_view_tko weak %q{name}[{indices}] : {parts[value]}, tile<i32> -> "
                f"{tile(value.element, shape)}, token"
            )
        lines += [statement.render("  ") for statement in self.statements]
        for value in self.outputs:
            shape, name, stored = value.shape or (1,), value.name[1:], value.name
            if not value.shape:
                stored = f"%o{name}"
                lines.append(
                    f"  {stored} = reshape {value.name} : {value.type} -> {tile(value.element, (1,))}"
                )
            indices = ", ".join(["%block", *["%zero"] * (len(shape) - 1)])
            lines.append(
                f"  %s{name} = store_view_tko weak {stored}, %q{name}[{indices}] : {tile(value.element, shape)}, "
                f"{parts[value]}, tile<i32> -> token"
            )
        return "\n".join([*lines, "  return", "}", ""])

    def _view(self, value: Value, lines: list[str]) -> str:
        """The type of the view of a tensor's tiles; its ops are added to the lines."""
        name, extents, shape = value.name[1:], self.shape(value), value.shape or (1,)
        strides = [1]
        for n in reversed(extents[1:]):
            strides.insert(0, strides[0] * n)
        dims, tile_dims = ("x".join(map(str, s)) for s in (extents, shape))
        view = f"tensor_view<{dims}x{value.element}, strides=[{','.join(map(str, strides))}]>"
        padding = "" if extents == shape or value in self.outputs else "padding_value = zero, "
        part = f"partition_view<tile=({tile_dims}), {padding}{view}>"
        lines.append(
            f"  %v{name} = make_tensor_view %p{name}, shape = [{', '.join(map(str, extents))}], "
            f"strides = [{', '.join(map(str, strides))}] : {view}"
        )
        lines.append(f"  %q{name} = make_partition_view %v{name} : {part}")
        return part

    def needed(self) -> Program:
        """Without the statements and inputs that no output depends on."""
        live = set(self.outputs)
        cells: set[Value] = set()
        kept: list[Statement] = []
        for statement in reversed(self.statements):
            if statement.effect or any(v in live for v in statement.defs):
                kept.append(statement)
                live.update(statement.all_uses())
                cells.update(v for v in statement.all_uses() if v in self.cells)
        return replace(
            self,
            inputs=[v for v in self.inputs if v in live],
            statements=kept[::-1],
            cells=[v for v in self.cells if v in cells],
        )


def smaller(program: Program) -> Iterator[Program]:
    """Programs with something taken away: an output, a statement whose results become constants, a nested statement."""
    for output in program.outputs:
        if len(program.outputs) > 1:
            yield replace(program, outputs=[v for v in program.outputs if v is not output]).needed()
    for statement in program.statements:
        if statement.effect:
            yield replace(program, statements=[s for s in program.statements if s is not statement]).needed()
    if program.extents:
        yield replace(program, extents={})
    if program.blocks > 1:
        yield replace(program, blocks=1, extents={})
    for value in program.outputs:
        maker = next((s for s in program.statements if value in s.defs), None)
        for used in maker.uses if maker is not None else ():
            if used not in program.outputs and used.element in STORED and used not in program.cells:
                others = [v for v in program.outputs if v is not value]
                yield replace(program, outputs=[*others, used]).needed()
    for at, statement in enumerate(program.statements):
        if (
            len(statement.defs) == 1
            and not statement.text.startswith("$a = constant")
            and statement.defs[0].element in STORED
        ):
            value = statement.defs[0]
            one = Statement(
                f"$a = constant <{value.element}: {literal(value.element, 1)}> : {value.type}", [], [value]
            )
            statements = [*program.statements[:at], one, *program.statements[at + 1 :]]
            yield replace(program, statements=statements).needed()
        for inner in range(len(statement.body)):
            gone = statement.body[inner]
            rest = [*statement.body[:inner], *statement.body[inner + 1 :]]
            needed = {v for s in rest for v in s.all_uses()}.union(statement.yields, statement.extra)
            if not needed & set(gone.defs):
                thinner = replace(statement, body=rest)
                statements = [*program.statements[:at], thinner, *program.statements[at + 1 :]]
                yield replace(program, statements=statements).needed()


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
        self.inputs: list[Value] = []
        self.cells: list[Value] = []
        self.whole: set[Value] = set()
        """Inputs whose every element is there, since pointers reach them."""
        self.atomics: dict[Value, str] = {}
        """The kind of the atomics of each array."""

    def program(self, length: int | None = None) -> Program:
        """A program of about `length` statements."""
        from random_statements import MAKERS

        rng = self.rng
        self.inputs = [self.new(rng.choice(STORED), self.shape() or (1,)) for _ in range(rng.randint(1, 4))]
        block = Value("%block", "i32", ())
        self.values = [*self.inputs, block]
        self.out, self.cells, self.atomics, self.whole = [], [], {}, set()
        weights = [weight for _, weight in MAKERS]
        for _ in range(length or rng.randint(3, 25)):
            rng.choices([m for m, _ in MAKERS], weights)[0](self)
        made = [v for s in self.out for v in s.defs if v.element in STORED]
        if not made:
            return self.program(length)
        outputs = rng.sample(made, min(len(made), rng.randint(1, 6)))
        program = Program(
            self.inputs, self.out, outputs, self.cells, blocks=2 if rng.random() < 0.3 else 1
        ).needed()
        for value in (*program.inputs, *program.outputs):
            if value.shape and value not in self.whole and rng.random() < 0.2:
                blocks = program.blocks if value in program.outputs else 1
                first = rng.randint((blocks - 1) * value.shape[0] + 1, blocks * value.shape[0])
                program.extents[value] = (first, *(rng.randint(max(1, n // 2), n) for n in value.shape[1:]))
        return program

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
        if value.element not in STORED:
            return found if found is not None else value
        return (
            found
            if found is not None and self.rng.random() < 0.8
            else self.constant(value.element, value.shape)
        )

    def constant(self, element: str, shape: tuple[int, ...], value: int | None = None) -> Value:
        rng = self.rng
        if value is None:
            most = {"i1": 1, "i8": 100, "f8E4M3FN": 8, "f8E5M2": 4}.get(element, 1000)
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
        from random_statements import MAKERS

        self.depth += 1
        for _ in range(makers):
            self.rng.choices([m for m, _ in MAKERS], [w for _, w in MAKERS])[0](self)
        self.depth -= 1
        body = self.out
        self.inner_values = self.values
        self.out, self.values = saved_out, saved_values
        return body
