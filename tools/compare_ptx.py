#!/usr/bin/env python3
"""Compares the PTX of all kernels of the project before and after a change of the compiler.

    python tools/compare_ptx.py snapshot build/before        # of the working tree
    … change the compiler …
    python tools/compare_ptx.py compare build/before .       # a folder with the working tree
    python tools/compare_ptx.py compare HEAD~3 HEAD          # two git revisions
    python tools/compare_ptx.py compare main . --only corpus/gemm --show
    python tools/compare_ptx.py record                       # what test/emit/test_recorded.py expects

The kernels are the examples, the corpus, the kernels that cuTile exported, copies and products in many shapes, and
random programs of fixed seeds. The programs are always those of the working tree; only the compiler differs.  A
snapshot has a file `TARGET/KERNEL.ptx` for each kernel, or the compiler's error message.  Files of
a snapshot are kept for `compare` if you name the folder; those of revisions are temporary.

`compare` exits with status 1 if there is a difference. `--stage llvmir` compares what LLVM is given, which takes less
time: LLVM makes the same PTX of the same IR. `--stage remarks` compares what is told of the compilation, remarks and
statistics of passes, and `--stage manifest` what a launch is told.

`record` writes digests of the LLVM IR, the remarks and the manifest of each kernel into test/emit/recorded.json. A
commit that changes one of them records it again, and says why it differs.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("sm_80", "sm_90a", "sm_120a")
SUFFIXES = {"ptx": ".ptx", "llvmir": ".ll", "remarks": ".txt", "manifest": ".json"}
RANDOM = 40
"""How many random programs are compiled."""
RECORDED = ROOT / "test" / "emit" / "recorded.json"
RECORDED_STAGES = ("llvmir", "remarks", "manifest")
RECORDED_TARGETS = ("sm_80", "sm_90a", "sm_100a")
VARIANTS: tuple[dict[str, str | int], ...] = (
    {"persistent": "static"},
    {"persistent": "counter", "raster": "grouped:4"},
    {"cluster": "2x2", "raster": "hilbert:4"},
    {"agents": "none"},
    {"split_k": 2},
    {"num_stages": 2, "num_warps": 4},
    {"launches": "large"},
    {"plain_abi": 1},
)
"""Options other than the default, with which the examples and the corpus are recorded for targets with agents."""
VARIANTS_OF: dict[str, tuple[dict[str, str | int], ...]] = {
    "sm_90a": (
        {"agents": "producer"},
        {"ping_pong": "always"},
        {"ping_pong": "never", "num_consumer_warpgroups": 1},
        {"persistent": "counter", "cluster": "2x1"},
    ),
    "sm_100a": (
        {"agents": "multipliers"},
        {"agents": "correction", "persistent": "counter"},
        {"persistent": "cancel", "cluster": "2x1"},
    ),
}
"""Those that only one of these targets can follow."""
ERROR = "error: "
"""The first word in the file of a kernel that the compiler refuses."""


@dataclass(frozen=True)
class Program:
    """A name such as `corpus/gemm_f16_64x64x32`, and the text or bytecode."""

    name: str
    content: str | bytes


@dataclass(frozen=True)
class Difference:
    """The difference of one file between two snapshots; None if the file is missing."""

    name: str
    before: str | None
    after: str | None

    def summary(self) -> str:
        """One line: which instructions are more or fewer, or what became of a refusal."""
        if self.before is None or self.after is None:
            return "only " + ("after" if self.before is None else "before")
        refused = [text.startswith(ERROR) for text in (self.before, self.after)]
        if any(refused):
            which = "another message" if all(refused) else "refused before" if refused[0] else "refused now"
            return f"{which}: {(self.after if refused[1] else self.before).splitlines()[0][len(ERROR) :]}"
        counts = [Counter(opcodes(text)) for text in (self.before, self.after)]
        if not self.name.endswith((".ptx", ".ll")):
            return _changed_lines(self.before, self.after)
        changed = [
            f"{name} {counts[0][name]} → {counts[1][name]}"
            for name in sorted(counts[0] | counts[1])
            if counts[0][name] != counts[1][name]
        ]
        return ", ".join(changed) or "the same instructions, in another order or of other registers"


def _changed_lines(before: str, after: str) -> str:
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    more, fewer = (sum(line.startswith(mark) for line in lines) for mark in ("+ ", "- "))
    return f"{more} lines more, {fewer} fewer"


def opcodes(text: str) -> Iterator[str]:
    """The opcode of each instruction of PTX, or of LLVM IR."""
    for line in text.splitlines():
        words = line.split("//")[0].split()
        if words and words[0].startswith("@"):
            words = words[1:]
        if len(words) > 2 and words[1] == "=":
            words = words[2:]
        if words and not words[0].startswith((".", "$", "{", "}", ";", "!", "%")):
            yield words[0].rstrip(";")


# -- programs


def programs(count: int) -> list[Program]:
    """The programs of the working tree, with `count` random ones."""
    found = [
        Program(f"{folder.name}/{path.stem}", path.read_text())
        for folder in (ROOT / "examples", ROOT / "test" / "corpus")
        for path in sorted(folder.glob("*.mlir"))
    ]
    newest: dict[str, Path] = {}
    for path in sorted((ROOT / "test" / "cutile").glob("*/*.tileirbc")):
        newest[path.stem] = path
    found += [Program(f"cutile/{name}", path.read_bytes()) for name, path in sorted(newest.items())]
    return [*found, *slices(), *agents(), *random_programs(count), *random_products(count)]


def slices() -> Iterator[Program]:
    """Copies and products of several shapes, element types and strides, as the tests in test/slice make them."""
    sys.path[:0] = [str(ROOT), str(ROOT / "test")]
    from slice.test_copies import copy_program
    from slice.test_dots import product_program

    for element, tile, out, into, aligned in (
        ("f32", (16, 64), ("?", 1), (1, "?"), False),
        ("f16", (64, 16), (1, "?"), ("?", 1), True),
        ("i8", (32, 32), ("?", "?"), (40, 1), True),
        ("f64", (2, 16, 16), ("?", 1, "?"), (1, "?", "?"), False),
        ("i1", (2, 4, 8), ("?", "?", 1), ("?", "?", 1), False),
    ):
        name = "x".join(map(str, tile))
        yield Program(f"slice/copy_{element}_{name}", copy_program(element, tile, out, into, aligned))
    for shape, a, b, element, loop in (
        ((16, 8, 16), "row", "row", "f16", "for"),
        ((64, 64, 32), "row", "col", "f16", "nested"),
        ((128, 128, 64), "row", "row", "bf16", "for"),
        ((128, 128, 64), "col", "row", "f16", "two"),
        ((64, 32, 32), "row", "col", "tf32", "for"),
        ((32, 64, 64), "col", "col", "bf16", "none"),
        ((128, 64, 32), "row", "row", "f16", "nested"),
    ):
        name = "_".join(("x".join(map(str, shape)), a, b, element, loop))
        yield Program(f"slice/product_{name}", product_program(*shape, a, b, element, loop))


def agents() -> Iterator[Program]:
    """Attention, products with factors of blocks, and products, as the tests in test/pipelines make them."""
    sys.path[:0] = [str(ROOT), str(ROOT / "test")]
    from pipelines.programs_of_attention import Attention
    from pipelines.programs_of_products import Product
    from pipelines.programs_of_scales import Scaled

    f8, e8 = "f8E4M3FN", "f8E8M0FNU"
    for kernel in (
        Attention(causal=True),
        Attention(64, 32, 64),
        Attention(128, 128, 128, "bf16", causal=True),
        Attention(256, 128, 64),
        Attention(causal=True, split=True),
        Attention(256, 128, 128, "bf16", causal=True, split=True),
        Attention(64, 64, 64, f8),
        Scaled(),
        Scaled(n=64, k=128, scale=e8, block=32),
        Scaled(n=64, k=128, element=f8, scale=e8, block=32),
        Scaled(m=256, n=64, k=128),
        Scaled(n=64, k=64, b_rows=True),
        Scaled(n=256, k=256, atoms=True),
        Scaled(n=128, k=256, a_once=True),
        Product(out="f16", d_assumed=True, outer=True),
        Product(m=128, n=128, k=32, outer=True),
        Product(m=256, n=128, out="bf16", d_assumed=True),
        Product("bf16", m=128, n=256, k=64, b_t="permute", warps=8),
        Product("tf32", m=128, n=64, k=32, a_t="view"),
        Product("i8", "i32", m=128, n=128, k=128, b_t="permute", d_t=True),
        Product(f8, "f32", m=128, n=128, k=128, b_t="view", fast_acc=True),
        Product(m=64, n=64, k=32, b_in="i8"),
        Product(m=128, n=128, a_in="i8"),
        Product(m=128, n=64, b_twice=True),
        Product(m=128, n=64, out="f16", read_back=True),
        Product(m=128, occupancy=2),
        Product(m=128, n=128, k=32, occupancy=1),
        Product(occupancy=4),
    ):
        given = [
            f"{field.name}={getattr(kernel, field.name)}"
            for field in fields(kernel)
            if getattr(kernel, field.name) != field.default
        ]
        yield Program(f"agents/{'_'.join([type(kernel).__name__.lower(), *given])}", kernel.text())


def random_products(count: int) -> Iterator[Program]:
    """Random products of the seeds 0, 1, … A release of NumPy that draws other numbers makes other products."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
    import numpy as np
    from random_products import Case

    for seed in range(count):
        case = Case.random(np.random.default_rng(seed))
        yield Program(f"product/{seed}", case.text())


