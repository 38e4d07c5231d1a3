"""Attributes and types of `irdl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.opdef import EnumAttr

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner

SINGLE, OPTIONAL, VARIADIC = "single", "optional", "variadic"


class VariadicityAttr(EnumAttr, name="irdl.variadicity"):
    """`#irdl<variadicity optional>`: how many values an operand or a result stands for."""

    cases = (SINGLE, OPTIONAL, VARIADIC)

    def text(self) -> str:
        return f"#irdl<variadicity {self.value}>"

    @classmethod
    def parse_inside(cls, scanner: Scanner) -> VariadicityAttr:
        """The case, after `#irdl<variadicity`."""
        return cls(scanner.word())


class VariadicityArrayAttr(Attribute, name="irdl.variadicity_array"):
    """`#irdl<variadicity_array[single, optional]>`: one for each operand or result."""

    values: tuple[str, ...]

    def verify(self) -> None:
        for value in self.values:
            if value not in VariadicityAttr.cases:
                raise ValueError(f"expected one of {', '.join(VariadicityAttr.cases)}, found '{value}'")

    def text(self) -> str:
        return f"#irdl<variadicity_array[{', '.join(self.values)}]>"

    @classmethod
    def parse_inside(cls, scanner: Scanner) -> VariadicityArrayAttr:
        """The list, after `#irdl<variadicity_array`."""
        return cls(tuple(scanner.list("[", scanner.word, "]")))


class AttributeType(Type, name="irdl.attribute"):
    """`!irdl.attribute`: a constraint on an attribute or a type."""


class RegionType(Type, name="irdl.region"):
    """`!irdl.region`: a constraint on a region."""
