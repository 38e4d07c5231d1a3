#!/usr/bin/env python3
"""Packs what a measurement on a GPU needs, on a machine without one.

    python tools/bench/gpu_pack.py FOLDER [--gpu-name sm_90a] [--tileiras PATH] [--only REGEX] [--estimate-seconds 60]

    FOLDER/ours, theirs     cubins and launch manifests of every program, by us and by tileiras, from the same bytecode
    FOLDER/tests            the kernels of test/corpus and test/cutile: inputs, and outputs of the NumPy interpreter
    FOLDER/pack.json        what there is, versions, and the clock's estimate of each launch
    FOLDER/*.py, *.zip      gpu_run.py and what it imports

Copy the folder to a machine with a GPU, Python, NumPy and cuda-bindings, and run `python FOLDER/gpu_run.py`. It also
measures torch and Triton where they are installed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gpu_cases import CASES, Case
from measure import ROOT, find

sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(ROOT / "test" / "cutile")]

LIMIT_MIB = 40
PARTS = ("gpu_run.py", "gpu_device.py", "gpu_cases.py", "gpu_peers.py", "gpu_triton.py")
"""What of this folder is part of the pack."""


def wheel_tool(name: str) -> str | None:
    """A program of NVIDIA's Python packages."""
    for folder in sys.path:
        path = Path(folder) / "nvidia" / "cu13" / "bin" / name
        if path.is_file():
            return str(path)
    return None


