"""Function bodies: blocks in an order in which definitions come before uses, phi nodes, instructions.

Values are numbered and blocks are named when they are defined, so that one pass writes the text. Only phi nodes are
filled in at the end of the function.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tessera_tools.diagnostics import DiagnosticError, InternalFault, Refusal
from tessera_tools.emit.llvmir import names as ll
from tessera_tools.emit.llvmir.constants import constant_text
from tessera_tools.emit.llvmir.metadata import Metadata
from tessera_tools.emit.llvmir.parameters import attributes_text
from tessera_tools.emit.llvmir.types import TypeTable
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr
from tessera_tools.ir.core import Block, Operation, Region, Value

if TYPE_CHECKING:
    from tessera_tools.emit.llvmir.debug import DebugInfo


class Shared:
    """State shared by the functions of a module."""

    def __init__(self, metadata: Metadata, debug: DebugInfo | None) -> None:
        self.types = TypeTable()
        self.metadata = metadata
        self.debug = debug
        self.declarations: dict[str, str] = {}
        """Intrinsic name → its declaration."""
        self.defined: set[str] = set()
        """Names that the module declares or defines."""


@runtime_checkable
class HasLlvmConstant(Protocol):
    """An op that is a constant expression of LLVM IR where its operands are constants."""

    def llvm_constant(self, emitter: FunctionEmitter, /) -> str:
        """Its text."""
        ...


@runtime_checkable
class HasLlvmText(Protocol):
    """An op with a form in LLVM IR."""

    def llvm_ir(self, emitter: FunctionEmitter, /) -> None:
        """Add its lines."""
        ...


class FunctionEmitter:
    """Writes one function's body; the `Emitter` that is passed to the ops' `llvm_ir` methods."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.names: dict[Value, str] = {}
        self.lines: list[str] = []
        self._types = shared.types.known
        self._next = 0
        self._suffix = ""
        self._labels: dict[Block, str] = {}
        self._incoming: dict[Block, list[tuple[str, Sequence[Value]]]] = {}
        self._label = ""
        self._branched: set[tuple[Operation, Block]] = set()
        self._trampolines: list[str] = []

    # -- the body

    def argument(self, value: Value) -> str:
        """Name a parameter."""
        name = self.names[value] = f"%{self._next}"
        self._next += 1
        return name

    def body(self, region: Region) -> list[str]:
        """The lines of the blocks."""
        order = block_order(region)
        for number, block in enumerate(order):
            self._labels[block] = f"bb{number}"
        phis: list[tuple[int, Block]] = []
        debug = self.shared.debug
        lines = self.lines
        for number, block in enumerate(order):
            self._label = self._labels[block]
            lines.append(f"{self._label}:")
            if number and block.arguments:
                phis.append((len(lines), block))
                for argument in block.arguments:
                    self.argument(argument)
                    lines.append("")
            op = block._first
            while op is not None:
                if debug is not None:
                    self._suffix = debug.suffix(op.location)
                try:
                    op.llvm_ir(self)  # type: ignore[attr-defined]
                    if op.attributes:
                        lines[-1] += self.shared.metadata.access(op)
                except AttributeError as fault:
                    if not isinstance(op, HasLlvmText):
                        raise no_translation(op) from None
                    raise unexpected(fault, op) from fault
                except Refusal as problem:
                    raise op.error(str(problem)) from None
                except (DiagnosticError, RecursionError, MemoryError):
                    raise
                except Exception as fault:
                    raise unexpected(fault, op) from fault
                op = op._next
            if self._trampolines:
                lines += self._trampolines
                self._trampolines = []
        for at, block in phis:
            self._fill(at, block)
        return lines

    def _fill(self, at: int, block: Block) -> None:
        incoming = self._incoming.get(block, [])
        for index, argument in enumerate(block.arguments):
            type = self.type(argument.type)
            if incoming:
                parts = ", ".join(
                    [f"[ {self.names[values[index]]}, %{label} ]" for label, values in incoming]
                )
                self.lines[at + index] = f"  {self.names[argument]} = phi {type} {parts}"
            else:
                # The block has no predecessors; a phi node without entries is not allowed.
                self.lines[at + index] = f"  {self.names[argument]} = freeze {type} poison"

    # -- what translations use

    def type(self, type: Type) -> str:
        known = self._types.get(type)
        return known if known is not None else self.shared.types.text(type)

    def operand(self, value: Value) -> str:
        type = value.type
        known = self._types.get(type)
        if known is None:
            known = self.shared.types.text(type)
        return f"{known} {self.names[value]}"

    def emit(self, text: str) -> None:
        self.lines.append(f"  {text}{self._suffix}")

    def define(self, op: Operation, text: str) -> None:
        name = self.names[op.results[0]] = f"%{self._next}"
        self._next += 1
        self.lines.append(f"  {name} = {text}{self._suffix}")

    def temporary(self, text: str) -> str:
        name = f"%{self._next}"
        self._next += 1
        self.lines.append(f"  {name} = {text}{self._suffix}")
        return name

    def constant(self, value: Value, text: str) -> None:
        self.names[value] = text

    def constant_text(self, value: Attribute, type: Type, op: Operation) -> str:
        return constant_text(self.shared.types, value, type)

    def call(
        self,
        op: Operation,
        name: str,
        result: str,
        arguments: Sequence[str],
        *,
        flags: str = "",
        before: str = "",
        trailer: str = "",
    ) -> None:
        """Call an intrinsic.  `flags` are fast-math flags, `before` attributes of the result, `trailer` bundles."""
        self.declare(name, result, arguments)
        text = f"call {flags}{before}{result} @{name}({', '.join(arguments)}){trailer}"
        if result == "void":
            self.emit(text)
        elif op.results:
            self.define(op, text)
        else:
            self.temporary(text)

    def call_value(self, name: str, result: str, arguments: Sequence[str]) -> str:
        self.declare(name, result, arguments)
        return self.temporary(f"call {result} @{name}({', '.join(arguments)})")

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        """Declare an intrinsic on its first use."""
        if name not in self.shared.declarations:
            types = ", ".join(map(leading_type, arguments))
            self.shared.declarations[name] = f"declare {result} @{ll.symbol(name)}({types})"

    def label(self, block: Block) -> str:
        return f"label %{self._labels[block]}"

    def branch(self, op: Operation, block: Block, values: Sequence[Value]) -> str:
        target = self._labels[block]
        if not block.arguments:
            return f"label %{target}"
        source = self._label
        edge = (op, block)
        if edge in self._branched:
            # A second edge to the same block with other operands needs an intermediate block.
            source = f"{self._label}.to.{target}.{len(self._trampolines)}"
            self._trampolines += [f"{source}:", f"  br label %{target}{self._suffix}"]
            self._incoming.setdefault(block, []).append((source, values))
            return f"label %{source}"
        self._branched.add(edge)
        self._incoming.setdefault(block, []).append((source, values))
        return f"label %{target}"

    def metadata(self, text: str) -> str:
        return self.shared.metadata.node(text)

    def node(self, attribute: Attribute) -> str:
        """The number of an attribute's metadata."""
        return self.shared.metadata.of(attribute)

    def symbol(self, name: str) -> str:
        return f"@{ll.symbol(name)}"

    def call_arguments(self, values: Sequence[Value], attributes: ArrayAttr | None) -> str:
        """The arguments of a call with their attributes."""
        if attributes is None:
            return ", ".join([self.operand(v) for v in values])
        parts: list[str] = []
        for value, entry in zip(values, attributes.elements, strict=False):
            given = attributes_text(entry, self.shared.types) if isinstance(entry, DictionaryAttr) else ""
            parts.append(f"{self.type(value.type)} {given + ' ' if given else ''}{self.names[value]}")
        return ", ".join(parts)

    def result_attributes(self, attributes: ArrayAttr | None) -> str:
        """The attributes of a call's result, followed by a space."""
        entry = attributes.elements[0] if attributes is not None and attributes.elements else None
        text = attributes_text(entry, self.shared.types) if isinstance(entry, DictionaryAttr) else ""
        return f"{text} " if text else ""


