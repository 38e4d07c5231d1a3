"""The clock's timeline as pictures: SVG for a browser, and a trace for https://ui.perfetto.dev.

Estimate ──timeline_svg()──▶ agents, TMA, tensor cores and barriers of one SM over time, and the roofline
         ──trace_events()──▶ the same as Chrome's trace events

The format of the trace is that of "Trace Event Format" (Chromium): complete events (`ph: X`) in microseconds, and the
names of processes (CTAs) and threads (warps and units) as metadata (`ph: M`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from tessera_tools.records import Json
from tessera_tools.runtime.timing import Estimate
from tessera_tools.runtime.timing_report import roofline
from tessera_tools.sim.clock.timeline import Slice

__all__ = ["timeline_svg", "trace_events"]

_WIDTH, _LEFT, _ROW, _TOP = 1200, 150, 18, 48
_WINDOW = 6000
"""Cycles that the picture shows of a longer launch, around its middle."""
_ROOF_HEIGHT = 240
_COLORS = {
    "issue": "#4c9f70", "wgmma": "#7b4fa3", "mma": "#7b4fa3", "tcgen05.mma": "#7b4fa3",
    "full": "#e0a63a", "empty": "#d9c48f", "memory": "#c8553d", "shared": "#3f7fbf", "tensor": "#b9a3cc",
    "barrier": "#8f8f8f", "arithmetic": "#cfe3d6", "atomic": "#a03b2a", "TMA": "#2f6f9f", "other": "#d8d8d8",
}  # fmt: skip
_MEANINGS = {
    "issue": "issues", "wgmma": "product", "full": "waits: stage 'full'", "empty": "stage 'empty'", "memory": "memory",
    "shared": "shared memory", "tensor": "tensor core",
    "barrier": "barrier", "arithmetic": "arithmetic", "TMA": "TMA", "other": "others",
}  # fmt: skip


def _lanes(slices: Sequence[Slice]) -> list[tuple[int, str]]:
    """CTAs and lanes in the order in which they are shown: units, then warps by number."""

    def place(one: tuple[int, str]) -> tuple[int, int, str, int]:
        kind, _, number = one[1].partition(" ")
        order = {"TMA": 0, "tensor": 1, "barriers": 2}.get(kind, 3)
        return one[0], order, kind, int(number or 0)

    return sorted({(one.cta, one.lane) for one in slices}, key=place)


def _roles(estimate: Estimate) -> dict[tuple[int, str], str]:
    return {(warp.cta, f"warp {warp.warp}"): warp.role for warp in estimate.timeline.warps}


def _rows(slices: Sequence[Slice]) -> list[tuple[Slice, int]]:
    """The slices by time, each with the first row of its lane that is free.

    Copies in flight and phases of barriers overlap. Complete events of a thread must not: Perfetto would cut them.
    """
    ends: dict[tuple[int, str], list[float]] = {}
    found: list[tuple[Slice, int]] = []
    for one in sorted(slices, key=lambda one: one.begin):
        rows = ends.setdefault((one.cta, one.lane), [])
        free = next((row for row, end in enumerate(rows) if end <= one.begin), len(rows))
        rows[free : free + 1] = [one.end]
        found.append((one, free))
    return found


def trace_events(estimate: Estimate) -> dict[str, Json]:
    """The timeline as the JSON object format of Chrome's trace events. Times are microseconds at the stated clock."""
    slices = estimate.timeline.slices
    microsecond = estimate.table.value("clock_mhz")
    roles = _roles(estimate)
    placed = _rows(slices)
    deepest = dict.fromkeys(_lanes(slices), 0)
    for one, row in placed:
        deepest[one.cta, one.lane] = max(deepest[one.cta, one.lane], row)
    tracks = [(*lane, row) for lane, last in deepest.items() for row in range(last + 1)]
    threads = {track: number for number, track in enumerate(tracks)}
    events: list[dict[str, Any]] = []
    for cta in sorted({one.cta for one in slices}):
        events.append({"ph": "M", "name": "process_name", "pid": cta, "args": {"name": f"CTA {cta}"}})
    for (cta, lane, row), number in threads.items():
        role = roles.get((cta, lane), "warps")
        name = lane if role == "warps" else f"{lane} ({role})"
        if row:
            name = f"{lane}, row {row + 1}"
        events += [
            {"ph": "M", "name": "thread_name", "pid": cta, "tid": number, "args": {"name": name}},
            {
                "ph": "M",
                "name": "thread_sort_index",
                "pid": cta,
                "tid": number,
                "args": {"sort_index": number},
            },
        ]
    for one, row in placed:
        waits = one.lane.startswith("warp") and one.name != "issue"
        events.append(
            {
                "ph": "X",
                "name": f"waits for {one.name}" if waits else one.name,
                "cat": "wait" if waits else "work",
                "ts": one.begin / microsecond,
                "dur": (one.end - one.begin) / microsecond,
                "pid": one.cta,
                "tid": threads[one.cta, one.lane, row],
                "args": {"cycles": round(one.end - one.begin)},
            }
        )
    about = {"product": estimate.table.product, "clock_mhz": microsecond, "cut": estimate.timeline.cut}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def timeline_svg(estimate: Estimate) -> str:
    """The timeline of the first SM as SVG, and the roofline below it."""
    slices = estimate.timeline.slices
    end = max((one.end for one in slices), default=1.0)
    first = 0.0 if end <= _WINDOW else (end - _WINDOW) / 2
    last = min(end, first + _WINDOW)
    lanes = _lanes(slices)
    roles = _roles(estimate)
    rows = {lane: number for number, lane in enumerate(lanes)}
    scale = (_WIDTH - _LEFT - 20) / max(last - first, 1.0)
    bottom = _TOP + _ROW * len(lanes)
    height = bottom + 60 + (_ROOF_HEIGHT if roofline(estimate) is not None else 0)
    title = (
        f"{estimate.table.product}, one SM: cycles {first:,.0f} to {last:,.0f} of {end:,.0f} at "
        f"{estimate.table.value('clock_mhz'):.0f} MHz"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" '
        'font-size="11">',
        '<rect class="ground" width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="14">{escape(title)}</text>',
    ]
    for number, (name, meaning) in enumerate(_MEANINGS.items()):
        x = 10 + 106 * number
        parts.append(f'<rect x="{x}" y="27" width="10" height="10" fill="{_COLORS[name]}"/>')
        parts.append(f'<text x="{x + 14}" y="36" font-size="9">{escape(meaning)}</text>')
    for (cta, lane), row in rows.items():
        role = roles.get((cta, lane), "warps")
        label = f"CTA {cta} {lane}" + ("" if role == "warps" else f" {role}")
        y = _TOP + _ROW * row
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 13}" text-anchor="end" font-size="10">{escape(label)}</text>'
        )
    for one in slices:
        begin, finish = max(one.begin, first), min(one.end, last)
        # What is less than a tenth of a pixel wide would not be seen.
        if (finish - begin) * scale < 0.1:
            continue
        y = _TOP + _ROW * rows[one.cta, one.lane] + 2
        color = _color(one)
        opacity = ' fill-opacity="0.6"' if one.lane == "TMA" else ""
        width = max((finish - begin) * scale, 1.5 if one.lane == "barriers" else 0.0)
        parts.append(
            f'<rect x="{_LEFT + (begin - first) * scale:.1f}" y="{y}" width="{width:.1f}" '
            f'height="{_ROW - 4}" fill="{color}"{opacity}><title>{escape(one.name or "waits")}: {one.begin:,.0f} to '
            f"{one.end:,.0f}</title></rect>"
        )
    for tick in range(11):
        x = _LEFT + (last - first) * scale * tick / 10
        cycle = first + (last - first) * tick / 10
        parts.append(
            f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" class="axis" stroke="black"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" font-size="9">{cycle:,.0f}</text>'
        )
    parts += [*_roof(estimate, bottom + 40), "</svg>"]
    return "\n".join(parts) + "\n"


