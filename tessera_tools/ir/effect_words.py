"""The vocabulary of effects (effects.py): kind, resource, completion and reach."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """The kind of an effect."""

    READ = "read"
    WRITE = "write"
    ALLOCATE = "allocate"
    FREE = "free"
    ARRIVE = "arrive"
    """Arrives at a barrier, or commits a group of copies or products."""
    WAIT = "wait"
    """Waits at a barrier or for a group: effects before the arrival are then visible."""


class Resource(Enum):
    """What an effect acts on."""

    MEMORY = "memory"
    """Memory of any kind."""
    GLOBAL = "global memory"
    SHARED = "shared memory"
    REGISTERS = "registers"
    """Registers that are modified in place or by an asynchronous operation."""
    TENSOR = "tensor memory"
    """Memory of tensor cores.  Pipelines order its accesses."""
    BARRIER = "barrier"
    """The phase of a barrier: of the mbarrier that an operand names, or of the barrier of all threads."""
    ORDER = "order"
    """No memory: the op only keeps its order among ops with effects."""


class Completion(Enum):
    """When an effect is complete."""

    AT_ONCE = "at once"
    GROUP = "group"
    """After a wait for its group of copies (`cp.async`)."""
    BULK = "bulk group"
    """After a wait for its group of bulk copies (`cp.async.bulk`)."""
    BULK_READ = "reads of a bulk group"
    """After a wait until its group of bulk copies has read the source (`wait_group.read`)."""
    BOXES = "group of boxes"
    """After a wait for its group of boxes by TMA, which has an mbarrier of its own."""
    MBARRIER = "mbarrier"
    """After a wait for the phase of an mbarrier."""
    WGMMA = "wgmma group"
    """After a wait for its group of products (`wgmma`)."""
    TCGEN05 = "tcgen05 commit"
    """After a wait for the mbarrier of a later commit of the thread that started it (`tcgen05.commit`)."""
    GRID = "grid"
    """When all prerequisite grids are complete."""


class Reach(Enum):
    """Which part of a resource each thread accesses."""

    TOGETHER = "together"
    """The threads access one tile together, as its layout defines."""
    BY_THREAD = "by thread"
    """Each thread chooses its address; no token defines the order."""
    OWN = "own"
    """Each thread has its own part."""
