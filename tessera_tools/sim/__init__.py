"""A simulated GPU that runs the final PTX. `load(ptx).launch(entry, grid, block, args)` is the way in."""

from tessera_tools.sim.findings import Finding, Findings
from tessera_tools.sim.launch import Result
from tessera_tools.sim.memory import Buffer
from tessera_tools.sim.module import Memory, Module, load

__all__ = ["Buffer", "Finding", "Findings", "Memory", "Module", "Result", "load"]
