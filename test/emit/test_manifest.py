"""The launch manifest: what is written can be read, and what is wrong is refused by name."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.manifest import Kernel, Manifest, Parameter, Persistent, TensorMap

PARAMETERS = (
    Parameter("a", "ptr", 8, 0),
    Parameter("n", "i32", 4, 8),
    Parameter("map", "tensormap", 128, 64),
)
MAP = TensorMap(
    2,
    0,
    "f16",
    ({"parameter": 1}, 64),
    ({"parameter": 1, "times": 2, "plus": 16, "over": 2},),
    (64, 64),
    (1, 1),
    "128B",
)
KERNEL = Kernel("gemm", PARAMETERS, (128, 1, 1), (2, 1, 1), 1024, 65536, 168, (MAP,))
MANIFEST = Manifest("sm_90a", "9.0", (KERNEL,))


def broken(*path: str | int, value: Any) -> str:
    """The manifest's text with one value replaced; `...` removes it."""
    data = json.loads(MANIFEST.to_json())
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = copy.deepcopy(value)
    return json.dumps(data)


def test_what_is_written_is_read_back():
    assert Manifest.from_json(MANIFEST.to_json()) == MANIFEST


@pytest.mark.parametrize("counter", [None, 4])
def test_how_to_launch_a_persistent_kernel_is_read_back(counter: int | None):
    grid = tuple(Parameter(f"programs_{axis}", "i32", 4, 4 * i) for i, axis in enumerate("xyz"))
    parameters = (Parameter("n", "i32", 4, 0), *(replace(p, offset=p.offset + 4) for p in grid))
    parameters += (Parameter("program_counter", "ptr", 8, 16),) if counter else ()
    kernel = Kernel("k", parameters, (32, 1, 1), persistent=Persistent("static", (1, 2, 3), counter))
    manifest = Manifest("sm_80", "9.0", (kernel,))
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_the_text_ends_with_a_newline_and_names_its_schema():
    text = MANIFEST.to_json()
    assert text.endswith("}\n")
    assert json.loads(text)["schema"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the manifest is not JSON: expecting value"),
        ("{", "the manifest is not JSON: expecting property name enclosed in double quotes"),
        ("[]", "the manifest: found a list of 0, expected an object"),
        ("[" * 100000, "the manifest is not JSON"),
        (broken("schema", value=1), "the manifest has schema 1; expected 2"),
        (broken("schema", value=True), "the field 'schema' is true; expected a number of 0 or more"),
        (
            broken("target", value=...),
            "the manifest: the field 'target' is missing; expected a non-empty string",
        ),
        (broken("target", value=""), "the field 'target' is \"\"; expected a non-empty string"),
        (broken("extra", value=1), "the manifest: unknown field 'extra'; expected only kernels, "),
        (broken("kernels", value={}), "the field 'kernels' is an object; expected a list"),
        (broken("kernels", 0, value=3), "the manifest: kernel 0: found 3, expected an object"),
        (broken("kernels", 0, "block", value=[128, 1]), "kernel 0 'gemm': the field 'block' is a list of 2"),
        (broken("kernels", 0, "block", value=[128, 1, 0]), "expected three numbers of 1 or more"),
        (broken("kernels", 0, "registers", value=-1), "the field 'registers' is -1"),
        (broken("kernels", 0, "registers", value=1.5), "the field 'registers' is 1.5"),
        (broken("kernels", 0, "parameters", 1, "type", value="i33"), "parameter 1: unknown type 'i33'"),
        (broken("kernels", 0, "parameters", 1, "size", value=8), "parameter 1: i32 takes 4 bytes; found 8"),
        (
            broken("kernels", 0, "parameters", 1, "offset", value=4),
            "parameter 1: offset 4 overlaps the previous parameter",
        ),
        (
            broken("kernels", 0, "parameters", 2, "offset", value=32700),
            "it ends at byte 32828; kernel parameters end at 32764",
        ),
        (
            broken("kernels", 0, "tensor_maps", 0, "parameter", value=1),
            "'parameter' is parameter 1, which is i32",
        ),
        (
            broken("kernels", 0, "tensor_maps", 0, "base", value=9),
            "'base' is parameter 9, which is none at all",
        ),
        (broken("kernels", 0, "tensor_maps", 0, "box", value=[64]), "2 extents, 1 strides and a box of 1"),
        (
            broken("kernels", 0, "tensor_maps", 0, "shape", value=[{"p": 1}, 2]),
            "the field 'shape' is a list of 2",
        ),
        (
            broken("kernels", 0, "tensor_maps", 0, "strides", value=[{"parameter": 1, "over": 0}]),
            '"over": c}',
        ),
        (
            broken("kernels", 0, "tensor_maps", 0, "strides", value=[{"parameter": 1, "times": "2"}]),
            "the field 'strides' is a list of 1; expected a list of numbers, or of",
        ),
        (
            broken("kernels", 0, "tensor_maps", 0, "shape", value=[{"parameter": 2**63}, 2]),
            "an extent or stride refers to parameter 9223372036854775808",
        ),
        (
            broken("kernels", 0, "tensor_maps", 0, "strides", value=[{"parameter": 0}]),
            "an extent or stride refers to parameter 0; expected the number of a parameter of type i8",
        ),
        (
            broken("kernels", 0, "persistent", value={"scheduler": "static", "grid": [1, 1]}),
            "kernel 0 'gemm': persistent: the field 'grid' is a list of 2; expected the numbers of three parameters",
        ),
        (
            broken("kernels", 0, "persistent", value={"scheduler": "static", "grid": [0, 1, 1]}),
            "kernel 0 'gemm': persistent: parameter 0 is ptr; expected a parameter of type i32",
        ),
        (
            broken("kernels", 0, "persistent", value={"scheduler": "never", "blocks": [2, 0]}),
            "persistent: the field 'blocks' is a list of 2; expected two positive numbers of tile blocks",
        ),
        (
            broken("kernels", 0, "persistent", value={"scheduler": "static", "grid": [1, 1, 1]}),
            "persistent: a parameter is named twice; expected one for each extent",
        ),
        (
            broken(
                "kernels", 0, "persistent", value={"scheduler": "counter", "grid": [1, 1, 1], "counter": 7}
            ),
            "persistent: parameter 7 is none at all; expected a parameter of type ptr",
        ),
        (broken("kernels", 0, "tensor_maps", 0, "l2_promotion", value=...), "'l2_promotion' is missing"),
    ],
)
def test_a_broken_manifest_is_refused_by_the_field(text: str, message: str):
    with pytest.raises(ToolError) as caught:
        Manifest.from_json(text)
    assert message in caught.value.message


def test_a_syntax_error_has_its_line_and_column():
    with pytest.raises(ToolError) as caught:
        Manifest.from_json('{\n  "schema" 1}', name="gemm.json")
    assert (caught.value.line, caught.value.column) == (2, 12)


def test_two_kernels_of_one_name_are_refused():
    with pytest.raises(ToolError, match=": two kernels have the name 'gemm'"):
        Manifest("sm_90a", "9.0", (KERNEL, KERNEL)).to_json()


def test_a_manifest_that_could_not_be_read_is_not_written():
    with pytest.raises(ToolError, match="ptr takes 8 bytes; found 4"):
        Manifest("sm_80", "9.0", (Kernel("k", (Parameter("p", "ptr", 4, 0),), (32, 1, 1)),)).to_json()


def test_the_only_kernel_needs_no_name():
    assert MANIFEST.kernel() is KERNEL
    assert MANIFEST.kernel("gemm") is KERNEL


def test_an_unknown_kernel_is_refused_with_those_there_are():
    with pytest.raises(ToolError, match="has no kernel 'gem'; it lists 'gemm'"):
        MANIFEST.kernel("gem")
    with pytest.raises(ToolError, match="lists 0 kernels"):
        Manifest("sm_80", "9.0", ()).kernel()
