"""tools/compare_ptx.py: what it says of two snapshots, and a snapshot of one kernel."""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import compare_ptx  # noqa: E402


def compare(*args: str) -> subprocess.CompletedProcess[str]:
    """The tool's `compare`."""
    command = [sys.executable, str(TOOLS / "compare_ptx.py"), "compare", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def snapshots(path: Path, before: str | None, after: str | None) -> list[str]:
    """Two snapshots of the kernels `same` and `k`."""
    for folder, text in (("before", before), ("after", after)):
        (path / folder / "sm_80").mkdir(parents=True)
        (path / folder / "sm_80" / "same.ptx").write_text("ret;\n")
        if text is not None:
            (path / folder / "sm_80" / "k.ptx").write_text(text)
    return [str(path / "before"), str(path / "after")]


def test_equal_snapshots_have_no_difference(tmp_path: Path) -> None:
    done = compare(*snapshots(tmp_path, "ret;\n", "ret;\n"))
    assert (done.returncode, done.stdout) == (0, "2 of 2 are the same\n")


@pytest.mark.parametrize(
    "before,after,line",
    [
        ("bar.sync 0;\n@%p1 ret;\n", "@%p1 ret;\n", "bar.sync 1 → 0"),
        ("ret;\n", None, "only before"),
        (None, "ret;\n", "only after"),
        ("ret;\n", "error: no\n", "refused now: no"),
        ("error: no\n", "ret;\n", "refused before: no"),
        ("error: no\n", "error: never\n", "another message: never"),
        ("add.s32 %r1, %r2, %r3;\n", "add.s32 %r4, %r2, %r3;\n", "the same instructions"),
    ],
)
def test_a_difference_is_told(tmp_path: Path, before: str | None, after: str | None, line: str) -> None:
    done = compare(*snapshots(tmp_path, before, after))
    assert done.returncode == 1
    assert f"sm_80/k.ptx: {line}" in done.stdout
    assert "1 of 2 are the same" in done.stdout


def test_a_difference_of_remarks_is_told_in_lines() -> None:
    told = compare_ptx.Difference("sm_80/k.txt", "a\nb\n", "a\nc\nd\n").summary()
    assert told == "2 lines more, 1 fewer"


@pytest.mark.parametrize("options", ["splitk=2", "split_k"])
def test_options_of_compilations_are_known(options: str, tmp_path: Path) -> None:
    done = compare(f"--options={options}", *snapshots(tmp_path, "ret;\n", "ret;\n"))
    assert done.returncode == 1
    assert f"error: found '{options}', expected an option of a compilation" in done.stderr


def test_show_prints_the_lines(tmp_path: Path) -> None:
    done = compare("--show", *snapshots(tmp_path, "ret;\n", "exit;\n"))
    assert "\n-ret;\n+exit;\n" in done.stdout


def test_what_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    done = compare("no-such-revision", ".")
    assert done.returncode == 1
    assert "'no-such-revision' is neither a folder nor a git revision" in done.stderr
    (tmp_path / "empty").mkdir()
    done = compare(str(tmp_path / "empty"), str(tmp_path / "empty"))
    assert "there is nothing to compare" in done.stderr


def test_a_snapshot_of_the_working_tree(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    command = [
        sys.executable,
        str(TOOLS / "compare_ptx.py"),
        "snapshot",
        str(folder),
        "--jobs=1",
        "--random=0",
    ]
    subprocess.run([*command, "--only=sm_80/corpus/vector_add"], check=True, capture_output=True)
    [path] = (path for path in folder.rglob("*") if path.is_file())
    assert path == folder / "sm_80" / "corpus" / "vector_add_f32.ptx"
    assert ".visible .entry" in path.read_text()


def test_another_tree_is_compiled_by_its_own_compiler(tmp_path: Path) -> None:
    """Here by one that has no more than the options, and says what it lacks."""
    package, folder = tmp_path / "tree" / "tessera_tools", tmp_path / "made"
    (package / "emit").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "emit" / "driver.py").write_text("class Options: ...\n")
    options = argparse.Namespace(targets=["sm_80"], stage="ptx", options="", only="", jobs=1)
    command = [sys.executable, str(TOOLS / "compare_ptx.py"), "make", str(tmp_path / "tree"), str(folder)]
    order = pickle.dumps((options, [compare_ptx.Program("k", "")]))
    subprocess.run(command, input=order, check=True)
    assert "No module named 'tessera_tools.diagnostics'" in (folder / "sm_80" / "k.ptx").read_text()


def test_the_opcodes_of_ptx_and_of_llvm_ir() -> None:
    ptx = ".reg .b32 %r<2>;\n$L_1:\n\t@%p1 bra \t$L_1;\n\tadd.s32 \t%r1, %r2, 1; // note\n"
    assert list(compare_ptx.opcodes(ptx)) == ["bra", "add.s32"]
    assert list(compare_ptx.opcodes("  %1 = add i32 %0, 1\n  ret void\n")) == ["add", "ret"]
