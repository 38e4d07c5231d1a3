"""Dialects from their definitions in `irdl`, as upstream's IRDLLoading.cpp makes them.

    irdl.dialect @cmath { irdl.type @complex {…} irdl.operation @norm {…} } ──▶ Dialect("cmath", types, attributes, ops)

The ops have the generic form only. Types and attributes are written `!cmath.complex<f32>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, error
from tessera_tools.dialects.irdl import ops
from tessera_tools.dialects.irdl.attributes import OPTIONAL, SINGLE
from tessera_tools.dialects.irdl.constraints import Constraints, Definitions, DynamicAttribute
from tessera_tools.ir.attributes import AttributeMeta, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, TypeAttr
from tessera_tools.ir.core import Operation, Region, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import I32
from tessera_tools.opdef import Dialect, Op
from tessera_tools.opdef.attribute_rules import verify_op_attributes
from tessera_tools.opdef.dialect import find_dialect

__all__ = ["dialects_of"]


def dialects_of(module: Operation) -> list[Dialect]:
    """The dialects that a verified module defines. Raises DiagnosticError if one cannot be loaded."""
    found: dict[str, Dialect] = {}
    classes: dict[Operation, type[DynamicAttribute]] = {}
    definitions = [op for op in module.walk() if isinstance(op, ops.Definition)]
    bases = _Bases()
    for op in module.walk():
        bases.add(op)
    # Types and attributes may refer to each other, so all classes exist before their constraints.
    for op in definitions:
        if isinstance(op, ops.DialectOp):
            name = op.sym_name.value
            if name in found or find_dialect(name) is not None:
                raise error(
                    op.location, f"the dialect '{name}' exists already", "give the dialect another name"
                )
            found[name] = Dialect(name, "loaded from irdl", {}, is_complete=True)
        elif isinstance(op, ops.TypeOp | ops.AttributeOp):
            dialect = found[_dialect_name(op)]
            word = op.sym_name.value.removeprefix(op.sigil)
            base = _DynamicType if isinstance(op, ops.TypeOp) else _DynamicAttr
            classes[op] = AttributeMeta(word, (base,), {}, name=f"{dialect.name}.{word}")  # type: ignore[assignment]
            (dialect.types if isinstance(op, ops.TypeOp) else dialect.attributes)[word] = classes[op]  # type: ignore[assignment]
    for op in definitions:
        if isinstance(op, ops.TypeOp | ops.AttributeOp):
            list_of_parameters = op.child(ops.Parameters)
            classes[op].constraints = Constraints(op, classes.__getitem__)  # type: ignore[attr-defined]
            classes[op].variables = list_of_parameters.args if list_of_parameters is not None else []  # type: ignore[attr-defined]
        elif isinstance(op, ops.OperationOp):
            dialect = found[_dialect_name(op)]
            name = f"{dialect.name}.{op.sym_name.value}"
            dialect.ops[name] = _op_class(name, op, classes.__getitem__)
    return list(found.values())


def _dialect_name(op: Operation) -> str:
    dialect = op.parent_op
    assert isinstance(dialect, ops.DialectOp)
    return dialect.sym_name.value


class _Bases:
    """The definitions whose parameters each constraint looks at (`irdl.parametric`): a bit for each."""

    def __init__(self) -> None:
        self._bits: dict[object, int] = {}
        self._masks: dict[Value, int | None] = {}
        """By the result of a constraint; None for what accepts everything."""

    def add(self, op: Operation) -> None:
        """Record a constraint, whose operands are recorded. Raises DiagnosticError for ambiguous alternatives: the
        first that is satisfied is taken and decides the variables of its parameters, so that no two of them may be
        parametric in the same definition, as upstream."""
        match op:
            case ops.Parametric():
                mask = self._bit(ops.definition_of(op, op.base_type))
            case ops.Any_():
                mask = None
            case ops.AllOf():
                mask = self._masks.get(op.args[0], 0)
            case ops.AnyOf():
                mask = 0
                for value in op.args:
                    own = self._masks.get(value, 0)
                    if own is None or own & mask:
                        raise error(
                            op.location,
                            "any_of constraints are not in the correct form",
                            "no two of them may be irdl.parametric of the same definition, and none irdl.any",
                        )
                    mask |= own
            case _:
                return
        self._masks[op.results[0]] = mask

    def _bit(self, base: object) -> int:
        return 1 << self._bits.setdefault(base, len(self._bits))


# -- types and attributes


class _Dynamic(DynamicAttribute):
    """`params` as text, and their check."""

    def verify(self) -> None:
        kind: Any = type(self)
        if len(self.params) != len(kind.variables):
            raise ValueError(f"expected {len(kind.variables)} type arguments, but had {len(self.params)}")
        problem = kind.constraints.matching().all_of(kind.variables, self.params)
        if problem is not None:
            raise ValueError(problem)

    def text(self) -> str:
        inside = f"<{', '.join(map(str, self.params))}>" if self.params else ""
        return f"{self.sigil}{self.name}{inside}"

    @classmethod
    def parse(cls, s: Any) -> Any:
        make: Any = cls
        return make(tuple(s.list("<", s.attribute, ">")) if s.peek("<") else ())


class _DynamicAttr(_Dynamic):
    pass


class _DynamicType(_Dynamic, Type):
    pass


# -- operations


def _op_class(name: str, definition: ops.OperationOp, classes: Definitions) -> type[Op]:
    """The class of an operation; its verifier reports what upstream's does."""
    constraints = Constraints(definition, classes)
    operands, results = definition.child(ops.Operands), definition.child(ops.Results)
    attributes, regions = definition.child(ops.Attributes), definition.child(ops.Regions)
    region_constraints = [value.defining_op for value in regions.args] if regions is not None else []

    def verify_declared(self: Op) -> None:
        matching = constraints.matching()
        problems: list[Diagnostic] = []

        def values() -> str | None:
            of_operands = _pairs(self, "operand", operands, self.operand_types)
            of_results = _pairs(self, "result", results, self.result_types)
            for key, variable in (
                zip(attributes.names, attributes.values, strict=True) if attributes is not None else ()
            ):
                found = self.attributes.get(key.value)
                if found is None:
                    return f"'{self.name}' op attribute {key} is expected but not provided"
                if (problem := matching.of(variable, found)) is not None:
                    return problem
            for variable, type in (*of_operands, *of_results):
                if (problem := matching.of(variable, TypeAttr(type))) is not None:
                    return problem
            return None

        try:
            if (problem := values()) is not None:
                raise error(self.location, problem)
        except DiagnosticError as failure:
            problems += failure.diagnostics
        try:
            if len(self.regions) != len(region_constraints):
                raise self.error(
                    f"unexpected number of regions: expected {len(region_constraints)} but got {len(self.regions)}"
                )
            for i, (constraint, region) in enumerate(zip(region_constraints, self.regions, strict=True)):
                _verify_region(self, i, constraint, region, matching)
        except DiagnosticError as failure:
            problems += failure.diagnostics
        if problems:
            raise DiagnosticError(*problems)
        verify_op_attributes(self)

    namespace = {"verify_declared": verify_declared, "__doc__": f"The operation `{name}`, defined in irdl."}
    make: Any = type(Op)
    return make(definition.sym_name.value, (Op,), namespace, name=name)


