"""Decoding of instructions into closures: the context of a decoder, and the registration of instruction families.

    @instruction("add")
    def add(ctx: Context) -> Execute: …          called once per instruction, at load time
    execute(warp, mask) -> None | int | …        called each time a warp runs it

`ctx` reads modifiers (an instruction with an unread modifier is rejected) and maps operands to *ports*: indices
of `warp.ports`, the list of 32-lane NumPy rows of registers, immediates, addresses and special registers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakSet

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, Position, error
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.guards import converged, guarded, guarded_control, guarded_together
from tessera_tools.sim.interfaces import HasLanes, HasPorts, Warps
from tessera_tools.sim.operand_types import check_literal, is_register_for, literal_value, reads_special
from tessera_tools.sim.ports import Ports, register_row
from tessera_tools.sim.program import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Name,
    Operand,
    Pair,
    Program,
    RegisterDeclaration,
    Variable,
    Vector,
    elements_of,
)
from tessera_tools.sim.special import SPECIAL
from tessera_tools.sim.straight import Straight, straight_of
from tessera_tools.sim.types import TYPES, UNSIGNED, Type
from tessera_tools.sim.warp import JointOutcome, Mask, Outcome, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.gang import Gang
    from tessera_tools.sim.module import Module

__all__ = [
    "NOTHING",
    "Context",
    "Execute",
    "Together",
    "after_decoding",
    "decode_function",
    "edit_function",
    "instruction",
    "lanewise",
    "not_decoded",
]

Execute = Callable[[Warp, Mask], Outcome]
Lanewise = Callable[[HasPorts, HasLanes], None]
"""Like Execute, for rows of any length."""
Together = Callable[["Gang", HasLanes], JointOutcome]
"""Like Execute, for the warps of a gang."""
Batched = Callable[[Warps, HasLanes], JointOutcome]
"""Like Together, of instructions that only use registers and memory: for a batch, too."""
Decoder = Callable[["Context"], Execute]

_DECODERS: dict[str, Decoder] = {}

NOTHING = ""
"""The opcode of an instruction that was taken away, and that no text has."""
_WITH_OTHERS = ("mma.", "wgmma.mma_async", "tcgen05.ld")
"""Instructions that run together with their neighbors, or whose registers are watched in others."""


def _nothing(warp: HasPorts, mask: HasLanes) -> None:
    """What is in the place of an instruction that was taken away."""


def instruction(*names: str) -> Callable[[Decoder], Decoder]:
    """Register the decoder of the instructions `names`: an opcode, or opcode and modifiers (`cp.async.bulk`).

    The longest matching prefix wins; the modifiers in the name count as taken.
    """

    def register(decoder: Decoder) -> Decoder:
        for name in names:
            if name in _DECODERS:
                raise ValueError(f"two decoders for '{name}'")
            _DECODERS[name] = decoder
        return decoder

    return register


_LANEWISE: WeakSet[Callable[..., object]] = WeakSet()


def lanewise(execute: Lanewise) -> Execute:
    """Mark an instruction that reads and writes only registers, lane by lane, for rows of any length."""
    _LANEWISE.add(execute)
    return execute


def _is_lanewise(execute: Execute | Lanewise) -> TypeGuard[Lanewise]:
    return execute in _LANEWISE


def not_decoded(warp: Warp, mask: Mask) -> Outcome:
    """What is in the place of an instruction of a function that no launch has needed yet."""
    raise AssertionError("an instruction runs that was not decoded")


Check = Callable[[Program, Function, list[Execute], list[Together | None]], None]
_AFTER: list[Check] = []


def after_decoding(check: Check) -> Check:
    """Register a function that sees each function's code after it is decoded, and may wrap its closures.

    It receives the closures of all instructions decoded so far, for one warp and for several warps. A function
    that wraps one of them must wrap the other too.
    """
    _AFTER.append(check)
    return check


@cache
def _load_families() -> None:
    from tessera_tools.sim.instructions import FAMILIES

    for family in FAMILIES:
        importlib.import_module(f"tessera_tools.sim.instructions.{family}")


class Context:
    """One instruction while it is decoded to a closure."""

    def __init__(self, module: Module, function: Function, ports: Ports) -> None:
        self.module = module
        self.program: Program = module.program
        self.function = function
        self.ports = ports
        self.inst: Instruction = self.program.instructions[function.start]
        self.pc = 0
        """Index of this instruction in the module's code."""
        self._left: list[str] = []
        self._needed: Callable[[Warp], int] | None = None
        self.divides = False
        self.together: Together | None = None
        """The instruction for several warps at once (sim/gang.py), if it supports that; a decoder may set its own.

        It returns None to continue; the index of the next instruction if it has run everything before that index;
        ~index to jump to that index; or NotImplemented to run the instruction warp by warp this time.
        """
        self.effect = ""
        """How `together` uses memory (`Straight.effect`), for instructions that only use registers and memory."""
        self.alone = False
        """Whether `together` is for this instruction alone, and not for others that differ in their ports."""
        self._registers: dict[tuple[int, int, str], int] = {}
        """The ports of registers by width, slot and type."""
        self._targets: set[int] = set()
        """The ports that `write` returned for this instruction."""
        self._sources: set[int] = set()
        """The ports that `read` returned."""
        self.state: dict[str, Any] = {}
        """State of instruction families while the function is decoded, by family name."""

    # -- modifiers

    def flag(self, name: str) -> bool:
        """Take the modifier `name` if present."""
        if name in self._left:
            self._left.remove(name)
            return True
        return False

    def require(self, *names: str) -> None:
        """Take modifiers that the instruction must have."""
        for name in names:
            if not self.flag(name):
                raise self.error(f"needs .{name}")

    def choose(self, *names: str, default: str | None = None) -> str:
        """Take the first modifier in `names`; if there is none, return `default`, or raise an error."""
        for modifier in self._left:
            if modifier in names:
                self._left.remove(modifier)
                return modifier
        if default is None:
            raise self.error(f"needs one of .{', .'.join(names)}")
        return default

    def type(self, *allowed: str) -> Type:
        """Take the next modifier that is a type; it must be in `allowed`, if given."""
        for modifier in self._left:
            if modifier in TYPES:
                self._left.remove(modifier)
                if allowed and modifier not in allowed:
                    raise self.error(f"has type .{modifier}; expected .{', .'.join(allowed)}")
                return TYPES[modifier]
        raise self.error("needs a type")

    def types(self, count: int, *allowed: str) -> list[Type]:
        """Take the next `count` types, in order."""
        return [self.type(*allowed) for _ in range(count)]

    def remaining(self) -> tuple[str, ...]:
        """The remaining modifiers, in order."""
        return tuple(self._left)

    # -- operands

    def operands(self, *counts: int) -> tuple[Operand, ...]:
        """The operands; their number must be in `counts`, if given."""
        found = self.inst.operands
        if counts and len(found) not in counts:
            raise self.error(f"has {len(found)} operands; expected {' or '.join(map(str, counts))}")
        return found

    def read(self, operand: Operand, type: Type) -> int:
        """The port of a source: a register, immediate, special register or symbol's address, seen as `type`.

        Raises for a register or number of another type. Of a wider register, which ld, st and cvt may have, the low
        bits are read.
        """
        port = self._read(operand, type)
        self._sources.add(port)
        return port

    def _read(self, operand: Operand, type: Type) -> int:
        if isinstance(operand, Immediate):
            self._check_number(operand, type)
            return self.constant(literal_value(operand, type), type)
        if not isinstance(operand, Name):
            raise self.error(f"has {_what(operand)}; expected a register or a number")
        if operand.negated:
            if type.kind != "p":
                raise self.error(f"negates '{operand.name}', which is not a predicate")
            raise self.error(f"has '!{operand.name}' where a negated predicate is not allowed")
        if operand.name in SPECIAL:
            self.check_special(operand)
            return self.special(operand.name, type)
        if operand.name == "WARP_SZ":
            return self._read(Immediate(32), type)
        register = self.inst.scope.register(operand.name)
        if register is None:
            return self._symbol(operand, type)
        if operand.offset:
            raise self.error(f"adds {operand.offset} to '{operand.name}'; expected a register or a number")
        return self._register(register, type)

    def read_pattern(self, operand: Operand, type: Type) -> int:
        """As `read`, of a row with the bits of the type's values."""
        raw = TYPES[f"b{type.bits}"]
        if isinstance(operand, Name) and operand.name == "WARP_SZ":
            operand = Immediate(32)
        if isinstance(operand, Immediate):
            self._check_number(operand, type)
            if type.kind == "f":
                value = np.array([literal_value(operand, type)], type.dtype)
                return self.constant(value.view(UNSIGNED[type.bits])[0], raw)
        elif isinstance(operand, Name) and (register := self.inst.scope.register(operand.name)) is not None:
            self._check_register(register, type)
        return self.read(operand, raw)

    def read_sum(self, operand: Operand, type: Type) -> tuple[int, int]:
        """(port, number) of a source that may be a register plus a number, which ptxas accepts where LLVM writes it."""
        if isinstance(operand, Name) and self.inst.scope.register(operand.name) is not None:
            return self.read(Name(operand.name, operand.negated), type), operand.offset
        return self.read(operand, type), 0

    def reads(self, operand: Operand, type: Type) -> list[int]:
        """The ports of a vector's elements; for a scalar operand, a list of one."""
        return [self.read(element, type) for element in elements_of(operand)]

    def predicate(self, operand: Operand) -> tuple[int, bool]:
        """Port of a predicate source, and whether it is negated."""
        if isinstance(operand, Immediate):
            return self.constant(bool(operand.value), TYPES["pred"]), False
        if not isinstance(operand, Name):
            raise self.error(f"has {_what(operand)}; expected a predicate")
        return self.read(Name(operand.name), TYPES["pred"]), operand.negated

    def write(self, operand: Operand, type: Type) -> int:
        """The port of a destination register as `type`; `_` returns a row that is never read.

        For a wider register, which ld and cvt may have, the port is its whole row, signed if the type is, so that
        `np.copyto(…, casting="unsafe")` extends integers and patterns as PTX does (PTX ISA, "Operand Size Exceeding
        Instruction-Type Size"). A value of floating point is no pattern: see `write_pattern`.
        """
        if not isinstance(operand, Name):
            raise self.error(f"has {_what(operand)}; expected a destination register")
        if operand.name == "_":
            return self.scratch(type)
        register = self.inst.scope.register(operand.name)
        if register is None:
            raise self.error(f"writes to '{operand.name}', which is not a declared register")
        bits = register.type.bits
        self._check_register(register, type)
        if bits > type.bits and bits != 128:
            type = TYPES[f"{'s' if type.signed else 'u'}{bits}"]
        port = self._register(register, type)
        self._targets.add(port)
        return port

    def write_pattern(self, operand: Operand, type: Type) -> int:
        """As `write`, of a row with the bits of the type's values."""
        if isinstance(operand, Name) and (register := self.inst.scope.register(operand.name)) is not None:
            self._check_register(register, type)
        return self.write(operand, TYPES[f"b{type.bits}"])

    def is_wider(self, operand: Operand, type: Type) -> bool:
        """Whether an operand is a register wider than a type."""
        register = self.inst.scope.register(operand.name) if isinstance(operand, Name) else None
        return register is not None and register.type.bits > type.bits

    def writes(self, operand: Operand, type: Type) -> list[int]:
        return [self.write(element, type) for element in elements_of(operand)]

    def number(self, operand: Operand) -> int | None:
        """The value of an integer literal as an operand of 64 bits; None for any other operand."""
        if not isinstance(operand, Immediate) or operand.bits:
            return None
        value = int(operand.value) % (1 << 64)
        return value - (1 << 64) if value >> 63 else value

    def pair(self, operand: Operand) -> tuple[Operand, Operand | None]:
        """`p|q` as two operands; for a single operand, the second is None."""
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)

    def scratch(self, type: Type) -> int:
        """The port of a private row, for intermediate values or `_`."""
        shape = (32, 2) if type.bits == 128 else 32
        return self.ports.add(("scratch", type.name, self.pc), lambda warp: np.zeros(shape, type.dtype))

    def constant(self, value: int | float | np.generic | list[int], type: Type) -> int:
        """The port of a row that holds `value` (already in range) in every lane."""
        row = np.zeros((32, 2) if type.bits == 128 else 32, type.dtype)
        row[...] = value
        row.flags.writeable = False
        return self.ports.add(("constant", type.dtype, row.tobytes()), lambda warp: row)

    def address(self, operand: Operand) -> Callable[[HasPorts], Array]:
        """`[base+offset]` → a function of the warp: each lane's address, as uint64, in the operand's own space."""
        if not isinstance(operand, Address):
            raise self.error(f"has {_what(operand)}; expected an address in brackets")
        base, offset = operand.base, operand.offset
        u64 = TYPES["u64"]
        if isinstance(base, Immediate):
            port = self.constant((int(base.value) + offset) % (1 << 64), u64)
            return lambda warp: warp.ports[port]
        register = self.inst.scope.register(base.name)
        if register is None:
            port = self._symbol(Name(base.name, offset=offset), u64)
            return lambda warp: warp.ports[port]
        bits = register.type.bits
        if bits == 64:
            port = self.read(base, u64)
            if not offset:
                return lambda warp: warp.ports[port]
            step = self.constant(offset % (1 << 64), u64)
            return lambda warp: warp.ports[port] + warp.ports[step]
        if bits != 32:
            raise self.error(f"has an address in '{base.name}', of {bits} bits; expected 32 or 64")
        port = self.read(base, TYPES["u32"])
        if not offset:
            return lambda warp: warp.ports[port].astype(np.uint64)
        small = self.constant(offset % (1 << 32), TYPES["u32"])
        return lambda warp: (warp.ports[port] + warp.ports[small]).astype(np.uint64)

    def variable(self, name: str) -> Variable | None:
        """The variable that `name` refers to at this instruction."""
        return self.inst.scope.variable(name)

    def space_of(self, operand: Operand, space: str) -> str:
        """The memory of `space` for this address: a device function's .param is in local memory."""
        if space in ("param", "param::entry", "param::func"):
            if isinstance(operand, Address) and isinstance(operand.base, Name):
                variable = self.variable(operand.base.name)
                if variable is not None:
                    return "param" if self._in_block(variable) else "local"
            return "param" if space != "param::func" else "local"
        return "shared" if space == "shared::cta" else space

    def _in_block(self, variable: Variable) -> bool:
        owner = self.program.functions.get(variable.function)
        return owner is not None and owner.is_entry and variable in owner.parameters

    def _register(self, register: RegisterDeclaration, type: Type) -> int:
        bits, slot = register.type.bits, register.slot
        self._check_register(register, type)
        port = self._registers.get((bits, slot, type.name))
        if port is None:
            dtype = np.dtype(type.dtype)
            port = self.ports.add(("register", bits, slot, dtype), register_row(bits, slot, dtype))
            self._registers[bits, slot, type.name] = port
        else:
            self.ports.used.append(port)
        return port

    def _check_number(self, number: Immediate, type: Type) -> None:
        if expected := check_literal(number, type, self.inst):
            raise self.error(f"has a number for {type}; expected {expected}")

    def _check_register(self, register: RegisterDeclaration, type: Type) -> None:
        if not is_register_for(register.type, type, self.inst):
            raise self.error(f"uses '{register.name}', a {register.type} register, as {type}")

    def check_special(self, operand: Name) -> None:
        """Raise unless a special register may be this operand."""
        if not reads_special(self.inst, operand):
            raise self.error(f"uses '{operand.name}', which only mov and cvt of integers may read")

    def special(self, name: str, type: Type) -> int:
        """The port of a special register."""
        bind = SPECIAL[name]
        if bind is None:
            raise self.error(f"uses '{name}' where only mov may read it")

        def binder(warp: Warp) -> Array:
            row = np.zeros(32, np.uint64)
            row[...] = bind(warp)
            return row.astype(type.dtype)

        return self.ports.add(("special", name, np.dtype(type.dtype)), binder)

    def _symbol(self, operand: Name, type: Type) -> int:
        variable = self.variable(operand.name)
        function = self.program.functions.get(operand.name)
        if variable is None and function is None:
            raise self.error(f"uses '{operand.name}', which is not declared")
        if type.kind not in "bus" or type.bits < 32:
            raise self.error(f"takes the address of '{operand.name}' as {type}")
        offset, limit = operand.offset, 1 << type.bits

        def binder(warp: Warp) -> Array:
            launch = warp.cta.cluster.launch
            base = (
                function.start if variable is None and function else launch.address(variable, warp.cta.rank)
            )
            row = np.zeros(32, type.dtype)
            row[...] = np.array((base + offset) % limit, np.uint64).astype(type.dtype)
            return row

        owner = variable.function if variable is not None else ""
        line = variable.line if variable is not None else 0
        return self.ports.add(("symbol", operand.name, owner, line, offset, np.dtype(type.dtype)), binder)

    # -- control

    def label(self, operand: Operand) -> int:
        """The code index of a label."""
        found = self.inst.scope.label(operand.name) if isinstance(operand, Name) else None
        if found is None:
            raise self.error(f"jumps to {_what(operand)}, which is not a label in this scope")
        return found

    def aligned(self) -> None:
        """All live lanes of the warp must run this instruction together; otherwise it reports a finding."""
        self._needed = lambda warp: warp.live

    def collective(self, port: int) -> None:
        """The lanes in the member mask (a u32 port) must run this instruction together (the `.sync` forms)."""

        def needed(warp: Warp) -> int:
            # Several groups of a warp may arrive together, each with its own mask.
            return int(np.bitwise_or.reduce(warp.ports[port][warp.split.mask.array]))

        self._needed = needed

    def blocks(self) -> None:
        """This instruction may return a Wait, or change the warp's splits."""
        self.divides = True

    def error(self, message: str) -> DiagnosticError:
        """An error at this instruction; the message continues after the instruction's name."""
        inst = self.inst
        return error(Position(self.program.file, inst.line, inst.column), f"'{inst.name}' {message}")

    # -- decoding

    def decode(self, inst: Instruction, pc: int) -> Execute:
        """The closure of one instruction."""
        self.inst, self.pc = inst, pc
        self._needed, self.divides = None, False
        if inst.opcode == NOTHING:
            self.together, self.effect = _nothing, ""
            return _nothing
        name, taken = inst.opcode, 0
        decoder = _DECODERS.get(name)
        best = inst.opcode
        for count, modifier in enumerate(inst.modifiers[:4], 1):
            best += "." + modifier
            if best in _DECODERS:
                decoder, taken, name = _DECODERS[best], count, best
        if decoder is None:
            raise error(
                Position(self.program.file, inst.line, inst.column), f"unknown instruction '{inst.name}'"
            )
        self._left = list(inst.modifiers[taken:])
        self.ports.used.clear()
        self._sources.clear()
        self._targets.clear()
        self.together, self.effect, self.alone = None, "", False
        execute = decoder(self)
        if _is_lanewise(execute):
            self.together, self.effect = execute, "none"
        if not self._of_lanes():
            self.together = None
        if self._left:
            raise self.error(f"has the modifier '.{self._left[0]}', which '{name}' does not support here")
        if self._needed is not None:
            execute = converged(execute, self._needed)
            self.divides = True
        if inst.predicate is not None and inst.opcode != "bra":
            port, negated = self.predicate(inst.predicate)
            execute = (guarded_control if self.divides else guarded)(execute, port, negated)
            if self.together is not None:
                self.together = guarded_together(self.together, port, negated)
        return execute

    def straight(self) -> Straight | None:
        """What blocks need to know of the instruction that was decoded last; None if they cannot contain it."""
        if self.together is None or not self.effect:
            return None
        base, kinds = self.ports.base, self.ports.kinds
        used = [kinds[port - base] for port in self.ports.used]
        alone = self.pc if self.alone else None
        return straight_of(self.inst, self.effect, self.ports.used, used, self._sources, self._targets, alone)

    def _of_lanes(self) -> bool:
        """True if the instruction uses only rows that a gang provides: no scratch rows, no 128-bit values."""
        base, lanewise = self.ports.base, self.ports.lanewise
        return all(lanewise[port - base] for port in self.ports.used)


