"""Bank conflicts of random index expressions: predicted from the expressions, and counted from all addresses."""

from __future__ import annotations

import numpy as np
import pytest
from programs import fresh_seed
from tile.kernels import launch, strided
from tile.test_memory_management import AFTER, BEFORE, counted, managed, predicted

from tessera_tools.analysis.bank_conflicts import count_wavefronts
from tessera_tools.passes.tile.memory_management import PREDICTED
from tessera_tools.sim.counters import wavefronts


def test_wavefronts_are_those_of_the_simulated_gpu() -> None:
    rng = np.random.default_rng(fresh_seed())
    for _ in range(300):
        width = int(rng.choice([1, 2, 4, 8, 16]))
        addresses = rng.integers(0, 1 << int(rng.integers(2, 9)), 32) * width
        found = count_wavefronts([int(a) for a in addresses], width)
        assert (found.total, found.ideal) == wavefronts(addresses.astype(np.uint64), width)


def expression(rng: np.random.Generator, size: int, name: str) -> str:
    """A random index below a power of two, of the thread's number, a loop's, and constants."""
    lines: list[str] = []
    values = ["%t", "%l", "%w", "%i", "%u"]
    for n in range(int(rng.integers(1, 5))):
        kind = str(rng.choice(["addi", "muli", "xori", "andi", "ori", "divui", "remui", "shli", "shrui"]))
        constant = int(rng.integers(1, 5)) if kind.startswith("sh") else int(rng.integers(1, 40))
        lines.append(f"%{name}k{n} = arith.constant {constant} : index")
        other = f"%{name}k{n}"
        if kind in ("addi", "xori", "ori") and rng.random() < 0.5:
            other = str(rng.choice(values))
        lines.append(f"%{name}v{n} = arith.{kind} {rng.choice(values)}, {other} : index")
        values = [f"%{name}v{n}", *values]
    lines.append(f"%{name}size = arith.constant {size} : index")
    lines.append(f"%{name} = arith.remui {values[0]}, %{name}size : index")
    return "\n".join(lines)


def kernel(rng: np.random.Generator) -> str:
    """A buffer filled by rows, and read at random places, a few times."""
    rows, columns = (1 << int(n) for n in rng.integers(3, 7, 2))
    type = f"memref<{rows}x{columns}xf32, 3>"
    return f"""
func.func @kernel(%B: memref<?x?xf32>, %u: index) attributes {{tessera.kernel, tessera.threads = 64}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %all = arith.constant {rows * columns} : index
  %step = arith.constant 64 : index
  %row = arith.constant {columns} : index
  %t = tile.thread_id : index
  %l = tile.lane_id : index
  %w = tile.warp_id : index
  %s = tile.alloc_shared : {type}
  scf.for %k = %zero to %all step %step {{
    %e = arith.addi %k, %t : index
    %r = arith.divui %e, %row : index
    %c = arith.remui %e, %row : index
    %n = arith.index_cast %e : index to i32
    %f = arith.sitofp %n : i32 to f32
    tile.store_shared %f, %s[%r, %c] : {type}
  }}
  tile.barrier
  scf.for %i = %zero to %three step %one {{
    {expression(rng, rows, "a")}
    {expression(rng, columns, "b")}
    %x = tile.load_shared %s[%a, %b] : {type}
    tile.store_global_element %x, %B[%i, %t] : memref<?x?xf32>
  }}
  return
}}
"""


@pytest.mark.parametrize("step", [BEFORE, AFTER])
def test_random_expressions(step: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    known = 0
    while known < 6:
        text = kernel(rng)
        total, _ = predicted(text, step)
        if not complete(text, step):
            continue
        args = [*strided(np.zeros((3, 64), np.float32)), np.int64(rng.integers(0, 9))]
        _, result = launch(text, *args, passes=(step,), stats=True)
        assert not result.findings, result.findings.text("random")
        assert counted(result) == total, text
        known += 1


def complete(text: str, step: str) -> bool:
    """True if every access of shared memory is predicted, the same in all iterations."""
    accesses = [
        op for op in managed(text, step).walk() if op.name in ("tile.load_shared", "tile.store_shared")
    ]
    return all(PREDICTED in op.attributes for op in accesses)