def random_programs(count: int) -> Iterator[Program]:
    """Random programs of the seeds 0, 1, …"""
    sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
    from random_programs import Generator

    for seed in range(count):
        yield Program(f"random/{seed}", Generator(random.Random(seed)).program().text())


# -- digests


def digests(program: Program, label: str) -> str:
    """Of each of RECORDED_STAGES of a program, or of the message of its refusal, with spaces between them; `label` is a
    target, with options."""
    target, _, given = label.partition(" ")
    texts = compiled(program, target, "llvmir", options_of(given), explains=True)
    return " ".join(
        hashlib.sha256(texts.get(stage, "").encode()).hexdigest()[:12] for stage in RECORDED_STAGES
    )


def options_of(text: str) -> dict[str, str | int]:
    """`split_k=2 persistent=static` as the options of a compilation. Raises SystemExit for other words."""
    from tessera_tools.emit.driver import Options

    found: dict[str, str | int] = {}
    for option in text.split():
        name, mark, value = option.partition("=")
        if not mark or name not in {field.name for field in fields(Options)}:
            raise SystemExit(
                f"error: found '{option}', expected an option of a compilation, such as 'split_k=2'"
            )
        found[name] = int(value) if value.isdigit() else value
    return found


def labels(program: Program) -> list[str]:
    """The targets and options with which a program is recorded: `sm_90a`, `sm_90a split_k=2`, …"""
    found: list[str] = [*RECORDED_TARGETS]
    if program.name.startswith(("examples/", "corpus/")):
        for target, own in VARIANTS_OF.items():
            found += [" ".join([target, *(f"{n}={v}" for n, v in one.items())]) for one in (*VARIANTS, *own)]
    return found