def _what(operand: Operand) -> str:
    kinds: dict[type[Operand], str] = {
        Vector: "a vector",
        Address: "an address",
        Pair: "a pair",
        Group: "a list",
        Immediate: "a number",
    }
    return f"'{operand.name}'" if isinstance(operand, Name) else kinds[type(operand)]


def decode_function(module: Module, function: Function) -> Ports:
    """Decode a function into `module.code`, `together` and `straight`; returns its ports.

    Raises for the first invalid instruction.
    """
    _load_families()
    ports = Ports(len(module.keys))
    _decode(module, function, ports, range(function.start, function.end))
    return ports


def edit_function(before: Module, module: Module, function: Function, changed: Collection[int]) -> bool:
    """Decode a module's only decoded function, of whose instructions those outside `changed` are as in `before`.

    Returns False, without an effect, if what they are decoded to depends on the instructions around them.
    """
    own = module.program.instructions
    if any(
        one[pc].name.startswith(_WITH_OTHERS) for pc in changed for one in (own, before.program.instructions)
    ):
        return False
    ports = before.ports[function.name].copy()
    module.straight[:] = before.straight
    _decode(module, function, ports, sorted(changed))
    module.keys, module.ports = ports.keys, {function.name: ports}
    return True


def _decode(module: Module, function: Function, ports: Ports, changed: Iterable[int]) -> None:
    context = Context(module, function, ports)
    for pc in changed:
        execute = context.decode(module.program.instructions[pc], pc)
        module.unchecked[pc] = execute, context.together
        module.straight[pc] = context.straight()
    for pc in range(function.start, function.end):
        module.code[pc], module.together[pc] = module.unchecked[pc]
    for check in _AFTER:
        check(module.program, function, module.code, module.together)
