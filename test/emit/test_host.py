"""Functions on the host, and plans in a manifest: what they cannot have is refused where it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.func import Func
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.host import host_functions, take_plans
from tessera_tools.emit.manifest import Kernel, Manifest
from tessera_tools.emit.plan import Exchange, Launch, Plan, Tensor
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module


def _host(body: str, arguments: str = "%a: memref<8x8xf32>") -> Any:
    return parse_module(
        f"""module attributes {{tile.mesh = #tile.mesh<x = 2>}} {{
func.func @host({arguments}) attributes {{tile.per_rank}} {{
%0 = tile.allreduce %a {{mesh_axis = "x", reduction_kind = "sum"}} : memref<8x8xf32> -> memref<8x8xf32>
{body}
return
}}
}}""",
        "host.mlir",
    )


def _product(a: str, b: str, attributes: str = "", result: str = "memref<8x8xf32, 5>") -> tuple[str, str]:
    return (
        f"%d = tile.mma %p, %q {attributes} : {a}, {b} -> {result}",
        f"%a: memref<8x8xf32>, %p: {a}, %q: {b}",
    )


@pytest.mark.parametrize(
    ("body", "arguments", "message"),
    [
        ("%s = tile.alloc_shared : memref<8xf32, 3>", "", "is not supported in a host function"),
        (*_product("memref<8x8xf64>", "memref<8x8xf64>"), "multiplies memref<8x8xf64> by memref<8x8xf64> into f32"),
        (*_product("memref<8x3xf16>", "memref<3x8xf16>"), "rows must be multiples of 4 bytes"),
        (
            *_product("memref<64x8xf16>", "memref<8x64xf16>", "", "memref<8x8xf32, 5>"),
            "returns a fragment in a host function; expected the whole product",
        ),
    ],
)  # fmt: skip
def test_what_a_host_function_cannot_have(body: str, arguments: str, message: str) -> None:
    module = _host(body, arguments or "%a: memref<8x8xf32>")
    with pytest.raises(DiagnosticError) as failure:
        take_plans(module)
    first = failure.value.diagnostics[0]
    assert message in first.message
    assert first.location is not None and first.location.start()[1] == 4


MESH = "module attributes {tile.mesh = #tile.mesh<x = 2>} {"
SUM = '%0 = tile.allreduce %a {mesh_axis = "x", reduction_kind = "sum"} : memref<8xf32> -> memref<8xf32>'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            f"""{MESH}
func.func private @inner(memref<8xf32>)
func.func @host(%a: memref<8xf32>) {{
{SUM}
call @inner(%0) : (memref<8xf32>) -> ()
return
}} }}""",
            2,
            "'func.func' op is called by a host function, but has no body",
        ),
        (
            f"""{MESH}
func.func @host(%a: memref<8xf32>) {{
{SUM}
cf.br ^end
^end:
return
}} }}""",
            2,
            "'func.func' op contains control flow; host functions must be straight-line code",
        ),
        (
            f"""func.func @host(%a: memref<8xf32>) {{
{SUM}
return
}}""",
            2,
            "'tile.allreduce' op is a collective, but the module has no tile.mesh",
        ),
        (
            f"""{MESH}
func.func @kernel(%a: memref<8xf32>) attributes {{tessera.kernel}} {{
return
}}
func.func @host(%a: memref<8xf32>) {{
{SUM}
call @kernel(%0) : (memref<8xf32>) -> ()
return
}} }}""",
            7,
            "'func.call' op calls @kernel, which is not a host function; launch kernels with tile.launch",
        ),
        (
            f"""{MESH}
func.func @host(%a: memref<8x8xf32>)
  -> (memref<8x8xf32> {{sharding = #tile.sharding<[{{x}}, {{}}]>}}, memref<8x8xf32>) {{
{SUM.replace("8xf32", "8x8xf32")}
return %0, %0 : memref<8x8xf32>, memref<8x8xf32>
}} }}""",
            2,
            "'func.func' op returns the same tensor twice with different shardings (result 1)",
        ),
        (
            f"""{MESH}
