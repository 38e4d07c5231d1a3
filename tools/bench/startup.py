#!/usr/bin/env python3
"""Start-up time: `tessera-opt --help` and an empty module, as ratios to importing click and rich alone."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measure import best, table, tessera

AIM = 2.5
"""0.25 s on a machine where the two imports take 0.1 s."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.mlir"
        empty.write_text("")
        base = "import click, rich.console"
        commands = {
            base: [sys.executable, "-c", "import click, rich.console"],
            "tessera-opt --help": [*tessera("tessera-opt"), "--help"],
            "tessera-opt empty.mlir": [*tessera("tessera-opt"), str(empty)],
            "tessera-translate --help": [*tessera("tessera-translate"), "--help"],
        }
        taken = best(commands, options.runs)
    rows = [
        [name, f"{one.seconds * 1000:.0f}", f"{one.seconds / taken[base].seconds:.2f}", f"{one.peak_mib:.0f}"]
        for name, one in taken.items()
    ]
    table(
        f"Start-up, best of {options.runs} (aim: ratio {AIM})", ["command", "ms", "ratio", "peak MiB"], rows
    )


if __name__ == "__main__":
    main()
