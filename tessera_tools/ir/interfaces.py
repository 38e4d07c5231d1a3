"""Interfaces: how passes query ops of several dialects.

    class For(LoopLike, HasFlow, Op, name="scf.for"): …         if isinstance(op, LoopLike): op.iter_args

An interface declares methods and fields.  An op with the interface provides them.  Passes test it with `isinstance`.

    HasFlow        flow                                                       scf.for, scf.if, nv_tileaa.loop, …
    LoopLike       loop_body, induction, inits, iter_args, yielded            scf.for, scf.while, cuda_tile.for, …
    BranchLike     branch_operands, set_branch_operands                       cf.br, cf.cond_br, cf.switch
    MemoryAccess   buffer, indices, width                                     tile.load_shared, …
    TileAccess     moved, word                                                nv_tileas.tiled_load, nv_tileaa.store, …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from typing import Protocol, TypeVar, overload

    from tessera_tools.ir.core import BlockArgument, OpResult, Region, Value
    from tessera_tools.ir.types import MemRefType

    FoundT_co = TypeVar("FoundT_co", covariant=True)

    class Declared(Protocol[FoundT_co]):
        """A field that op classes with the interface declare, and what an op has for it."""

        @overload
        def __get__(self, op: None, owner: type | None = None, /) -> object: ...
        @overload
        def __get__(self, op: Any, owner: type | None = None, /) -> FoundT_co: ...


Flow: TypeAlias = "list[tuple[Value, list[Value]]]"
"""(value, the values that may flow into it), for each such block argument and result."""


class HasFlow:
    """Forwards values into its regions, or from them to its results."""

    __slots__ = ()

    def flow(self) -> Flow:
        """For each block argument and result that is defined by forwarding, the values that it may be equal to.  For
        a value carried by a loop, the initial value is first."""
        raise NotImplementedError


class LoopLike:
    """Repeats a region, and carries values: `inits` → `iter_args` → `yielded` → `results`, position by
    position."""

    __slots__ = ()
    regions: list[Region]
    results: list[OpResult]
    inits: Any
    """The initial values of the carried values."""

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
        """The block arguments for the carried values."""
        return []

    @property
    def yielded(self) -> list[Value]:
        """The carried values at the end of an iteration; empty if there are several terminators."""
        return []


class BranchLike:
    """A terminator that passes values to the arguments of its successors."""

    __slots__ = ()

    def branch_operands(self, index: int) -> list[Value]:
        """The values that are passed to a successor."""
        raise NotImplementedError

    def set_branch_operands(self, index: int, values: Sequence[Value]) -> None:
        """Pass other values to a successor."""
        raise NotImplementedError


class MemoryAccess:
    """Accesses elements of a buffer; each thread has its own `indices`."""

    __slots__ = ()
    buffer: Declared[Value[MemRefType]]
    indices: Declared[Sequence[Value]]

    @property
    def width(self) -> int:
        """The number of adjacent elements of the last dimension that one access moves."""
        return 1


class TileAccess:
    """Moves a tile, or a scalar, between global memory and registers."""

    __slots__ = ()
    word: ClassVar[str]
    """The primitive of its copy atom: "ldg" or "stg"."""

    @property
    def moved(self) -> Value:
        """What is loaded or stored."""
        raise NotImplementedError
