"""Charts that passes draw for a report.

with recording_charts() as charts: … a pass ──record_chart()──▶ charts
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tessera_tools.diagnostics import HasStart
from tessera_tools.records import dataclass

__all__ = ["Chart", "charts_wanted", "record_chart", "recording_charts"]

_recording: list[list[Chart]] = []


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of characters. `place` is the `file:line:column` that it is about, or empty."""

    title: str
    place: str
    lines: tuple[str, ...]


@contextmanager
def recording_charts() -> Iterator[list[Chart]]:
    """Collect the charts that passes draw inside the `with` block."""
    charts: list[Chart] = []
    _recording.append(charts)
    try:
        yield charts
    finally:
        _recording.pop()


def charts_wanted() -> bool:
    """Whether a chart would be kept."""
    return bool(_recording)


def record_chart(title: str, location: HasStart, lines: Sequence[str]) -> None:
    """Keep a chart, if they are wanted."""
    if _recording:
        start = location.start()
        place = ":".join(map(str, start)) if start is not None else ""
        _recording[-1].append(Chart(title, place, tuple(lines)))
