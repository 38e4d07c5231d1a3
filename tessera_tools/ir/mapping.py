"""The mapping from IR to its copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.values import OpOperand, Value

if TYPE_CHECKING:
    from tessera_tools.ir.core import Block


class IRMapping:
    """Maps values and blocks to their copies; a value or block without an entry maps to itself."""

    __slots__ = ("blocks", "depth", "unmapped", "values")

    def __init__(self, values: dict[Value, Value] | None = None) -> None:
        self.values: dict[Value, Value] = values if values is not None else {}
        self.blocks: dict[Block, Block] = {}
        self.depth = 0
        """The nesting depth of the region being copied."""
        self.unmapped: list[OpOperand] = []
        """Operands that still refer to the original, because their value had no copy yet."""

    def value(self, value: Value) -> Value:
        return self.values.get(value, value)

    def block(self, block: Block) -> Block:
        return self.blocks.get(block, block)

    def resolve(self) -> None:
        """Replace these operands if their value has a copy now."""
        # Graph regions, and blocks not in dominance order, may use a value before its copy exists.
        for use in self.unmapped:
            copy = self.values.get(use.value)
            if copy is not None:
                use.set(copy)
        self.unmapped.clear()
