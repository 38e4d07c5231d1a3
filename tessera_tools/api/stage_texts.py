"""The texts of a kernel's stages, made when they are read; and compilation without Python's cyclic collector."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

__all__ = ["StageTexts", "without_collection"]


class StageTexts(Mapping[str, "str | bytes"]):
    """Stage → text, as a dictionary that cannot be changed.

    names: the stages of IR, whose texts `make` returns together.
    known: the texts of the stages that follow them.
    """

    def __init__(
        self,
        names: Sequence[str],
        known: Mapping[str, str | bytes],
        make: Callable[[], Mapping[str, str | bytes]],
    ) -> None:
        self._names = (*names, *known)
        self._known = dict(known)
        self._make = make

    def __getitem__(self, name: str) -> str | bytes:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._known:
            self._known = {**self._make(), **self._known}
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the collector of cycles: during a compilation it visits the IR again and again, and finds nothing."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