def recorded() -> dict[str, dict[str, str]]:
    """Program → label → digests."""
    return json.loads(RECORDED.read_text())


def _digests(program: Program) -> tuple[str, dict[str, str]]:
    return program.name, {label: digests(program, label) for label in labels(program)}


def record(options: argparse.Namespace) -> None:
    """Write the digests of the working tree, and tell which are others than before, and of what."""
    before = recorded() if RECORDED.exists() else {}
    with ProcessPoolExecutor(options.jobs) as pool:
        after = dict(pool.map(_digests, programs(RANDOM)))
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, {}), after.get(name, {})
        for label in sorted(old.keys() | new.keys()):
            if changed := changed_stages(old.get(label, ""), new.get(label, "")):
                print(f"{name}, {label}: {', '.join(changed)}")
    RECORDED.write_text(json.dumps(after, indent=0) + "\n")


def changed_stages(before: str, after: str) -> list[str]:
    """The stages whose digests differ."""
    pairs = zip_longest(before.split(), after.split())
    return [stage for stage, (old, new) in zip(RECORDED_STAGES, pairs, strict=False) if old != new]


# -- snapshots


def compile_one(job: tuple[Program, str, str, dict[str, Any]]) -> tuple[str, str]:
    """(file, text) of one program, compiled by the compiler that the process imports."""
    program, target, stage, changes = job
    try:
        until = "ptx" if stage == "ptx" else "llvmir"
        text = compiled(program, target, until, changes, explains=stage == "remarks")[stage]
    except Exception as failure:
        text = f"{ERROR}{type(failure).__name__}: {failure}\n"
    return f"{target}/{program.name}{SUFFIXES[stage]}", text


