"""Barriers stand exactly where threads would meet: counted, and none can be removed.

Every kernel is right and without findings as it is; without any one of its barriers the simulated GPU reports a race,
or its numbers are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import fresh_seed, stopped_by_findings, worker
from slice.test_dots import product_program

from tessera_tools.dialects import nv_tileas
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for
from tessera_tools.runtime import Result, device
from tessera_tools.target import lookup

CORPUS = Path(__file__).parents[2] / "corpus"
LAST = "tileas-insert-barriers"


def lowered(text: str, target: str = "sm_80") -> Operation:
    """The module with its barriers."""
    module = parse_module(text, "kernel.mlir")
    run_passes(module, [step.text for step in pipeline_for(target)][: _place(target)])
    return module


def _place(target: str) -> int:
    return [step.text for step in pipeline_for(target)].index(LAST) + 1


def run_passes(module: Operation, texts: list[str]) -> None:
    """Run passes by their texts."""
    pipeline = Pipeline("builtin.module")
    for text in texts:
        pipeline.add(parse_pass(text))
    # The spec of the stage tells of a barrier that was taken away; here the simulated GPU has to find it.
    PassManager(pipeline, verify_stages=False).run(module)


def barriers(module: Operation) -> list[Operation]:
    """The barriers between ops."""
    return [op for op in module.walk() if isinstance(op, nv_tileas.Barrier)]


def finish(module: Operation, target: str) -> Any:
    """The kernel of a module that has its barriers, loaded on the simulated GPU."""
    run_passes(module, [step.text for step in pipeline_for(target)][_place(target) :])
    gpu = lookup(target)
    ptx = compile_module(module, Options(gpu, until="ptx"), worker=worker()).text("ptx")
    version = ptx.partition(".version ")[2].split()[0]
    simulated = device("sim", gpu_name=target, processes=1)
    loaded = simulated.load(
        ptx, Manifest(gpu.cpu, version, tuple(kernels_of_module(module))), file="kernel.ptx"
    )
    return simulated, loaded.kernel(None)


def launch(
    module: Operation, arguments: list[Any], target: str, grid: tuple[int, ...], seed: int
) -> tuple[list[np.ndarray[Any, Any]], Result]:
    """(the arrays afterwards, the result of the launch)."""
    simulated, kernel = finish(module, target)
    buffers = [
        simulated.buffer(a, f"argument {i}") if isinstance(a, np.ndarray) else a
        for i, a in enumerate(arguments)
    ]
    result = kernel.launch(grid, buffers, seed=seed)
    return [b.array() for b, a in zip(buffers, arguments, strict=True) if isinstance(a, np.ndarray)], result


@dataclass(frozen=True)
class Kernel:
    """A program, its arguments (from random numbers), and what its arrays must be afterwards."""

    text: str
    count: int
    """The barriers between ops that it needs."""
    make: Callable[[np.random.Generator], tuple[list[Any], dict[int, np.ndarray[Any, Any]]]]
    """(arguments, {number of an array: its expected contents})."""
    tolerance: float = 0.0


SQUARE = 64
"""Rows and columns of a tile: its elements change warps when it is transposed."""
TILE = f"tile<{SQUARE}x{SQUARE}xf32>"
VIEW = f"tensor_view<?x{SQUARE}xf32, strides=[{SQUARE},1]>"
PART = f"partition_view<tile=({SQUARE}x{SQUARE}), {VIEW}>"
HALF = f"partition_view<tile=({SQUARE}x{SQUARE // 2}), {VIEW}>"
HALF_TILE = f"tile<{SQUARE}x{SQUARE // 2}xf32>"
HEAD = """  %tok = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
"""


def views(*names: str) -> str:
    """`%ap`, a view of the tiles below each other, and `%ah`, of the halves of their rows, for each pointer."""
    return "".join(
        f"""  %{n}d = assume div_by<16>, %{n} : tile<ptr<f32>>
  %{n}v = make_tensor_view %{n}d, shape = [%n, {SQUARE}], strides = [{SQUARE}, 1] : tile<i32> -> {VIEW}
  %{n}p = make_partition_view %{n}v : {PART}
  %{n}h = make_partition_view %{n}v : {HALF}
