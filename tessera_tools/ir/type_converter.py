"""Type conversion: what each type of the source dialects becomes.

    converter.add(lambda t: F32 if t is BF16 else None)      1:1
    converter.add(lambda t: (PTR, I64), kind=MemRefType)     1:N;  () drops the value (1:0)
    converter.add(lambda t: t)                               a first rule that lets all else through

Rules are asked in reverse order of their addition, so that later ones are exceptions to earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Builder, Operation, Value

Rule = Callable[[Any], "Type | Sequence[Type] | Refused | None"]
SourceMaterialization = Callable[[Builder, Type, Sequence[Value]], "Value | None"]
TargetMaterialization = Callable[[Builder, Sequence[Type], Value], "Sequence[Value] | None"]


class Refused:
    """What a rule returns to say that its type cannot be converted at all."""


REFUSED = Refused()


class TypeConverter:
    """Rules from types to types, and how values of the one are made from values of the other."""

    def __init__(self) -> None:
        self._rules: list[tuple[type[Type], Rule]] = []
        self._cache: dict[Type, tuple[Type, ...] | None] = {}
        self._source: list[SourceMaterialization] = []
        self._target: list[TargetMaterialization] = []

    def add(self, rule: Rule, kind: type[Type] = Type) -> None:
        """Add a rule for types of class `kind`.

        It returns the new type, a sequence of types (empty to drop the value), None to leave the decision to earlier
        rules, or `REFUSED`.
        """
        self._rules.append((kind, rule))
        self._cache.clear()

    def add_source_materialization(self, make: SourceMaterialization) -> None:
        """`make(builder, old type, converted values)` gives ops that stay as they were a value of the old type; None
        leaves it to earlier ones, and at last to an unrealized cast."""
        self._source.append(make)

    def add_target_materialization(self, make: TargetMaterialization) -> None:
        """`make(builder, new types, value)` gives values of the new types for a value of the old one."""
        self._target.append(make)

    def convert(self, type: Type) -> tuple[Type, ...] | None:
        """The types that `type` becomes; None if it cannot be converted."""
        if type not in self._cache:
            self._cache[type] = self._ask(type)
        return self._cache[type]

    def _ask(self, type: Type) -> tuple[Type, ...] | None:
        for kind, rule in reversed(self._rules):
            if isinstance(type, kind):
                answer = rule(type)
                if isinstance(answer, Refused):
                    return None
                if answer is not None:
                    return (answer,) if isinstance(answer, Type) else tuple(answer)
        return None

    def convert_type(self, type: Type) -> Type | None:
        """The one type that `type` becomes; None if there is none, or not exactly one."""
        types = self.convert(type)
        return types[0] if types is not None and len(types) == 1 else None

    def convert_types(self, types: Sequence[Type]) -> list[Type] | None:
        """All types converted, in one flat list; None if one cannot be."""
        out: list[Type] = []
        for type in types:
            converted = self.convert(type)
            if converted is None:
                return None
            out += converted
        return out

    def convert_signature(self, types: Sequence[Type]) -> SignatureConversion | None:
        """The conversion of block arguments of these types; None if one cannot be converted."""
        groups = [self.convert(type) for type in types]
        known = [group for group in groups if group is not None]
        return SignatureConversion(known) if len(known) == len(groups) else None

    def is_legal_type(self, type: Type) -> bool:
        """Whether the type converts to itself."""
        return self.convert(type) == (type,)

    def is_legal(self, op: Operation) -> bool:
        """Whether all operand and result types are legal, and those of the block arguments of its regions."""
        return (
            all(map(self.is_legal_type, op.operand_types))
            and all(map(self.is_legal_type, op.result_types))
            and all(self.is_legal_type(a.type) for r in op.regions for b in r.blocks for a in b.arguments)
        )

    def materialize_source(self, builder: Builder, type: Type, values: Sequence[Value]) -> Value | None:
        """A value of the old `type` made by the registered functions; None if none does."""
        return next(
            (v for make in reversed(self._source) if (v := make(builder, type, values)) is not None), None
        )

    def materialize_target(
        self, builder: Builder, types: Sequence[Type], value: Value
    ) -> Sequence[Value] | None:
        """Values of the new `types` made by the registered functions; None if none does."""
        made = (make(builder, types, value) for make in reversed(self._target))
        return next((values for values in made if values is not None), None)


class SignatureConversion:
    """What the arguments of a block become: argument i the types `groups[i]`, in order."""

    def __init__(self, groups: Sequence[Sequence[Type]]) -> None:
        self.groups = [tuple(group) for group in groups]

    @property
    def types(self) -> list[Type]:
        """The types of the new arguments."""
        return [type for group in self.groups for type in group]
