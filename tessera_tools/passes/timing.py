"""Wall time by part, and MLIR's timing report.

    with timing.scope("Parser"): …      ──report()──▶   0.0014 ( 18.0%)  Parser

Scopes nest; the times of scopes with the same key and parent are added in one line of the report.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Timing", "rule"]

_WIDTH = 80


def rule(title: str) -> str:
    """The three lines that head each of MLIR's reports."""
    line = f"==={'-' * (_WIDTH - 7)}===\n"
    text = f"... {title} ..."
    return f"{line}{' ' * ((_WIDTH - len(text)) // 2)}{text}\n{line}"


class _Node:
    __slots__ = ("children", "name", "seconds")

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = 0.0
        self.children: dict[object, _Node] = {}

    def child(self, key: object, name: str) -> _Node:
        node = self.children.get(key)
        if node is None:
            node = self.children[key] = _Node(name)
        return node


class Timing:
    """Times of one run of a command. `begin` (time.perf_counter) is when it started."""

    def __init__(self, begin: float | None = None) -> None:
        self._begin = time.perf_counter() if begin is None else begin
        self._root = _Node("root")
        self._stack = [self._root]

    def started(self, seconds: float, begin: float) -> None:
        """Add the first line, `Start`: the process had run for `seconds` at `begin`, and loaded code until now."""
        self._begin = begin - seconds
        self.add("Start", time.perf_counter() - self._begin)

    @contextmanager
    def scope(self, name: str, key: object = None) -> Iterator[None]:
        """Add the time of the `with` block to `name`, in the current scope."""
        node = self._stack[-1].child(name if key is None else key, name)
        self._stack.append(node)
        begin = time.perf_counter()
        try:
            yield
        finally:
            node.seconds += time.perf_counter() - begin
            self._stack.pop()

    def add(self, name: str, seconds: float) -> None:
        """Add `seconds` that were measured elsewhere to `name`, in the current scope."""
        self._stack[-1].child(name, name).seconds += seconds

    def parts(self) -> dict[str, float]:
        """Seconds of the outermost scopes, by name, and `Total`."""
        parts = {node.name: node.seconds for node in self._root.children.values()}
        parts["Total"] = self._total()
        return parts

    def _total(self) -> float:
        return time.perf_counter() - self._begin

    def report(self, display: str = "tree", *, as_json: bool = False) -> str:
        """The report; `display` is "tree", or "list" for one line per name, longest first. as_json: as a JSON array.

        The list begins with `root`, the whole run, as MLIR's does.
        """
        total = self._total()
        rest = max(0.0, total - sum(node.seconds for node in self._root.children.values()))
        if as_json:
            return self._json(total, rest, display)
        if display == "list":
            rows = [(0, name, seconds) for name, seconds in self._by_name(total)]
        else:
            rows = [(depth, node.name, node.seconds) for depth, node in self._walk(self._root, 0)]
        rows += [(0, "Rest", rest), (0, "Total", total)]
        text = rule("Execution time report")
        text += f"  Total Execution Time: {total:.4f} seconds\n\n  ----Wall Time----  ----Name----\n"
        for depth, name, seconds in rows:
            share = 100.0 * seconds / total if total > 0 else 0.0
            text += f"  {seconds:8.4f} ({share:5.1f}%)  {'  ' * depth}{name}\n"
        return text + "\n"

    def _json(self, total: float, rest: float, display: str) -> str:
        """MLIR's records: the time in seconds, the share in percent, the name, and with "tree" what is inside."""

        def record(name: str, seconds: float) -> dict[str, object]:
            share = 100.0 * seconds / total if total > 0 else 0.0
            return {"wall": {"duration": round(seconds, 4), "percentage": round(share, 1)}, "name": name}

        def tree(node: _Node) -> list[dict[str, object]]:
            return [
                record(child.name, child.seconds) | {"passes": [*tree(child), {}]}
                for child in node.children.values()
            ]

        if display == "list":
            entries = [record(*entry) for entry in self._by_name(total)]
        else:
            entries = tree(self._root)
        entries += [record("Rest", rest), record("Total", total)]
        return "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n"

    def _by_name(self, total: float) -> list[tuple[str, float]]:
        """`root`, then the seconds of all scopes of each name, longest first."""
        sums: dict[str, float] = {}
        for _, node in self._walk(self._root, 0):
            sums[node.name] = sums.get(node.name, 0.0) + node.seconds
        return [(self._root.name, total), *sorted(sums.items(), key=lambda entry: -entry[1])]

    def _walk(self, node: _Node, depth: int) -> Iterator[tuple[int, _Node]]:
        for child in node.children.values():
            yield depth, child
            yield from self._walk(child, depth + 1)
