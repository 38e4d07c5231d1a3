"""Spills by loop, as SASS with line information shows them."""

from __future__ import annotations

import re
from pathlib import Path

from oracles import require_tool
from tessera_tools.cli.translate import run
from tessera_tools.diagnostics import Position
from tessera_tools.emit.resources import Report, Resources
from tessera_tools.emit.spills import SourceOps, SpillPlace, explain_spills, spill_places

GEMM = Path(__file__).parents[1] / "corpus" / "gemm_nt_bias_f16_128x128x64.mlir"

SASS = """\
	.section	.text.first,"ax",@progbits
        /*0000*/                   STL [R1], R2 ;
	//## File "k.mlir", line 3
.L_x_0:
        /*0010*/                   MOV R0, R1 ;
.L_x_1:
        /*0020*/                   LDL R3, [R1+0x4] ;
        /*0030*/              @!P0 STL.64 [R1+0x4], R4 ;
	//## File "k.mlir", line 5
        /*0040*/              @!P1 BRA `(.L_x_1) ;
        /*0050*/                   LDL.LU R3, [R1] ;
	//## File "k.mlir", line 2
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/                   BRA `(.L_x_2) ;
.L_x_2:
        /*0080*/                   EXIT ;
	.section	.text.second,"ax",@progbits
.L_x_0:
        /*0000*/                   LDL R3, [R1] ;
        /*0010*/                   BRA `(.L_x_2) ;
"""


def test_each_innermost_loop_is_a_place():
    assert spill_places(SASS) == [
        SpillPlace("first", None, False, 1, 0),
        SpillPlace("first", Position("k.mlir", 5, 1), True, 1, 1, ((Position("k.mlir", 3, 1), 2),)),
        SpillPlace("first", Position("k.mlir", 2, 1), True, 0, 1, ((Position("k.mlir", 5, 1), 1),)),
        SpillPlace("second", None, False, 0, 1),
    ]


def test_no_spill_no_place():
    assert spill_places('	.section	.text.k,"ax"\n.L_x_0:\n        /*0000*/  BRA `(.L_x_0) ;\n') == []


def test_only_kernels_that_spill_are_told():
    report = Report(
        {
            "first": Resources(255, spill_stores=8, spill_loads=12, is_entry=True),
            "second": Resources(32, is_entry=True),
        },
        [],
    )
    at = Position("k.mlir", 1, 1)
    told = explain_spills(report, spill_places(SASS), {"first": at, "second": at})
    assert {remark.function for remark in told} == {"first"}
    assert {remark.kind for remark in told} == {"failed"}
    assert told[0].message.startswith(
        "kernel 'first' spills 8 bytes and reloads 12 bytes per thread, at 255 registers"
    )
    assert [(remark.location, remark.message) for remark in told[1:]] == [
        (at, "1 spill stores and 0 reloads of 'first' outside loops"),
        (Position("k.mlir", 5, 1), "1 spill stores and 1 reloads of 'first' in the loop"),
        (Position("k.mlir", 2, 1), "0 spill stores and 1 reloads of 'first' in the loop"),
    ]


PTX = """\
	.file	1 "k.mlir"
	.loc	1 5 7
	.loc	1 3 4
	.loc	1 3 9
	.loc	1 5 7
	.loc	2 6 1
	.loc	1 0 0
"""


def test_a_line_has_its_column_where_the_ptx_has_one():
    sources = SourceOps.of(PTX, {("k.mlir", 5, 7): "cuda_tile.for", ("k.mlir", 3, 4): "cuda_tile.mmaf"})
    loop, two, none = (Position("k.mlir", line, 1) for line in (5, 3, 8))
    assert sources.place(loop) == Position("k.mlir", 5, 7)
    assert sources.name(sources.place(loop)) == "'cuda_tile.for' at k.mlir:5:7"
    assert (sources.place(two), sources.place(none)) == (two, none)
    assert sources.name(two) == "k.mlir:3:1"


def test_the_ops_whose_values_are_spilled_are_named_at_their_places():
    report = Report({"first": Resources(255, spill_stores=8, spill_loads=12, is_entry=True)}, [])
    sources = SourceOps.of(PTX, {("k.mlir", 5, 7): "cuda_tile.for"})
    *_, loop, last = explain_spills(report, spill_places(SASS), {}, sources)
    assert loop.location == Position("k.mlir", 5, 7)
    assert [(note.location, note.message) for note in loop.notes] == [
        (Position("k.mlir", 3, 1), "2 of them for k.mlir:3:1")
    ]
    assert [note.message for note in last.notes] == ["1 of them for 'cuda_tile.for' at k.mlir:5:7"]


def remarks(*options: str) -> str:
    """What `--remarks` says of the GEMM as a cubin."""
    require_tool("ptxas")
    require_tool("nvdisasm")
    done = run([str(GEMM), "--mlir-to-cubin", "--remarks=text", "-o", "/dev/null", *options])
    assert done.exit_code == 0, done.stderr.decode()
    return done.stderr.decode()


def place_of(statement: str, word: str) -> tuple[int, int]:
    """Line and column of an op of the GEMM."""
    for number, line in enumerate(GEMM.read_text().splitlines(), 1):
        if statement in line:
            return number, line.index(statement) + statement.index(word) + 1
    raise AssertionError(statement)


def test_the_loop_of_a_gemm_with_too_few_warps():
    said = remarks("--num-warps=2")
    loop, column = place_of(" = for ", "for")
    product = place_of(" = mmaf ", "mmaf")
    assert f"{GEMM}:4:1: remark[failed]: kernel 'gemm_nt_bias_f16_128x128x64' spills" in said
    assert any(
        line.startswith(f"{GEMM}:{loop}:{column}: remark[failed]:") and line.endswith("in the loop [spills]")
        for line in said.splitlines()
    )
    at = "{}:{}:{}".format(GEMM, *product)
    assert re.search(rf"^{at}: note: \d+ of them for 'cuda_tile\.mmaf' at {at}$", said, re.MULTILINE)


def test_a_kernel_without_spills_has_no_such_remark():
    assert "[spills]" not in remarks()