func.func @host(%a: memref<8xf32>) -> memref<8xf32, 5> {{
{SUM}
%b = tile.alloc_register : memref<8xf32, 5>
return %b : memref<8xf32, 5>
}} }}""",
            5,
            "'func.return' op uses a value of type memref<8xf32, 5>, which is not defined by an earlier step",
        ),
    ],
)
def test_what_a_function_of_the_host_cannot_be(text: str, line: int, message: str) -> None:
    with pytest.raises(DiagnosticError) as failure:
        take_plans(parse_module(text, "host.mlir"))
    (only,) = failure.value.diagnostics
    assert only.message == message
    assert only.location is not None and (only.location.start() or ())[:2] == ("host.mlir", line)


def test_rows_of_attention_are_whole_words() -> None:
    types = "memref<4x3xf16>"
    module = parse_module(
        f"""func.func @host(%q: {types}, %k: {types}, %v: {types}) -> {types} {{
%o = tile.flash_attention %q, %k, %v {{}} : ({types}, {types}, {types}) -> {types}
return %o : {types}
}}""",
        "host.mlir",
    )
    with pytest.raises(DiagnosticError) as failure:
        take_plans(module)
    assert str(failure.value) == (
        f"host.mlir:2:6: error: 'tile.flash_attention' op has {types}, {types} and {types}; rows must be multiples of "
        "4 bytes"
    )


def test_no_function_has_the_name_of_a_kernel_made_for_the_host() -> None:
    body, arguments = _product("memref<8x8xf16>", "memref<8x8xf16>")
    module = _host(body, arguments)
    take_plans(module)
    made = [op.sym_name.value for op in module.walk() if isinstance(op, Func)]
    begin = print_op(_host(body, arguments)).rstrip().removesuffix("}")
    module = parse_module(f"{begin}func.func @{made[0]}() {{\n  return\n}}\n}}")
    with pytest.raises(
        DiagnosticError, match="has the name of a kernel that is generated for host functions; rename"
    ):
        take_plans(module)


def test_a_buffer_that_holds_something_is_added_to() -> None:
    module = _host(
        """%one = arith.constant 1.0 : f32
