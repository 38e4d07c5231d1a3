"""Traits: properties of every operation of a class, checked by the verifier and queried by passes.

A trait is an object; its `verify(op)` raises through `op.error(…)`.  Most have no parameters: use the constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera_tools.ir.core import Operation, Region
    from tessera_tools.ir.location import Location


class Trait:
    """The base of traits."""

    def verify(self, op: Operation) -> None:
        """Raise if the operation breaks the trait."""


class ConstantLike(Trait):
    """One result, no operands, an attribute `value` that is the result."""


class Commutative(Trait):
    """Operands may be swapped."""


class Idempotent(Trait):
    """op(x, x) is x."""


class Terminator(Trait):
    """Ends a block."""

    def verify(self, op: Operation) -> None:
        if op.parent is not None and op.next_op is not None:
            raise op.error("must be the last operation in the parent block")


class ReturnLike(Terminator):
    """A terminator whose operands become the results of the parent op (yield, return)."""


class NoTerminator(Trait):
    """Blocks in the op's regions need no terminator."""


class ImplicitTerminator(Trait):
    """The text may leave out the last op of each region from number `first` on: a `terminator` without operands.

    MLIR's SingleBlockImplicitTerminator.
    """

    def __init__(self, terminator: type[Operation], first: int = 0) -> None:
        self.terminator = terminator
        self.first = first

    def complete(self, regions: Sequence[Region], location: Location) -> None:
        """Append the terminator where a region has blocks and does not end in a terminator, as MLIR does.

        An unregistered op is none here, although it may end a block elsewhere.
        """
        for region in regions[self.first :]:
            if not region.blocks:
                continue
            last = region.blocks[-1].last_op
            if last is None or not last.has_trait(Terminator):
                region.blocks[-1].append(self.terminator(location=location))  # type: ignore[call-arg]

    def is_implied(self, region: Region) -> bool:
        """True if the last op of the region need not be written."""
        last = region.blocks[-1].last_op if region.blocks else None
        return isinstance(last, self.terminator) and not last.op_operands


def implicit_terminator(kind: type[Operation]) -> ImplicitTerminator | None:
    """The trait of an op class that has it."""
    return next((trait for trait in kind.traits if isinstance(trait, ImplicitTerminator)), None)


def implied(op: Operation, region: Region) -> bool:
    """True if the last op of a region can be omitted, because it is the op's implicit terminator."""
    trait = implicit_terminator(type(op))
    return trait is not None and trait.is_implied(region)


class GraphRegion(Trait):
    """The op's regions hold a graph: uses may come before definitions, and there is at most one block."""

    def verify(self, op: Operation) -> None:
        for i, region in enumerate(op.regions):
            if len(region.blocks) > 1:
                raise op.error(f"expects graph region #{i} to have 0 or 1 blocks")


class IsolatedFromAbove(Trait):
    """Regions may not use values from outside; the verifier checks it when it resolves uses."""


class SingleBlock(Trait):
    """Each region has at most one block."""

    def verify(self, op: Operation) -> None:
        for i, region in enumerate(op.regions):
            if len(region.blocks) > 1:
                raise op.error(f"expects region #{i} to have 0 or 1 blocks")


class SymbolTable(Trait):
    """Holds symbols, unique by name, in its single region."""

    def verify(self, op: Operation) -> None:
        from tessera_tools.ir.builtin_attributes import StringAttr

        if len(op.regions) != 1:
            raise op.error("must have exactly one region to be a symbol table")
        seen: dict[str, Operation] = {}
        for block in op.regions[0].blocks:
            for inner in block.operations:
                name = inner.attributes.get("sym_name")
                if not isinstance(name, StringAttr):
                    continue
                if name.value in seen:
                    failure = inner.error(f"redefinition of symbol named '{name.value}'")
                    failure.diagnostics[0].note(
                        "see existing symbol definition here", seen[name.value].location
                    )
                    raise failure
                seen[name.value] = inner


class Symbol(Trait):
    """Defines a symbol: attribute `sym_name`, optional `sym_visibility`."""

    def verify(self, op: Operation) -> None:
        from tessera_tools.ir.builtin_attributes import StringAttr

        if not isinstance(op.attributes.get("sym_name"), StringAttr):
            raise op.error("requires string attribute 'sym_name'")
        visibility = op.attributes.get("sym_visibility")
        if visibility is not None and not (
            isinstance(visibility, StringAttr) and visibility.value in ("public", "private", "nested")
        ):
            raise op.error('visibility expected to be one of ["public", "private", "nested"]')
        parent = op.parent_op
        # The name of an unregistered op is an attribute of the op, not of its class.
        if parent is not None and isinstance(type(parent).name, str) and not parent.has_trait(SymbolTable):
            raise op.error("symbol's parent must have the SymbolTable trait")


class OwnsConstants(Trait):
    """Constants used in the op's regions are materialized there, as with MLIR's shouldMaterializeInto: the threads
    that run a region have their own registers."""


class HasParent(Trait):
    """The parent operation is one of `names`."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def verify(self, op: Operation) -> None:
        parent = op.parent_op
        if parent is not None and parent.name not in self.names:
            several = "to be one of " if len(self.names) > 1 else ""
            raise op.error(f"expects parent op {several}'{', '.join(self.names)}'")


class Leaves(Trait):
    """A terminator that also ends the enclosing ops of the given names, up to the first with another name: a `return`,
    `break` or `continue` in the branch of an `if`.  Such a branch has an effect, whatever else it contains."""

    def __init__(self, *names: str) -> None:
        self.names = names


class OneRegionRuns(Trait):
    """At most one of the regions runs, and once.  None may run if there is only one region, or if one is empty."""


class RegionsRunTogether(Trait):
    """All regions run concurrently, each on its own threads, without waiting for the others."""


class SameOperandsAndResultShape(Trait):
    """Shaped operands and results have the same shape."""

    def verify(self, op: Operation) -> None:
        shapes = [getattr(v.type, "shape", None) for v in (*op.operands, *op.results)]
        if any(s != shapes[0] for s in shapes):
            raise op.error("requires the same shape for all operands and results")


CONSTANT_LIKE = ConstantLike()
COMMUTATIVE = Commutative()
IDEMPOTENT = Idempotent()
TERMINATOR = Terminator()
RETURN_LIKE = ReturnLike()
NO_TERMINATOR = NoTerminator()
GRAPH_REGION = GraphRegion()
ISOLATED_FROM_ABOVE = IsolatedFromAbove()
OWNS_CONSTANTS = OwnsConstants()
SINGLE_BLOCK = SingleBlock()
SYMBOL_TABLE = SymbolTable()
SYMBOL = Symbol()
ONE_REGION_RUNS = OneRegionRuns()
REGIONS_RUN_TOGETHER = RegionsRunTogether()
SAME_SHAPE = SameOperandsAndResultShape()
