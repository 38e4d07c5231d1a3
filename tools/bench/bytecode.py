#!/usr/bin/env python3
"""Reading and writing cuda_tile bytecode: MB/s to verified IR, compared with the same program as text and with
`tileirdisasm`.

The program consists of the kernels in test/cutile, repeated under new names until the bytecode has the requested size
for, with and without debug information (which is more than half of what the Python frontend writes).
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import ROOT, best, find, table

sys.path.insert(0, str(ROOT))

VERSION = "13.1"


def program(size: int, debug: bool) -> bytes:
    """Bytecode of at least `size` bytes."""
    from tessera_tools.bytecode import Version, read_bytecode, write_bytecode
    from tessera_tools.dialects.cuda_tile.debug_info import DILocAttr, DISubprogramAttr
    from tessera_tools.ir.builtin_attributes import StringAttr
    from tessera_tools.ir.location import UNKNOWN, Location

    def moved(location: Location, name: str) -> Location:
        """The position in a copy of its function."""
        if (
            not debug
            or not isinstance(location, DILocAttr)
            or not isinstance(location.scope, DISubprogramAttr)
        ):
            return UNKNOWN
        old = location.scope
        scope = DISubprogramAttr(old.file, old.line, old.label, name, old.compile_unit, old.scope_line)
        return DILocAttr(location.source, scope)

    paths = sorted((ROOT / "test/cutile" / VERSION).glob("*.tileirbc"))
    modules: list[Any] = [read_bytecode(path.read_bytes(), str(path)) for path in paths]
    entries: list[Any] = [op for m in modules for op in m.regions[0].block if op.name == "cuda_tile.entry"]
    entries = [e for e in entries if all(op.name != "cuda_tile.get_global" for op in e.walk())]
    whole: Any = modules[0]
    for op in list(whole.regions[0].block):
        op.detach()
    block = whole.regions[0].block
    data = b""
    while len(data) < size:
        for _ in range(max(1, size // 200_000)):
            for entry in entries:
                copy = entry.clone()
                name = f"{entry.sym_name.value}_{len(block)}"
                copy.attributes["sym_name"] = StringAttr(name)
                for op in (copy, *copy.walk()):
                    op.location = moved(op.location, name)
                block.append(copy)
        data = write_bytecode(whole, Version.parse(VERSION))
    return data


def clock(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The least time of several runs in seconds, and the last result."""
    taken, made = [], None
    for _ in range(runs):
        made = None
        gc.collect()
        gc.disable()  # the commands, too, hardly ever look for garbage
        begin = time.perf_counter()
        made = work()
        taken.append(time.perf_counter() - begin)
        gc.enable()
    return min(taken), made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of bytecode (1,000,000)")
    parser.add_argument("--tileirdisasm", help="path of tileirdisasm (default: on PATH)")
    options = parser.parse_args()
    from tessera_tools.bytecode import Version, read_bytecode, write_bytecode
    from tessera_tools.ir.printing import print_op
    from tessera_tools.ir.verifier import verify_or_raise
    from tessera_tools.parser import parse_module

    peer = find(options.tileirdisasm, "tileirdisasm")
    rows: list[list[str]] = []
    for debug in (True, False):
        data = program(options.size, debug)
        kind = "with debug information" if debug else "without debug information"
        reading, module = clock(lambda data=data: read_bytecode(data), options.runs)
        count = sum(1 for _ in module.walk())

        def add(what: str, size: int, seconds: float, count: int = count) -> None:
            rate, per_op = f"{size / 1e6 / seconds:.2f}", f"{seconds / count * 1e6:.1f}"
            rows.append([what, f"{size / 1e6:.2f}", f"{seconds:.2f}", rate, per_op])

        add(f"bytecode to verified IR, {kind}", len(data), reading)
        writing, _ = clock(lambda m=module: write_bytecode(m, Version.parse(VERSION)), options.runs)
        add("  and back to bytecode", len(data), writing)
        text = print_op(module)

        def parse(text: str = text) -> None:
            verify_or_raise(parse_module(text))

        parsing, _ = clock(parse, options.runs)
        add("  the same as text, parsed and verified", len(text), parsing)
        if peer:
            with tempfile.NamedTemporaryFile(suffix=".tileirbc") as file:
                Path(file.name).write_bytes(data)
                taken = best({"peer": [peer, file.name]}, options.runs)["peer"]
            add("  tileirdisasm, whole process, text included", len(data), taken.seconds)
    title = f"cuda_tile bytecode {VERSION}; best of {options.runs} (aim: 1 MB/s into verified IR)"
    table(title, ["what", "MB", "s", "MB/s", "µs an op"], rows)
    if not peer:
        print("tileirdisasm was not found; pip install nvidia-cuda-tileiras, or specify --tileirdisasm=PATH")


if __name__ == "__main__":
    main()
