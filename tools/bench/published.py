"""Compare the clock of the simulated GPU with published measurements of kernels that others wrote.

    python tools/bench/published.py --checkout fast.cu=PATH --checkout triton=PATH [--triton-python=PYTHON] [NAME…]

`published.toml` lists the kernels: where the source is, how it is launched, the published figure and who published it.
The sources are not part of this repository; clone them first. CUDA sources need nvcc. Triton compiles for a GPU that
is not there; `--triton-python` is an interpreter that has it. A library whose own code launches its kernels is compiled
with a program of `launchers/`, and with a CUDA runtime that writes down the launches. `--build` keeps what was compiled
so. Prints the table of docs/timing.md and its summary.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
from launches import LAUNCHERS, built, recorded

from tessera_tools import runtime, sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime.timing import Estimate

HERE = Path(__file__).parent
_APART = 1.1
"""Figures that differ by more than this factor are expected in the same order."""
_TILE = 64
"""Columns of a box of the three-dimensional tensor maps."""
_HEADER = """#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda/barrier>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <algorithm>
#include <cassert>
#include <iostream>
#include <stdio.h>
#include <string>
#include <vector>
typedef __nv_bfloat16 bf16;
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(error) ((void)(error))
"""
_COMPILE = """
import importlib.util, json, sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

