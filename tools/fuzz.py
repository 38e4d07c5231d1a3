#!/usr/bin/env python3
"""Fuzzer of the commands: valid files, mutated, through random passes; no input may show a traceback.

    IR of tests and examples, and of every stage ─┐
    PTX, launch files ─────────────────────────mutate(seed, number)─▶ case ─▶ worker process: the command, memory limit
                                             │ one line a case: started, done, found
                                           this process: time limit, restarts, findings under build/fuzz/

A case depends on the seed and its number alone: `--seed S --case N` runs one again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import resource
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MEMORY_BYTES = 3 << 30
"""Address space of a worker; a case that needs more is a finding."""
CASE_SECONDS = 30.0
"""A case that takes longer is a hang: the whole corpus takes under a second a file."""
INTERNAL = re.compile(
    rb"Traceback \(most recent call last\)|internal (compiler )?(error|fault)", re.IGNORECASE
)
TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$-]+|->|::|\s+|.', re.DOTALL)
NUMBER = re.compile(rb"\b\d+\b")
EXTREMES = [b"0", b"-1", b"1", b"9223372036854775808", b"18446744073709551616", b"1e400", b"0x", b"9" * 5000]
BRACKETS = [b"({", b"[", b"<", b"{a = [", b"tuple<", b"dense<[", b"loc(fused[", b'"a.b"() ({']
SMALL = b"func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  func.return %0 : i32\n}\n"


@dataclass(frozen=True)
class Case:
    """One input and its command line."""

    data: bytes
    argv: tuple[str, ...]
    command: str = "tessera-opt"
    beside: tuple[tuple[str, bytes], ...] = ()
    """Files of the folder that the command runs in: name, content."""


LAUNCHED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n, .param .f32 by)
.reqntid 64, 1, 1
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
  .shared .align 16 .b8 buffer[256];
  ld.param.u64 %rd0, [x]; ld.param.u32 %r0, [n]; ld.param.f32 %f0, [by];
  mov.u32 %r2, %tid.x; setp.ge.u32 %p0, %r2, %r0;
  @%p0 bra done;
  mul.wide.u32 %rd1, %r2, 4; add.u64 %rd2, %rd0, %rd1;
  ld.global.f32 %f1, [%rd2]; mul.f32 %f2, %f1, %f0; st.global.f32 [%rd2], %f2;
done:
  bar.sync 0;
  ret;
}
"""
LAUNCH = {
    "entry": "scale",
    "grid": [1, 1, 1],
    "block": [64, 1, 1],
    "shared": 0,
    "buffers": {
        "A": {"file": "image", "out": "after"},
        "B": {"size": 256, "pointers": [{"at": 0, "to": "A", "offset": 0}]},
    },
    "args": [{"pointer": "A", "offset": 0}, {"i32": 64}, {"f32": 0.5}],
}
PATHS = [
    b'"../secret"',
    b'"/dev/zero"',
    b'"/etc/passwd"',
    b'"\\u0000"',
    b'"\\ud800"',
    b'"\x1b[31m"',
    b'"\xff"',
    b"null",
]
"""Replacements for texts in a launch file."""


@cache
def corpus() -> list[bytes]:
    """Every `.mlir` file of test/ and examples/ up to 64 KB, and examples at each stage; one file if there is none."""
    files = sorted(path for folder in ("test", "examples") for path in (ROOT / folder).rglob("*.mlir"))
    return [path.read_bytes() for path in files if path.stat().st_size <= 1 << 16] + stages()[0] or [SMALL]


