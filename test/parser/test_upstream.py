"""What upstream's mlir-opt reads and prints, we read and print: locations, aliases, literals, types, regions."""

from __future__ import annotations

import subprocess

import pytest
from structural import difference

from oracles import require_tool
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module

OPTIONS = ["--allow-unregistered-dialect"]

LOCATIONS = """
#loc1 = loc("a.py":1:2)
module {
  func.func @f(%arg0: i32 loc("arg":3:4), %arg1: vector<4xf32> loc(#loc9)) -> i32 {
    %0 = arith.addi %arg0, %arg0 : i32 loc(#loc1)
    %1:2 = "test.two"(%0) ({
    ^bb0(%arg2: i32 loc("x"), %arg3: i32 loc(unknown)):
      "test.end"(%arg2) : (i32) -> () loc(callsite("c" at "d.py":4:5))
    }) : (i32) -> (i32, i32) loc(fused<"meta">["a", "b.py":1:1])
    cf.br ^bb1(%1#0 : i32) loc("name"(#loc1))
  ^bb1(%2: i32 loc("z.py":9:9 to :12)):  // pred: ^bb0
    "test.none"() : () -> () loc(unknown)
    return %2 : i32 loc(fused["a", callsite("a" at fused["b", "c"])])
  } loc(#loc9)
  func.func private @g(i32) loc("g")
} loc(unknown)
#loc9 = loc("nine"(#loc1))
"""

VALUES = {
    "splats": (
        "dense<1> : tensor<4xi32>, dense<true> : vector<4xi1>, "
        "dense<1.5> : tensor<2x2xf16>, dense<-1> : tensor<i8>"
    ),
    "nested": (
        "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, dense<[true, "
        "false]> : tensor<2xi1>, dense<> : tensor<0x2xf32>"
    ),
    "complex": "dense<(1.0,2.0)> : tensor<2xcomplex<f32>>, dense<[(1,2),(3,4)]> : tensor<2xcomplex<i32>>",
    "hex strings": 'dense<"0x0100000002000000"> : tensor<2xi32>, dense<"0x0000803F"> : tensor<3xf32>',
    "hex numbers": "0x7FC00001 : f32, 0xFF800000 : f32, 0x10 : i32, dense<0x7FC0> : tensor<2xbf16>",
    "arrays": (
        "array<i64: 1, -2>, array<i1: true, false>, array<f32: 1.0, "
        "0x7FC00000>, array<i8>, [1, 2.5, @a, i32, []]"
    ),
    "resources": "dense_resource<blob> : tensor<4xf32>",
    "symbols": '@a, @a::@b, @"odd name"::@"q\\22uote"',
    "strings": '"\\09tab \\"quoted\\" \\5C \\FF", "text" : i32, ""',
    "affine": (
        "affine_map<(d0, d1)[s0] -> (d1 + s0 * 4, d0 floordiv 2, d1 mod 3 - 1)>, "
        "affine_set<(d0) : (d0 - 4 >= 0, d0 == 0)>"
    ),
    "memrefs": (
        "memref<2x?xf32, strided<[?, 1], offset: 4>, 3>, memref<4x4xf32, "
        "affine_map<(d0, d1) -> (d1, d0)>>, memref<*xf32, 1>"
    ),
    "vectors and tensors": 'vector<2x[4]xf16>, vector<f32>, tensor<?x4xf32, "encoding">, tensor<*xindex>, tensor<f32>',
    "functions and tuples": (
        "() -> (), (i32) -> f32, (i1, i2) -> (i3, (i4) -> i5), tuple<>, tuple<i1, tuple<f64>>, none"
    ),
    "numbers": "1, 1 : index, -7 : si8, 200 : ui8, 1.5, 1.0e-45 : f32, -0.0 : f64, 3.140625 : bf16, unit, true",
    "other dialects": '#foo<"a" + b>, #foo.bar<[1, {a}]>, !foo<"x", !y>, !foo.bar, #foo.bar<x -> y>, {a = 1, "b c"}',
}


def upstream(text: str, *options: str) -> str:
    """What mlir-opt prints for the text."""
    command = [require_tool("mlir-opt-22"), *OPTIONS, *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_locations_print_as_upstream_prints_them() -> None:
    ours = print_op(parse_module(LOCATIONS, allow_unregistered=True), debuginfo=True)
    assert ours == upstream(LOCATIONS, "--mlir-print-debuginfo").rstrip() + "\n"


def test_locations_in_local_scope_print_as_upstream_prints_them() -> None:
    ours = print_op(parse_module(LOCATIONS, allow_unregistered=True), debuginfo=True, local_scope=True)
    assert ours == upstream(LOCATIONS, "--mlir-print-debuginfo", "--mlir-print-local-scope").rstrip() + "\n"


def test_printed_locations_read_back() -> None:
    text = print_op(parse_module(LOCATIONS, allow_unregistered=True), debuginfo=True)
    assert print_op(parse_module(text, allow_unregistered=True), debuginfo=True) == text


@pytest.mark.parametrize("name", VALUES)
def test_attributes_and_types_print_as_upstream_prints_them(name: str) -> None:
    text = f'"test.op"() {{a = [{VALUES[name]}]}} : () -> ()\n'
    ours = print_op(parse_module(text, allow_unregistered=True), generic=True)
    assert ours == upstream(text, "--mlir-print-op-generic", "--mlir-print-local-scope").rstrip() + "\n"


PROGRAMS = {
    "aliases": """
!inner = vector<4xf32>
!pair = tuple<i32, !inner>
#map = affine_map<(d0) -> (d0 * 2)>
#list = [#map, 1]
"test.op"() {x = #map, y = [#list]} : () -> !pair
""",
    "blocks": """
func.func @f(%c: i1, %n: i32) -> i32 {
  cf.cond_br %c, ^a(%n, %n : i32, i32), ^b
^a(%x: i32, %y: i32):
  cf.switch %x : i32, [default: ^b, 3: ^a(%y, %x : i32, i32)]
^b:
  return %n : i32
}
""",
    "unregistered": """
%0:3 = "test.a"() <{p = 1 : i8}> ({
  "test.b"() [^bb1] : () -> ()
^bb1(%x: i32):
  "test.c"(%x) ({}, {
  ^bb0:
    "test.d"() : () -> ()
  }) {k, "odd key" = 1} : (i32) -> ()
}) {q} : () -> (i1, i2, !foo.bar<x>)
"test.e"(%0#2, %0#0) : (!foo.bar<x>, i1) -> ()
""",
    "file metadata": """
module {
  "test.op"() : () -> ()
}
{-#
  external_resources: {
    other: { key: "value" }
  }
#-}
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_mean_what_they_mean_to_upstream(name: str) -> None:
    text = PROGRAMS[name]
    theirs = parse_module(upstream(text, "--mlir-print-op-generic"), allow_unregistered=True)
    assert difference(parse_module(text, allow_unregistered=True), theirs) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_upstream_reads_what_we_print(name: str) -> None:
    module = parse_module(PROGRAMS[name], allow_unregistered=True)
    for generic in (False, True):
        text = print_op(module, generic=generic)
        theirs = parse_module(upstream(text, "--mlir-print-op-generic"), allow_unregistered=True)
        assert difference(module, theirs) is None
