"""What a command loads before it works. A module that comes to these lists takes its time from every start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BYTECODE = ROOT / "test" / "corpus" / "inputs" / "vector_add_f32.tileirbc"
SLOW = {
    "asyncio", "click", "dataclasses", "email", "hashlib", "inspect", "importlib.metadata", "lark", "llvmlite",
    "logging", "multiprocessing", "numpy", "pathlib", "random", "rich", "shutil", "socket", "subprocess", "tempfile",
    "threading", "urllib",
}  # fmt: skip
"""Modules that take milliseconds, and that a compilation does not need."""


def loaded(folder: Path, **environment: str) -> set[str]:
    """The modules that `tessera-translate` has loaded, from bytecode to a cubin, after those of Python's own start."""
    code = (
        "import os, sys\nbefore = set(sys.modules)\n"
        "def end(status):\n"
        "  print(*sorted(set(sys.modules) - before), file=sys.stderr, flush=True)\n"
        "  leave(status)\n"
        "leave, os._exit = os._exit, end\n"
        f"sys.argv = 'tessera-translate --mlir-to-cubin --gpu-name=sm_90a -o k.cubin'.split() + [{str(BYTECODE)!r}]\n"
        "from tessera_tools.cli.start import translate; translate()"
    )
    given = os.environ | {"TESSERA_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)} | environment
    for name in ("TESSERA_SERVER", "TESSERA_CACHE_LIMIT"):
        given.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=given, cwd=folder, capture_output=True, timeout=120, check=True
    )
    assert (folder / "k.cubin").read_bytes().startswith(b"\x7fELF")
    return set(done.stderr.decode().split())


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """What a compilation loads, and what the same command loads when the compile cache has its result."""
    folder = tmp_path_factory.mktemp("start")
    return loaded(folder), loaded(folder)


def test_a_compilation_loads_nothing_slow(starts: tuple[set[str], set[str]]) -> None:
    compiled, _ = starts
    assert "tessera_tools.emit.driver" in compiled
    assert not compiled & SLOW


def test_a_compilation_of_bytecode_loads_no_parser_of_text(starts: tuple[set[str], set[str]]) -> None:
    compiled, _ = starts
    assert not {"tessera_tools.lalr", "tessera_tools.parser.table", "tessera_tools.parser.build"} & compiled


def test_a_compilation_loads_no_lowering_of_ops_that_it_does_not_have(
    starts: tuple[set[str], set[str]],
) -> None:
    compiled, _ = starts
    seldom = {
        f"tessera_tools.passes.llvm.{name}" for name in ("tensor_memory", "wgmma", "printing", "atomics")
    }
    assert "tessera_tools.passes.llvm.elementwise" in compiled
    assert not compiled & seldom


def test_a_result_of_the_cache_loads_nothing_of_the_compiler(starts: tuple[set[str], set[str]]) -> None:
    _, cached = starts
    packages = {one.split(".")[1] for one in cached if one.startswith("tessera_tools.")}
    assert not packages & {"analysis", "dialects", "ir", "opdef", "parser", "planning", "runtime", "sim"}
    assert not cached & SLOW
    assert len(cached) <= 75


@pytest.mark.parametrize("given", ["", "3"])
def test_products_take_one_thread_unless_the_user_wants_more(given: str) -> None:
    code = (
        "import os\nfrom tessera_tools.cli import start\n"
        "start.main_of = lambda program: lambda: print(os.environ['OPENBLAS_NUM_THREADS'])\nstart.run()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, timeout=60, check=True
    )
    assert done.stdout.decode().strip() == (given or "1")