def _color(one: Slice) -> str:
    kind = "TMA" if one.lane == "TMA" else one.name.partition(" ")[0]
    return _COLORS.get(kind, _COLORS["other"])


def _roof(estimate: Estimate, top: int) -> list[str]:
    """The roofline: both axes are logarithmic."""
    under = roofline(estimate)
    if under is None or math.isinf(under.intensity):
        return []
    ridge = under.compute / under.memory
    low, high = min(under.intensity, ridge) / 8, max(under.intensity, ridge) * 8
    most, least = under.compute * 2, min(under.reached, under.memory * low) / 2
    left, width, height = _LEFT, 500, _ROOF_HEIGHT - 60

    def place(intensity: float, rate: float) -> tuple[float, float]:
        x = left + width * math.log(intensity / low) / math.log(high / low)
        return x, top + 10 + height * (1 - math.log(rate / least) / math.log(most / least))

    corners = [place(low, under.memory * low), place(ridge, under.compute), place(high, under.compute)]
    x, y = place(under.intensity, under.reached)
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    text = (
        f"{under.reached / 1e12:,.1f} TFLOP/s at {under.intensity:,.1f} operations a byte "
        f"({under.reached / under.roof:.0%} of its roof)"
    )
    return [
        f'<rect x="{left}" y="{top + 10}" width="{width}" height="{height}" fill="none" stroke="#bbbbbb"/>',
        f'<polyline class="axis" points="{path}" fill="none" stroke="#333333" stroke-width="2"/>',
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{place(under.intensity, under.roof)[1]:.1f}" '
        'stroke="#c8553d" stroke-dasharray="3,3"/>',
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#c8553d"/>',
        f'<text x="{left + width + 14}" y="{top + 30}">{escape(text)}</text>',
        f'<text x="{left + width + 14}" y="{top + 48}">{under.compute / 1e12:,.0f} TFLOP/s of the units, '
        f"{under.memory / 1e9:,.0f} GB/s of DRAM</text>",
        *_decades(low, high, lambda at: (place(at, least)[0], top + height + 24, "middle")),
        *_decades(
            least / 1e12,
            most / 1e12,
            lambda at: (left - 8, place(low, at * 1e12)[1] + 3, "end"),
            above=top + 20,
        ),
        f'<text x="{left + width + 14}" y="{top + height + 24}" font-size="9">operations a byte of DRAM</text>',
        f'<text x="{left}" y="{top + 4}" text-anchor="end" font-size="9">TFLOP/s</text>',
    ]


def _decades(
    low: float, high: float, place: Callable[[float], tuple[float, float, str]], above: float = 0
) -> list[str]:
    """The labels of a logarithmic axis, at powers of ten. place: a value → x, y and the alignment of its label.
    above: the least y of a label."""
    parts: list[str] = []
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        x, y, anchor = place(10.0**power)
        label = f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
        if y >= above:
            parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="9">{label}</text>')
    return parts
