#!/usr/bin/env python3
"""The clock's estimates of large launches on B200, for docs/timing.md: a GEMM of 8192 by one CTA and by pairs, and
attention of 8192 rows in tiles of 128 and 256 rows.

    python tools/bench/blackwell.py [--only REGEX]
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import gpu_kernels
from gpu_cases import Case, attention, gemm
from gpu_kernels import HEADS, export
from gpu_pack import launch_of
from measure import ROOT

TARGET = "sm_100a"
GEMM = "gemm_f16_128x256x64"
LIMIT = 1800.0
"""Seconds of one estimate."""


@dataclass(frozen=True)
class Launch:
    """A program of the corpus or of gpu_kernels.py, the options that it is compiled with, and its launch."""

    name: str
    program: str
    case: Case
    options: dict[str, Any] = field(default_factory=dict[str, Any])


def launches() -> Iterator[Launch]:
    """All of them."""
    product = gemm(8192, 8192, 8192, GEMM, (128, 256), ("f16", "f16"))
    options: dict[str, dict[str, Any]] = {
        "one CTA": {},
        "one CTA, which stays": {"persistent": "static"},
        "by price (pairs, which stay)": {"launches": "large"},
    }
    for name, chosen in options.items():
        yield Launch(f"gemm f16 8192x8192x8192, {name}", GEMM, product, chosen)
    for causal in (False, True):
        case = attention(8192, 128, causal)
        for rows in (128, 256):
            program = f"attention_f16_d128_{rows}{'_causal' if causal else ''}"
            gpu_kernels.PROGRAMS[program] = (
                gpu_kernels.attention,
                [*HEADS, rows, 128, 128, int(causal), 0, 1],
            )
            grid = (8192 // rows, *case.grid[1:])
            yield Launch(f"{case.name}, {rows} rows", program, replace(case, grid=grid))


def compiled(launch: Launch) -> Any:
    """The kernel of a launch."""
    import tessera_tools as tt

    path = ROOT / "test" / "corpus" / f"{launch.program}.mlir"
    if path.exists():
        return tt.compile(str(path), TARGET, lineinfo=False, **launch.options)
    name = f"{launch.program}.tileirbc"
    return tt.compile(export(launch.program), TARGET, lineinfo=False, name=name, **launch.options)


def main(argv: list[str] | None = None) -> int:
    """Print a row for each launch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only launches whose name matches")
    only = re.compile(parser.parse_args(argv).only)
    sys.path.insert(0, str(ROOT))

    from tessera_tools.target import lookup
    from tessera_tools.target.timing import timing

    table = timing(lookup(TARGET))
    assert table is not None
    peak = 2 * table.value("tensor_f16") * table.value("sms") * table.value("clock_mhz") * 1e6
    print("| launch | µs | TFLOP/s | share of the peak |\n| --- | --: | --: | --: |")
    for launch in launches():
        if not only.search(launch.name):
            continue
        begin = time.monotonic()
        us = launch_of(compiled(launch), launch.case, TARGET, LIMIT).estimate.seconds * 1e6
        rate = launch.case.flops / us * 1e6
        print(f"| {launch.name} | {us:,.0f} | {rate / 1e12:,.0f} | {100 * rate / peak:.0f} % |", flush=True)
        print(f"{launch.name}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