@cache
def stages() -> tuple[list[bytes], list[bytes]]:
    """The examples at every stage of IR, including layouts and barriers, and their PTX."""
    from tessera_tools.cli import opt, translate

    passes = [
        "--tileas-assign-layouts",
        "--tileas-remove-layout-conversions",
        "--tileas-materialize-pipeline",
    ]
    passes.append("--tileas-insert-barriers")
    found: list[bytes] = []
    ptx = [LAUNCHED.encode()]
    with tempfile.TemporaryDirectory() as folder:
        for name, gpu in (
            ("vector_add", "sm_80"),
            ("gemm", "sm_80"),
            ("gemm", "sm_90a"),
            ("softmax", "sm_90a"),
        ):
            source = ROOT / "examples" / f"{name}.mlir"
            if not source.exists():
                continue
            options = ["--mlir-to-ptx", f"--gpu-name={gpu}", f"--save-temps={folder}", str(source)]
            if translate.run(options).exit_code:
                continue
            for path in sorted(Path(folder).glob("[2-4]-*.mlir")):
                found.append(path.read_bytes())
                if path.name.startswith("3-"):
                    for count in range(1, len(passes) + 1):
                        found.append(opt.run(passes[:count], stdin=path.read_bytes()).stdout)
            ptx.append((Path(folder) / "6-ptx.ptx").read_bytes())
    return [text for text in found if text and len(text) <= 1 << 16], ptx


def pass_option(name: str, rng: random.Random) -> str:
    """The flag of a pass with a random option: a right value, or one that is none."""
    from tessera_tools.passes.table import find_pass

    cls = find_pass(name)
    entries = list(cls.options()) if cls is not None else []
    if not entries or rng.random() < 0.5:
        return f"--{name}"
    entry = rng.choice(entries)
    values = [
        *entry.choices,
        entry.write(entry.default),
        "0",
        "-1",
        "true",
        "sm_90",
        "9" * 40,
        "",
        "{",
        "a=b,c",
    ]
    return f"--{name}={entry.name}={rng.choice(values)}"


def run_case(number: int, rng: random.Random) -> Case:
    """A case of tessera-run: mutated PTX, or a mutated launch file with PTX."""
    if number % 8 == 3:
        ptx = rng.choice(stages()[1])
        for _ in range(rng.choice([1, 1, 2, 4])):
            ptx = mutate(ptx, rng.choice(stages()[1]), rng)
        count = rng.randrange(6)
        argv = ["--max-instructions=3000", "--grid=1", "--block=32", *["--arg=zeros:f32:64"] * count]
        return Case(ptx, (*argv, *(["--stats"] if rng.random() < 0.2 else [])), "tessera-run")
    launch = json.dumps(LAUNCH).encode()
    for _ in range(rng.choice([1, 1, 2, 3])):
        texts = list(re.finditer(rb'"(?:[^"\\]|\\.)*"', launch))
        if texts and rng.random() < 0.4:
            found = rng.choice(texts)
            launch = launch[: found.start()] + rng.choice(PATHS) + launch[found.end() :]
        else:
            launch = mutate(launch, b'{"a": 1e999, "b": [[]], "c": -1}', rng)
    beside = (("launch.json", launch), ("image", bytes(256)))
    argv = ("--launch=launch.json", "--max-instructions=3000")
    return Case(LAUNCHED.encode(), argv, "tessera-run", beside)


def pass_names() -> list[str]:
    """The names that `tessera-opt --list-passes` prints."""
    from tessera_tools.cli import opt

    text = opt.run(["--list-passes"], stdin=b"", cwd=None).stdout.decode()
    return sorted(set(re.findall(r"^\s*(?:--)?([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\b", text, re.MULTILINE)))


