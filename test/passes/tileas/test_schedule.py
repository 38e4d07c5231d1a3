"""`--tileas-schedule` on real kernels: what must come out of the modulo schedule, without a pattern for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from main_loop import main_loop

from tessera_tools.analysis.tile_costs import cost_of
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.charts import recording_charts
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.tileas.scheduled_loop import ScheduledLoop
from tessera_tools.target import lookup, targets
from tessera_tools.target.throughput import throughput
from tessera_tools.target.timing import timing

ATTENTION = "attention_causal_bf16_d128"
GEMM = "gemm_f16_128x256x64"


def scheduled(name: str, target: str, most: int = 0) -> ScheduledLoop:
    """The main loop of a corpus kernel."""
    _, loop, gpu = main_loop(name, target)
    return ScheduledLoop(loop, gpu, most)


def products(loop: ScheduledLoop) -> list[int]:
    return [n for n, op in enumerate(loop.ops) if isinstance(op, nv_tileas.Dot)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_the_next_scores_overlap_with_this_softmax(target: str) -> None:
    """FlashAttention-3's order: Q·Kᵀ of the next iteration runs while the softmax of this one does."""
    loop = scheduled(ATTENTION, target)
    scores, values = products(loop)
    assert loop.schedule.stage(values) > loop.schedule.stage(scores)
    [exponentials] = [
        n for n, op in enumerate(loop.ops) if op.name == "math.exp2" and op.results[0].type.rank == 2
    ][-1:]
    assert loop.schedule.cycles[scores] < loop.schedule.cycles[exponentials] < loop.schedule.cycles[values]


def test_attention_keeps_the_tensor_cores_busy() -> None:
    found = scheduled(ATTENTION, "sm_90").schedule
    assert found.resources["tensor"] >= 0.9 * found.interval


@pytest.mark.parametrize("target", [target.name for target in targets()])
def test_buffers_fit_shared_memory(target: str) -> None:
    loop = scheduled(GEMM, target)
    bytes_needed = sum(
        depth * loop.ops[number].results[0].type.num_elements * 2 for number, depth in loop.depths().items()
    )
    assert bytes_needed <= lookup(target).max_shared_per_block
    assert loop.depths().keys() == {n for n, op in enumerate(loop.ops) if isinstance(op, nv_tileas.TiledLoad)}


def test_fewer_stages_take_longer() -> None:
    intervals = [scheduled("gemm_f16_64x64x32", "sm_90", most).schedule.interval for most in (1, 2, 4)]
    assert intervals[0] > intervals[1] > intervals[2]


def test_a_negative_number_of_stages_is_refused() -> None:
    module = parse_module("module {}", "m.mlir")
    pipeline = Pipeline("builtin.module")
    pipeline.add(parse_pass("tileas-schedule{num-stages=-1}"))
    with pytest.raises(DiagnosticError, match="expected a number of stages"):
        PassManager(pipeline).run(module)


def test_charts_of_loops_and_of_the_ops_between_them_are_recorded() -> None:
    text = (Path(__file__).parent / "tileas-schedule-between-loops.mlir").read_text()
    pipeline = Pipeline("builtin.module")
    pipeline.add(parse_pass("tileas-schedule"))
    with recording_charts() as charts:
        PassManager(pipeline).run(parse_module(text, "m.mlir"))
    of_loops = [chart for chart in charts if chart.title.startswith("one iteration every ")]
    between = [chart for chart in charts if chart.title.startswith("the ops between loops take ")]
    lines = text.splitlines()
    assert len(of_loops) == text.count("scf.for %") and between
    assert all(" scf.for " in lines[int(chart.place.split(":")[1]) - 1] for chart in of_loops)
    assert all(" nv_tileas.tiled_load " in lines[int(chart.place.split(":")[1]) - 1] for chart in between)
    assert all("nv_tileas.dot: tensor" in "".join(chart.lines) for chart in of_loops)
    assert all("consumer scf.for" in "".join(chart.lines) for chart in between)


def test_every_target_has_its_rates() -> None:
    for target in targets():
        rates = throughput(target)
        assert rates.tensor("mma", 16) >= rates.fma
        assert rates.tensor("mma", 8) >= rates.tensor("mma", 16)
        assert rates.tensor("fma", 32) == rates.fma


def test_bytes_from_dram_follow_from_the_table_of_the_clock() -> None:
    known = [(target, table) for target in targets() if (table := timing(target)) is not None]
    assert known
    for target, table in known:
        rate = table.value("dram_chip_gbs") * 1e3 / table.value("sms") / table.value("clock_mhz")
        assert throughput(target).dram_bytes == round(rate)


def test_a_product_costs_its_work_divided_by_the_rate() -> None:
    loop = scheduled(GEMM, "sm_80")
    [product] = products(loop)
    op: Operation = loop.ops[product]
    assert cost_of(op, lookup("sm_80")).cycles["tensor"] == 128 * 256 * 64 // 1024


def test_a_wide_access_issues_fewer_instructions() -> None:
    module = parse_module("""
    func.func @f(%v: !nv_tileaa.memref<64x64xf16>, %i: i32, %t: !nv_tileaa.mem_token) {
      %a, %b = nv_tileas.tiled_load %v[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      %c, %d = nv_tileas.tiled_load %v[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      return
    }""")  # noqa: E501
    wide, narrow = (
        cost_of(op, lookup("sm_80")) for op in module.walk() if isinstance(op, nv_tileas.TiledLoad)
    )
    assert 8 * wide.cycles["issue"] == narrow.cycles["issue"]
    assert wide.cycles["memory"] == narrow.cycles["memory"]
