"""`--lineinfo`: the PTX names the lines of the source, for cuTile kernels in bytecode and for MLIR text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from oracles import require_tool
from tessera_tools.bytecode import read_bytecode
from tessera_tools.emit.call_sites import with_call_sites
from tessera_tools.emit.driver import Options, Stage, compile_module, compile_text
from tessera_tools.emit.worker import Worker
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import CallSiteLoc, Location
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

CUTILE = Path(__file__).parent.parent / "cutile"
SOURCE = (CUTILE / "kernels.py").read_text().splitlines()
KERNELS = (
    "atomics",
    "branches",
    "break_and_continue",
    "inlined",
    "mma_float16_float32",
    "nested_loops",
    "printed",
    "reductions_f32",
    "shapes",
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker.start()
    yield made
    made.close()


def bytecode(name: str) -> Operation:
    path = CUTILE / "13.1" / f"{name}.tileirbc"
    return read_bytecode(path.read_bytes(), str(path))


def compiled(
    module: Operation, worker: Worker, until: Stage = "ptx", level: int = 3, gpu: str = "sm_90a"
) -> str:
    options = Options(lookup(gpu), until=until, level=level, lineinfo=True)
    return compile_module(module, options, worker=worker).text(until)


def lines(location: Location) -> set[tuple[str, int]]:
    """The positions of an op: its own, and where the functions around it were called."""
    if isinstance(location, CallSiteLoc):
        return lines(location.callee) | lines(location.caller)
    start = location.start()
    return {start[:2]} if start is not None else set()


def directives(ptx: str) -> list[tuple[str, int]]:
    """(file, line) of each `.loc`, in order."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+) "(.*)"', ptx, re.MULTILINE))
    return [(files[n], int(line)) for n, line in re.findall(r"^\s*\.loc\s+(\d+) (\d+)", ptx, re.MULTILINE)]


@pytest.mark.parametrize("name", KERNELS)
def test_the_lines_are_those_of_the_kernel(name: str, worker: Worker) -> None:
    module = bytecode(name)
    ops = list(module.walk())
    known = {position for op in ops for position in lines(op.location)}
    scopes = {op.location.scope for op in ops if hasattr(op.location, "scope")}  # type: ignore[attr-defined]
    known |= {("/kernels/kernels.py", scope.line) for scope in scopes}
    # What moves, multiplies or prints tiles is in the machine code, whatever is folded.
    kept = re.compile(r"cuda_tile\.(load_|store_|atomic_|mmaf$|print_|reduce$)")
    needed = {p for op in ops if kept.match(op.name) for p in lines(op.location)}
    assert needed
    found = set(directives(compiled(module, worker)))
    assert found <= known
    assert needed <= found


def test_a_call_site_is_told(worker: Worker) -> None:
    ptx = compiled(bytecode("inlined"), worker, level=0)
    names = [
        bytes(map(int, re.findall(r"\.b8 (\d+)", text))).decode().rstrip("\0")
        for text in re.findall(r"\$L__name\d+:\n((?:\.b8 \d+\n)+)", ptx)
    ]
    located = re.findall(r"^\s*\.loc\s+1 (.*)", ptx, re.MULTILINE)
    thrice, twice, call = (
        next(n for n, line in enumerate(SOURCE, 1) if text in line)
        for text in ("x + x + x", "_thrice(x) + x", "tile=_twice")
    )
    places = [re.sub(r" \d+(,|$)", r"\1", place, count=1) for place in located]
    inner = [p for p in places if p.startswith(f"{thrice},")]
    assert re.fullmatch(rf"{thrice}, function_name \$L__name0, inlined_at 1 {call} \d+", inner[0])
    assert re.fullmatch(rf"{thrice}, function_name \$L__name2, inlined_at 1 {twice} \d+", inner[1])
    outer = places[places.index(inner[1]) - 1]
    assert re.fullmatch(rf"{twice}, function_name \$L__name1, inlined_at 1 {call} \d+", outer)
    assert [name.partition("@")[0] for name in names] == ["_thrice", "_twice", "_thrice"]


