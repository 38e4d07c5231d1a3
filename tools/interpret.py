#!/usr/bin/env python3
"""The result of a cuda_tile program by the interpreter of the tests, with the arguments of tessera-run.

    tools/interpret.py --grid=4 --arg a=rand:f32:64 --arg b=zeros:f32:64 --out b=b.bin program.mlir

No compiler takes part, so it is the reference for a wrong result of the compiler:

    tessera-reduce program.mlir --fails=wrong-result --reference='python tools/interpret.py' -- tessera-run --grid=4 …

Options of tessera-run that choose the code, such as --gpu-name, are ignored.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from reference.interpreter import UnsupportedError, interpret  # noqa: E402

from tessera_tools.api.inputs import parse_input  # noqa: E402
from tessera_tools.cli.common import guarded, read_input  # noqa: E402
from tessera_tools.cli.run import COMMAND_LINE  # noqa: E402
from tessera_tools.cli.run_arguments import read_shape  # noqa: E402
from tessera_tools.diagnostics import error  # noqa: E402
from tessera_tools.emit.files import OutputSet  # noqa: E402
from tessera_tools.runtime.arguments import BufferSpec, MapSpec, parse_argument, parse_output  # noqa: E402


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    name, data = read_input(options["input"])
    seed = options["seed"] or 0
    buffers: dict[str, np.ndarray] = {}
    values = []
    for number, text in enumerate(options["arg"]):
        given = parse_argument(text)
        if isinstance(given, MapSpec):
            raise error(None, f"'{text}': cuda_tile programs have no tensor maps")
        if not isinstance(given, BufferSpec):
            values.append(given.value)
            continue
        array, _ = given.array(np.random.default_rng([seed, number]))
        buffers[given.name or str(number)] = array
        values.append(array)
    grid = read_shape("grid", options["grid"]) or (1, 1, 1)
    try:
        arrays = interpret(parse_input(data, name), values, grid=grid, entry=options["entry"])
    except (UnsupportedError, IndexError) as failure:
        raise error(None, f"'{name}': {failure}") from None
    after = dict(zip(buffers, arrays, strict=True))
    with OutputSet() as outputs:
        for buffer, path in (parse_output(text) for text in options["out"]):
            raw = after[buffer].tobytes()
            if path.endswith(".npy"):
                stream = io.BytesIO()
                np.save(stream, after[buffer], allow_pickle=False)
                raw = stream.getvalue()
            outputs.add(path, raw)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(lambda: execute(sys.argv[1:])))