"""
        for n in names
    )


def load(result: str, view: str, index: str, token: str = "%tok") -> str:
    """`%result, %resultT = load …` of one tile."""
    return (
        f"  %{result}, %{result}T = load_view_tko weak {view}[{index}, %zero] token = {token} : {PART}, tile<i32> -> "
        f"{TILE}, token\n"
    )


def load_half(result: str, view: str, index: str, token: str = "%tok") -> str:
    """The first half of the rows of a tile: by other threads than the whole."""
    return (
        f"  %{result}, %{result}T = load_view_tko weak {view}[{index}, %zero] token = {token} : {HALF}, tile<i32> -> "
        f"{HALF_TILE}, token\n"
    )


def store(token_out: str, value: str, view: str, index: str, token: str = "%tok", half: bool = False) -> str:
    """`%token_out = store …` of one tile, or of a half."""
    return (
        f"  %{token_out} = store_view_tko weak {value}, {view}[{index}, %zero] token = {token} : "
        f"{HALF_TILE if half else TILE}, {HALF if half else PART}, tile<i32> -> token\n"
    )


def turn(result: str, value: str) -> str:
    """`%result` = the tile transposed."""
    return f"  %{result} = permute {value} [1, 0] : {TILE} -> {TILE}\n"


def entry(pointers: str, body: str) -> str:
    """A kernel of pointers `%a`, `%b`, … and the number of rows `%n`."""
    parameters = ", ".join([*(f"%{p}: tile<ptr<f32>>" for p in pointers), "%n: tile<i32>"])
    return f"entry @kernel({parameters}) {{\n{HEAD}{views(*pointers)}{body}  return\n}}\n"


def numbers(rng: np.random.Generator, tiles: int) -> np.ndarray[Any, Any]:
    """So many tiles below each other."""
    return rng.standard_normal((tiles, SQUARE, SQUARE)).astype(np.float32)


def transposed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Each tile by itself."""
    return np.swapaxes(x, 1, 2)


def _one_conversion() -> Kernel:
    """The barrier of a round trip is its own."""
    body = load("x", "%ap", "%zero") + turn("y", "%x") + store("s", "%y", "%bp", "%zero")

    def make(rng: np.random.Generator) -> Any:
        a, b = numbers(rng, 1), numbers(rng, 1)
        return [a, b, SQUARE], {1: transposed(a)}

    return Kernel(entry("ab", body), 0, make)


def _two_conversions() -> Kernel:
    """The second one's bytes are those of the first."""
    body = load("x", "%ap", "%zero") + turn("y", "%x") + store("s", "%y", "%bp", "%zero")
    body += load("z", "%ap", "%one") + turn("w", "%z") + store("r", "%w", "%bp", "%one")

    def make(rng: np.random.Generator) -> Any:
        a, b = numbers(rng, 2), numbers(rng, 2)
        return [a, b, 2 * SQUARE], {1: transposed(a)}

    return Kernel(entry("ab", body), 1, make)


def _conversion_in_a_loop() -> Kernel:
    """Every iteration stores where the one before loaded."""
    body = f"  for %i in (%zero to %two, step %one) : tile<i32> {{\n{load('x', '%ap', '%i')}{turn('y', '%x')}"
    body += f"{store('s', '%y', '%bp', '%i')}  continue\n  }}\n"

    def make(rng: np.random.Generator) -> Any:
        a, b = numbers(rng, 2), numbers(rng, 2)
        return [a, b, 2 * SQUARE], {1: transposed(a)}

    return Kernel(entry("ab", body), 1, make)


