"""Random programs of loads, stores, conversions, loops and branches compute what they say, without a finding.

A program is a list of statements over two arrays of tiles, run here by NumPy and, printed as cuda_tile with a chain of
tokens for each array, by the simulated GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from programs import fresh_seed, run

ROWS = 32
"""Rows and columns of a tile."""
TILES = 2
ARRAYS = "ab"
TILE, HALF = f"tile<{ROWS}x{ROWS}xi32>", f"tile<{ROWS}x{ROWS // 2}xi32>"
VIEW = f"tensor_view<{TILES * ROWS}x{ROWS}xi32, strides=[{ROWS},1]>"
PARTS = {
    kind: f"partition_view<tile=({ROWS}x{columns}), {VIEW}>"
    for kind, columns in ((TILE, ROWS), (HALF, ROWS // 2))
}


@dataclass
class Statement:
    """One statement: its `kind`, the names that it uses and makes, and for loops and branches what is in them."""

    kind: str
    made: str = ""
    used: tuple[str, ...] = ()
    array: str = ""
    index: str = "0"
    shape: str = TILE
    bodies: list[list[Statement]] = field(default_factory=list)
    inner: str = ""
    results: tuple[str, ...] = ()
    """What each body ends with: the tile that it gives."""
    taken: bool = True


class Maker:
    """Makes random statements; names are numbered."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def block(
        self, length: int, tiles: list[str], indices: list[str], depth: int
    ) -> tuple[list[Statement], list[str]]:
        """(statements, the tiles that are there behind them)."""
        tiles = list(tiles)
        made: list[Statement] = []
        for _ in range(length):
            kinds = ["load", "store", "turn", "add", "half"] + (["for", "if", "loop"] if depth else [])
            kind = str(self.rng.choice(kinds))
            array, index = str(self.rng.choice(list(ARRAYS))), str(self.rng.choice(indices))
            first, second = (str(self.rng.choice(tiles)) for _ in range(2))
            if kind == "load":
                made.append(Statement("load", self.name(), array=array, index=index))
            elif kind == "store":
                made.append(Statement("store", used=(first,), array=array, index=index))
                continue
            elif kind == "half":
                name = self.name()
                made.append(Statement("load", name, array=array, index=index, shape=HALF))
                other, place = str(self.rng.choice(list(ARRAYS))), str(self.rng.choice(indices))
                made.append(Statement("store", used=(name,), array=other, index=place, shape=HALF))
                continue
            elif kind == "turn":
                made.append(Statement("turn", self.name(), (first,)))
            elif kind == "add":
                made.append(Statement("add", self.name(), (first, second)))
            elif kind in ("for", "loop"):
                inner, induction = self.name(), self.name()
                body, inside = self.block(3, [*tiles, inner], [*indices, induction], depth - 1)
                made.append(
                    Statement(
                        kind,
                        self.name(),
                        (first,),
                        index=induction,
                        bodies=[body],
                        inner=inner,
                        results=(inside[-1],),
                    )
                )
            else:
                bodies = [self.block(2, tiles, indices, depth - 1) for _ in range(2)]
                made.append(
                    Statement(
                        "if",
                        self.name(),
                        bodies=[b for b, _ in bodies],
                        results=tuple(inside[-1] for _, inside in bodies),
                        taken=bool(self.rng.integers(2)),
                    )
                )
            tiles.append(made[-1].made)
        return made, tiles


