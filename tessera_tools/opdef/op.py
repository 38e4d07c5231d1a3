"""`Op`: the base class of registered operations.  One class has the complete declaration of an op.

    class AddF(Op, name="arith.addf", traits=(PURE, COMMUTATIVE)):
        '''Floating-point addition, elementwise.'''

        lhs = operand(FLOAT_LIKE)
        rhs = operand(same_as("lhs"))
        fastmath = attribute(enum(FastMathFlagsAttr, angled=True), default=FastMathFlagsAttr("none"))
        result = result(same_as("lhs"))
        assembly = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

The grammar rule, the parser, the printer, the declared part of the verifier, the constructor
(`AddF(a, b)`, with inferred result types) and the documentation are derived from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.effects import declared
from tessera_tools.ir.location import UNKNOWN, Location
from tessera_tools.ir.traits import Trait
from tessera_tools.ir.types import I32
from tessera_tools.opdef.attribute_rules import verify_op_attributes
from tessera_tools.opdef.constraints import Derived, Exactly, SameAs
from tessera_tools.opdef.fields import (
    AttributeField,
    Field,
    OperandField,
    RegionField,
    ResultField,
    SuccessorField,
)

if TYPE_CHECKING:
    from tessera_tools.opdef.directive import Known
    from tessera_tools.opdef.format import Format

_SEGMENT_KEYS = ("operandSegmentSizes", "resultSegmentSizes")

_MOST_SATISFIED = 4096
"""For how many forms of ops of one class it is known that they satisfy the declaration."""


class OpDefinition:
    """The declaration of one op class, as lists of fields in declaration order."""

    def __init__(self, op_class: type[Op], fields: Sequence[Field]) -> None:
        self.op_class = op_class
        self.name = op_class.name
        self.operands = [f for f in fields if isinstance(f, OperandField)]
        self.results = [f for f in fields if isinstance(f, ResultField)]
        self.attributes = [f for f in fields if isinstance(f, AttributeField)]
        self.regions = [f for f in fields if isinstance(f, RegionField)]
        self.successors = [f for f in fields if isinstance(f, SuccessorField)]
        self.fields = {f.name: f for f in fields}
        self.parameters = [f for f in fields if isinstance(f, OperandField | AttributeField)]
        self.parameter_names = tuple(f.name for f in self.parameters)
        for group in (self.operands, self.results, self.attributes, self.regions, self.successors):
            for position, field in enumerate(group):
                field.position = position
        for group in (self.operands, self.results):
            for field in group:
                field.place(group)
        self.operand_segments = sum(f.arity != "single" for f in self.operands) > 1
        self.result_segments = sum(f.arity != "single" for f in self.results) > 1
        self._format: Format | None = None
        self._sources: dict[str, tuple[str, ...]] = {}
        """For each field with an inferred type: the fields with the same type."""
        self._fixed = all(f.fixed is not None for f in (*self.operands, *self.results))
        values = (*self.operands, *self.results)
        self._plain_checks = [
            (f, f.constraint) for f in values if not isinstance(f.constraint, SameAs | Derived)
        ]
        self._related = [
            (f, f.constraint, self._pair(f)) for f in values if isinstance(f.constraint, SameAs | Derived)
        ]
        self._satisfied: set[tuple[object, ...]] = set()
        """Types, attributes and counts of ops that satisfy the declared constraints, which depend on nothing else."""

    def _pair(self, field: OperandField | ResultField) -> tuple[bool, int, bool, int] | None:
        """Where the two types are that `same_as` compares, if they are at fixed places: (an operand, its index) of the
        field, and of the other one."""
        other = self.fields[field.constraint.field] if isinstance(field.constraint, SameAs) else None
        if not isinstance(other, OperandField | ResultField) or field.fixed is None or other.fixed is None:
            return None
        return isinstance(field, OperandField), field.fixed, isinstance(other, OperandField), other.fixed

    @property
    def format(self) -> Format | None:
        """The compiled assembly format, or None if only generic."""
        if self._format is None and self.op_class.assembly is not None:
            from tessera_tools.opdef.format import Format

            self._format = Format(self)
        return self._format

    def attribute(self, name: str) -> AttributeField:
        """The attribute field of that name."""
        return next(field for field in self.attributes if field.name == name)

    # -- inference

    def types_of(self, op: Operation, name: str) -> Known:
        """The type of a field's value in `op`; a list for a variadic field, None for an absent optional one."""
        value = self.fields[name].read(op)
        if isinstance(value, list):
            return [v.type for v in value]
        if isinstance(value, Value):
            return value.type
        return value

    def infer(self, field: OperandField | ResultField, known: Mapping[str, Known]) -> Type | None:
        """The type of `field` by its constraints, from the known types (or attributes) of other fields.

        Raises ValueError if it depends on a missing required attribute.
        """
        constraint = field.constraint
        if isinstance(constraint, Exactly):
            return constraint.type
        if isinstance(constraint, Derived) and all(name in known for name in constraint.fields):
            for name in constraint.fields:
                source = self.fields[name]
                if known[name] is None and isinstance(source, AttributeField) and source.arity == "single":
                    raise ValueError(f"requires attribute '{source.key}'")
            return constraint.function(*(known[name] for name in constraint.fields))
        sources = self._sources.get(field.name)
        if sources is None:
            sources = self._sources[field.name] = self._same_types(field)
        for name in sources:
            found = known.get(name)
            if isinstance(found, list):
                found = found[0] if found else None
            if isinstance(found, Type):
                return found
        return None

    def _same_types(self, field: OperandField | ResultField) -> tuple[str, ...]:
        """The fields with the same type as `field`, by any `same_as`: the one it names, those that name it, its
        siblings."""
        target = field.constraint.field if isinstance(field.constraint, SameAs) else None
        found = [target] if target is not None else []
        values = (*self.operands, *self.results)
        for wanted in (field.name, target):
            for other in values:
                constraint = other.constraint
                if isinstance(constraint, SameAs) and constraint.field == wanted and other is not field:
                    found.append(other.name)
        return tuple(found)

    # -- verification

    def verify(self, op: Operation) -> None:
        """The declared constraints; raises with MLIR's messages."""
        attributes = op.attributes
        key = (
            tuple([use.value.type for use in op._operands]),
            tuple([result.type for result in op.results]),
            (*attributes, *attributes.values()) if attributes else (),
            len(op.regions),
            len(op.successors),
        )
        if key not in self._satisfied:
            self._verify_constraints(op)
            if len(self._satisfied) >= _MOST_SATISFIED:
                self._satisfied.clear()
            self._satisfied.add(key)
        if attributes:
            verify_op_attributes(op)

    def _verify_constraints(self, op: Operation) -> None:
        self._verify_counts(op)
        for field in self.attributes:
            value = op.attributes.get(field.key)
            if value is None:
                if field.arity == "single":
                    raise op.error(f"requires attribute '{field.key}'")
            elif not field.kind.check(value):
                raise op.error(f"attribute '{field.key}' failed to satisfy constraint: {field.kind.summary}")
        for field, constraint in self._plain_checks:
            if field.fixed is not None:
                type = field._pool(op)[field.fixed]
                type = type.value.type if isinstance(field, OperandField) else type.type
                if not constraint.accepts(type):
                    self._reject(op, field, field.fixed, constraint.summary, type)
            else:
                self._verify_span(op, field)
        for field, constraint, pair in self._related:
            if pair is not None:
                # Most ops: two types at fixed places, of which only a difference needs a closer look.
                operand, index, other_operand, other = pair
                type = op._operands[index].value.type if operand else op.results[index].type
                if type is (op._operands[other].value.type if other_operand else op.results[other].type):
                    continue
            self._verify_related(op, field, constraint)

    def _verify_counts(self, op: Operation) -> None:
        if self._fixed:
            if len(op._operands) != len(self.operands):
                raise op.error(_count_message("operand", len(self.operands), len(op._operands)))
            if len(op.results) != len(self.results):
                raise op.error(_count_message("result", len(self.results), len(op.results)))
        else:
            self._verify_segments(op, self.operands, len(op._operands), self.operand_segments, 0, "operand")
            self._verify_segments(op, self.results, len(op.results), self.result_segments, 1, "result")
        if len(op.regions) != len(self.regions) and not (
            self.regions and self.regions[-1].arity == "variadic"
        ):
            raise op.error(_count_message("region", len(self.regions), len(op.regions)))
        if len(op.successors) != len(self.successors) and not (
            self.successors and self.successors[-1].arity == "variadic"
        ):
            raise op.error(f"requires {len(self.successors)} successors, but found {len(op.successors)}")

    def _verify_segments(
        self, op: Operation, fields: Sequence[Field], count: int, segmented: bool, key: int, noun: str
    ) -> None:
        least = sum(f.arity == "single" for f in fields)
        if segmented:
            sizes = op.attributes.get(_SEGMENT_KEYS[key])
            if not isinstance(sizes, DenseArrayAttr) or len(sizes) != len(fields):
                raise op.error(
                    f"'{_SEGMENT_KEYS[key]}' attribute for specifying {noun} segments must have {len(fields)} elements"
                )
            if sum(sizes.values) != count or min(sizes.values, default=0) < 0:
                raise op.error(
                    f"{noun} count ({count}) does not match with the total size ({sum(sizes.values)}) "
                    f"specified in attribute '{_SEGMENT_KEYS[key]}'"
                )
            for field, size in zip(fields, sizes.values, strict=True):
                if (field.arity == "single" and size != 1) or (field.arity == "optional" and size > 1):
                    raise op.error(f"{noun} group '{field.name}' has {size} values")
            return
        variable = [f for f in fields if f.arity != "single"]
        most = least + (1 if variable and variable[0].arity == "optional" else 0)
        if count < least or (not (variable and variable[0].arity == "variadic") and count > most):
            open_ended = least != most or bool(variable)
            raise op.error(_count_message(noun, least, count, or_more=open_ended))

    def _verify_span(self, op: Operation, field: OperandField | ResultField) -> None:
        start, count = field.span(op)
        pool = field._pool(op)
        for index in range(start, start + count):
            type = field._value(pool[index]).type
            if not field.constraint.accepts(type):
                several = "variadic of " if field.arity == "variadic" else ""
                self._reject(op, field, index, several + field.constraint.summary, type)

    def _verify_related(
        self, op: Operation, field: OperandField | ResultField, constraint: SameAs | Derived
    ) -> None:
        if isinstance(constraint, SameAs):
            expected = self.types_of(op, constraint.field)
            if isinstance(expected, list):
                expected = expected[0] if expected else None
        else:
            known = {name: self.types_of(op, name) for name in constraint.fields}
            expected = constraint.function(*(known[name] for name in constraint.fields))
        start, count = field.span(op)
        pool = field._pool(op)
        for index in range(start, start + count):
            found = field._value(pool[index]).type
            if expected is not None and found is not expected:
                if isinstance(constraint, SameAs):
                    raise op.error(
                        f"failed to verify that all of {{{constraint.field}, {field.name}}} have same type: "
                        f"expected '{expected}', but got '{found}'"
                    )
                if constraint.base is not None and not constraint.base.accepts(found):
                    self._reject(op, field, index, constraint.base.summary, found)
                if constraint.rule:
                    raise op.error(
                        f"failed to verify that {constraint.rule}: expected '{expected}', but got '{found}'"
                    )
                self._reject(op, field, index, f"{constraint.summary} ('{expected}')", found)
            if expected is None and isinstance(constraint, Derived) and constraint.fields:
                raise op.error(
                    f"has operands that determine no type for '{field.name}': {constraint.summary}"
                )

    def _reject(self, op: Operation, field: Field, index: int, summary: str, type: Type) -> None:
        noun = "operand" if isinstance(field, OperandField) else "result"
        raise op.error(f"{noun} #{index} must be {summary}, but got '{type}'")


