"""`convert-scf-to-cf`: structured control flow to branches between blocks.

    scf.for       init ─▶ condition(iv, carried) ─▶ body ─▶ condition │ ─▶ rest
    scf.while     init ─▶ before ─▶ after ─▶ before                   │ ─▶ rest
    scf.if        ─▶ then │ else ─▶ results ─▶ rest
    scf.index_switch, scf.execute_region: the same, with their regions

`scf.parallel` becomes nested loops first.  The blocks are in the order of upstream's pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from tessera_tools.dialects import arith, cf, scf
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Block, Operation, OpT, Region, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import I32, I64, VectorType
from tessera_tools.passes.base import Pass, PassContext

_SWITCHED = ("scf.for", "scf.while", "scf.if", "scf.index_switch", "scf.execute_region", "scf.parallel")


class ConvertSCFToControlFlow(Pass):
    """Lowers loops, branches and switches of `scf`, the outer ones first."""

    name = "convert-scf-to-cf"
    title = "SCFToControlFlowPass"
    summary = "convert scf to cf, structured control flow to branches"
    ensures = "no loop, branch or switch of scf"
    statistics: ClassVar[Mapping[str, str]] = {"num-converted": "Number of operations converted"}

    def run(self, op: Operation, context: PassContext) -> bool:
        count = 0
        # The outer ops first: what is inside moves with its block.
        work = [inner for inner in op.walk() if inner.name in _SWITCHED]
        for inner in work:
            _check_block(inner)
        while work:
            inner = work.pop(0)
            made = _LOWERINGS[inner.name](inner)
            work[:0] = made
            count += 1
        context.count("num-converted", count)
        return count > 0


def _check_block(op: Operation) -> None:
    """The region around an op must be able to hold several blocks."""
    parent = op.parent_op
    if parent is not None and parent.name in (
        "builtin.module",
        "scf.forall",
        "scf.reduce",
        "cuda_tile.module",
    ):
        raise op.error(f"cannot become branches inside '{parent.name}', whose region has one block")


def _split(op: Operation) -> tuple[Block, Block]:
    """The blocks before and after an op, which is then alone at the end of the first."""
    block = op.parent
    assert block is not None
    following = op.next_op
    assert following is not None, "a block ends with a terminator"
    return block, block.split_before(following)


def _region_of(block: Block) -> Region:
    assert block.parent is not None
    return block.parent


def _inline_before(region: Region, place: Block) -> None:
    """Move the blocks of a region before another block."""
    target = _region_of(place)
    index = target.blocks.index(place)
    moved = list(region.blocks)
    region.blocks = []
    for offset, block in enumerate(moved):
        block.parent = None
        target.insert(index + offset, block)


def _end(block: Block, op: Operation, location: Location) -> None:
    op.location = location
    block.append(op)


def _add(block: Block, op: OpT, location: Location) -> OpT:
    op.location = location
    block.append(op)
    return op


def _replace(op: Operation, values: Sequence[Value]) -> None:
    op.replace_all_uses_with(values)
    op.erase()


def _branch_from_yield(block: Block, target: Block) -> None:
    """Replace the terminator of a region's block by a branch with its operands."""
    last = block.last_op
    assert last is not None
    values, location = last.operands, last.location
    last.erase()
    _end(block, cf.Branch(values, dest=target), location)


def _lower_for(op: scf.For) -> Sequence[Operation]:
    location = op.location
    begin, end = _split(op)
    condition = op.body.block
    body = Block()
    op.body.append(body)
    for inner in list(condition):
        inner.detach()
        body.append(inner)
    last = body.last_op
    assert last is not None
    _inline_before(op.body, end)
    counter = condition.arguments[0]
    carried = last.operands
    last.erase()
    stepped = _add(body, arith.AddI(lhs=counter, rhs=op.step), location).results[0]
    _end(body, cf.Branch([stepped, *carried], dest=condition), location)
    compared = _compare(condition, op.less_than, counter, op.upper, location)
    _end(condition, cf.CondBranch(compared, [], [], true_dest=body, false_dest=end), location)
    lower, inits = op.lower, op.operands[3:]
    _replace(op, condition.arguments[1:])
    _end(begin, cf.Branch([lower, *inits], dest=condition), location)
    return []


def _compare(block: Block, predicate: str, left: Value, right: Value, location: Location) -> Value:
    code = IntegerAttr(CMPI_PREDICATES.index(predicate), I64)
    return _add(block, arith.CmpI(code, left, right), location).result


