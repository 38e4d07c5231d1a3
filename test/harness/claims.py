"""A pass says that it changed nothing only if that is so: the IR is not verified after it then. What it changed holds
together: each op, block and region knows where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass
from tessera_tools.passes.manager import PassManager


@contextmanager
def claims_checked() -> Iterator[list[str]]:
    """The passes that, within the `with` block, change an op and say that they did not, or that break a link."""
    found: list[str] = []
    run = PassManager._run_pass

    def checked(self: PassManager, pass_: Pass, op: Operation) -> bool:
        before = _contents(op)
        changed = run(self, pass_, op)
        if not changed and _contents(op) != before:
            found.append(pass_.text())
        if (link := broken_link(op)) is not None:
            found.append(f"{pass_.text()}: {link}")
        return changed

    PassManager._run_pass = checked
    try:
        yield found
    finally:
        PassManager._run_pass = run


def broken_link(root: Operation) -> str | None:
    """The first op, block or region that takes another for what contains it; None if there is none."""
    for op in (root, *root.walk()):
        for region in op.regions:
            if region.parent is not op:
                return f"a region of '{op.name}' has another parent"
            for block in region.blocks:
                if block.parent is not region:
                    return f"a block of '{op.name}' has another parent"
                for inner in block:
                    if inner.parent is not block:
                        return f"'{inner.name}' in '{op.name}' has another parent"
    return None


def _contents(root: Operation) -> list[Any]:
    """The ops, each with its place and all that it holds; much faster than the text."""
    found: list[Any] = []
    for op in (root, *root.walk()):
        types = [result.type for result in op.results]
        found.append((op, op.parent, dict(op.attributes)))
        found.append((list(op.operands), types, list(op.successors)))
        for region in op.regions:
            found += [(block, [(value, value.type) for value in block.arguments]) for block in region.blocks]
    return found
