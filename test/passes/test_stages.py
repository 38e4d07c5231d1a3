"""The specs of the stages: kept by every pass on every target, and broken ones told at the op."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pipelines.programs_of_products import Product

from tessera_tools.cli.opt import run
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.order import order_violations
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.stages import ENDS, NEEDS, PROMISES, SPECS, problems
from tessera_tools.passes.table import PASSES, PIPELINES, STAGES, pipeline_for

CORPUS = Path(__file__).parents[1] / "corpus"
GEMM = (CORPUS / "gemm_f16_64x64x32.mlir").read_text()


def lowered(text: str, last: str, target: str = "sm_80") -> str:
    """The text behind a pass of the target's pipeline."""
    module = parse_module(text, "kernel.mlir")
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target):
        pipeline.add(parse_pass(step.text))
        if step.text.startswith(last):
            break
    PassManager(pipeline).run(module)
    return print_op(module)


def opt(text: str, *flags: str, status: int = 1) -> str:
    """stderr of tessera-opt on a text."""
    result = run([*flags, "-o", "-"], text.encode(), None)
    assert result.exit_code == status, result.stderr.decode()
    return result.stderr.decode()


EXCHANGE = """
cuda_tile.module @m {
  entry @kernel(%a: tile<ptr<f32>>) {
    %i = iota : tile<256xi32>
    %c = constant <i32: 255> : tile<256xi32>
    %j = subi %c, %i : tile<256xi32>
    %r = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
    %p = broadcast %r : tile<1xptr<f32>> -> tile<256xptr<f32>>
    %q = offset %p, %i : tile<256xptr<f32>>, tile<256xi32> -> tile<256xptr<f32>>
    %s = offset %p, %j : tile<256xptr<f32>>, tile<256xi32> -> tile<256xptr<f32>>
    %x, %t = load_ptr_tko weak %q : tile<256xptr<f32>> -> tile<256xf32>, token
    %u = store_ptr_tko weak %s, %x token = %t : tile<256xptr<f32>>, tile<256xf32> -> token
    return
  }
}
"""
"""A kernel whose threads exchange elements through global memory."""
PLACED = lowered(GEMM, "tileas-insert-barriers")
LAID_OUT = lowered(GEMM, "tileas-assign-layouts")


def test_every_spec_is_of_known_passes():
    assert set(PROMISES) | set(NEEDS) | ENDS <= set(PASSES)
    assert set(PROMISES.values()) | set(NEEDS.values()) <= set(SPECS)
    names = [check.name for checks in SPECS.values() for check in dict.fromkeys(checks)]
    assert all(names)


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize(
    "kernel", ["attention_causal_f16_d64", "layer_norm_bf16_1024", "gemm_nt_bias_f16_128x128x64"]
)
def test_the_pipelines_keep_their_promises(kernel: str, target: str):
    text = lowered((CORPUS / f"{kernel}.mlir").read_text(), "reconcile-unrealized-casts", target)
    assert problems(parse_module(text, "kernel.mlir"), "llvm") is None


@pytest.mark.parametrize("target", PIPELINES)
@pytest.mark.parametrize("stage", STAGES)
def test_the_pipeline_of_every_stage_keeps_the_order(target: str, stage: str):
    names = [parse_pass(step.text).name for step in pipeline_for(target, stage)]
    assert not order_violations(names)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("warp = [[", "warp = [[0, 0], [", r"whose layout is for 8 warps, but 4 execute it"),
        ("block = []", "block = [[0, 0]]", r"whose layout is for 2 CTAs; expected one"),
        ("registers? = ", "registers = ", r"the layout has the dimensions registers, lane, warp, block"),
        (r"lane = \[\[", "lane = [[0, 0], [", r"the layout has 6 bases of lanes; expected 5"),
        (
            r"register = \[\[(\d+), (\d+)\]",
            r"register = [[\g<1>, 512]",
            r"the layout covers .*, but the tile is",
        ),
    ],
)
def test_layouts_that_do_not_fit(old: str, new: str, error: str):
    pattern = old if "\\" in old or "?" in old else re.escape(old)
    text, count = re.subn(pattern, new, LAID_OUT, count=0 if new.startswith(("warp", "block")) else 1)
    assert count
    err = opt(text, "--tileas-remove-layout-conversions")
    assert re.search(error, err), err
    assert re.search(r"<stdin>:\d+:\d+: error:", err)
    assert "internal fault" not in err


