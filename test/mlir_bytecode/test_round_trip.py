"""What is written is read as the same module: attributes, types, locations, regions, in every version."""

from __future__ import annotations

import random

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.mlir_bytecode import VERSION, is_mlir_bytecode, read_mlir_bytecode, write_mlir_bytecode
from tessera_tools.parser import parse_module

VERSIONS = range(VERSION + 1)

ATTRIBUTES = {
    "numbers": "1, 1 : index, -7 : si8, 200 : ui8, true, false, 0 : i1, 123456789012345678901234567890 : i128, "
    "-1 : i100, 0 : i100, -9223372036854775808, 18446744073709551615 : ui64, -3 : i3, 5 : si64",
    "floats": "1.5, 1.0e-45 : f32, -0.0 : f64, 3.140625 : bf16, 0x7FC00001 : f32, 1.0 : f80, 1.0 : f128, "
    "1.5 : f8E4M3FN",
    "strings": '"text" : i32, "", "\\09tab \\"quoted\\" \\FF", unit',
    "symbols": '@a, @a::@b::@c, @"odd name"',
    "containers": "[], [1, [2, {a = 1, b}]], {}, i32, (i32) -> f32",
    "arrays": "array<i64: 1, -2>, array<i1: true, false>, array<f32: 1.0, 0x7FC00001>, array<i8>, array<i16: -1>",
    "dense": "dense<[1, 2]> : tensor<2xi32>, dense<1> : vector<4xi8>, dense<> : tensor<0xf32>, "
    "dense<2.0> : tensor<bf16>, dense<(1.0,2.0)> : tensor<2xcomplex<f32>>, "
    "dense<[1, -2, 3]> : tensor<3xi4>, dense<7> : tensor<2xindex>",
    "bits": "dense<true> : tensor<9xi1>, dense<false> : tensor<2xi1>, dense<[true, false, true]> : tensor<3xi1>, "
    "dense<[true, false, false, false, false, false, false, false, true]> : tensor<9xi1>, dense<> : tensor<0xi1>",
    "sparse": "sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, sparse<> : tensor<3xf32>",
    "affine": "affine_map<(d0, d1)[s0] -> (d1 + s0 * 4, d0 floordiv 2)>, affine_set<(d0) : (d0 - 4 >= 0)>",
    "loops": "#llvm.loop_annotation<unroll = <count = 4 : i32>, unrollAndJam = <disable = true, followupAll = "
    "<mustProgress = true>>, distribute = <disable = false>, peeled = <count = 2 : i32>, unswitch = <partialDisable "
    "= true>, parallelAccesses = <id = distinct[0]<>>, <id = distinct[1]<>>>",
    "other dialects": "#arith.fastmath<nnan,contract>, #llvm.linkage<internal>, #foo.bar<[1, {a}]>, #foo<x>",
}

TYPES = {
    "scalars": "i1, i32, si7, ui64, i16777215, index, f16, bf16, f32, f64, f80, f128, tf32, f8E5M2, f4E2M1FN, none",
    "composites": "complex<f32>, tuple<>, tuple<i1, tuple<f64>>, () -> (), (i32, f32) -> (i1, (i4) -> i5)",
    "tensors": 'tensor<f32>, tensor<?x4xf32>, tensor<2xi1, "encoding">, tensor<*xindex>, tensor<0xi8>',
    "vectors": "vector<f32>, vector<4xi1>, vector<2x[4]xf16>, vector<[2]x[4]xf16>",
    "memrefs": "memref<4xf32>, memref<2x?xf32, strided<[?, 1], offset: 4>, 3>, memref<*xf32>, memref<*xf32, 1>, "
    "memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>, memref<1xf32, #foo.space>",
    "other dialects": "!llvm.ptr<3>, !cuda_tile.tile<4x8xf16>, !foo.bar<x>, vector<2x!foo.elem>",
}

LOCATIONS = (
    "unknown",
    '"a.py":1:2',
    '"a.py":1:2 to :7',
    '"a.py":1:2 to 3:4',
    '"name"',
    '"name"("a.py":1:2)',
    'callsite("c" at "d.py":4:5)',
    'fused["a", "b.py":1:1]',
    'fused<"metadata">["a", callsite("a" at fused["b", "c"])]',
)


def parsed(text: str) -> Operation:
    return parse_module(text, allow_unregistered=True)


def through_bytecode(module: Operation, version: int = VERSION) -> str:
    """The module, written and read, as text with locations."""
    data = write_mlir_bytecode(module, version)
    assert is_mlir_bytecode(data)
    return shown(read_mlir_bytecode(data, allow_unregistered=True, verify=False))


