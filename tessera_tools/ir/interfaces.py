"""Interfaces: what passes ask of ops of several dialects, by name.

    class For(LoopLike, HasFlow, Op, name="scf.for"): …         if isinstance(op, LoopLike): op.iter_args

An interface declares methods and fields; an op that has it gives them, and passes ask `isinstance`, not for a name.

    HasFlow        flow                                                       scf.for, scf.if, nv_tileaa.loop, …
    LoopLike       loop_body, induction, inits, iter_args, yielded            scf.for, scf.while, cuda_tile.for, …
    BranchLike     branch_operands, set_branch_operands                       cf.br, cf.cond_br, cf.switch
    MemoryAccess   buffer, indices, width                                     tile.load_shared, …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tessera_tools.ir.core import BlockArgument, Region, Value

Flow: TypeAlias = "list[tuple[Value, list[Value]]]"
"""(what takes a value, the values that it may take), for each such block argument and result."""


class HasFlow:
    """Passes values into its regions, or from them to its results."""

    __slots__ = ()

    def flow(self) -> Flow:
        """For each block argument and result that takes its value so, the values that it may take.  Of a loop's
        carried value the initial one comes first."""
        raise NotImplementedError


class LoopLike:
    """Repeats a region, and carries values along: `inits` → `iter_args` → `yielded` → `results`, position by
    position."""

    __slots__ = ()
    regions: list[Region]
    inits: Any
    """The values that are carried into the first iteration."""

    @property
    def loop_body(self) -> Region:
        """The region that is repeated."""
        return self.regions[0]

    @property
    def induction(self) -> list[BlockArgument]:
        """The induction variables."""
        return []

    @property
    def iter_args(self) -> list[BlockArgument]:
        """The carried values inside the body."""
        return []

    @property
    def yielded(self) -> list[Value]:
        """The carried values at the end of an iteration; none if there are several ends."""
        return []


class BranchLike:
    """A terminator that passes values to the arguments of its successors."""

    __slots__ = ()

    def branch_operands(self, index: int) -> list[Value]:
        """The values that it passes to a successor."""
        raise NotImplementedError

    def set_branch_operands(self, index: int, values: Sequence[Value]) -> None:
        """Pass other values to a successor."""
        raise NotImplementedError


class MemoryAccess:
    """Accesses elements of a buffer: each thread its own, at `indices`."""

    __slots__ = ()
    buffer: Any
    indices: Any

    @property
    def width(self) -> int:
        """How many neighbors along the last dimension it accesses at once."""
        return 1