def test_tiles_of_several_layouts_in_one_op():
    layouts = re.findall(r"#nv_tileas\.linear<\{[^}]*\}>", LAID_OUT)
    add = next(
        line for line in LAID_OUT.splitlines() if re.search(r"nv_tileaa\.splat|arith\.\w+ .*#layout", line)
    )
    assert layouts and add
    text = """
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @f(%x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %a = nv_tileaa.splat %x : f32 -> tensor<64xf32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    %c = "nv_tileaa.exp"(%a) : (tensor<64xf32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>) -> tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    nv_tileaa.return
  }
}
"""  # noqa: E501
    err = opt(text, "--tileas-insert-barriers")
    assert "error: 'nv_tileaa.exp' op " in err


def test_overlapping_places():
    second = next(m for m in re.finditer(r"nv_tileas\.offset = (\d+)", PLACED) if m[1] != "0")
    text = PLACED[: second.start()] + "nv_tileas.offset = 1024" + PLACED[second.end() :]
    err = opt(text, "--convert-nv-tile-func-to-llvm")
    assert re.search(
        r"error: 'nv_tileas\.\w+' op has \d+ bytes at nv_tileas\.offset = \d+, which overlap the", err
    )
    assert "note: required in stage 'unwrapped': shared memory is in range, without overlapping uses" in err
    assert "note: required by pass 'convert-nv-tile-func-to-llvm'" in err


def test_a_place_that_is_not_aligned():
    text = PLACED.replace("nv_tileas.offset = 0 ", "nv_tileas.offset = 4 ", 1)
    assert "has nv_tileas.offset = 4; expected a multiple of" in opt(text, "--convert-nv-tile-func-to-llvm")


def test_without_verification_the_stage_is_not_checked():
    second = next(m for m in re.finditer(r"nv_tileas\.offset = (\d+)", PLACED) if m[1] != "0")
    text = PLACED[: second.start()] + "nv_tileas.offset = 1024" + PLACED[second.end() :]
    assert not opt(text, "--convert-nv-tile-func-to-llvm", "--verify-each=false", status=0)


def test_places_that_stay_give_no_remark():
    assert not opt(PLACED, "--tileas-insert-barriers", status=0)


def test_a_missing_barrier_is_refused_where_no_pass_inserts_it() -> None:
    text = PLACED.replace("nv_tileas.barrier\n", "\n", 1)
    err = opt(text, "--convert-nv-tile-func-to-llvm")
    assert re.search(
        r"^<stdin>:\d+:\d+: error: 'nv_tileas\.[\w.]+' op accesses memory that 'nv_tileas\.[\w.]+' of other threads "
        r"may access at the same time; insert an nv_tileas\.barrier before it",
        err,
        re.MULTILINE,
    )
    assert "note: the other access is here" in err
    assert "note: required in stage 'unwrapped': barriers stand between accesses that conflict" in err


@pytest.mark.parametrize("kernel", [PLACED, lowered(EXCHANGE, "tileas-insert-barriers")])
def test_a_kernel_with_its_barriers_is_accepted(kernel: str) -> None:
    assert not opt(kernel, "--convert-nv-tile-func-to-llvm", status=0)


def test_a_barrier_that_was_deleted_is_told_of():
    text = PLACED.replace("nv_tileas.barrier\n", "\n", 1)
    assert "remark: inserted a missing barrier" in opt(text, "--tileas-insert-barriers", status=0)


def test_a_deleted_barrier_gives_a_remark_in_a_kernel_without_shared_memory():
    text = lowered(EXCHANGE, "tileas-insert-barriers")
    assert "nv_tileas.offset" not in text
    assert not opt(text, "--tileas-insert-barriers", status=0)
    assert text.count("nv_tileas.barrier\n") == 1
    text = text.replace("nv_tileas.barrier\n", "\n")
    assert "remark: inserted a missing barrier" in opt(text, "--tileas-insert-barriers", status=0)


