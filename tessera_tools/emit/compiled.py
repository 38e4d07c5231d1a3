"""The driver's `Options` and its result, `Compiled`.

They are separate from the driver, so that a cached result does not import the passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.records import dataclass, field
from tessera_tools.target import Target

if TYPE_CHECKING:
    from tessera_tools.emit.manifest import Manifest
    from tessera_tools.emit.plan import Plan
    from tessera_tools.emit.resources import Report

__all__ = ["FORMATS", "Compiled", "Options", "Stage"]

FORMATS = ("llvmir", "mir", "ptx", "cubin", "sass")
"""The valid values of `until`, in order."""

Stage = str
"""A name in STAGES or FORMATS."""


@dataclass(frozen=True)
class Options:
    """How to compile. Time limits are seconds."""

    target: Target
    until: Stage = "cubin"
    level: int = 3
    """The optimization level of LLVM and ptxas, 0 to 3."""
    lineinfo: bool = False
    debug_info: bool = False
    """DWARF for debuggers; ptxas supports it at level 0 only."""
    ptxas: str | None = None
    """Path of ptxas; None to find it."""
    ptxas_options: tuple[str, ...] = ()
    ptxas_timeout: float = 300.0
    nvdisasm: str | None = None
    """Path of nvdisasm; None to find it."""
    llvm_timeout: float = 120.0
    llvm_pipeline: str = "tile"
    verify_each: bool | None = None
    """Verify after each pass; None: only where stages end, and if anything fails, once more after each pass, so that
    the error is the same."""
    num_warps: int = 0
    """Warps of every kernel that has no `kernel_spec` yet, all in one group; if 0, they are chosen from its tiles."""
    num_consumer_warpgroups: int = 0
    """Warpgroups of consumers of every kernel with agents; 0 chooses from its products."""
    ping_pong: str = "auto"
    """Whether consumer warpgroups take turns with the tensor cores: `auto` (where that takes less time), `always` or
    `never`."""
    agents: str = "auto"
    """The agents of kernels: `none`, `producer`, with tensor memory `multipliers` or `correction`; `auto` by price."""
    cluster: str = "auto"
    """The parts into which a cluster of CTAs splits each tile, ROWSxCOLUMNS; `auto` as hints say."""
    split_k: int = 0
    """The CTAs of a cluster that share the iterations of a loop with products; 1: one has all; 0: by price, if the
    launch is known."""
    tile_blocks: int = 0
    """The tile blocks of the launch that follows; 0 if it is unknown."""
    arguments: tuple[str, ...] = ()
    """The integers among the arguments of the launch that follows, and `?` for the others."""
    persistent: str = "auto"
    """What gives a CTA its next tile block: `static`, `counter` or `cancel`; with `never` and `auto`, it has one."""
    raster: str = "auto"
    """The order of tile blocks: `rows`, `reversed:N`, `grouped:N` or `hilbert:N`; `auto` is `rows`."""
    launches: str = "any"
    """The launches that kernels are compiled for: `large` ones have more tile blocks than run at once."""
    num_stages: int = 0
    """Iterations of a loop whose tiles are in shared memory at the same time; 0 chooses."""
    plain_abi: bool = False
    """Kernels have only the declared parameters: no tensor maps follow them, so TMA is not used."""
    off: frozenset[str] = frozenset()
    """Passes to omit."""
    keep_stages: bool = False
    """Keep the text of every stage of the IR."""
    explains: bool = False
    """Passes emit remarks with the reasons for their decisions."""
    all_stages: bool = False
    """Also produce what `until` does not need: the MIR, and the text of every stage of the IR."""

    @property
    def allows_agents(self) -> bool:
        """Whether kernels may have agents, which need tensor maps and choose their own warps."""
        return not self.plain_abi and not self.num_warps


@dataclass
class Compiled:
    """The result of a compilation: texts by stage (a name in STAGES or FORMATS; the cubin is bytes) and reports."""

    stages: dict[Stage, str | bytes] = field(default_factory=dict[Stage, "str | bytes"])
    report: Report | None = None
    """The report of ptxas, with resources by kernel; None if it did not run."""
    manifest: Manifest | None = None
    """The manifest of the PTX, with registers if ptxas ran; None if there is no PTX."""
    plans: tuple[Plan, ...] = ()
    """Plans of the host functions."""
    warnings: list[str] = field(default_factory=list[str])
    ptxas_command: list[str] = field(default_factory=list[str])
    ptxas_output: str = ""
    """The report that ptxas prints, if its options request it."""

    def text(self, stage: Stage) -> str:
        """The text of a stage. Raises KeyError if it was not produced."""
        found = self.stages[stage]
        return found if isinstance(found, str) else found.decode()
