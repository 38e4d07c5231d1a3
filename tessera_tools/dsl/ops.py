"""Every op of `cuda_tile` as a function, made from the op's declaration.

    class Fma(Op): lhs, rhs, acc = operand(…); rounding_mode = attribute(…)  ──▶  fma(lhs, rhs, acc, *, rounding_mode=…)

The positional parameters are the operands, the required attributes, and the optional operands, in the order of the
declaration; the keyword parameters are all fields. Attributes are Python values: the word of an enumeration, numbers,
tuples of numbers, True for a flag, text as in MLIR. A result type that does not follow from the operands is the last
parameter, or `result=`: a type, an element type, or a shape. A function returns the op's results, several as a tuple.

Accesses to memory are ordered as in the program, unless `token=` is given; then the op's token is among the results.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from tessera_tools.diagnostics import DiagnosticError, Refusal, closest
from tessera_tools.dialects.cuda_tile import legacy_ops, testing
from tessera_tools.dialects.cuda_tile.attributes import OptimizationHintsAttr
from tessera_tools.dialects.cuda_tile.types import (
    TOKEN,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar,
)
from tessera_tools.dsl.emitter import DEVICE, OUTPUT, current
from tessera_tools.dsl.types import Dtype, Parameter, type_of
from tessera_tools.dsl.values import Runtime, Tile, View, as_tile, describe, refers, united, wrap
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    TRUE,
    UNIT,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from tessera_tools.ir.core import Value
from tessera_tools.ir.effect_words import Kind
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import F32, I1, I32, I64, INDEX
from tessera_tools.opdef import Op
from tessera_tools.opdef.attribute_kinds import STRING_ATTR, AttrKind, EnumAttr
from tessera_tools.opdef.constraints import SameAs
from tessera_tools.opdef.dialect import find_dialect
from tessera_tools.opdef.directive import Known
from tessera_tools.opdef.fields import AttributeField, OperandField, ResultField

__all__ = [
    "call",
    "classes",
    "function",
    "is_required",
    "names",
    "parameters",
    "positional_fields",
    "python_name",
]


@cache
def classes() -> dict[str, type[Op]]:
    """The ops that have functions, by name: those without regions, which Python's own syntax does not spell."""
    dialect = find_dialect("cuda_tile")
    assert dialect is not None
    other = (legacy_ops.__name__, testing.__name__)
    return {
        name.partition(".")[2]: op
        for name, op in dialect.ops.items()
        if op.__module__ not in other
        and not op.definition.regions
        and not op.has_trait(Terminator)
        and not keyword.iskeyword(name.partition(".")[2])
        and op.definition.results + op.definition.operands
    } | {"assert_": dialect.ops["cuda_tile.assert"]}


def names() -> list[str]:
    """The names of the functions."""
    return list(classes())


@cache
def function(name: str) -> Callable[..., Results]:
    """The function of an op. Raises KeyError for a name that is no op with a function."""
    op = classes()[name]
    fields = parameters(op)
    kinds = inspect.Parameter

    def emit(*args: object, **given: object) -> Results:
        return _emit(op, fields, args, given)

    emit.__name__ = emit.__qualname__ = name
    emit.__module__ = "tessera_tools.dsl"
    emit.__doc__ = _documentation(op)
    positional = positional_fields(op)
    emit.__signature__ = inspect.Signature(
        [
            *(
                kinds(
                    python_name(f.name),
                    kinds.POSITIONAL_OR_KEYWORD,
                    default=kinds.empty if is_required(f, positional) else None,
                )
                for f in positional
            ),
            kinds("result", kinds.POSITIONAL_OR_KEYWORD, default=None),
            *(
                kinds(python_name(f.name), kinds.KEYWORD_ONLY, default=_default(op, f))
                for f in fields
                if f not in positional
            ),
        ]
    )
    return emit


def call(name: str, *args: object, **given: object) -> Any:
    """Build the op `name`; its results, whose types the name decides."""
    return function(name)(*args, **given)


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _documentation(op: type[Op]) -> str:
    lines = [inspect.cleandoc(op.__doc__ or op.summary), ""]
    for field in parameters(op):
        what = field.doc or (
            field.constraint.summary if isinstance(field, OperandField) else field.kind.summary
        )
        lines.append(f"{python_name(field.name)}: {what}")
    return "\n".join(lines)