def test_a_barrier_too_many_is_told_of():
    text = PLACED.replace("nv_tileas.barrier\n", "nv_tileas.barrier\n nv_tileas.barrier\n", 1)
    assert "remark: removed a barrier that orders no accesses" in opt(
        text, "--tileas-insert-barriers", status=0
    )


def test_an_offset_that_was_moved_or_deleted_is_told_of():
    moved = PLACED.replace("nv_tileas.offset = 0 : i64", "nv_tileas.offset = 65536 : i64", 1)
    assert "gets nv_tileas.offset = 0 : i64, replacing 65536 : i64" in opt(
        moved, "--tileas-insert-barriers", status=0
    )
    deleted = PLACED.replace(" {nv_tileas.offset = 0 : i64}", "", 1)
    assert deleted != PLACED
    assert "gets nv_tileas.offset = 0 : i64, which was missing" in opt(
        deleted, "--tileas-insert-barriers", status=0
    )


@pytest.mark.parametrize(
    ("flag", "dialect"),
    [
        ("convert-tileas-to-llvm", "nv_tileas"),
        ("tileas-assign-layouts", "nv_tileas"),
        ("convert-tile-to-tileas", "tile"),
        ("tile-register-coalescing", "tile"),
    ],
)
def test_a_pass_on_a_stage_that_it_does_not_know_warns(flag: str, dialect: str):
    err = opt(GEMM, f"--{flag}", status=0)
    assert (
        f"warning: pass '{flag}' expects {dialect}, but the module is in cuda_tile; the pass has no effect"
        in err
    )


def test_a_pass_on_llvm_that_it_does_not_know_warns():
    err = opt("llvm.func @f() { llvm.return }", "--tileas-assign-layouts", status=0)
    assert "pass 'tileas-assign-layouts' expects nv_tileas, but the module is in llvm" in err


def test_a_pass_on_its_own_stage_or_an_empty_module_does_not_warn():
    assert not opt(GEMM, "--convert-cuda-tile-to-tileaa", status=0)
    assert not opt("", "--tileas-insert-barriers", status=0)


def test_a_pass_can_be_left_out_dumped_or_timed():
    err = opt(GEMM, "--canonicalize", "--cse", "--debug-pass=canonicalize:off,cse:time,cse:dump", status=0)
    assert re.search(r"^ +\d+\.\d{3} ms  cse$", err, re.MULTILINE)
    assert "IR Dump Before CSE (cse)" in err
    assert "IR Dump After CSE (cse)" in err
    assert "anonicalize" not in err
    assert (
        len(re.findall(" ms  ", opt(GEMM, "--canonicalize", "--cse", "--debug-pass=all:time", status=0))) == 2
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("cse", "--debug-pass expects NAME:off, NAME:dump or NAME:time, found 'cse'"),
        ("cse:on", "--debug-pass expects NAME:off, NAME:dump or NAME:time, found 'cse:on'"),
        ("cs:off", "--debug-pass names the pass 'cs', which does not exist; did you mean 'cse'?"),
    ],
)
def test_what_debug_pass_does_not_take(value: str, message: str):
    assert message in opt(GEMM, "--cse", f"--debug-pass={value}")


def test_a_pass_that_does_not_exist_is_told_where_no_pass_runs() -> None:
    assert "did you mean 'cse'?" in opt(GEMM, "--debug-pass=cs:off")


def test_passes_in_a_wrong_order_are_told_with_the_reason() -> None:
    text = "builtin.module(convert-tileas-to-llvm,convert-nv-tile-func-to-llvm)"
    said = opt("module {}", f"--pass-pipeline={text}", status=0)
    assert (
        "warning: 'convert-nv-tile-func-to-llvm' must run before 'convert-tileas-to-llvm': the body" in said
    )
    assert "must run before" not in opt("module {}", "--cse", "--canonicalize", status=0)