@pytest.mark.parametrize("gpu", ["sm_80", "sm_120a"])
def test_the_cubin_has_the_call_sites(gpu: str, worker: Worker) -> None:
    require_tool("ptxas")
    require_tool("nvdisasm")
    sass = compiled(bytecode("inlined"), worker, "sass", level=0, gpu=gpu)
    assert re.search(
        r'//## File "/kernels/kernels\.py", line \d+ inlined at "/kernels/kernels\.py", line \d+', sass
    )


def test_the_instructions_are_the_same(worker: Worker) -> None:
    options = Options(lookup("sm_90a"), until="ptx")
    plain = compile_module(bytecode("inlined"), options, worker=worker).text("ptx")

    def code(ptx: str) -> list[str]:
        return re.findall(r"^\t(?!\.)(?!//)(.*;)$", ptx, re.MULTILINE)

    assert code(compiled(bytecode("inlined"), worker)) == code(plain)


def test_text_has_its_own_lines(worker: Worker) -> None:
    view = "tensor_view<64xf32, strides=[1]>"
    part = f"partition_view<tile=(64), {view}>"
    text = f"""entry @k(%p: tile<ptr<f32>>, %c: tile<i1>) {{
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : {view}
  %q = make_partition_view %v : {part}
  %t, %a = load_view_tko weak %q[%zero] : {part}, tile<i32> -> tile<64xf32>, token
  if %c {{
    return
  }}
  %u = addf %t, %t : tile<64xf32>
  %b = store_view_tko weak %u, %q[%zero] token = %a : tile<64xf32>, {part}, tile<i32> -> token
  return
}}
"""
    found = directives(compiled(parse_module(text, "folder/k.mlir"), worker, level=0))
    assert {file for file, _ in found} == {"folder/k.mlir"}
    assert {5, 6, 9, 10} <= {line for _, line in found} <= set(range(1, 12))


def test_a_file_name_that_ptx_cannot_spell(worker: Worker) -> None:
    module = parse_module("entry @k(%x: tile<f32>) { return }", 'folder/a"b.mlir')
    found = directives(compiled(module, worker, level=0))
    assert {file for file, _ in found} == {"folder/a_b.mlir"}


def test_scopes_of_text_may_be_blocks_and_shared(worker: Worker) -> None:
    text = """
#f = #cuda_tile.di_file<"k.py" in "/here">
#u = #cuda_tile.di_compile_unit<file = #f>
#s = #cuda_tile.di_subprogram<file = #f, line = 3, name = "k", linkageName = "k", compileUnit = #u, scopeLine = 3>
#b = #cuda_tile.di_lexical_block<scope = #s, file = #f, line = 4, column = 2>
#l4 = loc("/here/k.py":4:2)
#l5 = loc("/here/k.py":5:2)
#l9 = loc("other.py":9:2)
entry @one() { return loc(#cuda_tile.di_loc<#l5 in #b>) } loc(#cuda_tile.di_loc<#l4 in #b>)
entry @two() { return loc(#cuda_tile.di_loc<#l9 in #s>) } loc(#cuda_tile.di_loc<#l4 in #s>)
"""
    ptx = compiled(parse_module(text, "k.mlir"), worker, level=0)
    assert directives(ptx) == [("/here/k.py", 5), ("other.py", 9)]


def test_a_call_site_that_nothing_is_known_of_is_left_out() -> None:
    head, tail = ".version 8.0\n\t.loc\t1 4 2", '\n\t.file\t1 "a.py"\n'
    ptx = f"{head}      // a.py:4:2 @[ b.py:9:1 ]\n\tret; // done{tail}"
    assert with_call_sites(ptx, {}) == f"{head}\n\tret;{tail}"


def test_llvm_ir_with_inlined_positions_compiles(worker: Worker) -> None:
    ir = compile_module(
        bytecode("inlined"), Options(lookup("sm_80"), until="llvmir", lineinfo=True), worker=worker
    ).text("llvmir")
    assert "inlinedAt: " in ir
    ptx = compile_text(ir, "llvmir", Options(lookup("sm_80"), until="ptx", level=0), worker=worker).text(
        "ptx"
    )
    assert "@[" not in ptx
    assert directives(ptx)
