"""Attributes and types of `gpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tessera_tools.ir.attributes import Type
from tessera_tools.opdef import (
    AttrKind,
    EnumAttr,
    enum,
)

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class _ShortEnum(EnumAttr):
    """The base of enumerations that are written inside the brackets: `#gpu<dim x>`."""

    def text(self) -> str:
        return f"#gpu<{self.name[4:]} {self.value}>"

    @classmethod
    def parse_inside(cls, scanner: Scanner) -> Any:
        """The case, after `#gpu<dim`."""
        return cls(scanner.word())


class DimensionAttr(_ShortEnum, name="gpu.dim"):
    """`#gpu<dim x>`: a dimension of grid or block."""

    cases = ("x", "y", "z")


class AllReduceOperationAttr(_ShortEnum, name="gpu.all_reduce_op"):
    """`#gpu<all_reduce_op add>`: how a group's values are combined."""

    cases = (
        "add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf", "and", "or", "xor", "minimumf",
        "maximumf",
    )  # fmt: skip


class ShuffleModeAttr(_ShortEnum, name="gpu.shuffle_mode"):
    """`#gpu<shuffle_mode xor>`: how the source lane is found."""

    cases = ("xor", "down", "up", "idx")


_ShortT = TypeVar("_ShortT", bound=_ShortEnum)


def short(attribute: type[_ShortT]) -> AttrKind[_ShortT]:
    """The kind of such an enumeration: upstream's formats write two spaces before its keyword."""
    kind = enum(attribute)
    kind.text = lambda a: f" {a.value}"
    return kind


class AddressSpaceAttr(EnumAttr, name="gpu.address_space"):
    """`#gpu.address_space<workgroup>`: the memory of a grid, a block, or a thread."""

    cases = ("global", "workgroup", "private")


class AsyncTokenType(Type, name="gpu.async.token"):
    """`!gpu.async.token`: that an asynchronous operation was issued."""