_WORD_TYPE = re.compile(r"ptr addrspace\(\d+\)|target\([^)]*\)|%\"[^\"]*\"|%[\w.$-]+|[a-z]\w*")
_CLOSE = {"<": ">", "{": "}", "[": "]"}


def leading_type(text: str) -> str:
    """The type at the front of `type value`."""
    if text[0] not in _CLOSE:
        match = _WORD_TYPE.match(text)
        return match.group() if match else text.split(" ", 1)[0]
    depth = 0
    for at, char in enumerate(text):
        if char in "<{[":
            depth += 1
        elif char in ">}]":
            depth -= 1
            if not depth:
                return text[: at + 1]
    return text


def block_order(region: Region) -> list[Block]:
    """The blocks, each before those it dominates: reverse post-order from the entry, then the unreachable ones."""
    order: list[Block] = []
    seen: set[Block] = set()
    for root in region.blocks:
        if root in seen:
            continue
        post: list[Block] = []
        seen.add(root)
        stack = [(root, iter(root.successors))]
        while stack:
            block, rest = stack[-1]
            following = next((b for b in rest if b not in seen), None)
            if following is None:
                post.append(block)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(following.successors)))
        order += reversed(post)
    return order


PASS_FOR_DIALECT = {
    "cuda_tile": "--convert-cuda-tile-to-tileaa",
    "nv_tileaa": "--convert-tileaa-to-tileas",
    "tile": "--convert-tile-to-tileas",
    "func": "--convert-nv-tile-func-to-llvm",
    "builtin": "--reconcile-unrealized-casts",
}
"""The pass that lowers a dialect's ops to ops with a translation; for other dialects it is --convert-tileas-to-llvm."""


def unexpected(fault: Exception, op: Operation) -> Exception:
    """The error for an internal exception while an op is written; with TESSERA_DEBUG=1, that exception."""
    if os.environ.get("TESSERA_DEBUG") == "1":
        return fault
    return InternalFault.of(fault, f"while writing LLVM IR for '{op.name}'", op.location)


def no_translation(op: Operation) -> DiagnosticError:
    """The error for an op that is not of the llvm or nvvm dialect, or that has no translation."""
    dialect = op.name.partition(".")[0]
    if dialect in ("llvm", "nvvm"):
        return op.error("has no translation to LLVM IR")
    advice = PASS_FOR_DIALECT.get(dialect, "--convert-tileas-to-llvm")
    return op.error(f"has no translation to LLVM IR; run the pass {advice} first")
