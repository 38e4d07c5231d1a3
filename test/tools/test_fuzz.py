"""The fuzzer: cases depend on seed and number alone, and it sees what it is there to see."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness import Result
from tessera_tools.cli import opt

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tessera_fuzz", ROOT / "tools" / "fuzz.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_case_depends_on_seed_and_number_alone(fuzz: ModuleType) -> None:
    files, passes = [fuzz.SMALL, b"module {}"], list("abcdefgh")
    assert fuzz.make_case(7, 12, files, passes) == fuzz.make_case(7, 12, files, passes)
    assert len({fuzz.make_case(7, number, files, passes) for number in range(40)}) > 30


def test_truncations_reach_every_byte_once(fuzz: ModuleType) -> None:
    files = [b"abcd", b"", b"xyz123"]
    wanted = sorted(data[:length] for data in files for length in range(len(data) + 1))
    for seed in (0, 1, 5, 123_456_789):
        assert sorted(fuzz.truncation(seed, step, files) for step in range(len(wanted))) == wanted


@pytest.mark.parametrize("data", [b"", b"x", b"\xff\x00\n", b"a b\nc d\n"])
def test_every_mutation_takes_every_input(fuzz: ModuleType, data: bytes) -> None:
    for seed in range(200):
        assert isinstance(fuzz.mutate(data, data, random.Random(seed)), bytes)


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (Result(0), ""),
        (Result(1, b"", b"x.mlir:1:1: error: no\n"), ""),
        (Result(1), "silent"),
        (Result(2, b"", b"Usage\n"), "status"),
        (Result(1, b"", b"Traceback (most recent call last):\n"), "internal"),
        (Result(1, b"", b"error: internal fault in pass 'cse'\n"), "internal"),
    ],
)
def test_findings(fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, result: Result, kind: str) -> None:
    monkeypatch.setattr(opt, "run", lambda *_, **__: result)
    assert fuzz.judge(fuzz.Case(b"", ()))[0] == kind


def test_an_exception_is_a_finding(fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> Result:
        raise KeyError("lost")

    monkeypatch.setattr(opt, "run", run)
    kind, evidence = fuzz.judge(fuzz.Case(b"", ()))
    assert kind == "traceback"
    assert "KeyError: 'lost'" in evidence


def test_mutations_of_a_small_file_end_in_order(fuzz: ModuleType) -> None:
    passes = fuzz.pass_names()
    assert {"canonicalize", "cse"} <= set(passes)
    for number in range(60):
        case = fuzz.make_case(1, number, [fuzz.SMALL], passes)
        assert fuzz.judge(case) == ("", ""), case


def test_every_fourth_case_is_ptx_or_a_launch_file(fuzz: ModuleType) -> None:
    for number in (3, 7, 11, 15):
        case = fuzz.make_case(2, number, [fuzz.SMALL], [])
        assert case.command == "tessera-run"
        assert bool(case.beside) == (number % 8 == 7)


def test_an_unchanged_launch_runs_right(fuzz: ModuleType) -> None:
    launch = (("launch.json", fuzz.json.dumps(fuzz.LAUNCH).encode()), ("image", bytes(256)))
    case = fuzz.Case(fuzz.LAUNCHED.encode(), ("--launch=launch.json",), "tessera-run", launch)
    assert fuzz.judge(case) == ("", "")


def test_stages_with_layouts_and_barriers_are_among_the_files(fuzz: ModuleType) -> None:
    text = b"".join(fuzz.stages()[0])
    assert b"#nv_tileas.linear" in text
    assert b"nv_tileas.offset" in text
    assert len(fuzz.stages()[1]) > 2


def test_mutations_of_launches_end_in_order(fuzz: ModuleType) -> None:
    for number in range(3, 160, 4):
        case = fuzz.make_case(3, number, [fuzz.SMALL], [])
        assert fuzz.judge(case) == ("", ""), case
