"""How many warps a kernel has follows from its tiles, the author's hint and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipelines.programs_of_attention import Attention
from slice.test_dots import product_program

from tessera_tools.cli.run import run
from tessera_tools.cli.translate import run as translate
from tessera_tools.dialects import nv_tileaa
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for


def warps(text: str, target: str = "sm_80", num_warps: int = 0) -> int:
    """The warps of a program's kernel."""
    module = parse_module(text, "kernel.mlir")
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target, num_warps=num_warps):
        if step.stage == "nv_tileas":
            break
        pipeline.add(parse_pass(step.text))
    PassManager(pipeline).run(module)
    kernel = next(op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    assert kernel.kernel_spec is not None
    return kernel.kernel_spec.num_warps


def doubled(shape: tuple[int, ...], element: str = "f32", hints: str = "") -> str:
    """A kernel that adds a tile to itself."""
    spelled = "x".join(map(str, shape))
    strides = ["1"]
    for extent in reversed(shape[1:]):
        strides.insert(0, str(int(strides[0]) * extent))
    view = f"tensor_view<{spelled}x{element}, strides=[{','.join(strides)}]>"
    part, tile = f"partition_view<tile=({spelled}), {view}>", f"tile<{spelled}x{element}>"
    indices = ", ".join(["%i"] * len(shape))
    return f"""entry @double(%p: tile<ptr<{element}>>) {hints}{{
  %t = make_token : token
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [{", ".join(map(str, shape))}], strides = [{", ".join(strides)}] : {view}
  %w = make_partition_view %v : {part}
  %x, %l = load_view_tko weak %w[{indices}] token = %t : {part}, tile<i32> -> {tile}, token
  %y = addf %x, %x : {tile}
  %s = store_view_tko weak %y, %w[{indices}] token = %l : {tile}, {part}, tile<i32> -> token
  return
}}
"""


@pytest.mark.parametrize(
    ("shape", "element", "count"),
    [
        ((1,), "f32", 1),
        ((128,), "f32", 1),
        ((256,), "f32", 2),
        ((256,), "f64", 4),
        ((16, 32), "f32", 4),
        ((1024,), "f32", 4),
        ((4096,), "f32", 4),
        ((4096,), "f64", 8),
        ((64, 128), "f32", 8),
        ((16384,), "f16", 16),
        ((32768,), "f32", 16),
        ((1 << 19,), "f32", 16),
        ((1 << 20,), "f32", 32),
    ],
)
def test_an_elementwise_kernel(shape: tuple[int, ...], element: str, count: int) -> None:
    assert warps(doubled(shape, element)) == count


@pytest.mark.parametrize(
    ("tile", "count"),
    [
        ((16, 8, 16), 1),
        ((16, 16, 16), 2),
        ((32, 32, 32), 4),
        ((64, 64, 32), 4),
        ((128, 64, 32), 4),
        ((128, 128, 32), 8),
    ],
)
def test_a_product(tile: tuple[int, int, int], count: int) -> None:
    assert warps(product_program(*tile, "row", "row")) == count


@pytest.mark.parametrize(("target", "count"), [("sm_80", 16), ("sm_90", 2)])
def test_the_author_hints_at_warps(target: str, count: int) -> None:
    name = "num_worker_warps_per_cta"
    hints = f"optimization_hints=<sm_80 = {{{name} = 16 : i32}}, default = {{{name} = 2 : i32}}> "
    assert warps(doubled((1024,), hints=hints), target) == count


@pytest.mark.parametrize("count", [-1, 0, 3, 48, 64, 2**32 + 1])
def test_a_hint_that_no_kernel_can_follow_is_not_followed(count: int) -> None:
    hints = f"optimization_hints=<sm_80 = {{num_worker_warps_per_cta = {count} : i64}}> "
    assert warps(doubled((1024,), hints=hints)) == warps(doubled((1024,)))


def test_the_command_line_decides(tmp_path: Path) -> None:
    text = doubled((1024,)).encode()
    assert warps(doubled((1024,)), num_warps=1) == 1
    assert b".reqntid 64" in translate(["-", "--mlir-to-ptx", "--num-warps=2"], text).stdout
    refused = translate(["-", "--mlir-to-ptx", "--num-warps=3"], text)
    assert refused.exit_code == 1
    assert b"'3' is not one of '1', '2', '4', '8', '16', '32'" in refused.stderr
    ptx = tmp_path / "kernel.ptx"
    ran = run(["-", "--arg", "x=zeros:f32:1024", "--num-warps=8", f"--save-ptx={ptx}"], text)
    assert ran.exit_code == 0, ran.stderr
    assert ".reqntid 256" in ptx.read_text()


@pytest.mark.parametrize(
    ("rows", "keys", "width", "count"),
    [
        (128, 64, 64, 8),  # 8 warps have 16 rows each
        (128, 32, 32, 4),
        (64, 128, 128, 4),  # 8 warps would share rows
        (64, 64, 64, 4),
    ],
)
def test_sums_of_a_loop(rows: int, keys: int, width: int, count: int) -> None:
    assert warps(Attention(rows=rows, keys=keys, width=width).text()) == count


def test_sums_that_spill() -> None:
    """The loop carries two tiles of sums, and starts two others: a thread of 4 warps would have 64 + 64 + 32 + 16."""
    types = {"s": "tile<64x64xf32>", "o": "tile<64x128xf32>", "p": "tile<64x64xf16>", "x": "tile<64x128xf16>"}
    body = "\n".join(
        f"%a{i} = {('negf', 'absf')[i]} %x : {types['x']}\n"
        f"%s{i} = mmaf %a{i}, %xt, %zero : {types['x']}, tile<128x64xf16>, {types['s']}\n"
        f"%e{i} = exp2 %s{i} : {types['s']}\n"
        f"%p{i} = ftof %e{i} : {types['s']} -> {types['p']}\n"
        f"%n{i} = mmaf %p{i}, %x, %c{i} : {types['p']}, {types['x']}, {types['o']}"
        for i in range(2)
    )
    both = f"{types['o']}, {types['o']}"
    view = "tensor_view<64x128xf32, strides=[128,1]>"
    stores = "\n".join(
        f"%t{i} = store_view_tko weak %r#{i}, %v{i}[%at, %at] token = %t : {types['o']}, "
        f"partition_view<tile=(64x128), {view}>, tile<i32> -> token"
        for i in range(2)
    )
    views = "\n".join(
        f"%w{i} = make_tensor_view %p{i}p, shape = [64, 128], strides = [128, 1] : {view}\n"
        f"%v{i} = make_partition_view %w{i} : partition_view<tile=(64x128), {view}>"
        for i in range(2)
    )
    text = f"""entry @k(%p0p: tile<ptr<f32>>, %p1p: tile<ptr<f32>>, %q: tile<ptr<f16>>, %n: tile<i32>) {{
      %t = make_token : token
      %at = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %zero = constant <f32: 0.0> : {types["s"]}
      %none = constant <f32: 0.0> : {types["o"]}
      {views}
      %w = make_tensor_view %q, shape = [%n, 128], strides = [128, 1] : tile<i32> -> tensor_view<?x128xf16, strides=[128,1]>
      %v = make_partition_view %w : partition_view<tile=(64x128), tensor_view<?x128xf16, strides=[128,1]>>
      %r:2 = for %i in (%at to %n, step %one) : tile<i32> iter_values(%c0 = %none, %c1 = %none) -> ({both}) {{
        %x, %l = load_view_tko weak %v[%i, %at] token = %t : partition_view<tile=(64x128), tensor_view<?x128xf16, strides=[128,1]>>, tile<i32> -> {types["x"]}, token
        %xt = permute %x [1, 0] : {types["x"]} -> tile<128x64xf16>
        {body}
        continue %n0, %n1 : {both}
      }}
      {stores}
      return
    }}
    """  # noqa: E501
    assert warps(text) == 8
