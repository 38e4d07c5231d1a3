"""The words in which effects are declared: what is done, to what, when it is done, and where (effects.py)."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What is done."""

    READ = "read"
    WRITE = "write"
    ALLOCATE = "allocate"
    FREE = "free"
    ARRIVE = "arrive"
    """Says that something is done; of a group of copies or products: commits it."""
    WAIT = "wait"
    """Goes on when something has been done: what others did before they arrived is seen."""


class Resource(Enum):
    """To what it is done."""

    MEMORY = "memory"
    """Memory of any kind."""
    GLOBAL = "global memory"
    SHARED = "shared memory"
    REGISTERS = "registers"
    """Registers that are changed in place, or are in flight."""
    BARRIER = "barrier"
    """A barrier's phase: that of the mbarrier that an operand names, else of the barrier of all threads."""
    ORDER = "order"
    """Nothing that has a value: the op only keeps its place among others with effects."""


class Completion(Enum):
    """When an effect is done."""

    AT_ONCE = "at once"
    GROUP = "group"
    """When the group of copies that it is committed to has been waited for (`cp.async`)."""
    BULK = "bulk group"
    """When the group of bulk copies that it is committed to has been waited for (`cp.async.bulk`)."""
    BULK_READ = "reads of a bulk group"
    """When the group of bulk copies that it is committed to has read its source (`wait_group.read`)."""
    MBARRIER = "mbarrier"
    """When the phase of an mbarrier has been waited for."""
    WGMMA = "wgmma group"
    """When the group of products that it is committed to has been waited for."""
    GRID = "grid"
    """When the grids before this one have completed."""


class Reach(Enum):
    """Which places of a resource each thread reaches."""

    TOGETHER = "together"
    """The threads reach the places of one tile together, as layouts say."""
    BY_THREAD = "by thread"
    """Each thread chooses its place; no token says in which order."""
    OWN = "own"
    """Each thread has places of its own."""