class Pack:
    """The folder being written."""

    def __init__(self, folder: Path, gpu: str, tileiras: str | None) -> None:
        self.folder = folder
        self.gpu = gpu
        self.tileiras = tileiras
        self.programs: dict[str, dict[str, str]] = {}
        """Program → compiler → "" or why there is no cubin."""
        self.kernels: dict[str, Any] = {}
        """Our kernels, for the estimates."""

    def compile(self, name: str, bytecode: bytes) -> None:
        """Write the cubins and manifests of a program."""
        import tessera_tools as tt
        from tessera_tools.emit.manifest import Kernel, Manifest

        made = self.programs[name] = {}
        try:
            kernel = tt.compile(bytecode, self.gpu, name=f"{name}.tileirbc", lineinfo=False)
            cubin = kernel.cubin
        except tt.DiagnosticError as failure:
            made["ours"] = failure.diagnostics[0].message
            return
        made["ours"] = ""
        self.kernels[name] = kernel
        self._write("ours", name, cubin, kernel.manifest)
        if self.tileiras is None:
            made["theirs"] = "tileiras is not installed"
            return
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "k.tileirbc"), Path(folder, "k.cubin")
            source.write_bytes(bytecode)
            command = [
                self.tileiras,
                f"--gpu-name={self.gpu.rstrip('af')}",
                str(source),
                "-o",
                str(output),
            ]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                made["theirs"] = " ".join((done.stderr or done.stdout).split())[:300]
                return
            made["theirs"] = ""
            # A tile kernel of tileiras takes the declared parameters, and is launched with one "thread" and no dynamic
            # shared memory: the driver knows the real numbers from the cubin, and makes the tensor maps
            # (https://github.com/NVIDIA/cuda-tile, README.md, "C++ Host Program"; KPARAM_INFO in .nv.info).
            ours = kernel.manifest.kernel(None)
            declared = tuple(one for one in ours.parameters if one.type != "tensormap")
            theirs = Manifest(
                kernel.manifest.target,
                kernel.manifest.ptx_version,
                (Kernel(ours.name, declared, (1, 1, 1)),),
            )
            self._write("theirs", name, output.read_bytes(), theirs)

    def _write(self, who: str, name: str, cubin: bytes, manifest: Any) -> None:
        folder = self.folder / who
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.cubin").write_bytes(cubin)
        (folder / f"{name}.json").write_text(manifest.to_json())

    def add_test(self, name: str, bytecode: bytes, seed: int, indices: bool = True) -> str:
        """Write the inputs of a test kernel, and what it should leave; returns why not, or nothing.

        indices: the kernel may read places from memory, for which its arrays have more rows than tile blocks.
        """
        import arguments  # pyright: ignore[reportMissingImports]
        from reference.interpreter import UnsupportedError, interpret
        from test_results import ALIGNED, ONE_BLOCK, TOLERANCE, prepared  # pyright: ignore[reportMissingImports]

        from tessera_tools.bytecode import read_bytecode
        from tessera_tools.dialects import cuda_tile as ct

        module = read_bytecode(bytecode, name)
        entry = next(op for op in module.walk() if isinstance(op, ct.Entry))
        groups = arguments.parameters_of(entry)
        rng = np.random.default_rng(seed)
        least = arguments.LEAST
        if not indices:
            arguments.LEAST = 2  # as many as the grid has tile blocks
        try:
            args = prepared(name, arguments.make(groups, 2, name not in ALIGNED, rng), groups)
        finally:
            arguments.LEAST = least
        grid = (1, 1, 1) if name in ONE_BLOCK else (2, 2, 2)
        try:
            expected = interpret(module, args, grid)
        except UnsupportedError as problem:
            return f"the interpreter does not do {problem}"
        arrays = [value for value in args if isinstance(value, np.ndarray)]
        elements = [group.element for group in groups if group.rank >= 0]
        about = {
            "grid": grid,
            "args": [None if isinstance(value, np.ndarray) else _number(value) for value in args],
            "elements": elements,
            "tolerances": [TOLERANCE.get(element, 0.0) for element in elements],
        }
        folder = self.folder / "tests"
        folder.mkdir(exist_ok=True)
        named: dict[str, Any] = {f"input{number}": array for number, array in enumerate(arrays)}
        named |= {f"expected{number}": np.asarray(array) for number, array in enumerate(expected)}
        np.savez_compressed(folder / f"{name}.npz", about=np.array(json.dumps(about)), **named)
        return ""

    def copy_parts(self) -> None:
        """Write gpu_run.py and what it imports."""
        here = Path(__file__).parent
        for part in PARTS:
            shutil.copy(here / part, self.folder / part)
        with zipfile.ZipFile(self.folder / "tessera_tools.zip", "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted((ROOT / "tessera_tools").rglob("*.py")):
                file.write(path, path.relative_to(ROOT))


def _number(value: Any) -> int | float:
    return float(value) if isinstance(value, float | np.floating) else int(value)


def launch_of(kernel: Any, case: Case, gpu: str, limit: float) -> Any:
    """The result of a timed launch on the simulated GPU.  Raises DiagnosticError."""
    from tessera_tools import runtime
    from tessera_tools.runtime.types import TYPES

    rng = np.random.default_rng(0)
    device = runtime.device("sim", gpu_name=gpu)
    buffers: dict[str, Any] = {}
    for one in case.tensors:
        kind = TYPES[one.type]
        # Numbers of products and sums do not matter to the time; integers lead to addresses.
        some = one.values(rng) if one.type == "i32" else rng.integers(-4, 5, 1 << 14)
        buffers[one.name] = device.buffer(np.resize(kind.encode(some), one.shape), one.name, kind)
    entry = device.load(kernel.ptx, kernel.manifest).kernel(kernel.name)
    args = case.arguments(lambda name: buffers[name].address)
    return entry.launch(case.grid, args, timing=True, time_limit=limit)


def estimate(kernel: Any, case: Case, gpu: str, limit: float) -> dict[str, Any]:
    """The clock's estimate of a launch: `us`, or `why` there is none."""
    from tessera_tools.diagnostics import DiagnosticError

    try:
        result = launch_of(kernel, case, gpu, limit)
    except DiagnosticError as failure:
        return {"why": failure.diagnostics[0].message}
    found = result.estimate
    if found is None:
        return {"why": result.findings.of("error")[0].message}
    return {"us": found.seconds * 1e6, "simulated_ctas": found.simulated, "from": found.source}


def tests() -> dict[str, Path]:
    """The programs of test/corpus and test/cutile, by name: the newest bytecode of each."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "test" / "cutile").glob("*/*.tileirbc")):
        found[path.stem] = path  # in the order of the versions
    for path in sorted((ROOT / "test" / "corpus").glob("*.mlir")):
        found[path.stem] = path
    return found


def bytecode_of(path: Path) -> bytes:
    """The bytecode of a file of text or bytecode."""
    if path.suffix == ".tileirbc":
        return path.read_bytes()
    from tessera_tools.bytecode import write_bytecode
    from tessera_tools.parser import parse_module

    return write_bytecode(parse_module(path.read_bytes(), str(path)))


def git_commit() -> str:
    """The commit that is packed; empty without git."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def pack(
    folder: Path,
    gpu: str,
    tileiras: str | None,
    wanted: Callable[[str], object],
    estimate_seconds: float,
    tell: Callable[[str], None],
) -> None:
    """Write a pack. Raises SystemExit if it is larger than the limit."""
    from gpu_kernels import export

    folder.mkdir(parents=True)
    made = Pack(folder, gpu, tileiras)
    cases = [case for case in CASES if wanted(case.name)]
    for program in sorted({case.program for case in cases}):
        tell(program)
        made.compile(program, export(program))
    packed: dict[str, str] = {}
    seed = int(time.time())
    for name, path in tests().items():
        if wanted(f"test {name}"):
            tell(f"test {name}")
            bytecode = bytecode_of(path)
            packed[name] = made.add_test(name, bytecode, seed, indices=path.suffix == ".tileirbc")
            if not packed[name]:
                made.compile(f"test_{name}", bytecode)
    estimates: dict[str, Any] = {}
    for case in cases:
        if estimate_seconds and case.program in made.kernels:
            tell(f"estimate of {case.name}")
            estimates[case.name] = estimate(made.kernels[case.program], case, gpu, estimate_seconds)
    about = {
        "format": 1,
        "gpu": gpu,
        "commit": git_commit(),
        "tileiras": version_of(tileiras),
        "cases": [case.name for case in cases],
        "programs": made.programs,
        "tests": packed,
        "test_seed": seed,
        "estimates": estimates,
    }
    made.copy_parts()
    (folder / "pack.json").write_text(json.dumps(about, indent=1))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / (1 << 20)
    refused = sum(bool(why) for one in made.programs.values() for why in one.values())
    print(f"{folder}: {len(made.programs)} programs, {len(cases)} cases, {len(packed)} tests, {size:.1f} MiB")
    if refused:
        print(f"{refused} programs have no cubin of one of the compilers; pack.json says why")
    if size > LIMIT_MIB:
        sys.exit(f"the pack has {size:.1f} MiB; at most {LIMIT_MIB} are allowed")


