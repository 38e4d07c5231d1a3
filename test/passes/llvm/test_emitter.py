"""The emitter: where pure operations are placed, and what thread numbers and barriers mean in a unit."""

from tessera_tools.dialects import llvm
from tessera_tools.ir.core import Block, OpResult, Region
from tessera_tools.ir.location import UNKNOWN
from tessera_tools.ir.types import I1
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.target import ExecutionUnit


def emitter(unit: ExecutionUnit) -> Emitter:
    return Emitter(Region([Block([I1], [UNKNOWN])]), UNKNOWN, unit)


def names(block: Block) -> list[str]:
    return [op.name for op in block]


def test_a_pure_op_is_hoisted_out_of_a_branch() -> None:
    e = emitter(ExecutionUnit(4))
    then = e.new_block()
    e.open(e.emit(llvm.CondBr(e.block.arguments[0], [], [], true_dest=then, false_dest=then)))
    e.block = then
    _ = e.warp
    assert names(then) == []


def test_a_conjunction_begins_with_the_conditions_outside_the_branch() -> None:
    e = emitter(ExecutionUnit(4))
    entry, then = e.block, e.new_block()
    first, second = entry.arguments[0], e.icmp("eq", e.warp, 0)
    e.open(e.emit(llvm.CondBr(first, [], [], true_dest=then, false_dest=then)))
    e.block = then
    inside = e.emit(llvm.Or(first, second)).results[0]
    both = e.both([inside, first, None, second])
    assert names(then) == ["llvm.or", "llvm.and"]
    assert isinstance(both, OpResult)
    outer, last = both.op.operands
    assert isinstance(outer, OpResult) and set(outer.op.operands) == {first, second}
    assert last is inside


def test_a_conjunction_has_each_condition_once() -> None:
    e = emitter(ExecutionUnit(4))
    condition = e.block.arguments[0]
    assert e.both([None]) is None
    assert e.both([condition, None, condition]) is condition
    assert names(e.block) == []


def test_what_an_agent_computes_stays_in_the_agent() -> None:
    e = emitter(ExecutionUnit(8))
    outside = e.warp
    entry, then = e.block, e.new_block()
    e.open(e.emit(llvm.CondBr(entry.arguments[0], [], [], true_dest=then, false_dest=then)))
    e.block = then
    before = set(entry)
    with e.agent(ExecutionUnit(4, first_warp=4, barrier=1)):
        inside = e.warp
        assert inside is not outside and inside is e.warp
    assert names(then)[:2] == ["nvvm.read.ptx.sreg.tid.x", "llvm.add"]
    # Constants are no instructions in LLVM IR; they may stand at the entry.
    assert {op.name for op in entry if op not in before} == {"llvm.mlir.constant"}
    assert e.unit.is_whole and e.floor == 0


def test_barriers_are_those_of_the_unit() -> None:
    made = []
    for unit in (ExecutionUnit(4), ExecutionUnit(4, 4, barrier=2), ExecutionUnit(1, 8, barrier=3)):
        e = emitter(unit)
        e.barrier()
        made.append(e.block.last_op)
    assert [op.name for op in made] == ["nvvm.barrier0", "nvvm.barrier", "nvvm.bar.warp.sync"]
    assert [v.defining_op.value.value for v in made[1].operands] == [2, 128]
