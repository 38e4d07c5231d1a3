"""Tiles through branches and loops, and memory that tokens order."""

from __future__ import annotations

import numpy as np
import pytest
from execution.executor import GlobalMemory
from slice.programs import launch, lowered

VIEW = "tensor_view<256xf32, strides=[1]>"
PART = f"partition_view<tile=(64), {VIEW}>"
HEAD = f"""entry @kernel(%p: tile<ptr<f32>>, %n: tile<i32>) {{
  %tok = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %v = make_tensor_view %p, shape = [256], strides = [1] : {VIEW}
  %q = make_partition_view %v : {PART}
"""


def load(name: str, index: str, token: str) -> str:
    types = f"{PART}, tile<i32> -> tile<64xf32>, token"
    return f"%{name}, %{name}t = load_view_tko weak %q[{index}] token = {token} : {types}\n"


def store(name: str, value: str, index: str, token: str) -> str:
    types = f"tile<64xf32>, {PART}, tile<i32> -> token"
    return f"%{name} = store_view_tko weak {value}, %q[{index}] token = {token} : {types}\n"


def result(body: str, n: int, target: str = "sm_80") -> tuple[np.ndarray, np.ndarray]:
    """(what the buffer held, what it holds after the kernel)."""
    before = np.random.default_rng().standard_normal(256).astype(np.float32)
    memory = GlobalMemory(write_once=False)
    address = memory.add(before, 16)
    launch(lowered(HEAD + body + "  return\n}\n", target), [1], memory, [address, n])
    return before, memory.read_back(address, before)


@pytest.mark.parametrize("n", [0, 1])
def test_a_branch_gives_a_tile(n: int) -> None:
    body = load("a", "%zero", "%tok") + load("b", "%one", "%tok")
    body += "%c = cmpi equal %n, %zero, signed : tile<i32> -> tile<i1>\n"
    body += (
        "%r = if %c -> (tile<64xf32>) {\n%x = addf %a, %b : tile<64xf32>\nyield %x : tile<64xf32>\n} else {\n"
    )
    body += "%y = mulf %a, %b : tile<64xf32>\nyield %y : tile<64xf32>\n}\n%z = addf %r, %a : tile<64xf32>\n"
    body += store("s", "%z", "%two", "%tok")
    before, after = result(body, n)
    a, b = before[:64], before[64:128]
    assert (after[128:192] == (a + b if n == 0 else a * b) + a).all()


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("unsigned", ["", "unsigned "])
def test_a_loop_in_a_loop_carries_a_tile(n: int, unsigned: str) -> None:
    type = "(tile<64xf32>)"
    body = load("a", "%zero", "%tok")
    body += (
        f"%r = for {unsigned}%i in (%zero to %n, step %one) : tile<i32> iter_values(%x = %a) -> {type} {{\n"
    )
    body += (
        f"%s = for {unsigned}%j in (%zero to %two, step %one) : tile<i32> iter_values(%y = %x) -> {type} {{\n"
    )
    body += "%z = addf %y, %a : tile<64xf32>\ncontinue %z : tile<64xf32>\n}\ncontinue %s : tile<64xf32>\n}\n"
    body += store("t", "%r", "%two", "%tok")
    before, after = result(body, n)
    np.testing.assert_allclose(after[128:192], before[:64] * (1 + 2 * n), rtol=1e-5)


def test_an_unsigned_loop_whose_end_is_a_negative_number_runs() -> None:
    body = load("a", "%zero", "%tok") + "%most = constant <i32: -1> : tile<i32>\n"
    body += "%step = constant <i32: 2147483647> : tile<i32>\n"
    body += "%r = for unsigned %i in (%one to %most, step %step) : tile<i32> iter_values(%x = %a) -> (tile<64xf32>) {\n"
    body += "%z = addf %x, %a : tile<64xf32>\ncontinue %z : tile<64xf32>\n}\n" + store(
        "t", "%r", "%two", "%tok"
    )
    before, after = result(body, 0)
    assert (after[128:192] == before[:64] + before[:64] + before[:64]).all()


def test_a_load_after_a_store_sees_what_other_threads_stored() -> None:
    body = load("a", "%zero", "%tok") + "%b = addf %a, %a : tile<64xf32>\n" + store("s", "%b", "%one", "%at")
    body += load("c", "%one", "%s") + store("u", "%c", "%two", "%ct")
    before, after = result(body, 0)
    assert (after[64:128] == 2 * before[:64]).all()
    assert (after[128:192] == 2 * before[:64]).all()


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ["gemm_f16_64x64x32", "gemm_nt_bias_f16_128x128x64"])
def test_the_lowering_leaves_no_dead_operation(name: str, target: str) -> None:
    from pathlib import Path

    module = lowered((Path(__file__).parents[1] / "corpus" / f"{name}.mlir").read_text(), target)
    dead = [
        op
        for op in module.walk()
        if op.results
        and not any(r.has_uses for r in op.results)
        and op.name not in ("llvm.load", "nvvm.ldmatrix")
    ]
    assert [op.name for op in dead] == []
