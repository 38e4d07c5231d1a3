"""How IR is printed, compared with mlir-opt on the same text."""

from __future__ import annotations

import re
import subprocess

import pytest

from oracles import require_tool
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.style import Style
from tessera_tools.parser import parse_module

TEXT = """\
module {
  func.func @f(%arg0: i32 loc("first"), %arg1: i1 loc(unknown)) -> (i32, i32) {
    %cst = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32> loc("x.mlir":2:3)
    %cst_0 = arith.constant dense<7> : tensor<4xi32> loc("x.mlir":2:3 to :8)
    %0:2 = "test.two"(%arg0) : (i32) -> (i32, i32) loc("named"("x.mlir":3:4))
    %1 = scf.if %arg1 -> (i32) {
      %3 = arith.addi %arg0, %0#1 : i32 loc("foo")
      %4 = arith.addi %3, %3 : i32 loc("9 lives")
      scf.yield %4 : i32 loc("x.mlir":5:5)
    } else {
      %3 = arith.subi %arg0, %arg0 : i32 loc(callsite("foo" at "bar":1:2))
      scf.yield %3 : i32 loc(callsite("y.mlir":5:5 at "x.mlir":6:6))
    } loc("x.mlir":4:4)
    cf.br ^bb1(%1 : i32) loc(unknown)
  ^bb1(%2: i32 loc("x.mlir":7:7)):
    return %2, %0#0 : i32, i32 loc(fused<"meta">["a", "b":1:2])
  } loc("x.mlir":1:1)
} loc("x.mlir":1:1)
"""


@pytest.mark.parametrize(
    ("flags", "style"),
    [
        (["--mlir-print-value-users"], Style(value_users=True)),
        (["--mlir-print-unique-ssa-ids"], Style(unique_ids=True)),
        (["--mlir-use-nameloc-as-prefix"], Style(name_locations=True)),
        (["--mlir-print-skip-regions"], Style(skip_regions=True)),
        (["--mlir-elide-elementsattrs-if-larger=3"], Style(most_elements=3)),
        (["--mlir-elide-elementsattrs-if-larger=4"], Style(most_elements=4)),
        (
            ["--mlir-print-debuginfo", "--mlir-pretty-debuginfo"],
            Style(debuginfo=True, pretty_debuginfo=True),
        ),
        (
            ["--mlir-print-debuginfo", "--mlir-pretty-debuginfo", "--mlir-print-local-scope"],
            Style(debuginfo=True, pretty_debuginfo=True, local_scope=True),
        ),
        (
            ["--mlir-print-value-users", "--mlir-print-unique-ssa-ids", "--mlir-use-nameloc-as-prefix"],
            Style(value_users=True, unique_ids=True, name_locations=True),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_it_is_mlirs_own_text(flags: list[str], style: Style) -> None:
    peer = subprocess.run(
        [require_tool("mlir-opt-22"), "--allow-unregistered-dialect", *flags],
        input=TEXT, capture_output=True, timeout=60, check=True, text=True,
    ).stdout  # fmt: skip
    ours = print_op(parse_module(TEXT, allow_unregistered=True), style=style)
    assert ours.rstrip() == peer.rstrip()


BLOB = """\
func.func @f() -> tensor<4xi32> {
  %c = arith.constant dense_resource<blob> : tensor<4xi32>
  return %c : tensor<4xi32>
}
{-#
  dialect_resources: { builtin: { blob: "0x0400000001000000020000000300000004000000" } }
#-}
"""


@pytest.mark.parametrize("most", [0, 41, 42, 43, 44, 45, 100])
def test_long_resources_are_left_out(most: int) -> None:
    peer = subprocess.run(
        [require_tool("mlir-opt-22"), f"--mlir-elide-resource-strings-if-larger={most}"],
        input=BLOB, capture_output=True, timeout=60, check=True, text=True,
    ).stdout  # fmt: skip
    ours = print_op(parse_module(BLOB), style=Style(most_resource=most))
    assert ("0x04" in ours) is ("0x04" in peer)


def test_elision_ends_with_the_text() -> None:
    module = parse_module(TEXT, allow_unregistered=True)
    assert "__elided__" in print_op(module, style=Style(most_elements=0))
    assert "__elided__" not in print_op(module)


def test_a_sparse_attribute_is_elided() -> None:
    text = "func.func @f() attributes {a = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>} { return }"
    assert "dense_resource<__elided__>" in print_op(parse_module(text), style=Style(most_elements=1))


def test_unique_names_are_those_of_the_text_where_they_differ() -> None:
    text = """
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func @g(%a: i32, %b: i32) -> i32 {
  return %b : i32
}
"""
    found = re.findall(r"%(\w+)(?= =|: i32)", print_op(parse_module(text), style=Style(unique_ids=True)))
    assert len(found) == len(set(found)) == 4
    assert {name.partition("_")[0] for name in found} == {"a", "b"}
    assert "%a_0" not in print_op(parse_module(text))


def test_users_of_several_results_are_plural_as_upstream() -> None:
    text = """\
%0:2 = "t.a"() : () -> (i32, i32)
"t.b"(%0#0) : (i32) -> ()
%2 = "t.c"() : () -> i32
"t.b"(%2) : (i32) -> ()
"""
    peer = subprocess.run(
        [require_tool("mlir-opt-22"), "--allow-unregistered-dialect", "--mlir-print-value-users"],
        input=text, capture_output=True, timeout=60, check=True, text=True,
    ).stdout  # fmt: skip
    ours = print_op(parse_module(text, allow_unregistered=True), style=Style(value_users=True))
    assert ours.rstrip() == peer.rstrip()
    assert "// users: (%1), (unused)" in ours and "// user: %3" in ours
