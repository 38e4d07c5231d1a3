"""`--cache` of the commands, `cache=` of the Python interface, and `tessera-cache`."""

from __future__ import annotations

from pathlib import Path

import pytest

import tessera_tools as tt
from tessera_tools.cli import cache, run, translate

KERNEL = """\
cuda_tile.module @m {
  entry @double(%p: tile<ptr<f32>>) {
    %view = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %part = make_partition_view %view : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %x, %t = load_view_tko weak %part[%zero]
      : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
    %y = addf %x, %x : tile<64xf32>
    %u = store_view_tko weak %y, %part[%zero]
      : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the kernel, and a cache of its own."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TESSERA_CACHE_LIMIT", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlir").write_text(KERNEL)
    return tmp_path


def held() -> int:
    """How many entries `tessera-cache` counts."""
    shown = cache.run([]).stdout.decode()
    return int(shown.split(": ")[1].split(" ")[0])


@pytest.mark.parametrize(
    "argv",
    [
        ["--mlir-to-ptx", "k.mlir"],
        ["--mlir-to-ptx", "k.mlir", "--lineinfo", "--gpu-name=H100"],
        ["--mlir-to-llvmir", "k.mlir", "--remarks=json"],
        ["--mlir-to-cubin", "k.mlir", "-o", "k.cubin", "--resource-usage"],
        ["--mlir-to-sass", "k.mlir", "--save-temps=stages"],
    ],
)
def test_a_second_translation_writes_the_same(argv: list[str], folder: Path) -> None:
    def outcome() -> tuple[object, dict[str, bytes]]:
        done = translate.run(argv)
        files = [path for path in folder.rglob("*") if path.is_file() and "cache" not in path.parts]
        found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
        for path in files:
            if path.name != "k.mlir":
                path.unlink()
        return done, found

    first = outcome()
    assert held() == 1
    assert outcome() == first
    assert held() == 1


def test_what_is_read_from_the_cache_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    translate.run(["--mlir-to-ptx", "k.mlir"])
    monkeypatch.setattr("tessera_tools.emit.driver.compile_module", None)
    assert translate.run(["--mlir-to-ptx", "k.mlir"]).exit_code == 0
    assert translate.run(["--mlir-to-ptx", "k.mlir", "--cache=off"]).exit_code != 0


def test_a_changed_input_is_compiled(folder: Path) -> None:
    before = translate.run(["--mlir-to-ptx", "k.mlir"]).stdout
    (folder / "k.mlir").write_text(KERNEL.replace("addf", "mulf"))
    assert translate.run(["--mlir-to-ptx", "k.mlir"]).stdout != before
    assert held() == 2


@pytest.mark.parametrize(
    "option", ["--cache=off", "--mlir-timing", "--mlir-print-ir-after-all", "--print-pipeline"]
)
def test_what_shows_the_compilation_itself_does_not_use_the_cache(option: str) -> None:
    assert translate.run(["--mlir-to-ptx", "k.mlir", option]).exit_code == 0
    assert held() == 0


def test_an_error_is_not_kept(folder: Path) -> None:
    (folder / "k.mlir").write_text(KERNEL.replace("addf", "addg"))
    first = translate.run(["--mlir-to-ptx", "k.mlir"])
    assert first.exit_code == 1
    assert translate.run(["--mlir-to-ptx", "k.mlir"]) == first
    assert held() == 0


def test_a_run_uses_it() -> None:
    argv = ["k.mlir", "--arg=x=arange:f32:64", "--out=x=x.bin"]
    assert run.run(argv).exit_code == 0
    assert held() == 1
    assert run.run(argv).exit_code == 0
    assert held() == 1
    assert run.run([*argv, "--cache=off", "--gpu-name=sm_90"]).exit_code == 0
    assert held() == 1


def test_the_python_interface_uses_it() -> None:
    first, second = (tt.compile("k.mlir", "sm_90a") for _ in range(2))
    assert held() == 1
    assert (first.stages, first.layouts, first.pointees, first.manifest) == (
        second.stages,
        second.layouts,
        second.pointees,
        second.manifest,
    )
    assert second.layouts and second.pointees == {0: "f32"}
    assert [str(one.message) for one in first.remarks] == [str(one.message) for one in second.remarks]
    tt.compile("k.mlir", "sm_80", cache=False)
    tt.compile("k.mlir", "sm_80", keep_ir=True)
    assert held() == 1


def test_the_list_names_inputs_and_targets() -> None:
    translate.run(["--mlir-to-ptx", "k.mlir", "--gpu-name=sm_90"])
    shown = cache.run(["list"]).stdout.decode().splitlines()
    assert "1 entry" in shown[0]
    assert shown[-1].split()[1:3] == ["ptx", "sm_90a"] and shown[-1].endswith("k.mlir")


def test_clear_says_how_many_it_removed() -> None:
    translate.run(["--mlir-to-ptx", "k.mlir"])
    assert cache.run(["clear"]).stdout.startswith(b"removed 1 entry from ")
    assert held() == 0


def test_a_cache_that_is_off_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "0")
    done = cache.run([])
    assert (done.exit_code, done.stdout) == (0, b"the compile cache is off: TESSERA_CACHE_LIMIT is 0\n")


def test_a_limit_that_is_no_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "many")
    for done in (cache.run([]), translate.run(["--mlir-to-ptx", "k.mlir"])):
        assert done.exit_code == 1
        assert b"TESSERA_CACHE_LIMIT is 'many'; expected a number of MiB" in done.stderr


def test_an_unknown_action_is_an_error() -> None:
    done = cache.run(["purge"])
    assert done.exit_code != 0
    assert b"'purge' is not one of 'show', 'list', 'clear'" in done.stderr
