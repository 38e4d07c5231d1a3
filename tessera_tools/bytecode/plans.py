"""The encoding of each op, derived from its class.

    opcode │ result types │ flags │ attributes │ operands │ region count, regions

- results: a count before the types if the op has a variadic operand or result;
- flags: one bit for each optional attribute and operand, attributes first, in declaration order, if the op has optional
  attributes, or more than one operand field of variable length;
- attributes in declaration order: values of their kind without tag; a unit attribute is only its flag;
- operands in declaration order. If at most one field has variable length: all operands, after their count if there is
  one. Otherwise a count before each variadic field, and optional operands according to their flags.

Fields that an older version of the format lacks are omitted (`SINCE`). The few exceptions are in tables here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tessera_tools.bytecode import attributes as coding
from tessera_tools.bytecode.cursor import Cursor, Writer
from tessera_tools.bytecode.version import Version
from tessera_tools.dialects.cuda_tile import DIALECT
from tessera_tools.dialects.cuda_tile.bytecode_numbers import OPCODES
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    TRUE,
    DenseArrayAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    wrap_int,
)
from tessera_tools.ir.types import I1, I32, IntegerType
from tessera_tools.opdef import ARRAY_ATTR, BOOL_ATTR, STRING_ATTR, UNIT_ATTR, Op
from tessera_tools.opdef.attribute_kinds import EnumAttr
from tessera_tools.opdef.fields import AttributeField, Field, ResultField
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.bytecode.reader import Tables
    from tessera_tools.bytecode.writer import Encoder

SINCE: dict[tuple[str, str], int] = {
    ("for", "unsignedCmp"): 2,
    ("negi", "overflow"): 2,
    ("print_tko", "token"): 2,
    ("print_tko", "result_token"): 2,
    ("tanh", "rounding_mode"): 2,
    ("exp", "rounding_mode"): 3,
    ("mmaf", "fast_acc"): 3,
    ("ftoi", "saturating"): 4,
    ("load_view_tko", "inbounds"): 4,
    ("store_view_tko", "inbounds"): 4,
    ("atomic_red_view_tko", "inbounds"): 5,
}
"""Fields newer than their op: (op, field) → the minor version that added the field."""

ATTRIBUTE_ORDER: dict[str, tuple[str, ...]] = {"scan": ("dim", "reverse", "identities")}
"""Ops whose attributes are not written in declaration order."""

UNFLAGGED = ("inbounds",)
"""Attributes that are optional in the IR but always written: by default all false, one for each index."""

OLDER_NAMES = {"pow": "fpowf"}
"""Ops of older text that are written as another op."""

NOT_IN_BODIES = ("module", "entry", "global")
"""Ops with an opcode that are written in separate sections."""


@dataclass(frozen=True, slots=True)
class ValueCodec:
    """Reads and writes an attribute of known kind without a tag."""

    read: Callable[[Tables, Cursor, Type | None], Attribute | None]
    write: Callable[[Encoder, Writer, Any], None]
    absent: Callable[[Writer, Any], None] | None = None
    """The encoding of an absent attribute, if that is not a flag."""


def _enum_codec(attribute: type[EnumAttr]) -> ValueCodec:
    made = [attribute(case) for case in attribute.cases]

    def read(tables: Tables, c: Cursor, type: Type | None) -> Attribute:
        at = c.pos
        number = c.varint()
        if number >= len(made):
            c.fail(f"{number} is not a case of {attribute.name}; expected less than {len(made)}", at=at)
        return made[number]

    return ValueCodec(read, lambda e, w, a: w.varint(attribute.cases.index(a.value)))


def _numbered_codec(summary: str, cases: dict[str, int]) -> ValueCodec:
    made = {number: IntegerAttr(number, I32) for number in cases.values()}

    def read(tables: Tables, c: Cursor, type: Type | None) -> Attribute:
        at = c.pos
        found = made.get(number := c.varint())
        if found is None:
            c.fail(f"{number} is no {summary}", at=at)
        return found

    return ValueCodec(read, lambda e, w, a: w.varint(a.value))


def _integer_codec(type: IntegerType) -> ValueCodec:
    def read(tables: Tables, c: Cursor, _: Type | None) -> Attribute:
        value = c.varint()
        if value >> type.width:
            c.fail(f"value {value} does not fit in {type.width} bits")
        return IntegerAttr(wrap_int(value, type), type)

    return ValueCodec(read, lambda e, w, a: w.varint(a.value & ((1 << type.width) - 1)))


def _read_inbounds(tables: Tables, c: Cursor, type: Type | None) -> Attribute | None:
    flags = tuple(int(v != 0) for v in c.integers(1, "flags"))
    return DenseArrayAttr(I1, flags) if any(flags) else None


def _read_constant(tables: Tables, c: Cursor, type: Type | None) -> Attribute:
    return tables.constant(c.varint(), type, c)


def _read_symbol(tables: Tables, c: Cursor, type: Type | None) -> Attribute:
    name = tables.strings.read(c)
    if not name:
        c.fail("a symbol name is empty")
    return SymbolRefAttr(name)


_BOOL = ValueCodec(lambda t, c, _: TRUE if c.byte() else FALSE, lambda e, w, a: w.byte(a.value))
_STRING = ValueCodec(
    lambda t, c, _: StringAttr(t.strings.read(c)), lambda e, w, a: w.varint(e.strings.index(a.value))
)
_SYMBOL = ValueCodec(_read_symbol, lambda e, w, a: w.varint(e.strings.index(a.root)))
_ELEMENTS = ValueCodec(_read_constant, lambda e, w, a: w.varint(coding.constant_index(e, a)))
_ARRAY = ValueCodec(lambda t, c, _: coding.read_array(t, c), coding.write_array)
_HINTS = ValueCodec(
    lambda t, c, _: coding.read_hints(t, c), lambda e, w, a: coding.write_dictionary(e, w, a.value)
)
_TAGGED = ValueCodec(lambda t, c, _: coding.read_tagged(t, c), coding.write_tagged)

CODECS_BY_FIELD: dict[str, ValueCodec] = {
    "permutation": ValueCodec(
        lambda t, c, _: DenseArrayAttr(I32, c.numbers("elements")), lambda e, w, a: w.integers(a.values, 4)
    ),
    "inbounds": ValueCodec(
        _read_inbounds,
        lambda e, w, a: w.integers(a.values, 1),
        lambda w, op: w.integers((0,) * len(op.index), 1),
    ),
    "predicate": _TAGGED,
    "optimization_hints": _HINTS,
    "value": _ELEMENTS,
    "name": _SYMBOL,
}
"""Codecs of attributes whose kind does not determine it, by field."""


def value_codec(field: AttributeField) -> ValueCodec:
    """The encoding of an op's attribute, by kind."""
    kind, detail = field.kind, field.kind.detail
    named = CODECS_BY_FIELD.get(field.name)
    if named is not None:
        return named
    if kind is BOOL_ATTR:
        return _BOOL
    if kind is STRING_ATTR:
        return _STRING
    if kind is ARRAY_ATTR:
        return _ARRAY
    if isinstance(detail, IntegerType):
        return _integer_codec(detail)
    if isinstance(detail, dict):
        return _numbered_codec(kind.summary, detail)
    assert isinstance(detail, type), f"attribute '{field.name}' has no encoding"
    return _enum_codec(detail)


