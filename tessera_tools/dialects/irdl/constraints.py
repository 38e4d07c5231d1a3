"""What the constraints of `irdl` accept, as upstream's IRDLVerifiers.cpp has it.

    %0 = irdl.any                      ┐
    %1 = irdl.parametric @d::@t<%0>    ├─▶ Constraints ─matching()─▶ Matching ─of(%1, !d.t<i32>)─▶ problem or None
    irdl.operands(a: %1, b: %0)        ┘

A constraint is a variable: in one operation, type or attribute, everything that it constrains is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tessera_tools.diagnostics import error
from tessera_tools.dialects.irdl import ops
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import TypeAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import FloatType

__all__ = ["Constraints", "Definitions", "DynamicAttribute", "Matching", "base_name"]

_UPSTREAM_NAMES = {
    "builtin.strided": "builtin.strided_layout",
    "builtin.dense": "builtin.dense_typed_elements",
    "builtin.sparse": "builtin.sparse_elements",
    "builtin.dense_resource": "builtin.dense_resource_elements",
    "gpu.async.token": "gpu.async_token",
}
"""Names of types and attributes that upstream calls differently."""


def base_name(value: Attribute) -> str:
    """The name of a type's or an attribute's class, as upstream has it: `builtin.integer`."""
    if isinstance(value, FloatType):
        return f"builtin.{value.keyword}"
    return _UPSTREAM_NAMES.get(value.name, value.name)


class DynamicAttribute(Attribute):
    """The base of types and attributes that `irdl` defines: attributes as parameters."""

    params: tuple[Attribute, ...]


Definitions = Callable[[Operation], type[DynamicAttribute]]
"""The class of an `irdl.type` or `irdl.attribute`."""
_Check = Callable[["Matching", Attribute], "str | None"]


class Constraints:
    """The constraints in the body of a definition."""

    def __init__(self, definition: ops.Definition, classes: Definitions) -> None:
        self._checks: dict[Value, _Check] = {
            op.results[0]: _check_of(op, classes)
            for op in definition.block.operations
            if isinstance(op, _CONSTRAINTS)
        }

    def matching(self) -> Matching:
        """A new assignment of the variables, of which none has a value."""
        return Matching(self._checks)


class Matching:
    """The values of the variables so far."""

    def __init__(self, checks: dict[Value, _Check]) -> None:
        self._checks = checks
        self._values: dict[Value, Attribute] = {}
        self._failed: dict[tuple[Value, Attribute], str] = {}

    def of(self, variable: Value, found: Attribute) -> str | None:
        """Assign a value to a variable; what is wrong if its constraint does not accept it."""
        assigned = self._values.get(variable)
        if assigned is not None:
            return None if assigned is found else f"expected '{assigned}' but got '{found}'"
        # What fails once fails again: an assignment only makes constraints narrower.
        key = (variable, found)
        problem = self._failed.get(key)
        if problem is None:
            problem = self._checks[variable](self, found)
            if problem is None:
                self._values[variable] = found
            else:
                self._failed[key] = problem
        return problem

    def all_of(self, variables: Iterable[Value], found: Iterable[Attribute]) -> str | None:
        """The first problem of pairs of variables and values."""
        for variable, value in zip(variables, found, strict=True):
            problem = self.of(variable, value)
            if problem is not None:
                return problem
        return None


_CONSTRAINTS = (ops.Is, ops.Base, ops.Parametric, ops.Any_, ops.AnyOf, ops.AllOf, ops.CPred)


def _check_of(op: Operation, classes: Definitions) -> _Check:
    """The check of one constraint. Raises DiagnosticError if it cannot be checked."""
    match op:
        case ops.Is():
            expected = op.expected
            return lambda _, found: None if found is expected else f"expected '{expected}' but got '{found}'"
        case ops.Base():
            return _base_check(op, classes)
        case ops.Parametric():
            return _parametric_check(op, classes)
        case ops.Any_():
            return lambda matching, found: None
        case ops.AnyOf():
            alternatives = op.args
            return lambda matching, found: (
                None
                if any(matching.of(one, found) is None for one in alternatives)
                else f"'{found}' does not satisfy the constraint"
            )
        case ops.AllOf():
            parts = op.args
            return lambda matching, found: matching.all_of(parts, [found] * len(parts))
    raise error(
        op.location,
        "'irdl.c_pred' op cannot be loaded: its predicate is C++ code",
        "write the constraint with irdl.is, irdl.base, irdl.parametric, irdl.any_of and irdl.all_of",
    )


def _base_check(op: ops.Base, classes: Definitions) -> _Check:
    if op.base_ref is not None:
        definition = ops.definition_of(op, op.base_ref)
        assert definition is not None
        name, is_type = classes(definition).name, isinstance(definition, ops.TypeOp)
    else:
        assert op.base_name is not None
        written = op.base_name.value
        name, is_type = written[1:], written[0] == "!"
        if not _is_registered(name, is_type):
            noun = "type" if is_type else "attribute"
            raise error(op.location, f"no registered {noun} with name {written}")
    if not is_type:
        return lambda _, found: (
            None
            if base_name(found) == name
            else f"expected base attribute '{name}' but got '{base_name(found)}'"
        )

    def check(_: Matching, found: Attribute) -> str | None:
        if not isinstance(found, TypeAttr):
            return f"expected type, got attribute '{found}'"
        own = base_name(found.value)
        return None if own == name else f"expected base type '{name}' but got '{own}'"

    return check


def _is_registered(name: str, is_type: bool) -> bool:
    """True if a type or attribute has that name upstream, and is declared here."""
    from tessera_tools.ir import builtin_attributes, location, types
    from tessera_tools.opdef.dialect import find_dialect

    prefix, _, word = name.partition(".")
    if prefix == "builtin":
        if is_type and word in types.FLOAT_WIDTHS:
            return True
        namespaces = (types,) if is_type else (builtin_attributes, location)
        declared = [value for space in namespaces for value in vars(space).values()]
    else:
        dialect = find_dialect(prefix)
        declared = [] if dialect is None else [*(dialect.types if is_type else dialect.attributes).values()]
    names = {
        value.name
        for value in declared
        if isinstance(value, type) and issubclass(value, Attribute) and issubclass(value, Type) == is_type
    }
    return name in {_UPSTREAM_NAMES.get(one, one) for one in names}


def _parametric_check(op: ops.Parametric, classes: Definitions) -> _Check:
    definition = ops.definition_of(op, op.base_type)
    assert definition is not None
    wanted, is_type, variables = classes(definition), isinstance(definition, ops.TypeOp), op.args

    def check(matching: Matching, found: Attribute) -> str | None:
        value = found
        if is_type:
            if not isinstance(found, TypeAttr):
                return f"expected type, got attribute '{found}'"
            value = found.value
        if not isinstance(value, wanted):
            return f"expected base {'type' if is_type else 'attribute'} '{wanted.name}' but got '{found}'"
        if len(value.params) != len(variables):
            return (
                f"attribute '{wanted.name}' expects {len(value.params)} parameters but got {len(variables)}"
            )
        return matching.all_of(variables, value.params)

    return check
