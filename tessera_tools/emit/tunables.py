"""What `tessera-tune` may choose: the options of a compilation that change a kernel's speed and not its meaning.

TUNABLES ──▶ fields of `Options`, options of tessera-translate and tessera-run, keywords of `compile`, the search

A new tunable is one line here, a field of `Options`, and a keyword of `tessera_tools.compile`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["TUNABLES", "Config", "Tunable", "config_text", "given_config"]

Config = Mapping[str, int]
"""The value of each tunable that is not left to the compiler, by the name of the field of `Options`."""


@dataclass(frozen=True, slots=True)
class Tunable:
    """One option. 0 leaves the choice to the compiler."""

    name: str
    """The field of `Options`."""
    values: tuple[int, ...]
    """What it may be, besides 0."""
    help: str
    excludes: tuple[str, ...] = ()
    """Tunables that cannot be given together with it."""

    @property
    def option(self) -> str:
        """Its name on command lines, without hyphens in front."""
        return self.name.replace("_", "-")


TUNABLES = (
    Tunable(
        "num_warps",
        (1, 2, 4, 8, 16, 32),
        "warps per kernel: 1, 2, 4, 8, 16 or 32 (default: chosen from the tiles)",
        excludes=("num_consumer_warpgroups",),
    ),
    Tunable(
        "num_consumer_warpgroups",
        (1, 2, 4),
        "warpgroups that compute the products of a kernel with agents: 1, 2 or 4 (default: chosen from the products)",
        excludes=("num_warps",),
    ),
    Tunable(
        "num_stages",
        (1, 2, 3, 4, 5, 6, 7, 8),
        "iterations of a loop whose tiles are in shared memory at the same time: 1 to 8 (default: as many as fit, up "
        "to a limit)",
    ),
)
"""In the order in which they are shown and searched."""


def given_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """The tunables that a command line sets, from click's parameters."""
    return {one.name: int(options[one.name]) for one in TUNABLES if options.get(one.name)}


def config_text(config: Config) -> str:
    """`--num-warps=8 --num-stages=3`; `the compiler's choices` without any."""
    words = [f"--{one.option}={config[one.name]}" for one in TUNABLES if config.get(one.name)]
    return " ".join(words) or "the compiler's choices"
