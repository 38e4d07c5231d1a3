"""A loaded PTX module: decoded code, constants and globals in memory, frames of functions.

text ──load()──▶ Module(program, code, ports) ──launch()──▶ Result(findings, stats, output)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.diagnostics import Position, error
from tessera_tools.sim.blocks import Blocks
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.decode import NOTHING, Ports, Together, decode_function, edit_function, not_decoded
from tessera_tools.sim.launch import Launch, Result
from tessera_tools.sim.memory import BASE, Allocations, Buffer
from tessera_tools.sim.program import (
    Address,
    Function,
    Group,
    Instruction,
    Name,
    Operand,
    Program,
    Variable,
    Vector,
)
from tessera_tools.sim.reader import read, read_instruction
from tessera_tools.sim.straight import Straight

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Execute
    from tessera_tools.sim.launch import Argument
    from tessera_tools.sim.ports import PortKey

__all__ = ["Memory", "Module", "load"]

Shape = tuple[int, int, int]


class Memory(Allocations):
    """Global memory that launches share; `allocate(array)` returns a Buffer, whose `array()` reads it back."""

    def __init__(self) -> None:
        super().__init__("global")


class Module:
    """A PTX module. If it has several entries, a launch decodes the functions that it needs.

    Its `.global` variables are in `memory`, which its launches share.
    """

    def __init__(self, program: Program, memory: Memory | None = None) -> None:
        self.program = program
        self.memory = memory if memory is not None else Memory()
        self.constants = Allocations("const")
        self.variables: dict[int, Buffer] = {}
        """id of a .global or .const Variable → its allocation."""
        self.local_size = 0
        self.async_proxy = False
        """Whether an instruction reads or writes global memory through the async proxy."""
        self.branches: dict[int, tuple[int, bool]] = {}
        """Conditional branches: the port of the predicate, and whether it is negated."""
        self.defined = [function for function in program.functions.values() if function.is_defined]
        for function in self.defined:
            self._frame(function)
        count = len(program.instructions)
        self.code: list[Execute] = [not_decoded] * count
        self.together: list[Together | None] = [None] * count
        self.straight: list[Straight | None] = [None] * count
        """What blocks need to know of each instruction (sim/straight.py)."""
        self.unchecked: list[tuple[Execute, Together | None]] = [(not_decoded, None)] * count
        """`code` and `together` before `decode.after_decoding` wraps them."""
        self.ports: dict[str, Ports] = {}
        """By the names of the functions that are decoded."""
        self._names: dict[str, set[str]] = {}
        self.keys: list[PortKey] = []
        """The key of each port (ports.Ports)."""
        self.blocks = Blocks(self)
        # A module with several entries may have hundreds, of which one is launched.
        if len(program.entries()) < 2:
            self.decode(self.defined)
        self._place_variables()

    def decode(self, functions: Sequence[Function]) -> None:
        """Decode the functions that are not decoded yet. Raises DiagnosticError for the first invalid instruction."""
        new = [function for function in functions if function.name not in self.ports]
        if not new:
            return
        for function in new:
            self.ports[function.name] = own = decode_function(self, function)
            self.keys += own.keys
        self.blocks = Blocks(self)

    def edited(self, edits: Mapping[int, str]) -> Module:
        """This module with one other instruction at some lines of its PTX, or, for an empty text, with none.

        It takes a small part of the time of `load`, because the instructions of other lines are not decoded again. The
        memory is that of this module. Names are those of the scope at the line. Raises DiagnosticError.
        """
        changed: dict[int, Instruction | None] = {}
        for pc, inst in enumerate(self.program.instructions):
            if inst.line in edits:
                text = edits[inst.line]
                earlier = self.program.instructions[pc - 1] if pc else None
                first = earlier is None or earlier.line != inst.line
                changed[pc] = read_instruction(text, self.program.file, inst) if text and first else None
        made = copy.copy(self)
        count = len(self.code)
        made.code, made.together, made.straight = [not_decoded] * count, [None] * count, [None] * count
        made.unchecked, made._names = list(self.unchecked), {}
        made.program = replace(self.program, instructions=list(self.program.instructions))
        for pc, new in changed.items():
            made.program.instructions[pc] = new or replace(
                made.program.instructions[pc], opcode=NOTHING, modifiers=(), operands=(), predicate=None
            )
        made.branches = {pc: found for pc, found in self.branches.items() if pc not in changed}
        decoded = [function for function in self.defined if function.name in self.ports]
        if len(decoded) == 1 and edit_function(self, made, decoded[0], changed):
            same = made.straight == self.straight
            made.blocks = self.blocks.of(made) if same else Blocks(made)
        else:
            made.keys, made.ports = [], {}
            made.decode(decoded)
        return made

    def _frame(self, function: Function) -> None:
        """Offsets of .local and .param variables in the thread's local memory; frames never overlap."""
        inside = list(function.variables)
        if not function.is_entry:
            inside += function.parameters + function.results
        for variable in inside:
            if variable.space in ("local", "param"):
                self.local_size = -(-self.local_size // variable.align) * variable.align
                variable.offset = self.local_size
                self.local_size += variable.size

    def _place_variables(self) -> None:
        """Allocate .global and .const variables, then initialize them: initializers may contain their addresses."""
        inside = [variable for function in self.defined for variable in function.variables]
        placed: list[Variable] = []
        for variable in [*self.program.scope.variables.values(), *inside]:
            if variable.space not in ("global", "const") or variable.extern:
                continue
            space = self.memory if variable.space == "global" else self.constants
            content = np.zeros(variable.size, np.uint8)
            self.variables[id(variable)] = space.allocate(
                content, f"variable '{variable.name}'", variable.align
            )
            placed.append(variable)
        for variable in placed:
            self._initialize(variable, self.variables[id(variable)])

    def _initialize(self, variable: Variable, buffer: Buffer) -> None:
        type = variable.type
        for index, value in enumerate(variable.initializer):
            if isinstance(value, tuple):
                name, offset, generic, shift = value
                raw = ((self._address(variable, name, generic) + offset) >> shift).to_bytes(8, "little")
            elif isinstance(value, bytes):
                raw = value
            elif type.is_float:
                raw = np.array([value], type.dtype).tobytes()
            else:
                assert isinstance(value, int)
                raw = (value % (1 << type.bits)).to_bytes(type.bytes, "little")
            at = index * type.bytes
            if at + type.bytes > variable.size:
                raise error(
                    Position(self.program.file, variable.line, 1),
                    f"'{variable.name}' has {variable.size} bytes, and more values than fit",
                )
            buffer.data[at : at + type.bytes] = np.frombuffer(raw[: type.bytes], np.uint8)

    def _address(self, variable: Variable, name: str, generic: bool) -> int:
        target = self.program.scope.variable(name)
        if target is not None and id(target) in self.variables:
            own = target.space == "const" and not generic
            return self.variables[id(target)].base - (BASE["const"] if own else 0)
        if target is not None and target.space == "shared":
            return BASE["shared"]
        if name in self.program.functions:
            return self.program.functions[name].start
        raise error(
            Position(self.program.file, variable.line, 1),
            f"the initializer of '{variable.name}' names '{name}', which is not a variable or function here",
        )

    def reachable(self, entry: Function) -> list[Function]:
        """The functions that a launch of `entry` may run: those named in its calls, and address-taken functions."""
        seen = {entry.name: entry}
        work = [entry] if len(self.defined) > 1 else []
        while work:
            function = work.pop()
            for name in self.names(function):
                name = self.program.aliases.get(name, name)
                found = self.program.functions.get(name)
                if found is not None and found.is_defined and name not in seen:
                    seen[name] = found
                    work.append(found)
            for inst in self.program.instructions[function.start : function.end]:
                if inst.opcode == "call" and not any(
                    isinstance(op, Name) and op.name in self.program.functions for op in inst.operands
                ):
                    # An indirect call may reach every function.
                    for found in self.defined:
                        if not found.is_entry and found.name not in seen:
                            seen[found.name] = found
                            work.append(found)
        return list(seen.values())

    def names(self, function: Function) -> set[str]:
        """The names in the operands of a function: registers, labels, variables, functions."""
        found = self._names.get(function.name)
        if found is None:
            found = self._names[function.name] = set()
            for inst in self.program.instructions[function.start : function.end]:
                _add_names(inst.operands, found)
        return found

    def entry(self, name: str | None = None) -> Function:
        """The entry `name`; without a name, the only entry. Raises DiagnosticError."""
        entries = self.program.entries()
        names = ", ".join(f"'{entry.name}'" for entry in entries) or "none"
        if name is None and len(entries) == 1:
            return entries[0]
        found = self.program.functions.get(name or "")
        if found is None or not found.is_entry:
            place = Position(self.program.file, 1, 1)
            if name is None:
                raise error(place, f"the module has {len(entries)} entries: {names}", "name one of them")
            raise error(place, f"the module has no entry '{name}'; it has {names}")
        return found

    def launch(
        self,
        entry: str | None,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Argument] = (),
        shared_bytes: int = 0,
        cluster: Sequence[int] | None = None,
        seed: int = 0,
        mode: str = "late",
        max_instructions: int = 1 << 32,
        stats: bool | Counters = False,
        time_limit: float | None = None,
    ) -> Result:
        """Run a kernel on the simulated GPU.

        `args` has one value per parameter: a Buffer (its address), an int, a float, or bytes. `shared_bytes` is the
        dynamic shared memory. `seed` selects the order of warps; `mode` is `late` or `early` (when asynchronous
        operations complete). `time_limit` is in seconds. Raises DiagnosticError for a launch that every GPU rejects;
        defects of the kernel are in the result's findings.
        """
        return Launch(
            self,
            self.entry(entry),
            grid,
            block,
            args,
            shared_bytes,
            cluster,
            seed,
            mode,
            max_instructions,
            stats,
            time_limit,
        ).run()


def _add_names(operands: Sequence[Operand], found: set[str]) -> None:
    for operand in operands:
        if isinstance(operand, Name):
            found.add(operand.name)
        elif isinstance(operand, Address):
            _add_names((operand.base,), found)
        elif isinstance(operand, Group | Vector):
            _add_names(operand.elements, found)


def load(ptx: str, target: str | None = None, *, file: str = "<ptx>", memory: Memory | None = None) -> Module:
    """Read PTX text for `target` (default: the module's own .target). Raises DiagnosticError for a syntax error.

    It also decodes a module with one entry, and raises for the first invalid instruction. With several entries,
    `launch` does so for the functions that the entry may reach.
    """
    program = read(ptx, file)
    if target is not None:
        program.targets = (target, *program.targets[1:])
    return Module(program, memory)
