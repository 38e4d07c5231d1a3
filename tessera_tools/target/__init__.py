"""Properties of the GPU architectures. Call `lookup("sm_90")` to get a target."""

from tessera_tools.target.occupancy import (
    FEWEST_REGISTERS,
    Occupancy,
    launched_registers,
    max_registers_for,
    occupancy,
)
from tessera_tools.target.table import (
    Feature,
    Target,
    UnknownTargetError,
    lookup,
    targets,
    targets_with,
)
from tessera_tools.target.unit import MOST_WARPS, WARPS_OF_WARPGROUP, ExecutionUnit

__all__ = [
    "FEWEST_REGISTERS",
    "MOST_WARPS",
    "WARPS_OF_WARPGROUP",
    "ExecutionUnit",
    "Feature",
    "Occupancy",
    "Target",
    "UnknownTargetError",
    "lookup",
    "max_registers_for",
    "launched_registers",
    "occupancy",
    "targets",
    "targets_with",
]
