"""MLIR's report of the passes' statistics.

'func.func' Pipeline
  CSE
    (S) 1 num-cse'd - Number of operations CSE'd
"""

from __future__ import annotations

from collections import Counter

from tessera_tools.passes.base import Pass
from tessera_tools.passes.pipeline import Pipeline
from tessera_tools.passes.timing import rule

__all__ = ["Statistics"]


class Statistics:
    """The counters of every pass of a pipeline, by pass object; runs on several ops are accumulated."""

    def __init__(self) -> None:
        self._counters: dict[int, Counter[str]] = {}
        self._pipelines: list[Pipeline] = []

    def ran(self, pipeline: Pipeline) -> None:
        """Remember a pipeline for the report; one that runs again is in it once."""
        if not any(known is pipeline for known in self._pipelines):
            self._pipelines.append(pipeline)

    def of(self, pass_: Pass) -> Counter[str]:
        """The counters for runs of `pass_`."""
        return self._counters.setdefault(id(pass_), Counter())

    def report(self, display: str = "pipeline") -> str:
        """The report on the pipelines that ran; `display` is "pipeline", or "list" for one entry per pass, by name."""
        text = rule("Pass statistics report")
        if display == "list":
            sums: dict[str, tuple[type[Pass], Counter[str]]] = {}
            for pass_ in (pass_ for pipeline in self._pipelines for pass_ in pipeline.passes()):
                sums.setdefault(pass_.shown, (type(pass_), Counter()))[1].update(self.of(pass_))
            entries = [_entry(name, cls, counters, 0) for name, (cls, counters) in sorted(sums.items())]
            return text + "".join(entries) + "\n"
        return text + "".join(self._pipeline(pipeline, 0) for pipeline in self._pipelines) + "\n"

    def _pipeline(self, pipeline: Pipeline, indent: int) -> str:
        text = ""
        for item in pipeline.items:
            if isinstance(item, Pipeline):
                text += f"{' ' * indent}'{item.anchor}' Pipeline\n" + self._pipeline(item, indent + 2)
            else:
                text += _entry(item.shown, type(item), self.of(item), indent)
        return text


def _entry(name: str, cls: type[Pass], counters: Counter[str], indent: int) -> str:
    text = f"{' ' * indent}{name}\n"
    names = sorted(cls.statistics)
    width = max(map(len, names), default=0)
    digits = max((len(str(counters[name])) for name in names), default=0)
    for counter in names:
        what = cls.statistics[counter]
        text += f"{' ' * (indent + 2)}(S) {counters[counter]:{digits}} {counter:<{width}} - {what}\n"
    return text
