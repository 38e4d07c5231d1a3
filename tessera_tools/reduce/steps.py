"""The changes that make a module smaller, from the coarse to the fine.

    symbols     erase functions and globals
    ops         erase an op; an older value of the same type replaces each of its results
    forward     erase an op; one of its operands replaces its result
    regions     replace an op by the body of one of its regions
    branches    let a conditional branch always take one of its successors
    blocks      merge a block into its only predecessor
    operands    use an older value in place of an operand, so that its definition may go
    arguments   remove unused parameters of functions
    results     remove results of functions
    attributes  remove attributes, and set numbers to 0

A change may be wrong for an op; the verifier then rejects the candidate.  Every step makes a finite measure smaller, so
that the reduction ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    TypeAttr,
    element_bytes,
)
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.traits import ConstantLike, IsolatedFromAbove, Terminator
from tessera_tools.ir.types import FloatType, FunctionType, IndexType, IntegerType, ShapedType
from tessera_tools.opdef.dialect import find_op
from tessera_tools.records import dataclass

__all__ = ["STEPS", "Step"]


@dataclass(frozen=True)
class Step:
    """One kind of change. `sites` are the places of a module, in a fixed order; `apply` changes one, and returns false
    if it is not possible there."""

    name: str
    sites: Callable[[Operation], Sequence[Any]]
    apply: Callable[[Operation, Any], bool]


def _alive(module: Operation, op: Operation) -> bool:
    """Whether no earlier change removed the op, or one around it."""
    while op is not module:
        parent = op.parent_op
        if op.parent is None or parent is None:
            return False
        op = parent
    return True


# -- symbols and ops


def _symbols(module: Operation) -> list[Operation]:
    return [op for op in module.walk() if "sym_name" in op.attributes]


def _erase_symbol(module: Operation, op: Operation) -> bool:
    if not _alive(module, op) or any(result.has_uses for result in op.results):
        return False
    op.erase()
    return True


def _ops(module: Operation) -> list[Operation]:
    return [op for op in module.walk() if "sym_name" not in op.attributes and not op.has_trait(Terminator)]


def _erase_op(module: Operation, op: Operation) -> bool:
    if not _alive(module, op):
        return False
    values: list[Value] = []
    for result in op.results:
        value = _older_value(result) if result.has_uses else result
        if value is None:
            return False
        values.append(value)
    op.replace_all_uses_with(values)
    op.erase()
    return True


def _forwards(module: Operation) -> list[tuple[Operation, int]]:
    return [
        (op, number)
        for op in _ops(module)
        if len(op.results) == 1 and op.results[0].has_uses
        for number, type in enumerate(op.operand_types)
        if type == op.results[0].type
    ]


def _forward(module: Operation, site: tuple[Operation, int]) -> bool:
    op, number = site
    if not _alive(module, op):
        return False
    op.replace_all_uses_with([op.operand(number)])
    op.erase()
    return True


def _older_value(result: Value) -> Value | None:
    """A value of the same type that is defined before `result`: the first one of its function, or a new constant."""
    op = result.defining_op
    assert op is not None
    for value in _visible(op):
        if value.type == result.type:
            return value
    if op.has_trait(ConstantLike):
        return None
    made = _zero(op, result.type)
    if made is None:
        return None
    assert op.parent is not None
    op.parent.insert_before(op, made)
    return made.results[0]


def _visible(op: Operation) -> Iterator[Value]:
    """The values that are visible at `op`, the outer and older ones first; those of other blocks are left out."""
    scopes: list[tuple[Block, Operation]] = []
    place = op
    while place.parent is not None:
        scopes.append((place.parent, place))
        around = place.parent_op
        if around is None or around.has_trait(IsolatedFromAbove):
            break
        place = around
    for block, end in reversed(scopes):
        yield from block.arguments
        for earlier in block:
            if earlier is end:
                break
            yield from earlier.results


def _zero(near: Operation, type: Type) -> Operation | None:
    """A detached constant 0 of the type; None if there is no constant op for it."""
    if isinstance(type, IntegerType | IndexType):
        value: Any = IntegerAttr(0, type)
    elif isinstance(type, FloatType):
        value = FloatAttr(0, type)
    elif isinstance(type, ShapedType) and type.is_static:
        element = type.element
        if not isinstance(element, IntegerType | IndexType | FloatType):
            return None
        value = DenseElementsAttr(type, bytes(element_bytes(element)))
    else:
        return None
    name = "cuda_tile.constant" if type.name.startswith("cuda_tile.") else "arith.constant"
    constant = find_op(name)
    return None if constant is None else constant.create([], [type], {"value": value}, location=near.location)


# -- control flow


def _regions(module: Operation) -> list[tuple[Operation, int]]:
    return [
        (op, number)
        for op in module.walk()
        if op.regions and "sym_name" not in op.attributes
        for number, region in enumerate(op.regions)
        if len(region.blocks) == 1
    ]


def _inline_region(module: Operation, site: tuple[Operation, int]) -> bool:
    """Replace an op by the body of a region; its arguments become older values, its results those of the terminator."""
    op, number = site
    if not _alive(module, op):
        return False
    block = op.regions[number].block
    last = block.last_op
    if last is None or last.successors:
        return False
    yielded = last.operands if last.has_trait(Terminator) else []
    if len(yielded) < len(op.results) or any(
        a.type != b.type for a, b in zip(op.results, yielded[: len(op.results)], strict=True)
    ):
        return False
    stand_in: list[Value] = []
    for argument in block.arguments:
        value = next((v for v in (*op.operands, *_visible(op)) if v.type == argument.type), None)
        if value is None:
            made = _zero(op, argument.type)
            if made is None:
                return False
            assert op.parent is not None
            op.parent.insert_before(op, made)
            value = made.results[0]
        stand_in.append(value)
    for argument, value in zip(block.arguments, stand_in, strict=True):
        argument.replace_all_uses_with(value)
    yielded = last.operands if last.has_trait(Terminator) else []
    if last.has_trait(Terminator):
        last.erase()
    for inner in list(block):
        inner.move_before(op)
    op.replace_all_uses_with(yielded[: len(op.results)])
    op.erase()
    return True


_BRANCHES = {"cf.cond_br": "cf.br", "llvm.cond_br": "llvm.br"}
"""Conditional branch → the branch with one successor."""


def _branches(module: Operation) -> list[tuple[Operation, int]]:
    return [(op, number) for op in module.walk() if op.name in _BRANCHES for number in (0, 1)]


def _take_branch(module: Operation, site: tuple[Operation, int]) -> bool:
    op, number = site
    if not _alive(module, op):
        return False
    branch = find_op(_BRANCHES[op.name])
    assert branch is not None and op.parent is not None
    target = op.successors[number]
    operands = [*op.operands[1:]]
    first = len(op.successors[0].arguments)
    passed = operands[:first] if number == 0 else operands[first:]
    made = branch.create(passed, [], {}, [], [target], op.location)
    block, region = op.parent, op.parent.parent
    op.erase()
    block.append(made)
    assert region is not None
    _erase_unreachable(region)
    return True


def _erase_unreachable(region: Any) -> None:
    reached: set[Block] = set()
    work = [region.entry]
    while work:
        block = work.pop()
        if block not in reached:
            reached.add(block)
            work += block.successors
    gone = [block for block in region.blocks if block not in reached]
    for block in gone:
        for op in list(block):
            op.drop_all_references()
    for block in gone:
        block.erase()


def _merges(module: Operation) -> list[Operation]:
    return [op for op in module.walk() if op.name in _BRANCHES.values()]


def _merge(module: Operation, op: Operation) -> bool:
    """Append the target of a branch to the block of the branch, if no other block branches there."""
    if not _alive(module, op):
        return False
    target, block = op.successors[0], op.parent
    assert block is not None
    if target.single_predecessor() is not block or target is block:
        return False
    for argument, value in zip(target.arguments, op.operands, strict=True):
        argument.replace_all_uses_with(value)
    op.erase()
    for inner in list(target):
        inner.detach()
        block.append(inner)
    target.erase()
    return True


# -- operands, parameters, attributes


def _operands(module: Operation) -> list[tuple[Operation, int]]:
    return [(op, number) for op in module.walk() for number in range(len(op.op_operands))]


def _use_older(module: Operation, site: tuple[Operation, int]) -> bool:
    op, number = site
    if not _alive(module, op):
        return False
    old = op.operand(number)
    for value in _visible(op):
        if value is old:
            return False
        if value.type == old.type:
            op.set_operand(number, value)
            return True
    return False


def _parameters(module: Operation) -> list[tuple[Operation, int]]:
    return [
        (op, number)
        for op in module.walk()
        if _function_type(op) is not None and op.regions and op.regions[0].blocks
        for number, argument in enumerate(op.regions[0].entry.arguments)
        if not argument.has_uses
    ]


def _function_type(op: Operation) -> FunctionType | None:
    found = op.attributes.get("function_type")
    type = found.value if isinstance(found, TypeAttr) else None
    return type if isinstance(type, FunctionType) else None


def _remove_parameter(module: Operation, site: tuple[Operation, int]) -> bool:
    op, number = site
    type = _function_type(op)
    if type is None or not _alive(module, op) or len(type.inputs) != len(op.regions[0].entry.arguments):
        return False
    inputs = type.inputs[:number] + type.inputs[number + 1 :]
    op.attributes["function_type"] = TypeAttr(FunctionType(inputs, type.results))
    _drop_element(op, "arg_attrs", number)
    op.regions[0].entry.erase_argument(number)
    return True


def _function_results(module: Operation) -> list[tuple[Operation, int]]:
    found = ((op, _function_type(op)) for op in module.walk())
    return [(op, number) for op, type in found if type is not None for number in range(len(type.results))]


def _remove_result(module: Operation, site: tuple[Operation, int]) -> bool:
    op, number = site
    type = _function_type(op)
    if type is None or not _alive(module, op) or number >= len(type.results):
        return False
    results = type.results[:number] + type.results[number + 1 :]
    op.attributes["function_type"] = TypeAttr(FunctionType(type.inputs, results))
    _drop_element(op, "res_attrs", number)
    for block in op.regions[0].blocks if op.regions else ():
        last = block.last_op
        if last is not None and not last.successors and len(last.op_operands) == len(type.results):
            operands = last.operands
            last.set_operands(operands[:number] + operands[number + 1 :])
    return True


def _drop_element(op: Operation, key: str, number: int) -> None:
    """Remove an element of an array attribute, if the op has it."""
    found = op.attributes.get(key)
    if isinstance(found, ArrayAttr):
        op.attributes[key] = ArrayAttr((*found.elements[:number], *found.elements[number + 1 :]))


def _attributes(module: Operation) -> list[tuple[Operation, str]]:
    return [
        (op, key)
        for op in (module, *module.walk())
        for key in sorted(op.attributes)
        if key not in ("sym_name", "function_type")
    ]


def _remove_attribute(module: Operation, site: tuple[Operation, str]) -> bool:
    op, key = site
    if not _alive(module, op) or key not in op.attributes:
        return False
    del op.attributes[key]
    return True


def _numbers(module: Operation) -> list[tuple[Operation, str]]:
    return [
        (op, key)
        for op in (module, *module.walk())
        for key, value in sorted(op.attributes.items(), key=lambda item: item[0])
        if isinstance(value, IntegerAttr) and value.value != 0 and value.type.name != "builtin.i1"
    ]


def _set_zero(module: Operation, site: tuple[Operation, str]) -> bool:
    op, key = site
    value = op.attributes.get(key)
    if not _alive(module, op) or not isinstance(value, IntegerAttr):
        return False
    op.attributes[key] = IntegerAttr(0, value.type)
    return True


STEPS = (
    Step("symbols", _symbols, _erase_symbol),
    Step("ops", _ops, _erase_op),
    Step("forward", _forwards, _forward),
    Step("regions", _regions, _inline_region),
    Step("branches", _branches, _take_branch),
    Step("blocks", _merges, _merge),
    Step("operands", _operands, _use_older),
    Step("arguments", _parameters, _remove_parameter),
    Step("results", _function_results, _remove_result),
    Step("attributes", _attributes, _remove_attribute),
    Step("numbers", _numbers, _set_zero),
)
"""In the order in which they are tried."""
