#!/usr/bin/env python3
"""Compares the reference's verifier with ours, on thousands of programs of one op or module.

    test/dialects/cuda_tile/probes.py ──▶ program ──▶ our verifier:      accepted or an error
                                             └──▶ bytecode, unverified ──tileirdisasm──▶ accepted or an error

    python tools/probe_tileiras.py                    the programs on which the two differ, by template
    python tools/probe_tileiras.py --filter ftof      those whose template contains the text
    python tools/probe_tileiras.py --all              every combination, not a sample of each template
    python tools/probe_tileiras.py --record           write what the reference accepts into accepted.json

The bytecode is written without our verifier, so that a rule of ours cannot hide one of theirs. tileirdisasm verifies a
module as tileiras does, and is faster; --compile also passes programs that it accepts and we refuse to tileiras. Both
tools come with the wheel nvidia-cuda-tileiras. Exit status 1 where we refuse what the reference accepts.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from dialects.cuda_tile import probes  # noqa: E402

from oracles import find_tool  # noqa: E402
from tessera_tools.bytecode import VERSIONS, write_bytecode  # noqa: E402
from tessera_tools.diagnostics import DiagnosticError  # noqa: E402
from tessera_tools.dialects import cuda_tile  # noqa: E402
from tessera_tools.dialects.cuda_tile import attributes, types  # noqa: E402
from tessera_tools.ir.attributes import Type  # noqa: E402
from tessera_tools.ir.verifier import verify_or_raise  # noqa: E402
from tessera_tools.parser import parse_module  # noqa: E402

RECORD = ROOT / "test/dialects/cuda_tile/accepted.json"
NEWEST = max(VERSIONS)


@dataclass
class Probe:
    """One program; an error is "" if the program is accepted, None if it was not checked."""

    template: str
    chosen: str
    elements: tuple[str, ...]
    text: str
    ours: str = ""
    theirs: str | None = None
    compiled: str | None = None


def sample_of(template: str, most: int | None, rng: random.Random) -> list[Probe]:
    """At most `most` programs of a template."""
    made = [Probe(template, *rest) for rest in probes.programs(template)]
    return made if most is None or len(made) <= most else rng.sample(made, most)


def sample(filter_text: str, most: int | None, seed: int) -> list[Probe]:
    """At most `most` programs of each template."""
    rng = random.Random(seed)
    return [p for t in probes.templates() if filter_text in t for p in sample_of(t, most, rng)]


def title_of(probe: Probe) -> str:
    """The title of the probe's template in the list: the beginning of its last line."""
    return probe.template.splitlines()[-1][:90]


def first_error(failure: DiagnosticError) -> str:
    """The first message of a failure."""
    return failure.diagnostics[0].message


def run_ours(probe: Probe) -> None:
    """The result of our parser and verifier."""
    try:
        verify_or_raise(parse_module(probe.text))
    except DiagnosticError as failure:
        probe.ours = first_error(failure)


@contextmanager
def unchecked() -> Iterator[None]:
    """Disables our rules for types and rounding modes inside the block; types created there are discarded."""
    interned = [
        (c, dict(c._instances)) for c in vars(types).values() if isinstance(c, type) and issubclass(c, Type)
    ]
    classes = [c for c in vars(types).values() if isinstance(c, type) and "verify" in vars(c)]
    kept = [(c, "verify", vars(c)["verify"]) for c in classes]
    ops = [c for c in vars(cuda_tile).values() if isinstance(c, type) and "rounding_modes" in vars(c)]
    kept += [(c, "rounding_modes", vars(c)["rounding_modes"]) for c in ops]
    for cls, name, _ in kept:
        value: Any = attributes.RoundingAttr.cases if name == "rounding_modes" else (lambda self: None)
        setattr(cls, name, value)
    try:
        yield
    finally:
        for cls, name, value in kept:
            setattr(cls, name, value)
        for cls, instances in interned:
            cls._instances.clear()
            cls._instances.update(instances)


def encoded(probe: Probe) -> bytes | None:
    """The program's bytecode, unverified; None if the text does not parse or bytecode cannot represent it."""
    try:
        return write_bytecode(parse_module(probe.text), NEWEST)
    except (DiagnosticError, ValueError, OverflowError):
        return None


