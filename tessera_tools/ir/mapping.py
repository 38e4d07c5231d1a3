"""What stands for what in a copy of IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.values import OpOperand, Value

if TYPE_CHECKING:
    from tessera_tools.ir.core import Block


class IRMapping:
    """What stands for what in a copy; a value or block without an entry stands for itself."""

    __slots__ = ("blocks", "depth", "unmapped", "values")

    def __init__(self, values: dict[Value, Value] | None = None) -> None:
        self.values: dict[Value, Value] = values if values is not None else {}
        self.blocks: dict[Block, Block] = {}
        self.depth = 0
        """How many regions deep the current copy is."""
        self.unmapped: list[OpOperand] = []
        """Operands copied as they were because their value had no copy yet."""

    def value(self, value: Value) -> Value:
        return self.values.get(value, value)

    def block(self, block: Block) -> Block:
        return self.blocks.get(block, block)

    def resolve(self) -> None:
        """Replace the operands of copies whose value has a copy by now."""
        # Graph regions, and blocks not in dominance order, may use a value before its copy exists.
        for use in self.unmapped:
            copy = self.values.get(use.value)
            if copy is not None:
                use.set(copy)
        self.unmapped.clear()
