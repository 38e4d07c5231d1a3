"""`tessera-run` as its user sees it: inputs, arguments, outputs, exit status, errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from runtime.ptx import COPY, COUNT, HEADER, RACE, SCALE, SPIN

from oracles import require_tool
from tessera_tools.cli.run import FLAGS, REPEATED, VALUES, run

ROOT = Path(__file__).resolve().parents[2]
ARGS = ("--grid=2", "--arg", "x=arange:f32:100", "--arg", "i32:100", "--arg", "f32:0.5")


def tessera_run(*argv: str, ptx: str = SCALE, cwd: Path | None = None, status: int = 0) -> tuple[str, str]:
    """stdout and stderr of a run of `ptx` that ends with `status`."""
    result = run(list(argv), ptx.encode(), None if cwd is None else str(cwd))
    assert result.exit_code == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    assert b"internal fault" not in result.stderr
    return result.stdout.decode(), result.stderr.decode()


def refused(*argv: str, ptx: str = SCALE, cwd: Path | None = None) -> str:
    """The message of a run that ends with status 1."""
    _, err = tessera_run(*argv, ptx=ptx, cwd=cwd, status=1)
    assert "error: " in err
    return err


def test_help_lists_every_option() -> None:
    out, _ = tessera_run("--help")
    for name in (*FLAGS, *REPEATED, *VALUES):
        assert f"--{name}" in out


def test_a_report_may_stand_behind_its_option(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(SCALE)
    tessera_run("k.ptx", *ARGS, "--report", "rep.json", cwd=tmp_path)
    assert json.loads((tmp_path / "rep.json").read_text())["status"] == "success"


def test_a_buffer_is_written_as_npy(tmp_path: Path) -> None:
    tessera_run(*ARGS, "--out", "x=y.npy", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.arange(100, dtype=np.float32) / 2)


def test_a_buffer_is_written_as_a_raw_image(tmp_path: Path) -> None:
    tessera_run(*ARGS, "--out", "x=y.bin", cwd=tmp_path)
    assert (tmp_path / "y.bin").read_bytes() == (np.arange(100, dtype="<f4") / 2).tobytes()


def test_the_summary_tells_seed_mode_and_figures() -> None:
    _, err = tessera_run(*ARGS, "--seed=5")
    pattern = r"scale: grid 2x1x1, block 64x1x1, seed 5, late: [\d,]+ warp instructions in .* no findings\n"
    assert re.fullmatch(pattern, err)


def test_buffers_are_called_after_their_parameter(tmp_path: Path) -> None:
    args = ("--arg=full:f32:100:3", "--arg=i32:100", "--arg=f32:2")
    tessera_run("--grid=2", *args, "--out", "x=y.npy", cwd=tmp_path)
    assert (np.load(tmp_path / "y.npy") == 6).all()


def test_an_expected_array_that_is_met(tmp_path: Path) -> None:
    np.save(tmp_path / "want.npy", np.arange(100, dtype=np.float32) / 2)
    _, err = tessera_run(*ARGS, "--expect", "x=@want.npy", cwd=tmp_path)
    assert "x: 100 elements as expected" in err


def test_a_wrong_answer_is_status_2(tmp_path: Path) -> None:
    want = np.arange(100, dtype=np.float32) / 2
    want[7] += 1
    np.save(tmp_path / "want.npy", want)
    _, err = tessera_run(
        *ARGS, "--expect", "x=@want.npy:rtol=1e-3:atol=1e-3", "--out", "x=y.npy", cwd=tmp_path, status=2
    )
    assert "x: 1 of 100 elements are wrong" in err
    assert "the first is x[7]: found 3.5, expected 4.5" in err
    assert (tmp_path / "y.npy").exists()


def test_tolerances_allow_for_rounding(tmp_path: Path) -> None:
    np.save(tmp_path / "want.npy", np.arange(100) / 2 + 1e-4)
    tessera_run(*ARGS, "--expect", "x=@want.npy:atol=1e-3", cwd=tmp_path)
    tessera_run(*ARGS, "--expect", "x=@want.npy", cwd=tmp_path, status=2)


def test_an_expected_array_of_another_shape_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "want.npy", np.zeros(99, np.float32))
    assert "the expected array is 99; buffer 'x' is 100" in refused(
        *ARGS, "--expect", "x=@want.npy", cwd=tmp_path
    )


def test_a_finding_is_status_3() -> None:
    _, err = tessera_run("--arg=zeros:u32:1", ptx=RACE, status=3)
    assert "<stdin>:11: error: race: " in err
    assert "1 finding\n" in err


def test_the_report_has_every_finding(tmp_path: Path) -> None:
    tessera_run("--arg=zeros:u32:1", "--report=found.json", ptx=RACE, cwd=tmp_path, status=3)
    report = json.loads((tmp_path / "found.json").read_text())
    (finding,) = report["findings"]
    assert report["status"] == "finding"
    assert (finding["kind"], finding["line"], finding["entry"]) == ("race", 11, "race")


def test_the_report_goes_to_stdout_without_a_file() -> None:
    out, _ = tessera_run(*ARGS, "--report", "--stats=false")
    report = json.loads(out)
    assert report["status"] == "success"
    assert report["runs"][0]["mode"] == "late"


def test_schedules_take_seeds_in_turn() -> None:
    out, err = tessera_run(*ARGS, "--schedules=4", "--seed=3", "--report")
    assert [(r["seed"], r["mode"]) for r in json.loads(out)["runs"]] == [
        (3, "late"), (4, "early"), (5, "late"), (6, "early"),
    ]  # fmt: skip
    assert "4 schedules from seed 3" in err


def test_schedules_that_disagree_are_a_finding() -> None:
    # The last store wins, and seeds differ in which that is.
    _, err = tessera_run("--arg=x=zeros:u32:1", "--schedules=8", ptx=RACE, status=3)
    first, other = "--seed=0 --modes=late", "--seed=[1-7] --modes=late"
    assert re.search(rf"error: schedules disagree: x\[0\] is \d+ with {first}, and \d+ with {other}", err)


def test_both_modes_run_each_seed_twice() -> None:
    out, _ = tessera_run(*ARGS, "--modes=both", "--report")
    assert [r["mode"] for r in json.loads(out)["runs"]] == ["late", "early"]


def test_stats_are_tables() -> None:
    out, _ = tessera_run(*ARGS, "--stats")
    for title in ("Warp instructions", "Global memory", "Bytes moved", "Occupancy on sm_80"):
        assert title in out
    # Two blocks of two warps, of which the last has a few lanes: a load and a store each.
    assert re.search(r"total +8 +\d+ ", out)


def test_several_processes_give_the_same_bits(tmp_path: Path) -> None:
    args = ("--grid=16", "--arg=x=rand:f32:1000", "--arg=i32:1000", "--arg=f32:0.3", "--stats")
    one = tessera_run(*args, "--processes=1", "--out", "x=one.bin", cwd=tmp_path)[0]
    three = tessera_run(*args, "--processes=3", "--out", "x=three.bin", cwd=tmp_path)[0]
    assert one == three
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "three.bin").read_bytes()


def test_atomics_stay_exact_whatever_the_processes(tmp_path: Path) -> None:
    tessera_run("--grid=8", "--arg=x=zeros:u32:1", "--processes=4", "--expect", "x=full:u32:1:256", ptx=COUNT)


# -- inputs


def test_mlir_is_compiled_and_findings_name_its_lines(tmp_path: Path) -> None:
    args = [f"--arg={a}" for a in (
        "a=rand:f32:1000", "i32:1000", "i32:1", "b=rand:f32:1000", "i32:1000", "i32:1", "c=zeros:f32:992", "i32:1000",
        "i32:1")]  # fmt: skip
    _, err = tessera_run(str(ROOT / "examples/vector_add.mlir"), *args, status=3)
    assert "error: out-of-bounds" in err
    assert re.search(r"at .*vector_add\.mlir:\d+", err)


def test_mlir_that_does_not_verify_is_refused_at_its_line() -> None:
    err = refused("--grid=1", ptx="func.func @f() -> i32 {\n  return\n}")
    assert ":2:3: error: 'func.return' op has 0 operands, but enclosing function (@f) returns 1" in err


def test_mlir_runs_for_each_gpu(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(2000, np.float32) for _ in range(2))
    for name, array in (("a", a), ("b", b), ("c", a + b)):
        np.save(tmp_path / f"{name}.npy", array)
    args = [f"--arg={a}" for a in (
        "@a.npy", "i32:2000", "i32:1", "@b.npy", "i32:2000", "i32:1", "c=zeros:f32:2000", "i32:2000", "i32:1",
    )]  # fmt: skip
    for gpu in ("sm_80", "sm_90a"):
        _, err = tessera_run(
            str(ROOT / "examples/vector_add.mlir"), f"--gpu-name={gpu}", "--grid=2", *args, "--expect=c=@c.npy",
            cwd=tmp_path,
        )  # fmt: skip
        assert "c: 2,000 elements as expected" in err


def test_the_ptx_that_ran_is_saved(tmp_path: Path) -> None:
    source = str(ROOT / "examples/vector_add.mlir")
    args = [f"--arg={a}" for a in ("zeros:f32:8", "i32:8", "i32:1") * 3]
    tessera_run(source, *args, "--save-ptx=k.ptx", cwd=tmp_path)
    assert ".entry vector_add" in (tmp_path / "k.ptx").read_text()


def test_a_cubin_is_refused_on_the_simulated_gpu(tmp_path: Path) -> None:
    require_tool("ptxas")
    (tmp_path / "k.cubin").write_bytes(b"\x7fELF\x02\x01")
    err = refused("k.cubin", cwd=tmp_path)
    assert "the simulated GPU runs PTX" in err
    assert "use the .ptx or .mlir that it was compiled from, or use --device=cuda" in err


MANIFEST = {
    "schema": 2, "target": "sm_80", "ptx_version": "8.0",
    "kernels": [{
        "name": "scale", "block": [64, 1, 1], "cluster": [1, 1, 1], "static_shared": 0, "dynamic_shared": 0,
        "registers": 16, "tensor_maps": [],
        "parameters": [
            {"name": "data", "type": "ptr", "size": 8, "offset": 0},
            {"name": "count", "type": "i32", "size": 4, "offset": 8},
            {"name": "factor", "type": "f32", "size": 4, "offset": 12},
        ],
    }],
}  # fmt: skip


def test_a_manifest_names_parameters(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps(MANIFEST))
    err = refused("--manifest=m.json", "--arg=zeros:f32:8", "--arg=f32:8", "--arg=f32:1", cwd=tmp_path)
    assert "parameter 'count' (i32): found f32:8.0, expected i32" in err
    err = refused("--manifest=m.json", "--arg=i64:8", "--arg=i32:8", "--arg=f32:1", cwd=tmp_path)
    assert "parameter 'data' (ptr): found i64:8, expected a buffer" in err


@pytest.mark.parametrize("place", ["6-ptx.json", "7-cubin.json"])
def test_the_manifest_beside_ptx_is_found(place: str, tmp_path: Path) -> None:
    (tmp_path / "6-ptx.ptx").write_text(SCALE)
    (tmp_path / "6-ptx.json").write_text('{"of": "another program"}')
    (tmp_path / place).write_text(json.dumps(MANIFEST))
    args = ("--arg=zeros:f32:8", "--arg=f32:8", "--arg=f32:1")
    assert refused("6-ptx.ptx", *args, cwd=tmp_path) == refused(
        "6-ptx.ptx", f"--manifest={place}", *args, cwd=tmp_path
    )
    (tmp_path / place).write_text(json.dumps(MANIFEST).replace('"scale"', '"other"'))
    (tmp_path / "none.ptx").write_text(SCALE)
    assert refused("6-ptx.ptx", *args, cwd=tmp_path).replace("6-ptx", "none") == refused(
        "none.ptx", *args, cwd=tmp_path
    )


def test_a_param_list_names_parameters() -> None:
    names = ("--param=data:ptr", "--param=count:i32", "--param=factor:f32")
    err = refused(*names, "--arg=zeros:f32:8", "--arg=i32:8")
    assert "parameter 'factor' (f32) has no argument: 2 arguments given" in err
    assert "'scale' takes 3: data: ptr, count: i32, factor: f32" in err
    assert "--param: 1 given; the entry 'scale' has 3 parameters" in refused("--param=data:ptr", *ARGS)
    assert "i64 takes 8 bytes; 'n' has 4" in refused("--param=a:ptr", "--param=b:i64", "--param=c:f32", *ARGS)


# -- --launch


def launch_file(folder: Path, **changes: object) -> str:
    np.arange(100, dtype="<f4").tofile(folder / "X.bin")
    data = {
        "entry": "scale", "grid": [2],
        "buffers": {"X": {"file": "X.bin", "out": "X.after.bin"}},
        "args": [{"pointer": "X", "offset": 40}, {"i32": 10}, {"f32": 0.5}],
    } | changes  # fmt: skip
    (folder / "launch.json").write_text(json.dumps(data))
    return f"--launch={folder / 'launch.json'}"


def test_a_launch_file_takes_and_gives_raw_images(tmp_path: Path) -> None:
    tessera_run(launch_file(tmp_path))
    want = np.arange(100, dtype="<f4")
    want[10:20] /= 2
    assert (tmp_path / "X.after.bin").read_bytes() == want.tobytes()


def test_a_launch_file_puts_addresses_into_buffers(tmp_path: Path) -> None:
    np.array([1, 2, 3], "<u4").tofile(tmp_path / "A.bin")
    (tmp_path / "T.bin").write_bytes(bytes(16))
    data = {
        "grid": [1, 1, 1],
        "buffers": {
            "A": {"file": "A.bin"}, "R": {"size": 4, "out": "R.bin"},
            "T": {"file": "T.bin", "pointers": [{"at": 8, "to": "A", "offset": 4}]},
        },
        "args": [{"pointer": "R"}, {"pointer": "T", "offset": 8}],
    }  # fmt: skip
    (tmp_path / "l.json").write_text(json.dumps(data))
    tessera_run("--launch=l.json", ptx=COPY, cwd=tmp_path)
    assert (tmp_path / "R.bin").read_bytes() == b"\x02\0\0\0"


def test_an_expected_image_of_a_launch_file(tmp_path: Path) -> None:
    want = np.arange(100, dtype="<f4")
    want[10:20] /= 2
    np.save(tmp_path / "want.npy", want)
    tessera_run(launch_file(tmp_path), "--expect", f"X=@{tmp_path / 'want.npy'}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"args": [{"pointer": "Y"}]}, "args[0].pointer: found 'Y', expected one of the buffers X"),
        ({"args": [{"i32": 1.5}]}, "args[0]: found 1.5, expected a number of type i32"),
        ({"args": [{"i32": 1 << 40}]}, "expected a number that fits i32"),
        ({"args": [{"int": 1}]}, "args[0]: found"),
        ({"args": []}, "parameter 'x' (i64) has no argument: 0 arguments given"),
        ({"args": [{"pointer": "X"}, {"i64": 1}, {"f32": 1}]}, "parameter 'n' (i32): found i64:1, expected i32"),
        ({"grid": [0]}, "grid: found [0], expected a list of one to three numbers from 1"),
        ({"gird": [1]}, "found the field 'gird', expected only entry, grid,"),
        ({"entry": "skale"}, "there is no entry 'skale'; found 'scale'"),
        ({"buffers": {"X": {"file": "none.bin"}}}, "cannot open"),
        ({"buffers": {"X": {}}}, "buffers.X: found neither of 'file' and 'size'"),
        ({"buffers": {"X": {"size": 8, "pointers": [{"at": 4, "to": "X", "offset": 0}]}}},
         "found a pointer at byte 4 of 8"),
        ({"buffers": {"X": {"size": 8, "pointers": [{"at": 0, "to": "Z"}]}}}, "found 'Z'"),
    ],
)  # fmt: skip
def test_a_wrong_launch_file_is_refused(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    assert message in refused(launch_file(tmp_path, **changes))


def test_a_launch_file_that_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "l.json").write_text("{'entry': 1}")
    assert "l.json:1:2: error: this is not JSON" in refused("--launch=l.json", cwd=tmp_path)


def test_two_ways_of_arguments_are_refused(tmp_path: Path) -> None:
    assert "--arg and --launch both specify arguments" in refused(launch_file(tmp_path), "--arg=i32:1")


# -- bad input


def test_what_is_not_ptx() -> None:
    err = refused(ptx=HEADER + "hello {")
    assert "<stdin>:4:1: error: unexpected token in PTX: found 'hello" in err


def test_a_binary_file_called_ptx(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_bytes(bytes(range(256)))
    assert "error: this is not PTX" in refused("k.ptx", cwd=tmp_path)


def test_ptx_for_32_bit_addresses() -> None:
    err = refused(*ARGS, ptx=SCALE.replace(".address_size 64", ".address_size 32"))
    assert "<stdin>:3:" in err
    assert "the address size is 32; expected 64" in err


def test_a_missing_entry() -> None:
    assert "there is no entry 'gemm'; found 'scale'" in refused("--entry=gemm", *ARGS)


def test_several_entries_need_a_name() -> None:
    two = SCALE + SPIN.removeprefix(HEADER)
    assert "there are 2 entries: 'scale', 'spin'" in refused(*ARGS, ptx=two)
    tessera_run(*ARGS, "--entry=scale", ptx=two)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "parameter 'x' (i64) has no argument: 0 arguments given"),
        (["zeros:f32:8"], "parameter 'n' (i32) has no argument: 1 argument given"),
        (["zeros:f32:8", "i32:1", "f32:1", "f32:2"], "4 arguments given, 3 expected"),
        (["zeros:f32:8", "zeros:i32:1", "f32:1"],
         "parameter 'n' (i32): found the buffer 'zeros:i32:1', expected a number as i32:VALUE"),
        (["zeros:f32:8", "i64:1", "f32:1"], "parameter 'n' (i32): found i64:1, expected i32"),
        (["zeros:f32:8", "f32:1", "f32:1"], "parameter 'n' (i32): found f32:1.0, expected i32"),
        (["zeros:f32:8", "i32:1", "f64:1"], "parameter 'by' (f32): found f64:1.0, expected f32"),
        (["zeros:f32:8", "i32:4294967296", "f32:1"], "does not fit i32"),
        (["zeros:f33:8", "i32:1", "f32:1"], "parameter 'x' (i64): 'zeros:f33:8': unknown type 'f33'"),
        (["zeros:f32:8y2", "i32:1", "f32:1"], "the shape is '8y2'"),
        (["zeros:f32", "i32:1", "f32:1"], "expected zeros:TYPE:SHAPE"),
        (["zeros:f32:99999999x99999999", "i32:1", "f32:1"], "expected at most"),
        (["zeros:f32:8", "tensormap:A:8", "f32:1"],
         "parameter 'n' (i32): 'tensormap:A:8' names the buffer 'A', which no earlier --arg defines"),
        (["@none.npy", "i32:1", "f32:1"], "cannot open 'none.npy': no such file or directory"),
        (["@data.bin", "i32:1", "f32:1"], "'data.bin' is not a .npy file, so its type is unknown"),
        (["f32:8", "i32:1", "f32:1"], "parameter 'x' (i64): found f32:8.0, expected i64"),
        (["zeros:f32:8", "i32:one", "f32:1"], "'one' is not a number of type i32"),
        (["zeros:f32:8", "", "f32:1"], "parameter 'n' (i32): '': not a valid argument"),
    ],
)  # fmt: skip
def test_wrong_arguments_name_the_parameter(args: list[str], message: str) -> None:
    assert message in refused(*(part for arg in args for part in ("--arg", arg)))


def test_a_buffer_that_is_not_there() -> None:
    assert "there is no buffer 'y'; the arguments define x" in refused(*ARGS, "--out=y=y.npy")


@pytest.mark.parametrize("grid", ["0", "1,2,3,4", "a", "", "-1", "1,,2"])
def test_a_grid_that_is_none(grid: str) -> None:
    assert f"--grid is '{grid}'; expected one to three numbers" in refused(f"--grid={grid}", *ARGS[1:])


def test_a_grid_that_is_too_large() -> None:
    err = refused("--grid=1,65536", *ARGS[1:])
    assert "the grid is (1, 65536, 1)" in err
    assert "65535" in err


def test_a_block_that_is_too_large_or_another() -> None:
    assert "'scale' was compiled for (64, 1, 1)" in refused(*ARGS, "--block=32")
    free = SCALE.replace(".reqntid 64, 1, 1\n", "")
    assert "a block of 2048 threads; sm_80 has at most 1024" in refused(*ARGS, "--block=1024,2", ptx=free)
    assert "the block size of 'scale' is not specified" in refused(*ARGS, ptx=free)
    tessera_run(*ARGS, "--block=64", ptx=free)


def test_more_shared_memory_than_the_target_has() -> None:
    assert "166913 bytes of shared memory; a block of sm_80 has at most 166912" in refused(
        *ARGS, "--shared=166913"
    )
    tessera_run(*ARGS, "--shared=166912")


def test_an_endless_loop_tells_where_it_spins() -> None:
    err = refused("--max-instructions=1000", ptx=SPIN)
    assert (
        "<stdin>:9:1: error: reached the limit of 1000 warp instructions; the launch was stopped here: bra"
        in err
    )
    assert "raise the limit with --max-instructions" in err


def test_ptx_for_a_later_gpu() -> None:
    later = SCALE.replace("sm_80", "sm_90")
    assert "the PTX is for sm_90 and later; it does not run on sm_80" in refused(
        "--gpu-name=sm_80", *ARGS, ptx=later
    )
    tessera_run("--gpu-name=sm_90", *ARGS)


def test_an_unknown_gpu() -> None:
    assert "unknown GPU 'sm_91'" in refused("--gpu-name=sm_91", *ARGS)


def test_an_unknown_instruction_is_named_at_load() -> None:
    err = refused(*ARGS, ptx=SCALE.replace("mul.f32", "mulmul.f32"))
    assert re.search(r"<stdin>:\d+:\d+: error: .*mulmul", err)


def test_unknown_options_are_suggested() -> None:
    assert "did you mean '--schedules'?" in refused("--schedule=3")


def test_an_output_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "create the directory first" in refused(*ARGS, "--out=x=no/y.npy", cwd=tmp_path)


def test_types_that_numpy_lacks_are_patterns(tmp_path: Path) -> None:
    tessera_run("--arg=x=full:bf16:8:1.5", "--arg=i32:0", "--arg=f32:1", "--out=x=y.npy", cwd=tmp_path)
    assert np.load(tmp_path / "y.npy").tolist() == [0x3FC0] * 8


def test_no_package_for_a_real_gpu_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert "--device=cuda needs the package cuda-bindings" in refused("--device=cuda", *ARGS)


def test_dynamic_shared_memory_that_nobody_gave_is_warned_of() -> None:
    ptx = SCALE.replace(".visible", ".extern .shared .align 16 .b8 tile[];\n.visible")
    _, err = tessera_run(*ARGS, ptx=ptx)
    assert "warning: 'tile' is dynamic shared memory, but its size is 0" in err
    assert "note: specify --shared=BYTES or --manifest=FILE" in err
    assert "warning" not in tessera_run(*ARGS, "--shared=1024", ptx=ptx)[1]


SAME = RACE.replace(
    "st.global.u32 [%rd0], %r0", "mov.u32 %r1, 7; mov.u32 %r2, tile; st.shared.u32 [%r2], %r1"
).replace(".visible", ".shared .align 4 .b8 tile[64];\n.visible")
"""Every thread stores the same number to the same word of shared memory: a warning."""


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        ((), 0, ": warning: race: "),
        (("--findings=warnings",), 0, "1 warning\n"),
        (("--findings=strict",), 3, ": error: race: "),
    ],
)
def test_warnings_set_the_status_only_when_asked(options: tuple[str, ...], status: int, text: str) -> None:
    _, err = tessera_run("--arg=zeros:u32:1", *options, ptx=SAME, status=status)
    assert text in err


def test_warnings_can_be_left_out() -> None:
    _, err = tessera_run("--arg=zeros:u32:1", "--findings=errors", ptx=SAME)
    assert "race" not in err.replace("race: grid", "")
    assert "no findings" in err


def test_a_launch_beyond_its_time_limit_is_an_error() -> None:
    err = refused("--time-limit=0.01", ptx=SPIN)
    assert "reached the time limit of 0.01 seconds" in err
    assert "raise the limit with --time-limit" in err
