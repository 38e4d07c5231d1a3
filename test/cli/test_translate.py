"""`tessera-translate` as its user sees it, from LLVM IR and PTX down; the way from IR is tested with its passes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from emit.kernels import VECTOR_ADD

from oracles import require_tool
from tessera_tools.cli.translate import FLAGS, OUTPUTS, VALUES, run

IR = VECTOR_ADD.encode()
ROOT = Path(__file__).resolve().parents[2]


def translate(*argv: str, stdin: bytes = IR, cwd: Path | None = None, status: int = 0) -> tuple[bytes, str]:
    """stdout and stderr of a run that ends with `status`."""
    result = run(list(argv), stdin, None if cwd is None else str(cwd))
    assert result.exit_code == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    return result.stdout, result.stderr.decode()


def test_help_lists_every_option() -> None:
    out, _ = translate("--help")
    for name in (*OUTPUTS, *FLAGS, *VALUES):
        assert f"-{name}".encode() in out


def test_ptx_for_the_gpu_that_is_named() -> None:
    out, _ = translate("--mlir-to-ptx", "--gpu-name=sm_90")
    assert b".target sm_90a" in out
    assert b".entry vector_add" in out


def test_ptx_is_for_sm_80_unless_told() -> None:
    out, _ = translate("--mlir-to-ptx")
    assert b".target sm_80" in out


def test_mlir_bytecode_compiles_as_its_text_does() -> None:
    from tessera_tools.mlir_bytecode import write_mlir_bytecode
    from tessera_tools.parser import parse_module

    text = (ROOT / "test" / "corpus" / "vector_add_f32.mlir").read_text()
    data = write_mlir_bytecode(parse_module(text))
    assert translate("--mlir-to-ptx", stdin=data)[0] == translate("--mlir-to-ptx", stdin=text.encode())[0]


def test_mir() -> None:
    out, _ = translate("--mlir-to-mir")
    assert b"name:            vector_add" in out


def test_llvm_ir_passes_through() -> None:
    assert translate("--mlir-to-llvmir")[0] == IR


def test_a_cubin_has_its_manifest_beside_it(tmp_path: Path) -> None:
    require_tool("ptxas")
    translate("--mlir-to-cubin", "-o", "add.cubin", cwd=tmp_path)
    assert (tmp_path / "add.cubin").read_bytes().startswith(b"\x7fELF")
    manifest = json.loads((tmp_path / "add.json").read_text())
    (kernel,) = manifest["kernels"]
    assert kernel["name"] == "vector_add"
    assert [p["type"] for p in kernel["parameters"]] == ["ptr", "ptr", "ptr", "i32"]
    assert [p["offset"] for p in kernel["parameters"]] == [0, 8, 16, 24]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["add.cubin", "add.json"]


def test_a_cubin_does_not_take_the_name_of_its_manifest(tmp_path: Path) -> None:
    _, err = translate("--mlir-to-cubin", "-o", "add.json", cwd=tmp_path, status=1)
    assert "'add.json' has the same name as the cubin's launch manifest" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("gpu", ["sm_90a", "sm_100a"])
def test_each_saved_stage_is_compiled_for_its_own_gpu(gpu: str, tmp_path: Path) -> None:
    require_tool("ptxas")
    source = str(ROOT / "examples" / "gemm.mlir")
    translate(
        "--mlir-to-cubin", f"--gpu-name={gpu}", "--save-temps=stages", "-o", "a.cubin", source, cwd=tmp_path
    )
    assert (tmp_path / "stages" / "7-cubin.json").read_text() == (tmp_path / "a.json").read_text()
    for name in ("2-nv_tileaa.mlir", "3-nv_tileas.mlir", "4-llvm.mlir", "4b-llvm.ll", "6-ptx.ptx"):
        translate("--mlir-to-cubin", f"stages/{name}", "-o", "b.cubin", cwd=tmp_path)
        manifest = json.loads((tmp_path / "b.json").read_text())
        assert manifest["target"] == gpu, name


def test_an_instruction_that_the_default_gpu_lacks_gets_a_hint(tmp_path: Path) -> None:
    text = "declare i1 @llvm.nvvm.elect.sync(i32)\ndefine ptx_kernel void @k(ptr addrspace(1) %p) {\n"
    text += "  %a = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)\n  %b = extractvalue { i32, i1 } %a, 0\n"
    text += "  store i32 %b, ptr addrspace(1) %p\n  ret void\n}\n"
    _, err = translate("--mlir-to-ptx", stdin=text.replace("i1 @", "{ i32, i1 } @", 1).encode(), status=1)
    assert "choose another GPU with --gpu-name" in err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("k.mir", b"--- |\n", "is machine IR"),
        ("k.cubin", b"\x7fELF\0\0", "is a cubin, which cannot be compiled further"),
    ],
)
def test_what_cannot_be_fed_back_in(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    _, err = translate("--mlir-to-ptx", name, cwd=tmp_path, status=1)
    assert says in err
    assert err.count("error") == 1


def test_options_of_ptxas_show(tmp_path: Path) -> None:
    require_tool("ptxas")
    text = str(ROOT / "examples" / "gemm.mlir")
    _, err = translate("--mlir-to-cubin", "--ptxas-options=-v", "-o", "a.cubin", text, cwd=tmp_path)
    assert "ptxas info    : Used" in err
    options = "--ptxas-options=-maxrregcount=32"
    _, err = translate("--mlir-to-cubin", options, "-o", "a.cubin", text, cwd=tmp_path)
    assert "warning: ptxas: Overriding global maxrregcount 32" in err


def test_nvdisasm_can_be_named(tmp_path: Path) -> None:
    require_tool("ptxas")
    _, err = translate("--mlir-to-sass", "--nvdisasm=./none", cwd=tmp_path, status=1)
    assert "nvdisasm was not found at './none' (from --nvdisasm)" in err


def test_ptx_is_an_input_too(tmp_path: Path) -> None:
    require_tool("ptxas")
    ptx, _ = translate("--mlir-to-ptx")
    translate("--mlir-to-cubin", "-o", "add.cubin", stdin=ptx, cwd=tmp_path)
    assert (tmp_path / "add.cubin").exists()


def test_sass() -> None:
    require_tool("ptxas")
    require_tool("nvdisasm")
    assert b"FADD" in translate("--mlir-to-sass")[0]


def test_every_stage_is_saved(tmp_path: Path) -> None:
    require_tool("ptxas")
    require_tool("nvdisasm")
    translate("--mlir-to-sass", "--save-temps=stages", cwd=tmp_path)
    names = {path.name for path in (tmp_path / "stages").iterdir()}
    assert names == {"4b-llvm.ll", "5-mir.mir", "6-ptx.ptx", "7-cubin.cubin", "7-cubin.json", "7-sass.sass"}


def test_the_stages_before_a_failure_are_saved(tmp_path: Path) -> None:
    require_tool("ptxas")
    argv = ["--mlir-to-cubin", "--save-temps=stages", "--ptxas-options=--no-such-option", "-o", "x.cubin"]
    translate(*argv, cwd=tmp_path, status=1)
    assert (tmp_path / "stages" / "6-ptx.ptx").exists()
    assert not (tmp_path / "x.cubin").exists()


def test_resource_usage() -> None:
    require_tool("ptxas")
    _, err = translate("--mlir-to-cubin", "--gpu-name=sm_80", "--resource-usage")
    assert re.search(
        r"kernel 'vector_add' for sm_80: \d+ registers, 0 bytes smem, .* 0 bytes spill stores, 0 bytes spill loads",
        err,
    )


def test_timing_is_split_by_tool() -> None:
    require_tool("ptxas")
    _, err = translate("--mlir-to-cubin", "--mlir-timing")
    names = re.findall(r"^ +\d+\.\d{4} \( *\d+\.\d%\)  (\w.*)$", err, re.MULTILINE)
    assert [name for name in names if name in ("LLVM", "ptxas", "Total")] == ["ptxas", "LLVM", "Total"] or [
        name for name in names if name in ("LLVM", "ptxas", "Total")
    ] == ["LLVM", "ptxas", "Total"]


def test_lineinfo_reaches_ptxas(tmp_path: Path) -> None:
    require_tool("ptxas")
    translate("--mlir-to-cubin", "--lineinfo", "-o", "a.cubin", cwd=tmp_path)
    assert (tmp_path / "a.cubin").exists()


def test_lineinfo_names_source_lines_in_optimized_sass(tmp_path: Path) -> None:
    require_tool("nvdisasm")
    require_tool("ptxas")
    source = Path(__file__).resolve().parents[2] / "examples" / "vector_add.mlir"
    text, _ = translate("--mlir-to-sass", "--lineinfo", str(source), cwd=tmp_path)
    assert re.search(rb'//## File ".*", line \d+', text)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "expected one of --mlir-to-llvmir"),
        (["--mlir-to-ptx", "--mlir-to-mir"], "found several"),
        (["--mlir-to-ptx", "--gpu-name=sm_91"], "unknown GPU 'sm_91'"),
        (["--mlir-to-ptx", "-O4"], "'4' is not one of"),
        (["--mlir-to-ptx", "--ptxas=/nowhere/ptxas"], "ptxas was not found at '/nowhere/ptxas'"),
        (["--mlir-to-ptx", "--ptxas-options='x"], "--ptxas-options: no closing quotation"),
        (["--mlir-to-ptx", "--ptxas-timeout=-1"], "ptxas-timeout"),
        (["--mlir-to-ptx", "-o", "/nowhere/x.ptx"], "cannot be written"),
        (["--mlir-to-ptx", "-o", "/"], "is a directory"),
        (["--mlir-to-ptx", "/"], "is a directory"),
        (["--mlir-to-ptx", "/nowhere.ll"], "no such file"),
        (["--mlir-to-ptx", "--gpu-nam=sm_80"], "did you mean '--gpu-name'?"),
    ],
)
def test_wrong_options_are_refused(argv: list[str], says: str) -> None:
    out, err = translate(*argv, status=1)
    assert says in err
    assert out == b""


def test_broken_llvm_ir_is_refused() -> None:
    _, err = translate("--mlir-to-ptx", stdin=b"define void @f() {\n  nonsense\n}\n", status=1)
    assert "error: LLVM cannot parse the IR" in err


def test_ptx_cannot_be_raised() -> None:
    _, err = translate("--mlir-to-llvmir", stdin=b".version 8.0\n.target sm_80\n", status=1)
    assert "cannot be converted back" in err


def test_broken_ir_is_refused_at_its_place() -> None:
    _, err = translate("--mlir-to-ptx", stdin=b"func.func @f() {\n  nonsense\n}\n", status=1)
    assert err.startswith("<stdin>:2:3: error: ")


def test_debug_info_is_dwarf_of_functions_calls_and_lines(tmp_path: Path) -> None:
    require_tool("ptxas")
    source = str(Path(__file__).resolve().parents[1] / "cutile" / "13.1" / "inlined.tileirbc")
    ptx, _ = translate("--mlir-to-ptx", "--debug-info", source)
    assert re.search(rb"^\.target sm_80, debug$", ptx, re.MULTILINE)
    for word in (b".section\t.debug_info", b"DW_TAG_subprogram", b"DW_TAG_inlined_subroutine", b"\t.loc\t"):
        assert word in ptx
    translate("--mlir-to-cubin", "--debug-info", source, "-o", "a.cubin", cwd=tmp_path)
    assert b".debug_info" in (tmp_path / "a.cubin").read_bytes()


def test_without_it_there_is_none() -> None:
    ptx, _ = translate("--mlir-to-ptx", "--lineinfo")
    assert b", debug" not in ptx
    assert b".debug_info" not in ptx


def test_debug_info_is_of_code_that_is_not_optimized() -> None:
    _, err = translate("--mlir-to-ptx", "--debug-info", "-O2", status=1)
    assert "--debug-info requires -O0, but found -O2" in err
    ptx, _ = translate("--mlir-to-ptx", "--debug-info", "-O0")
    assert b".target sm_80" in ptx


@pytest.mark.parametrize("name", ['a"b.mlir', "a\\b.mlir", "a\nb.mlir", "a\x1b[31mb.mlir", "é.mlir"])
@pytest.mark.parametrize("option", ["--lineinfo", "--debug-info"])
def test_any_file_name_goes_down_to_the_cubin(name: str, option: str, tmp_path: Path) -> None:
    require_tool("ptxas")
    (tmp_path / name).write_text((ROOT / "examples" / "vector_add.mlir").read_text())
    translate("--mlir-to-cubin", option, name, "-o", "a.cubin", cwd=tmp_path)


KERNEL = (ROOT / "test/corpus/vector_add_f32.mlir").read_bytes()


def test_the_dumps_of_passes_are_those_of_tessera_opt() -> None:
    from tessera_tools.cli.opt import run as opt

    options = ["--mlir-print-ir-after=tileas-assign-layouts", "--mlir-print-op-generic"]
    _, err = translate("--mlir-to-ptx", *options, stdin=KERNEL)
    ours = opt(["--tessera-pipeline=sm_80", *options], KERNEL).stderr.decode()
    assert err == ours
    assert err.startswith(
        "// -----// IR Dump After tileas-assign-layouts (tileas-assign-layouts) //----- //\n#layout = "
    )


def test_a_tree_of_dumps(tmp_path: Path) -> None:
    translate("--mlir-to-llvmir", "--mlir-print-ir-tree-dir=tree", stdin=KERNEL, cwd=tmp_path)
    assert list(tmp_path.rglob("*_convert-tileas-to-llvm.mlir"))


def test_statistics_of_every_stage() -> None:
    _, err = translate("--mlir-to-ptx", "--mlir-pass-statistics", stdin=KERNEL)
    assert re.search(r"CSE\n +\(S\) \d+ num-cse'd", err)
    assert re.search(r"convert-tileas-to-llvm\n +\(S\) 1 kernels", err)


def test_the_pipeline_is_dumped_before_it_runs() -> None:
    _, err = translate("--mlir-to-ptx", "--dump-pass-pipeline", stdin=KERNEL)
    assert err.startswith("Pass Manager with ")
    assert "convert-tileas-to-llvm" in err


def test_a_failing_pass_leaves_a_reproducer(tmp_path: Path) -> None:
    options = ["--mlir-to-ptx", "--mlir-pass-pipeline-crash-reproducer=r.mlir"]
    kernel = b"""entry @k() {
      %0 = constant <f32: 0.0> : tile<8xf32>
      print_tko "%*f", %0 : tile<8xf32> -> token
      return
    }"""
    _, err = translate(*options, stdin=kernel, cwd=tmp_path, status=1)
    assert "reproducer generated at `r.mlir`" in err
    assert "mlir_reproducer" in (tmp_path / "r.mlir").read_text()