%c = tile.alloc_register : memref<8x8xf32, 5>
tile.fill %c, %one : memref<8x8xf32, 5>
%d = tile.mma %p, %p, %c : memref<8x8xf16>, memref<8x8xf16>, memref<8x8xf32, 5> -> memref<8x8xf32, 5>""",
        "%a: memref<8x8xf32>, %p: memref<8x8xf16>",
    )
    (plan,) = take_plans(module)
    _, fill, product = plan.steps
    assert isinstance(fill, Launch) and isinstance(product, Launch)
    assert not fill.operands
    assert product.operands[2] == fill.results[0]


@pytest.mark.parametrize(
    ("rows", "columns", "grid"), [(64, 128, (1, 2)), (65, 72, (2, 2)), (4160, 8, (65, 1)), (8, 4160, (1, 65))]
)
def test_a_block_computes_64_rows_and_columns_of_a_product(
    rows: int, columns: int, grid: tuple[int, int]
) -> None:
    result = f"memref<{rows}x{columns}xf32, 5>"
    body, arguments = _product(f"memref<{rows}x8xf16>", f"memref<8x{columns}xf16>", "", result)
    (plan,) = take_plans(_host(body, arguments))
    launch = plan.steps[-1]
    assert isinstance(launch, Launch)
    assert tuple(launch.grid) == grid


@pytest.mark.parametrize(
    ("op", "shape", "grid"),
    [
        ("tile.row_sum %p : memref<{}> -> memref<100xf32, 5>", "100x8", (4,)),
        ("tile.row_max %p : memref<{}> -> memref<32xf32, 5>", "32x300", (1,)),
        ("tile.add %p, %p : memref<{0}>, memref<{0}> -> memref<{0}, 5>", "100x300", (4, 5)),
        ("tile.add %p, %p : memref<{0}>, memref<{0}> -> memref<{0}, 5>", "1000", (2,)),
    ],
)
def test_a_block_computes_rows_and_columns_of_an_elementwise_op(
    op: str, shape: str, grid: tuple[int, ...]
) -> None:
    type = f"{shape}xf32"
    (plan,) = take_plans(_host(f"%d = {op.format(type)}", f"%a: memref<8x8xf32>, %p: memref<{type}>"))
    launch = plan.steps[-1]
    assert isinstance(launch, Launch)
    assert tuple(launch.grid) == grid


def test_tensors_have_static_extents() -> None:
    module = _host("", "%a: memref<8x8xf32>, %b: memref<?xf32>")
    with pytest.raises(
        DiagnosticError, match="has a value of type memref<\\?xf32>; host functions take contig"
    ):
        take_plans(module)


def test_functions_called_become_part_of_a_plan() -> None:
    module = parse_module("""module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func private @inner(%a: memref<8xf32>) -> memref<8xf32> attributes {tile.per_rank} {
    %0 = tile.allreduce %a {mesh_axis = "x", reduction_kind = "max"} : memref<8xf32> -> memref<8xf32>
    return %0 : memref<8xf32>
  }
  func.func @outer(%a: memref<8xf32>) -> memref<8xf32> attributes {tile.per_rank} {
    %0 = call @inner(%a) : (memref<8xf32>) -> memref<8xf32>
    %1 = call @inner(%0) : (memref<8xf32>) -> memref<8xf32>
    return %1 : memref<8xf32>
  }
}""")
    assert [f.sym_name.value for f in host_functions(module)] == ["inner", "outer"]
    (plan,) = take_plans(module)
    assert plan.name == "outer"
    assert plan.steps == (
        Exchange("all_reduce", "x", 0, 1, combine="max"),
        Exchange("all_reduce", "x", 1, 2, combine="max"),
    )
    assert not list(module.regions[0].entry)


def test_modules_without_a_host_have_no_plans() -> None:
    module = parse_module("func.func @f() { return }")
    assert take_plans(module) == ()
    assert len(module.regions[0].entry) == 1
    assert "plans" not in json.loads(Manifest("sm_80", "8.0", ()).to_json())


def test_ranks_are_numbered_with_the_last_axis_first() -> None:
    plan = Plan("p", (("data", 2), ("x", 3)), (), (), (), ())
    assert plan.coordinates(4) == {"data": 1, "x": 1}
    assert plan.group(4, "x") == [3, 4, 5]
    assert plan.group(4, "data") == [1, 4]
    tensor = Tensor("t", "f32", (4, 2), ("data", "x"))
    assert plan.whole(tensor) == (8, 6)
    assert plan.place(tensor, 4) == (slice(4, 8), slice(2, 4))


PLAN = Plan(
    "p",
    (("x", 2),),
    (Tensor("a", "f32", (4,), ("x",)), Tensor("b", "f32", (8,), (None,))),
    (0,),
    (1,),
    (Exchange("all_gather", "x", 0, 1, gather=0),),
)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("tensors", 0, "cut"), ["y"], "tensors 0: the field 'cut' is a list of 1; expected a list of mesh"),
        (("tensors", 0, "cut"), [], "expected 1 entries, as many as extents"),
        (("mesh", 0, "ranks"), 0, "the field 'ranks' is 0; expected a new axis of one rank or more"),
        (("arguments",), [7], "the field 'arguments' is a list of 1; expected numbers below 2"),
        (("steps", 0, "kind"), "scatter", "expected launch, or one of all_reduce"),
        (("steps", 0, "axis"), "y", "the field 'axis' is \"y\"; expected one of the mesh: x"),
        (("steps", 0, "gather"), 1, "expected 'split' and 'gather' to name the dimensions that it changes"),
        (("steps", 0, "result"), 0, "expected a tensor of 8 and of the source's type"),
        (("steps", 0, "result"), 9, "expected tensors below 2"),
        (("steps", 0, "combine"), "sum", "expected 'combine' (sum, max or min) for reductions only"),
        (
            ("steps", 0),
            {"kind": "launch", "kernel": "k", "grid": [1], "operands": [0], "results": [1]},
            "expected a kernel of the manifest with 6 parameters",
        ),
    ],
)  # fmt: skip
def test_a_broken_plan_is_refused(place: tuple[Any, ...], value: Any, message: str) -> None:
    data = json.loads(Manifest("sm_80", "8.0", (Kernel("k", (), (32, 1, 1)),), plans=(PLAN,)).to_json())
    part = data["plans"][0]
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(ToolError) as failure:
        Manifest.from_json(json.dumps(data))
    assert message in failure.value.message
