"""`tessera-tileiras`: the command line, exit codes and remarks of tileiras, compared with the real one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sass_text import disassembled, opcodes_by_line

from oracles import require_tool
from tessera_tools.cli.tileiras import command

TESTS = Path(__file__).parents[2]
CUTILE = TESTS / "cutile"
GEMM = TESTS / "corpus" / "inputs" / "gemm_f16_64x64x32.tileirbc"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with bytecode, a part of it, and a text."""
    monkeypatch.chdir(tmp_path)
    data = GEMM.read_bytes()
    (tmp_path / "gemm.bc").write_bytes(data)
    (tmp_path / "part.bc").write_bytes(data[:100])
    (tmp_path / "arguments").write_text("--gpu-name=sm_86 gemm.bc -o 'out'")
    (tmp_path / "text.bc").write_text("cuda_tile.module @m {}")
    return tmp_path


COMMAND_LINES = [
    "--gpu-name=sm_90 gemm.bc -o out",
    "--gpu-name sm_90 gemm.bc -o out",
    "-gpu-name=sm_120 gemm.bc --output-file=out",
    "--arch sm_87 -O1 gemm.bc -o=out",
    "--opt-level=2 --gpu-name=sm_88 gemm.bc -o out",
    "--gpu-name=sm_80 -O0 --device-debug gemm.bc -o out",
    "--gpu-name=sm_80 -O0 -g --lineinfo gemm.bc -o out",
    "--gpu-name=sm_80 -O2 -g gemm.bc -o out",
    "--gpu-name=sm_80 -O5 gemm.bc -o out",
    "-O 2 --gpu-name=sm_80 gemm.bc -o out",
    "--gpu-name=sm_70 gemm.bc -o out",
    "--gpu-name=sm_90a gemm.bc -o out",
    "--gpu-name=sm_80 --lineinfo=3 gemm.bc -o out",
    "--gpu-name=sm_80 --host-arch=arm gemm.bc -o out",
    "--gpu-name=sm_80 --remarks=speed gemm.bc -o out",
    "--gpu-name=sm_80 --remarks-missed=all --remark-format=yaml gemm.bc -o out",
    "--gpu-name=sm_80 gemm.bc gemm.bc -o out",
    "--gpu-name=sm_80 gemm.bc -o no/folder/out",
    "--gpu-name=sm_80 missing.bc -o out",
    "--gpu-name=sm_80 part.bc -o out",
    "--gpu-name=sm_80 text.bc -o out",
    "--no-such-option gemm.bc",
    "--gpu-name",
    "gemm.bc",
    "",
    "--gpu-name=sm_80 --opt-level=-1 gemm.bc -o out",
    "--gpu-name=sm_80 --O2 gemm.bc -o out",
    "--gpu-name=sm_80 --opt-level=0x2 gemm.bc -o out",
    "--gpu-name=sm_80 -O9 missing.bc -o out",
    "--gpu-name=sm_80 -O9 text.bc -o out",
    "--gpu-name=sm_80 -l lib.bc gemm.bc -o out",
    "--gpu-name=sm_80 --preview=other gemm.bc -o out",
    "--gpu-name=sm_80 --remarks=all --remark-format=yaml --remarks-output-file=no/folder/r gemm.bc -o out",
    "--gpu-name=sm_80 --print-options gemm.bc -o out",
    "@arguments",
    "--list-versions",
    "--list-versions=false",
    "--list-versions --gpu-name=sm_70",
    "--help=true",
    "--gpu-name=sm_70 --help",
    "--help",
    "--version",
]


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_the_exit_status_is_that_of_tileiras(line: str, folder: Path) -> None:
    real = subprocess.run(
        [require_tool("tileiras"), *line.split()], capture_output=True, check=False, timeout=60
    )
    wrote = (folder / "out").exists()
    (folder / "out").unlink(missing_ok=True)
    ours = command.run(line.split())
    assert ours.exit_code == real.returncode, ours.stderr.decode()
    assert (folder / "out").exists() == wrote


@pytest.mark.parametrize(
    "line",
    [
        "--gpu-name=sm_80 -O2 -g gemm.bc -o out",
        "--gpu-name=sm_80 -O5 gemm.bc -o out",
        "--gpu-name=sm_80 --opt-level=-1 gemm.bc -o out",
        "-Ox gemm.bc -o out",
        "--arch=sm_70 gemm.bc -o out",
        "--gpu-name=sm_80 -l lib.bc gemm.bc -o out",
        "--gpu-name=sm_80 --preview=other gemm.bc -o out",
        "--help=true",
        "a b",
        "--gpu-name=sm_70 gemm.bc -o out",
        "--gpu-name=sm_80 --lineinfo=3 gemm.bc -o out",
        "--gpu-name=sm_80 missing.bc -o out",
        "--gpu-name=sm_80 text.bc -o out",
        "-O 2 gemm.bc",
        "--gpu-name",
        "",
    ],
)
def test_the_message_is_that_of_tileiras(line: str) -> None:
    real = subprocess.run(
        [require_tool("tileiras"), *line.split()], capture_output=True, check=False, timeout=60
    )
    ours = command.run(line.split()).stderr.decode()
    assert ours.splitlines()[0] == real.stderr.decode().splitlines()[0]


def test_the_bytecode_versions_are_those_of_tileiras() -> None:
    real = subprocess.run(
        [require_tool("tileiras"), "--list-versions"], capture_output=True, check=True, timeout=60
    )
    assert command.run(["--list-versions"]).stdout == real.stdout