def compiled(
    program: Program, target: str, until: str, changes: dict[str, Any], explains: bool = False
) -> dict[str, str]:
    """The texts of the last stage, the remarks and the manifest, or the message of a refusal as each of them."""
    from tessera_tools.diagnostics import DiagnosticError, collect
    from tessera_tools.emit.driver import Options, compile_module
    from tessera_tools.emit.kernels import kernels_of_module
    from tessera_tools.emit.manifest import Manifest
    from tessera_tools.passes.statistics import Statistics
    from tessera_tools.target import lookup

    wanted: Any = {"until": until, "verify_each": False, "explains": explains, **changes}
    options, statistics = Options(lookup(target), **wanted), Statistics()
    try:
        module = parse(program)
        with collect() as told:
            made = compile_module(module, options, worker=worker(), statistics=statistics)
    except DiagnosticError as failure:
        return dict.fromkeys(SUFFIXES, ERROR + failure.diagnostics[0].message + "\n")
    return {
        until: made.text(until),
        "remarks": "".join(f"{diagnostic}\n" for diagnostic in told) + statistics.report("list"),
        "manifest": Manifest(target, "9.0", tuple(kernels_of_module(module)), plans=made.plans).to_json(),
    }


def parse(program: Program) -> Any:
    """The module of a program."""
    from tessera_tools.bytecode import read_bytecode
    from tessera_tools.parser import parse_module

    if isinstance(program.content, bytes):
        return read_bytecode(program.content, program.name)
    listing = "flash_attention_listing" in program.name
    return parse_module(program.content, f"{program.name}.mlir", implicit_index_constants=listing)


_worker: Any = None


def worker() -> Any:
    """This process's LLVM."""
    global _worker
    if _worker is None:
        from tessera_tools.emit.worker import Worker

        _worker = Worker.start()
    return _worker