path, name, spec = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
module_spec = importlib.util.spec_from_file_location("kernels", path)
module = importlib.util.module_from_spec(module_spec)
module_spec.loader.exec_module(module)
function = getattr(module, name)
names = function.arg_names
attrs = {(names.index(one),): [["tt.divisibility", 16]] for one in spec["divisible"]}
source = ASTSource(fn=function, signature=spec["signature"], constexprs=spec["constants"], attrs=attrs)
made = compile(source, target=GPUTarget("cuda", spec["capability"], 32), options=spec["options"])
json.dump({"ptx": made.asm["ptx"], "shared": made.metadata.shared, "name": made.metadata.name}, sys.stdout)
"""


class Refused(Exception):
    """The simulated GPU has found an error of the kernel that stops it."""


@dataclass(frozen=True)
class Row:
    """One kernel: what was published, and what the clock says, in the same unit."""

    name: str
    gpu: str
    unit: str
    published: float
    estimated: float
    source: str

    @property
    def error(self) -> float:
        return self.estimated / self.published - 1


def compiled_cuda(path: Path, kernel: dict[str, Any], folder: Path) -> str:
    """The PTX of a CUDA source. Raises SystemExit with nvcc's message.

    A kernel with `instantiate` is a template of a header, which may include others beside it, and those of `headers`.
    """
    source, out = folder / "kernel.cu", folder / "kernel.ptx"
    for name, text in kernel.get("headers", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if "instantiate" in kernel:
        source.write_text(f'#include <cassert>\n#include "{path.resolve()}"\n{kernel["instantiate"]}\n')
    else:
        header = _HEADER if path.suffix == ".cuh" else ""
        source.write_text(f"{header}#include <cassert>\n{path.read_text()}\n")
    command = [
        "nvcc",
        "-ptx",
        f"-arch={kernel['target']}",
        f"-std={kernel.get('std', 'c++17')}",
        f"-I{folder}",
        "-O3",
        "-DNDEBUG",
        "--use_fast_math",
        "--expt-relaxed-constexpr",
        "-w",
    ]
    done = subprocess.run(
        [*command, str(source), "-o", str(out)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{path}: nvcc failed:\n{done.stderr[:2000]}")
    return out.read_text()


def entries(path: Path = HERE / "published.toml") -> Iterator[dict[str, Any]]:
    """The kernels of the list; one with several `figures` is an entry for each size."""
    for kernel in tomllib.loads(path.read_text())["kernel"]:
        if "figures" not in kernel:
            yield kernel
            continue
        for size, figure in kernel["figures"].items():
            number = int(size)
            yield {
                **kernel,
                "name": f"{kernel['name']}, {size}",
                "figure": figure,
                "work": [number if one == "size" else one for one in kernel["work"]],
                "args": [number if one == "size" else one for one in kernel["args"]],
            }


def needed(kernel: dict[str, Any]) -> set[str]:
    """The repositories that an entry is compiled from."""
    if "launcher" in kernel:
        return {one.split("/")[0] for one in kernel["include"]}
    return {kernel["checkout"]}


def triton_source(text: str, imports: Sequence[str] = ()) -> str:
    """The kernels of a module for Triton, the constants that they name, and `imports`; nothing else of it runs."""
    tree, lines = ast.parse(text), text.splitlines()
    kept = ["import triton", "import triton.language as tl", *imports]
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("tl.constexpr("):
            kept.append(ast.unparse(node))
        if isinstance(node, ast.FunctionDef) and any(
            "jit" in ast.unparse(one) for one in node.decorator_list
        ):
            kept += ["@triton.jit", *lines[node.lineno - 1 : node.end_lineno]]
    return "\n".join(kept) + "\n"


def compiled_triton(path: Path, kernel: dict[str, Any], python: str, folder: Path) -> tuple[str, int]:
    """The PTX of a Triton kernel, and its dynamic shared memory."""
    capability = int("".join(filter(str.isdigit, kernel["target"])))
    odd = kernel.get("odd", ())
    divisible = [
        name for name, type in kernel["signature"].items() if type != "constexpr" and name not in odd
    ]
    spec = {
        "signature": kernel["signature"],
        "constants": kernel["constants"],
        "divisible": divisible,
        "options": kernel.get("options", {}),
        "capability": capability,
    }
    program, kernels = folder / "compile.py", folder / "kernels.py"
    program.write_text(_COMPILE)
    kernels.write_text(triton_source(path.read_text(), kernel.get("imports", ())))
    command = [python, str(program), str(kernels), kernel["entry"], json.dumps(spec)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{path}: Triton failed:\n{done.stderr[-2000:]}")
    made = json.loads(done.stdout)
    return made["ptx"], made["shared"]


def hilbert(rows: int, columns: int, cores: int, width: int) -> np.ndarray[Any, Any]:
    """Tiles along a Hilbert curve, dealt to the cores in turn: row and column in 16 bits each; -1 ends a list."""
    size = 1 << (max(rows, columns) - 1).bit_length()
    lists: list[list[int]] = [[] for _ in range(cores)]
    count = 0
    for distance in range(size * size):
        x = y = 0
        rest, side = distance, 1
        while side < size:
            right = 1 & (rest // 2)
            up = 1 & (rest ^ right)
            if not up:
                if right:
                    x, y = side - 1 - x, side - 1 - y
                x, y = y, x
            x, y, rest, side = x + side * right, y + side * up, rest // 4, side * 2
        if x < rows and y < columns:
            lists[count % cores].append(x << 16 | y)
            count += 1
    found = np.full((cores, width), -1, np.int32)
    for row, places in zip(found, lists, strict=True):
        row[: len(places)] = places
    return found


class Launch:
    """Buffers and arguments of one entry of the list."""

    def __init__(self, kernel: dict[str, Any], ptx: str) -> None:
        self.device = runtime.device("sim")
        self.module = self.device.load(ptx)
        self.buffers = {name: self._buffer(name, text) for name, text in kernel.get("buffers", {}).items()}
        self.shapes = {name: self._shape(text) for name, text in kernel.get("buffers", {}).items()}

    @staticmethod
    def _shape(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.split(":")[1].split("x")))

    def _buffer(self, name: str, text: str) -> Any:
        kind = text.split(":", maxsplit=1)[0]
        shape = self._shape(text)
        array = hilbert(*shape) if kind == "hilbert" else np.zeros(shape, kind)
        return self.device.buffer(array, name)

    def argument(self, given: Any) -> Any:
        """A number, a buffer by name, a list of these as a structure, whose numbers are `i32:4` or `i64:4`, or
        `map A 128x64`: a tensor map; `*map …` is a pointer to one."""
        if isinstance(given, list):
            return b"".join(self._field(one) for one in cast("list[str]", given))
        if not isinstance(given, str):
            return given
        if given in self.buffers:
            return self.buffers[given]
        what, name, box, *options = given.split()
        rows, columns = map(int, box.split("x"))
        height, width = self.shapes[name]
        dims, boxes, strides = (width, height), (columns, rows), (2 * width,)
        rank = int(next((one[5:] for one in options if one.startswith("rank=")), "2"))
        if rank > 2:
            more = rank - 3
            dims = (_TILE, height, width // _TILE, *(1,) * more)
            boxes = (_TILE, rows, columns // _TILE, *(1,) * more)
            strides = (2 * width, 2 * _TILE, *(0,) * more)
        swizzle = "none" if "plain" in options else "128B"
        address = self.buffers[name].address
        found = sim.tensor_map("bf16", address, dims, boxes, strides=strides, swizzle=swizzle)
        if what == "map":
            return found
        return self.device.buffer(np.frombuffer(found, np.uint8), "map")

    def _field(self, given: str) -> bytes:
        """A part of a structure."""
        if given in self.buffers:
            return int(self.buffers[given].address).to_bytes(8, "little")
        type, _, value = given.partition(":")
        return int(value).to_bytes(int(type[1:]) // 8, "little")

    def run_recorded(self, kernel: dict[str, Any], program: Path) -> Estimate:
        """Launch as the library's own code does. Raises DiagnosticError if the clock refuses the launch."""
        given = [self.buffers[one].address if one in self.buffers else one for one in kernel["args"]]
        launch = recorded(program, self.module.kernels, kernel["target"], given)
        result = self.module.kernel(launch["kernel"]).launch(
            launch["grid"],
            launch["args"],
            block=launch["block"],
            cluster=launch["cluster"],
            shared=launch["shared"],
            timing=True,
        )
        if result.estimate is None:
            raise Refused(result.findings.of("error")[0].message)
        return result.estimate

    def run(self, kernel: dict[str, Any], shared: int) -> Estimate:
        """Raises DiagnosticError if the clock refuses the launch."""
        found = next(one for one in self.module.kernels if kernel["entry"] in one.name)
        args = [self.argument(one) for one in kernel["args"]]
        # Triton adds pointers to scratch memory, which these kernels do not use.
        args += [0] * (len(found.signature.wanted) - len(args))
        result = found.launch(
            kernel["grid"],
            args,
            block=(kernel["block"],),
            shared=shared,
            timing=True,
            clock_mhz=kernel.get("clock_mhz"),
        )
        if result.estimate is None:
            raise Refused(result.findings.of("error")[0].message)
        return result.estimate


