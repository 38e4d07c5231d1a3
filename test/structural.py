"""Whether two pieces of IR are the same but for locations and the identity of their objects."""

from __future__ import annotations

from tessera_tools.ir.core import Block, Operation, UnregisteredOp, Value


def structurally_equal(a: Operation, b: Operation) -> bool:
    """True if two operations, with all inside, are the same; values are compared by where they are defined."""
    return difference(a, b) is None


def difference(a: Operation, b: Operation) -> str | None:
    """The first difference between two operations, in words; None if there is none."""
    return _Comparison().operation(a, b)


class _Comparison:
    def __init__(self) -> None:
        self.values: dict[Value, Value] = {}
        self.blocks: dict[Block, Block] = {}
        self.operands: list[tuple[Value, Value, str]] = []
        """Compared when everything is defined: a use may stand before its definition."""

    def operation(self, a: Operation, b: Operation) -> str | None:
        found = self._operation(a, b)
        if found is None:
            for left, right, place in self.operands:
                if self.values.get(left, left) is not right:
                    return f"{place}: operands differ"
        return found

    def _operation(self, a: Operation, b: Operation) -> str | None:
        if a.name != b.name:
            return f"'{a.name}' is not '{b.name}'"
        if len(a.operands) != len(b.operands) or len(a.regions) != len(b.regions):
            return f"'{a.name}': counts of operands or regions differ"
        if a.result_types != b.result_types:
            return f"'{a.name}': result types {a.result_types} and {b.result_types}"
        if a.attributes != b.attributes:
            return f"'{a.name}': attributes {a.attributes} and {b.attributes}"
        if isinstance(a, UnregisteredOp) and isinstance(b, UnregisteredOp) and a.properties != b.properties:
            return f"'{a.name}': properties {a.properties} and {b.properties}"
        if [self.blocks.get(s, s) for s in a.successors] != list(b.successors):
            return f"'{a.name}': successors differ"
        self.operands += [(x, y, f"'{a.name}'") for x, y in zip(a.operands, b.operands, strict=True)]
        self.values.update(zip(a.results, b.results, strict=True))
        for left, right in zip(a.regions, b.regions, strict=True):
            if len(left.blocks) != len(right.blocks):
                return f"'{a.name}': {len(left.blocks)} and {len(right.blocks)} blocks"
            self.blocks.update(zip(left.blocks, right.blocks, strict=True))
            for first, second in zip(left.blocks, right.blocks, strict=True):
                found = self._block(first, second)
                if found is not None:
                    return found
        return None

    def _block(self, a: Block, b: Block) -> str | None:
        if [x.type for x in a.arguments] != [x.type for x in b.arguments]:
            return "block arguments differ"
        self.values.update(zip(a.arguments, b.arguments, strict=True))
        left, right = list(a), list(b)
        if len(left) != len(right):
            return f"{len(left)} and {len(right)} operations in a block"
        for first, second in zip(left, right, strict=True):
            found = self._operation(first, second)
            if found is not None:
                return found
        return None