def make(tree: Path, folder: Path, options: argparse.Namespace, found: list[Program]) -> int:
    """Write the snapshot of the compiler in `tree`; the number of files."""
    # Before the first import of the compiler, which is that of the working tree otherwise.
    sys.path.insert(0, str(tree))
    jobs = [
        (program, target, options.stage, options_of(options.options))
        for target in options.targets
        for program in found
        if options.only in f"{target}/{program.name}"
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, (name, text) in enumerate(pool.map(compile_one, jobs), 1):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if number % 50 == 0:
                print(f"  {number} of {len(jobs)}", file=sys.stderr)
    return len(jobs)


def snapshot(tree: Path, folder: Path, options: argparse.Namespace) -> None:
    """The snapshot of the compiler in `tree`, written by a new Python process that imports only it."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, __file__, "make", str(tree), str(folder)],
        input=pickle.dumps((options, programs(options.random))),
        check=True,
        env=environment(),
    )
    print(f"{folder}: {time.perf_counter() - started:.0f} s", file=sys.stderr)


def environment() -> dict[str, str]:
    """This process's, without a path to another compiler, and with one order of sets."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "PYTHONHASHSEED": "0"}


@contextmanager
def folder_of(name: str, options: argparse.Namespace) -> Iterator[Path]:
    """The snapshot `name`: a folder with one, `.` for the working tree, or a git revision."""
    path = Path(name)
    if name != "." and path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder, tree = Path(temporary, "snapshot"), ROOT
        git = ["git", "-C", str(ROOT), "worktree"]
        if name != ".":
            tree = Path(temporary, "tree")
            done = subprocess.run(
                [*git, "add", "--detach", str(tree), name], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(
                    f"error: '{name}' is neither a folder nor a git revision: {done.stderr.strip()}"
                )
        try:
            snapshot(tree, folder, options)
        finally:
            if tree is not ROOT:
                subprocess.run([*git, "remove", "--force", str(tree)], check=False)
        yield folder


def differences(before: Path, after: Path, only: str = "") -> tuple[list[Difference], int]:
    """(what differs, files in all) in two snapshots."""
    names = {
        str(path.relative_to(folder))
        for folder in (before, after)
        for path in folder.rglob("*")
        if path.is_file() and only in str(path.relative_to(folder))
    }
    found: list[Difference] = []
    for name in sorted(names):
        texts = [
            (folder / name).read_text() if (folder / name).is_file() else None for folder in (before, after)
        ]
        if texts[0] != texts[1]:
            found.append(Difference(name, *texts))
    return found, len(names)


def report(before: Path, after: Path, options: argparse.Namespace) -> int:
    """Print what differs; the exit status."""
    found, total = differences(before, after, options.only)
    if not total:
        raise SystemExit("error: there is nothing to compare; is the folder a snapshot?")
    for one in found:
        print(f"{one.name}: {one.summary()}")
        if options.show and one.before is not None and one.after is not None:
            lines = difflib.unified_diff(
                one.before.splitlines(), one.after.splitlines(), "before", "after", lineterm=""
            )
            print("\n".join(lines))
    print(f"{total - len(found)} of {total} are the same")
    return 1 if found else 0


def main() -> int:
    """Make or compare snapshots."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="snapshot|compare|record")
    first = commands.add_parser("snapshot", help="write the PTX of all kernels into a folder")
    first.add_argument("folder", type=Path)
    first.add_argument("--revision", default=".", help="of this git revision (the working tree)")
    second = commands.add_parser("compare", help="compare two snapshots; each is a folder, a revision, or .")
    second.add_argument("before")
    second.add_argument("after")
    second.add_argument("--show", action="store_true", help="print the differing lines, too")
    third = commands.add_parser("record", help="write the digests that a test compares with")
    for one in (first, second, third):
        one.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    for one in (first, second):
        one.add_argument(
            "--random", type=int, default=RANDOM, metavar="N", help=f"random programs ({RANDOM})"
        )
        one.add_argument(
            "--targets", type=lambda text: text.split(","), default=TARGETS, help="sm_80,sm_90a,…"
        )
        one.add_argument("--only", default="", metavar="TEXT", help="only files with TEXT in TARGET/KERNEL")
        one.add_argument("--stage", choices=sorted(SUFFIXES), default="ptx", help="what is compared (ptx)")
        one.add_argument(
            "--options",
            default="",
            metavar="TEXT",
            help="options of the compilations: 'split_k=2 agents=none'",
        )
    fourth = commands.add_parser("make")  # what `snapshot` starts
    fourth.add_argument("tree", type=Path)
    fourth.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.command == "make":
        make(options.tree, options.folder, *pickle.load(sys.stdin.buffer))
        return 0
    if options.command == "record":
        record(options)
        return 0
    options_of(options.options)
    if options.command == "snapshot":
        if options.folder.exists():
            raise SystemExit(f"error: '{options.folder}' exists; name a new folder")
        with folder_of(options.revision, options) as made:
            shutil.copytree(made, options.folder)
        return 0
    with folder_of(options.before, options) as before, folder_of(options.after, options) as after:
        return report(before, after, options)


if __name__ == "__main__":
    sys.exit(main())