def test_agents_in_warps_that_the_kernel_does_not_have() -> None:
    text = """
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
nv_tileaa.func @f(%x: i32) attributes {
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] {
  }, {
  }
  nv_tileaa.return
}
}
"""
    failure = problems(parse_module(text, "agents.mlir"), "nv_tileas")
    assert failure is not None
    assert "has agent 1 in warps 4 to 7, but the kernel has 4 warps" in failure.diagnostics[0].message


FOREIGN = ("gpu.barrier", "memref.alloca() : memref<4xf32>", "ub.poison : i32", '"demo.op"() : () -> ()')
"""Ops of other dialects, of which a kernel has none."""


@pytest.mark.parametrize("op", FOREIGN)
@pytest.mark.parametrize(
    ("stage", "flag"),
    [
        ("tileas-assign-layouts", "--tileas-remove-layout-conversions"),
        ("tileas-insert-barriers", "--convert-nv-tile-func-to-llvm"),
        ("convert-tileaa-to-tileas", "--tileas-assign-layouts"),
        ("convert-cuda-tile-to-tileaa", "--convert-tileaa-to-tileas"),
    ],
)
def test_a_kernel_has_ops_of_its_stage_alone(op: str, stage: str, flag: str) -> None:
    name = re.match(r'"?([\w.]+)', op)
    assert name is not None
    result = f"%foreign = {op}" if " : " in op and "()" not in op[-4:] else op
    text = lowered(GEMM, stage).replace("    nv_tileaa.return", f"    {result}\n    nv_tileaa.return", 1)
    err = opt(text, flag, "--allow-unregistered-dialect")
    line = next(n for n, line in enumerate(text.splitlines(), 1) if op in line)
    assert re.search(
        rf"^<stdin>:{line}:\d+: error: '{name[1]}' op does not belong to this stage; expected ops of", err
    )
    assert "kernels have ops of the stage alone" in err


def test_ops_of_a_later_stage_are_refused_behind_the_conversion_from_cuda_tile() -> None:
    text = lowered(GEMM, "convert-cuda-tile-to-tileaa").replace(
        "    nv_tileaa.return", "    nv_tileas.barrier\n    nv_tileaa.return"
    )
    failure = problems(parse_module(text, "kernel.mlir"), "nv_tileaa")
    assert failure is not None
    assert failure.diagnostics[0].message.startswith("'nv_tileas.barrier' op does not belong to this stage")


def test_ops_of_an_earlier_stage_are_refused() -> None:
    text = lowered(GEMM, "reconcile-unrealized-casts")
    text = text.replace(
        "    llvm.return", "    %left = nv_tileaa.create_mem_token : !nv_tileaa.mem_token\n    llvm.return", 1
    )
    failure = problems(parse_module(text, "kernel.mlir"), "llvm")
    assert failure is not None
    assert failure.diagnostics[0].message == (
        "'nv_tileaa.create_mem_token' op belongs to an earlier stage and must not remain here"
    )


def test_tiles_have_no_layouts_behind_the_conversion_from_cuda_tile() -> None:
    text = lowered(GEMM, "convert-cuda-tile-to-tileaa")
    lanes = "[[1], [2], [4], [8], [16]]"
    tile = f"tensor<32xi32, #nv_tileas.linear<{{register = [], lane = {lanes}, warp = [], block = []}}>>"
    text = text.replace("    nv_tileaa.return", f"    %laid = nv_tileaa.iota : {tile}\n    nv_tileaa.return")
    failure = problems(parse_module(text, "kernel.mlir"), "nv_tileaa")
    assert failure is not None
    said = [diagnostic.message for diagnostic in failure.diagnostics]
    assert f"'nv_tileaa.iota' op has a tile of type {tile}; expected one without a layout" in said


def test_no_more_than_ten_errors_of_a_check_are_reported() -> None:
    text = lowered(GEMM, "convert-cuda-tile-to-tileaa").replace(
        "    nv_tileaa.return", 12 * "    gpu.barrier\n" + "    nv_tileaa.return"
    )
    failure = problems(parse_module(text, "kernel.mlir"), "nv_tileaa")
    assert failure is not None and len(failure.diagnostics) == 10


