"""Random programs with nested loops and branches: as cuda_tile text, and run by a plain interpreter.

A program works on variables that change (numbers, tiles, the order of memory) like any imperative language; the text is
made in SSA form, so that each loop carries, and each branch yields, what is assigned within:

    x = x + y                 %v7 = addi %v3, %v5
    if x < 3:                 %v9:2 = if %v8 -> (tile<i32>, token) {
        x = 7; break              break … / yield …
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from programs import Array

SLOTS, WIDTH = 8, 64
"""The buffer that a program works on: tiles of numbers."""
SIDE = 4
"""A tile is also a matrix of so many rows, which may be transposed: threads exchange elements."""
NUMBERS, TILES = ("x", "y", "z"), ("p", "q")
TOKEN = "token"
TYPES = {
    **dict.fromkeys(NUMBERS, "tile<i32>"),
    **dict.fromkeys(TILES, f"tile<{WIDTH}xi32>"),
    TOKEN: "token",
}
VIEW = f"tensor_view<{SLOTS * WIDTH}xi32, strides=[1]>"
PART = f"partition_view<tile=({WIDTH}), {VIEW}>"
ACROSS = f"tensor_view<{WIDTH}xi32, strides=[{SLOTS}]>"
PART_ACROSS = f"partition_view<tile=({WIDTH}), {ACROSS}>"
"""One tile whose elements lie in all slots, so that threads meet what others have stored."""
LAST_BITS = 3
"""Of a number, how far a loop may count."""
OPERATIONS = ("addi", "subi", "muli", "xori", "mini", "maxi")
COMPARISONS = ("equal", "not_equal", "less_than", "greater_than_or_equal")


@dataclass
class Statement:
    """`kind` says what the other fields are; `bodies` are lists of statements; `unroll`: a loop's hint."""

    kind: str
    words: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    bodies: tuple[list[Statement], ...] = ()
    unroll: int = 0


# -- making one


@dataclass
class Maker:
    """Draws statements; `rest` bounds how many."""

    rng: np.random.Generator
    rest: int = 40
    loops: list[str] = field(default_factory=list)

    def pick(self, items: Sequence[str]) -> str:
        """One of several words."""
        return items[int(self.rng.integers(len(items)))]

    def small(self) -> int:
        """A number from -2 to 9."""
        return int(self.rng.integers(-2, 10))

    def block(self, depth: int) -> list[Statement]:
        """A few statements, perhaps left early."""
        found: list[Statement] = []
        for _ in range(int(self.rng.integers(1, 4))):
            if self.rest > 0:
                self.rest -= 1
                found.append(self.statement(depth))
        return found

    def statement(self, depth: int) -> Statement:
        """A statement; deep inside only simple ones."""
        draw = self.rng.random()
        if depth < 4 and draw < 0.3:
            return self.branch(depth)
        if len(self.loops) < 3 and depth < 4 and draw < 0.55:
            return self.loop(depth)
        if draw < 0.6:
            return Statement(self.pick(("store across", "load across")), (self.pick(TILES),))
        if draw < 0.63:
            return Statement("turn", (self.pick(TILES), self.pick(TILES)))
        if draw < 0.65:
            return Statement("sum", (self.pick(NUMBERS), self.pick(TILES)))
        if draw < 0.68:
            return Statement("store", (self.pick(TILES), self.pick(NUMBERS)))
        if draw < 0.75:
            return Statement("load", (self.pick(TILES), self.pick(NUMBERS)))
        if draw < 0.85:
            return Statement("spread", (self.pick(TILES), self.pick(TILES), self.pick(NUMBERS)))
        kind = self.pick((NUMBERS, TILES))  # type: ignore[arg-type]
        return Statement("let", (self.pick(kind), self.pick(OPERATIONS), self.pick(kind), self.pick(kind)))

    def branch(self, depth: int) -> Statement:
        """An `if`, whose sides may leave the loop or the program."""
        sides = [self.block(depth + 1), self.block(depth + 1) if self.rng.random() < 0.6 else []]
        for side in sides:
            ways = ["return"] if not self.loops and self.rng.random() < 0.2 else []
            if self.loops and self.rng.random() < 0.4:
                ways = ["continue", "break"] if self.loops[-1] == "loop" else ["continue"]
            if ways:
                side.append(Statement(self.pick(ways)))
        return Statement(
            "if", (self.pick(NUMBERS), self.pick(COMPARISONS)), (self.small(),), (sides[0], sides[1])
        )

    def loop(self, depth: int) -> Statement:
        """A `for` of at most a few iterations, or an endless loop that counts how long it may run."""
        kind = "for" if self.rng.random() < 0.5 else "loop"
        unroll = int(self.rng.choice((0, 0, 1, 2, 3, 5)))
        self.loops.append(kind)
        body = self.block(depth + 1)
        self.loops.pop()
        if kind == "loop":
            return Statement("loop", (self.pick(("up", "down")),), (int(self.rng.integers(0, 4)),), (body,))
        if self.rng.random() < 0.4:
            # From one number to another, as far as their last bits say.
            words = (self.pick(NUMBERS), self.pick(("", "unsigned")), self.pick(NUMBERS), self.pick(NUMBERS))
            return Statement("for", words, (int(self.rng.integers(1, 4)),), (body,), unroll)
        words = (self.pick(NUMBERS), self.pick(("", "unsigned")))
        step = int(self.rng.integers(1, 4))
        lower, upper = (int(n) for n in self.rng.integers(-3, 5, 2))
        if words[1]:
            lower, upper = lower + 3, upper + 3
        return Statement("for", words, (lower, upper, step), (body,), unroll)