def mutate(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Apply one random mutation; `other` is a second file to splice with."""
    tokens = TOKEN.findall(data)
    at = rng.randrange(len(tokens) + 1)
    match rng.randrange(10):
        case 0:  # flip a bit
            changed = bytearray(data or b"\0")
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed)
        case 1:  # delete tokens
            del tokens[at : at + rng.randint(1, 4)]
        case 2:  # duplicate a stretch
            tokens[at:at] = tokens[at : at + rng.randint(1, 40)]
        case 3 if len(tokens) > 1:  # swap two tokens
            first, second = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            tokens[first], tokens[second] = tokens[second], tokens[first]
        case 4:  # truncate
            return data[: rng.randrange(len(data) + 1)]
        case 5:  # nesting bomb
            tokens[at:at] = [rng.choice(BRACKETS) * rng.choice([10, 1000, 20_000])]
        case 6:  # splice two files
            return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]
        case 7:  # a token of another file
            tokens[at:at] = [rng.choice(TOKEN.findall(other) or [b"%x"])]
        case 8:  # an extreme number
            numbers = list(NUMBER.finditer(data))
            if numbers:
                found = rng.choice(numbers)
                return data[: found.start()] + rng.choice(EXTREMES) + data[found.end() :]
        case _:  # move a line
            lines = data.splitlines(keepends=True)
            if len(lines) > 1:
                line = lines.pop(rng.randrange(len(lines)))
                lines.insert(rng.randrange(len(lines) + 1), line)
            return b"".join(lines)
    return b"".join(tokens)


def truncation(seed: int, step: int, files: list[bytes]) -> bytes:
    """One file cut at one byte. Consecutive steps cut every file once at every byte before any repetition."""
    total = sum(len(data) + 1 for data in files)
    stride = next(odd for odd in range(seed % total | 1, 3 * total, 2) if math.gcd(odd, total) == 1)
    at = step * stride % total
    for data in files:
        if at <= len(data):
            return data[:at]
        at -= len(data) + 1
    raise AssertionError("the position lies within the total length")


def make_case(seed: int, number: int, files: list[bytes], passes: list[str]) -> Case:
    """The case `number` of the run `seed`."""
    rng = random.Random(f"{seed}:{number}")
    if number % 4 == 3:
        return run_case(number, rng)
    if number % 4 == 0:
        return Case(truncation(seed, number // 4, files), ())
    data = rng.choice(files)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        data = mutate(data, rng.choice(files), rng)
    argv = [
        pass_option(name, rng)
        for name in rng.sample(passes, rng.choice([0, 0, 1, 2, 5]) if len(passes) >= 5 else 0)
    ]
    for option in ("--allow-unregistered-dialect", "--mlir-print-op-generic", "--split-input-file"):
        if rng.random() < 0.2:
            argv.append(option)
    return Case(data, tuple(argv))


def judge(case: Case) -> tuple[str, str]:
    """Run the case in this process: ("", "") when it behaved, else the kind of finding and its evidence."""
    from tessera_tools.cli import opt, run

    command = {"tessera-opt": opt.run, "tessera-run": run.run}[case.command]
    with tempfile.TemporaryDirectory() as folder:
        for name, content in case.beside:
            (Path(folder) / name).write_bytes(content)
        try:
            result = command([*case.argv, "-"], stdin=case.data, cwd=folder)
        except BaseException:
            return "traceback", traceback.format_exc()
    evidence = result.stderr[-20_000:].decode("utf-8", errors="backslashreplace")
    if INTERNAL.search(result.stderr):
        return "internal", evidence
    if result.exit_code not in ((0, 1) if case.command == "tessera-opt" else (0, 1, 2, 3)):
        return "status", f"exit status {result.exit_code}\n{evidence}"
    if result.exit_code == 1 and b"error:" not in result.stderr:
        return "silent", evidence or "exit status 1 and no message"
    return "", ""


def work(seed: int, start: int) -> None:
    """The worker: cases from `start` on, one JSON line before and one after each, until it is ended."""
    corpus()  # made by LLVM, whose process needs no limit
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # The lines need a stream of their own: a command that prints to stdout must not mix with them.
    report = open(3, "w", buffering=1)  # noqa: SIM115  open for the whole life of the process
    files, passes = corpus(), pass_names()
    number = start
    while True:
        case = make_case(seed, number, files, passes)
        print(json.dumps(["start", number]), file=report)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kind, evidence = judge(case)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if not kind and grown > 1 << 20:
            kind, evidence = "memory", f"peak memory grew by {grown >> 10} MiB"
        print(json.dumps(["end", number, kind, evidence]), file=report)
        number += 1


@dataclass
class Run:
    """The parent's view of a run: its progress and its failures."""

    seed: int
    folder: Path
    done: int = 0
    findings: dict[str, int] = field(default_factory=dict[str, int])

    def save(self, number: int, kind: str, evidence: str, files: list[bytes], passes: list[str]) -> None:
        """Keep the case with its evidence; of cases that end in the same last line, the first three."""
        last = evidence.strip().splitlines()[-1:] or [kind]
        key = f"{kind}: {last[0][:200]}"
        self.findings[key] = self.findings.get(key, 0) + 1
        if self.findings[key] > 3:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        case = make_case(self.seed, number, files, passes)
        stem = self.folder / f"{self.seed}-{number}-{kind}"
        stem.with_suffix(".mlir" if case.command == "tessera-opt" else ".ptx").write_bytes(case.data)
        for name, content in case.beside:
            stem.with_name(f"{stem.name}-{name}").write_bytes(content)
        again = f"tools/fuzz.py --seed {self.seed} --case {number}"
        stem.with_suffix(".txt").write_text(f"{again}\n{case.command} {' '.join(case.argv)}\n\n{evidence}\n")
        print(f"{kind}: case {number}, kept as {stem}.*; again: {again}", flush=True)


def fuzz(run: Run, seconds: float) -> None:
    """Run workers for `seconds`, restarting one after a crash or a hang."""
    files, passes = corpus(), pass_names()
    end = time.monotonic() + seconds
    shown = time.monotonic()
    while time.monotonic() < end:
        read, write = os.pipe()
        command = [sys.executable, "-c", _BOOT, str(write), str(Path(__file__)), str(run.seed), str(run.done)]
        worker = subprocess.Popen(
            command, pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        os.close(write)
        current, started = run.done, time.monotonic()
        buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(read, selectors.EVENT_READ)
            while time.monotonic() < end:
                chunk = os.read(read, 1 << 16) if selector.select(timeout=0.5) else None
                if chunk == b"":  # the worker is gone
                    _, words = worker.communicate()
                    evidence = (
                        f"worker ended with status {worker.returncode}\n{words.decode(errors='replace')}"
                    )
                    run.save(current, "died", evidence, files, passes)
                    run.done = current + 1
                    break
                buffer += chunk or b""
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    current, started = message[1], time.monotonic()
                    if message[0] == "end":
                        run.done = current + 1
                        if message[2]:
                            run.save(current, message[2], message[3], files, passes)
                if time.monotonic() - started > CASE_SECONDS:
                    run.save(current, "hang", f"no end within {CASE_SECONDS} s", files, passes)
                    run.done = current + 1
                    break
                if time.monotonic() - shown > 10:
                    shown = time.monotonic()
                    left = max(0, int(end - shown))
                    print(
                        f"{run.done} cases, {sum(run.findings.values())} findings, {left} s left", flush=True
                    )
        worker.kill()
        worker.wait()
        os.close(read)


_BOOT = """
import os, runpy, sys
os.dup2(int(sys.argv[1]), 3, inheritable=True)
sys.argv = [sys.argv[2], "--worker", *sys.argv[3:]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main() -> int:
    """Parse the options and run. Returns 1 when anything was found."""
    parser = argparse.ArgumentParser(description="fuzz the commands with mutated files and random passes")
    parser.add_argument("--seconds", type=float, default=600, help="how long to run (default 600)")
    parser.add_argument("--seed", type=int, help="default: fresh, and printed")
    parser.add_argument("--case", type=int, help="run this one case again, in this process")
    parser.add_argument("--worker", nargs=2, type=int, metavar=("SEED", "START"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    if options.case is not None:
        case = make_case(seed, options.case, corpus(), pass_names())
        kind, evidence = judge(case)
        print(f"{case.command} {' '.join(case.argv)}: {kind or 'in order'}\n{evidence}")
        return int(bool(kind))
    run = Run(seed, ROOT / "build" / "fuzz")
    fuzz(run, options.seconds)
    print(f"{run.done} cases with seed {seed}: {len(run.findings)} kinds of finding")
    for key, count in sorted(run.findings.items(), key=lambda item: -item[1]):
        print(f"  {count} × {key}")
    return int(bool(run.findings))


if __name__ == "__main__":
    sys.exit(main())