def _in_place() -> Kernel:
    """Nobody loads before all have stored, and nobody stores again before all have loaded."""
    body = load("x", "%ap", "%zero") + f"  %y = addf %x, %x : {TILE}\n"
    body += store("s", "%y", "%bp", "%zero") + load_half("z", "%bh", "%zero", "%s")
    body += store("r", "%x", "%bp", "%zero", "%zT") + store("q", "%z", "%ch", "%zero", half=True)

    def make(rng: np.random.Generator) -> Any:
        a, b, c = numbers(rng, 1), numbers(rng, 1), numbers(rng, 1)
        after = c.copy()
        after[:, :, : SQUARE // 2] = 2 * a[:, :, : SQUARE // 2]
        return [a, b, c, SQUARE], {1: a, 2: after}

    return Kernel(entry("abc", body), 2, make)


def _in_place_by_a_conversion() -> Kernel:
    """The round trip between the load and the store is barrier enough."""
    body = load("x", "%ap", "%zero") + turn("y", "%x") + store("s", "%y", "%ap", "%zero", "%xT")

    def make(rng: np.random.Generator) -> Any:
        a = numbers(rng, 1)
        return [a, SQUARE], {0: transposed(a)}

    return Kernel(entry("a", body), 0, make)


def _in_place_in_a_loop() -> Kernel:
    """From iteration to iteration, by the token that the loop carries."""
    body = "  %end = for %i in (%zero to %two, step %one) : tile<i32> iter_values(%t = %tok) -> (token) {\n"
    body += load_half("x", "%ah", "%zero", "%t") + f"  %y = addf %x, %x : {HALF_TILE}\n"
    body += store("s", "%y", "%ah", "%zero", "%xT", half=True)
    body += (
        load("z", "%ap", "%zero", "%s")
        + f"  %w = addf %z, %z : {TILE}\n"
        + store("r", "%w", "%ap", "%zero", "%zT")
    )
    body += "  continue %r : token\n  }\n"

    def make(rng: np.random.Generator) -> Any:
        a = numbers(rng, 1)
        after = 4.0 * a
        after[:, :, : SQUARE // 2] *= 4.0
        return [a, SQUARE], {0: after}

    # The halves go back to the threads that they came from, and so do the wholes.
    return Kernel(entry("a", body), 2, make)


def _before_a_loop() -> Kernel:
    """What is stored before a loop is waited for before it, once; what the loop loads, after it."""
    body = load("x", "%ap", "%zero") + store("s", "%x", "%bp", "%zero")
    body += f"  %none = constant <f32: 0.0> : {HALF_TILE}\n"
    body += "  %sum, %end = for %i in (%zero to %two, step %one) : tile<i32> iter_values(%acc = %none, %t = %s) -> "
    body += f"({HALF_TILE}, token) {{\n" + load_half("y", "%bh", "%zero", "%t")
    body += f"  %z = addf %acc, %y : {HALF_TILE}\n  continue %z, %yT : {HALF_TILE}, token\n  }}\n"
    body += f"  %w = addf %x, %x : {TILE}\n  %h = addf %sum, %sum : {HALF_TILE}\n"
    body += store("r", "%w", "%bp", "%zero", "%end") + store("q", "%h", "%bh", "%zero", "%r", half=True)

    def make(rng: np.random.Generator) -> Any:
        a, b = numbers(rng, 1), numbers(rng, 1)
        after = 2 * a
        after[:, :, : SQUARE // 2] *= 2
        return [a, b, SQUARE], {1: after}

    return Kernel(entry("ab", body), 3, make)


def _left_in_the_middle() -> Kernel:
    """A loop that is left between its store and its load: the load of the next iteration comes after a store, and so
    does what follows the loop."""
    body = "  %end = loop iter_values(%i = %zero, %t = %tok) : tile<i32>, token -> token {\n"
    body += (
        load("x", "%ap", "%zero", "%t")
        + f"  %y = addf %x, %x : {TILE}\n"
        + store("s", "%y", "%bp", "%zero", "%t")
    )
    body += "  %last = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>\n  if %last {\n  break %s : token\n  }\n"
    body += load_half("z", "%bh", "%zero", "%s") + "  %u = join_tokens %xT, %s : token\n"
    body += store("q", "%z", "%ah", "%zero", "%u", half=True) + "  %k = join_tokens %q, %zT : token\n"
    body += "  %j = addi %i, %one : tile<i32>\n  continue %j, %k : tile<i32>, token\n  }\n"
    body += load_half("w", "%bh", "%zero", "%end") + store("r", "%w", "%ch", "%zero", half=True)

    def make(rng: np.random.Generator) -> Any:
        a, b, c = numbers(rng, 1), numbers(rng, 1), numbers(rng, 1)
        half = slice(0, SQUARE // 2)
        first, after = a.copy(), c.copy()
        first[:, :, half] *= 2
        after[:, :, half] = 4 * a[:, :, half]
        return [a, b, c, SQUARE], {0: first, 1: 2 * first, 2: after}

    return Kernel(entry("abc", body), 3, make)


def _in_a_branch() -> Kernel:
    """Who does not take the branch does not wait."""
    body = load("x", "%ap", "%zero") + store("s", "%x", "%bp", "%zero")
    body += "  %some = cmpi greater_than %n, %zero, signed : tile<i32> -> tile<i1>\n"
    body += "  %after = if %some -> (token) {\n" + load_half("z", "%bh", "%zero", "%s")
    body += (
        store("q", "%z", "%ch", "%zero", half=True)
        + "  yield %zT : token\n  } else {\n  yield %s : token\n  }\n"
    )
    body += f"  %w = addf %x, %x : {TILE}\n" + store("r", "%w", "%bp", "%zero", "%after")

    def make(rng: np.random.Generator) -> Any:
        a, b, c = numbers(rng, 1), numbers(rng, 1), numbers(rng, 1)
        after = c.copy()
        after[:, :, : SQUARE // 2] = a[:, :, : SQUARE // 2]
        return [a, b, c, SQUARE], {1: 2 * a, 2: after}

    return Kernel(entry("abc", body), 2, make)


def _gemm(loop: str, count: int, padding: str = "zero", b: str = "row") -> Kernel:
    """A product with its loop over K pipelined, or staged through registers if the padding is not zero."""
    m, n, k = 64, 64, 32

    def make(rng: np.random.Generator) -> Any:
        rows, columns, depth = m, 2 * n if loop == "nested" else n, 3 * k
        left = rng.standard_normal((rows, depth)).astype(np.float16)
        right = rng.standard_normal((depth, columns)).astype(np.float16)
        product = left.astype(np.float64) @ right.astype(np.float64) * (2 if loop == "two" else 1)
        c = np.zeros((rows, columns), np.float32)
        given = right if b == "row" else np.ascontiguousarray(right.T)
        arguments = [left, given, c, rows, columns, depth, depth, given.shape[1], columns]
        return arguments, {2: product}

    return Kernel(product_program(m, n, k, "row", b, loop=loop, padding=padding), count, make, 1e-2)


KERNELS = {
    "one conversion": _one_conversion,
    "two conversions": _two_conversions,
    "a conversion in a loop": _conversion_in_a_loop,
    "in place": _in_place,
    "in place, by a conversion": _in_place_by_a_conversion,
    "in place, in a loop": _in_place_in_a_loop,
    "before a loop": _before_a_loop,
    "left in the middle": _left_in_the_middle,
    "in a branch": _in_a_branch,
    "a pipeline": lambda: _gemm("for", 2),
    "a pipeline in a loop": lambda: _gemm("nested", 3),
    "two products of a pipeline": lambda: _gemm("two", 2),
    "staged loads": lambda: _gemm("for", 3, padding="neg_zero"),
}


def check(kernel: Kernel, module: Operation, target: str, seed: int) -> list[str]:
    """What is wrong with a run: findings, and arrays that are not what they must be."""
    arguments, expected = kernel.make(np.random.default_rng(seed))
    arrays, result = launch(module, arguments, target, (1,), seed)
    wrong = [result.findings.text("kernel")] if result.findings else []
    wrong += [
        f"argument {place} is wrong"
        for place, want in expected.items()
        if not np.allclose(arrays[place].reshape(want.shape), want, rtol=0, atol=kernel.tolerance)
    ]
    return wrong


@pytest.mark.parametrize("name", KERNELS)
def test_every_barrier_is_needed_and_no_other(name: str) -> None:
    kernel, seed = KERNELS[name](), fresh_seed()
    assert len(barriers(lowered(kernel.text))) == kernel.count
    assert check(kernel, lowered(kernel.text), "sm_80", seed) == []
    for left_out in range(kernel.count):
        module = lowered(kernel.text)
        barriers(module)[left_out].erase()
        with stopped_by_findings():
            assert check(kernel, module, "sm_80", seed) != [], f"barrier {left_out} is superfluous"