Parameter_: TypeAlias = OperandField[object] | AttributeField[object]
Results: TypeAlias = Runtime | tuple[Runtime, ...] | None
"""What the function of an op returns."""
FieldValue: TypeAlias = Value | Sequence[Value] | Attribute | Sequence[Type]
"""The value of a field, or the type of a result, for the constructor of an op; types are attributes."""


def parameters(op: type[Op]) -> list[Parameter_]:
    """The fields that a call gives, operands first."""
    definition = op.definition
    return [*definition.operands, *definition.attributes]


def positional_fields(op: type[Op]) -> list[Parameter_]:
    """The fields that a call may give by position: operands, required attributes, then the optional operands."""
    fields = [f for f in parameters(op) if f.name != "token" and _default(op, f) is None]
    first = [
        f for f in fields if f.arity == "single" or (isinstance(f, OperandField) and f.arity == "variadic")
    ]
    return first + [f for f in fields if isinstance(f, OperandField) and f.arity == "optional"]


def is_required(field: Parameter_, positional: Sequence[Parameter_]) -> bool:
    """Whether a call must give a positional field: also a list, if a required field follows."""
    return any(f.arity == "single" for f in positional[positional.index(field) :])


def _default(op: type[Op], field: Parameter_) -> str | bool | None:
    """What a required attribute is where a call does not give it: integers have a sign, accesses are weak, and atomic
    ones relaxed on the device."""
    if field.name.startswith("signedness"):
        return "signed"
    scope = op.definition.fields.get("memory_scope")
    atomic = scope is not None and scope.arity == "single"
    if field.name == "memory_ordering_semantics":
        return "relaxed" if atomic else "weak"
    if field.name == "memory_scope" and atomic:
        return "device"
    if field.name == "reverse":
        return False
    if field.name == "comparison_ordering":
        return "ordered"
    return None


# -- a call


def _emit(
    op: type[Op], fields: Sequence[Parameter_], args: Sequence[object], keywords: dict[str, object]
) -> Results:
    given = {key.rstrip("_"): value for key, value in keywords.items()}
    result = given.pop("result", None)
    positional = positional_fields(op)
    name = op.name.partition(".")[2]
    if len(args) > len(positional):
        if len(args) > len(positional) + 1 or result is not None:
            raise Refusal(
                f"{name}() takes at most {len(positional) + 1} positional arguments, found {len(args)}"
            )
        result = args[-1]
    for field, value in zip(positional, args, strict=False):
        if field.name in given:
            raise Refusal(f"{name}() got '{field.name}' twice")
        given[field.name] = value
    known = {field.name for field in fields}
    for key in given:
        if key not in known:
            near = closest(key, known)
            hint = f"; did you mean '{near}'?" if near else f"; expected one of {', '.join(sorted(known))}"
            raise Refusal(f"{name}() has no parameter '{key}'{hint}")
    for field in fields:
        if given.get(field.name) is None:
            default = _default(op, field)
            if default is None and field.arity == "single":
                raise Refusal(f"{name}() misses the argument '{python_name(field.name)}'")
            given[field.name] = default
    return _build(op, given, result)


def _build(op: type[Op], given: dict[str, object], result: object) -> Results:
    definition, emitter = op.definition, current()
    values: dict[str, FieldValue] = {}
    origins: list[str | None] = []
    first = next((v for f in definition.operands if isinstance(v := given[f.name], Tile)), None)
    for field in definition.operands:
        value = given[field.name]
        if value is None:
            continue
        several = field.arity == "variadic"
        items = list(value) if several and isinstance(value, tuple | list) else [value]
        made = [_operand(op, field, item, first, values) for item in items]
        origins += [one.origin for one in made]
        values[field.name] = [one.ir for one in made] if several else made[0].ir
    for field in definition.attributes:
        value = given[field.name]
        if value is not None:
            made = attribute_of(op, field, value, result)
            if made is not None:
                values[field.name] = made
    group, writes = _access(op, given)
    automatic = group is not None and given.get("token") is None
    if group is not None and automatic:
        token = emitter.token_before(group, writes)
        if token is None and definition.fields["token"].arity == "single":
            token = emitter.token(f"all {emitter.memory.group(group)}")
        if token is not None and emitter.memory.needs_tokens(emitter.memory.group(group)):
            values["token"] = token
    values |= _results(op, given, values, result)
    try:
        made = emitter.insert(op(location=emitter.location, **values))
    except TypeError as failure:
        raise Refusal(str(failure).replace("cuda_tile.", "")) from None
    origin = united(*origins)
    outputs = [wrap(v, origin if refers(v.type) else None) for v in made.results]
    if automatic:
        assert group is not None
        emitter.accessed(group, writes, made.results[-1])
        outputs.pop()
    if definition.results and definition.results[0].arity == "variadic":
        return tuple(outputs)
    return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)


