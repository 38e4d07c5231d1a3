"""`tessera-tune`: the search, what counts, resuming, and the use of its results."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import fresh_seed
from runtime.test_cuda import install

import tessera_tools as tt
from tessera_tools.api.compiling import Kernel
from tessera_tools.cli import run as run_command
from tessera_tools.cli import translate, tune
from tessera_tools.cli.tune_measure import compared_grid
from tessera_tools.emit.tunables import TUNABLES, Tunable
from tessera_tools.emit.tuned import Database, Tuned, kernel_digest, shapes_class
from tessera_tools.ir.printing import print_op
from tessera_tools.runtime.signature import Shape
from tessera_tools.tuning.exploration import Exploration
from tessera_tools.tuning.pool import Local

ROOT = Path(__file__).resolve().parents[2]
SUM = """\
cuda_tile.module @m {{
  entry @total(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {{
    %view = make_tensor_view %p, shape = [{n}], strides = [1] : tensor_view<{n}xf32, strides=[1]>
    %part = make_partition_view %view : partition_view<tile=({n}), tensor_view<{n}xf32, strides=[1]>>
    %out = make_tensor_view %q, shape = [{n}], strides = [1] : tensor_view<{n}xf32, strides=[1]>
    %to = make_partition_view %out : partition_view<tile=({n}), tensor_view<{n}xf32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %x, %t = load_view_tko weak %part[%zero]
      : partition_view<tile=({n}), tensor_view<{n}xf32, strides=[1]>>, tile<i32> -> tile<{n}xf32>, token
    %s = reduce %x dim=0 identities=[0.0 : f32] : tile<{n}xf32> -> tile<f32>
      (%a: tile<f32>, %b: tile<f32>) {{
        %c = addf %a, %b : tile<f32>
        yield %c : tile<f32>
      }}
    %r = reshape %s : tile<f32> -> tile<1xf32>
    %w = broadcast %r : tile<1xf32> -> tile<{n}xf32>
    %u = store_view_tko weak %w, %to[%zero]
      : tile<{n}xf32>, partition_view<tile=({n}), tensor_view<{n}xf32, strides=[1]>>, tile<i32> -> token
    return
  }}
}}
"""
"""The sum of n numbers, whose last bits depend on the number of warps."""
VECTOR_ADD = [
    str(ROOT / "examples" / "vector_add.mlir"), "--grid=2",
    *("--arg=a=rand:f32:2000", "--arg=i32:2000", "--arg=i32:1"),
    *("--arg=b=rand:f32:2000", "--arg=i32:2000", "--arg=i32:1"),
    *("--arg=c=zeros:f32:2000", "--arg=i32:2000", "--arg=i32:1"),
]  # fmt: skip
SHAPES = "2x1x1:-,2048,1,-,2048,1,-,2048,1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with the kernel SUM."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.mlir").write_text(SUM.format(n=1024))
    return tmp_path


def tuned(*argv: str) -> str:
    """The output of a search that succeeds, on sm_80."""
    done = tune.run(["--gpu-name=sm_80", "-o", "t.sqlite", *argv])
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode()


def refused(*argv: str) -> str:
    """The messages of a search that fails."""
    done = tune.run(["--gpu-name=sm_80", "-o", "t.sqlite", *argv])
    assert done.exit_code == 1, done.stdout.decode()
    return done.stderr.decode()


def trials(path: str) -> list[tuple[Any, ...]]:
    """Every trial in a file: configuration, outcome, cost."""
    database = sqlite3.connect(path)
    rows = database.execute("SELECT config, outcome, cost FROM trials ORDER BY config").fetchall()
    database.close()
    return rows


def known(config: dict[str, Any], *, shapes: str = SHAPES, path: str = "t.sqlite") -> None:
    """Write a result for examples/vector_add.mlir on sm_80."""
    text = print_op(tt.parse_file(VECTOR_ADD[0]))
    database = Database(path, create=True)
    database.keep(Tuned(kernel_digest(text), "vector_add", "sm_80", shapes, "clock", config, 1.0, 2.0))
    database.close()


def ptx(*argv: str) -> tuple[str, str]:
    """PTX of examples/vector_add.mlir for sm_80, and the messages."""
    done = translate.run(["--mlir-to-ptx", "--gpu-name=sm_80", VECTOR_ADD[0], *argv])
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


# -- the tunables


@pytest.mark.parametrize("one", TUNABLES, ids=lambda one: one.name)
def test_a_tunable_is_an_option_everywhere(one: Tunable) -> None:
    import inspect
    from dataclasses import fields

    from tessera_tools.emit.compiled import Options

    assert one.name in {field.name for field in fields(Options)}
    assert one.option in translate.VALUES and one.option in run_command.VALUES
    assert one.name in inspect.signature(tt.compile).parameters


# -- whole searches


def test_the_same_command_gives_the_same_trials_with_any_number_of_processes() -> None:
    for number in ("1", "2"):
        tuned(*VECTOR_ADD, "--search=num-warps", f"--processes={number}", "-o", f"{number}.sqlite")
    assert trials("1.sqlite") == trials("2.sqlite")
    assert len(trials("1.sqlite")) == 7


def test_a_search_is_resumed() -> None:
    assert "3 configurations (2 now)" in tuned(*VECTOR_ADD, "--search=num-warps", "--most=3")
    assert "7 configurations (4 now)" in tuned(*VECTOR_ADD, "--search=num-warps")
    assert "7 configurations (0 now)" in tuned(*VECTOR_ADD, "--search=num-warps")
    assert "7 configurations (6 now)" in tuned(*VECTOR_ADD, "--search=num-warps", "--restart")


def test_an_interrupted_search_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Local.run

    def interrupted(self: Local, *args: Any) -> Iterator[Any]:
        for number, trial in enumerate(whole(self, *args)):
            if number == 2:
                raise KeyboardInterrupt
            yield trial

    with monkeypatch.context() as patch:
        patch.setattr(Local, "run", interrupted)
        done = tune.run(["--gpu-name=sm_80", "-o", "t.sqlite", *VECTOR_ADD, "--search=num-warps"])
    assert done.exit_code == 130
    assert "interrupted after 2 candidates; run the same command to resume" in done.stderr.decode()
    assert "7 configurations (4 now)" in tuned(*VECTOR_ADD, "--search=num-warps")


COMMAND = [sys.executable, "-m", "tessera_tools.cli.tune", "--gpu-name=sm_80", "--search=num-warps"]


def written(path: Path) -> int:
    """How many trials a search that runs has written."""
    try:
        return len(trials(str(path)))
    except sqlite3.Error:
        return 0


def result(output: str) -> str:
    """The line with what a search has found."""
    return next(line for line in output.splitlines() if ", untuned " in line)


def test_a_search_that_was_killed_is_resumed_with_the_same_result(folder: Path) -> None:
    whole = result(tuned(*VECTOR_ADD, "--search=num-warps", "-o", "whole.sqlite"))
    with subprocess.Popen([*COMMAND, *VECTOR_ADD, "-o", "t.sqlite", "--processes=1"]) as search:
        while written(folder / "t.sqlite") < 3 and search.poll() is None:
            time.sleep(0.01)
        search.kill()
    assert len(trials("t.sqlite")) >= 3
    assert result(tuned(*VECTOR_ADD, "--search=num-warps")) == whole
    assert trials("t.sqlite") == trials("whole.sqlite")


def test_two_searches_may_share_a_file() -> None:
    searches = [
        subprocess.Popen([*COMMAND, *VECTOR_ADD, "-o", "t.sqlite", "--processes=1"], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    found = {result(search.communicate()[0].decode()) for search in searches}
    assert [search.returncode for search in searches] == [0, 0]
    assert len(found) == 1
    assert len(trials("t.sqlite")) == 7


def test_a_file_that_cannot_be_written_is_an_error_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    known({})
    connect = sqlite3.connect
    # Permissions do not bind the superuser: the file is opened as one that may not be written.
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **options: connect(name.replace("mode=rwc", "mode=ro"), **options)
    )
    told = refused(*VECTOR_ADD, "--search=num-warps")
    assert "cannot use the tuning results 't.sqlite': attempt to write a readonly database" in told
    assert trials("t.sqlite") == []


def test_a_file_in_a_missing_folder_is_an_error() -> None:
    told = refused(*VECTOR_ADD, "--search=num-warps", "-o", "none/t.sqlite")
    assert "error: cannot use the tuning results 'none/t.sqlite': unable to open database file" in told


def test_other_arguments_are_another_search() -> None:
    tuned(*VECTOR_ADD, "--search=num-warps", "--most=3")
    assert "(2 now)" in tuned(*VECTOR_ADD, "--search=num-warps", "--most=3", "--seed=1")


def test_a_candidate_that_disagrees_does_not_count() -> None:
    """Sums in another order have other last bits, which --tolerance=0 refuses."""
    launch = ["sum.mlir", "--arg=x=rand:f32:1024", "--arg=y=zeros:f32:1024", "--search=num-warps"]
    strict = tuned(*launch, "--tolerance=0")
    assert "disagrees" in strict
    rows = trials("t.sqlite")
    assert all(cost is None for _, outcome, cost in rows if outcome == "disagrees")
    assert "disagrees" not in tuned(*launch, "-o", "loose.sqlite")


def test_candidates_whose_ctas_compute_other_tile_blocks_are_compared() -> None:
    """Of a large grid, the clock runs a sample, and these options change what its CTAs compute."""
    launch = [VECTOR_ADD[0], "--grid=40", "--search=persistent"]
    for letter in "abc":
        launch += [f"--arg={letter}=rand:f32:40000", "--arg=i32:40000", "--arg=i32:1"]
    tuned(*launch)
    outcomes = {
        json.loads(config).get("persistent", ""): outcome for config, outcome, _ in trials("t.sqlite")
    }
    assert outcomes == {
        "": "measured", "never": "measured", "static": "measured", "counter": "measured", "cancel": "refused",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "small"), [((4, 4, 1), (4, 4, 1)), ((17, 1, 1), (2, 1, 1)), ((64, 32, 3), (2, 2, 2))]
)
def test_the_results_of_a_large_grid_are_those_of_a_small_one(grid: Shape, small: Shape) -> None:
    assert compared_grid(grid) == small


def test_a_candidate_that_the_compiler_refuses_does_not_count() -> None:
    told = tuned(*VECTOR_ADD, "--search=num-consumer-warpgroups")
    assert "3 refused" in told
    assert "the compiler's choices: " in told


def test_a_candidate_that_takes_too_long_does_not_count() -> None:
    told = tuned(*VECTOR_ADD, "--search=num-warps", "--candidate-timeout=0.001")
    assert "6 failed" in told


def test_types_of_a_launch_file_are_those_of_the_kernel(folder: Path) -> None:
    """Raw images have no type; the parameters say that they are f32, so that another order of a sum agrees."""
    x = np.random.default_rng(fresh_seed()).standard_normal(1024).astype(np.float32)
    x.tofile(folder / "x.bin")
    (folder / "launch.json").write_text(
        json.dumps(
            {
                "grid": [1], "buffers": {"x": {"file": "x.bin"}, "y": {"size": 4096}},
                "args": [{"pointer": "x"}, {"pointer": "y"}],
            }
        )
    )  # fmt: skip
    assert "disagrees" not in tuned("sum.mlir", "--launch=launch.json", "--search=num-warps")


def test_candidates_run_on_a_local_ray_cluster() -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the package ray is not installed")
    tuned(*VECTOR_ADD, "--search=num-warps")
    tuned(*VECTOR_ADD, "--search=num-warps", "--ray", "-o", "ray.sqlite")
    assert trials("ray.sqlite") == trials("t.sqlite")


def test_without_ray_an_error_names_the_extra() -> None:
    if importlib.util.find_spec("ray") is not None:
        pytest.skip("the package ray is installed")
    assert "pip install 'tessera-tools[ray]'" in refused(*VECTOR_ADD, "--ray")


def test_a_gpu_measures_here_what_processes_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    # The driver that the simulated GPU plays takes PTX.
    monkeypatch.setattr(Kernel, "cubin", property(lambda kernel: kernel.ptx.encode() + b"\0"))
    told = tuned(*VECTOR_ADD, "--search=num-warps", "--most=3", "--measure=gpu", "--gpu-name=sm_100")
    assert "vector_add for sm_100, on the GPU" in told
    assert "the compiler's choices: 1500.00 µs, untuned 1500.00 µs" in told
    # Each is launched once to compare its results, and then 23 times; the same code is not measured again.
    assert driver.calls.count("cuLaunchKernel") in (2 * 24, 3 * 24)


def test_without_a_gpu_a_measurement_on_one_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, devices=0)
    monkeypatch.setattr(Kernel, "cubin", property(lambda kernel: kernel.ptx.encode() + b"\0"))
    assert "no usable GPU" in refused(*VECTOR_ADD, "--measure=gpu")


# -- use of the results


def test_the_result_of_a_search_is_used() -> None:
    told = tuned(*VECTOR_ADD, "--search=num-warps", "--seed=3")
    best = next(line for line in told.splitlines() if "; shapes" in line).partition(":")[0]
    options = best.split() if best.startswith("--") else []
    assert ptx("--tuned=t.sqlite") == ptx(*options)


def test_tuned_compiles_as_the_file_says() -> None:
    known({"num_warps": 2})
    assert ptx("--tuned=t.sqlite") == ptx("--num-warps=2") != ptx()
    api = tt.compile(VECTOR_ADD[0], "sm_80", tuned="t.sqlite")
    assert api.manifest.kernels[0].block == (64, 1, 1)


def test_a_result_may_be_a_word() -> None:
    source = str(ROOT / "test" / "corpus" / "attention_causal_f16_d64.mlir")
    database = Database("t.sqlite", create=True)
    digest = kernel_digest(print_op(tt.parse_file(source)))
    config: dict[str, Any] = {"ping_pong": "never", "num_stages": 2}
    database.keep(Tuned(digest, "attention_causal_f16_d64", "sm_90", SHAPES, "clock", config, 1.0, 2.0))
    database.close()
    found = tt.compile(source, "sm_90a", tuned="t.sqlite")
    assert found.ptx == tt.compile(source, "sm_90a", ping_pong="never", num_stages=2).ptx


def test_a_run_uses_the_result_of_its_own_shapes() -> None:
    known({"num_warps": 2}, shapes="1x1x1:-,1024,1,-,1024,1,-,1024,1")
    known({"num_warps": 8})
    done = run_command.run([*VECTOR_ADD, "--gpu-name=sm_80", "--tuned=t.sqlite"])
    assert "block 256x1x1" in done.stderr.decode()


def test_results_that_differ_by_shapes_need_a_choice() -> None:
    other = "1x1x1:-,1024,1,-,1024,1,-,1024,1"
    known({"num_warps": 2}, shapes=other)
    known({"num_warps": 8})
    done = translate.run(["--mlir-to-ptx", "--gpu-name=sm_80", VECTOR_ADD[0], "--tuned=t.sqlite"])
    assert done.exit_code == 1
    assert "different results for entries or shapes" in done.stderr.decode()
    assert ptx("--tuned=t.sqlite", f"--shapes={other}") == ptx("--num-warps=2")


def test_a_kernel_without_a_result_is_compiled_with_a_warning() -> None:
    known({"num_warps": 2})
    done = translate.run(["--mlir-to-ptx", "--gpu-name=sm_90", VECTOR_ADD[0], "--tuned=t.sqlite"])
    assert done.exit_code == 0
    assert "warning: 't.sqlite' has no result for" in done.stderr.decode()
    told = tt.compile(VECTOR_ADD[0], "sm_90", tuned="t.sqlite").remarks
    assert "has no result for" in told[0].message


def test_tuned_excludes_what_it_chooses() -> None:
    known({"num_warps": 2})
    done = translate.run(["--mlir-to-ptx", VECTOR_ADD[0], "--tuned=t.sqlite", "--num-warps=4"])
    assert "--num-warps=4 and --tuned both choose how to compile; use only one" in done.stderr.decode()


def test_ptx_has_nothing_to_choose(folder: Path) -> None:
    (folder / "k.ptx").write_text(ptx()[0])
    known({})
    for command, argv in ((translate.run, ["--mlir-to-cubin", "-o", "k.cubin"]), (run_command.run, [])):
        done = command([*argv, "k.ptx", "--tuned=t.sqlite"])
        assert done.exit_code == 1 and "PTX" in done.stderr.decode()
    assert "is PTX, whose stages and warps are decided" in refused("k.ptx")


def test_shapes_are_rounded_up() -> None:
    assert shapes_class((3, 1, 1), [None, 0, 1, 17, 4096, 4095, -48]) == "4x1x1:-,0,1,32r,4096,4096r,-64"


# -- refusals


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--search=warps", *VECTOR_ADD], "--search: unknown option 'warps'; expected some of num-warps"),
        (["--gpu-name=sm_120", *VECTOR_ADD], "the clock has no table for sm_120"),
        (["sum.mlir", "--arg=x=rand:f32:1024"], "parameter"),
        (["sum.mlir", "--launch=none.json"], "none.json"),
        (["sum.mlir", "--launch=a.json", "--arg=i32:1"], "--arg and --launch both specify arguments"),
        (["--grid=0", *VECTOR_ADD[:1], *VECTOR_ADD[2:]], "--grid is '0'"),
        (["missing.mlir"], "cannot open input file 'missing.mlir'"),
        (["--most=0", *VECTOR_ADD], "--most"),
    ],
)
def test_a_wrong_command_line_is_an_error(argv: Sequence[str], message: str) -> None:
    assert message in refused(*argv)


def test_a_kernel_that_writes_nothing_cannot_be_compared() -> None:
    told = refused("sum.mlir", "--arg=x=zeros:f32:1024", "--arg=y=zeros:f32:1024")
    assert "the untuned kernel changes no buffer" in told


def test_a_kernel_with_findings_is_not_tuned() -> None:
    told = refused("sum.mlir", "--arg=x=rand:f32:1000", "--arg=y=zeros:f32:1024")
    assert re.match(r"error: the untuned kernel has a finding: 4 bytes at .*; x ends there\n", told)
    assert "note: tessera-run with the same arguments shows them" in told


def test_a_search_whose_kernel_fails_the_last_check_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exploration, "best", lambda *_: None)
    told = refused(*VECTOR_ADD, "--search=num-warps", "--most=1")
    assert "error: no configuration passes, not even the untuned one" in told


def test_a_fault_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESSERA_DEBUG", raising=False)
    monkeypatch.setattr(Exploration, "best", lambda *_: 1 // 0)
    told = refused(*VECTOR_ADD, "--search=num-warps", "--most=1")
    assert "error: internal fault while tuning: ZeroDivisionError" in told


def test_an_error_of_the_kernel_has_its_place(folder: Path) -> None:
    (folder / "bad.mlir").write_text("cuda_tile.module @m {\n  entry @k() {\n    nosuch\n  }\n}\n")
    assert "bad.mlir:3:5: error: " in refused("bad.mlir")


def damaged(kind: str, path: Path) -> str:
    """Damage a file of results; what the error says."""
    if kind == "text":
        path.write_text("not a database")
        return "no SQLite file"
    if kind == "pipe":
        path.unlink()
        os.mkfifo(path)
        return "no regular file"
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:5000])
        return "not a file of tuning results"
    if kind == "noise":
        raw = bytearray(path.read_bytes())
        raw[100:4000] = np.random.default_rng(fresh_seed()).integers(0, 256, 3900, np.uint8).tobytes()
        path.write_bytes(raw)
        return "t.sqlite"
    changes = {
        "other program": ("PRAGMA application_id = 7", "an SQLite file of another program"),
        "version": ("PRAGMA user_version = 99", "version 99 of the format; expected 1"),
        "trigger": (
            "CREATE TRIGGER evil AFTER INSERT ON results BEGIN DELETE FROM results; END",
            "another definition of 'evil'",
        ),
        "view": ("CREATE VIEW peek AS SELECT 1", "another definition of 'peek'"),
        "config": ("UPDATE results SET config = '[1]'", "the configuration '[1]'"),
        "no json": ("UPDATE results SET config = '{'", "the configuration '{'"),
        "deep json": ("UPDATE results SET config = printf('%.*c', 4000, '[')", "the configuration '[["),
        "tunable": ("UPDATE results SET config = '{\"ptxas\": 1}'", "the unknown tunable 'ptxas'"),
        "value": ("UPDATE results SET config = '{\"num_warps\": 3}'", "num_warps = 3"),
        "word": ('UPDATE results SET config = \'{"ping_pong": "often"}\'', "ping_pong = 'often'"),
        "bool": ("UPDATE results SET config = '{\"num_warps\": true}'", "num_warps = True"),
        "cost": ("UPDATE results SET cost = -1.0", "-1.0 in place of a time"),
        "blob": ("UPDATE results SET shapes = x'00ff'", "in place of a text"),
        "measure": ("UPDATE results SET measure = 'guess'", "the measure 'guess'"),
    }
    change, message = changes[kind]
    database = sqlite3.connect(path)
    database.execute(change)
    database.commit()
    database.close()
    return message


@pytest.mark.parametrize(
    "kind",
    ["text", "pipe", "cut", "noise", "other program", "version", "trigger", "view", "config", "no json", "deep json",
     "tunable", "value", "word", "bool", "cost", "blob", "measure"],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_refused(kind: str, folder: Path) -> None:
    known({"num_warps": 2})
    message = damaged(kind, folder / "t.sqlite")
    done = translate.run(["--mlir-to-ptx", "--gpu-name=sm_80", VECTOR_ADD[0], "--tuned=t.sqlite"])
    assert done.exit_code == 1 and not done.stdout
    told = done.stderr.decode()
    assert message in told and "Traceback" not in told and "internal fault" not in told
    with pytest.raises(tt.DiagnosticError):
        tt.compile(VECTOR_ADD[0], "sm_80", tuned="t.sqlite")


def test_a_file_of_another_kind_is_not_written_over(folder: Path) -> None:
    (folder / "t.sqlite").write_text("precious")
    assert "is not a file of tuning results" in refused(*VECTOR_ADD)
    assert (folder / "t.sqlite").read_text() == "precious"


def test_a_missing_file_is_an_error() -> None:
    done = translate.run(["--mlir-to-ptx", VECTOR_ADD[0], "--tuned=none.sqlite"])
    assert "cannot open the tuning results 'none.sqlite': no such file" in done.stderr.decode()


def test_a_file_that_another_process_writes_is_waited_for_and_then_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known({})
    other = sqlite3.connect("t.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    database = Database.__new__(Database)
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, **{**options, "timeout": 0.1})
    )
    with pytest.raises(
        tt.DiagnosticError, match="cannot use the tuning results 't.sqlite': database is locked"
    ):
        database.__init__("t.sqlite", create=True)
    other.close()
