"""A simulated GPU that runs the final PTX. The entry point is `load(ptx).launch(entry, grid, block, args)`."""

from tessera_tools.sim.dependents import unfinished
from tessera_tools.sim.findings import Finding, Findings
from tessera_tools.sim.launch import Result
from tessera_tools.sim.memory import Buffer
from tessera_tools.sim.module import Memory, Module, load
from tessera_tools.sim.tensor_map import TensorMapError, tensor_map, tensor_map_im2col

__all__ = [
    "Buffer",
    "Finding",
    "Findings",
    "Memory",
    "Module",
    "Result",
    "TensorMapError",
    "load",
    "tensor_map",
    "tensor_map_im2col",
    "unfinished",
]
