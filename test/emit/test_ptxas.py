"""The hand-off to ptxas: the real one, and ones that refuse, crash, hang and talk nonsense."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from emit import fakes

from oracles import require_tool
from tessera_tools.diagnostics import Position
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.ptxas import Assembled, Ptxas, elf_size, locate, max_ptx_of_release
from tessera_tools.emit.resources import Message, Report

PTX = """\
.version 8.0
.target sm_80
.address_size 64
.file 1 "/src/gemm.mlir"
.file 2 "/src/other.mlir"
.visible .entry k(
	.param .u64 p
)
.maxntid 128, 1, 1
{
	.reg .b64 %rd<4>;
	.reg .b32 %r<4>;
	.shared .align 16 .b8 sm[1024];
	.loc	1 20 3
	.loc	1 10 5
	ld.param.u64 %rd1, [p];
	.loc	1 11 7
	mov.u32 %r1, 7;
	st.shared.u32 [sm], %r1;
	.loc	1 0 0
	bar.sync 0;
	ld.shared.u32 %r2, [sm+4];
	.loc	2 30 1
	st.global.u32 [%rd1], %r2;
	ret;
}
.visible .entry l()
{
	ret;
}
"""


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path / "cache"


@pytest.fixture
def ptxas() -> Ptxas:
    return Ptxas(require_tool("ptxas"))


def test_warnings_are_those_of_ptxas_and_what_it_ignores_or_slows_down():
    messages = [
        Message("warning", "odd", 1),
        Message("info", "Potential Performance Loss: wgmma", 2),
        Message("info", "used 8 registers", 3),
        Message("info", "option --x ignored", 4),
    ]
    made = Assembled(b"", Report({}, messages, 0, {}), [], 0.0)
    assert [message.line for message in made.warnings] == [1, 2, 4]


# The real ptxas


def test_a_cubin_and_its_resources_come_back(ptxas: Ptxas, tmp_path: Path):
    assembled = ptxas.assemble(PTX, arch="sm_80")
    assert assembled.cubin.startswith(b"\x7fELF")
    used = assembled.report.entries["k"]
    assert (used.shared, used.barriers, used.spills) == (1024, 1, False)
    assert set(assembled.report.entries) == {"k", "l"}
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_users_options_are_passed_on_as_they_are(ptxas: Ptxas):
    options = ["--maxrregcount=32", "--warn-on-spills"]
    command = ptxas.assemble(PTX, arch="sm_80", level=2, lineinfo=True, options=options).command
    assert command[1:7] == ["-v", "-arch=sm_80", "-O2", "-lineinfo", *options]


def test_spills_are_reported(ptxas: Ptxas):
    # Every value is needed for the sum, and once more after it.
    loads = "".join(f"ld.global.u32 %r{i}, [%rd1+{4 * i}];\n" for i in range(64))
    sums = "".join(f"mad.lo.u32 %s, %s, %r{i}, %r{i};\n" for i in range(64))
    stores = "".join(f"xor.b32 %r{i}, %r{i}, %s;\nst.global.u32 [%rd1+{4 * i}], %r{i};\n" for i in range(64))
    ptx = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b64 %rd<2>;\n.reg .b32 %r<64>, %s;\nld.param.u64 %rd1, [p];\nmov.u32 %s, 1;\n"
        f"{loads}{sums}{stores}ret;\n}}\n"
    )
    used = ptxas.assemble(ptx, arch="sm_80", options=["--maxrregcount=24"]).report.entries["k"]
    assert used.spills
    assert used.registers == 24


def test_an_error_is_reported_where_the_source_is(ptxas: Ptxas):
    with pytest.raises(ToolError) as caught:
        ptxas.assemble(PTX.replace("mov.u32 %r1, 7", "mov.u32 %x, 7"), arch="sm_80")
    assert "Unknown symbol '%x'" in " ".join(d.message for d in caught.value.diagnostics)
    assert caught.value.line == 18
    assert caught.value.location == Position("/src/gemm.mlir", 11, 7)


def test_every_error_has_its_own_place(ptxas: Ptxas):
    ptx = PTX.replace("mov.u32 %r1, 7", "mov.u32 %x, 7").replace("bar.sync 0", "foo.sync 0")
    with pytest.raises(ToolError) as caught:
        ptxas.assemble(ptx.replace("[%rd1], %r2", "[%rd1], %y"), arch="sm_80", ptx_name="k.ptx")
    places = {d.location.start() for d in caught.value.diagnostics if d.location is not None}
    assert ("/src/gemm.mlir", 11, 7) in places
    assert ("/src/other.mlir", 30, 1) in places


def test_an_error_without_a_source_line_is_reported_in_the_ptx(ptxas: Ptxas):
    with pytest.raises(ToolError) as caught:
        ptxas.assemble(PTX.replace(".visible .entry l", ".visibly .entry l"), arch="sm_80", ptx_name="k.ptx")
    assert caught.value.location == Position("k.ptx", 27, 1)


def test_ptx_for_another_gpu_is_refused_in_ptxas_words(ptxas: Ptxas):
    with pytest.raises(ToolError, match="ptxas: SM version specified by .target is higher"):
        ptxas.assemble(PTX.replace("sm_80", "sm_90a"), arch="sm_80")


def test_an_unknown_option_is_refused_in_ptxas_words(ptxas: Ptxas):
    with pytest.raises(ToolError, match="ptxas: Unknown option '-no-such'"):
        ptxas.assemble(PTX, arch="sm_80", options=["--no-such"])


def test_the_real_release_is_known(ptxas: Ptxas):
    assert ptxas.release >= (11, 0)
    assert ptxas.max_ptx >= 70


def test_the_table_of_ptx_versions_is_the_programs_own(ptxas: Ptxas):
    newest = ptxas.max_ptx
    known = PTX.replace(".version 8.0", f".version {newest // 10}.{newest % 10}")
    assert ptxas.assemble(known, arch="sm_80").cubin


# Fakes


def test_a_refusal_without_words_gives_the_status(tmp_path: Path):
    with pytest.raises(ToolError, match="ptxas failed with status 3: no message"):
        Ptxas(fakes.program(tmp_path, fakes.SILENT)).assemble(PTX, arch="sm_80")


def test_a_refusal_is_mapped_to_the_source(tmp_path: Path):
    with pytest.raises(ToolError, match="ptxas: Unknown symbol '%x'") as caught:
        Ptxas(fakes.program(tmp_path, fakes.REFUSES)).assemble(PTX, arch="sm_80")
    assert caught.value.location == Position("/src/gemm.mlir", 11, 7)
    assert len(caught.value.diagnostics) == 1


def test_a_crash_names_the_signal(tmp_path: Path):
    with pytest.raises(ToolError, match="ptxas was killed by SIGSEGV"):
        Ptxas(fakes.program(tmp_path, fakes.CRASHES)).assemble(PTX, arch="sm_80")


def test_a_hang_ends_at_the_time_limit(tmp_path: Path):
    begin = time.monotonic()
    with pytest.raises(ToolError, match=r"ptxas timed out after 0.4 s") as caught:
        Ptxas(fakes.program(tmp_path, fakes.HANGS)).assemble(PTX, arch="sm_80", time_limit=0.4)
    assert time.monotonic() - begin < 10
    assert "begun" in caught.value.details
    assert list((tmp_path / "tmp").iterdir()) == []


def test_garbage_for_a_cubin_is_refused(tmp_path: Path):
    with pytest.raises(ToolError, match="the output of ptxas is not a cubin"):
        Ptxas(fakes.program(tmp_path, fakes.GARBLES)).assemble(PTX, arch="sm_80")


def test_success_without_a_cubin_is_refused(tmp_path: Path):
    with pytest.raises(ToolError, match="its cubin cannot be read: no such file"):
        Ptxas(fakes.program(tmp_path, fakes.WRITES_NOTHING)).assemble(PTX, arch="sm_80")


def test_a_program_of_no_known_format_cannot_be_started(tmp_path: Path):
    path = tmp_path / "ptxas"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    with pytest.raises(ToolError, match="ptxas cannot be started at '.*': exec format error"):
        Ptxas(str(path)).assemble(PTX, arch="sm_80")


def test_a_program_that_has_vanished_cannot_be_started(tmp_path: Path):
    with pytest.raises(ToolError, match="ptxas cannot be started at '.*': no such file"):
        Ptxas(str(tmp_path / "ptxas")).assemble(PTX, arch="sm_80")


def test_a_program_that_is_not_ptxas_is_refused_by_its_version(tmp_path: Path):
    with pytest.raises(ToolError, match="does not respond to --version like ptxas"):
        _ = Ptxas("/bin/true").release


def test_a_missing_temporary_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(ToolError, match="cannot create a temporary directory") as caught:
        Ptxas("/bin/true").assemble(PTX, arch="sm_80")
    assert caught.value.hint == "set TMPDIR to a writable directory"


# The release


@pytest.mark.parametrize(
    ("release", "ptx"),
    [((11, 0), 70), ((12, 6), 85), ((12, 9), 88), ((13, 0), 90), ((13, 5), 95), ((14, 2), 95)],
)
def test_a_release_reads_the_ptx_version_of_its_time(release: tuple[int, int], ptx: int):
    assert max_ptx_of_release(*release) == ptx


def test_a_release_before_cuda_11_is_refused():
    with pytest.raises(ToolError, match=r"this ptxas is from CUDA 10\.2; expected CUDA 11\.0 or later"):
        max_ptx_of_release(10, 2)


def test_the_release_is_asked_once_and_again_after_an_update(tmp_path: Path, private_cache: Path):
    path = fakes.program(tmp_path, "", release="12.4")
    assert Ptxas(path).release == (12, 4)
    assert len((private_cache / "tessera-tools" / "ptxas-releases").read_text().splitlines()) == 1
    assert Ptxas(path).release == (12, 4)
    assert len((private_cache / "tessera-tools" / "ptxas-releases").read_text().splitlines()) == 1
    fakes.program(tmp_path, "# another", release="13.1")
    assert Ptxas(path).release == (13, 1)


@pytest.mark.parametrize("text", ["", "nonsense\n", "12 x 1 2 3\n", "\xff\x00", "12 4 ~\n", "12 4 !\n"])
def test_a_broken_cache_is_ignored(tmp_path: Path, private_cache: Path, text: str):
    (private_cache / "tessera-tools").mkdir(parents=True)
    (private_cache / "tessera-tools" / "ptxas-releases").write_bytes(text.encode("latin-1"))
    assert Ptxas(fakes.program(tmp_path, "")).release == (13, 0)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert Ptxas(fakes.program(tmp_path, "")).release == (13, 0)


# Finding it


def test_the_option_comes_first_then_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = fakes.program(tmp_path, "", "one")
    two = fakes.program(tmp_path, "", "two")
    monkeypatch.setenv("TESSERA_PTXAS", two)
    assert Ptxas.find(one).path == one
    assert Ptxas.find().path == two


def test_an_option_without_a_folder_is_looked_up_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mine = fakes.program(tmp_path, "", "my-ptxas")
    monkeypatch.setenv("PATH", f"/nowhere{os.pathsep}{tmp_path}")
    assert Ptxas.find("my-ptxas").path == mine


def test_the_wheel_comes_before_path_and_the_newest_cuda_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TESSERA_PTXAS", raising=False)
    for folder in ("nvidia/cu9/bin", "nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "path"):
        (tmp_path / folder).mkdir(parents=True)
        fakes.program(tmp_path / folder, "")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert Ptxas.find().path == str(tmp_path / "nvidia/cu13/bin/ptxas")
    for version in ("cu13", "cu9"):
        (tmp_path / "nvidia" / version / "bin" / "ptxas").unlink()
    assert Ptxas.find().path == str(tmp_path / "nvidia/cuda_nvcc/bin/ptxas")
    (tmp_path / "nvidia/cuda_nvcc/bin/ptxas").unlink()
    assert Ptxas.find().path == str(tmp_path / "path/ptxas")
    (tmp_path / "path/ptxas").unlink()
    with pytest.raises(ToolError, match="ptxas was not found: not in the wheel nvidia-cuda-nvcc") as caught:
        Ptxas.find()
    assert (
        caught.value.hint
        == "pip install nvidia-cuda-nvcc, or specify its path with --ptxas=PATH or TESSERA_PTXAS"
    )


def test_a_wrong_option_is_an_error_and_no_other_ptxas_is_taken(tmp_path: Path):
    with pytest.raises(ToolError, match="ptxas was not found at '/no/ptxas' \\(from --ptxas\\)"):
        Ptxas.find("/no/ptxas")
    (tmp_path / "plain").write_text("")
    with pytest.raises(ToolError, match="plain' \\(from --ptxas\\) cannot be executed as ptxas") as caught:
        Ptxas.find(str(tmp_path / "plain"))
    assert caught.value.hint == "expected an executable file"


def test_a_wrong_variable_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TESSERA_PTXAS", "/no/ptxas")
    with pytest.raises(ToolError, match="from TESSERA_PTXAS"):
        Ptxas.find()


# Locations


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (12, None),  # before the first .loc
        (16, ("/src/gemm.mlir", 10, 5)),
        (18, ("/src/gemm.mlir", 11, 7)),
        (19, ("/src/gemm.mlir", 11, 7)),
        (21, ("/src/gemm.mlir", 11, 7)),  # line 0 is no source line: the one before stands
        (29, None),  # another function
        (1, None),
        (0, None),
        (10**6, None),
    ],
)
def test_a_line_of_ptx_is_located(line: int, place: tuple[str, int, int] | None):
    found = locate(PTX, line)
    assert (found.start() if found else None) == place


def test_an_inlined_location_is_the_innermost():
    ptx = PTX.replace("1 11 7", "1 11 7, function_name $L__info_string0, inlined_at 1 20 3")
    assert locate(ptx, 18) == Position("/src/gemm.mlir", 11, 7)


def test_a_file_that_is_not_declared_gives_no_location():
    assert locate(".loc 7 1 1\nret;\n", 2) is None


def test_every_cut_of_a_cubin_is_seen(ptxas: Ptxas):
    cubin = ptxas.assemble(PTX, arch="sm_80").cubin
    assert elf_size(cubin) == len(cubin)
    assert all(elf_size(cubin[:size]) > size for size in range(len(cubin)))


def test_a_cubin_that_ptxas_could_not_write_whole_is_refused(ptxas: Ptxas, tmp_path: Path):
    """A full disk: ptxas ends as if it had written everything."""
    whole = tmp_path / "whole"
    whole.write_bytes(ptxas.assemble(PTX, arch="sm_80").cubin)
    cut = fakes.program(tmp_path, f'head -c 1000 {whole} > "$OUT"; exit 0')
    with pytest.raises(ToolError, match=rf"wrote only 1000 of the {whole.stat().st_size} bytes of its cubin"):
        Ptxas(cut).assemble(PTX, arch="sm_80")
    copies = fakes.program(tmp_path, f'cat {whole} > "$OUT"; exit 0', "copies")
    assert Ptxas(copies).assemble(PTX, arch="sm_80").cubin == whole.read_bytes()
