"""What `tessera-tune` may choose: the options of a compilation that change a kernel's speed and not its meaning.

TUNABLES ──▶ fields of `Options`, options of tessera-translate and tessera-run, keywords of `compile`, the search

A new tunable is one line here, a field of `Options`, and a keyword of `tessera_tools.compile`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tessera_tools.diagnostics import error
from tessera_tools.records import dataclass

__all__ = ["TUNABLES", "Config", "Tunable", "Value", "config_text", "given_config"]

Value = int | str

Config = Mapping[str, Value]
"""The value of each tunable that is not left to the compiler, by the name of the field of `Options`."""


@dataclass(frozen=True, slots=True)
class Tunable:
    """One option."""

    name: str
    """The field of `Options`."""
    values: tuple[Value, ...]
    """What it may be, besides its default."""
    help: str
    default: Value = 0
    """Leaves the choice to the compiler."""
    excludes: tuple[str, ...] = ()
    """Tunables that cannot be given together with it."""

    @property
    def option(self) -> str:
        """Its name on command lines, without hyphens in front."""
        return self.name.replace("_", "-")

    @property
    def metavar(self) -> str:
        """Its value in the help."""
        return "N" if isinstance(self.default, int) else "WHEN"

    @property
    def words(self) -> tuple[str, ...]:
        """What it may be on command lines."""
        values = self.values if isinstance(self.default, int) else (self.default, *self.values)
        return tuple(map(str, values))

    def check(self, value: object) -> None:
        """Raises DiagnosticError for what it cannot be, from Python."""
        if isinstance(self.default, int):
            from numbers import Integral

            known = isinstance(value, Integral) and not isinstance(value, bool)
            if not known or value not in (self.default, *self.values):
                raise error(None, f"{self.name} is {value!r}; expected one of 0, {', '.join(self.words)}")
        elif not isinstance(value, str) or value not in self.words:
            shown = value if isinstance(value, str) else repr(value)
            raise error(None, f"{self.name} is '{shown}'; expected one of {', '.join(self.words)}")


CLUSTERS = (
    "auto", "1x1", "2x1", "1x2", "4x1", "2x2", "1x4", "8x1", "4x2", "2x4", "1x8", "blocks:2x1", "blocks:1x2",
    "blocks:4x1", "blocks:2x2", "blocks:1x4", "blocks:4x2", "blocks:2x4",
)  # fmt: skip
"""The parts into which a cluster may split each tile, or the tile blocks of which it has the CTAs."""

TUNABLES = (
    Tunable(
        "num_warps",
        (1, 2, 4, 8, 16, 32),
        "warps per kernel: 1, 2, 4, 8, 16 or 32 (default: chosen from the tiles)",
        excludes=("num_consumer_warpgroups", "ping_pong", "agents"),
    ),
    Tunable(
        "num_consumer_warpgroups",
        (1, 2, 4),
        "warpgroups that compute the products of a kernel with agents: 1, 2 or 4 (default: chosen from the products)",
        excludes=("num_warps",),
    ),
    Tunable(
        "ping_pong",
        ("always", "never", "tiles"),
        "whether consumer warpgroups take turns with the tensor cores: auto, always, never, or by the tiles of a "
        "persistent kernel (default: auto, where that takes less time)",
        default="auto",
        excludes=("num_warps",),
    ),
    Tunable(
        "agents",
        ("none", "producer", "multipliers", "correction"),
        "the roles of warps: none, so that all run the whole program; producer, beside consumers; with tensor memory "
        "multipliers, whose consumers carry sums, or correction, an agent that changes sums (default: auto, by price)",
        default="auto",
        excludes=("num_warps",),
    ),
    Tunable(
        "cluster",
        CLUSTERS[1:],
        "CTAs of the cluster that computes each tile block, ROWSxCOLUMNS: the parts into which its tiles are split "
        "along both axes; or blocks:XxY: a cluster has the CTAs of so many tile blocks, which share loads (default: "
        "auto, as the program hints)",
        default="auto",
        excludes=("split_k",),
    ),
    Tunable(
        "num_stages",
        (1, 2, 3, 4, 5, 6, 7, 8),
        "iterations of a loop whose tiles are in shared memory at the same time: 1 to 8 (default: as many as fit, up "
        "to a limit)",
    ),
    Tunable(
        "split_k",
        (1, 2, 4, 8),
        "CTAs of a cluster that share the iterations of a loop with products, and then add their sums: 1, 2, 4 or 8 "
        "(default: 1; tessera-run, which knows the launch, chooses by price)",
        excludes=("cluster",),
    ),
    Tunable(
        "persistent",
        ("never", "static", "counter", "cancel"),
        "what gives a CTA its next tile block, so that it stays on its SM: static (a stride), counter (in memory), "
        "cancel (cluster launch control), or never, for one CTA per tile block (default: auto)",
        default="auto",
    ),
    Tunable(
        "raster",
        (
            "rows",
            "reversed:1",
            "reversed:8",
            "grouped:4",
            "grouped:8",
            "grouped:16",
            "hilbert:4",
            "hilbert:8",
            "hilbert:16",
        ),
        "the order of tile blocks in the grid: rows, reversed:N (from the end of N rows on), grouped:N (columns of N), "
        "or hilbert:N (default: auto)",
        default="auto",
    ),
    Tunable(
        "launches",
        ("large",),
        "the launches that kernels are compiled for: any, or large, which have more tile blocks than run at once; then "
        "clusters of tile blocks and persistence are chosen where they take less time (default: any)",
        default="any",
    ),
)
"""In the order in which they are shown and searched."""


def given_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """The tunables that a command line or a caller sets, from the options by name."""
    found: dict[str, Any] = {}
    for one in TUNABLES:
        given = options.get(one.name)
        if given is not None and str(given) != str(one.default):
            found[one.name] = int(given) if isinstance(one.default, int) else given
    return found


def is_of_compiler(cluster: str | None) -> bool:
    """Whether `--cluster` of a command that compiles and launches is the compiler's, not the shape of a launch."""
    return cluster in CLUSTERS


def config_text(config: Config) -> str:
    """`--num-warps=8 --num-stages=3`; `the compiler's choices` without any."""
    words = [f"--{one.option}={config[one.name]}" for one in TUNABLES if config.get(one.name)]
    return " ".join(words) or "the compiler's choices"