# -- interpreting


class Left(Exception):
    """A loop's iteration, a loop or the program is left."""


def interpret(program: Sequence[Statement], buffer: Array, numbers: Sequence[int]) -> Array:
    """What the buffer holds after the program."""
    memory = buffer.copy().reshape(SLOTS, WIDTH)
    state: dict[str, Array] = {name: np.array(n, np.int32) for name, n in zip(NUMBERS, numbers, strict=True)}
    state |= {name: memory[i].copy() for i, name in enumerate(TILES)}
    try:
        with np.errstate(over="ignore"):
            _run(program, state, memory)
            for i, name in enumerate(TILES):
                memory[i] = state[name]
            for i, name in enumerate(NUMBERS):
                memory[len(TILES) + i] = state[name]
    except Left:
        pass
    return memory.reshape(-1)


def _run(block: Sequence[Statement], state: dict[str, Array], memory: Array) -> None:
    for s in block:
        match s.kind:
            case "let":
                name, operation, a, b = s.words
                state[name] = _operate(operation, state[a], state[b])
            case "spread":
                name, tile, number = s.words
                state[name] = state[tile] + state[number]
            case "turn":
                state[s.words[0]] = state[s.words[1]].reshape(SIDE, WIDTH // SIDE).T.reshape(-1)
            case "sum":
                state[s.words[0]] = np.add.reduce(state[s.words[1]], dtype=np.int32)
            case "store":
                memory[int(state[s.words[1]]) % SLOTS] = state[s.words[0]]
            case "load":
                state[s.words[0]] = memory[int(state[s.words[1]]) % SLOTS].copy()
            case "store across":
                memory.reshape(-1)[::SLOTS] = state[s.words[0]]
            case "load across":
                state[s.words[0]] = memory.reshape(-1)[::SLOTS].copy()
            case "if":
                holds = _compare(s.words[1], int(state[s.words[0]]), s.numbers[0])
                _run(s.bodies[0 if holds else 1], state, memory)
            case "for":
                for i in range(*_bounds(s, state)):
                    state[s.words[0]] = np.array(i, np.int32)
                    if not _iteration(s.bodies[0], state, memory):
                        break
            case "loop":
                for _ in range(s.numbers[0]):
                    if not _iteration(s.bodies[0], state, memory):
                        break
            case _:
                raise Left(s.kind)


def _bounds(s: Statement, state: dict[str, Array]) -> tuple[int, ...]:
    """Lower and upper bound and step of a loop that counts."""
    if len(s.numbers) == 3:
        return s.numbers
    lower, upper = (int(state[name]) & LAST_BITS for name in s.words[2:])
    return lower, upper, s.numbers[0]


def _iteration(body: Sequence[Statement], state: dict[str, Array], memory: Array) -> bool:
    """True if the loop goes on."""
    try:
        _run(body, state, memory)
    except Left as way:
        if str(way) == "return":
            raise
        return str(way) == "continue"
    return True


def _operate(operation: str, a: Array, b: Array) -> Array:
    functions = {"mini": np.minimum, "maxi": np.maximum, "xori": np.bitwise_xor}
    functions |= {"addi": np.add, "subi": np.subtract, "muli": np.multiply}
    return functions[operation](a, b)


def _compare(predicate: str, a: int, b: int) -> bool:
    return {
        "equal": a == b,
        "not_equal": a != b,
        "less_than": a < b,
        "greater_than_or_equal": a >= b,
    }[predicate]


# -- writing

Passed = Mapping[str, Sequence[str]]
"""The variables that a `break` or `continue` passes on."""


class Writer:
    """Writes a program as an entry `(buffer, x, y, z)`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.depth = 1
        self.now: dict[str, str] = {}

    def new(self) -> str:
        """A fresh name."""
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def let(self, text: str) -> str:
        """A line that defines a value."""
        name = self.new()
        self.line(f"{name} = {text}")
        return name

    def constant(self, number: int) -> str:
        return self.let(f"constant <i32: {number}> : tile<i32>")

    def slot(self, number: str) -> str:
        """The index of the slot that a number says."""
        return self.let(f"andi {self.now[number]}, {self.constant(SLOTS - 1)} : tile<i32>")

    def store(self, tile: str, index: str, view: str = "%view", part: str = PART) -> None:
        types = f"{TYPES['p']}, {part}, tile<i32> -> token"
        token = self.now[TOKEN]
        self.now[TOKEN] = self.let(f"store_view_tko weak {tile}, {view}[{index}] token = {token} : {types}")

    def load(self, index: str, view: str = "%view", part: str = PART) -> str:
        name, token = self.new(), self.new()
        types = f"{part}, tile<i32> -> {TYPES['p']}, token"
        self.line(f"{name}, {token} = load_view_tko weak {view}[{index}] token = {self.now[TOKEN]} : {types}")
        self.now[TOKEN] = token
        return name

    def spread(self, number: str) -> str:
        """A tile of equal numbers."""
        one = self.let(f"reshape {number} : tile<i32> -> tile<1xi32>")
        return self.let(f"broadcast {one} : tile<1xi32> -> {TYPES['p']}")

    def turn(self, tile: str) -> str:
        """A tile as a matrix, transposed."""
        rows, columns = f"tile<{SIDE}x{WIDTH // SIDE}xi32>", f"tile<{WIDTH // SIDE}x{SIDE}xi32>"
        matrix = self.let(f"reshape {tile} : {TYPES['p']} -> {rows}")
        turned = self.let(f"permute {matrix} [1, 0] : {rows} -> {columns}")
        return self.let(f"reshape {turned} : {columns} -> {TYPES['p']}")

    def sum(self, tile: str) -> str:
        """The sum of a tile's elements."""
        total, a, b, c = (self.new() for _ in range(4))
        self.line(f"{total} = reduce {tile} dim=0 identities=[0 : i32] : {TYPES['p']} -> tile<i32>")
        self.line(f"({a}: tile<i32>, {b}: tile<i32>) {{")
        self.line(f"  {c} = addi {a}, {b} : tile<i32>")
        self.line(f"  yield {c} : tile<i32>")
        self.line("}")
        return total

    def block(self, block: Sequence[Statement], end: str, loop: Passed) -> None:
        """Statements, then `end` (a word and the variables that it passes on) unless they leave; `loop`: what the
        innermost loop's terminators pass on."""
        self.depth += 1
        for s in block:
            match s.kind:
                case "break" | "continue":
                    self.line(self.ending(s.kind, loop[s.kind]))
                    break
                case "return":
                    self.line("return")
                    break
                case _:
                    self.statement(s, loop)
        else:
            word, *names = end.split()
            self.line(self.ending(word, names))
        self.depth -= 1

    def ending(self, word: str, names: Sequence[str]) -> str:
        if not names:
            return word
        return f"{word} {', '.join(self.now[n] for n in names)} : {', '.join(TYPES[n] for n in names)}"

    def statement(self, s: Statement, loop: Passed) -> None:
        match s.kind:
            case "let":
                name, operation, a, b = s.words
                signed = " signed" if operation in ("mini", "maxi") else ""
                self.now[name] = self.let(f"{operation} {self.now[a]}, {self.now[b]}{signed} : {TYPES[name]}")
            case "spread":
                name, tile, number = s.words
                other = self.spread(self.now[number])
                self.now[name] = self.let(f"addi {self.now[tile]}, {other} : {TYPES[name]}")
            case "turn":
                self.now[s.words[0]] = self.turn(self.now[s.words[1]])
            case "sum":
                self.now[s.words[0]] = self.sum(self.now[s.words[1]])
            case "store":
                self.store(self.now[s.words[0]], self.slot(s.words[1]))
            case "load":
                self.now[s.words[0]] = self.load(self.slot(s.words[1]))
            case "store across":
                self.store(self.now[s.words[0]], self.constant(0), "%across", PART_ACROSS)
            case "load across":
                self.now[s.words[0]] = self.load(self.constant(0), "%across", PART_ACROSS)
            case "if":
                self.branch(s, loop)
            case "for":
                self.counted(s)
            case _:
                self.endless(s)

    def branch(self, s: Statement, loop: Passed) -> None:
        names = assigned(s)
        limit = self.constant(s.numbers[0])
        condition = self.let(
            f"cmpi {s.words[1]} {self.now[s.words[0]]}, {limit}, signed : tile<i32> -> tile<i1>"
        )
        before = dict(self.now)
        head, results = self.results(names)
        self.line(f"{head}if {condition}{self.types(names)} {{")
        self.block(s.bodies[0], f"yield {' '.join(names)}", loop)
        if s.bodies[1] or names:
            self.line("} else {")
            self.now = dict(before)
            self.block(s.bodies[1], f"yield {' '.join(names)}", loop)
        self.line("}")
        self.now = before | results

    def counted(self, s: Statement) -> None:
        variable, unsigned, *ends = s.words
        numbers = [self.constant(n) for n in s.numbers]
        if ends:
            mask = self.constant(LAST_BITS)
            numbers = [*(self.let(f"andi {self.now[n]}, {mask} : tile<i32>") for n in ends), *numbers]
        lower, upper, step = numbers
        names = sorted({*assigned(s), variable})
        before, (head, results) = dict(self.now), self.results(names)
        counter, arguments = self.new(), {n: self.new() for n in names}
        pairs = ", ".join(f"{arguments[n]} = {before[n]}" for n in names)
        self.line(
            f"{head}for {unsigned} {counter} in ({lower} to {upper}, step {step}) : tile<i32> "
            f"iter_values({pairs}){self.types(names)} {{"
        )
        self.now |= arguments
        self.now[variable] = counter
        self.block(s.bodies[0], f"continue {' '.join(names)}", {"continue": names})
        self.line(f"}} {{tessera.unroll_hint = {s.unroll} : i64}}" if s.unroll else "}")
        self.now = before | results

    def endless(self, s: Statement) -> None:
        """A loop that counts itself, up or down, so that it ends: every `continue` passes on one iteration less."""
        names = assigned(s)
        upwards = s.words[0] == "up"
        start = self.constant(0 if upwards else s.numbers[0])
        before, (head, results) = dict(self.now), self.results(names)
        arguments = {n: self.new() for n in names}
        left, counter = self.new(), f"left{self.count}"
        pairs = ", ".join([*(f"{arguments[n]} = {before[n]}" for n in names), f"{left} = {start}"])
        carried = [*names, counter]
        TYPES[counter] = "tile<i32>"
        types = [TYPES[n] for n in names]
        arrow = f" -> {', '.join(types)}" if types else ""
        self.line(f"{head}loop iter_values({pairs}) : {', '.join(TYPES[n] for n in carried)}{arrow} {{")
        self.now |= arguments
        self.depth += 1
        end, one = self.constant(s.numbers[0] if upwards else 0), self.constant(1)
        word = "greater_than_or_equal" if upwards else "less_than_or_equal"
        over = self.let(f"cmpi {word} {left}, {end}, signed : tile<i32> -> tile<i1>")
        self.line(f"if {over} {{ {self.ending('break', names)} }}")
        self.now[counter] = self.let(f"{'addi' if upwards else 'subi'} {left}, {one} : tile<i32>")
        self.depth -= 1
        self.block(s.bodies[0], f"continue {' '.join(carried)}", {"break": names, "continue": carried})
        self.line("}")
        self.now = before | results

    def results(self, names: Sequence[str]) -> tuple[str, dict[str, str]]:
        """(`%v1, %v2 = `, the variables that these are)."""
        found = {n: self.new() for n in names}
        return (f"{', '.join(found.values())} = " if found else ""), found

    def types(self, names: Sequence[str]) -> str:
        return f" -> ({', '.join(TYPES[n] for n in names)})" if names else ""


def assigned(s: Statement) -> list[str]:
    """The variables that a statement may change, sorted."""
    found: set[str] = set()
    if s.kind in ("let", "spread", "load", "load across", "turn", "sum", "for"):
        found.add(s.words[0])
    if s.kind.startswith(("load", "store")):
        found.add(TOKEN)
    for body in s.bodies:
        for inner in body:
            found |= set(assigned(inner))
    return sorted(found)


def text_of(program: Sequence[Statement]) -> str:
    """The program as cuda_tile text."""
    w = Writer()
    w.lines.append(
        f"entry @kernel(%buffer: tile<ptr<i32>>, {', '.join(f'%{n}: tile<i32>' for n in NUMBERS)}) {{"
    )
    w.now = {n: f"%{n}" for n in NUMBERS} | {TOKEN: w.let("make_token : token")}
    w.line(f"%tensor = make_tensor_view %buffer, shape = [{SLOTS * WIDTH}], strides = [1] : {VIEW}")
    w.line(f"%view = make_partition_view %tensor : {PART}")
    w.line(f"%column = make_tensor_view %buffer, shape = [{WIDTH}], strides = [{SLOTS}] : {ACROSS}")
    w.line(f"%across = make_partition_view %column : {PART_ACROSS}")
    for i, name in enumerate(TILES):
        w.now[name] = w.load(w.constant(i))
    for s in program:
        w.statement(s, {})
    for i, name in enumerate(TILES):
        w.store(w.now[name], w.constant(i))
    for i, name in enumerate(NUMBERS):
        w.store(w.spread(w.now[name]), w.constant(len(TILES) + i))
    w.line("return")
    return "\n".join([*w.lines, "}\n"])
