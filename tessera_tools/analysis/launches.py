"""What a kernel computes from the integers of a launch that is known: of tessera-run, whose grid and arguments are.

%n = arith.divui (arith.addi %arg2, 63), 64        with arg2 = 8192: 128
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import IntegerType
from tessera_tools.records import dataclass, field

_INTEGER = re.compile(r"-?[0-9]{1,20}")
_MOST_OPS = 10_000
"""Ops of an expression; a longer one is not computed."""


@dataclass(slots=True)
class Launch:
    """The arguments of a launch, and what has been computed from them."""

    arguments: Sequence[int | None]
    """By parameter of the kernel; None for what is not an integer."""
    known: dict[Value, Attribute | None] = field(default_factory=dict[Value, "Attribute | None"])

    def number(self, value: Value) -> int | None:
        """What an integer is in this launch; None if it depends on something else."""
        pending = [value]
        while pending and len(self.known) < _MOST_OPS:
            at = pending[-1]
            missing = [v for v in _sources(at) if v not in self.known]
            if missing:
                pending += missing
                # An op that is waited for already is in a cycle.
                self.known.setdefault(at, None)
                continue
            self.known[at] = self._computed(at)
            pending.pop()
        found = self.known.get(value)
        return found.value if isinstance(found, IntegerAttr) else None

    def _computed(self, value: Value) -> Attribute | None:
        if isinstance(value, BlockArgument):
            op = value.block.parent_op
            is_parameter = op is not None and op.name == "nv_tileaa.func"
            given = self.arguments[value.index] if value.index < len(self.arguments) else None
            if not is_parameter or given is None or not isinstance(value.type, IntegerType):
                return None
            return IntegerAttr.wrap(given, value.type)
        if (constant := constant_value(value)) is not None:
            return constant
        op = value.defining_op
        assert op is not None
        if op.name == "nv_tileaa.assume":
            return self.known.get(op.operands[0])
        operands = [self.known.get(operand) for operand in op.operands]
        if op.regions or len(op.results) != 1 or None in operands:
            return None
        folded = op.fold(operands) or [None]
        return folded[0] if isinstance(folded[0], Attribute) else None


def launch_of(kernel: Operation, tile_blocks: int, arguments: Sequence[str]) -> Launch:
    """The launch that options describe: `arguments` are integers, or `?`.  An error at the op if they are invalid."""
    if tile_blocks < 0:
        raise kernel.error(f"option tile-blocks={tile_blocks} is invalid; expected 0 or more")
    for argument in arguments:
        if argument != "?" and _INTEGER.fullmatch(argument) is None:
            raise kernel.error(f"option arguments has '{argument}'; expected an integer of 64 bits, or ?")
    return Launch([int(argument) if argument != "?" else None for argument in arguments])


def _sources(value: Value) -> list[Value]:
    op: Operation | None = value.defining_op
    return [] if op is None or op.regions else list(op.operands)
