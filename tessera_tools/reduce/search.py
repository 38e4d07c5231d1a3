"""The search for a smaller input, by delta debugging: remove halves, then quarters, down to single parts.

n parts:  ████████   remove the last half ─ still fails? keep it smaller : restore
          ████░░░░   … quarters … single parts; again, until no single part can be removed

Nothing is random, and each different candidate is tested once, so the result depends on the input and the test alone.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

__all__ = ["Budget", "Exhausted", "remove_parts"]


class Exhausted(Exception):
    """The budget of the search is spent; the smallest input so far is the result."""


class Budget:
    """Runs the test on candidates, within a limit of tests and of seconds.

    test: whether a candidate is interesting, which means that it fails as the original does.
    better: called with every interesting candidate. It is the smallest so far.
    """

    def __init__(
        self,
        test: Callable[[bytes], bool],
        *,
        most: int,
        seconds: float,
        better: Callable[[bytes], None] = lambda data: None,
    ) -> None:
        self._test = test
        self._most = most
        self._deadline = time.monotonic() + seconds
        self._better = better
        self._known: dict[bytes, bool] = {}
        self.tests = 0
        """How many tests ran."""
        self.found = 0
        """How many of them found a smaller input."""

    def interesting(self, data: bytes) -> bool:
        """Test a candidate, or recall the result of an equal one. Raises Exhausted."""
        key = hashlib.sha256(data).digest()
        known = self._known.get(key)
        if known is None:
            if self.tests >= self._most or time.monotonic() >= self._deadline:
                raise Exhausted
            self.tests += 1
            known = self._known[key] = self._test(data)
            if known:
                self.found += 1
                self._better(data)
        return known


def remove_parts(count: int, attempt: Callable[[int, int], int | None]) -> bool:
    """Remove as many of `count` parts as possible; returns true if any was removed.

    `attempt(begin, end)` tries to remove the parts begin to end - 1. It returns how many parts are left if the rest is
    still interesting, otherwise None. The parts before `begin` keep their numbers. The last parts come first, so that
    uses are removed before what they use.
    """
    changed = False
    size = count
    while size >= 1:
        end = count
        while end > 0:
            begin = max(0, end - size)
            left = attempt(begin, end)
            if left is not None:
                changed = True
                count = left
            end = min(begin, count)
        size //= 2
    return changed
