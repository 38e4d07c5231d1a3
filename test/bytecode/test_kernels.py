"""Real programs: the cuTile kernels in test/cutile, and the corpus; what the Python frontend wrote, at every version.

With NVIDIA's tools at hand (`nvidia-cuda-tileiras`) they judge what we write; without, their recorded text does.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from oracles import require_tool
from tessera_tools.bytecode import VERSIONS, Version, read_bytecode, write_bytecode
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

TEST = Path(__file__).parents[1]
CORPUS = sorted((TEST / "corpus/inputs").glob("*.tileirbc"))
DISASSEMBLY: dict[str, str] = json.loads((TEST / "cutile/disassembly.json").read_text())
FREE = {"hinted", "reductions_f64"}
"""Kernels that can be written in more than one way: the frontend orders hints by its options, we by name; and it writes
65 bits of a negative double, of which readers keep 64."""


def kernels(version: Version) -> list[Path]:
    """The kernels exported at a version."""
    return sorted((TEST / "cutile" / str(version)).glob("*.tileirbc"))


def read(path: Path) -> Operation:
    return read_bytecode(path.read_bytes(), str(path))


def disassemble(data: bytes, folder: Path) -> str:
    """What tileirdisasm prints; skips the test where there is none."""
    tool = require_tool("tileirdisasm")
    path = folder / "x.tileirbc"
    path.write_bytes(data)
    done = subprocess.run([tool, str(path)], capture_output=True, timeout=60, check=True)
    return done.stdout.decode()


def expected(path: Path) -> str:
    """The hash of the disassembler's text of a kernel."""
    return DISASSEMBLY[f"{path.parent.name}/{path.stem}"]


def text_hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def wrong(paths: list[Path], check: Any) -> list[str]:
    """The names of the programs for which `check` does not hold."""
    return [path.stem for path in paths if not check(path)]


def test_every_version_has_at_least_25_kernels() -> None:
    assert {str(version): len(kernels(version)) >= 25 for version in VERSIONS} == {
        str(version): True for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_our_text_of_a_program_is_the_disassemblers(version: Version) -> None:
    assert wrong(kernels(version), lambda p: text_hash(print_op(read(p))) == expected(p)) == []


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_what_is_read_is_written_byte_for_byte(version: Version) -> None:
    different = wrong(kernels(version), lambda p: write_bytecode(read(p), version) == p.read_bytes())
    assert set(different) <= FREE


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_text_parsed_again_is_the_same_ir_as_its_bytecode(version: Version) -> None:
    def same(path: Path) -> bool:
        module = read(path)
        again = parse_module(print_op(module), "text")
        verify_or_raise(again)
        return print_op(again, generic=True) == print_op(module, generic=True)

    assert wrong(kernels(version), same) == []


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_text_is_written_as_the_same_program(version: Version) -> None:
    def same(path: Path) -> bool:
        data = write_bytecode(parse_module(print_op(read(path))), version)
        return text_hash(print_op(read_bytecode(data))) == expected(path)

    assert wrong(kernels(version), same) == []


def test_debug_information_survives_text() -> None:
    def same(path: Path) -> bool:
        module = read(path)
        again = parse_module(print_op(module, debuginfo=True))
        left, right = ([str(op.location) for op in m.walk() if op.op_operands] for m in (module, again))
        return left == right

    assert wrong(kernels(VERSIONS[0]), same) == []


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_the_corpus_reads_as_its_text(path: Path) -> None:
    text = (TEST / "corpus" / f"{path.stem}.mlir").read_text()
    assert print_op(read(path)) == text[text.index("entry") :]


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_the_corpus_is_written_byte_for_byte(path: Path) -> None:
    assert write_bytecode(read(path)) == path.read_bytes()


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_the_disassembler_reads_what_we_write_of_text(version: Version, tmp_path: Path) -> None:
    text = (TEST / "corpus/layer_norm_bf16_1024.mlir").read_text()
    data = write_bytecode(parse_module(text), version)
    assert disassemble(data, tmp_path) == text[text.index("entry") :]


def test_the_disassembler_prints_the_same_of_what_can_be_written_in_more_than_one_way(tmp_path: Path) -> None:
    for path in (p for p in kernels(VERSIONS[3]) if p.stem in FREE):
        again = write_bytecode(read(path), VERSIONS[3])
        assert disassemble(again, tmp_path) == disassemble(path.read_bytes(), tmp_path)


@pytest.mark.parametrize(
    "stem", ["gathers", "custom_reduction", "break_and_continue", "mma_float8_e5m2_float32"]
)
def test_tileiras_compiles_what_we_wrote(stem: str, tmp_path: Path) -> None:
    tool = require_tool("tileiras")
    path = tmp_path / "x.tileirbc"
    module = parse_module(print_op(read(TEST / f"cutile/13.3/{stem}.tileirbc")))
    path.write_bytes(write_bytecode(module, VERSIONS[2]))
    argv = [tool, "--gpu-name=sm_100", str(path), "-o", str(tmp_path / "x.cubin")]
    done = subprocess.run(argv, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