def _count_message(noun: str, expected: int, found: int, *, or_more: bool = False) -> str:
    """MLIR's words for a wrong number of operands, results or regions, and the number that was found."""
    if or_more:
        what = f"expected {expected} or more {noun}s"
    elif expected == 0:
        what = f"requires zero {noun}s"
    elif expected == 1:
        what = "requires a single operand" if noun == "operand" else f"requires one {noun}"
    else:
        what = f"expected {expected} {noun}s"
    return f"{what}, but found {found}"


class _OpMeta(type):
    """Gives every op class empty slots, so that operations have no instance dictionary."""

    def __new__(mcs, cls_name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **kwargs: Any):
        namespace.setdefault("__slots__", ())
        return super().__new__(mcs, cls_name, bases, namespace, **kwargs)


class Op(Operation, metaclass=_OpMeta):
    """The base of registered operations; see the module's docstring.

    `assembly` is the declarative format, or None for generic form only.  `default_dialect`, if set, is the
    dialect whose prefix may be omitted inside the op's regions.
    """

    __slots__ = ()
    definition: ClassVar[OpDefinition]
    assembly: ClassVar[str | None] = None
    default_dialect: ClassVar[str | None] = None
    summary: ClassVar[str] = ""

    def __init_subclass__(
        cls, *, name: str | None = None, traits: Sequence[Trait] = (), **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if traits:
            cls.traits = (*cls.traits, *traits)
        if name is None:
            return
        cls.name = name
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__[1:]):
            fields.update(_fields_of_base(base))
        fields.update(_own_fields(cls))
        for key, field in fields.items():
            if key not in vars(cls):
                # Positions are per class: a field of a base is copied for this class.
                fields[key] = _copy_field(field)
                setattr(cls, key, fields[key])
        cls.definition = OpDefinition(cls, list(fields.values()))
        values = {f.name for f in (*cls.definition.operands, *cls.definition.results)}
        for effect in effects.own if (effects := declared(cls)) is not None else ():
            for field in (effect.on, effect.through):
                if field is not None and field not in values:
                    raise TypeError(
                        f"{name}: an effect is on '{field}', which is not an operand or result of the op"
                    )
        keys = {f.key for f in cls.definition.attributes}
        if cls.definition.operand_segments:
            keys.add(_SEGMENT_KEYS[0])
        if cls.definition.result_segments:
            keys.add(_SEGMENT_KEYS[1])
        cls.inherent_attributes = frozenset(keys)
        cls.summary = (cls.__doc__ or "").strip().split("\n")[0]

    def __init__(self, *args: Any, location: Location = UNKNOWN, **kwargs: Any) -> None:
        """Operands and attributes by position in declaration order or by name; result types, regions and successors
        by name.  Inferred result types can be omitted.  A variadic field requires a sequence."""
        definition = self.definition
        given = dict(zip(definition.parameter_names, args, strict=False))
        if len(args) > len(definition.parameters):
            raise TypeError(
                f"{self.name}: {len(args)} positional parameters, expected at most {len(definition.parameters)}"
            )
        for key, value in kwargs.items():
            if key[-1] == "_":
                key = key.rstrip("_")
            if key in given or (key not in definition.fields and key != "attributes"):
                raise TypeError(f"{self.name}: unexpected parameter '{key}'")
            given[key] = value
        attributes: dict[str, Attribute] = dict(given.pop("attributes", {}))
        operands: list[Value] = []
        sizes: list[int] = []
        known: dict[str, Known] = {}
        for field in definition.operands:
            value = given.get(field.name)
            if value is not None and field.arity == "single":
                operands.append(value)
                sizes.append(1)
                known[field.name] = value.type
                continue
            values = _as_list(value, field, self.name)
            operands += values
            sizes.append(len(values))
            types = [v.type for v in values]
            known[field.name] = types if field.arity == "variadic" else (types[0] if types else None)
        for field in definition.attributes:
            value = given.get(field.name)
            known[field.name] = value if value is not None else field.default
            if value is not None and value is not field.default:
                attributes[field.key] = value
        if definition.operand_segments:
            attributes[_SEGMENT_KEYS[0]] = DenseArrayAttr(I32, tuple(sizes))
        result_types = self._result_types(given, known, attributes)
        regions: list[Region] = []
        for field in definition.regions:
            value = given.get(field.name)
            if field.arity == "variadic":
                regions += value or ()
            else:
                regions.append(
                    Region() if value is None else value if isinstance(value, Region) else Region([value])
                )
        successors: list[Block] = []
        for field in definition.successors:
            value: Any = given.get(field.name)
            successors += value or () if field.arity == "variadic" else (value,)
        self._init(operands, result_types, attributes, regions, successors, location)

    def _result_types(
        self, given: dict[str, Any], known: dict[str, Known], attributes: dict[str, Attribute]
    ) -> list[Type]:
        definition = self.definition
        types: list[Type] = []
        sizes: list[int] = []
        for field in definition.results:
            value = given.get(field.name)
            if value is None and field.arity == "single":
                value = definition.infer(field, known)
                if value is None:
                    raise TypeError(f"{self.name}: the type of result '{field.name}' is needed")
            if isinstance(value, Type) and field.arity == "single":
                types.append(value)
                sizes.append(1)
                known[field.name] = value
                continue
            found = list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
            known[field.name] = found if field.arity == "variadic" else (found[0] if found else None)
            types += found
            sizes.append(len(found))
        if definition.result_segments:
            attributes[_SEGMENT_KEYS[1]] = DenseArrayAttr(I32, tuple(sizes))
        return types

    def verify_declared(self) -> None:
        """Check the declared constraints."""
        self.definition.verify(self)

    def values_of(self, name: str) -> list[Value]:
        """The operands or results of one field."""
        value = self.definition.fields[name].read(self)
        return value if isinstance(value, list) else [] if value is None else [value]

    def set_field(self, name: str, values: Sequence[Value]) -> None:
        """Replace the operands of one field, and update segment sizes."""
        definition = self.definition
        operands: list[Value] = []
        sizes: list[int] = []
        for field in definition.operands:
            start, count = field.span(self)
            chosen = list(values) if field.name == name else self.operands[start : start + count]
            operands += chosen
            sizes.append(len(chosen))
        self.set_operands(operands)
        if definition.operand_segments:
            self.attributes[_SEGMENT_KEYS[0]] = DenseArrayAttr(I32, tuple(sizes))


def _own_fields(cls: type) -> dict[str, Field]:
    """The fields in the body of a class, by name."""
    return {key: value for key, value in vars(cls).items() if isinstance(value, Field)}


_fields_of_base = cache(_own_fields)
"""Many ops share a base, and those of all ops have many attributes."""


def _copy_field(field: Field) -> Field:
    copied = object.__new__(type(field))
    for slot in _slots(type(field)):
        setattr(copied, slot, getattr(field, slot))
    return copied


@cache
def _slots(cls: type[Field]) -> tuple[str, ...]:
    return tuple(slot for base in cls.__mro__ for slot in getattr(base, "__slots__", ()))


def _as_list(value: Any, field: Field, name: str) -> list[Value]:
    if field.arity == "variadic":
        return list(value or ())
    if value is None:
        if field.arity == "single":
            raise TypeError(f"{name}: operand '{field.name}' is needed")
        return []
    return [value]
