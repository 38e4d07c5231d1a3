"""CUTLASS's kernels for Blackwell on the simulated GPU, against NumPy in float64.

    python tools/cutlass_kernels.py --cutlass=CHECKOUT [--build=FOLDER] [--list] [NAME…]

The launchers of tools/bench/launchers/ are compiled with nvcc and with CUTLASS's headers, a minute or two for each
kernel; `--build` keeps what was compiled.  CUTLASS's own code chooses the grid, the cluster and the parameters.  Each
kernel runs in both modes.  Prints the largest error beside the bound, and the findings; exits with 1 if a result is
wrong, or if a finding is an error where none is expected.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "bench"))

from launches import LAUNCHERS, built, recorded

from tessera_tools import runtime
from tessera_tools.sim.rounding import FORMATS, decode, encode

Array = np.ndarray[Any, Any]
TARGET = "sm_100a"


@dataclass(frozen=True)
class Operands:
    """What a kernel gets: arrays, of which it writes the one at `result`, and numbers; and what it should write."""

    arrays: list[Array]
    result: int
    numbers: tuple[int, ...]
    expected: Array
    bound: float
    """The largest error that the order of the sums and the rounding of the result allow."""


@dataclass(frozen=True)
class Case:
    """One kernel."""

    name: str
    launcher: str
    defines: dict[str, Any]
    operands: Callable[[np.random.Generator], Operands]
    include: tuple[str, ...] = field(default=("include", "tools/util/include"))
    lacks: str = ""
    """What PTX requires and the kernel does not have, so that findings of errors are expected."""


def encoded(values: Array, element: str) -> tuple[Array, Array]:
    """The nearest elements of a type, by its name in PTX, and their values as float64."""
    if element == "f16":
        found = values.astype(np.float16)
        return found, found.astype(np.float64)
    found = encode(values, FORMATS[element])
    exact = decode(found, FORMATS[element])
    return found.astype(
        {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32}[FORMATS[element].bits]
    ), exact


def packed(values: Array) -> Array:
    """Elements of 4 bits, two in a byte, the first in the low bits."""
    return (values[:, ::2] & 15) | values[:, 1::2] << 4


def scale_order(scales: Array) -> Array:
    """Scales [rows, blocks along K] as CUTLASS and cuBLAS keep them: tiles of 128 rows and 4 blocks, those along K
    first; the 16 bytes of a line are the four blocks of the rows r, r + 32, r + 64 and r + 96.

    Source: cuBLAS documentation, "1D Block Scaling Factors Layout".
    """
    rows, blocks = (-(-n // step) * step for n, step in zip(scales.shape, (128, 4), strict=True))
    whole = np.zeros((rows, blocks), scales.dtype)
    whole[: scales.shape[0], : scales.shape[1]] = scales
    tiles = whole.reshape(rows // 128, 4, 32, blocks // 4, 4)
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4)).reshape(-1)


def product(m: int, n: int, k: int, element: str, *, b_rows: bool = False) -> Callable[..., Operands]:
    """A product of row-major A and column-major B (row-major with `b_rows`), into f32."""

    def operands(rng: np.random.Generator) -> Operands:
        a, left = encoded(rng.standard_normal((m, k)), element)
        b, right = encoded(rng.standard_normal((k, n) if b_rows else (n, k)), element)
        right = right if b_rows else right.T
        bound = float((np.abs(left) @ np.abs(right)).max()) * k * 2.0**-24
        return Operands([a, b, np.zeros((m, n), np.float32)], 2, (m, n, k), left @ right, bound)

    return operands


def scaled(m: int, n: int, k: int, element: str, scale: str, block: int) -> Callable[..., Operands]:
    """A block-scaled product: a scale for each `block` elements along K."""

    def operands(rng: np.random.Generator) -> Operands:
        images: list[Array] = []
        scales: list[Array] = []
        values: list[Array] = []
        for rows in (m, n):
            image, exact = encoded(rng.standard_normal((rows, k)), element)
            images.append(packed(image) if element == "e2m1" else image)
            image, factors = encoded(2.0 ** rng.integers(-3, 4, (rows, k // block)).astype(float), scale)
            scales.append(scale_order(image))
            values.append(exact * np.repeat(factors, block, axis=1))
        left, right = values[0], values[1].T
        bound = float((np.abs(left) @ np.abs(right)).max()) * k * 2.0**-24
        arrays = [*images, np.zeros((m, n), np.float32), *scales]
        return Operands(arrays, 2, (m, n, k), left @ right, bound)

    return operands


def attention(
    length: int, keys: int, depth: int, heads: int, of_keys: int, batches: int, *, causal: bool
) -> Callable[..., Operands]:
    """Attention of f16; `of_keys` heads of K and V, each for several of Q."""

    def operands(rng: np.random.Generator) -> Operands:
        q, exact_q = encoded(rng.standard_normal((batches, length, heads, depth)), "f16")
        k, exact_k = encoded(rng.standard_normal((batches, keys, of_keys, depth)), "f16")
        v, exact_v = encoded(rng.standard_normal((batches, keys, of_keys, depth)), "f16")
        many = heads // of_keys
        spread_k, spread_v = (np.repeat(one, many, axis=2) for one in (exact_k, exact_v))
        logits = np.einsum("bqhd,bkhd->bhqk", exact_q, spread_k) / np.sqrt(depth)
        if causal:
            logits = np.where(np.arange(keys) <= np.arange(length)[:, None] + keys - length, logits, -np.inf)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        expected = np.einsum("bhqk,bkhd->bqhd", weights, spread_v)
        arrays = [q, k, v, np.zeros(q.shape, np.float16), np.zeros((batches, heads, length), np.float32)]
        # The weights and the result have 11 bits.
        return Operands(
            arrays,
            3,
            (length, keys, heads, of_keys, batches),
            expected,
            float(np.abs(exact_v).max()) * 2.0**-9,
        )

    return operands


def tiles(element: str, tile: Sequence[int], cluster: Sequence[int], **more: Any) -> dict[str, Any]:
    """The definitions of a product's launcher."""
    names = ("TILE_M", "TILE_N", "TILE_K", "CLUSTER_M", "CLUSTER_N")
    return {"ELEMENT": element, **dict(zip(names, (*tile, *cluster), strict=True)), **more}


