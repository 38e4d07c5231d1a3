"""Folds checked against upstream: a function of constants, canonicalized by both.

ops on constants ──▶ our greedy driver ──▶ the constants returned ┐
                 └─▶ mlir-opt --canonicalize ──▶ the same?        ┘
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from run_cache import once_in_a_run

from harness.claims import broken_link
from oracles import require_tool
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.builtin.canonicalize import Canonicalize


def canonical(text: str) -> str:
    """A program after our canonicalization."""
    module = parse_module(text, "test.mlir")
    Canonicalize().run(module, PassContext())
    assert broken_link(module) is None
    return print_op(module)


@once_in_a_run
def upstream(text: str, *options: str) -> str:
    """A program after upstream's canonicalization (or another pass)."""
    command = [require_tool("mlir-opt-22"), "-", *(options or ("--canonicalize",))]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def returned(text: str) -> dict[str, str]:
    """Function name → what it returns: the constants by their text, other values as they are named."""
    found: dict[str, str] = {}
    for name, body in re.findall(r"func\.func @(\w+)\(.*?\{\n(.*?)\n  \}", text, re.DOTALL):
        constants = dict(re.findall(r"(%[\w-]+) = arith\.constant (.*)", body))
        values = re.search(r"return (.*?) :", body)
        assert values is not None, body
        found[name] = ", ".join(constants.get(v.strip(), "not folded") for v in values.group(1).split(","))
    return found


def function(number: int, constants: Sequence[str], op: str, result: str) -> str:
    """`@f<number>` of one op: `op` names the constants %0, %1, …"""
    lines = [f"  %{i} = arith.constant {text}" for i, text in enumerate(constants)]
    return (
        f"func.func @f{number}() -> {result} {{\n"
        + "\n".join(lines)
        + f"\n  %r = {op}\n  return %r : {result}\n}}\n"
    )


def assert_folds_agree(functions: Sequence[str], *, more: bool = False) -> None:
    """Both fold each function to the same constant, or neither folds it; with `more`, ours may fold where upstream
    does not."""
    text = "".join(functions)
    ours, theirs = returned(canonical(text)), returned(upstream(text))
    assert ours.keys() == theirs.keys()
    wrong = [
        f"{f}ours: {ours[n]}\nupstream: {theirs[n]}\n"
        for n, f in zip(ours, functions, strict=True)
        if ours[n] != theirs[n] and not (more and theirs[n] == "not folded")
    ]
    assert not wrong, "\n".join(wrong)