def _access(op: type[Op], given: dict[str, object]) -> tuple[str | None, bool]:
    """The group of memory that an op with tokens accesses, and whether it writes; None for an op without tokens."""
    if "token" not in op.definition.fields or "result_token" not in op.definition.fields:
        return None, False
    from tessera_tools.ir.effects import declared

    effects = declared(op)
    writes = effects is None or any(effect.kind is not Kind.READ for effect in effects.own)
    group = united(*(value.origin for value in given.values() if isinstance(value, Runtime)))
    if group is None:
        return (OUTPUT if "str" in op.definition.fields else DEVICE), True
    return group, writes


def _operand(
    op: type[Op],
    field: OperandField[object],
    value: object,
    first: Tile | None,
    values: dict[str, FieldValue],
) -> Runtime:
    """The value of an operand; a number of Python becomes a constant."""
    if isinstance(value, Runtime):
        return value
    if isinstance(value, bool | int | float):
        kinds: list[Type] = []
        constraint = field.constraint
        if isinstance(constraint, SameAs) and constraint.field in values:
            other = values[constraint.field]
            one = other[0] if isinstance(other, list) else other
            if isinstance(one, Value):
                kinds.append(one.type)
        if first is not None and field.arity == "single":
            kinds.append(first.ir.type)
            pointer = first.element
            if isinstance(pointer, PointerType):
                kinds.insert(0, TileType(first.shape, pointer.pointee))
        for kind in kinds:
            if (
                isinstance(kind, TileType)
                and not isinstance(kind.element, PointerType)
                and constraint.accepts(kind)
            ):
                return wrap(current().constant(value, kind))
        return as_tile(value)
    name = op.name.partition(".")[2]
    raise Refusal(f"{name}(): found {describe(value)} as '{field.name}', expected {field.constraint.summary}")


# -- results


def _results(
    op: type[Op], given: dict[str, object], values: dict[str, FieldValue], result: object
) -> dict[str, FieldValue]:
    """The result types that do not follow from the declaration."""
    found: dict[str, FieldValue] = {}
    definition = op.definition
    known: dict[str, Known] = {}
    for field in definition.operands:
        value = values.get(field.name)
        known[field.name] = (
            [v.type for v in value if isinstance(v, Value)]
            if isinstance(value, list)
            else value.type
            if isinstance(value, Value)
            else None
        )
    for field in definition.attributes:
        attribute = values.get(field.name, field.default)
        known[field.name] = attribute if isinstance(attribute, Attribute) else None
    operands = (given[field.name] for field in definition.operands)
    source = next((v for v in operands if isinstance(v, Tile | View)), None)
    for field in definition.results:
        if field.arity == "variadic":
            found[field.name] = [scalar(I32)] * _rank(source)
            continue
        if result is not None and field is definition.results[0]:
            found[field.name] = known[field.name] = _result_type(op, result, source)
            continue
        try:
            inferred = definition.infer(field, known)
        except ValueError as failure:
            raise Refusal(str(failure)) from None
        if inferred is None and (infer := getattr(op, "infer_result", None)) is not None:
            inferred = infer(
                **{name: one for name, one in known.items() if name in infer.__code__.co_varnames}
            )
        if inferred is None:
            inferred = _likely(op, field, source)
        found[field.name] = known[field.name] = inferred
    return found


def _rank(source: Runtime | None) -> int:
    kind = source.ir.type if source is not None else None
    if isinstance(kind, TileViewType):
        return kind.index_rank
    return len(kind.shape) if isinstance(kind, TensorViewType) else 0


def _result_type(op: type[Op], result: object, source: Runtime | None) -> Type:
    """A result type from a type, an element type (in the shape of the first operand), or a shape (of its elements)."""
    shape = source.shape if isinstance(source, Tile) else ()
    if isinstance(result, Dtype | Parameter):
        element = result.ir if isinstance(result, Dtype) else result.type.element
        return TileType(shape, element)
    if isinstance(result, tuple | list):
        if not isinstance(source, Tile):
            raise Refusal(f"{op.name.partition('.')[2]}(): found the shape {tuple(result)}, expected a type")
        return TileType(tuple(result), source.element)
    return type_of(result)