def shown(module: Operation) -> str:
    return print_op(module, generic=True, debuginfo=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str, version: int) -> None:
    module = parsed(f'"t.op"() {{a = [{ATTRIBUTES[name]}]}} : () -> ()')
    assert through_bytecode(module, version) == shown(module)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TYPES)
def test_types(name: str, version: int) -> None:
    module = parsed(f'"t.op"() : () -> (tuple<{TYPES[name]}>)')
    assert through_bytecode(module, version) == shown(module)


@pytest.mark.parametrize("text", LOCATIONS)
def test_locations(text: str) -> None:
    module = parsed(f'"t.op"() ({{ ^bb0(%arg0: i32 loc({text})): }}) : () -> () loc({text})')
    for version in VERSIONS:
        assert through_bytecode(module, version) == shown(module)


BLOCKS = """
func.func @f(%arg0: i1, %arg1: i32) -> i32 {
  cf.cond_br %arg0, ^bb1(%arg1, %arg1 : i32, i32), ^bb2
^bb1(%0: i32, %1: i32):  // 2 preds: ^bb0, ^bb1
  cf.switch %0 : i32, [
    default: ^bb2,
    3: ^bb1(%1, %0 : i32, i32)
  ]
^bb2:  // 2 preds: ^bb0, ^bb1
  return %arg1 : i32
}
"""

