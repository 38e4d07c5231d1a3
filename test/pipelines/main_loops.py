"""Loops of products in SASS, and what a warp executes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LABEL = re.compile(r"\s*(\.L_x_\d+):")
_INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(.*?);")
_BRANCH = re.compile(r"(@\S+ )?BRA(?P<condition>[^`]*)`\((?P<to>\.L_x_\d+)\)")


@dataclass(frozen=True)
class MainLoop:
    """A loop that holds an HGMMA, and no other such loop."""

    instructions: tuple[str, ...]
    """From its first to its last."""
    shortest: int | None
    """Instructions of the shortest way round, past what is seldom needed; None if no way within the loop is found."""

    @property
    def length(self) -> int:
        """All instructions."""
        return len(self.instructions)

    def count(self, *opcodes: str) -> int:
        """Instructions of these opcodes, with any modifiers."""
        words = [text.split()[1 if text.startswith("@") else 0] for text in self.instructions]
        return sum(any(word == one or word.startswith(f"{one}.") for one in opcodes) for word in words)


def main_loops(sass: str, products: tuple[str, ...] = ("HGMMA",)) -> list[MainLoop]:
    """The loops of a disassembled cubin with products, of these opcodes."""
    places: dict[str, int] = {}
    instructions: list[str] = []
    for line in sass.split("\n"):
        if label := _LABEL.match(line):
            places[label[1]] = len(instructions)
        elif found := _INSTRUCTION.match(line):
            instructions.append(found[1])
    loops = [
        (start, end)
        for end, text in enumerate(instructions)
        if (branch := _BRANCH.match(text)) and (start := places.get(branch["to"], end + 1)) <= end
    ]
    inner = [
        loop
        for loop in loops
        if any(word in text for text in instructions[slice(*loop)] for word in products)
    ]
    return [
        MainLoop(tuple(instructions[loop[0] : loop[1] + 1]), _shortest(instructions, places, *loop))
        for loop in inner
        if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in inner)
    ]


def _shortest(instructions: list[str], places: dict[str, int], start: int, end: int) -> int | None:
    counts = {start: 1}
    for place in range(start, end):
        if place not in counts:
            continue
        branch = _BRANCH.match(instructions[place])
        leaves = instructions[place].split() == ["EXIT"] or (
            branch and not branch[1] and "P" not in branch["condition"]
        )
        following = [] if leaves else [place + 1]
        if branch and place < places.get(branch["to"], -1) <= end:
            following.append(places[branch["to"]])
        for next in following:
            counts[next] = min(counts.get(next, counts[place] + 1), counts[place] + 1)
    return counts.get(end)
