"""Folders and patterns of `arith`, on numbers at the edges and random ones, against upstream."""

from __future__ import annotations

import random

import pytest
from dialects.folding import assert_folds_agree, canonical, function, returned, upstream

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import arith
from tessera_tools.dialects.ub import PoisonAttr
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, IntegerAttr, i32
from tessera_tools.ir.core import Block, Builder
from tessera_tools.ir.types import I1, I8, I32, VectorType
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

SEED = random.randrange(1 << 32)

INTEGER_OPS = (
    "addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui", "andi", "ori",
    "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui",
)  # fmt: skip
FLOAT_OPS = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")
FLOATS = ("0.0", "-0.0", "1.0", "-1.5", "0.1", "3.0e4", "1.0e-7", "6.0e4", "2.5")
SPECIAL = {
    "f16": ("0x7C00", "0xFC00", "0x7E00", "0x0001", "0x7BFF"),
    "bf16": ("0x7F80", "0xFF80", "0x7FC0", "0x0001", "0x7F7F"),
    "f32": ("0x7F800000", "0xFF800000", "0x7FC00000", "0x00000001", "0x7F7FFFFF"),
    "f64": ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000", "0x0000000000000001", "1.7e308"),
}  # fmt: skip


def edges(width: int, rng: random.Random) -> list[int]:
    """Numbers at the ends of the range, around zero and the width, and some at random."""
    top = 1 << (width - 1)
    return [0, 1, -1, 2, width - 1, -top, top - 1, rng.randrange(-top, top), rng.randrange(-top, top)]


@pytest.mark.parametrize("width", (8, 32, 64))
@pytest.mark.parametrize("mnemonic", INTEGER_OPS)
def test_integer_constants_fold_as_upstream(mnemonic: str, width: int) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    type = f"i{width}"
    pairs = [(a, b) for a in edges(width, rng) for b in rng.sample(edges(width, rng), 4)]
    functions = [
        function(i, (f"{a} : {type}", f"{b} : {type}"), f"arith.{mnemonic} %0, %1 : {type}", type)
        for i, (a, b) in enumerate(pairs)
    ]
    # Upstream gives up on a ceildivsi of the least integer, whose steps overflow there; the quotient does not.
    assert_folds_agree(functions, more=mnemonic == "ceildivsi")


@pytest.mark.parametrize("format", ("f16", "bf16", "f32", "f64"))
@pytest.mark.parametrize("mnemonic", FLOAT_OPS)
def test_float_constants_fold_as_upstream(mnemonic: str, format: str) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    numbers = (*FLOATS, *SPECIAL[format], f"{rng.uniform(-9, 9)}")
    pairs = [(a, b) for a in numbers for b in rng.sample(numbers, 5)]
    functions = [
        function(i, (f"{a} : {format}", f"{b} : {format}"), f"arith.{mnemonic} %0, %1 : {format}", format)
        for i, (a, b) in enumerate(pairs)
    ]
    assert_folds_agree(functions)


def test_integer_comparisons_fold_as_upstream() -> None:
    numbers = (0, 1, -1, -128, 127)
    cases = [
        (p, a, b)
        for p in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
        for a in numbers
        for b in numbers
    ]
    assert_folds_agree(
        [
            function(i, (f"{a} : i8", f"{b} : i8"), f"arith.cmpi {p}, %0, %1 : i8", "i1")
            for i, (p, a, b) in enumerate(cases)
        ]
    )


def test_float_comparisons_fold_as_upstream() -> None:
    numbers = ("0.0", "-0.0", "1.0", "0x7FC00000", "0xFF800000")
    predicates = (
        "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno",
        "true",
    )  # fmt: skip
    cases = [(p, a, b) for p in predicates for a in numbers for b in numbers]
    assert_folds_agree(
        [
            function(i, (f"{a} : f32", f"{b} : f32"), f"arith.cmpf {p}, %0, %1 : f32", "i1")
            for i, (p, a, b) in enumerate(cases)
        ]
    )