def _lower_while(op: scf.While) -> Sequence[Operation]:
    location = op.location
    begin, end = _split(op)
    before, after = op.before.block, op.after.block
    condition, end_of_body = before.last_op, after.last_op
    assert condition is not None and end_of_body is not None
    forwards = end_of_body is after.first_op and end_of_body.operands == list(after.arguments)
    inits = op.operands
    if not forwards:
        _inline_before(op.before, end)
        _inline_before(op.after, end)
        _branch_from_yield(after, before)
    else:
        _inline_before(op.before, end)  # a do-while: the condition goes straight back
    test, values = condition.operand(0), condition.operands[1:]
    where = condition.location
    condition.erase()
    target = before if forwards else after
    _end(before, cf.CondBranch(test, values, [], true_dest=target, false_dest=end), where)
    _replace(op, values)
    _end(begin, cf.Branch(inits, dest=before), location)
    return []


def _lower_if(op: scf.If) -> Sequence[Operation]:
    location = op.location
    begin, rest = _split(op)
    target = rest
    if op.results:
        target = Block(op.result_types, [location] * len(op.results))
        region = _region_of(rest)
        region.insert(region.blocks.index(rest), target)
        _end(target, cf.Branch([], dest=rest), location)
    then = op.then.entry
    _branch_from_yield(op.then.blocks[-1], target)
    otherwise = target
    if op.otherwise.blocks:
        otherwise = op.otherwise.entry
        _branch_from_yield(op.otherwise.blocks[-1], target)
    _inline_before(op.then, target)
    if otherwise is not target:
        _inline_before(op.otherwise, target)
    condition = op.condition
    _replace(op, target.arguments if op.results else [])
    _end(begin, cf.CondBranch(condition, [], [], true_dest=then, false_dest=otherwise), location)
    return []


def _lower_execute_region(op: scf.ExecuteRegion) -> Sequence[Operation]:
    location = op.location
    begin, rest = _split(op)
    entry = op.body.entry
    for block in op.body.blocks:
        if block.last_op is not None and block.last_op.name == "scf.yield":
            _branch_from_yield(block, rest)
    _inline_before(op.body, rest)
    arguments = [rest.add_argument(type, location) for type in op.result_types]
    _replace(op, arguments)
    _end(begin, cf.Branch([], dest=entry), location)
    return []


def _lower_index_switch(op: scf.IndexSwitch) -> Sequence[Operation]:
    location = op.location
    begin, rest = _split(op)
    arguments = [rest.add_argument(type, location) for type in op.result_types]
    default, *cases = op.regions
    targets: list[Block] = []
    for region in (*cases, default):
        _branch_from_yield(region.block, rest)
        targets.append(region.block)
        _inline_before(region, rest)
    flag = arith.IndexCast.create([op.arg], [I32])
    values = DenseElementsAttr.of(VectorType((len(cases),), I32), list(op.cases.values)) if cases else None
    _replace(op, arguments)
    _add(begin, flag, location)
    made = cf.Switch(
        flag.results[0],
        [],
        [],
        case_values=values,
        case_operand_segments=DenseArrayAttr(I32, (0,) * len(cases)),
        default_destination=targets[-1],
        case_destinations=targets[:-1],
    )
    _end(begin, made, location)
    return []


def _lower_parallel(op: scf.Parallel) -> Sequence[Operation]:
    """Nested `scf.for`, the first dimension outside; reductions are carried."""
    location = op.location
    block = op.parent
    assert block is not None
    body = op.body.block
    inits = list(op.inits)
    loops: list[scf.For] = []
    place, before = block, op
    carried: list[Value] = inits
    for lower, upper, step in zip(op.lower, op.upper, op.step, strict=True):
        inner = Block([lower.type, *(v.type for v in inits)], [location] * (1 + len(inits)))
        loop = scf.For(lower, upper, step, carried, results_=[v.type for v in inits], body=Region([inner]))
        loop.location = location
        place.insert_before(before, loop) if before is not None else place.append(loop)
        if loops:
            _end(place, scf.Yield(list(loop.results)), location)
        loops.append(loop)
        place, before = inner, None
        carried = list(inner.arguments[1:])
    for argument, loop in zip(body.arguments, loops, strict=True):
        argument.replace_all_uses_with(loop.body.block.arguments[0])
    reduce = body.last_op
    assert reduce is not None
    results: list[Value] = []
    for inner in list(body):
        if inner is not reduce:
            inner.detach()
            place.append(inner)
    for number, region in enumerate(reduce.regions):
        reduction = region.block
        for argument, value in zip(
            reduction.arguments, (carried[number], reduce.operand(number)), strict=True
        ):
            argument.replace_all_uses_with(value)
        last = reduction.last_op
        assert last is not None
        results.append(last.operand(0))
        last.erase()
        for inner in list(reduction):
            inner.detach()
            place.append(inner)
    reduce.erase()
    _end(place, scf.Yield(results), location)
    _replace(op, list(loops[0].results))
    return loops


_LOWERINGS: dict[str, Callable[..., Sequence[Operation]]] = {
    "scf.for": _lower_for,
    "scf.while": _lower_while,
    "scf.if": _lower_if,
    "scf.index_switch": _lower_index_switch,
    "scf.execute_region": _lower_execute_region,
    "scf.parallel": _lower_parallel,
}