NESTED = """
%0:2 = "t.a"() : () -> (i32, f32)
"t.outer"() ({
  %1 = "t.b"(%0#0) : (i32) -> i32
  "t.inner"() ({
    "t.use"(%0#1, %1) : (f32, i32) -> ()
  }, {
  }) : () -> ()
  "t.alone"() ({
    %2 = "t.c"(%2) : (i8) -> i8
  }) : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", [BLOCKS, NESTED], ids=["blocks", "nested regions"])
def test_regions(text: str, version: int) -> None:
    module = parsed(text)
    for op in module.walk():
        for region in op.regions:
            for block in region.blocks:
                block.label = None
    assert through_bytecode(module, version) == shown(module)


RESOURCES = """
"t.op"() {a = dense_resource<with> : tensor<1xi64>, b = dense_resource<without> : tensor<2xf32>} : () -> ()
{-#
  dialect_resources: {
    builtin: {
      with: "0x080000000102030405060708"
    }
  }
#-}
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_resources(version: int) -> None:
    module = parsed(RESOURCES)
    assert 'with: "0x080000000102030405060708"' in through_bytecode(module, version)
    assert through_bytecode(module, version) == shown(module)


def test_the_data_of_resources_can_be_left_out() -> None:
    data = write_mlir_bytecode(parsed(RESOURCES), elide_resources=True)
    text = shown(read_mlir_bytecode(data, allow_unregistered=True))
    assert "dense_resource<with>" in text
    assert "dialect_resources" not in text


PROPERTIES = """
func.func @f(%a: i32, %p: !llvm.ptr, %m: memref<?xf32>, %i: index) {
  %0 = llvm.add %a, %a overflow<nsw, nuw> : i32
  %1 = llvm.getelementptr inbounds %p[%a] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %2 = arith.cmpi slt, %a, %a : i32
  %3 = memref.subview %m[%i] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
  "t.op"() <{p = 1 : i8}> {q} : () -> ()
  return
}
"""


@pytest.mark.parametrize("version", [5, 6])
def test_properties_and_attributes_stay_apart(version: int) -> None:
    text = through_bytecode(parsed(PROPERTIES), version)
    assert '"t.op"() <{p = 1 : i8}> {q} : () -> ()' in text
    assert '"llvm.add"(%arg0, %arg0) <{overflowFlags = 3 : i32}>' in text
    assert "operandSegmentSizes = array<i32: 1, 1, 0, 0>" in text


@pytest.mark.parametrize("version", range(5))
def test_versions_without_properties_refuse_flags_that_they_cannot_hold(version: int) -> None:
    with pytest.raises(
        DiagnosticError, match=f"version {version} of bytecode has no 'overflowFlags'; use version 5"
    ):
        write_mlir_bytecode(parsed(PROPERTIES), version)


@pytest.mark.parametrize("version", [-1, 7])
def test_an_unsupported_version(version: int) -> None:
    with pytest.raises(
        DiagnosticError, match=rf"unsupported version requested {version}, must be in range \[0, 6\]"
    ):
        write_mlir_bytecode(parsed(""), version)


def test_debug_information_keeps_what_is_distinct() -> None:
    """Two subprograms of one compile unit; a text for each would make two units of it."""
    text = """
    #file = #llvm.di_file<"k.py" in "/src">
    #unit = #llvm.di_compile_unit<id = distinct[4]<>, sourceLanguage = DW_LANG_C11, file = #file, producer = "p",
                                  isOptimized = true, emissionKind = Full, nameTableKind = GNU>
    #int = #llvm.di_basic_type<tag = DW_TAG_base_type, name = "int", sizeInBits = 32, encoding = DW_ATE_signed>
    #type = #llvm.di_subroutine_type<callingConvention = DW_CC_normal, types = #llvm.di_null_type, #int>
    #f = #llvm.di_subprogram<id = distinct[5]<>, compileUnit = #unit, scope = #file, name = "f", file = #file,
                             line = 3, scopeLine = 4, subprogramFlags = "Definition|Optimized", type = #type>
    #g = #llvm.di_subprogram<id = distinct[6]<>, compileUnit = #unit, scope = #file, name = "g", file = #file>
    "t.f"() : () -> () loc(fused<#f>["k.py":1:2])
    "t.g"() : () -> () loc(fused<#llvm.di_lexical_block<scope = #g, file = #file, line = 7, column = 8>>["k.py":1:2])
    """
    data = write_mlir_bytecode(parsed(text))
    first, second = read_mlir_bytecode(data, allow_unregistered=True).regions[0].block
    f, block = first.location.metadata, second.location.metadata  # type: ignore[attr-defined]
    assert f.compileUnit is block.scope.compileUnit
    assert len({f.id, block.scope.id, f.compileUnit.id}) == 3
    assert (f.subprogramFlags, f.type.types[1].encoding) == ("Definition|Optimized", "DW_ATE_signed")
    assert (f.compileUnit.emissionKind, f.compileUnit.nameTableKind) == ("Full", "GNU")


def test_all_parts_of_a_loop_annotation() -> None:
    text = """
    #parts = #llvm.loop_annotation<
      disableNonforced = true, vectorize = <disable = false, width = 4 : i32>, interleave = <count = 2 : i32>,
      unroll = <full = true>, unrollAndJam = <disable = true>, licm = <disable = true>,
      distribute = <disable = true>, pipeline = <disable = true, initiationinterval = 2 : i32>,
      peeled = <count = 3 : i32>, unswitch = <partialDisable = true>, mustProgress = true, isVectorized = false,
      startLoc = loc(fused<"s">["a":1:2]), endLoc = loc(fused<"e">["a":3:4]),
      parallelAccesses = #llvm.access_group<id = distinct[0]<>>>
    "t.op"() {a = #parts} : () -> ()
    """
    module = parsed(text)
    assert through_bytecode(module) == shown(module)


def test_the_order_of_uses() -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    uses = "\n".join(f'"t.use{n}"(%0, %1) : (i32, i32) -> ()' for n in range(20))
    module = parsed(f'%0, %1 = "t.a"() : () -> (i32, i32)\n{uses}')
    values = module.regions[0].block.first_op.results  # type: ignore[union-attr]
    for value, count in zip(values, (20, 4), strict=True):
        shuffled = list(value.uses)
        moved = rng.sample(range(20), count)
        for place, use in zip(moved, [shuffled[n] for n in rng.sample(moved, count)], strict=True):
            shuffled[place] = use
        for use in reversed(shuffled):
            use.set(value)
    expected = [[use.owner.name for use in value.uses] for value in values]
    again = read_mlir_bytecode(write_mlir_bytecode(module), allow_unregistered=True)
    found = again.regions[0].block.first_op.results  # type: ignore[union-attr]
    assert [[use.owner.name for use in value.uses] for value in found] == expected


def test_names_of_values_are_not_part_of_the_format() -> None:
    module = parsed("func.func @f(%named: i32) { return }")
    assert "%named" not in print_op(read_mlir_bytecode(write_mlir_bytecode(module)))


def test_deeply_nested_regions() -> None:
    depth = 200
    module = parsed('"t.op"() ({ ' * depth + '"t.in"() : () -> ()' + " }) : () -> ()" * depth)
    assert through_bytecode(module) == shown(module)


def test_an_op_without_a_property_that_it_requires_is_not_written() -> None:
    module = parse_module("func.func @f() {\n  %0 = arith.constant 1 : i32\n  return\n}", "f.mlir")
    del next(op for op in module.walk() if op.name == "arith.constant").attributes["value"]
    with pytest.raises(DiagnosticError) as caught:
        write_mlir_bytecode(module)
    assert str(caught.value) == (
        "f.mlir:2:8: error: 'arith.constant' op cannot be written: requires attribute 'value'"
    )
