"""Aliases of locations in printed IR, numbered and placed as upstream does.

    op … loc(#loc3)      an operation's location is an alias; its definition may come after the operation
    %a: i32 loc("x"(#loc))      an argument's is inline, with aliases for nested ones, which are defined before
    #loc = …   ordered by nesting depth, then by first occurrence (an op before its regions)

While the IR is printed, marks are placeholders for the aliases; `resolve` replaces them when all are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tessera_tools.ir.attributes import Attribute, HasAliasedParts
from tessera_tools.ir.builtin_attributes import quote
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import (
    UNKNOWN,
    CallSiteLoc,
    FileLineColLoc,
    FileRangeLoc,
    FusedLoc,
    Location,
    NameLoc,
)

_MARK = re.compile("\x00([0-9]+)([ai])\x00")


class LocationAliases:
    """The locations of one printed unit. `pretty`: `file:1:2`, without `loc(…)`."""

    def __init__(self, *, pretty: bool = False) -> None:
        self._pretty = pretty
        self._met: dict[Location, int] = {}
        """Every location, including nested ones, in the order of the walk → its nesting depth."""
        self._marks: list[Location] = []
        self._used: set[Location] = set()
        self._early: set[Location] = set()
        """Locations used by an argument; they must be defined before."""

    def meet(self, op: Operation) -> None:
        """Walk the operation and record the order of its locations."""
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
        """The printed text with aliases for marks, and their definitions before and after."""
        order = sorted(
            (found for found in self._met if found in self._used), key=lambda found: self._met[found]
        )
        names = {location: f"#loc{number or ''}" for number, location in enumerate(order)}

        attributes = self._attributes(order)

        def named(attribute: Attribute) -> str:
            return names[attribute] if isinstance(attribute, Location) else attributes[attribute]

        def body(location: Location) -> str:
            if isinstance(location, HasAliasedParts):
                return location.alias_text(named)
            if self._pretty:
                return pretty(location, names.__getitem__)
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
            if self._pretty:
                return body(location)
            return f"loc({names[location] if match.group(2) == 'a' else body(location)})"

        def definitions(early: bool) -> str:
            chosen = [found for found in order if (found in self._early) is early]
            return "".join(
                f"{names[found]} = {body(found)}\n"
                if isinstance(found, HasAliasedParts) or self._pretty
                else f"{names[found]} = loc({body(found)})\n"
                for found in chosen
            )

        scopes = "".join(f"{name} = {_aliased(found, named)}\n" for found, name in attributes.items())
        early, late = definitions(True), definitions(False)
        if any(isinstance(found, HasAliasedParts) for found in self._early):
            return scopes + early + _MARK.sub(shown, text) + late
        return early + _MARK.sub(shown, text) + scopes + late

    def _attributes(self, locations: list[Location]) -> dict[Attribute, str]:
        """The attributes with aliases that the locations name, parts before wholes → their aliases."""
        depths: dict[Attribute, int] = {}

        def meet(attribute: Attribute) -> int:
            depth = depths.get(attribute)
            if depth is None:
                depth = 1 + max(map(meet, _parts(attribute)), default=-1)
                depths[attribute] = depth
            return depth

        for location in locations:
            for part in _parts(location):
                if not isinstance(part, Location):
                    meet(part)
        counts: dict[str, int] = {}
        names: dict[Attribute, str] = {}
        for attribute in sorted(depths, key=lambda found: depths[found]):
            word: str = attribute.alias  # type: ignore[attr-defined]
            names[attribute] = f"#{word}{counts.get(word, '')}"
            counts[word] = counts.get(word, 0) + 1
        return names


def pretty(location: Location, name: Callable[[Location], str] | None = None) -> str:
    """A location for people, as `--mlir-pretty-debuginfo` prints it; `name` gives the text of nested ones."""
    inside = [pretty(child) if name is None else name(child) for child in children(location)]
    if isinstance(location, FileLineColLoc | FileRangeLoc):
        return location.body().replace(quote(location.file), location.file, 1)
    if isinstance(location, NameLoc):
        return quote(location.label) + (f"({inside[0]})" if inside else "")
    if isinstance(location, CallSiteLoc):
        inline = isinstance(location.callee, NameLoc) and isinstance(location.caller, FileLineColLoc)
        return f"{inside[0]}{'' if inline else chr(10)} at {inside[1]}"
    if isinstance(location, FusedLoc):
        meta = f"<{location.metadata}>" if location.metadata is not None else ""
        return f"{meta}[{', '.join(inside)}]"
    return "[unknown]" if location is UNKNOWN else location.body()


def _parts(attribute: Attribute) -> tuple[Attribute, ...]:
    """The attributes inside one that are printed through aliases."""
    return attribute.alias_parts() if isinstance(attribute, HasAliasedParts) else ()


def _aliased(attribute: Attribute, name: Callable[[Attribute], str]) -> str:
    return attribute.alias_text(name) if isinstance(attribute, HasAliasedParts) else str(attribute)


def children(location: Location) -> tuple[Location, ...]:
    """The direct children of a location."""
    if isinstance(location, NameLoc):
        return () if location.child is UNKNOWN else (location.child,)
    if isinstance(location, CallSiteLoc):
        return (location.callee, location.caller)
    if isinstance(location, FusedLoc):
        return location.locations
    return tuple(part for part in _parts(location) if isinstance(part, Location))