_PRODUCT, _SCALED, _ATTENTION = "cutlass_sm100.cu", "cutlass_scaled_sm100.cu", "cutlass_fmha_sm100.cu"
_NVFP4, _MXFP8 = "nv_float4_t<cutlass::float_e2m1_t>", "mx_float8_t<cutlass::float_e4m3_t>"
_EXAMPLE = ("include", "tools/util/include", "examples/77_blackwell_fmha")
CASES = [
    Case("f16", _PRODUCT, tiles("half_t", (128, 128, 64), (1, 1)), product(264, 392, 200, "f16")),
    Case("f16, pairs", _PRODUCT, tiles("half_t", (256, 128, 64), (2, 1)), product(776, 264, 200, "f16")),
    Case("bf16, two pairs, B row-major", _PRODUCT, tiles("bfloat16_t", (256, 128, 64), (2, 2), B_ROWS=1),
         product(512, 512, 192, "bf16", b_rows=True)),
    Case("tf32, two pairs", _PRODUCT, tiles("tfloat32_t", (256, 128, 32), (4, 1)), product(1024, 256, 96, "tf32")),
    Case("e4m3, multicast", _PRODUCT, tiles("float_e4m3_t", (128, 128, 128), (1, 2)),
         product(256, 512, 256, "e4m3")),
    Case("nvfp4", _SCALED, tiles(_NVFP4, (128, 128, 256), (1, 1)), scaled(256, 384, 512, "e2m1", "e4m3", 16)),
    Case("mxfp8, pairs", _SCALED, tiles(_MXFP8, (256, 128, 128), (2, 1)),
         scaled(512, 256, 384, "e4m3", "ue8m0", 32)),
    Case("attention, 128 deep, causal", _ATTENTION, {"HEADDIM": 128, "CAUSAL": 1},
         attention(384, 384, 128, 2, 1, 1, causal=True), _EXAMPLE,
         "waits of tcgen05.ld and st before an mbarrier is signaled; one count of setmaxnreg in a warpgroup"),
]  # fmt: skip


def check(case: Case, folder: Path, rng: np.random.Generator) -> bool:
    """Run a kernel in both modes, and print a line for each; whether its results are right, without errors."""
    given = case.operands(rng)
    good = True
    for mode in ("late", "early"):
        device = runtime.device("sim", mode=mode, seed=int(rng.integers(1 << 31)))
        module = device.load((folder / "kernel.ptx").read_text())
        buffers = [device.buffer(array, f"operand {number}") for number, array in enumerate(given.arrays)]
        addresses = [buffer.address for buffer in buffers]
        launch = recorded(folder / "launch", module.kernels, TARGET, [*addresses, *given.numbers])
        result = module.kernel(launch["kernel"]).launch(
            launch["grid"],
            launch["args"],
            block=launch["block"],
            cluster=launch["cluster"],
            shared=launch["shared"],
        )
        error = float(np.abs(buffers[given.result].array() - given.expected).max())
        kinds = Counter((one.severity, one.kind) for one in result.findings)
        told = ", ".join(f"{count} {severity}s ({kind})" for (severity, kind), count in sorted(kinds.items()))
        errors = result.findings.of("error")
        right = bool(error <= given.bound) and not (errors and not case.lacks)
        print(
            f"{case.name}, {mode}: {'right' if right else 'WRONG'}, error {error:.1e} of {given.bound:.1e}; "
            f"grid {launch['grid']}, cluster {launch['cluster']}; {told or 'no findings'}",
            flush=True,
        )
        if errors and case.lacks:
            print(f"  it lacks {case.lacks}")
        elif errors:
            print(errors[0].message)
        good = good and right
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names of kernels (default: all)")
    parser.add_argument("--cutlass", type=Path, metavar="CHECKOUT", help="a clone of NVIDIA/cutlass")
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="where to keep what was compiled")
    parser.add_argument("--seed", type=int, help="the seed of the numbers and of the schedules")
    parser.add_argument("--list", action="store_true", help="print the names")
    given = parser.parse_args()
    chosen = [case for case in CASES if any(part in case.name for part in given.names or [""])]
    if not chosen:
        parser.error(f"no kernel has a name with {' or '.join(given.names)}; --list prints the names")
    if given.list:
        print(*(case.name for case in chosen), sep="\n")
        return
    if given.cutlass is None or not (given.cutlass / "include" / "cutlass").is_dir():
        parser.error("--cutlass: expected the folder of a clone of https://github.com/NVIDIA/cutlass")
    if shutil.which("nvcc") is None:
        parser.error("nvcc is not on PATH")
    seed = secrets.randbelow(1 << 31) if given.seed is None else given.seed
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    good = True
    with tempfile.TemporaryDirectory() as name:
        for case in chosen:
            print(f"compiling {case.name} …", file=sys.stderr)
            include = [given.cutlass / one for one in case.include]
            folder = built(
                LAUNCHERS / case.launcher, TARGET, case.defines, include, given.build or Path(name)
            )
            good = check(case, folder, rng) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
