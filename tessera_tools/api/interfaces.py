"""What callers give to be compiled, as an interface: a source that makes its own module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tessera_tools.emit.tunables import Value
    from tessera_tools.ir.core import Operation

__all__ = ["HasModule"]


@runtime_checkable
class HasModule(Protocol):
    """A source that makes a module, such as a function with `@tessera_tools.dsl.kernel`."""

    options: Mapping[str, Value]
    """How it is compiled, as keywords of `tessera_tools.compile`, whose own keywords go first."""

    def __tessera_module__(self, args: Sequence[object] | None = None) -> tuple[Operation, str]:
        """The module, and the file that messages name. args: the arguments of a launch. Raises DiagnosticError."""
        ...
