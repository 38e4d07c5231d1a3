"""tools/bench/gpu_pack.py, gpu_run.py and gpu_page.py, without a GPU: the driver is played by the simulated GPU."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.pages import ROOT
from programs import fresh_seed
from runtime.fake_driver import FakeDriver
from runtime.test_cuda import install

import tessera_tools as tt

sys.path.insert(0, str(ROOT / "tools" / "bench"))

import gpu_cases
import gpu_device
import gpu_page
import gpu_run

pytest.importorskip("cuda.tile", reason="the package cuda-tile writes the programs")

import gpu_pack

CASES = ("vector add f32 4096", "transpose f32 192x128", "softmax f32 16x1024", "gemm f16 128x256x128")
TEST = "vector_add_f32"
ONLY = f"^({'|'.join(CASES)}|test {TEST})$"
TILEIRAS = gpu_pack.wheel_tool("tileiras")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of the small cases."""
    import re

    folder = tmp_path_factory.mktemp("pack") / "pack"
    gpu_pack.pack(folder, "sm_90a", TILEIRAS, re.compile(ONLY).search, 60.0, lambda what: None)
    return folder


@pytest.fixture
def pack(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pack, in a folder that may be changed and is the working folder; no torch."""
    shutil.copytree(made, tmp_path / "pack")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(gpu_device, "_FLUSH_LEAST", 1 << 12)
    return tmp_path / "pack"


@functools.cache
def compiled(program: str | bytes, abi: str = "default") -> tt.Kernel:
    """What the driver runs for a cubin; many tests run the same."""
    return tt.compile(program, "sm_90a", abi=abi)


def driver_of(
    pack: Path, monkeypatch: pytest.MonkeyPatch, *, tileiras: dict[str, str] | None = None
) -> FakeDriver:
    """The driver. Our PTX stands for our cubins; PTX without hidden parameters stands for those of tileiras."""
    from gpu_kernels import export

    driver = install(monkeypatch)
    for case in gpu_cases.CASES:
        if case.name in CASES:
            bytecode = export(case.program)
            ours = (pack / "ours" / f"{case.program}.cubin").read_bytes()
            driver.cubins[ours] = (compiled(bytecode).ptx, 0)
            theirs = pack / "theirs" / f"{case.program}.cubin"
            if theirs.exists():
                plain = compiled(bytecode, "plain")
                ptx = (tileiras or {}).get(case.program, plain.ptx)
                driver.cubins[theirs.read_bytes()] = (ptx, plain.manifest.kernels[0].dynamic_shared)
    for who in ("ours", "theirs"):
        path = pack / who / f"test_{TEST}.cubin"
        if path.exists():
            source = (ROOT / "test" / "corpus" / f"{TEST}.mlir").read_bytes()
            driver.cubins[path.read_bytes()] = (compiled(source.decode(), "plain").ptx, 0)
    return driver


def measured(pack: Path, *argv: str, status: int = 0) -> dict[str, Any]:
    """The results of a run."""
    seed = fresh_seed() % 1000
    assert gpu_run.main([str(pack), "--seconds=0", f"--seed={seed}", *argv]) == status
    return json.loads(Path("results.json").read_text())


def test_a_pack_has_everything_and_is_small(made: Path) -> None:
    about = json.loads((made / "pack.json").read_text())
    assert about["cases"] == [case.name for case in gpu_cases.CASES if case.name in CASES]
    for case in CASES:
        assert about["estimates"][case]["us"] > 0 and about["estimates"][case]["from"] == "SASS"
    names = {path.name for path in made.iterdir()}
    assert {"gpu_run.py", "gpu_device.py", "gpu_cases.py", "gpu_peers.py", "tessera_tools.zip"} <= names
    assert sum(path.stat().st_size for path in made.rglob("*") if path.is_file()) < gpu_pack.LIMIT_MIB << 20
    assert all(path.read_bytes().startswith(b"\x7fELF") for path in made.rglob("*.cubin"))


def test_a_pack_runs_without_the_project(made: Path, tmp_path: Path) -> None:
    """Only the pack is importable, and there is no GPU here."""
    done = subprocess.run(
        [sys.executable, "-P", str(made / "gpu_run.py"), "--output", str(tmp_path / "r.json")],
        cwd=tmp_path, env={"PATH": "/usr/bin", "CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if "nothing is measured: no usable GPU" not in done.stdout:
        pytest.skip("this machine has a GPU")
    assert done.returncode == 0 and not done.stderr
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_checked_and_timed(
    case: str, pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_of(pack, monkeypatch)
    found = measured(pack, f"--only=^{case}$")
    record = found["cases"][case]
    for who in ("ours", "tileiras") if TILEIRAS else ("ours",):
        one = record["contenders"][who]
        assert one["outcome"] == "measured" and one["error"] <= one["allowed"]
        assert one["times_us"] == [1500.0] * 7
    assert found["device"] == "Fake GPU" and record["done"]
    shown = capsys.readouterr().out
    assert "1500.0" in shown and f"{record['estimate']['us']:.1f} (-100%)" in shown


def test_inputs_and_references_are_those_of_numpy(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case whose numbers are known: the reference sees what the kernel sees."""
    driver_of(pack, monkeypatch)
    gpu = gpu_device.Gpu()
    case = next(one for one in gpu_cases.CASES if one.name == CASES[0])
    memory = gpu_device.Memory.of(gpu, case, 7)
    a = np.random.default_rng(7).standard_normal(4096, np.float32)
    assert np.array_equal(memory.float64("a"), a.astype(np.float64))
    assert np.isnan(memory.float64("c")).all()


@pytest.mark.skipif(TILEIRAS is None, reason="tileiras is not installed")
def test_a_wrong_result_is_reported_and_not_timed(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_kernels import export

    plain = compiled(export("vector_add_f32"), "plain").ptx
    assert "add.rn.f32" in plain
    driver_of(pack, monkeypatch, tileiras={"vector_add_f32": plain.replace("add.rn.f32", "sub.rn.f32")})
    record = measured(pack, f"--only=^{CASES[0]}$")["cases"][CASES[0]]
    assert record["contenders"]["tileiras"]["outcome"] == "wrong"
    assert "times_us" not in record["contenders"]["tileiras"]
    assert record["contenders"]["ours"]["outcome"] == "measured"


def test_a_wrong_result_of_ours_is_an_error(
    pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = driver_of(pack, monkeypatch)
    image = (pack / "ours" / "vector_add_f32.cubin").read_bytes()
    driver.cubins[image] = (driver.cubins[image][0].replace("add.rn.f32", "sub.rn.f32"), 0)
    measured(pack, f"--only=^{CASES[0]}$", status=1)
    assert f"error: ours is wrong or crashes: {CASES[0]}" in capsys.readouterr().err


def test_a_crash_ends_the_run_and_resume_goes_on_behind_it(
    pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = driver_of(pack, monkeypatch)
    launch = driver._run

    def crash(*args: Any) -> tuple[int]:
        driver.broken = True
        return launch(*args)

    monkeypatch.setattr(driver, "_run", crash)
    found = measured(pack, f"--only=^{CASES[0]}$", status=gpu_run.CRASHED)
    assert found["cases"][CASES[0]]["contenders"]["ours"] == {"outcome": "crashed"}
    assert "run again with --resume" in capsys.readouterr().err
    driver_of(pack, monkeypatch)
    record = measured(pack, f"--only=^{CASES[0]}$", "--resume", status=1)["cases"][CASES[0]]
    assert record["contenders"]["ours"] == {"outcome": "crashed"} and record["done"]
    if TILEIRAS:
        assert record["contenders"]["tileiras"]["outcome"] == "measured"


def test_a_finished_case_is_not_measured_again(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver_of(pack, monkeypatch)
    first = measured(pack, f"--only=^{CASES[0]}$")
    driver = driver_of(pack, monkeypatch)
    assert measured(pack, f"--only=^{CASES[0]}$", "--resume")["cases"] == first["cases"]
    assert "cuLaunchKernel" not in driver.calls


def test_the_kernels_of_the_tests_run_by_both_compilers(
    pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_of(pack, monkeypatch)
    record = measured(pack, f"--only=^test {TEST}$")["tests"][TEST]
    assert record["ours"]["outcome"] == "measured" and record["ours"]["times_us"]
    assert len(record["clocks"]) == 2
    if TILEIRAS:
        assert record["tileiras"]["outcome"] == "measured"
        assert len(record["tileiras"]["times_us"]) == len(record["ours"]["times_us"])  # in turn
        assert "geometric mean of tileiras's time / ours: 1.00" in capsys.readouterr().out


def test_a_wrong_test_kernel_is_seen(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = driver_of(pack, monkeypatch)
    image = (pack / "ours" / f"test_{TEST}.cubin").read_bytes()
    driver.cubins[image] = (driver.cubins[image][0].replace("add.rn.f32", "sub.rn.f32"), 0)
    assert measured(pack, f"--only=^test {TEST}$", status=1)["tests"][TEST]["ours"]["outcome"] == "wrong"


def test_a_pack_for_another_gpu_is_refused(
    pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_of(pack, monkeypatch).capability = 80
    assert gpu_run.main([str(pack)]) == 1
    assert "the pack is for sm_90a, and this GPU, Fake GPU, is sm_80" in capsys.readouterr().err


def test_a_folder_that_is_no_pack_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu_run.main([str(tmp_path)])
    assert "is not a pack: it has no pack.json" in capsys.readouterr().err


@pytest.mark.parametrize("family", sorted(gpu_cases.REFERENCES))
def test_a_reference_finds_one_wrong_element_in_its_rows(family: str) -> None:
    """References against another formula, and against an output with an error."""
    rng = np.random.default_rng(fresh_seed())
    case = next(one for one in gpu_cases.CASES if one.family == family and one.small)
    values = {one.name: one.values(rng).astype(np.float64) for one in case.tensors}
    index, part = expected = gpu_cases.expected_of(case, values.__getitem__, 3)
    output = np.full(case.output.shape, np.nan)
    output[index] = part
    error, allowed = gpu_cases.difference(case, output, expected)
    assert error <= allowed
    place = tuple(int(np.asarray(one).reshape(-1)[-1]) if not isinstance(one, slice) else 0 for one in index)
    output[place] += 1.0
    error, allowed = gpu_cases.difference(case, output, expected)
    assert error > allowed
    output[place] = np.nan
    assert gpu_cases.difference(case, output, expected)[0] == np.inf


def test_arguments_are_pointers_extents_and_strides() -> None:
    case = gpu_cases.by_rows("layer_norm", "layer_norm_bf16_1024", 8, 1024, "bf16")
    addresses = {"x": 100, "w": 200, "b": 300, "y": 400}
    assert case.arguments(addresses.__getitem__) == [
        100, 8, 1024, 1024, 1, 200, 1024, 1, 300, 1024, 1, 400, 8, 1024, 1024, 1, 1e-5,
    ]  # fmt: skip


def test_the_page_is_that_of_the_results() -> None:
    assert gpu_page.main(["--check"]) == 0


def test_a_page_without_results_says_that_nothing_was_measured() -> None:
    assert "**Nothing has been measured on a GPU yet.**" in gpu_page.page(None)


def test_a_page_of_results_names_device_date_and_figures(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver_of(pack, monkeypatch)
    text = gpu_page.page(measured(pack, f"--only=^{CASES[0]}$"))
    assert "Measured on Fake GPU on 20" in text and "Nothing has been measured" not in text
    assert f"| {CASES[0]} | 1500.0 | 100% of a copy |" in text


def test_a_page_of_results_lists_the_test_kernels() -> None:
    head = {"device": "G", "date": "2026-01-01", "driver": 1, "torch": "", "triton": "", "cases": {}}
    tests = {
        "right": {
            "ours": {"outcome": "measured", "times_us": [2.0]},
            "tileiras": {"outcome": "measured", "times_us": [3.0]},
        },
        "alone": {"ours": {"outcome": "measured", "times_us": [4.0]}, "tileiras": {"outcome": "refused"}},
        "bad": {"ours": {"outcome": "wrong"}, "tileiras": {"outcome": "measured", "times_us": [5.0]}},
    }
    text = gpu_page.page({**head, "pack": {"commit": "", "tileiras": ""}, "tests": tests})
    for row in ("| right | 2.0 | 1.50 |", "| alone | 4.0 | refused |", "| bad | wrong | 5.0 µs |"):
        assert row in text


def test_without_numpy_an_error_names_it(made: Path, tmp_path: Path) -> None:
    """torch may be installed without NumPy."""
    command = [sys.executable, "-I", "-S", str(made / "gpu_run.py"), "--output", str(tmp_path / "r.json")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        "error: gpu_run.py needs NumPy, which torch does not always install: pip install numpy\n"
    )


def test_every_family_that_memory_bounds_is_compared_with_a_copy() -> None:
    families = {case.family for case in gpu_cases.CASES if not case.flops}
    assert families == set(gpu_run.BANDWIDTH)
