"""The report as one HTML page.

Recording, estimate, findings ──report_parts()──▶ Parts ──report_page()──▶ HTML without requests

Long parts are cut, and the page says so. A page that shows other things too, such as `tessera-play`, takes the parts.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tessera_tools.layout import cute_notation
from tessera_tools.records import dataclass
from tessera_tools.report.assets import page
from tessera_tools.report.lines import Lines
from tessera_tools.report.memory import memory_svg
from tessera_tools.report.recording import Recording

__all__ = ["Clock", "FindingAt", "Parts", "report_page", "report_parts"]

MOST_LINES = 6000
"""Lines of a stage."""
MOST_LINE = 2000
"""Characters of a line."""
MOST_LAYOUTS = 40
MOST_CELLS = 512
"""Cells of the picture of a layout."""
MOST_DIFFS = 8000
"""Lines of all diffs together."""
MOST_REMARKS = 1000
MOST_SVG = 4 << 20
"""Characters of the timeline."""

MOST_CHARTS = 20
MOST_CHART_LINES = 200
MOST_FINDINGS = 200

TITLES = {"python": "Python", "llvm": "llvm dialect", "llvmir": "LLVM IR", "ptx": "PTX", "sass": "SASS"}


@dataclass(frozen=True, slots=True)
class Clock:
    """The estimate of `tessera-run --timing` as text and as a picture."""

    summary: tuple[str, ...]
    svg: str


@dataclass(frozen=True, slots=True)
class FindingAt:
    """A finding of the simulated GPU. `key` is its `file:line` in the source, `text` all that the command prints."""

    severity: str
    kind: str
    message: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Parts:
    """What a page shows of a compilation."""

    data: dict[str, Any]
    """For the scripts, which insert it as text: stages, passes, remarks, findings."""
    sections: tuple[tuple[str, str, str], ...]
    """(id, title, HTML) of each section; text of the program is escaped. Those of stages, passes and remarks are empty
    elements, which the scripts fill."""
    facts: tuple[tuple[str, str], ...]
    """(name, value) of the figures at the top, as plain text."""
    left_out: tuple[str, ...]
    """What is not shown, and why."""


def report_page(
    recording: Recording,
    *,
    clock: Clock | None = None,
    findings: Sequence[FindingAt] | None = None,
    run: str = "",
) -> str:
    """Returns the page. findings: those of a run, or None if the program did not run. run: a line about the run."""
    parts = report_parts(recording, clock=clock, findings=findings, run=run)
    return page(
        f"{recording.name} for {recording.target}",
        _frame(recording.name, parts),
        parts.data,
        ("parts.js", "report.js"),
    )


def report_parts(
    recording: Recording,
    *,
    clock: Clock | None = None,
    findings: Sequence[FindingAt] | None = None,
    run: str = "",
) -> Parts:
    """Returns what the page of `report_page` shows."""
    left_out = list(recording.left_out)
    stages = [
        _stage(name, lines, TITLES.get(name, name), left_out) for name, lines in recording.stages.items()
    ]
    _keep_shared_keys(stages, recording)
    data = {
        "stages": stages,
        "passes": _passes(recording, left_out),
        "remarks": _remarks(recording, left_out),
        "findings": [
            {"kind": one.kind, "severity": one.severity, "message": one.message, "key": one.key}
            for one in findings or ()
        ],
    }
    sections: list[tuple[str, str, str]] = []
    sections.append(("stages", "Stages", _STAGES))
    if recording.passes:
        sections.append(("passes", "Passes", _PASSES))
    if recording.remarks:
        sections.append(("remarks", "Remarks", _REMARKS))
    layouts = _layouts(recording, left_out)
    if layouts:
        sections.append(("layouts", "Layouts", layouts))
    memory = _memory(recording)
    if memory:
        sections.append(("memory", "Shared memory", memory))
    if recording.charts:
        sections.append(("schedule", "Schedule", _charts(recording, left_out)))
    if recording.resources:
        sections.append(("resources", "Resources", _resources(recording)))
    if clock is not None:
        sections.append(("clock", "Clock", _clock(clock, left_out)))
    if findings is not None:
        sections.append(("findings", "Findings", _findings(findings, run, left_out)))
    return Parts(data, tuple(sections), _facts(recording, findings, clock), tuple(left_out))


_STAGES = (
    '<p class="hint">Point at a line, or move with the arrow keys: the lines that come from the same line of the '
    "source light up in every stage. Enter or a click keeps them and scrolls to them; Escape lets go.</p>"
    '<div id="toggles" class="toggles" role="group" aria-label="Stages that are shown"></div>'
    '<div id="panes" class="panes"></div>'
)
_PASSES = (
    '<div class="split"><div id="passlist" class="passlist" role="listbox" tabindex="0" aria-label="Passes"></div>'
    '<div id="diff" class="diff" aria-live="polite"></div></div>'
)
_REMARKS = '<div id="remarklist" class="remarklist"></div>'


def _facts(
    recording: Recording, findings: Sequence[FindingAt] | None, clock: Clock | None
) -> tuple[tuple[str, str], ...]:
    facts = [("target", recording.target)]
    for row in recording.resources[:4]:
        name = row["kernel"]
        facts.append((name, f"{row['registers']} registers, {row['shared']:,} bytes of shared memory"))
        if "occupancy" in row:
            facts.append(
                ("occupancy", f"{row['occupancy']:.0%}, limited by {' and '.join(row['limited by'])}")
            )
        if row["spills"]:
            facts.append(("spills", f"{row['spills']:,} bytes"))
    if recording.passes:
        total = sum(one.seconds for one in recording.passes)
        facts.append(("passes", f"{len(recording.passes)} in {total * 1000:.0f} ms"))
    if clock is not None and clock.summary:
        facts.append(("clock", clock.summary[0]))
    if findings is not None:
        facts.append(("findings", str(len(findings)) if findings else "none"))
    return tuple(facts)


def _frame(name: str, parts: Parts) -> str:
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in parts.sections)
    shown = "".join(f"<div><dt>{html.escape(a)}</dt><dd>{html.escape(b)}</dd></div>" for a, b in parts.facts)
    sections = "".join(
        f'<section id="{name}" aria-labelledby="h-{name}"><h2 id="h-{name}">{title}</h2>{content}</section>'
        for name, title, content in parts.sections
    )
    note = ""
    if parts.left_out:
        items = "".join(f"<li>{html.escape(one)}</li>" for one in parts.left_out)
        note = f'<section id="left-out"><h2>Left out</h2><ul>{items}</ul></section>'
    return (
        f'<header><div class="bar"><h1>{html.escape(name)}</h1><nav aria-label="Sections">{links}</nav>'
        f'</div><dl class="facts">{shown}</dl></header><main>{sections}{note}</main>'
    )


def _stage(name: str, lines: Lines, title: str, left_out: list[str]) -> dict[str, Any]:
    texts = [text if len(text) <= MOST_LINE else f"{text[:MOST_LINE]}…" for text in lines.texts[:MOST_LINES]]
    if len(lines.texts) > MOST_LINES:
        left_out.append(f"{title}: {len(lines.texts) - MOST_LINES:,} of {len(lines.texts):,} lines")
    cut = sum(len(text) > MOST_LINE for text in lines.texts[:MOST_LINES])
    if cut:
        left_out.append(f"{title}: the ends of {cut:,} lines of more than {MOST_LINE:,} characters")
    return {
        "id": name,
        "title": title,
        "lines": texts,
        "keys": lines.keys[:MOST_LINES],
        "numbers": lines.numbers[:MOST_LINES],
    }


def _keep_shared_keys(stages: list[dict[str, Any]], recording: Recording) -> None:
    """Remove the places that occur in one stage only, such as those of comments in the source."""
    counts = Counter(key for stage in stages for key in set(stage["keys"]))
    counts.update({one.key for one in recording.remarks})
    for stage in stages:
        stage["keys"] = [key if counts[key] > 1 else "" for key in stage["keys"]]


def _passes(recording: Recording, left_out: list[str]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    room = MOST_DIFFS
    cut = 0
    for one in recording.passes:
        diff, note = one.diff, one.note
        if len(diff) > room:
            cut += 1
            diff, note = [], f"left out: {len(one.diff)} lines"
        room -= len(diff)
        shown.append(
            {
                "name": one.name,
                "ms": round(one.seconds * 1000, 2),
                "changed": one.changed,
                "diff": [line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]}…" for line in diff],
                "note": note,
            }
        )
    if cut:
        left_out.append(f"the diffs of {cut} passes: more than {MOST_DIFFS:,} lines together")
    return shown


def _remarks(recording: Recording, left_out: list[str]) -> list[dict[str, Any]]:
    """What was missed comes first, since it says what may be slow."""
    remarks = sorted(dict.fromkeys(recording.remarks), key=lambda one: one.kind != "missed")
    if len(remarks) > MOST_REMARKS:
        left_out.append(f"{len(remarks) - MOST_REMARKS:,} of {len(remarks):,} remarks")
    return [
        {
            "kind": one.kind,
            "category": one.category,
            "source": one.source,
            "message": one.message,
            "notes": list(one.notes),
            "key": one.key,
        }
        for one in remarks[:MOST_REMARKS]
    ]


def _layouts(recording: Recording, left_out: list[str]) -> str:
    """One card for each layout, with the values that have it."""
    groups: dict[tuple[str, tuple[Any, ...]], list[Any]] = {}
    for one in recording.layouts:
        groups.setdefault((one.attribute, one.used_by), []).append(one)
    cards: list[str] = []
    for (attribute, _), values in list(groups.items())[:MOST_LAYOUTS]:
        first = values[0]
        shown = first.picture(most=MOST_CELLS)
        cute = cute_notation(first.layout)
        named = ", ".join(dict.fromkeys(one.name for one in values))
        buffer = first.layout.in_dims == ("offset",)
        place = first.place.rpartition(":")[0]
        at = f' data-key="{html.escape(place)}" tabindex="0"' if place else ""
        bad = any("bank conflict" in note and "no bank conflict" not in note for note in shown.notes)
        cards.append(
            f'<details class="card"{" open" if len(cards) < 4 else ""}><summary{at}><strong>'
            f"{html.escape(_cut(named, 120))}</strong> <span>{html.escape(shown.title.partition(': ')[2])}</span>"
            + (' <em class="bad">bank conflicts</em>' if bad else "")
            + f'</summary><div class="scroll">{shown.svg()}</div><p><code>{html.escape(attribute)}</code></p>'
            + (f"<p>CuTe: <code>{html.escape(cute)}</code></p>" if cute is not None else "")
            + ("" if buffer or len(values) < 2 else f"<p>{len(values)} values have this layout.</p>")
            + "</details>"
        )
    if len(groups) > MOST_LAYOUTS:
        left_out.append(f"{len(groups) - MOST_LAYOUTS} of {len(groups)} layouts")
    return f'<div class="layouts">{"".join(cards)}</div>' if cards else ""


def _memory(recording: Recording) -> str:
    parts: list[str] = []
    for kernel, positions in recording.positions.items():
        used = [one for one in recording.memory if one.kernel == kernel]
        if used:
            parts.append(f'<div class="scroll">{memory_svg(kernel, used, positions)}</div>')
    if not parts:
        return ""
    hint = '<p class="hint">Bytes of shared memory over the operations of the kernel, in program order.</p>'
    return hint + "".join(parts)


def _charts(recording: Recording, left_out: list[str]) -> str:
    cards: list[str] = []
    if len(recording.charts) > MOST_CHARTS:
        left_out.append(
            f"the schedules of {len(recording.charts) - MOST_CHARTS} of {len(recording.charts)} loops"
        )
    for chart in recording.charts[:MOST_CHARTS]:
        place = f" at {chart.place}" if chart.place else ""
        text = "\n".join(chart.lines[:MOST_CHART_LINES])
        if len(chart.lines) > MOST_CHART_LINES:
            cut = len(chart.lines) - MOST_CHART_LINES
            left_out.append(f"schedule of the loop{place}: {cut:,} of {len(chart.lines):,} lines")
        cards.append(
            f'<figure class="card"><figcaption>Loop{html.escape(place)}: {html.escape(chart.title)}</figcaption>'
            f'<pre class="chart" tabindex="0">{_with_bars(text)}</pre></figure>'
        )
    return "".join(cards)


_BUSY = ("memory", "shared", "tensor", "special", "turn")
"""Resources that have a color of their own."""
_CHART_ROW = re.compile(r"\|([ #=]+)\| (\w+) [^:\n]*:? ?(\w*)")


def _with_bars(chart: str) -> str:
    """A chart of characters as HTML: the marks of a row are bars, in the color of the resource that is busy."""
    parts: list[str] = []
    end = 0
    for row in _CHART_ROW.finditer(chart):
        parts.append(html.escape(chart[end : row.start(1)]))
        end = row.end(1)
        kind = row[3] if row[3] in _BUSY else row[2] if row[2] in _BUSY else "other"
        parts.append(re.sub(r"[#=]+", rf'<b class="busy {kind}">\g<0></b>', row[1]))
    return "".join([*parts, html.escape(chart[end:])])


def _resources(recording: Recording) -> str:
    rows: list[str] = []
    for row in recording.resources:
        limits = row.get("limits", {})
        bars = "".join(
            f'<tr><th scope="row">{html.escape(name)}</th><td>{bound}</td><td class="wide"><meter min="0" max="'
            f'{max(limits.values())}" value="{bound}"></meter></td></tr>'
            for name, bound in limits.items()
        )
        occupied = (
            f"<p><strong>{row['blocks']}</strong> blocks of {row['threads']} threads fit on an SM: "
            f"<strong>{row['occupancy']:.0%}</strong> of its warps, limited by "
            f"{html.escape(' and '.join(row['limited by']))}.</p>"
            if "blocks" in row
            else ""
        )
        rows.append(
            f'<div class="card"><h3>{html.escape(row["kernel"])}</h3><table class="numbers">'
            f"<tr><th>registers</th><td>{row['registers']} of {row['most registers']}</td></tr>"
            f"<tr><th>shared memory</th><td>{row['shared']:,} of {row['most shared']:,} bytes</td></tr>"
            f"<tr><th>stack</th><td>{row['stack']:,} bytes</td></tr>"
            f"<tr><th>spills</th><td>{row['spills']:,} bytes</td></tr></table>{occupied}"
            + (
                f'<table class="numbers"><caption>Blocks on an SM, by resource</caption>{bars}</table>'
                if bars
                else ""
            )
            + "</div>"
        )
    return f'<div class="cards">{"".join(rows)}</div>'


def _clock(clock: Clock, left_out: list[str]) -> str:
    text = html.escape("\n".join(clock.summary))
    picture = clock.svg
    if len(picture) > MOST_SVG:
        left_out.append(f"the timeline of the clock: {len(picture) >> 20} MiB; use --timing-svg")
        picture = ""
    return f'<pre class="chart" tabindex="0">{text}</pre><div class="scroll timeline">{picture}</div>'


def _findings(findings: Sequence[FindingAt], run: str, left_out: list[str]) -> str:
    head = f'<p class="hint">{html.escape(run)}</p>' if run else ""
    if not findings:
        return f"{head}<p>The simulated GPU found nothing.</p>"
    cards: list[str] = []
    if len(findings) > MOST_FINDINGS:
        left_out.append(f"{len(findings) - MOST_FINDINGS:,} of {len(findings):,} findings")
    for one in findings[:MOST_FINDINGS]:
        at = f' data-key="{html.escape(one.key)}" tabindex="0"' if one.key else ""
        cards.append(
            f'<div class="card finding {"bad" if one.severity == "error" else "warn"}"{at}>'
            f"<strong>{html.escape(one.kind)}</strong> {html.escape(one.message)}"
            f'<pre class="chart">{html.escape(one.text)}</pre></div>'
        )
    return head + "".join(cards)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