def row_of(kernel: dict[str, Any], checkouts: dict[str, Path], python: str, build: Path) -> Row:
    """Run one entry of the list."""
    if "launcher" in kernel:
        include = [checkouts[one.split("/")[0]] / one.partition("/")[2] for one in kernel["include"]]
        source = LAUNCHERS / kernel["launcher"]
        folder = built(source, kernel["target"], kernel["defines"], include, build, "--use_fast_math")
        estimate = Launch(kernel, (folder / "kernel.ptx").read_text()).run_recorded(kernel, folder / "launch")
    else:
        path = checkouts[kernel["checkout"]] / kernel["path"]
        with tempfile.TemporaryDirectory() as name:
            shared = kernel.get("shared", 0)
            if path.suffix == ".py":
                ptx, shared = compiled_triton(path, kernel, python, Path(name))
            else:
                ptx = compiled_cuda(path, kernel, Path(name))
        estimate = Launch(kernel, ptx).run(kernel, shared)
    seconds = estimate.seconds + kernel.get("launch_us", estimate.table.value("launch_us")) * 1e-6
    scale = 1e12 if kernel["unit"] == "TFLOP/s" else 1e9
    work = prod(kernel["work"])
    return Row(
        kernel["name"],
        kernel["gpu"],
        kernel["unit"],
        kernel["figure"],
        work / seconds / scale,
        kernel["source"],
    )


def ranking(rows: list[Row]) -> tuple[int, int]:
    """Pairs of kernels of the same GPU and unit that differ by more than 10 %: in the published order, and all."""
    right = pairs = 0
    for one, other in combinations(rows, 2):
        if (one.gpu, one.unit) != (other.gpu, other.unit):
            continue
        if max(one.published, other.published) <= _APART * min(one.published, other.published):
            continue
        pairs += 1
        right += (one.published > other.published) == (one.estimated > other.estimated)
    return right, pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="parts of names of kernels (default: all)")
    parser.add_argument(
        "--checkout", action="append", default=[], metavar="NAME=PATH", help="where a repository is"
    )
    parser.add_argument("--triton-python", default=sys.executable, help="an interpreter that has Triton")
    parser.add_argument("--list", type=Path, default=HERE / "published.toml", help="the list of kernels")
    parser.add_argument("--build", type=Path, help="a folder for what launchers are compiled to")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        compare(given, given.build or Path(name))


def compare(given: argparse.Namespace, build: Path) -> None:
    """Print a line for each kernel of the list, and the summary."""
    checkouts = {name: Path(path) for name, _, path in (one.partition("=") for one in given.checkout)}
    rows: list[Row] = []
    print("| kernel | GPU | published | clock | error |\n| --- | --- | --- | --- | --- |")
    for kernel in entries(given.list):
        wanted = any(part in kernel["name"] for part in given.names or [""])
        if not wanted or not needed(kernel) <= checkouts.keys():
            continue
        try:
            row = row_of(kernel, checkouts, given.triton_python, build)
        except (DiagnosticError, Refused) as failure:
            print(
                f"| {kernel['name']} | {kernel['gpu']} | {kernel['figure']:g} {kernel['unit']} | refused: {failure} | |"
            )
            continue
        rows.append(row)
        figures = f"{row.published:,.0f} {row.unit} | {row.estimated:,.0f} {row.unit} | {row.error:+.0%}"
        print(f"| {row.name} | {row.gpu} | {figures} |", flush=True)
    if rows:
        right, pairs = ranking(rows)
        print(f"\nmedian error {median(abs(row.error) for row in rows):.0%} of {len(rows)} kernels; ", end="")
        print(f"{right} of {pairs} pairs that differ by more than 10 % in the published order")


if __name__ == "__main__":
    main()
