"""What a replay finds: where the time of each warp went, how busy the units were, and slices for a picture."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Slice", "Timeline", "WarpTime"]


@dataclass(slots=True)
class WarpTime:
    """Where the time of one warp went, in cycles."""

    cta: int
    warp: int
    role: str
    begin: float
    end: float = 0.0
    issued: float = 0.0
    stalls: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By what the warp waited for: `issue`, `memory`, `shared`, `tensor`, `barrier` …"""


class Slice(NamedTuple):
    """What a lane of the timeline does for some time, in cycles."""

    cta: int
    lane: str
    """`warp 3`, `TMA`, `tensor 0` or `barriers`."""
    name: str
    """`issue`, what a warp waits for, or what the unit does."""
    begin: float
    end: float


@dataclass(slots=True)
class Timeline:
    """The result of a replay, in cycles and bytes."""

    cycles: float = 0.0
    simulated: float = 0.0
    """Cycles without the laps of loops that were skipped."""
    warps: list[WarpTime] = field(default_factory=list[WarpTime])
    busy: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Cycles that units were busy, over all SMs: `issue`, `fma`, `tensor`, `shared`, `l2`, `dram` …"""
    sms: int = 0
    """SMs that ran a CTA."""
    resident: int = 0
    """CTAs that fit on an SM."""
    waves: float = 0.0
    l2_bytes: float = 0
    dram_bytes: float = 0
    slices: list[Slice] = field(default_factory=list[Slice])
    """Of the first SM, in the order in which they end."""
    cut: bool = False
    """Whether there were more slices than a timeline keeps."""
    stages: int = 0
    """Stages of the first CTA that bulk copies fill: mbarriers that these signal."""
    stage_bytes: float = 0.0
    """Bytes that fill a stage."""
    copies: bool = False
    """Whether warps copy asynchronously to shared memory."""
