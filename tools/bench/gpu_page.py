#!/usr/bin/env python3
"""Writes docs/performance.md from docs/performance.json, the results of gpu_run.py, and docs/estimates.json, those of
clock_estimates.py; without measurements, the page says so.

    python tools/bench/gpu_page.py [--check]

With --check, the page is compared and not written; the exit status is 1 if it is stale.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from clock_estimates import CORPUS_TABLE, GOALS_TABLE, corpus_rows, goal_rows
from gpu_run import HEADS, TEST_HEADS, rows, test_counts, test_rows
from measure import ROOT

RESULTS = ROOT / "docs" / "performance.json"
ESTIMATES = ROOT / "docs" / "estimates.json"
PAGE = ROOT / "docs" / "performance.md"

HEAD = """\
<!-- Made by tools/bench/gpu_page.py from docs/performance.json and docs/estimates.json; do not edit. -->
# Performance on a GPU

"""
NOTHING = """\
**Nothing has been measured on a GPU yet.** There is no file of results from which this page is made. Estimates of the
[clock](timing.md) are not measurements.

"""
HOW = """\
## How to measure

```
python tools/bench/gpu_pack.py build/pack        # on any machine: cubins by us and by tileiras, inputs, estimates
python build/pack/gpu_run.py                     # on a machine with a GPU; copy the folder there
cp results.json docs/performance.json
python tools/bench/gpu_page.py                   # writes this page
```

The machine with the GPU needs Python, NumPy and `cuda-bindings`. torch and Triton are measured if they are installed.
`gpu_run.py` measures products of f16, bf16 and f8, attention, softmax, layer normalization, sums, scans, vector
addition and transposition, and the kernels of `test/corpus` and `test/cutile` by both compilers.

- The inputs are random normal numbers. Before a contender is timed, rows of each tile of its result are compared with
  float64. If torch is installed, all of its result is compared with torch's. A wrong result is reported and not timed.
- The contenders of a case run in turn, so that all see the same clocks. Before each launch, more than the L2 cache is
  written. A time is that between two events around the launch. The figure is the median; the file has all times, and
  the GPU's clocks.
- tileiras compiles the same bytecode. Triton's product and attention are tuned by Triton.
- A launch takes a few microseconds that the clock's estimate does not include.

Without a GPU, `test/tools/test_gpu_run.py` runs the same code on a driver that the simulated GPU plays.
"""


ESTIMATED = """
## Estimates of the clock

`tools/bench/clock_estimates.py` makes these tables on any machine. They are [estimates](timing.md), not measurements:
one launch each, at the boost clock, without the launch itself.

### The corpus, compiled for any launch and for large ones

Each launch has many more tile blocks than the GPU has SMs: products of 4096, attention of 16 heads with 8192 rows,
16384 rows of 1024 and more. `same` means that `--launches=large` changes no instruction.

{corpus}

### Share of the peak

On an H100 SXM. The peak is that of the tensor cores for products and attention, for the type of their factors, and the
bandwidth of DRAM for the others, whose bytes are those that any kernel must move. A copy reaches less than that,
because it reads and writes at the same time, which costs turnarounds of DRAM. The last column says what is busiest and
what the warps wait for most: that is what keeps a launch from the rest. The programs are cuTile kernels of
`tools/bench/gpu_kernels.py`; `test/tools/test_gpu_cases.py` compares small launches of each with float64.

{goals}

What the losses come from, where the cause is known:

- **Products of 128x256x64**: in the 1,024 cycles that the tensor cores take for a step, wgmma reads 80 KB of shared
  memory and TMA writes 48 KB, through one port of 128 bytes a cycle. The port is busy all the time. The first loads of
  a CTA overlap nothing, and the last wave does not fill the SMs, which costs less in larger products.
- **Products of 64x64x32** load 8 KB for 64 cycles of the tensor cores. L2 gives an SM a third of that, so that a
  program with such tiles cannot be faster. Clusters share loads, and L2 remains the bound.
- **The product with a matrix added in f32** reads and writes 134 MB beside its factors, 43 µs of DRAM, most of which no
  product overlaps.
- **The product with bias, activation and residual** loads the residual and computes the activation behind its loop,
  where no product overlaps them: 41 µs more than the product alone, of which 11 µs are the bytes of the residual. Both
  consumers hold half of the sums of 128x256, so that none can multiply the next tile meanwhile.
- **Products of 8-bit floats** with tiles of 128x256 and steps of 128: sums that are promoted to f32 are held twice, for
  which a thread has registers 128 columns at a time. Each consumer therefore reads its rows of A twice. In the 1,024
  cycles that the tensor cores take for a step, the port of shared memory takes 1,152: wgmma reads 96 KB, and TMA writes
  48 KB. That is 89 % of the peak, and 3.88 waves are counted as four, which leaves 86 %. The ends of the tiles, which
  no product overlaps, weigh twice as much as in f16.
