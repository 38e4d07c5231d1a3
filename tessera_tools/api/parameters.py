"""The names of a kernel's parameters, and which of them are equal, as the arguments of a launch tell.

Arguments ──`Parameters`──▶ `describe`: the entry of the module has these names, and reads one of equal parameters
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera_tools.ir.core import Operation
from tessera_tools.records import dataclass, field

__all__ = ["Parameters", "pointees_of"]


@dataclass(frozen=True)
class Parameters:
    """Those of a kernel, by number. Without names, they keep their own."""

    names: tuple[str, ...] = ()
    equal: Mapping[int, int] = field(default_factory=dict[int, int])
    """Parameter → an earlier one of the same type that has the same value in each launch."""

    def describe(self, module: Operation) -> None:
        """Change the only entry of a module: values of equal parameters are one value, and everything that follows
        from it (views, loads, tiles in shared memory) can be one as well. The parameters themselves stay."""
        if not self.names:
            return
        [entry] = _entries(module)
        arguments = entry.regions[0].entry.arguments
        for argument, name in zip(arguments, self.names, strict=True):
            argument.name_hint = name
        for number, first in self.equal.items():
            assert arguments[number].type is arguments[first].type
            arguments[number].replace_all_uses_with(arguments[first])

    def key(self) -> bytes:
        """What the code depends on beside the program."""
        return repr((self.names, sorted(self.equal.items()))).encode() if self.names else b""


def pointees_of(module: Operation) -> dict[str, list[str | None]]:
    """Kernel → for each parameter the element type of the pointer, if it is one, for entries of cuda_tile."""
    from tessera_tools.dialects.cuda_tile.types import PointerType, TileType
    from tessera_tools.ir.symbols import symbol_name

    found: dict[str, list[str | None]] = {}
    for entry in _entries(module):
        types: list[str | None] = []
        for argument in entry.regions[0].entry.arguments:
            kind = argument.type
            pointer = kind.element if isinstance(kind, TileType) else None
            types.append(str(pointer.pointee) if isinstance(pointer, PointerType) else None)
        found[symbol_name(entry) or ""] = types
    return found


def _entries(module: Operation) -> list[Operation]:
    return [op for op in module.walk() if op.name == "cuda_tile.entry"]
