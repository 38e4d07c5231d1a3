"""How IR is printed: MLIR's `--mlir-print-…` options as one value, which every printer takes."""

from __future__ import annotations

from tessera_tools.records import dataclass

__all__ = ["PLAIN", "Style"]


@dataclass(frozen=True, slots=True)
class Style:
    """How to print IR. The default is text that parses again, without locations."""

    generic: bool = False
    """The generic form throughout."""
    debuginfo: bool = False
    """Locations, `loc(…)`."""
    local_scope: bool = False
    """Locations and layouts in place, without aliases."""
    pretty_debuginfo: bool = False
    """With locations: `file:1:2` in place of `loc("file":1:2)`. The text does not parse again."""
    value_users: bool = False
    """A comment after each op, and at the start of each block, with the users of each value."""
    skip_regions: bool = False
    """`{...}` in place of regions. The text does not parse again."""
    unique_ids: bool = False
    """Numbers of values that are unique in the whole unit, not in their region."""
    name_locations: bool = False
    """Values are named by their location, if it is a name."""
    most_elements: int | None = None
    """Elements attributes with more elements are elided."""
    most_resource: int | None = None
    """Resources with more characters are elided."""


PLAIN = Style()
