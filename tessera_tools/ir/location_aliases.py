"""Aliases of locations in printed IR, numbered and placed as upstream does.

    op … loc(#loc3)      an operation's location is an alias; its definition may stand behind the operation
    %a: i32 loc("x"(#loc))      an argument's is written out, with aliases for what is inside; defined before
    #loc = …   first by how deep a location nests, then by where it is first met (an op before its regions)

While the IR is printed, marks stand for the aliases; `resolve` replaces them when all are known.
"""

from __future__ import annotations

import re

from tessera_tools.ir.builtin_attributes import quote
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import UNKNOWN, CallSiteLoc, FusedLoc, Location, NameLoc

_MARK = re.compile("\x00([0-9]+)([ai])\x00")


class LocationAliases:
    """The locations of one printed unit."""

    def __init__(self) -> None:
        self._met: dict[Location, int] = {}
        """Every location, those inside others too, in the order of the walk → how deep it nests."""
        self._marks: list[Location] = []
        self._used: set[Location] = set()
        self._early: set[Location] = set()
        """Those that an argument uses, whose definitions may not wait."""

    def meet(self, op: Operation) -> None:
        """Walk the operation to learn the order of its locations."""
        self._meet(op.location)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    self._meet(argument.location)
                for inner in block.operations:
                    if inner.regions:
                        self.meet(inner)
                    else:
                        self._meet(inner.location)

    def _meet(self, location: Location) -> int:
        depth = self._met.get(location)
        if depth is None:
            inside = [self._meet(child) for child in children(location)]
            depth = self._met[location] = 1 + max(inside) if inside else 0
        return depth

    def mark(self, location: Location, *, argument: bool = False) -> str:
        """What to print for `loc(…)` of an operation or an argument until `resolve`."""
        self._use(location, argument)
        self._marks.append(location)
        return f"\x00{len(self._marks) - 1}{'i' if argument else 'a'}\x00"

    def _use(self, location: Location, early: bool) -> None:
        seen = self._early if early else self._used
        if location not in seen:
            seen.add(location)
            self._used.add(location)
            self._meet(location)
            for child in children(location):
                self._use(child, early)

    def resolve(self, text: str) -> str:
        """The printed text with aliases for marks, and their definitions before and behind."""
        order = sorted(
            (found for found in self._met if found in self._used), key=lambda found: self._met[found]
        )
        names = {location: f"#loc{number or ''}" for number, location in enumerate(order)}

        def body(location: Location) -> str:
            inside = [names[child] for child in children(location)]
            if isinstance(location, NameLoc):
                return quote(location.label) + (f"({inside[0]})" if inside else "")
            if isinstance(location, CallSiteLoc):
                return f"callsite({inside[0]} at {inside[1]})"
            if isinstance(location, FusedLoc):
                meta = f"<{location.metadata}>" if location.metadata is not None else ""
                return f"fused{meta}[{', '.join(inside)}]"
            return location.body()

        def shown(match: re.Match[str]) -> str:
            location = self._marks[int(match.group(1))]
            return f"loc({names[location] if match.group(2) == 'a' else body(location)})"

        def definitions(early: bool) -> str:
            chosen = [found for found in order if (found in self._early) is early]
            return "".join(f"{names[found]} = loc({body(found)})\n" for found in chosen)

        return definitions(True) + _MARK.sub(shown, text) + definitions(False)


def children(location: Location) -> tuple[Location, ...]:
    """The locations right inside another one."""
    if isinstance(location, NameLoc):
        return () if location.child is UNKNOWN else (location.child,)
    if isinstance(location, CallSiteLoc):
        return (location.callee, location.caller)
    if isinstance(location, FusedLoc):
        return location.locations
    return ()
