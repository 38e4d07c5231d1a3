"""Tables that functions enter themselves into, by op name.

    LOWERINGS = Registry[Lower]("lowering")

    @LOWERINGS.of("nv_tileas.dot")
    def dot(low, op): …

A name that is entered twice is an error when the second module is imported: the first entry would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Registry(dict[str, T]):
    """A dictionary from op names to functions; `noun` is what an entry is, for errors."""

    def __init__(self, noun: str) -> None:
        super().__init__()
        self.noun = noun

    def of(self, *names: str) -> Callable[[T], T]:
        """Enter the decorated function under these names."""

        def enter(function: T) -> T:
            for name in names:
                self[name] = function
            return function

        return enter

    def __setitem__(self, name: str, entry: T) -> None:
        if name in self:
            raise ValueError(f"'{name}' has a {self.noun} already: {self[name]}; found another: {entry}")
        super().__setitem__(name, entry)
