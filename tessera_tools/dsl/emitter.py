"""Builds the ops of one kernel: insertion point, source location, constants, and the order of memory accesses.

    statement or expression of the kernel ──interpreter──▶ Emitter ──Builder──▶ cuda_tile ops

Accesses to memory happen as if in the order of the program. The dialect orders them by tokens only, so the emitter
passes tokens between accesses to the same *group*: a pointer parameter and all that is derived from it. Different
groups do not overlap. A group that the kernel only reads needs no tokens. Which groups a kernel writes, and which
of them flow together, is known only at its end; so a kernel is built twice, and the second time uses what the first
one has found (`Memory`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from tessera_tools.diagnostics import DiagnosticError, Refusal, error
from tessera_tools.dialects.cuda_tile import Constant, JoinTokens, MakeToken
from tessera_tools.dialects.cuda_tile.types import TOKEN, TileType
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builder import Builder
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.location import UNKNOWN, Location
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import FloatType, IntegerType
from tessera_tools.records import dataclass, field

if TYPE_CHECKING:
    from tessera_tools.dsl.interpreter import Interpreter

__all__ = ["Emitter", "Memory", "current", "number_fits"]

OpT = TypeVar("OpT", bound=Operation)
ANYWHERE = "?"
"""The group of an address that is made from a number."""
OUTPUT = "%output"
"""The group of what is printed."""
DEVICE = "%device"
"""The group of ops that wait for other kernels."""

_current: ContextVar[Emitter | None] = ContextVar("emitter", default=None)


def current() -> Emitter:
    """The emitter of the kernel that is being compiled. Raises Refusal outside of kernels."""
    found = _current.get()
    if found is None:
        raise Refusal(
            "this can only be used in a function with @kernel, which tt.compile or a launch compiles"
        )
    return found


@dataclass
class Memory:
    """What is known about the memory of a kernel: a union of groups, and which of them are written."""

    parents: dict[str, str] = field(default_factory=dict[str, str])
    written: set[str] = field(default_factory=set[str])
    read: set[str] = field(default_factory=set[str])
    in_loops: dict[ast.AST, set[str]] = field(default_factory=dict[ast.AST, set[str]])
    """For each loop of the source, the groups that its iterations access."""
    found: bool = False
    """False while the kernel is built for the first time."""

    def group(self, name: str) -> str:
        """The representative of a group."""
        while (parent := self.parents.get(name, name)) != name:
            name = parent
        return name

    def unite(self, *names: str) -> str:
        """Make one group of several; returns its representative."""
        first = self.group(names[0])
        for name in names[1:]:
            other = self.group(name)
            if other != first:
                self.parents[other] = first
        return first

    def finish(self) -> None:
        """After the first time: an address from a number may be any."""
        accessed = self.read | self.written
        if any(self.group(name) == self.group(ANYWHERE) for name in accessed):
            self.unite(ANYWHERE, *(name for name in sorted(accessed) if not name.startswith("%")))
        self.written = {self.group(name) for name in self.written}
        self.read = {self.group(name) for name in self.read}
        self.in_loops = {loop: {self.group(n) for n in names} for loop, names in self.in_loops.items()}
        self.found = True

    def needs_tokens(self, group: str) -> bool:
        """Whether the accesses to a group are ordered."""
        return not self.found or group in self.written

    def keys_of(self, loop: ast.AST) -> list[str]:
        """The tokens that a loop carries, as keys of `Emitter.tokens`."""
        groups = sorted(self.in_loops.get(loop, ())) if self.found else []
        found: list[str] = []
        for group in groups:
            if group in self.written:
                found.append(f"all {group}")
                if group in self.read:
                    found.append(f"write {group}")
        return found


class Emitter:
    """Inserts ops at a point, with the location of the statement that is being compiled."""

    def __init__(self, block: Block, memory: Memory) -> None:
        self.builder = Builder.at_end(block)
        self.location: Location = UNKNOWN
        self.memory = memory
        self.tokens: dict[str, Value] = {}
        """`all g`: the accesses to a group so far; `write g`: the last write to it."""
        self.loops: list[ast.AST] = []
        self.interpreter: Interpreter = None  # type: ignore[assignment]
        """Set by the interpreter: calls functions of the kernel's source, such as the body of a reduction."""
        self.names: set[str] = set()
        """The names of parameters, for messages."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the emitter that the functions of the DSL use."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)

    @contextmanager
    def into(self, block: Block) -> Iterator[None]:
        """Insert at the end of another block inside the `with` statement."""
        before = self.builder
        self.builder = Builder.at_end(block)
        try:
            yield
        finally:
            self.builder = before

    def error(self, message: str, *notes: str) -> DiagnosticError:
        """An error at the current statement or expression."""
        return error(self.location, message, *notes)

    def insert(self, op: OpT) -> OpT:
        """Insert an op, after a check of its declaration; raises DiagnosticError at the Python line."""
        op.location = self.location
        if not op.regions and not op.has_trait(Terminator):
            op.verify_declared()  # type: ignore[attr-defined]
            op.verify_op()
        return self.builder.insert(op)

    def constant(self, value: bool | int | float, type: TileType) -> Value:
        """A tile whose elements are all `value`. Raises Refusal if the element type has no such number."""
        element = type.element
        if isinstance(element, FloatType):
            bits = floats.encode(float(value), element.keyword)
        elif isinstance(element, IntegerType):
            if not number_fits(value, element):
                raise Refusal(f"{value!r} is not a number of the type {element}")
            bits = int(value) & ((1 << element.width) - 1)
        else:
            raise Refusal(f"found the number {value!r}, expected a {type.short_text()}")
        return self.insert(Constant(DenseElementsAttr.of(type, [bits]), result=type)).result

    # -- the order of accesses

    def token_before(self, group: str, writes: bool) -> Value | None:
        """The token that the next access to a group waits for; None if there is nothing to wait for."""
        group = self.memory.group(group)
        (self.memory.written if writes else self.memory.read).add(group)
        for loop in self.loops:
            self.memory.in_loops.setdefault(loop, set()).add(group)
        return self.tokens.get(f"all {group}" if writes else f"write {group}")

    def accessed(self, group: str, writes: bool, token: Value) -> None:
        """Note an access, which `token` waits for."""
        group = self.memory.group(group)
        if not self.memory.found or group not in self.memory.written:
            return
        if writes:
            self.tokens[f"write {group}"] = self.tokens[f"all {group}"] = token
            if group not in self.memory.read:
                del self.tokens[f"write {group}"]
            return
        before = self.tokens.get(f"all {group}")
        if before is not None and before is not self.tokens.get(f"write {group}"):
            token = self.insert(JoinTokens([before, token], result=TOKEN)).result
        self.tokens[f"all {group}"] = token

    def token(self, key: str) -> Value:
        """The token of a key, which is made where nothing has been accessed."""
        found = self.tokens.get(key)
        if found is None:
            found = self.tokens[key] = self.insert(MakeToken(result=TOKEN)).result
        return found


def number_fits(value: bool | int | float, element: Type) -> bool:
    """Whether an integer type, signed or not, has the number."""
    if not isinstance(element, IntegerType) or not isinstance(value, int):
        return False
    return -(1 << element.width >> 1) <= value < 1 << element.width


def same_types(values: Sequence[Value], types: Sequence[Type]) -> bool:
    """Whether the values have these types."""
    return len(values) == len(types) and all(v.type is t for v, t in zip(values, types, strict=True))
