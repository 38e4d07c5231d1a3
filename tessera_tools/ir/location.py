"""Source locations, as MLIR has them.

loc("file.mlir":3:7)  loc(unknown)  loc("name"(loc(…)))  loc(callsite(… at …))  loc(fused<meta>[…, …])
"""

from __future__ import annotations

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import quote


class Location(Attribute):
    """The base of locations.  `body()` is the text between the parentheses of `loc(…)`."""

    def start(self) -> tuple[str, int, int] | None:
        """The first file position of the location."""
        return None

    def body(self) -> str:
        raise AssertionError(f"{type(self).__name__} does not implement body()")

    def text(self) -> str:
        return f"loc({self.body()})"


class UnknownLoc(Location, name="builtin.unknown_loc"):
    """No position is known."""

    def body(self) -> str:
        return "unknown"


class FileLineColLoc(Location, name="builtin.file_line_col_loc"):
    """A position; line and column count from 1 (0 when unknown)."""

    file: str
    line: int
    column: int

    def start(self) -> tuple[str, int, int]:
        return (self.file, self.line, self.column)

    def body(self) -> str:
        return f"{quote(self.file)}:{self.line}:{self.column}"


class FileRangeLoc(Location, name="builtin.file_range_loc"):
    """A range: `"f":1:2 to 3:4`."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def start(self) -> tuple[str, int, int]:
        return (self.file, self.line, self.column)

    def body(self) -> str:
        end = f":{self.end_column}" if self.end_line == self.line else f"{self.end_line}:{self.end_column}"
        return f"{quote(self.file)}:{self.line}:{self.column} to {end}"


class NameLoc(Location, name="builtin.name_loc"):
    """A named location, over a child location."""

    label: str
    child: Location

    def start(self) -> tuple[str, int, int] | None:
        return self.child.start()

    def body(self) -> str:
        return quote(self.label) if self.child is UNKNOWN else f"{quote(self.label)}({self.child.body()})"


class CallSiteLoc(Location, name="builtin.call_site_loc"):
    """`callee` as called at `caller`."""

    callee: Location
    caller: Location

    def start(self) -> tuple[str, int, int] | None:
        return self.callee.start() or self.caller.start()

    def body(self) -> str:
        return f"callsite({self.callee.body()} at {self.caller.body()})"


class FusedLoc(Location, name="builtin.fused_loc"):
    """Several locations as one, with optional metadata."""

    locations: tuple[Location, ...]
    metadata: Attribute | None = None

    def start(self) -> tuple[str, int, int] | None:
        return next((p for p in (child.start() for child in self.locations) if p), None)

    def body(self) -> str:
        meta = f"<{self.metadata}>" if self.metadata is not None else ""
        return f"fused{meta}[{', '.join(child.body() for child in self.locations)}]"


class OpaqueLoc(Location, name="builtin.opaque_loc"):
    """A dialect attribute used as a location, e.g. `loc(#cuda_tile.di_loc<…>)`."""

    attribute: Attribute

    def start(self) -> tuple[str, int, int] | None:
        start = getattr(self.attribute, "start", None)
        return start() if start else None

    def body(self) -> str:
        return str(self.attribute)


UNKNOWN = UnknownLoc()