class Text:
    """Prints statements as cuda_tile."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def token(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def block(self, statements: list[Statement], tokens: dict[str, str]) -> dict[str, str]:
        """Print a block; the tokens behind it."""
        for s in statements:
            tokens = self.statement(s, dict(tokens))
        return tokens

    def statement(self, s: Statement, tokens: dict[str, str]) -> dict[str, str]:
        index = f"%{s.index}" if s.index.startswith("v") else f"%c{s.index}"
        part = PARTS[s.shape]
        view = f"%{s.array}{'p' if s.shape == TILE else 'h'}[{index}, %c0]"
        carried = ", ".join(["token"] * len(ARRAYS))
        if s.kind == "load":
            made = self.token()
            self.lines.append(
                f"%{s.made}, {made} = load_view_tko weak {view} token = {tokens[s.array]} : {part}, tile<i32> -> "
                f"{s.shape}, token"
            )
            tokens[s.array] = made
        elif s.kind == "store":
            made = self.token()
            self.lines.append(
                f"{made} = store_view_tko weak %{s.used[0]}, {view} token = {tokens[s.array]} : {s.shape}, {part}, "
                "tile<i32> -> token"
            )
            tokens[s.array] = made
        elif s.kind == "turn":
            self.lines.append(f"%{s.made} = permute %{s.used[0]} [1, 0] : {TILE} -> {TILE}")
        elif s.kind == "add":
            self.lines.append(f"%{s.made} = addi %{s.used[0]}, %{s.used[1]} : {TILE}")
        elif s.kind == "if":
            made = [self.token() for _ in ARRAYS]
            self.lines.append(
                f"%{s.made}, {', '.join(made)} = if {'%yes' if s.taken else '%no'} -> ({TILE}, {carried}) {{"
            )
            for place, (body, result) in enumerate(zip(s.bodies, s.results, strict=True)):
                if place:
                    self.lines.append("} else {")
                after = self.block(body, tokens)
                self.lines.append(f"yield %{result}, {', '.join(after.values())} : {TILE}, {carried}")
            self.lines.append("}")
            tokens = dict(zip(ARRAYS, made, strict=True))
        else:
            inner, made = [[self.token() for _ in ARRAYS] for _ in range(2)]
            pairs = ", ".join(
                f"{a} = {b}"
                for a, b in zip([f"%{s.inner}", *inner], [f"%{s.used[0]}", *tokens.values()], strict=True)
            )
            if s.kind == "for":
                self.lines.append(
                    f"%{s.made}, {', '.join(made)} = for %{s.index} in (%c0 to %c2, step %c1) : tile<i32> "
                    f"iter_values({pairs}) -> ({TILE}, {carried}) {{"
                )
            else:
                self.lines.append(
                    f"%{s.made}, {', '.join(made)} = loop iter_values(%{s.index} = %c0, {pairs}) : "
                    f"tile<i32>, {TILE}, {carried} -> {TILE}, {carried} {{"
                )
                left = self.token()
                self.lines.append(f"{left} = cmpi equal %{s.index}, %c2, signed : tile<i32> -> tile<i1>")
                self.lines.append(f"if {left} {{")
                self.lines.append(f"break %{s.inner}, {', '.join(inner)} : {TILE}, {carried}")
                self.lines.append("}")
            after = self.block(s.bodies[0], dict(zip(ARRAYS, inner, strict=True)))
            given = f"%{s.results[0]}, {', '.join(after.values())} : {TILE}, {carried}"
            if s.kind == "loop":
                following = self.token()
                self.lines.append(f"{following} = addi %{s.index}, %c1 : tile<i32>")
                given = f"{following}, %{s.results[0]}, {', '.join(after.values())} : tile<i32>, {TILE}, {carried}"
            self.lines.append(f"continue {given}")
            self.lines.append("}")
            tokens = dict(zip(ARRAYS, made, strict=True))
        return tokens


def interpret(statements: list[Statement], values: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Run statements; indices and tiles are in `values` by their names."""
    for s in statements:
        place = values[s.index] if s.index in values else int(s.index) if s.index.isdigit() else 0
        columns = slice(0, ROWS if s.shape == TILE else ROWS // 2)
        if s.kind == "load":
            values[s.made] = arrays[s.array][place][:, columns].copy()
        elif s.kind == "store":
            arrays[s.array][place][:, columns] = values[s.used[0]]
        elif s.kind == "turn":
            values[s.made] = values[s.used[0]].T.copy()
        elif s.kind == "add":
            values[s.made] = values[s.used[0]] + values[s.used[1]]
        elif s.kind == "if":
            chosen = 0 if s.taken else 1
            interpret(s.bodies[chosen], values, arrays)
            values[s.made] = values[s.results[chosen]]
        else:
            values[s.inner] = values[s.used[0]]
            for i in range(2):
                values[s.index] = i
                interpret(s.bodies[0], values, arrays)
                values[s.inner] = values[s.results[0]]
            values[s.made] = values[s.inner]


def program(statements: list[Statement]) -> str:
    """The entry of statements; its parameters are the arrays and the two conditions."""
    lines = ["%start = make_token : token", "%v0 = constant <i32: 3> : " + TILE]
    lines += [f"%c{n} = constant <i32: {n}> : tile<i32>" for n in range(3)]
    for a in ARRAYS:
        lines.append(f"%{a}d = assume div_by<16>, %{a} : tile<ptr<i32>>")
        lines.append(
            f"%{a}v = make_tensor_view %{a}d, shape = [{TILES * ROWS}, {ROWS}], strides = [{ROWS}, 1] : {VIEW}"
        )
        lines.append(f"%{a}p = make_partition_view %{a}v : {PARTS[TILE]}")
        lines.append(f"%{a}h = make_partition_view %{a}v : {PARTS[HALF]}")
    text = Text()
    text.block(statements, dict.fromkeys(ARRAYS, "%start"))
    body = "\n  ".join([*lines, *text.lines, "return"])
    parameters = ", ".join(f"%{a}: tile<ptr<i32>>" for a in ARRAYS)
    return f"entry @random({parameters}, %yes: tile<i1>, %no: tile<i1>) {{\n  {body}\n}}\n"


@pytest.mark.parametrize("number", range(12))
def test_a_random_program(number: int) -> None:
    seed = fresh_seed()
    rng = np.random.default_rng(seed)
    statements, tiles = Maker(rng).block(8, ["v0"], ["0", "1"], 2)
    statements.append(Statement("store", used=(tiles[-1],), array="a", index="1"))
    given = [rng.integers(0, 1 << 20, (TILES * ROWS, ROWS), dtype=np.int32) for _ in ARRAYS]
    text = program(statements)
    print(text)
    got = run(text, *given, True, False)
    arrays = {a: g.copy().reshape(TILES, ROWS, ROWS) for a, g in zip(ARRAYS, given, strict=True)}
    interpret(statements, {"v0": np.full((ROWS, ROWS), 3, np.int32)}, arrays)
    for a, array in zip(ARRAYS, got, strict=True):
        assert np.array_equal(array.reshape(TILES, ROWS, ROWS), arrays[a])
