"""`--remarks`: the formats, the file, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tessera_tools.cli.opt import run
from tessera_tools.cli.remarks import Remarks
from tessera_tools.cli.translate import run as translate
from tessera_tools.diagnostics import Diagnostic, Position, Remark, Sources

DIVISION = b"""\
cuda_tile.testing$func @k(%a: tile<8xf32>) {
  %b = divf %a, %a : tile<8xf32>
}
"""


def test_json_is_one_array(tmp_path: Path) -> None:
    file = tmp_path / "remarks.json"
    assert run(["-", "--cuda-tile-lint", f"--remarks=json:{file}"], stdin=DIVISION).exit_code == 0
    (record,) = json.loads(file.read_text())
    assert (record["name"], record["function"], record["line"], record["column"]) == (
        "exact-rounding",
        "k",
        2,
        8,
    )


def test_without_a_file_they_go_to_stderr() -> None:
    done = run(["-", "--cuda-tile-lint", "--remarks=text"], stdin=DIVISION)
    assert b"<stdin>:2:8: remark: an exactly rounded result" in done.stderr
    assert b"[exact-rounding]" in done.stderr
    assert b"remark" not in done.stdout


def test_a_program_without_remarks_gives_an_empty_array() -> None:
    assert run(["-", "--remarks=json"], stdin=DIVISION).stderr == b"[]\n"


def test_yaml_quotes_what_it_must() -> None:
    kept = Remarks("yaml")
    remark = Remark("remark", Position("it's.mlir", 1, 2), 'a "b"\nc')
    assert kept.take(remark)
    from tessera_tools.cli.remarks import _yaml

    assert "File: 'it''s.mlir', Line: 1, Column: 2" in _yaml(remark)
    assert r'String:          "a \"b\"\nc"' in _yaml(remark)


def test_warnings_are_not_kept() -> None:
    kept = Remarks("json")
    assert not kept.take(Diagnostic("warning", None, "look out"))
    kept.write(Sources())
    assert kept.kept == []


def test_an_unknown_format_is_refused() -> None:
    done = run(["-", "--remarks=xml"], stdin=DIVISION)
    assert done.exit_code == 1
    assert b"--remarks expects text, json, yaml, found 'xml'" in done.stderr


def test_a_file_that_is_not_named_is_refused() -> None:
    done = run(["-", "--remarks=json:"], stdin=DIVISION)
    assert done.exit_code == 1
    assert b"names no file" in done.stderr


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    done = run(["-", f"--remarks=json:{tmp_path}/none/out.json"], stdin=DIVISION)
    assert done.exit_code == 1
    assert b"Traceback" not in done.stderr


# -- filters


def shown(*flags: str) -> list[str]:
    """The rules of the remarks on the division: two of the lint on one op, of both kinds."""
    done = run(["-", "--cuda-tile-lint", *flags], stdin=DIVISION)
    assert done.exit_code == 0, done.stderr.decode()
    return [
        line.rpartition("[")[2].rstrip("]")
        for line in done.stderr.decode().splitlines()
        if ": remark" in line
    ]


def test_a_filter_looks_at_category_rule_and_pass() -> None:
    whole = shown("--remarks=text")
    assert "exact-rounding" in whole
    for pattern in ("exact.*", "^exact-rounding$", "cuda-tile-lint", "EXACT|.*rounding"):
        assert "exact-rounding" in shown("--remarks=text", f"--remarks-filter={pattern}")
    for pattern in ("nothing-of-this-name", "exact", "rounding", "EXACT-ROUNDING", ""):
        assert shown("--remarks=text", f"--remarks-filter={pattern}") == []


def test_a_filter_alone_asks_for_text() -> None:
    assert shown("--remarks-filter=exact-rounding") == ["exact-rounding"]


def remark(kind: str, rule: str) -> Remark:
    made = Remark("remark", None, "text")
    made.kind, made.rule = kind, rule
    return made


def test_a_filter_of_a_kind_leaves_the_other_kinds_out() -> None:
    kept = Remarks("json", {"missed": "width"})
    for kind in ("passed", "missed", "analysis"):
        for rule in ("width", "tma"):
            assert kept.take(remark(kind, rule))
    assert [(r.kind, r.rule) for r in kept.kept] == [("missed", "width")]


def test_one_of_several_filters_suffices() -> None:
    kept = Remarks("json", {"": "tma", "missed": "width"})
    for kind in ("passed", "missed"):
        for rule in ("width", "tma"):
            kept.take(remark(kind, rule))
    assert [(r.kind, r.rule) for r in kept.kept] == [
        ("passed", "tma"),
        ("missed", "width"),
        ("missed", "tma"),
    ]


def test_the_spelling_of_mlir_is_an_alias() -> None:
    assert run(["-", "--remarks-filter-analyse=exact"], stdin=DIVISION).exit_code == 0


def test_an_invalid_expression_is_refused() -> None:
    done = run(["-", "--remarks-filter-passed=("], stdin=DIVISION)
    assert done.exit_code == 1
    assert b"--remarks-filter-passed: '(' is not a regular expression: missing )" in done.stderr
    assert b"Traceback" not in done.stderr


KINDS = ("passed", "missed", "failed", "analysis")
GEMM = (Path(__file__).parents[2] / "examples" / "gemm.mlir").read_text("utf-8")
PROGRAM = (
    GEMM.replace("%A_step = assume div_by<8>, ", "%A_step = assume bounded<0, ?>, ").replace(
        ") {\n", ") optimization_hints=<default = {num_worker_warps_per_cta = 6}> {\n", 1
    )
).encode()
"""A product with a hint that cannot be followed, and with an operand that TMA cannot copy."""


def told(*flags: str) -> list[tuple[str, str]]:
    """(kind, rule) of each remark on the program."""
    done = translate(["--mlir-to-ptx", "--gpu-name=sm_90a", "-o", "/dev/null", "-", *flags], stdin=PROGRAM)
    assert done.exit_code == 0, done.stderr.decode()
    found = re.findall(r": remark(?:\[(\w+)\])?: .* \[([\w-]+)\]$", done.stderr.decode(), re.MULTILINE)
    return sorted((kind or "analysis", rule) for kind, rule in found)


@pytest.fixture(scope="module")
def all_told() -> list[tuple[str, str]]:
    return told("--remarks=text")


def test_the_program_has_remarks_of_every_kind(all_told: list[tuple[str, str]]) -> None:
    assert {kind for kind, _ in all_told} == set(KINDS)
    assert ("failed", "warps") in all_told and ("passed", "warps") in all_told


@pytest.mark.parametrize("kind", KINDS)
def test_the_filter_of_a_kind_prints_all_of_them_and_no_others(
    kind: str, all_told: list[tuple[str, str]]
) -> None:
    assert told(f"--remarks-filter-{kind}=.*") == [one for one in all_told if one[0] == kind]


def test_filters_of_kinds_add_up(all_told: list[tuple[str, str]]) -> None:
    wanted = [one for one in all_told if one == ("failed", "warps") or one[1] == "tma"]
    assert told("--remarks-filter-failed=warps", "--remarks-filter=tma") == wanted
    assert told("--remarks-filter-failed=tma") == []
    assert told("--remarks-filter-failed=war") == []


@pytest.mark.parametrize("option", ["filter", *(f"filter-{kind}" for kind in KINDS)])
def test_every_filter_refuses_what_is_not_a_regular_expression(option: str) -> None:
    done = run(["-", f"--remarks-{option}=[a"], stdin=DIVISION)
    assert done.exit_code == 1
    assert f"--remarks-{option}: '[a' is not a regular expression" in done.stderr.decode()


def test_a_failed_remark_has_the_tag_of_llvm() -> None:
    from tessera_tools.cli.remarks import _yaml

    assert _yaml(remark("failed", "spills")).startswith("--- !Failure\n")
