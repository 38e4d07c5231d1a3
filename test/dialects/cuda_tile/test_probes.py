"""Our verifier against the reference's, on programs of one op each: what it accepts, we accept."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from dialects.cuda_tile import probes
from programs import fresh_seed

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

ROOT = Path(__file__).parents[3]
RECORD = json.loads(Path(__file__).with_name("accepted.json").read_text())


def error_of(text: str) -> str:
    """The first error of our parser or verifier; "" for none."""
    try:
        verify_or_raise(parse_module(text))
    except DiagnosticError as failure:
        return failure.diagnostics[0].message
    return ""


def test_what_the_reference_accepts_is_accepted():
    refused = {}
    for chosen, accepted in RECORD["accepted"].items():
        for elements in accepted:
            named = dict(zip(probes.variables(chosen), filter(None, elements.split(",")), strict=True))
            if error := error_of(probes.program(chosen, named)):
                refused[chosen, elements] = error
    assert not refused, "record anew with: " + RECORD["about"]["command"]


def test_the_record_holds_most_ops():
    words = {word for chosen in RECORD["accepted"] for word in chosen.replace("\n", " ").split()}
    ops = {cls.name.removeprefix("cuda_tile.") for cls in _ops()}
    assert len(ops & words) > 80


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("probe_tileiras", ROOT / "tools/probe_tileiras.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _ops() -> list[type]:
    from tessera_tools.dialects.cuda_tile import DIALECT

    return list(DIALECT.ops.values())


def test_fresh_programs_are_judged_as_the_reference_judges_them():
    """A sample of combinations, most of which nobody recorded."""
    require_tool("tileirdisasm")
    tool = _tool()
    seed = fresh_seed()
    rng = random.Random(seed)
    templates = rng.sample(list(probes.templates()), 40)
    found = [p for t in templates for p in tool.sample_of(t, 8, rng)]
    for probe in found:
        tool.run_ours(probe)
    tool.run_reference(found, jobs=2, compile_on="")
    refused = [(p.text, p.ours) for p in found if p.ours and p.theirs == ""]
    assert not refused, refused[0]


@pytest.mark.parametrize("element", ["f16", "i32"])
def test_a_program_is_what_its_template_says(element: str):
    text = probes.program("addf $(A:8), $(i4:2x4) : tile<8x$A>", {"A": element})
    assert f"tile<8x{element}>" in text
    assert "tile<2x4xi4>" in text
    assert "$" not in text