- **Products of 8-bit integers** are bound as those of f16 are, with half as many steps of a tile, so that the first
  loads and the end of a tile weigh twice as much.
- **The ragged product** has 17 by 32 tiles of 128x256, the last ones of which are nearly empty (10 %), and 4.12 waves,
  which take the time of five (18 %). Programs are not split along K to fill a wave.
- **Attention of depth 64** takes as many cycles for `ex2` as for its products, and half as many for conversions: an SM
  does 16 of each a cycle. The program of the corpus has tiles of 64 rows, which one warpgroup computes; two CTAs share
  an SM. Each block of keys and values is 16 KB for 256 cycles of the tensor cores, and L2 gives an SM 43 bytes a cycle.
- **Attention of depth 128, causal**: blocks of keys on the diagonal are multiplied whole, which is 6 % of 2048 rows.
  Conversions and `ex2` take half as long as the products, and are overlapped in part. The tile blocks with the most
  keys come first in large launches, and a CTA that is done takes the next one.
- **Products of tf32**: the program rounds f32 to tf32, which TMA does on the way. A step of 128x256x32 has the bytes
  and the cycles of a step of 128x256x64 of f16, so that the same bounds it.
- **Attention of 8-bit floats**: a block of 128 keys takes 2,600 cycles. The products take 1,024 of them and `ex2` as
  many; the warps issue for 1,500. The sums of both products, and of all blocks before, take 192 registers of a thread,
  and the probabilities 16, so that the warpgroups do not take turns. An agent of two warps transposes V, with 24
  registers a thread: it has room for a part of four words, whose accesses have bank conflicts.
- **Attention with a window** of 1,024 keys multiplies nine blocks of keys of 128 for each block of rows, the first and
  the last of which are half masked, and begins and ends a program for each nine. CTAs that stay, and take a program
  when they are done, overlap its first loads: the clock sees 253 µs if they end with each, and 201 with a stride, by
  which they get programs of different lengths.
- **Attention with pages** takes as long as without: the agent that loads reads the number of each page itself, ahead
  of the products. Its two sequences have half as many tile blocks as the rows above.
- **Sequences of different lengths** are not in the table. Each sequence has as many of the 6,144 tile blocks as the
  longest one: a third return at once, and the others have one to 32 blocks of keys. The clock takes the mean of a few
  of them, which then says nothing about the launch.
- **Norms**: the CTAs stay and hold gain and bias in registers. As rows get longer, fewer CTAs have room for that: with
  two on an SM, one loads while the other computes.
"""


def estimates_section(found: Mapping[str, Any]) -> str:
    """The tables of the clock."""

    def table(head: str, lines: list[list[str]]) -> str:
        return "\n".join([head, *("| " + " | ".join(line) + " |" for line in lines)])

    corpus = table(CORPUS_TABLE, corpus_rows(found))
    return ESTIMATED.format(corpus=corpus, goals=table(GOALS_TABLE, goal_rows(found)))


def page(results: Mapping[str, Any] | None, estimates: Mapping[str, Any] | None = None) -> str:
    """The text of the page."""
    estimated = estimates_section(estimates) if estimates else ""
    if results is None:
        return HEAD + NOTHING + HOW + estimated
    versions = [f"driver {results['driver']}", f"commit {results['pack']['commit'] or 'unknown'}"]
    versions += [f"{name} {results[name]}" for name in ("torch", "triton") if results[name]]
    if results["pack"]["tileiras"]:
        versions.append(f"tileiras {results['pack']['tileiras']}")
    lines = [
        f"Measured on {results['device']} on {results['date']}: {', '.join(versions)}.",
        "",
        "| " + " | ".join(HEADS) + " |",
        "| --- | ---: | ---: | --- | ---: |",
        *("| " + " | ".join(row) + " |" for row in rows(results)),
        "",
    ]
    if results["tests"]:
        lines += [
            f"{test_counts(results)}.",
            "",
            "| " + " | ".join(TEST_HEADS) + " |",
            "| --- | ---: | ---: |",
        ]
        lines += [*("| " + " | ".join(row) + " |" for row in test_rows(results)), ""]
    return HEAD + "\n".join(lines) + "\n" + HOW + estimated


def main(argv: list[str] | None = None) -> int:
    """Write or check the page; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare the page instead of writing it")
    options = parser.parse_args(argv)
    results, estimates = (
        json.loads(path.read_text()) if path.exists() else None for path in (RESULTS, ESTIMATES)
    )
    text = page(results, estimates)
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE.name} is stale; run python tools/bench/gpu_page.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