def run_tool(tool: Path, data: bytes, *options: str) -> str:
    """The first error of a reference tool; "" if it accepts the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "probe.tileirbc")
        path.write_bytes(data)
        command = [str(tool), *(o.format(out=folder) for o in options), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if not done.returncode:
        return ""
    lines = (done.stderr + done.stdout).strip().splitlines()
    return lines[0].removeprefix("error: ") if lines else f"exit status {done.returncode}"


def run_reference(found: list[Probe], jobs: int, compile_on: str) -> None:
    """The result of tileirdisasm for each program, and of tileiras for those that only we refuse."""
    disassembler, assembler = find_tool("tileirdisasm"), find_tool("tileiras")
    if disassembler is None or assembler is None:
        raise SystemExit("error: tileiras is missing; install the package nvidia-cuda-tileiras")

    def ask(probe: Probe, data: bytes) -> None:
        probe.theirs = run_tool(disassembler, data)
        if compile_on and probe.ours and not probe.theirs:
            probe.compiled = run_tool(assembler, data, "--gpu-name", compile_on, "-o", "{out}/probe.cubin")

    with unchecked(), ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda pair: ask(*pair), ((p, d) for p in found if (d := encoded(p)) is not None)))


def record(found: list[Probe], filter_text: str) -> None:
    """Write accepted.json: {template with its choices made: [element types accepted, separated by commas]}.

    With a filter, what it leaves out stays as it was.
    """
    before = json.loads(RECORD.read_text())["accepted"] if filter_text else {}
    accepted: dict[str, list[str]] = {k: v for k, v in before.items() if filter_text not in k}
    for probe in found:
        if probe.theirs == "":
            accepted.setdefault(probe.chosen, []).append(",".join(probe.elements))
    about = subprocess.run(
        [str(find_tool("tileirdisasm")), "--version"], capture_output=True, text=True, check=False
    )
    release = next((line for line in about.stdout.splitlines() if "release" in line), "")
    lines = [f"{json.dumps(k)}: {json.dumps(sorted(v))}" for k, v in sorted(accepted.items())]
    header = json.dumps({"reference": release, "command": "python tools/probe_tileiras.py --record"})
    RECORD.write_text("{\n" + f'"about": {header},\n"accepted": {{\n' + ",\n".join(lines) + "\n}}\n")


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description="Compare our cuda_tile verifier with the reference's.")
    parser.add_argument("--filter", default="", help="templates that contain this text")
    parser.add_argument("--all", action="store_true", help="every combination")
    parser.add_argument("--most", type=int, default=160, help="programs of each template (160)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--jobs", type=int, default=2, help="tools at a time (2)")
    parser.add_argument(
        "--compile", default="", metavar="GPU", help="pass differing programs to tileiras for this GPU"
    )
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.relative_to(ROOT)}")
    options = parser.parse_args()
    found = sample(options.filter, None if options.all else options.most, options.seed)
    for probe in found:
        run_ours(probe)
    run_reference(found, options.jobs, options.compile)
    asked = [p for p in found if p.theirs is not None]
    print(f"{len(found)} programs, {len(asked)} in bytecode; ours, theirs:")
    counts = Counter((not p.ours, not p.theirs) for p in asked)
    for (ours, theirs), count in sorted(counts.items()):
        print(f"  {'accepted' if ours else 'refused':8}  {'accepted' if theirs else 'refused':8}  {count}")
    for title, group in (
        ("refused here, accepted there", [p for p in asked if p.ours and not p.theirs]),
        ("accepted here, refused there", [p for p in asked if not p.ours and p.theirs]),
    ):
        print(f"\n{title}: {len(group)}")
        causes = Counter((title_of(p), p.ours or p.theirs) for p in group)
        for (template, message), count in causes.most_common():
            example = next(p for p in group if (title_of(p), p.ours or p.theirs) == (template, message))
            chosen = example.chosen[-300:]
            print(f"  {count} × {template}\n      {message}\n      {chosen} {example.elements}")
            if example.compiled is not None:
                print(f"      tileiras: {example.compiled or 'compiles'}")
    if options.record:
        record(found, options.filter)
    return int(any(p.ours and not p.theirs for p in asked))


if __name__ == "__main__":
    sys.exit(main())