CASTS = (
    ("extsi", "i8", "i32", ("-1", "127", "0")), ("extui", "i8", "i32", ("-1", "127", "0")),
    ("trunci", "i32", "i8", ("-1", "300", "128")), ("trunci", "i8", "i1", ("3", "2")),
    ("sitofp", "i32", "f32", ("-1", "16777217", "2147483647")), ("uitofp", "i32", "f32", ("-1", "5")),
    ("sitofp", "i64", "f64", ("-1", "9007199254740993")),
    ("fptosi", "f32", "i8", ("1.9", "-1.9", "127.0", "128.0", "-128.5", "-129.0")),
    ("fptoui", "f32", "i8", ("1.9", "-0.5", "255.0", "256.0", "-1.0")),
    ("extf", "f16", "f32", ("1.5", "0x7C00", "0x0001")),
    ("truncf", "f32", "f16", ("1.5", "0.1", "1.0e9", "0x7F800000")), ("bitcast", "f32", "i32", ("1.0", "-0.0")),
    ("bitcast", "i16", "bf16", ("16256", "-1")), ("index_cast", "i32", "index", ("-1", "7")),
    ("index_castui", "i32", "index", ("-1", "7")), ("index_cast", "index", "i32", ("-1", "4294967297")),
)  # fmt: skip


def test_casts_of_constants_fold_as_upstream() -> None:
    functions = []
    for mnemonic, source, target, numbers in CASTS:
        for number in numbers:
            op = f"arith.{mnemonic} %0 : {source} to {target}"
            functions.append(function(len(functions), (f"{number} : {source}",), op, target))
    assert_folds_agree(functions)


def test_shaped_constants_fold_elementwise() -> None:
    type = "vector<3xi8>"
    functions = [
        function(
            0, (f"dense<[1, 2, 127]> : {type}", f"dense<1> : {type}"), f"arith.addi %0, %1 : {type}", type
        ),
        function(1, (f"dense<3> : {type}", f"dense<-1> : {type}"), f"arith.muli %0, %1 : {type}", type),
        function(
            2,
            (f"dense<[1, 2, 3]> : {type}", f"dense<[1, 0, 3]> : {type}"),
            f"arith.divsi %0, %1 : {type}",
            type,
        ),
        function(
            3,
            (f"dense<[1, 2, 3]> : {type}", f"dense<2> : {type}"),
            f"arith.cmpi slt, %0, %1 : {type}",
            "vector<3xi1>",
        ),
    ]
    assert_folds_agree(functions)


IDENTITIES = """
func.func @f0(%x: i32) -> i32 { %c = arith.constant 0 : i32  %r = arith.addi %c, %x : i32  return %r : i32 }
func.func @f1(%x: i32, %y: i32) -> i32 { %s = arith.subi %x, %y : i32  %r = arith.addi %s, %y : i32  return %r : i32 }
func.func @f2(%x: i32) -> i32 { %r = arith.subi %x, %x : i32  return %r : i32 }
func.func @f3(%x: i32) -> i32 { %c = arith.constant 0 : i32  %r = arith.muli %x, %c : i32  return %r : i32 }
func.func @f4(%x: i32) -> i32 { %c = arith.constant 1 : i32  %r = arith.divsi %x, %c : i32  return %r : i32 }
func.func @f5(%x: i32) -> i32 { %c = arith.constant -1 : i32  %r = arith.andi %x, %c : i32  return %r : i32 }
func.func @f6(%x: i32) -> i1 { %r = arith.cmpi sle, %x, %x : i32  return %r : i1 }
func.func @f7(%x: f32) -> f32 { %c = arith.constant -0.0 : f32  %r = arith.addf %x, %c : f32  return %r : f32 }
func.func @f8(%x: f32) -> f32 { %c = arith.constant 0.0 : f32  %r = arith.addf %x, %c : f32  return %r : f32 }
func.func @f9(%x: f32) -> f32 { %n = arith.negf %x : f32  %r = arith.negf %n : f32  return %r : f32 }
func.func @f10(%c: i1, %x: i32) -> i32 { %r = arith.select %c, %x, %x : i32  return %r : i32 }
func.func @f11(%c: i1) -> i1 {
  %t = arith.constant true  %f = arith.constant false  %r = arith.select %c, %t, %f : i1  return %r : i1
}
func.func @f12(%x: i8) -> i8 { %e = arith.extsi %x : i8 to i32  %r = arith.trunci %e : i32 to i8  return %r : i8 }
func.func @f13(%x: i32) -> i32 { %c = arith.constant 7 : i32  %r = arith.remsi %x, %c : i32  return %r : i32 }
func.func @f14(%x: i32) -> i32 {
  %a = arith.constant 3 : i32  %b = arith.constant 5 : i32
  %s = arith.addi %x, %a : i32  %r = arith.subi %s, %b : i32  return %r : i32
}
func.func @f15(%x: i32) -> i32 {
  %a = arith.constant 3 : i32  %b = arith.constant 5 : i32
  %s = arith.subi %a, %x : i32  %r = arith.subi %b, %s : i32  return %r : i32
}
func.func @f16(%x: i32, %y: i32) -> i1 {
  %t = arith.constant true  %c = arith.cmpi slt, %x, %y : i32  %r = arith.xori %c, %t : i1  return %r : i1
}
func.func @f17(%x: i32) -> i1 { %c = arith.constant 3 : i32  %r = arith.cmpi ult, %c, %x : i32  return %r : i1 }
func.func @f18(%x: i8) -> i64 { %a = arith.extui %x : i8 to i32  %r = arith.extsi %a : i32 to i64  return %r : i64 }
"""