def test_the_cubin_is_for_the_architecture_of_tileiras(folder: Path) -> None:
    def flags(path: Path) -> bytes:
        return path.read_bytes()[48:52]  # e_flags of the ELF header: the architecture

    for gpu in ("sm_80", "sm_90", "sm_100", "sm_120"):
        assert command.run([f"--gpu-name={gpu}", "gemm.bc", "-o", "ours"]).exit_code == 0
        subprocess.run(
            [require_tool("tileiras"), f"--gpu-name={gpu}", "gemm.bc", "-o", "theirs"], check=True, timeout=60
        )
        assert flags(folder / "ours") == flags(folder / "theirs"), gpu


@pytest.mark.parametrize("lineinfo", [True, False])
def test_the_cubin_names_the_python_lines_if_asked(lineinfo: bool, tmp_path: Path) -> None:
    source, cubin = CUTILE / "13.1" / "inlined.tileirbc", tmp_path / "out.cubin"
    options = ["--gpu-name=sm_90", *(["--lineinfo"] if lineinfo else [])]
    assert command.run([*options, str(source), "-o", str(cubin)]).exit_code == 0
    named = {Path(file).name for file, _ in opcodes_by_line(disassembled(cubin))}
    assert named == ({"kernels.py"} if lineinfo else set())


def test_without_a_name_the_output_is_elf_o(folder: Path) -> None:
    assert command.run(["--gpu-name=sm_80", "gemm.bc"]).exit_code == 0
    assert (folder / "elf.o").read_bytes().startswith(b"\x7fELF")


def test_an_unknown_option_names_the_nearest() -> None:
    assert "Did you mean '--gpu-name=sm_90'?" in command.run(["--gpu-names=sm_90"]).stderr.decode()


@pytest.mark.parametrize("option", ["--apply-controls=f", "--preview=simt", "--sanitize=memcheck"])
def test_what_is_not_supported_is_refused(option: str, folder: Path) -> None:
    done = command.run(["--gpu-name=sm_80", option, "gemm.bc", "-o", "out"])
    assert done.exit_code == command.BAD_OPTIONS
    assert "is not supported" in done.stderr.decode()
    assert not (folder / "out").exists()


def test_options_of_the_host_code_are_said_to_have_no_effect() -> None:
    done = command.run(["--gpu-name=sm_80", "--host-os=windows", "gemm.bc", "-o", "out"])
    assert done.exit_code == 0
    assert done.stderr.decode() == "warning: --host-os has no effect: the cubin contains no host code\n"


def test_damaged_bytecode_has_its_position() -> None:
    lines = command.run(["--gpu-name=sm_80", "part.bc"]).stderr.decode().splitlines()
    assert lines[0].startswith('loc("part.bc":1:17): error: malformed bytecode at byte 16')
    assert lines[-1] == "error: input does not correspond to Tile IR bytecode"


def test_a_program_that_does_not_compile_has_the_location_of_its_op(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tessera_tools.diagnostics import Position, error
    from tessera_tools.emit import driver

    def refuse(*_: object, **__: object) -> object:
        raise error(Position("kernel.py", 12, 4), "no such instruction")

    monkeypatch.setattr(driver, "compile_module", refuse)
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "0")
    done = command.run(["--gpu-name=sm_80", "gemm.bc", "-o", "out"])
    assert done.exit_code == command.NOT_COMPILED
    assert done.stderr.decode().splitlines() == [
        'loc("kernel.py":12:4): error: no such instruction',
        "error: failed to compile Tile IR program",
    ]
    assert not (folder / "out").exists()


def test_without_remarks_nothing_is_printed() -> None:
    done = command.run(["--gpu-name=sm_80", "gemm.bc", "-o", "out"])
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"", b"")


def test_remarks_as_yaml_are_written_only_if_wanted(folder: Path) -> None:
    assert command.run(["--gpu-name=sm_80", "--remark-format=yaml", "gemm.bc", "-o", "out"]).exit_code == 0
    assert not (folder / "tileir_remarks.yaml").exists()


def test_remarks_are_grouped_by_kernel_and_category() -> None:
    text = command.run(["--gpu-name=sm_80", "--remarks=tensorcore", "gemm.bc", "-o", "out"]).stdout.decode()
    assert text.startswith(
        "in function: gemm_f16_64x64x32:\n\n  category: Tensor-core\n    remark[passed]: product by"
    )
    assert "category: Memory" not in text


def test_a_kind_of_remarks_overrides_all_kinds() -> None:
    argv = ["--gpu-name=sm_80", "--remarks=all", "--remarks-passed=none", "gemm.bc", "-o", "out"]
    text = command.run(argv).stdout.decode()
    assert "remark[analysis]" in text
    assert "remark[passed]" not in text


def test_remarks_as_yaml_are_what_cutile_stores(folder: Path) -> None:
    argv = ["--gpu-name=sm_80", "--remarks=all", "--remark-format=yaml", "--remarks-output-file=r.yaml"]
    done = command.run([*argv, "gemm.bc", "-o", "out"])
    assert done.stdout == b""
    documents = (folder / "r.yaml").read_text().split("...\n")[:-1]
    product = next(text for text in documents if "product by" in text)
    lines = product.splitlines()
    assert lines[:2] == ["--- !Passed", "Pass:            'Tensor-core'"]
    assert lines[4] == "Function:        'gemm_f16_64x64x32'"
    assert lines[5:7][0] == "Args:"
    assert len({text.split("RemarkId:")[1].split()[0] for text in documents}) == len(documents)