def version_of(tileiras: str | None) -> str:
    """The release of tileiras; empty without it."""
    if tileiras is None:
        return ""
    done = subprocess.run([tileiras, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"release (\S+?),? ?(V\S+)?$", done.stdout, re.MULTILINE)
    return found[0] if found else " ".join(done.stdout.split())[-40:]


def main() -> None:
    """Read the command line, and pack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder to make; it must not exist")
    parser.add_argument("--gpu-name", default="sm_90a", help="the GPU to compile for (sm_90a)")
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH, or of the Python package)")
    parser.add_argument("--only", default="", help="pack the cases and tests whose name contains this regex")
    parser.add_argument(
        "--estimate-seconds", type=float, default=60.0, help="limit of one estimate; 0 makes none"
    )
    options = parser.parse_args()
    if options.folder.exists():
        parser.error(f"{options.folder} exists")
    try:
        wanted = re.compile(options.only).search
    except re.error as failure:
        parser.error(f"--only: {failure}")

    def tell(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{what}\033[K", end="", file=sys.stderr, flush=True)

    tileiras = find(options.tileiras, "tileiras") or wheel_tool("tileiras")
    pack(options.folder, options.gpu_name, tileiras, wanted, options.estimate_seconds, tell)


if __name__ == "__main__":
    main()