def _pairs(op: Op, noun: str, declared: Any, types: Sequence[Type]) -> list[tuple[Value, Type]]:
    """The variable and the type of each operand or result. Raises DiagnosticError if there are too few or too many."""
    variables: list[Value] = declared.args if declared is not None else []
    counts: Sequence[str] = declared.variadicity.values if declared is not None else ()
    sizes = _sizes(op, noun, counts, len(types))
    each = [variable for variable, size in zip(variables, sizes, strict=True) for _ in range(size)]
    return list(zip(each, types, strict=True))


def _sizes(op: Op, noun: str, counts: Sequence[str], found: int) -> list[int]:
    open_ended = [count for count in counts if count != SINGLE]
    if len(open_ended) > 1:
        return _written_sizes(op, noun, counts, found)
    declared = len(counts)
    if not open_ended:
        if found != declared:
            raise error(op.location, f"op expects exactly {declared} {noun}s, but got {found}")
        return [1] * declared
    size = found - declared + 1
    if size < 0:
        raise error(op.location, f"op expects at least {declared - 1} {noun}s, but got {found}")
    if size > 1 and open_ended[0] == OPTIONAL:
        raise error(op.location, f"op expects at most {declared} {noun}s, but got {found}")
    return [1 if count == SINGLE else size for count in counts]


def _written_sizes(op: Op, noun: str, counts: Sequence[str], found: int) -> list[int]:
    """The sizes by the attribute that says them, as two or more are not single."""
    key = f"{noun}SegmentSizes"
    sizes = op.attributes.get(key)
    if sizes is None:
        raise error(op.location, f"'{key}' attribute is expected but not provided")
    if not isinstance(sizes, DenseArrayAttr) or sizes.element is not I32:
        raise error(op.location, f"'{key}' attribute is expected to be a dense i32 array")
    what = f"'{key}' attribute for specifying {noun} segments must have"
    if len(sizes) != len(counts):
        raise error(op.location, f"{what} {len(counts)} elements, but got {len(sizes)}")
    for i, (size, count) in enumerate(zip(sizes.values, counts, strict=True)):
        if size < 0:
            raise error(op.location, f"{what} non-negative values")
        if count == SINGLE and size != 1:
            raise error(op.location, f"element {i} in '{key}' attribute must be equal to 1")
        if count == OPTIONAL and size > 1:
            raise error(op.location, f"element {i} in '{key}' attribute must be equal to 0 or 1")
    if sum(sizes.values) != found:
        raise error(
            op.location, f"sum of elements in '{key}' attribute must be equal to the number of {noun}s"
        )
    return list(sizes.values)


def _verify_region(op: Op, number: int, constraint: Any, region: Region, matching: Any) -> None:
    def fail(location: Location, message: str) -> DiagnosticError:
        failure = error(location, message)
        if location is not op.location:
            failure.diagnostics[0].note("see the operation", op.location)
        return failure

    assert isinstance(constraint, ops.RegionOp)
    blocks, wanted = len(region.blocks), constraint.block_count
    if wanted is not None and wanted.value != blocks:
        raise fail(op.location, f"expected region {number} to have {wanted.value} block(s) but got {blocks}")
    if constraint.constrained is None:
        return
    arguments = region.entry.arguments if region.blocks else []
    variables = constraint.arguments
    if len(arguments) != len(variables):
        location = arguments[0].location if arguments else op.location
        raise fail(
            location,
            f"expected region {number} to have {len(variables)} arguments but got {len(arguments)}",
        )
    for argument, variable in zip(arguments, variables, strict=True):
        problem = matching.of(variable, TypeAttr(argument.type))
        if problem is not None:
            raise fail(argument.location, problem)
