"""Kernels of libraries that launch them with their own code.

    a program of launchers/ ──nvcc──▶ kernel.ptx, launch ──recorded()──▶ the kernel, its grid and its parameters

`launchers/record.cpp` is the CUDA runtime that the program is linked with: it starts nothing, and writes
down the launches.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tessera_tools.target import lookup
from tessera_tools.target.timing import timing

LAUNCHERS = Path(__file__).parent / "launchers"


def built(
    source: Path, target: str, defines: Mapping[str, Any], include: Sequence[Path], folder: Path, *more: str
) -> Path:
    """The folder with `kernel.ptx` and `launch`, a program that prints its launches.

    Compiled once for each launcher with its definitions, with `more` options of nvcc. Raises SystemExit with nvcc's
    message.
    """
    number = target.removeprefix("sm_")
    record = source.parent / "record.cpp"
    command = [
        "nvcc",
        f"-gencode=arch=compute_{number},code=compute_{number}",
        "-std=c++17",
        "-O3",
        "-DNDEBUG",
        "--expt-relaxed-constexpr",
        "--expt-extended-lambda",
        "-w",
        "-cudart=none",
        f"-DGPU_CAPABILITY={lookup(target).compute_capability}",
        *more,
        *(f"-D{name}={value}" for name, value in defines.items()),
        *(f"-I{one.resolve()}" for one in [source.parent / "torch", *include]),
        str(source),
        str(record),
    ]
    key = hashlib.sha256("\0".join([*command, source.read_text(), record.read_text()]).encode()).hexdigest()[
        :16
    ]
    found = folder / key
    if (found / "kernel.ptx").exists():
        return found
    found.mkdir(parents=True, exist_ok=True)
    keep = ["--keep", f"--keep-dir={found}", "-o", str(found / "launch")]
    done = subprocess.run([*command, *keep], check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{source}: nvcc failed:\n{done.stderr[:2000]}")
    (found / f"{source.stem}.ptx").rename(found / "kernel.ptx")
    return found


def recorded(program: Path, kernels: Sequence[Any], target: str, args: Sequence[Any]) -> dict[str, Any]:
    """The first launch of a program with these arguments: `kernel`, `grid`, `block`, `cluster`, `shared`, `args`.

    `kernels` are those of its PTX. Raises SystemExit with the program's message if it launches nothing.
    """
    gpu = lookup(target)
    table = timing(gpu)
    assert table is not None
    sizes = program.parent / "parameters.txt"
    sizes.write_text(
        "".join(
            " ".join([one.name, *(str(p.size) for p in one.signature.parameters)]) + "\n" for one in kernels
        )
    )
    environment = {
        **os.environ,
        "LAUNCH_PARAMETERS": str(sizes),
        "GPU_CAPABILITY": str(gpu.compute_capability),
        "GPU_SMS": str(int(table.value("sms"))),
        "GPU_SHARED": str(gpu.max_shared_per_block + 1024),
    }
    done = subprocess.run(
        [str(program), *map(str, args)], check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode or not done.stdout:
        raise SystemExit(f"{program}: {done.stderr[:2000] or 'it launched nothing'}")
    launch = json.loads(done.stdout.splitlines()[0])
    launch["args"] = [bytes.fromhex(one) for one in launch["args"]]
    return launch
