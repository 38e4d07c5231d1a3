"""What the launcher of a persistent kernel must know: hidden parameters after the declared ones.

nv_tileaa.persistent = {counter = 6, grid = [3, 4, 5], scheduler = "counter"}
"""

from __future__ import annotations

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i64
from tessera_tools.records import dataclass

PERSISTENT = "nv_tileaa.persistent"
"""Attribute of a kernel: how it gets the numbers of its programs."""
WANTED = "nv_tileas.persistent_if_auto"
"""The attribute of a kernel whose price is lower if it is persistent: what gives its CTAs their next programs."""
ANY, LARGE = LAUNCHES = ("any", "large")
"""Which launches a kernel is compiled for: `large` ones have more tile blocks than CTAs that run at once."""
CLUSTER_PROGRAMS = "nv_tileas.cluster_programs"
"""The attribute of a kernel each of whose clusters runs several programs: how many along the first two axes."""
ROWS_FIRST = "nv_tileas.cluster_rows_first"
"""The attribute of such a kernel if the low bits of the rank are a CTA's place along the second axis, not the first."""
BLOCKS = "blocks:"
"""How the option `cluster` begins for clusters of several tile blocks."""
NEVER, STATIC, COUNTER, CANCEL = "never", "static", "counter", "cancel"
SCHEDULERS = (STATIC, COUNTER, CANCEL)
DEALT = "nv_tileas.dealt"
"""The attribute of a counted loop over programs whose iterations CTAs may deal out among each other, each once: by a
`counter` or by `cancel`.  A loop without it runs those of its bounds, and gives the same results."""


@dataclass(frozen=True, slots=True)
class Persistent:
    """The hidden parameters of a persistent kernel, by number."""

    scheduler: str
    """`never`: each cluster runs the programs of one place, and ends."""
    grid: tuple[int, int, int] | None
    """The extents of the grid that the caller asks for: i32.  None: the grid of the launch is that one."""
    counter: int | None = None
    """A pointer to a 32-bit zero for each launch, from which CTAs take numbers."""

    blocks: tuple[int, int] = (1, 1)
    """The tile blocks of a cluster along the first two axes of the grid."""

    def attribute(self) -> Attribute:
        """As an attribute of the kernel."""
        counter = [("counter", i64(self.counter))] if self.counter is not None else []
        grid = [("grid", ArrayAttr(tuple(i64(n) for n in self.grid)))] if self.grid is not None else []
        blocks = [("blocks", ArrayAttr(tuple(i64(n) for n in self.blocks)))] if self.blocks != (1, 1) else []
        return DictionaryAttr((*blocks, *counter, *grid, ("scheduler", StringAttr(self.scheduler))))


def _integers(attribute: Attribute | None) -> list[int]:
    elements = attribute.elements if isinstance(attribute, ArrayAttr) else ()
    return [n.value for n in elements if isinstance(n, IntegerAttr)]


def persistent_of(attribute: Attribute | None) -> Persistent | None:
    """What `attribute` wrote; None if it is not such an attribute."""
    if not isinstance(attribute, DictionaryAttr):
        return None
    fields = dict(attribute.entries)
    scheduler, grid, counter = fields.get("scheduler"), fields.get("grid"), fields.get("counter")
    numbers, blocks = _integers(grid), _integers(fields.get("blocks"))
    if not isinstance(scheduler, StringAttr) or len(numbers) not in (0, 3) or len(blocks) not in (0, 2):
        return None
    own = counter.value if isinstance(counter, IntegerAttr) else None
    extents = (numbers[0], numbers[1], numbers[2]) if numbers else None
    return Persistent(scheduler.value, extents, own, (blocks[0], blocks[1]) if blocks else (1, 1))
