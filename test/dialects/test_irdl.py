"""Dialects that `--irdl-file` loads: what programs with their ops, types and attributes say, against `mlir-opt`."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from oracles import require_tool
from tessera_tools.cli.opt import run
from tessera_tools.opdef.dialect import find_dialect

HERE = Path(__file__).parent / "irdl"
CMATH = f"--irdl-file={HERE}/cmath.irdl.mlir"
VALID = (HERE / "cmath.mlir").read_text()


def upstream(text: str, option: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [require_tool("mlir-opt-22"), option, "-"], input=text, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def ours(text: str, option: str) -> tuple[int, str, str]:
    done = run([option, "-"], text.encode())
    return done.exit_code, done.stdout.decode(), done.stderr.decode()


def errors(text: str) -> list[str]:
    return re.findall(r": error: (.*)", text)


def test_a_program_of_a_loaded_dialect() -> None:
    status, output, stderr = ours(VALID, CMATH)
    assert status == 0, stderr
    assert '"cmath.norm"(%c) {scale = #cmath.scale<2 : i8>} : (!cmath.complex<f32>) -> f32' in output
    assert upstream(output, CMATH)[1] == upstream(VALID, CMATH)[1] != ""


def test_the_dialect_is_known_to_that_run_alone() -> None:
    ours(VALID, CMATH)
    assert find_dialect("cmath") is None
    assert run(["-"], VALID.encode()).exit_code == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("complex<f32>, %s", "complex<i8>, %s", "'i8' does not satisfy the constraint"),
        ("complex<f32>, %s", "complex<f32, f32>, %s", "expected 1 type arguments, but had 2"),
        (
            "{scale = #cmath.scale<2 : i8>}",
            "{scale = 2 : i8}",
            "expected base attribute 'cmath.scale' but got 'builtin.integer'",
        ),
        (
            "{scale = #cmath.scale<2 : i8>}",
            "",
            "'cmath.norm' op attribute \"scale\" is expected but not provided",
        ),
        ("(%c) {", "(%c, %c) {", None),
        ("-> f32\n", "-> f64\n", "expected 'f32' but got 'f64'"),
        (
            "{operandSegmentSizes = array<i32: 2, 1>}",
            "",
            "'operandSegmentSizes' attribute is expected but not provided",
        ),
        (
            "array<i32: 2, 1>",
            "array<i32: 1, 1>",
            "sum of elements in 'operandSegmentSizes' attribute must be equal to the number of operands",
        ),
        (
            "array<i32: 2, 1>",
            "array<i32: -1, 1>",
            "'operandSegmentSizes' attribute for specifying operand segments must have non-negative values",
        ),
        (
            "array<i32: 2, 1>",
            "array<i32: 1, 2>",
            "element 1 in 'operandSegmentSizes' attribute must be equal to 0 or 1",
        ),
        (
            " ({\n  ^bb0(%a: i32):\n    llvm.unreachable\n  })",
            "",
            "'cmath.loop' op unexpected number of regions: expected 1 but got 0",
        ),
        ("%a: i32", "%a: i64", "expected 'i32' but got 'i64'"),
        ("^bb0(%a: i32):", "^bb0:", "expected region 0 to have 1 arguments but got 0"),
        ("    llvm.unreachable", "    cf.br ^bb1\n  ^bb1:\n    llvm.unreachable", None),
        ('"cmath.loop"', '"cmath.unknown"', None),
    ],
)
def test_an_invalid_program_is_refused_as_by_upstream(old: str, new: str, message: str | None) -> None:
    assert old in VALID
    text = VALID.replace(old, new)
    status, _, stderr = ours(text, CMATH)
    assert status == 1
    theirs = upstream(text, CMATH)
    assert theirs[0] == 1
    assert errors(stderr) == errors(theirs[2])
    assert message is None or message in stderr


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("irdl.dialect @arith", "the dialect 'arith' exists already"),
        (
            'irdl.dialect @d { irdl.type @t { %0 = irdl.base "!builtin.nothing" irdl.parameters(a: %0) } }',
            "no registered type with name !builtin.nothing",
        ),
        (
            'irdl.dialect @d { irdl.type @t { %0 = irdl.c_pred "true" irdl.parameters(a: %0) } }',
            "cannot be loaded: its predicate is C++ code",
        ),
        (
            "irdl.dialect @d { irdl.type @t { %0 = irdl.any %1 = irdl.is i32 %2 = irdl.any_of(%0, %1) } }",
            "any_of constraints are not in the correct form",
        ),
        (
            "irdl.dialect @d { irdl.type @u { } irdl.type @t { %0 = irdl.parametric @d::@u<> "
            "%1 = irdl.parametric @d::@u<> %2 = irdl.any_of(%0, %1) irdl.parameters(a: %2) } }",
            "any_of constraints are not in the correct form",
        ),
        ("irdl.dialect @Upper", "name of dialect should not contain uppercase letters"),
    ],
)
def test_a_definition_that_cannot_be_loaded(tmp_path: Path, definition: str, message: str) -> None:
    path = tmp_path / "d.irdl.mlir"
    path.write_text(definition)
    status, _, stderr = ours("", f"--irdl-file={path}")
    assert status == 1
    assert re.search(rf"d\.irdl\.mlir:1:\d+: error: .*{re.escape(message)}", stderr)
    assert definition[-15:] in stderr, "the line is shown, or the part of it around the place"


def test_files_of_definitions_add_up(tmp_path: Path) -> None:
    other = tmp_path / "other.irdl.mlir"
    other.write_text("irdl.dialect @other { irdl.operation @op { } }")
    done = run([CMATH, f"--irdl-file={other}", "-"], f'{VALID}"other.op"() : () -> ()\n'.encode())
    assert (done.exit_code, done.stderr) == (0, b"")
    again = run([CMATH, CMATH, "-"], b"")
    assert again.exit_code == 1
    assert "the dialect 'cmath' exists already" in again.stderr.decode()
    assert find_dialect("cmath") is None


def test_a_single_operand_has_one_segment_element(tmp_path: Path) -> None:
    path = tmp_path / "d.irdl.mlir"
    path.write_text(
        "irdl.dialect @d { irdl.operation @o { %0 = irdl.any "
        "irdl.operands(x: %0, y: variadic %0, z: variadic %0) } }"
    )
    op = '"d.o"(%i, %i) {operandSegmentSizes = array<i32: 2, 0, 0>} : (i32, i32) -> ()'
    text = f"func.func @f(%i: i32) {{\n  {op}\n  return\n}}\n"
    _, _, stderr = ours(text, f"--irdl-file={path}")
    assert errors(stderr) == ["element 0 in 'operandSegmentSizes' attribute must be equal to 1"]
    assert errors(stderr) == errors(upstream(text, f"--irdl-file={path}")[2])


def test_a_chain_of_alternatives(tmp_path: Path) -> None:
    path = tmp_path / "d.irdl.mlir"
    chain = "".join(f"%{i} = irdl.any_of(%{i - 1})\n" for i in range(1, 5000))
    path.write_text(
        f"irdl.dialect @d {{ irdl.operation @o {{\n%0 = irdl.is i32\n{chain}irdl.operands(x: %4999)\n}} }}\n"
    )
    use = '%0 = arith.constant 1 : TYPE\n"d.o"(%0) : (TYPE) -> ()\n'
    status, _, stderr = ours(use.replace("TYPE", "i32"), f"--irdl-file={path}")
    assert status == 0, stderr
    status, _, stderr = ours(use.replace("TYPE", "i16"), f"--irdl-file={path}")
    assert status == 1
    assert errors(stderr) == ["'i16' does not satisfy the constraint"]


@pytest.mark.parametrize(
    ("alternatives", "valid"),
    [
        ("%1, %2", True),
        ("%1, %1", False),
        ("%1, %3", False),
        ("%3, %4", False),
        ("%1, %4", False),
        ("%2, %4", True),
        ("%2, %6", False),
        ("%0, %0", True),
    ],
)
def test_alternatives_are_of_different_bases(tmp_path: Path, alternatives: str, valid: bool) -> None:
    types = "".join(f"irdl.type @{name} {{ %0 = irdl.any irdl.parameters(a: %0) }} " for name in "tu")
    text = (
        f"irdl.dialect @d {{ {types} irdl.operation @o {{ %0 = irdl.is i32 %1 = irdl.parametric @d::@t<%0> "
        "%2 = irdl.parametric @d::@u<%0> %3 = irdl.any_of(%0, %1) %4 = irdl.all_of(%1, %2) %5 = irdl.any "
        f"%6 = irdl.all_of(%5) %7 = irdl.any_of({alternatives}) irdl.operands(x: %7) }} }}\n"
    )
    path = tmp_path / "d.irdl.mlir"
    path.write_text(text)
    status, _, stderr = ours("", f"--irdl-file={path}")
    assert (status == 0) == valid, stderr
    theirs = upstream("", f"--irdl-file={path}")
    assert (theirs[0] == 0) == valid, theirs[2]


def test_definitions_may_be_bytecode(tmp_path: Path) -> None:
    path = tmp_path / "cmath.mlirbc"
    path.write_bytes(run([f"{HERE}/cmath.irdl.mlir", "--emit-bytecode"]).stdout)
    assert ours(VALID, f"--irdl-file={path}") == ours(VALID, CMATH)
    assert ours(VALID, f"--irdl-file={path}")[0] == 0


def test_a_definition_that_does_not_exist(tmp_path: Path) -> None:
    status, _, stderr = ours("", f"--irdl-file={tmp_path}/none.mlir")
    assert status == 1
    assert "none.mlir" in stderr


def test_many_alternatives_that_fail_take_no_exponential_time(tmp_path: Path) -> None:
    lines = ["%0 = irdl.is i32", *(f"%{i + 1} = irdl.any_of(%{i}, %{i})" for i in range(60))]
    path = tmp_path / "d.irdl.mlir"
    path.write_text("irdl.dialect @d { irdl.type @t {\n" + "\n".join(lines) + "\nirdl.parameters(a: %60) } }")
    status, _, stderr = ours("func.func private @f(!d.t<i64>)", f"--irdl-file={path}")
    assert status == 1
    assert "'i64' does not satisfy the constraint" in stderr


# -- random dialects and programs

WORDS = (
    "i8",
    "i32",
    "f32",
    "index",
    "!r.t0<i8>",
    "!r.t0<f32>",
    "!r.t1<i8, i8>",
    "!r.t1<i8, f32>",
    "vector<4xi8>",
)
PLAIN = ("i8", "i32", "f32", "index")
NAMES = ("!builtin.integer", "!builtin.f32", "!builtin.vector", "!builtin.index")


def constraints(rng: random.Random, can_be_parametric: bool) -> tuple[list[str], list[str]]:
    """The lines of random constraints, and the names of their values."""
    lines: list[str] = []
    values: list[str] = []
    is_is: list[str] = []
    for i in range(rng.randint(2, 6)):
        kind = rng.choice(("is", "any", "base", "any_of", "all_of", "parametric", "symbol"))
        operand = [rng.choice(values or ["%0"]) for _ in range(2)]
        if (kind in ("parametric", "symbol") and not can_be_parametric) or i == 0:
            kind = "is"
        if kind == "any_of" and len(is_is) < 2:
            kind = "any"
        match kind:
            case "is":
                text = f"irdl.is {rng.choice(PLAIN)}"
                is_is.append(f"%{i}")
            case "any":
                text = "irdl.any"
            case "base":
                text = f'irdl.base "{rng.choice(NAMES)}"'
            case "any_of":
                text = f"irdl.any_of({', '.join(rng.sample(is_is, 2))})"
            case "all_of":
                text = f"irdl.all_of({', '.join(operand)})"
            case "symbol":
                text = f"irdl.base @r::@t{rng.randrange(2)}"
            case _:
                count = rng.randrange(2)
                text = f"irdl.parametric @r::@t{count}<{', '.join(operand[: count + 1])}>"
        lines.append(f"    %{i} = {text}")
        values.append(f"%{i}")
    return lines, values


def random_dialect(rng: random.Random) -> str:
    lines = ["irdl.dialect @r {"]
    for i in range(2):
        body, values = constraints(rng, can_be_parametric=False)
        names = ", ".join(f"p{j}: {rng.choice(values)}" for j in range(i + 1))
        lines += [f"  irdl.type @t{i} {{", *body, f"    irdl.parameters({names})", "  }"]
    for i in range(4):
        body, values = constraints(rng, can_be_parametric=True)
        lines += [f"  irdl.operation @op{i} {{", *body]
        for part in ("operands", "results"):
            counts = ["", "", "optional ", "variadic "]
            names = [
                f"{part[0]}{j}: {rng.choice(counts)}{rng.choice(values)}" for j in range(rng.randint(0, 3))
            ]
            lines.append(f"    irdl.{part}({', '.join(names)})")
        lines.append(f'    irdl.attributes {{"a" = {rng.choice(values)}}}')
        lines.append("  }")
    return "\n".join([*lines, "}"])


def random_op(rng: random.Random) -> str:
    operands = [rng.choice(WORDS) for _ in range(rng.randint(0, 3))]
    results = [rng.choice(WORDS) for _ in range(rng.randint(0, 2))]
    made = "".join(f"  %v{i} = ub.poison : {type}\n" for i, type in enumerate(operands))
    names = ", ".join(f"%v{i}" for i in range(len(operands)))
    attributes = [f"a = {rng.choice(WORDS)}"]
    for key, count in (("operand", len(operands)), ("result", len(results))):
        if rng.random() < 0.5:
            sizes = [rng.randint(0, 2) for _ in range(2)] + [rng.randint(0, 1)]
            attributes.append(
                f"{key}SegmentSizes = array<i32: {', '.join(map(str, sizes[: max(count, 2)]))}>"
            )
    types = f"({', '.join(operands)}) -> ({', '.join(results)})"
    name = f"r.op{rng.randrange(4)}"
    return (
        f'func.func @f() {{\n{made}  "{name}"({names}) {{{", ".join(attributes)}}} : {types}\n  return\n}}\n'
    )


def test_random_dialects_and_programs(tmp_path: Path) -> None:
    """Verdicts and errors are upstream's, in programs that are mostly wrong."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    valid = invalid = 0
    for case in range(4):
        path = tmp_path / f"r{case}.irdl.mlir"
        path.write_text(random_dialect(rng))
        option = f"--irdl-file={path}"
        for _ in range(6):
            text = random_op(rng)
            (status, output, stderr), theirs = ours(text, option), upstream(text, option)
            context = f"{path.read_text()}\n{text}\nours: {stderr}\ntheirs: {theirs[2]}"
            assert (status == 0) == (theirs[0] == 0), context
            if status == 0:
                valid += 1
                assert upstream(output, option)[1] == theirs[1], context
            else:
                invalid += 1
                assert set(errors(stderr)) >= set(errors(theirs[2])), context
    assert invalid


OVERLAP = """\
irdl.dialect @d {
  irdl.operation @op {
    %0 = irdl.base "!builtin.integer"
    %1 = irdl.is i32
    %2 = irdl.base "!builtin.integer"
    %3 = irdl.is f32
    %4 = irdl.any_of(%0, %1, %2, %3)
    irdl.operands(x: %4)
  }
}
"""


@pytest.mark.parametrize(
    ("type", "is_accepted"), [("i32", True), ("i8", True), ("f32", True), ("f64", False)]
)
def test_alternatives_of_one_base_may_overlap_as_upstream(
    tmp_path: Path, type: str, is_accepted: bool
) -> None:
    path = tmp_path / "d.irdl.mlir"
    path.write_text(OVERLAP)
    program = f'func.func @f(%x: {type}) {{ "d.op"(%x) : ({type}) -> () return }}'
    assert (ours(program, f"--irdl-file={path}")[0] == 0) is is_accepted
    command = [require_tool("mlir-opt-22"), f"--irdl-file={path}"]
    theirs = subprocess.run(command, input=program.encode(), capture_output=True, timeout=60)
    assert (theirs.returncode == 0) is is_accepted
