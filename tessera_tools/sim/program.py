"""The in-memory form of a PTX module: variables, functions, and their instructions in order.

PTX text ──reader.read()──▶ Program ──decode──▶ closures that the machine runs
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tessera_tools.sim.types import Type

__all__ = [
    "Address",
    "Function",
    "Group",
    "Immediate",
    "Instruction",
    "Name",
    "Operand",
    "Pair",
    "Program",
    "RegisterDeclaration",
    "Scope",
    "SourceLocation",
    "Variable",
    "Vector",
    "elements_of",
    "is_sink",
]


@dataclass(frozen=True, slots=True)
class Name:
    """A register, special register, label, variable or function by name; `negated` if `!` precedes it.

    `offset` is the constant of `symbol+4` outside brackets.
    """

    name: str
    negated: bool = False
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. `bits` is 0 for an integer, 32 or 64 for the pattern of `0f…`/`0d…`; -64 for a decimal float."""

    value: int | float
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`, or `[base, {coordinates}]` of a tensor copy; `base` may be an absolute Immediate."""

    base: Name | Immediate
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`p|q`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """`(a, b, …)`: results or arguments of a call."""

    elements: tuple[Operand, ...]


Operand = Name | Immediate | Address | Vector | Pair | Group


def elements_of(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector; a scalar operand is its only element."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


def is_sink(operand: Operand) -> bool:
    """True for `_`, a destination that is not kept."""
    return isinstance(operand, Name) and operand.name == "_"


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """The content of `.loc`: a file of the `.file` table, line and column; `caller` is the location of inlining."""

    file: str
    line: int
    column: int
    caller: SourceLocation | None = None

    @property
    def callers(self) -> list[str]:
        """The calls through which the code was inlined, innermost first."""
        found: list[str] = []
        caller = self.caller
        while caller is not None:
            found.append(str(caller))
            caller = caller.caller
        return found

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(slots=True)
class Instruction:
    """One instruction. `modifiers` are without their dots: `ld.global.v4.f32` has (global, v4, f32)."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Name | None
    scope: Scope
    line: int
    column: int
    location: SourceLocation | None

    @property
    def name(self) -> str:
        """The opcode with its modifiers, as written."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(slots=True)
class RegisterDeclaration:
    """One declared register: a slot in its width's file, unique in the module."""

    name: str
    type: Type
    slot: int


@dataclass(slots=True)
class Variable:
    """A variable or parameter. Sizes and alignments are bytes; a size of 0 is an extern array of unknown size.

    `initializer` is a flat list of numbers (int: value; float: value; bytes: pattern) and `(symbol, offset,
    generic, shift)` addresses, one per element.
    """

    name: str
    space: str
    type: Type
    size: int
    align: int
    line: int
    extern: bool = False
    initializer: list[object] = field(default_factory=list[object])
    function: str = ""
    """The function that declares the variable; empty at module level."""
    offset: int = 0
    """Offset in its frame (.local and a device function's .param) or its parameter block (an entry's .param)."""
    is_array: bool = False


_NUMBERED = re.compile(r"(.*?)(\d+)$")


@dataclass(slots=True)
class Scope:
    """The names that one `{ }` declares; `parent` is the enclosing block, None at module level."""

    parent: Scope | None = None
    registers: dict[str, RegisterDeclaration] = field(default_factory=dict[str, RegisterDeclaration])
    ranges: dict[str, tuple[int, Type, int]] = field(default_factory=dict[str, tuple[int, Type, int]])
    """Prefix of `%r<10>` → count, type, first slot."""
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    """Label → index in `Program.instructions`."""
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Name of a `.branchtargets` or `.calltargets` list → its labels."""

    def register(self, name: str) -> RegisterDeclaration | None:
        """The register that `name` refers to here, innermost declaration first."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.registers.get(name)
            if found is not None:
                return found
            if scope.ranges and (match := _NUMBERED.match(name)):
                # `%r10<5>` declares %r100…: every split of the trailing digits is a possible prefix.
                start = match.start(2)
                for cut in range(start, len(name)):
                    declared = scope.ranges.get(name[:cut])
                    number = name[cut:]
                    if declared and int(number) < declared[0] and (number == "0" or number[0] != "0"):
                        found = RegisterDeclaration(name, declared[1], declared[2] + int(number))
                        scope.registers[name] = found
                        return found
            scope = scope.parent
        return None

    def variable(self, name: str) -> Variable | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.parent
        return None

    def label(self, name: str) -> int | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None

    def target_list(self, name: str) -> tuple[str, ...] | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.targets:
                return scope.targets[name]
            scope = scope.parent
        return None


@dataclass(slots=True)
class Function:
    """A `.entry` or `.func`. `start` and `end` bound its instructions; both are 0 for a declaration without a body."""

    name: str
    is_entry: bool
    parameters: list[Variable]
    results: list[Variable]
    scope: Scope
    line: int
    start: int = 0
    end: int = 0
    required_block: tuple[int, ...] | None = None
    maximum_block: tuple[int, ...] | None = None
    required_cluster: tuple[int, ...] | None = None
    blocks_are_clusters: bool = False
    """Whether a launch gives its grid in clusters (.blocksareclusters)."""
    variables: list[Variable] = field(default_factory=list[Variable])
    """Every variable declared in its body, at any depth."""
    parameter_registers: list[str] = field(default_factory=list[str])
    """Parameters and results declared as `.reg`, by name, results first."""

    @property
    def is_defined(self) -> bool:
        return self.end > self.start


@dataclass(slots=True)
class Program:
    """A whole PTX module."""

    file: str
    version: tuple[int, int] = (0, 0)
    targets: tuple[str, ...] = ()
    address_size: int = 32
    scope: Scope = field(default_factory=Scope)
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    register_counts: dict[int, int] = field(default_factory=dict[int, int])
    """Bits → registers of that width in the whole module (1 for predicates)."""
    aliases: dict[str, str] = field(default_factory=dict[str, str])

    def entries(self) -> list[Function]:
        return [function for function in self.functions.values() if function.is_entry]
