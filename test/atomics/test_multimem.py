"""Accesses to multicast memory. The simulated GPU has none, but with one GPU it is memory like any other: with each
multimem instruction replaced by the one that does the same to one copy, programs must compute what they say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import Array, check_tools, compiled, decode, encode, fresh_seed

from tessera_tools import sim

TARGETS = ("sm_90a", "sm_100a", "sm_120a")
"""What has multimem."""
TILE, EXTENT = 16, 41


def text(element: str, ops: str, padding: str = "") -> str:
    """`kernel(memory, values, result)`: `ops` on tile %i of the view %m of 41 elements of multicast memory."""
    memory = f"tensor_view<{EXTENT}x{element}, strides=[1], #cuda_tile.ptr_attr<multicast>>"
    part = f"partition_view<tile=({TILE}){padding}, {memory}>"
    plain = f"tensor_view<64x{element}, strides=[1]>"
    own = f"partition_view<tile=({TILE}), {plain}>"
    body = ops.replace("PART", part).replace("TILE", f"tile<{TILE}x{element}>").replace("OWN", own)
    pointer = f"tile<ptr<{element}>>"
    return f"""
  entry @kernel(%memory: tile<ptr<{element}, <multicast>>>, %values: {pointer}, %out: {pointer}) {{
    %i, %y, %z = get_tile_block_id : tile<i32>
    %mv = make_tensor_view %memory, shape = [{EXTENT}], strides = [1] : tile<ptr<{element}, <multicast>>> -> {memory}
    %m = make_partition_view %mv : {part}
    %vv = make_tensor_view %values, shape = [64], strides = [1] : {plain}
    %v = make_partition_view %vv : {own}
    %ov = make_tensor_view %out, shape = [64], strides = [1] : {plain}
    %o = make_partition_view %ov : {own}
{body}
    return
  }}
"""


VALUES = "    %x, %t0 = load_view_tko weak %v[%i] : OWN, tile<i32> -> TILE, token\n"
STORE = (
    VALUES
    + "    %t1 = multimem_store_view_tko ORDER %m, %x[%i] token = %t0 : PART, TILE, tile<i32>, token -> token"
)
REDUCE = (
    VALUES + "    %t1 = multimem_reduce_view_tko ORDER %m, %x[%i] token = %t0 attributes {reduction = "
    "#cuda_tile.multimem_reduction_kind<MODE>} : PART, TILE, tile<i32>, token -> token"
)
LOAD = """    %x, %t0 = multimem_load_reduce_view_tko ORDER %m[%i] attributes {reduction =
      #cuda_tile.multimem_reduction_kind<MODE>} : PART, tile<i32> -> TILE, token
    %t1 = store_view_tko weak %x, %o[%i] token = %t0 : TILE, OWN, tile<i32> -> token"""


def on_one_gpu(ptx: str) -> str:
    """The PTX for a system whose multicast memory has one copy."""
    width = {"f32": "b32", "f64": "b64", "f16x2": "b32", "bf16x2": "b32"}

    def load(found: re.Match[str]) -> str:
        type = found["type"]
        return f"ld.{found['order']}.global.{width.get(type, 'b' + type[1:])}"

    ptx = re.sub(r"multimem\.ld_reduce\.(?P<order>[\w.]+)\.global\.\w+\.(?P<type>\w+)", load, ptx)
    ptx = re.sub(r"multimem\.red\.([\w.]+)\.global\.add\.(f16x2|bf16x2)", r"red.\1.global.add.noftz.\2", ptx)
    ptx = ptx.replace("multimem.red.", "red.").replace("multimem.st.", "st.")
    assert "multimem." not in ptx
    return ptx


def run(program: str, *arrays: Array) -> list[Array]:
    """Run on one GPU, four tile blocks; the arrays afterwards."""
    made = compiled(program, "sm_90a")
    assert "multimem." in made.ptx
    module = sim.load(on_one_gpu(made.ptx), file="kernel.ptx")
    (kernel,) = made.manifest.kernels
    buffers = [module.memory.allocate(array, f"argument {n}") for n, array in enumerate(arrays)]
    grid = (-(-EXTENT // TILE), 2)
    result = module.launch(
        "kernel", grid, kernel.block, buffers, kernel.dynamic_shared, seed=fresh_seed("schedule")
    )
    assert not result.findings, result.findings.text()
    return [buffer.array() for buffer in buffers]


def _numbers(element: str, count: int, rng: np.random.Generator) -> Array:
    """Small whole numbers, whose sums are exact."""
    numbers = rng.integers(-9, 10, count)
    return numbers.astype(f"i{int(element[1:]) // 8}") if element[0] == "i" else encode(element, numbers)


@pytest.mark.parametrize("element", ["i32", "i64", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("padding", ["", ", padding_value = zero"])
def test_a_tile_is_loaded_and_padded(element: str, padding: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    memory, out = _numbers(element, EXTENT + 3, rng), _numbers(element, 64, rng)
    program = text(element, LOAD.replace("ORDER", "relaxed sys").replace("MODE", "add"), padding)
    after, _, found = run(program, memory, out, out)
    assert np.array_equal(after, memory)
    assert np.array_equal(found[:EXTENT], memory[:EXTENT])
    if padding:
        assert not np.any(found[EXTENT:48])


@pytest.mark.parametrize(("element", "mode"), [("i32", "add"), ("i64", "max"), ("i32", "xor"), ("f16", "add"),
                                               ("bf16", "add"), ("f32", "add"), ("f64", "add")])  # fmt: skip
def test_a_tile_is_reduced_into_what_lies_in_the_view(element: str, mode: str) -> None:
    """Two tile blocks for each tile; of elements of 16 bits, the neighbors stay as they are."""
    rng = np.random.default_rng(fresh_seed())
    memory, values = _numbers(element, EXTENT + 3, rng), _numbers(element, 64, rng)
    after, _, _ = run(
        text(element, REDUCE.replace("ORDER", "release device").replace("MODE", mode)), memory, values, values
    )
    change = {"add": np.add, "max": np.maximum, "xor": np.bitwise_xor}[mode]
    before, operands, found = (
        decode(element, a) if element[0] != "i" else a for a in (memory, values, after)
    )
    expected = before.copy()
    for _ in range(2):
        expected[:EXTENT] = change(expected[:EXTENT], operands[:EXTENT])
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("element", ["i32", "i64", "f32", "f64"])
def test_a_tile_is_stored_in_what_lies_in_the_view(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    memory, values = _numbers(element, EXTENT + 3, rng), _numbers(element, 64, rng)
    after, _, _ = run(text(element, STORE.replace("ORDER", "relaxed device")), memory, values, values)
    assert np.array_equal(after[:EXTENT], values[:EXTENT])
    assert np.array_equal(after[EXTENT:], memory[EXTENT:])


@pytest.mark.parametrize(
    ("element", "load", "reduce"),
    [("i32", "umin", "and"), ("i64", "min", "umax"), ("f16", "max", "add"), ("bf16", "min", "add"),
     ("f32", "add", "add"), ("f64", "add", "add")],
)  # fmt: skip
def test_the_tools_take_every_instruction(element: str, load: str, reduce: str) -> None:
    bodies = [
        LOAD.replace("ORDER", "weak").replace("MODE", load),
        REDUCE.replace("ORDER", "relaxed sys").replace("MODE", reduce),
    ]
    if element not in ("f16", "bf16"):
        bodies.append(STORE.replace("ORDER", "release sys"))
    check_tools([text(element, body) for body in bodies], *TARGETS)