def _likely(op: type[Op], field: ResultField[object], source: Runtime | None) -> Type:
    """The type that the operands leave: the tile of a view, what pointers point to, a token, a number."""
    kind = source.ir.type if source is not None else None
    candidates: list[Type] = []
    if isinstance(kind, TileViewType):
        candidates.append(kind.tile_type)
    if isinstance(kind, TileType) and isinstance(kind.element, PointerType):
        candidates.append(TileType(kind.shape, kind.element.pointee))
    candidates += [TOKEN] if source is not None else [TOKEN, scalar(I32)]
    for candidate in candidates:
        if field.constraint.accepts(candidate):
            return candidate
    name = op.name.partition(".")[2]
    raise Refusal(f"{name}() misses the type of its result, {field.constraint.summary}; give it as result=")


# -- attributes


def attribute_of(
    op: type[Op], field: AttributeField[object], value: object, result: object = None
) -> Attribute | None:
    """The attribute of a field for a Python value; None for one that is not set. Raises Refusal."""
    kind, name = field.kind, op.name.partition(".")[2]
    if kind.check(UNIT) and isinstance(value, bool):
        return UNIT if value else None
    for candidate in _candidates(value, kind, result):
        if kind.check(candidate):
            return candidate
    expected = kind.summary
    if isinstance(kind.detail, dict):
        expected = f"one of {', '.join(kind.detail)}"
    elif isinstance(kind.detail, type) and issubclass(kind.detail, EnumAttr):
        expected = f"one of {', '.join(kind.detail.cases)}"
    raise Refusal(f"{name}(): found {describe(value)} as '{field.name}', expected {expected}")


def _candidates(value: object, kind: AttrKind | None, result: object) -> list[Attribute]:
    if isinstance(value, Attribute):
        return [value]
    if isinstance(value, bool):
        return [TRUE if value else FALSE]
    if isinstance(value, int):
        return [IntegerAttr(value, type) for type in (I32, I64, INDEX) if -(1 << 63) <= value < 1 << 63]
    if isinstance(value, float):
        return [FloatAttr.of(value, F32)]
    if isinstance(value, dict):
        plain = DictionaryAttr.of({str(k): _plain(v) for k, v in value.items()})
        hints = {str(k): _plain(v) for k, v in value.items()}
        return [
            plain,
            *([OptimizationHintsAttr.of(hints)] if all(isinstance(v, dict) for v in value.values()) else []),
        ]
    if isinstance(value, tuple | list):
        if all(isinstance(v, int) for v in value):
            numbers = tuple(int(v) for v in value)
            arrays: list[Attribute] = [DenseArrayAttr(type, numbers) for type in (I32, I64)]
            flags = [DenseArrayAttr(I1, numbers)] if all(isinstance(v, bool) for v in value) else []
            return [*arrays, *flags, *_elements(numbers, result)]
        return [ArrayAttr(tuple(_plain(v) for v in value))]
    if isinstance(value, str):
        return _from_text(value, kind)
    return []


def _elements(numbers: Sequence[int], result: object) -> list[Attribute]:
    kind = type_of(result) if result is not None else None
    return [DenseElementsAttr.of(kind, [int(n) for n in numbers])] if isinstance(kind, TileType) else []


def _plain(value: object) -> Attribute:
    found = _candidates(value, None, None)
    if not found:
        raise Refusal(f"found {describe(value)}, expected a number, text or a dictionary")
    return found[0]


def _from_text(value: str, kind: AttrKind | None) -> list[Attribute]:
    """An enumeration's word, an attribute as MLIR text with or without the dialect, a symbol, or text."""
    found: list[Attribute] = []
    if kind is STRING_ATTR:
        return [StringAttr(value)]
    if kind is not None and kind.detail is not None:
        try:
            made = kind.detail(value) if isinstance(kind.detail, type) else kind.build((value, 0))
            found.append(made)
        except (ValueError, TypeError, KeyError):
            return []
        return found
    if "<" in value:
        from tessera_tools.parser import parse_attribute

        try:
            found.append(parse_attribute(value if value.startswith("#") else f"#cuda_tile.{value}"))
        except DiagnosticError as failure:
            raise Refusal(f"'{value}' is not an attribute: {failure.diagnostics[0].message}") from None
    return [*found, StringAttr(value), SymbolRefAttr(value.removeprefix("@"), ())]