def test_a_kernel_of_llvm_has_ops_of_llvm_and_nvvm_alone() -> None:
    text = lowered(GEMM, "reconcile-unrealized-casts")
    text = text.replace("    llvm.return", "    %left = arith.constant 0 : i32\n    llvm.return", 1)
    failure = problems(parse_module(text, "kernel.mlir"), "llvm")
    assert failure is not None
    assert failure.diagnostics[0].message == (
        "'arith.constant' op does not belong to this stage; expected ops of llvm and nvvm"
    )


def test_a_token_that_no_access_gives() -> None:
    text = lowered(GEMM, "convert-cuda-tile-to-tileaa").replace(
        "nv_tileaa.create_mem_token : ", "llvm.mlir.undef : "
    )
    failure = problems(parse_module(text, "kernel.mlir"), "nv_tileaa")
    assert failure is not None
    message = failure.diagnostics[0].message
    assert (
        message == "'nv_tileaa.tiled_load' op uses a token of 'llvm.mlir.undef', which does not access memory"
    )


@pytest.mark.parametrize("offset", [1 << 20, -16])
def test_a_place_out_of_range(offset: int) -> None:
    text = re.sub(r"nv_tileas\.offset = \d+", f"nv_tileas.offset = {offset}", PLACED, count=1)
    err = opt(text, "--convert-nv-tile-func-to-llvm")
    assert f"bytes at nv_tileas.offset = {offset}, but sm_80 has 166912 bytes of shared memory per CTA" in err


# -- agents

HOPPER = lowered(Product().text(), "tileas-materialize-schedule", "sm_90")


@pytest.mark.parametrize("token", ["%arg\\d+", r"%\d+#2"])
def test_a_stage_that_a_loop_carries_must_be_released(token: str) -> None:
    text, count = re.subn(
        rf"\n *nv_tileas\.async\.pipeline\.consumer_release {token}(?=\n)", "", HOPPER, count=1
    )
    assert count
    err = opt(text, "--tileas-assign-layouts")
    assert re.search(
        r"error: 'scf\.for' op (carries a stage into its body that|gives a stage that) is never released", err
    )
    assert "each side of a pipeline uses every stage once and in order" in err


def test_agents_that_share_warps() -> None:
    text, count = re.subn(r"warp_id = \[0, \d+\]", "warp_id = [0, 0]", HOPPER)
    assert count
    err = opt(text, "--tileas-assign-layouts")
    assert "error: 'nv_tileas.async.pipeline.agent_switch' op agents 0 and 1 share warps" in err


# -- pipelines of tile

TILE_PASSES = [name for name in PASSES if name.startswith("tile-")]


def test_passes_on_tile_come_before_those_on_the_stages_that_it_is_lowered_to() -> None:
    for name in TILE_PASSES:
        assert order_violations(["convert-tile-to-tileas", name]), name
    for name in ("tileas-schedule", "tileas-materialize-schedule", "tileas-assign-layouts"):
        assert order_violations([name, "convert-tile-to-tileas"]), name


def test_the_order_of_passes_on_tile_is_checked_in_a_pipeline_of_the_user() -> None:
    text = "builtin.module(tile-performance-annotation,tile-memory-management)"
    said = opt("module {}", f"--pass-pipeline={text}", status=0)
    assert "warning: 'tile-memory-management' must run before 'tile-performance-annotation':" in said


def test_sums_in_flight_that_are_read_are_told_of() -> None:
    text = (Path(__file__).parent / "tileas" / "assign-layouts-sums-in-flight.mlir").read_text()
    laid_out = run(["--tileas-assign-layouts", "-o", "-"], text.encode(), None).stdout.decode()
    assert not opt(laid_out, "--tileas-remove-layout-conversions", status=0)
    read = laid_out.replace("convert_layout %u ", "convert_layout %t ")
    assert read != laid_out
    err = opt(read, "--tileas-remove-layout-conversions")
    assert "'nv_tileas.convert_layout' op reads sums in flight; they are complete behind an nv_tileas" in err
