"""Operations and the values between them as a graph, as MLIR's `--view-op-graph` draws it.

module ──op_graph()──▶ DOT ──graph_svg()──▶ SVG, by Graphviz's `dot`

A node is an operation with its result types. An edge is a value, from the operation or block argument that defines it
to each operation that uses it. A box is a region.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.tools import TemporaryFolder
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.values import OpResult
from tessera_tools.process import run
from tessera_tools.report.layouts import names_of

__all__ = ["graph_svg", "op_graph"]

MOST_LABEL = 60
"""Characters of a line of a label."""
MOST_NODES = 5000
SECONDS = 60.0


def op_graph(module: Operation) -> str:
    """Returns the graph of an operation and all inside it, in Graphviz's DOT language. At most 5,000 operations are
    drawn; a comment says how many are left out."""
    return _Graph(module).text()


class _Graph:
    def __init__(self, module: Operation) -> None:
        self._names = names_of(module)
        self._lines: list[str] = []
        self._edges: list[str] = []
        self._ids: dict[Operation | Value, str] = {}
        self._left_out = 0
        self._op(module, 1)

    def text(self) -> str:
        more = [f"  // {self._left_out} operations are left out"] if self._left_out else []
        head = [
            "digraph G {",
            "  compound = true;",
            '  node [shape = box, fontname = "monospace", fontsize = 10];',
        ]
        head.append('  edge [fontname = "monospace", fontsize = 8];')
        return "\n".join([*head, *self._lines, *self._edges, *more, "}"]) + "\n"

    def _new(self, of: Operation | Value) -> str:
        self._ids[of] = f"v{len(self._ids)}"
        return self._ids[of]

    def _op(self, op: Operation, depth: int) -> None:
        if len(self._ids) >= MOST_NODES:
            self._left_out += 1 + sum(1 for _ in op.walk())
            return
        indent = "  " * depth
        if not any(len(region.blocks) for region in op.regions):
            self._lines.append(f"{indent}{self._new(op)} [label = {_quoted(self._label(op))}];")
            self._uses(op)
            return
        # An op with regions is a box; a node in it stands for the op itself.
        self._lines.append(f"{indent}subgraph cluster_{len(self._ids)} {{")
        self._lines.append(
            f'{indent}  label = {_quoted(self._label(op))}; fontname = "monospace"; fontsize = 10;'
        )
        self._lines.append(f'{indent}  {self._new(op)} [label = "", shape = point, style = invis];')
        self._uses(op)
        for region in op.regions:
            for block in region.blocks:
                self._block(block, depth + 1)
        self._lines.append(f"{indent}}}")

    def _block(self, block: Block, depth: int) -> None:
        indent = "  " * depth
        for argument in block.arguments:
            label = f"{self._names.get(argument, '')}: {_short(str(argument.type))}"
            self._lines.append(f"{indent}{self._new(argument)} [label = {_quoted(label)}, shape = ellipse];")
        for op in block.operations:
            self._op(op, depth)

    def _uses(self, op: Operation) -> None:
        for value in op.operands:
            begin = self._ids.get(value.op if isinstance(value, OpResult) else value)
            if begin is None:
                continue
            label = self._names.get(value, "")
            self._edges.append(f"  {begin} -> {self._ids[op]} [label = {_quoted(label)}];")

    def _label(self, op: Operation) -> str:
        name = symbol_name(op)
        lines = [op.name + (f" @{name}" if name is not None else "")]
        lines += [f"{self._names.get(result, '')}: {_short(str(result.type))}" for result in op.results[:8]]
        lines += [f"{key} = {_short(str(value))}" for key, value in _shown(op)]
        return "\n".join(_short(line) for line in lines)


def _shown(op: Operation) -> Iterator[tuple[str, object]]:
    """The attributes that a label has."""
    for key, value in op.attributes.items():
        if key != "sym_name" and len(str(value)) <= MOST_LABEL and not op.regions:
            yield key, value


def _short(text: str) -> str:
    return text if len(text) <= MOST_LABEL else f"{text[: MOST_LABEL - 1]}…"


def _quoted(text: str) -> str:
    """A string of DOT, with each line left-aligned."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}\\l"' if "\\l" in escaped else f'"{escaped}"'


def graph_svg(dot: str) -> str:
    """Returns the picture of a graph as SVG. Raises ToolError if there is no `dot`, or it fails."""
    program = shutil.which("dot")
    if program is None:
        raise ToolError(
            "SVG of a graph needs Graphviz's 'dot'", "install graphviz, or write a file that ends in .dot"
        )
    with TemporaryFolder("tessera-graph") as folder:
        source = folder.write("graph.dot", dot.encode("utf-8", "backslashreplace"))
        done = run([program, "-Tsvg", source], time_limit=SECONDS, output_limit=64 << 20)
    if not done.succeeded:
        reason = (
            "it took too long" if done.timed_out else done.stderr.decode("utf-8", "replace").strip()[:300]
        )
        raise ToolError(f"Graphviz's 'dot' failed: {reason}", "write a file that ends in .dot instead")
    return done.stdout.decode("utf-8", "replace")
