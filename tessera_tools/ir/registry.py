"""Tables of functions by op name; functions register themselves.

    LOWERINGS = Registry[Lower]("lowering")

    @LOWERINGS.of("nv_tileas.dot")
    def dot(low, op): …

Registering a name twice is an error when the second module is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Registry(dict[str, T]):
    """A dictionary from op names to functions; `noun` describes an entry, for errors."""

    def __init__(self, noun: str) -> None:
        super().__init__()
        self.noun = noun

    def of(self, *names: str) -> Callable[[T], T]:
        """Register the decorated function under these names."""

        def enter(function: T) -> T:
            for name in names:
                self[name] = function
            return function

        return enter

    def __setitem__(self, name: str, entry: T) -> None:
        if name in self:
            raise ValueError(f"'{name}' already has a {self.noun}: {self[name]}; found another: {entry}")
        super().__setitem__(name, entry)
