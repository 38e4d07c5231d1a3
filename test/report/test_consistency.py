"""A whole report holds together: what it records follows from the program, and its parts say the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from oracles import require_tool
from tessera_tools.api.reports import record_input
from tessera_tools.emit.compiled import Options
from tessera_tools.parser import parse_module
from tessera_tools.report import Parts, Recording, recording, report_page, report_parts
from tessera_tools.report.lines import printed
from tessera_tools.target import lookup

NAME = "gemm.mlir"
PROGRAM = (Path(__file__).resolve().parents[2] / "examples" / NAME).read_bytes()
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=["sm_80", "sm_90a"])
def made(request: pytest.FixtureRequest) -> Iterator[Recording]:
    """The recording of a product of matrices, with all lines of all differences."""
    require_tool("ptxas")
    require_tool("nvdisasm")
    target = lookup(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "MOST_DIFF_LINES", 100_000)
        yield record_input(PROGRAM, NAME, Options(target), target)


def patched(lines: list[str], difference: list[str]) -> list[str]:
    """The text after a unified difference."""
    result: list[str] = []
    at = 0
    for line in difference:
        if line.startswith("@@"):
            start, _, count = line.split()[1].removeprefix("-").partition(",")
            begin = int(start) - (count != "0")
            result += lines[at:begin]
            at = begin
            continue
        if line[0] in " -":
            assert lines[at] == line[1:]
            at += 1
        if line[0] in " +":
            result.append(line[1:])
    return result + lines[at:]


def test_the_differences_lead_from_the_first_text_to_the_last(made: Recording) -> None:
    lines = printed(parse_module(PROGRAM, NAME), {}).texts
    seen = [lines]
    for run in made.passes:
        after = patched(lines, run.diff)
        assert run.changed == (after != lines)
        assert run.seconds > 0
        lines = after
        seen.append(lines)
    assert made.stages["llvm"].texts == lines
    assert made.stages["nv_tileas"].texts in seen
    assert made.stages["nv_tileaa"].texts in seen
    assert made.stages["cuda_tile"].texts == PROGRAM.decode().splitlines()


def test_each_line_comes_from_code_of_the_source_that_earlier_stages_have(made: Recording) -> None:
    code = {
        f"{NAME}:{number}"
        for number, line in enumerate(PROGRAM.decode().splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("//")
    }
    keys = {stage: set(lines.keys) - {""} for stage, lines in made.stages.items()}
    assert keys["nv_tileaa"] <= code
    assert keys["nv_tileas"] <= keys["nv_tileaa"]
    assert keys["llvm"] <= keys["nv_tileas"]
    assert keys["llvmir"] <= keys["llvm"]
    assert keys["ptx"] <= keys["llvm"]
    assert keys["sass"] <= keys["ptx"]
    (stored,) = (
        f"{NAME}:{n}" for n, line in enumerate(PROGRAM.decode().splitlines(), 1) if "store_view" in line
    )
    assert all(stored in keys[stage] for stage in made.stages)


def test_buffers_of_shared_memory_that_are_needed_at_once_have_bytes_of_their_own(made: Recording) -> None:
    (kernel,) = made.positions
    (row,) = made.resources
    assert kernel == row["kernel"] == "gemm"
    inside = [text for text in made.stages["nv_tileas"].texts if re.match(r" {4,}[^ }]", text)]
    assert made.positions[kernel] == len(inside)
    assert made.memory
    for use in made.memory:
        assert use.kernel == kernel
        assert 0 <= use.first <= use.last < made.positions[kernel]
        assert use.offset + use.bytes <= row["shared"]
    for one, other in combinations(made.memory, 2):
        if one.first <= other.last and other.first <= one.last:
            assert one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    # What is allocated is used.
    assert max(use.offset + use.bytes for use in made.memory) == row["shared"]


ONE_RESULT = re.compile(r"\s*(%\w+) = (\S+) .*(#\w+)>(?:\) \{)?$")
LOOP = re.compile(r"\s*(%\w+):\d+ = scf\.for .*iter_args\((.*)\) -> \((.*?)\)  :")
ACCESS = re.compile(
    r"\s*(?:(%\w+) = )?nv_tileas\.(load|store) (%\w+)(?:, (%\w+))?\[.*_(?:ld|st)matrix_(trans_)?x(\d)"
)


def test_values_with_a_layout_are_those_whose_types_in_the_text_have_one(made: Recording) -> None:
    """Results, and what loops carry."""
    lines = made.stages["nv_tileas"]
    aliases = dict(line.split(" = ", 1) for line in lines.texts if line.startswith("#"))
    expected: list[tuple[str, str, str, str]] = []
    for text, key in zip(lines.texts, lines.keys, strict=True):
        if (found := ONE_RESULT.match(text)) is not None:
            expected.append((found[1], found[2], aliases[found[3]], key))
        elif (found := LOOP.match(text)) is not None:
            carried = (one.split(" = ")[0] for one in found[2].split(", "))
            types = re.findall(r"[!\w.]+(?:<[^>]*>)?", found[3])
            for number, (name, type) in enumerate(zip(carried, types, strict=True)):
                if (layout := re.search(r"#\w+", type)) is not None:
                    expected += [
                        (one, "scf.for", aliases[layout[0]], key) for one in (f"{found[1]}#{number}", name)
                    ]
    assert any(op == "scf.for" for _, op, *_ in expected)
    known = [(one.name, one.op, one.attribute, one.place.rpartition(":")[0]) for one in made.layouts]
    assert sorted(known) == sorted(expected)


def test_the_accesses_of_a_buffer_are_those_in_the_text_with_their_atoms(made: Recording) -> None:
    expected: dict[str, list[str]] = {}
    for text in made.stages["nv_tileas"].texts:
        if (found := ACCESS.match(text)) is not None:
            result, op, first, second, transposed, number = found.groups()
            buffer, how = (first, f"{result} = load") if op == "load" else (second, f"store {first}")
            form = f"matrices x{number}{'.trans' if transposed else ''}"
            expected.setdefault(buffer, []).append(f"{how}: {form}")
    assert expected
    noted = {one.name: one.picture().notes for one in made.layouts if one.used_by}
    assert {name: [note.partition(", ")[0] for note in notes] for name, notes in noted.items()} == expected


def test_the_resources_follow_from_each_other(made: Recording) -> None:
    (row,) = made.resources
    assert made.manifest is not None
    (kernel,) = made.manifest.kernels
    assert (row["kernel"], row["threads"]) == (
        kernel.name,
        kernel.block[0] * kernel.block[1] * kernel.block[2],
    )
    assert 0 < row["registers"] <= row["most registers"]
    assert 0 < row["shared"] <= row["most shared"]
    assert row["registers"] * row["threads"] * row["blocks"] <= 64 << 10
    assert row["blocks"] == min(row["limits"].values())
    assert row["limited by"] == [what for what, most in row["limits"].items() if most == row["blocks"]]
    assert row["occupancy"] == row["blocks"] * row["threads"] / (row["limits"]["threads"] * row["threads"])


class Outline(HTMLParser):
    """The elements of a page: that each ends in turn, the ids, and what refers to ids and to lines."""

    VOID = frozenset({"meta", "rect", "line"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.referred: list[str] = []
        self.keys: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        self.keys += [given["data-key"]] if "data-key" in given else []
        self.referred += [given["href"].removeprefix("#")] if "href" in given else []
        self.referred += [given["aria-labelledby"]] if "aria-labelledby" in given else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_what_it_refers_to_is_there(made: Recording) -> None:
    outline = Outline()
    outline.feed(report_page(made, findings=[]))
    outline.close()
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert outline.referred and set(outline.referred) <= set(outline.ids)
    parts = report_parts(made)
    lines = {key for stage in parts.data["stages"] for key in stage["keys"]} - {""}
    assert outline.keys and set(outline.keys) <= lines
    assert {one["key"] for one in parts.data["remarks"]} <= {"", *lines}


def test_each_line_that_can_be_pointed_at_has_another_to_light_up(made: Recording) -> None:
    stages = report_parts(made).data["stages"]
    counts = Counter(key for stage in stages for key in set(stage["keys"]) - {""})
    remarked = {remark.key for remark in made.remarks}
    assert all(count > 1 or key in remarked for key, count in counts.items())


def pictures(parts: Parts, section: str) -> list[ElementTree.Element]:
    (text,) = (text for name, _, text in parts.sections if name == section)
    return [ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def test_boxes_of_pictures_are_inside_them_and_do_not_cover_each_other(made: Recording) -> None:
    parts = report_parts(made)
    drawn = pictures(parts, "layouts") + pictures(parts, "memory")
    assert len(drawn) > 3
    for svg in drawn:
        boxes = np.array(
            [
                [float(box.attrib[name]) for name in ("x", "y", "width", "height")]
                for box in svg.iter(f"{SVG}rect")
            ]
        )
        begin, size = boxes[:, :2], boxes[:, 2:]
        assert (begin >= 0).all() and (size > 0).all()
        assert (begin + size <= [float(svg.attrib["width"]), float(svg.attrib["height"])]).all()
        # Of two boxes: how far they reach into each other. A small one is drawn 2 pixels wide, 1.5 high.
        common = np.minimum(begin + size, (begin + size)[:, None]) - np.maximum(begin, begin[:, None])
        covered = (common > [2.2, 1.7]).all(axis=2)
        assert not (covered & ~np.eye(len(boxes), dtype=bool)).any()
