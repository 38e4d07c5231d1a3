"""The attributes of parameters and results that the llvm dialect knows: what they hold, and on which types.

    llvm.noalias: a unit attribute on a pointer      llvm.sret: a type attribute on a pointer that is not a result

A type that LLVM does not have is not checked: the function is not lowered yet.
"""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.dialects.llvm.types import PointerType, is_llvm_type
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, TypeAttr, UnitAttr
from tessera_tools.ir.types import IntegerType
from tessera_tools.opdef import ParameterRule, ParameterUse

_VALUES: dict[str, Callable[[Attribute], bool]] = {
    "a unit attribute": lambda value: isinstance(value, UnitAttr),
    "an integer attribute": lambda value: isinstance(value, IntegerAttr),
    "a type attribute": lambda value: isinstance(value, TypeAttr),
}
_TYPES: dict[str, Callable[[Type], bool]] = {
    "pointer": lambda type: isinstance(type, PointerType),
    "integer": lambda type: isinstance(type, IntegerType),
}


def _rule(name: str, value: str = "", type: str = "", *, result: bool = True) -> ParameterRule:
    """The rule of one attribute: its value, the type that it requires, whether a result may have it."""

    def rule(use: ParameterUse, found: Attribute) -> str | None:
        if use.is_result and not result:
            return f'"{name}" is not a valid result attribute'
        if value and not _VALUES[value](found):
            return f'"{name}" should be {value}'
        if type and is_llvm_type(use.type) and not _TYPES[type](use.type):
            return f'"{name}" attribute attached to non-{type} LLVM type'
        return None

    return rule


_UNIT, _INTEGER, _TYPE = _VALUES
_KINDS: tuple[tuple[tuple[str, str], bool, str], ...] = (
    (("", ""), False, "allocalign allocptr"),
    ((_UNIT, ""), True, "inreg noundef"),
    ((_UNIT, ""), False, "returned"),
    ((_UNIT, "integer"), True, "signext zeroext"),
    ((_UNIT, "pointer"), True, "noalias nonnull"),
    ((_UNIT, "pointer"), False, "nest nocapture nofree readnone readonly writeonly"),
    ((_INTEGER, ""), False, "alignstack"),
    ((_INTEGER, "pointer"), True, "align dereferenceable dereferenceable_or_null"),
    ((_TYPE, "pointer"), True, "elementtype"),
    ((_TYPE, "pointer"), False, "byref byval inalloca preallocated sret"),
)
PARAMETER_ATTRIBUTES: dict[str, ParameterRule] = {
    f"llvm.{word}": _rule(f"llvm.{word}", *holds, result=result)
    for holds, result, words in _KINDS
    for word in words.split()
}
"""The rule of each attribute; one that is not listed may hold anything on any type."""
