#!/usr/bin/env python3
"""The clock's estimates for docs/performance.md: the corpus with and without `--launches=large`, and the cases of
gpu_cases.py with their share of the peak.

    python tools/bench/clock_estimates.py [--only REGEX] [--again]      writes docs/estimates.json
    python tools/bench/gpu_page.py                                      then makes the page

A launch that the file has is not estimated again, except with --again.  The file is written after each launch.  If
`--launches=large` changes nothing, its estimate is the other one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpu_cases import CASES, SIZES, Case, Tensor, attention, by_rows, gemm, up, vector_add
from measure import ROOT

RESULTS = ROOT / "docs" / "estimates.json"
CORPUS = ROOT / "test" / "corpus"
TARGETS = ("sm_90a", "sm_100a")
LAUNCHES = ("any", "large")
GOALS = (
    r"gemm (f16|bf16) 8192x8192x8192$|gemm f16 (1024|4096)|gemm f16 4000|gemm f8 4096|"
    r"gemm (nt_f16|tn_f16|epilogue_f16|tf32|i8) 4096x4096x4096$|"
    r"attention f16 d128 causal 32x8192$|attention f\d+ d\d+( causal)? \d+x2048$|"
    r"attention f16 d128 (window|group|paged)|"
    r"(softmax|layer norm|rms norm|row sum|row scan|column sum|cross entropy|gather rows|copy) |"
    r"vector add f32 16777216|transpose .* (8192|4000)"
)
"""The cases on the page."""
LIMIT = 900.0
"""Seconds of one estimate."""


def _corpus() -> dict[str, Case]:
    """A launch that fills the GPU for each program of the corpus."""
    square = (4096, 4096, 4096)
    bias = gemm(*square, "gemm_nt_bias_f16_128x128x64", (128, 128), ("f16", "f16"))
    size = (4096, 4096)
    tensors = (
        *bias.tensors[:2], Tensor("c", "f32", size), Tensor("d", "f32", size, output=True),
    )  # fmt: skip
    heads = {"d64": (16, 8192, 64), "d128": (16, 8192, 128)}

    def causal(program: str, type: str, depth: str) -> Case:
        like = attention(8192, int(depth[1:]), True)
        own = tuple(Tensor(t.name, type, heads[depth], t.output) for t in like.tensors)
        block = 128 if depth == "d128" else 64
        flops = 2 * 16 * 8192 * 8192 * int(depth[1:])
        return Case(program, "attention", program, (8192 // block, 16, 1), own, like.scalars, flops)

    cases = (
        gemm(*square, "gemm_f16_128x256x64", (128, 256), ("f16", "f16")),
        gemm(*square, "gemm_f16_64x64x32", (64, 64), ("f16", "f16")),
        Case("", "gemm_nt", "gemm_nt_bias_f16_128x128x64", bias.grid, tensors, flops=bias.flops),
        causal("attention_causal_f16_d64", "f16", "d64"),
        causal("attention_causal_bf16_d128", "bf16", "d128"),
        by_rows("softmax", "softmax_f32_1024", 16384, 1024, "f32"),
        by_rows("layer_norm", "layer_norm_bf16_1024", 32768, 1024, "bf16"),
        Case("", "vector_add", "vector_add_f32", (up(1 << 24, 1024), 1, 1), vector_add(1 << 24).tensors),
    )
    return {case.program: case for case in cases}


def wanted(
    again: bool, only: re.Pattern[str], found: dict[str, Any]
) -> Iterator[tuple[str, str, Case, str, str]]:
    """(key, program, case, target, launches) of what is to be estimated."""
    for target in TARGETS:
        for program, case in _corpus().items():
            for launches in LAUNCHES:
                key = f"corpus {program} {target} {launches}"
                if only.search(key) and (again or key not in found):
                    yield key, program, case, target, launches
    for case in CASES:
        key = f"goal {case.name}"
        if (
            not case.small
            and re.search(GOALS, case.name)
            and only.search(key)
            and (again or key not in found)
        ):
            launches = "large" if case.grid[0] * case.grid[1] * case.grid[2] >= 264 else "any"
            yield key, case.program, case, "sm_90a", launches


def compiled(program: str, target: str, launches: str, in_corpus: bool) -> Any:
    """Our kernel of a program."""
    from gpu_kernels import export

    import tessera_tools as tt

    source = str(CORPUS / f"{program}.mlir") if in_corpus else export(program)
    name = None if in_corpus else f"{program}.tileirbc"
    kernel = tt.compile(source, target, launches=launches, name=name, lineinfo=False)
    assert kernel.cubin, (
        "with its registers, the manifest says how many CTAs of a persistent kernel run at once"
    )
    return kernel


def bound(estimate: Any) -> str:
    """What the clock says bounds a kernel, and how busy it is."""
    text = str(estimate)
    busy = re.search(r"busy: ([^,\n]+)", text)
    waits = re.search(r"(?:consumer|warps): issues \d+%; waits for ([^,\n]+)", text)
    return "; ".join(m[1] for m in (busy, waits) if m is not None)


CORPUS_TABLE = """\
| program | GPU | any, µs | large, µs | large / any |
| --- | --- | ---: | ---: | ---: |"""
GOALS_TABLE = """\
| launch | µs | rate | share of the peak | of a copy | busiest; waits |
| --- | ---: | ---: | ---: | ---: | --- |"""
COPY = "copy f32 33554432"
"""The case whose bandwidth is that of a copy."""


def corpus_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """The programs of the corpus whose estimates the file has, one row for each target."""
    rows: list[list[str]] = []
    for target in TARGETS:
        for program in _corpus():
            plain, large = (found.get(f"corpus {program} {target} {launches}") for launches in LAUNCHES)
            if plain is None or large is None or "us" not in plain or "us" not in large:
                continue
            ratio = "same" if large.get("same") else f"{large['us'] / plain['us']:.3f}"
            rows.append([program, target, f"{plain['us']:,.1f}", f"{large['us']:,.1f}", ratio])
    return rows


def goal_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """The other cases whose estimates the file has."""
    rows: list[list[str]] = []
    like = next(case for case in CASES if case.name == COPY)
    copied = found.get(f"goal {COPY}", {})
    copy = like.nbytes / copied["us"] if "us" in copied else None
    corpus = [(f"corpus {program} sm_90a large", case) for program, case in _corpus().items()]
    for key, case in [*corpus, *((f"goal {case.name}", case) for case in CASES)]:
        made = found.get(key)
        if made is None or "us" not in made:
            continue
        name = case.name if key.startswith("goal") else f"{case.program} of the corpus"
        rows.append([name, f"{made['us']:,.1f}", *_share(case, made["us"], copy), made["bound"]])
    return rows


def _share(case: Case, us: float, copy: float | None) -> tuple[str, str, str]:
    """(rate, share of the peak, share of the bandwidth of a copy) on an H100 SXM; a copy moves `copy` bytes in a µs."""
    from tessera_tools.target import lookup
    from tessera_tools.target.timing import timing

    table = timing(lookup("sm_90a"))
    assert table is not None
    if not case.flops:
        rate = case.nbytes / us * 1e6
        share = f"{100 * case.nbytes / us / copy:.0f} %" if copy else ""
        return f"{rate / 1e9:,.0f} GB/s", f"{100 * rate / (table.value('dram_chip_gbs') * 1e9):.0f} %", share
    bits = 8 * SIZES[case.tensors[0].type]
    peak = 2 * table.value("tensor_f16") * 16 / bits * table.value("sms") * table.value("clock_mhz") * 1e6
    rate = case.flops / us * 1e6
    return f"{rate / 1e12:,.0f} TFLOP/s", f"{100 * rate / peak:.0f} %", ""


def main(argv: list[str] | None = None) -> int:
    """Estimate what is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only launches whose key matches")
    parser.add_argument("--again", action="store_true", help="also those that the file has")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(argv)
    sys.path.insert(0, str(ROOT))
    from gpu_pack import launch_of

    from tessera_tools.diagnostics import DiagnosticError

    path: Path = options.results
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for key, program, case, target, launches in wanted(options.again, re.compile(options.only), found):
        begin = time.monotonic()
        try:
            kernel = compiled(program, target, launches, key.startswith("corpus"))
            other = key.removesuffix(launches) + LAUNCHES[0]
            if launches == LAUNCHES[1] and other in found:
                like = compiled(program, target, LAUNCHES[0], True).ptx
                if like == kernel.ptx:
                    found[key] = {**found[other], "same": True}
                    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
                    continue
            estimate = launch_of(kernel, case, target, LIMIT).estimate
            made = {
                "us": round(estimate.seconds * 1e6, 2),
                "cycles": round(estimate.cycles),
                "registers": estimate.registers,
                "bound": bound(estimate),
            }
        except DiagnosticError as failure:
            made = {"why": failure.diagnostics[0].message}
        found[key] = made
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{key}: {made} ({time.monotonic() - begin:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
