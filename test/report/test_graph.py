"""The graph of a module: what the labels show, and what is left out."""

from __future__ import annotations

import pytest

from tessera_tools.parser import parse_module
from tessera_tools.report import graph
from tessera_tools.report.graph import MOST_LABEL, op_graph

LONG = "x" * MOST_LABEL
MODULE = f"""func.func @f(%a: i32) attributes {{of_region}} {{
  %c = arith.constant {{short = "y", long = "{LONG}"}} 7 : i32
  %d = arith.addi %a, %c : i32
  return
}}
func.func private @g()
"""


def test_labels_have_the_name_the_results_and_short_attributes() -> None:
    dot = op_graph(parse_module(MODULE))
    assert "func.func @f" in dot
    assert r"arith.constant\l%c: i32\lshort = \"y\"\lvalue = 7 : i32\l" in dot
    assert LONG not in dot
    assert not any(word in dot for word in ("of_region", "sym_name", "left out"))


def test_ops_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(MODULE)
    monkeypatch.setattr(graph, "MOST_NODES", 4)  # the module, the function, its parameter and the constant
    dot = op_graph(module)
    assert r"arith.constant\l%c: i32\lshort = \"y\"\lvalue = 7 : i32\l" in dot
    assert "  // 3 operations are left out\n" in dot