def test_identities_simplify_as_upstream() -> None:
    # Upstream reads our result back, so that names and numbering are the same in both.
    assert upstream(canonical(IDENTITIES), "--canonicalize") == upstream(IDENTITIES)
    assert upstream(canonical(IDENTITIES), "--cse") == upstream(IDENTITIES, "--canonicalize", "--cse")


def test_a_poison_operand_makes_the_result_poison() -> None:
    block = Block([I32, I32])
    op = Builder.at_end(block).insert(arith.AddI(*block.arguments))
    assert op.fold([PoisonAttr(), i32(1)]) == [PoisonAttr()]


def test_a_ceiling_division_of_the_least_integer_is_exact() -> None:
    text = function(0, ("-128 : i8", "7 : i8"), "arith.ceildivsi %0, %1 : i8", "i8")
    assert returned(canonical(text)) == {"f0": "-18 : i8"}


def test_a_comparison_of_extensions_compares_what_they_extend() -> None:
    text = """func.func @f(%x: i8, %y: i8) -> i1 {
  %a = arith.extui %x : i8 to i32
  %b = arith.extui %y : i8 to i32
  %r = arith.cmpi ult, %a, %b : i32
  return %r : i1
}"""
    assert "arith.cmpi ult, %x, %y : i8" in canonical(text)


def test_the_minimum_of_a_number_and_infinity_may_be_infinity() -> None:
    text = """func.func @f(%x: f32) -> f32 {
  %inf = arith.constant 0x7F800000 : f32
  %r = arith.minnumf %x, %inf : f32
  return %r : f32
}"""
    assert "arith.minnumf" in canonical(text)
    assert "arith.minnumf" not in canonical(
        text.replace("minnumf %x, %inf", "minnumf %x, %inf fastmath<nnan>")
    )


def test_division_by_zero_is_left_alone() -> None:
    assert returned(canonical(function(0, ("1 : i32", "0 : i32"), "arith.divui %0, %1 : i32", "i32"))) == {
        "f0": "not folded"
    }


def test_only_a_division_by_a_safe_constant_may_be_speculated() -> None:
    block = Block([I32])
    builder = Builder.at_end(block)
    divisors = [builder.insert(arith.Constant(i32(n))).result for n in (0, -1, 3)]
    assert [arith.DivSI(block.arguments[0], d).is_speculatable() for d in divisors] == [False, False, True]
    assert [arith.DivUI(block.arguments[0], d).is_speculatable() for d in divisors] == [False, True, True]


def test_flags_are_kept_in_declaration_order_and_fast_is_all() -> None:
    assert arith.FastMathFlagsAttr.of(["contract", "nnan"]).value == "nnan,contract"
    every = ["reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"]
    assert arith.FastMathFlagsAttr.of(every) is arith.FastMathFlagsAttr("fast")
    assert arith.FastMathFlagsAttr.of([]).value == "none"


def test_an_unknown_flag_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown fastmath 'speedy'"):
        arith.FastMathFlagsAttr.of(["speedy"])


def test_a_number_has_a_constant_and_a_string_has_none() -> None:
    from tessera_tools.ir.builtin_attributes import StringAttr

    type = VectorType((2,), I8)
    made = arith.make_constant(DenseElementsAttr.of(type, [1, 2]), type)
    assert isinstance(made, arith.Constant)
    assert arith.make_constant(StringAttr("x"), I8) is None


def test_select_by_a_vector_of_scalars_is_refused() -> None:
    text = """func.func @f(%c: vector<8xi1>, %a: i32) {
  %0 = "arith.select"(%c, %a, %a) : (vector<8xi1>, i32, i32) -> i32
  return
}"""
    with pytest.raises(
        DiagnosticError, match="expected condition to be a signless i1, but got 'vector<8xi1>'"
    ):
        verify_or_raise(parse_module(text))


def test_the_result_of_a_comparison_is_i1_in_the_shape_of_its_operands() -> None:
    block = Block([VectorType((4,), I32)])
    value = block.arguments[0]
    assert arith.CmpI(IntegerAttr(0), value, value).result.type is VectorType((4,), I1)
