"""The page of a report: which sections there are, and what the facts and the cards say."""

from __future__ import annotations

import re

from tessera_tools.dialects import nv_tileas
from tessera_tools.parser import parse_attribute
from tessera_tools.report import Recording
from tessera_tools.report.layouts import ValueLayout
from tessera_tools.report.page import MOST_DIFFS, MOST_REMARKS, report_parts
from tessera_tools.report.recording import MemoryUse, PassRun, RemarkAt


def sections(recording: Recording) -> dict[str, str]:
    """The HTML of each section, by its id."""
    return {key: text for key, _, text in report_parts(recording).sections}


def remark(message: str, kind: str = "passed") -> RemarkAt:
    return RemarkAt(kind, "", "", message, (), "")


def resources(kernel: str, **more: object) -> dict[str, object]:
    return {
        "kernel": kernel, "threads": 1, "registers": 40, "shared": 2048, "stack": 0, "spills": 0,
        "most registers": 255, "most shared": 232448, **more,
    }  # fmt: skip


def test_only_what_was_recorded_has_a_section() -> None:
    recording = Recording("k.mlir", "sm_90a")
    assert sections(recording).keys() == {"stages"}
    recording.passes = [PassRun("cse", "cse", 0.5, True, ["+a"])]
    recording.remarks = [remark("one")]
    recording.resources = [resources("k")]
    recording.memory, recording.positions = [MemoryUse("k", "tile", "", 0, 16, 0, 1)], {"k": 2}
    assert sections(recording).keys() == {"stages", "passes", "remarks", "memory", "resources"}


def test_memory_is_drawn_for_each_kernel_that_has_some() -> None:
    recording = Recording("k.mlir", "sm_90a", positions={"a": 2, "b": 2, "c": 2})
    recording.memory = [MemoryUse(f"{name}", f"of {name}", "", 0, 16, 0, 1) for name in "ac"]
    text = sections(recording)["memory"]
    assert re.findall(r'aria-label="shared memory of (\w+)"', text) == ["a", "c"]
    assert re.findall(r"<title>(of \w):", text) == ["of a", "of c"]


def test_the_facts_are_those_of_the_first_four_kernels() -> None:
    recording = Recording("k.mlir", "sm_90a", resources=[resources(f"k{n}") for n in range(5)])
    names = [name for name, _ in report_parts(recording).facts]
    assert [name for name in names if name.startswith("k")] == ["k0", "k1", "k2", "k3"]
    assert ("k0", "40 registers, 2,048 bytes of shared memory") in report_parts(recording).facts
    assert "occupancy" not in names


def test_occupancy_has_a_bar_for_each_resource() -> None:
    fits = {
        "blocks": 3,
        "occupancy": 0.5,
        "limits": {"registers": 3, "threads": 8},
        "limited by": ["registers"],
    }
    one, many = resources("one"), resources("many", threads=128, **fits)
    assert "<caption>" not in sections(Recording("k", "sm_90a", resources=[one]))["resources"]
    recording = Recording("k", "sm_90a", resources=[many])
    text = sections(recording)["resources"]
    assert re.findall(r'scope="row">(\w+)</th><td>(\d)', text) == [("registers", "3"), ("threads", "8")]
    assert text.count('max="8"') == 2
    assert "<strong>50%</strong> of its warps, limited by registers." in text
    assert ("occupancy", "50%, limited by registers") in report_parts(recording).facts


def test_missed_remarks_come_first_and_each_once() -> None:
    recording = Recording("k", "sm_90a", remarks=[remark("a"), remark("b", "missed"), remark("a")])
    assert [one["message"] for one in report_parts(recording).data["remarks"]] == ["b", "a"]
    recording.remarks = [remark(str(n)) for n in range(MOST_REMARKS + 2)]
    parts = report_parts(recording)
    assert len(parts.data["remarks"]) == MOST_REMARKS
    assert parts.left_out == (f"2 of {MOST_REMARKS + 2:,} remarks",)


def test_diffs_are_shown_as_long_as_there_is_room() -> None:
    runs = [
        PassRun(name, name, 0.25, True, ["+x"] * count)
        for name, count in (("a", MOST_DIFFS), ("b", 1), ("c", 0))
    ]
    parts = report_parts(Recording("k", "sm_90a", passes=runs))
    assert [len(one["diff"]) for one in parts.data["passes"]] == [MOST_DIFFS, 0, 0]
    assert [one["note"] for one in parts.data["passes"]] == ["", "left out: 1 lines", ""]
    assert parts.left_out == (f"the diffs of 1 passes: more than {MOST_DIFFS:,} lines together",)


def value(name: str, register: str) -> ValueLayout:
    text = f"#nv_tileas.linear<{{register = {register}, lane = [[1], [2], [4], [8], [16]], warp = [], block = []}}>"
    layout = parse_attribute(text)
    assert isinstance(layout, nv_tileas.LinearAttr)
    return ValueLayout(name, "op", "tensor<32xf32>", f"k.mlir:{len(name)}:1", text, layout.layout, 32, ())


def test_values_of_one_layout_share_a_card_and_the_first_four_are_open() -> None:
    values = [value("%a", "[]"), value("%b", "[]")]
    values += [value(f"%{n}", str([[32 << m] for m in range(n)])) for n in range(1, 6)]
    text = sections(Recording("k", "sm_90a", layouts=values))["layouts"]
    assert re.findall(r'<details class="card"( open)?>', text) == [" open"] * 4 + [""] * 2
    assert "<strong>%a, %b</strong>" in text
    assert "<p>2 values have this layout.</p>" in text
