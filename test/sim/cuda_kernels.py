"""CUDA C++ kernels for the simulated GPU: compiled once with all their mutants, run, compared with NumPy.

    cuda/<name>.cu ──nvcc, one entry per mutant──▶ PTX ──sim.load──▶ Launcher ──cuda/<name>.py: run(launch)

A line of the source that begins with `/*SYNC:name*/` is a synchronization: the mutant `name` lacks the rest of that
line (on every line with this mark). Beside the source stands a Python file whose `run(launch)` makes buffers,
launches the entry (which bears the file's name) and says what to expect. The first line of a source that is for
another architecture than sm_90a names it: `// arch: sm_80`. A file that a source includes as `"<file>.inc"` is part of
it; `KERNEL` in this file is the name of the entry.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from oracles import require_tool
from tessera_tools import sim
from tessera_tools.sim.program import Program
from tessera_tools.sim.reader import read

FOLDER = Path(__file__).parent / "cuda"
NAMES = sorted(path.stem for path in FOLDER.glob("*.cu"))
_MARK = re.compile(r"/\*SYNC:(\w+)\*/[^\n]*")
_PART = re.compile(r'(?m)^#include "(\w+\.inc)"\n')


def _text(name: str) -> str:
    """A source with its parts."""

    def part(match: re.Match[str]) -> str:
        return re.sub(r"\bKERNEL\b", name, (FOLDER / match.group(1)).read_text())

    return _PART.sub(part, (FOLDER / f"{name}.cu").read_text())


def mutants(name: str) -> list[str]:
    """The synchronizations of a source, by name."""
    return list(dict.fromkeys(_MARK.findall(_text(name))))


def _without(text: str, mutant: str) -> str:
    return _MARK.sub(lambda mark: "" if mark.group(1) == mutant else mark.group(0), text)


def _source(name: str) -> str:
    """The source once as it is, and once per mutant, each with its own name of the entry."""
    lines = _text(name).splitlines(keepends=True)
    prelude = "".join(line for line in lines if line.startswith("#include"))
    body = "".join("\n" if line.startswith("#include") else line for line in lines)
    parts = [prelude]
    for number, mutant in enumerate(["", *mutants(name)]):
        entry = f"{name}__{mutant}" if mutant else name
        renamed = re.sub(rf"\b{name}\b(?=\s*\()", entry, _without(body, mutant))
        parts.append(f'namespace variant_{number} {{\n#line 1 "{name}.cu"\n{renamed}\n}}\n')
    return "".join(parts)


@cache
def ptx(name: str) -> str:
    """The PTX of a source and its mutants; kept in a folder of the temporary directory, by content."""
    compiler = require_tool("nvcc")
    text = _source(name)
    first = text and (FOLDER / f"{name}.cu").read_text().splitlines()[0]
    arch = first.partition("arch:")[2].strip() or "sm_90a"
    headers = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.cuh")))
    key = hashlib.sha256(text.encode() + headers + arch.encode() + str(compiler).encode()).hexdigest()[:24]
    folder = Path(tempfile.gettempdir()) / "tessera-test-ptx"
    folder.mkdir(exist_ok=True)
    kept = folder / f"{name}-{key}.ptx"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            source = Path(work) / f"{name}.cu"
            source.write_text(text)
            out = Path(work) / "out.ptx"
            command = [str(compiler), "-ptx", f"-arch={arch}", "-lineinfo", "-std=c++17", f"-I{FOLDER}"]
            done = subprocess.run(
                [*command, "-o", str(out), str(source)],
                capture_output=True,
                text=True,
                timeout=300,
                cwd=work,
            )
            assert done.returncode == 0, done.stderr
            os.replace(out, kept)
    return kept.read_text()


@lru_cache(maxsize=2)
def program(name: str) -> Program:
    """What `sim.load` reads. The modules of all mutants share it: it takes longer to read than to run most of them."""
    return read(ptx(name), f"{name}.ptx")


@cache
def _spec(name: str) -> Any:
    return importlib.util.spec_from_file_location(f"sim_cuda_{name}", FOLDER / f"{name}.py")


class Launcher:
    """What `run(launch)` is given: `launch.buffer`, `launch(grid, block, args)`, `launch.expect`."""

    def __init__(self, name: str, mutant: str = "", seed: int = 0, mode: str = "late") -> None:
        self.entry = f"{name}__{mutant}" if mutant else name
        self.module = sim.Module(program(name))
        self.seed = seed
        self.mode = mode
        self.findings = sim.Findings()
        self.wrong: list[str] = []
        self.output = ""

    def buffer(self, content: Any, name: str = "") -> sim.Buffer:
        return self.module.memory.allocate(np.asarray(content), name)

    def __call__(self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], **options: Any) -> Any:
        result = self.module.launch(
            self.entry,
            grid,
            block,
            args,
            seed=self.seed,
            mode=self.mode,
            max_instructions=3_000_000,
            **options,
        )
        self.findings.merge(result.findings)
        self.output += result.output
        return result

    def expect(self, buffer: sim.Buffer, wanted: Any, rtol: float = 0, atol: float = 0) -> None:
        """The buffer's content is `wanted`: bit for bit, or within the tolerances."""
        found = buffer.array()
        wanted = np.asarray(wanted).astype(found.dtype).reshape(found.shape)
        close = np.isclose(found, wanted, rtol, atol, equal_nan=True)
        if not close.all():
            at = tuple(map(int, np.argwhere(~close)[0]))
            self.wrong.append(f"{buffer.name}{list(at)} is {found[at]}, expected {wanted[at]}")


def run(name: str, mutant: str = "", seed: int = 0, mode: str = "late") -> Launcher:
    """Run a kernel, or a mutant of it; the launcher with its findings and wrong results."""
    launch = Launcher(name, mutant, seed, mode)
    spec = _spec(name)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.run(launch)
    return launch