class AttributePlan(NamedTuple):
    """One attribute: its key, its codec, its flag's bit (0 if it is required), and its default."""

    key: str
    codec: ValueCodec | None
    """None for a unit attribute, which is only its flag."""
    bit: int
    default: Attribute | None


class OperandPlan(NamedTuple):
    """One operand field: its number of values, and its flag's bit if it is optional and has one."""

    name: str
    arity: str
    bit: int


@dataclass(frozen=True, slots=True)
class OpPlan:
    """The encoding of one op in one version."""

    op_class: type[Op]
    number: int
    since: int
    sized_results: bool
    result_count: int
    hidden_results: tuple[Type, ...]
    """Types of results that this version does not write."""
    has_flags: bool
    attributes: tuple[AttributePlan, ...]
    operands: tuple[OperandPlan, ...]
    counted: bool
    """One count before all operands; otherwise one per field."""
    segments: bool
    region_count: int
    absent: tuple[tuple[str, bool, Attribute | None, int], ...]
    """Fields that this version lacks: name or key, whether it is an attribute, its default, the version that added
    it."""


@lru_cache
def plans(version: Version) -> dict[int, OpPlan]:
    """The ops of a version, by number."""
    return {
        opcode.number: _plan(opcode.number, opcode.word, opcode.since, version)
        for opcode in OPCODES
        if opcode.since <= version.minor and opcode.word not in NOT_IN_BODIES
    }


@lru_cache
def plans_by_class(version: Version) -> dict[type[Op], OpPlan]:
    """The ops of a version, by class."""
    found = {plan.op_class: plan for plan in plans(version).values()}
    for older, today in OLDER_NAMES.items():
        found[DIALECT.ops[f"cuda_tile.{older}"]] = found[DIALECT.ops[f"cuda_tile.{today}"]]
    return found


def _plan(number: int, word: str, since: int, version: Version) -> OpPlan:
    op_class = DIALECT.ops[f"cuda_tile.{word}"]
    definition = op_class.definition

    def present(field: Field) -> bool:
        return SINCE.get((word, field.name), 1) <= version.minor

    fields = list(definition.attributes)
    if word in ATTRIBUTE_ORDER:
        fields.sort(key=lambda f: ATTRIBUTE_ORDER[word].index(f.name))
    operands = [f for f in definition.operands if present(f)]
    several = sum(f.arity != "single" for f in definition.operands) > 1
    counted = not several and any(f.arity != "single" for f in operands)
    bit, bits = 1, {}
    for field in (*[f for f in fields if present(f)], *operands):
        has_default = isinstance(field, AttributeField) and field.default is not None
        optional = field.arity == "optional" and not has_default
        if optional and field.name not in UNFLAGGED and (isinstance(field, AttributeField) or several):
            bits[field.name] = bit
            bit <<= 1
    variadic = any(f.arity == "variadic" for f in (*definition.operands, *definition.results))
    results = [f for f in definition.results if present(f)]
    absent = [(f.key, True, f.default, SINCE[word, f.name]) for f in fields if not present(f)]
    absent += [(f.name, False, None, SINCE[word, f.name]) for f in definition.operands if not present(f)]
    return OpPlan(
        op_class=op_class,
        number=number,
        since=since,
        sized_results=variadic,
        result_count=len(results),
        hidden_results=tuple(_only_type(f) for f in definition.results if not present(f)),
        has_flags=bool(bits),
        attributes=tuple(
            AttributePlan(
                f.key, None if f.kind is UNIT_ATTR else value_codec(f), bits.get(f.name, 0), f.default
            )
            for f in fields
            if present(f)
        ),
        operands=tuple(OperandPlan(f.name, f.arity, bits.get(f.name, 0)) for f in operands),
        counted=counted,
        segments=definition.operand_segments,
        region_count=len(definition.regions),
        absent=tuple(absent),
    )


def _only_type(field: ResultField[object]) -> Type:
    """The only type of a result of an older version's op: a token."""
    from tessera_tools.dialects.cuda_tile.types import TOKEN

    assert field.constraint.accepts(TOKEN)
    return TOKEN


__all__ = ["OpPlan", "plans", "plans_by_class"]
