"""`mem2reg`: promote variables in memory to values.

    %m = memref.alloca()                                    cf.br ^end(%x)
    memref.store %x, %m[] ; cf.br ^end          ─▶      ^end(%v):
  ^end: %v = memref.load %m[] ; use %v                      use %v

A variable is an alloca that only loads and stores of its one element use, all in the region of the alloca.  Where
different stores meet, and the value is loaded afterwards, the block gets an argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.dialects.ub import Poison
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.dominance import DominanceInfo
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.interfaces import BranchLike
from tessera_tools.ir.types import FloatType, IndexType, IntegerType, ShapedType, VectorType
from tessera_tools.opdef import Op
from tessera_tools.opdef.dialect import find_op
from tessera_tools.passes.base import Pass, PassContext


class Mem2Reg(Pass):
    """Promotes variables of `memref` and `llvm` to SSA values."""

    name = "mem2reg"
    title = "Mem2Reg"
    summary = "promote variables in memory to values"
    ensures = "no alloca of one element is only loaded and stored, in one region"
    statistics: ClassVar[Mapping[str, str]] = {"num-promoted": "Number of variables promoted"}

    def run(self, op: Operation, context: PassContext) -> bool:
        promoted = 0
        graph = _ControlFlow()
        for slot in list(op.walk()):
            element = _element(slot)
            if element is not None and _Promotion(slot, element, graph).run():
                promoted += 1
        context.count("num-promoted", promoted)
        return promoted > 0


def _element(slot: Operation) -> Type | None:
    """The type of the only element of a variable; None if the op allocates something else."""
    if slot.name == "memref.alloca":
        type = slot.results[0].type
        if not isinstance(type, ShapedType) or not type.is_static or type.num_elements != 1:
            return None
        element = type.element
        return element if isinstance(element, IntegerType | IndexType | FloatType | VectorType) else None
    if slot.name == "llvm.alloca" and constant_integer(slot.operand(0)) == 1:
        return slot.elem_type.value  # type: ignore[attr-defined]
    return None


_LOADS = {"memref.load": 0, "llvm.load": 0}
_STORES = {"memref.store": 1, "llvm.store": 1}
"""The position of the address among the operands."""


class _ControlFlow:
    """What all variables share: a promotion does not change the blocks."""

    def __init__(self) -> None:
        self.dominance = DominanceInfo()
        self._frontiers: dict[Region, dict[Block, list[Block]]] = {}

    def frontiers(self, region: Region) -> dict[Block, list[Block]]:
        """The dominance frontier of each block that has one."""
        if region not in self._frontiers:
            self._frontiers[region] = self._compute(region)
        return self._frontiers[region]

    def _compute(self, region: Region) -> dict[Block, list[Block]]:
        frontiers: dict[Block, list[Block]] = defaultdict(list)
        for block in region.blocks:
            predecessors = [one for one in block.predecessors() if self.dominance.is_reachable(one)]
            if len(predecessors) < 2:
                continue
            stop = self.dominance.immediate_dominator(block)
            for runner in predecessors:
                current: Block | None = runner
                while current is not None and current is not stop:
                    frontiers[current].append(block)
                    current = self.dominance.immediate_dominator(current)
        return frontiers


class _Promotion:
    """One variable."""

    def __init__(self, slot: Operation, element: Type, graph: _ControlFlow) -> None:
        self.slot = slot
        self.element = element
        self.variable = slot.results[0]
        self.graph = graph
        self.dominance = graph.dominance
        self.uses: dict[Block, list[Operation]] = defaultdict(list)
        self.arguments: dict[Block, Value] = {}
        self.default: Value | None = None

    def run(self) -> bool:
        """Promote it; False if its uses do not allow that."""
        if not self.collect():
            return False
        merges = self.merges()
        if any(not _can_pass(branch) for block in merges for branch in _branches(block)):
            return False
        for block in self.region.blocks:
            if block in merges:
                self.arguments[block] = block.add_argument(self.element, self.slot.location)
        self.rename()
        self.slot.erase()
        return True

    @property
    def region(self) -> Region:
        assert self.slot.parent is not None and self.slot.parent.parent is not None
        return self.slot.parent.parent

    def collect(self) -> bool:
        users = set(self.variable.users)
        for use in self.variable.uses:
            op = use.owner
            place = _LOADS.get(op.name, _STORES.get(op.name))
            block = op.parent
            if place != use.index or block is None or block.parent is not self.region:
                return False
            value = op.results[0] if op.name in _LOADS else op.operand(0)
            if value.type != self.element or op.attributes.get("volatile_") is not None:
                return False
            if not self.dominance.is_reachable(block):
                return False
        for block in {user.parent for user in users}:
            assert block is not None
            self.uses[block] = [op for op in block if op in users]
        return True

    def merges(self) -> set[Block]:
        """The blocks where different values meet and one is loaded afterwards: the iterated dominance frontier of the
        stores, as far as the variable is live."""
        stores = {block for block, ops in self.uses.items() if any(op.name in _STORES for op in ops)}
        assert self.slot.parent is not None
        stores.add(self.slot.parent)
        live = self.live_blocks()
        frontiers = self.graph.frontiers(self.region)
        found: set[Block] = set()
        work = list(stores)
        while work:
            for block in frontiers.get(work.pop(), ()):
                if block not in found and block in live:
                    found.add(block)
                    work.append(block)
        return found

    def live_blocks(self) -> set[Block]:
        """The blocks at whose start a later load needs the value."""
        live: set[Block] = set()
        work = [block for block, ops in self.uses.items() if ops[0].name in _LOADS]
        while work:
            block = work.pop()
            if block in live or block is self.slot.parent:
                continue
            live.add(block)
            for before in block.predecessors():
                if not any(op.name in _STORES for op in self.uses.get(before, ())):
                    work.append(before)
        return live

    def rename(self) -> None:
        """Replace loads by the stored value, from dominators to what they dominate."""
        assert self.slot.parent is not None
        children: dict[Block, list[Block]] = defaultdict(list)
        for block in self.region.blocks:
            above = self.dominance.immediate_dominator(block)
            if above is not None:
                children[above].append(block)
        work: list[tuple[Block, Value | None]] = [(self.slot.parent, None)]
        while work:
            block, value = work.pop()
            value = self.arguments.get(block, value)
            for op in self.uses.get(block, ()):
                if op.name in _STORES:
                    value = op.operand(0)
                else:
                    value = value or self.unset()
                    op.results[0].replace_all_uses_with(value)
                op.erase()
            for number, successor in enumerate(block.successors):
                if successor in self.arguments:
                    value = value or self.unset()
                    assert block.last_op is not None
                    _pass(block.last_op, number, value)
            work += [(child, value) for child in reversed(children[block])]

    def unset(self) -> Value:
        """The value before the first store."""
        if self.default is None:
            undef = find_op("llvm.mlir.undef")
            assert undef is not None and self.slot.parent is not None
            made: Operation = Poison.create([], [self.element])
            if self.slot.name == "llvm.alloca":
                made = undef.create([], [self.element])
            made.location = self.slot.location
            self.slot.parent.insert_before(self.slot.parent.first_op, made)
            self.default = made.results[0]
        return self.default


def _branches(block: Block) -> list[Operation]:
    """The terminators that branch to the block."""
    return [before.last_op for before in block.predecessors() if before.last_op is not None]


_LLVM_FIELDS = {"llvm.br": ("dest_operands",), "llvm.cond_br": ("true_dest_operands", "false_dest_operands")}


def _can_pass(op: Operation) -> bool:
    return isinstance(op, BranchLike) or op.name in _LLVM_FIELDS


def _pass(op: Operation, number: int, value: Value) -> None:
    """Let a branch pass one more value to a successor."""
    assert isinstance(op, Op)
    if isinstance(op, BranchLike):
        op.set_branch_operands(number, [*op.branch_operands(number), value])
    elif op.name == "llvm.br":
        op.set_operands([*op.operands, value])
    else:
        name = _LLVM_FIELDS[op.name][number]
        op.set_field(name, [*op.values_of(name), value])
