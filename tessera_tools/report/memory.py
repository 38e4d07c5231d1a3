"""Shared memory over a kernel as a picture.

MemoryUse, … ──memory_svg()──▶ SVG: the operations of the kernel from left to right, bytes from top to bottom
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from tessera_tools.report.recording import MemoryUse

__all__ = ["memory_svg"]

_WIDTH, _LEFT, _TOP, _HEIGHT = 960, 84, 34, 300
_COLORS = ("#9ecae9", "#ffbf79", "#88d27a", "#f2a2a9", "#c5b0d5", "#d8b5a5", "#f0d479", "#9bd3cb")
_MOST = 400


def memory_svg(kernel: str, used: Sequence[MemoryUse], positions: int) -> str:
    """Returns the map of one kernel's shared memory. positions: the length of the kernel's walk."""
    used = sorted(used, key=lambda one: one.bytes, reverse=True)[:_MOST]
    total = max(one.offset + one.bytes for one in used)
    across = (_WIDTH - _LEFT - 10) / max(positions, 1)
    down = _HEIGHT / max(total, 1)
    height = _TOP + _HEIGHT + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label={quoteattr(f"shared memory of {kernel}")} font-family="ui-monospace, monospace" '
        'font-size="11" fill="currentColor">',
        f'<text x="8" y="16" font-size="13">{escape(f"@{kernel}: {total:,} bytes")}</text>',
    ]
    for tick in range(5):
        y = _TOP + _HEIGHT * tick / 4
        parts.append(
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - 10}" y2="{y:.1f}" stroke="currentColor" '
            f'stroke-opacity="0.15"/><text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="10">'
            f"{total * tick // 4:,}</text>"
        )
    for number, one in enumerate(used):
        x, y = _LEFT + one.first * across, _TOP + one.offset * down
        wide = max((one.last - one.first + 1) * across, 2.0)
        high = max(one.bytes * down, 1.5)
        end = one.offset + one.bytes - 1
        title = f"{one.what}: bytes {one.offset:,} to {end:,}, operations {one.first} to {one.last}"
        key = f" data-key={quoteattr(one.place)}" if one.place else ""
        focus = ' tabindex="0"' if one.place else ""
        parts.append(
            f'<g class="use"{key}{focus}><title>{escape(title)}</title><rect x="{x:.1f}" y="{y:.1f}" '
            f'width="{wide:.1f}" height="{high:.1f}" rx="2" fill="{_COLORS[number % len(_COLORS)]}" '
            'stroke="#333" stroke-width="0.5"/>'
        )
        label = f"{one.what} ({one.bytes:,})"
        if high >= 14 and wide > 60:
            parts.append(
                f'<text x="{x + 4:.1f}" y="{y + min(high / 2 + 4, 16):.1f}" fill="#111">'
                f"{escape(label[: int(wide / 7)])}</text>"
            )
        parts.append("</g>")
    parts.append(
        f'<text x="{_LEFT}" y="{_TOP + _HEIGHT + 18}" font-size="10">operation 0</text>'
        f'<text x="{_WIDTH - 10}" y="{_TOP + _HEIGHT + 18}" text-anchor="end" font-size="10">operation '
        f"{positions}</text></svg>"
    )
    return "\n".join(parts) + "\n"
