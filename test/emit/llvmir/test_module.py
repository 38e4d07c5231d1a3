"""LLVM IR of whole modules against mlir-translate and LLVM's verifier."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from oracle import bodies, counts, verified

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.llvmir import emit_llvm_ir
from tessera_tools.parser import parse_module

DIALECTS = Path(__file__).resolve().parents[2] / "dialects"


def emit(text: str, **options: str) -> str:
    return emit_llvm_ir(parse_module(text, "test.mlir"), **options)  # type: ignore[arg-type]


def mlir_translate(text: str) -> str:
    tool = require_tool("mlir-translate-22")
    done = subprocess.run([tool, "--mlir-to-llvmir"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_nvvm_op_becomes_what_upstream_makes_of_it():
    text = (DIALECTS / "nvvm" / "inputs" / "ops.mlir").read_text().split("  llvm.func @guarded")[0] + "}\n"
    assert bodies(emit(text)) == bodies(mlir_translate(text))


def test_ops_that_upstream_lowers_to_inline_ptx_pass_llvms_verifier():
    text = emit((DIALECTS / "nvvm" / "inputs" / "ops.mlir").read_text())
    assert "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}" in verified(text)


def test_the_predicate_of_a_guarded_instruction_is_its_last_operand():
    text = emit((DIALECTS / "nvvm" / "inputs" / "ops.mlir").read_text())
    guarded = re.findall(r'"@\$(\d+) ([\w.]+).*?", "(.*?)"', text)
    assert {name.split(".")[0] for _, name, _ in guarded} >= {"mbarrier", "cp"}
    for number, name, constraints in guarded:
        operands = [one for one in constraints.split(",") if not one.startswith("~")]
        assert (operands[int(number) :], name) == (["b"], name)


def test_a_vector_of_bytes_is_no_string():
    text = emit("""llvm.mlir.global @a(dense<[65, 66]> : tensor<2xi8>) : !llvm.array<2 x i8>
llvm.func @f() -> vector<2xi8> {
  %0 = llvm.mlir.constant(dense<[65, 66]> : vector<2xi8>) : vector<2xi8>
  llvm.return %0 : vector<2xi8>
}""")
    assert "ret <2 x i8> <i8 65, i8 66>" in verified(text)
    assert '[2 x i8] c"AB"' in verified(text)


def test_a_comdat_is_declared_with_its_kind():
    text = emit("""llvm.comdat @group {
  llvm.comdat_selector @one any
  llvm.comdat_selector @two largest
}
llvm.func @one() comdat(@group::@one) {
  llvm.return
}""")
    assert {"$one = comdat any", "$two = comdat largest"} <= set(text.splitlines())
    assert "define void @one() comdat" in verified(text)


def test_the_data_layout_and_the_triple_of_the_module_are_there_once():
    text = emit(
        'module attributes {llvm.data_layout = "e-i64:64", llvm.target_triple = "nvptx64-nvidia-cuda"} {}'
    )
    assert [line for line in text.splitlines() if line.startswith("target ")] == [
        'target datalayout = "e-i64:64"',
        'target triple = "nvptx64-nvidia-cuda"',
    ]


def test_what_is_not_printable_in_inline_assembly_is_escaped():
    text = emit(r"""llvm.func @f() {
  llvm.inline_asm has_side_effects "// \1F ~\7F\22\5C", "" : () -> ()
  llvm.return
}""")
    assert r'asm sideeffect "// \1F ~\7F\22\5C", ""()' in text
    verified(text)


@pytest.mark.parametrize(
    ("assembly", "together"),
    [
        ("bar.arrive 1, 256;", True),
        ("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", True),
        ("wgmma.fence.sync.aligned;", True),
        ("tcgen05.wait::ld.sync.aligned;", True),
        ("brev.b32 $0, $1;", False),
        ("fence.proxy.async.global;", False),
        ("mbarrier.arrive.shared.b64 _, [$0];", False),
    ],
)
def test_assembly_that_threads_execute_together_is_convergent(assembly: str, together: bool):
    """LLVM must not put it under further conditions."""
    text = emit(f"""llvm.func @f() {{
  llvm.inline_asm has_side_effects "{assembly}", "" : () -> ()
  llvm.return
}}""")
    assert f'"{assembly}", ""(){" convergent" * together}\n' in text
    verified(text)


def test_a_product_in_inline_ptx_is_convergent():
    text = emit("""llvm.func @f(%i: i32, %f: f32, %z: i16) {
  %0 = nvvm.mma.block_scale A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f] scaleA[%i, %z, %z] scaleB[%i, %z, %z]
    {shape = #nvvm.shape<m = 16, n = 8, k = 32>, multiplicandAPtxType = #nvvm.mma_type<e4m3>,
     multiplicandBPtxType = #nvvm.mma_type<e4m3>, scaleVecSize = #nvvm.scale_vec_size<x1>,
     blockScaleFormat = #nvvm.block_scale_format<ue8m0>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}""")
    [product] = [line for line in verified(text).splitlines() if 'asm sideeffect "mma.' in line]
    [attributes] = [line for line in verified(text).splitlines() if line.startswith("attributes #0")]
    assert product.endswith(" #0") and "convergent" in attributes


def test_every_llvm_op_becomes_an_instruction_that_llvm_accepts():
    text = (DIALECTS / "llvm" / "inputs" / "ops.mlir").read_text()
    ours, theirs = counts(emit(text)), counts(mlir_translate(text))
    # Upstream's builder folds constants away; nothing else may differ.
    folded = ours - theirs
    assert set(folded) <= {
        "fadd",
        "fneg",
        "fcmp",
        "select",
        "bitcast",
        "insertvalue",
        "insertelement",
        "shufflevector",
    }
    assert not theirs - ours


def test_every_set_of_fastmath_flags_becomes_what_upstream_makes_of_it():
    names = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")
    sets = [", ".join(chosen) for size in range(1, 8) for chosen in combinations(names, size)]
    lines = [
        f"llvm.fadd %a, %a {{fastmathFlags = #llvm.fastmath<{flags}>}} : f32"
        for flags in (*sets, "none", "fast")
    ]
    text = "llvm.func @f(%a: f32) {\n" + "\n".join(lines) + "\nllvm.return\n}\n"
    ours, theirs = (
        [line.split("fadd ")[1].split("float")[0] for line in made.splitlines() if "fadd" in line]
        for made in (emit(text), mlir_translate(text))
    )
    assert ours == theirs and len(ours) == len(lines)


def test_kernel_attributes_become_llvms():
    text = verified(
        emit(
            "llvm.func @k(%p: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}) attributes "
            "{nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.maxnreg = 255 : i32} { llvm.return }"
        )
    )
    assert "define ptx_kernel void @k(" in text
    assert 'byval([128 x i8]) "nvvm.grid_constant" %0' in text
    assert '"nvvm.maxnreg"="255"' in text
    assert '"nvvm.reqntid"="128,1,1"' in text


def test_phi_nodes_of_a_loop():
    text = """
    llvm.func @f(%n: i32) -> i32 {
      %zero = llvm.mlir.constant(0 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      llvm.br ^head(%zero : i32)
    ^head(%i: i32):
      %next = llvm.add %i, %one : i32
      %more = llvm.icmp "slt" %next, %n : i32
      llvm.cond_br %more, ^head(%next : i32), ^done
    ^done:
      llvm.return %i : i32
    }"""
    assert counts(emit(text)) == counts(mlir_translate(text))
    assert "%1 = phi i32 [ 0, %bb0 ], [ %2, %bb1 ]" in verified(emit(text))


def test_two_edges_to_one_block_with_other_operands_get_a_block_between():
    text = """
    llvm.func @f(%c: i1, %a: i32, %b: i32) -> i32 {
      llvm.cond_br %c, ^done(%a : i32), ^done(%b : i32)
    ^done(%x: i32):
      llvm.return %x : i32
    }"""
    assert counts(emit(text))["br"] == 2


def test_values_used_before_their_block_stands_in_the_text():
    text = """
    llvm.func @f(%n: i32) -> i32 {
      llvm.br ^second
    ^first:
      llvm.return %x : i32
    ^second:
      %x = llvm.add %n, %n : i32
      llvm.br ^first
    }"""
    assert counts(emit(text)) == {"br": 2, "add": 1, "ret": 1}


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        ("llvm.mlir.constant(0x7FC00000 : f32) : f32", "float 0x7FF8000000000000"),
        ("llvm.mlir.constant(-0.0 : f32) : f32", "float -0.000000e+00"),
        ("llvm.mlir.constant(1.5 : f16) : f16", "half 0xH3E00"),
        ("llvm.mlir.constant(1.5 : bf16) : bf16", "bfloat 0xR3FC0"),
        ("llvm.mlir.constant(-1 : i8) : i8", "i8 -1"),
        ("llvm.mlir.constant(dense<[1, 2]> : vector<2xi32>) : vector<2xi32>", "<2 x i32> <i32 1, i32 2>"),
        (
            "llvm.mlir.constant(dense<2.0> : vector<4xf32>) : vector<4xf32>",
            "<4 x float> splat (float 2.000000e+00)",
        ),
        ('llvm.mlir.constant("a\\00") : !llvm.array<2 x i8>', '[2 x i8] c"a\\00"'),
        ("llvm.mlir.constant([1 : i32, 2 : i8]) : !llvm.struct<(i32, i8)>", "{ i32, i8 } { i32 1, i8 2 }"),
        (
            "llvm.mlir.constant([1 : i32, 2 : i8]) : !llvm.struct<packed (i32, i8)>",
            "<{ i32, i8 }> <{ i32 1, i8 2 }>",
        ),
        ("llvm.mlir.zero : !llvm.ptr<3>", "ptr addrspace(3) null"),
        ("llvm.mlir.poison : f32", "float poison"),
    ],
)
def test_constants(constant: str, expected: str):
    type = constant.rsplit(" : ", 1)[1]
    text = f"llvm.func @f() -> {type} {{ %0 = {constant}\n llvm.return %0 : {type} }}"
    assert f"ret {expected}" in verified(emit(text))


def test_shared_memory_globals():
    text = verified(
        emit("""
    llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
    llvm.mlir.global internal @fixed() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x i8>
    llvm.func @f() -> !llvm.ptr<3> {
      %0 = llvm.mlir.addressof @fixed : !llvm.ptr<3>
      llvm.return %0 : !llvm.ptr<3>
    }""")
    )
    assert "@dynamic = external addrspace(3) global [0 x i8], align 16" in text
    assert "@fixed = internal addrspace(3) global [64 x i8] undef, align 128" in text


def test_globals_with_computed_initial_values():
    text = """
    llvm.mlir.global internal @a(1 : i32) : i32
    llvm.mlir.global internal constant @b() : !llvm.struct<(ptr, i64)> {
      %0 = llvm.mlir.addressof @a : !llvm.ptr
      %1 = llvm.ptrtoint %0 : !llvm.ptr to i64
      %2 = llvm.mlir.undef : !llvm.struct<(ptr, i64)>
      %3 = llvm.insertvalue %0, %2[0] : !llvm.struct<(ptr, i64)>
      %4 = llvm.insertvalue %1, %3[1] : !llvm.struct<(ptr, i64)>
      llvm.return %4 : !llvm.struct<(ptr, i64)>
    }"""
    assert "{ ptr, i64 } { ptr @a, i64 ptrtoint (ptr @a to i64) }" in verified(emit(text))


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        ("7 : index", "i64", "i64 7"),
        ("1.0 : f8E4M3FN", "i8", "i8 56"),
        ("dense<1.0> : tensor<2xf8E4M3FN>", "!llvm.array<2 x i8>", "[2 x i8]"),
    ],
)
def test_an_initial_value_whose_type_llvm_does_not_have_is_stored_as_bits(
    value: str, type: str, expected: str
):
    assert f"@g = global {expected}" in verified(emit(f"llvm.mlir.global @g({value}) : {type}"))


LOCATED = """
llvm.func @f(%a: i32) -> i32 {
  %0 = llvm.add %a, %a : i32 loc("k.py":7:3)
  llvm.return %0 : i32 loc("k.py":8:5)
} loc("k.py":5:1)
"""


def test_positions_for_loc_directives():
    text = verified(emit(LOCATED, debug="directives"))
    assert "emissionKind: DebugDirectivesOnly" in text
    assert "!DILocation(line: 7, column: 3" in text
    assert 'distinct !DISubprogram(name: "f"' in text


def test_line_tables():
    assert "emissionKind: LineTablesOnly" in verified(emit(LOCATED, debug="lines"))


def test_no_debug_information_unless_asked_for():
    assert "!dbg" not in emit(LOCATED)


def test_an_op_without_translation_is_refused_with_the_pass_to_run():
    with pytest.raises(DiagnosticError) as caught:
        emit("llvm.func @f(%a: i32) {\n  %0 = arith.addi %a, %a : i32\n  llvm.return\n}")
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.message == (
        "'arith.addi' op has no translation to LLVM IR; run the pass --convert-tileas-to-llvm first"
    )
    assert diagnostic.location is not None and diagnostic.location.start() == ("test.mlir", 2, 8)


def refused(text: str, **options: str) -> str:
    """The error of a module, with its place."""
    with pytest.raises(DiagnosticError) as caught:
        emit(text, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("llvm.func @f(%a: index)", "'llvm.func' op has the type 'index', which has no counterpart in LLVM IR"),
        (
            "llvm.func @f(%a: i32 {llvm.unheard_of})",
            "'llvm.func' op has the parameter attribute 'llvm.unheard_of', which has no translation to LLVM IR",
        ),
        (
            "llvm.func @f() attributes {passthrough = [1 : i32]}",
            "'llvm.func' op has the passthrough entry '1 : i32'; expected a string or an array of two strings",
        ),
        (
            'llvm.func @f() attributes {passthrough = [["a"]]}',
            "'llvm.func' op has the passthrough entry '[\"a\"]'; expected a string or an array of two strings",
        ),
        (
            "llvm.module_flags [1 : i32]",
            "'llvm.module_flags' op has the entry '1 : i32'; expected #llvm.mlir.module_flag<…>",
        ),
        (
            'llvm.module_flags [#llvm.mlir.module_flag<append, "CG Profile", []>]',
            "'llvm.module_flags' op has the module flag value '[]', which has no translation to LLVM IR; expected an "
            "integer or a string",
        ),
        (
            "llvm.mlir.global @g() : i32 { %0 = llvm.mlir.constant(1 : i32) : i32 }",
            "'llvm.mlir.global' op initializer region has no llvm.return",
        ),
        (
            "llvm.mlir.global @g([1 : i32]) : !llvm.ptr",
            "'llvm.mlir.global' op has the value '[1 : i32]', which is not a constant of type '!llvm.ptr'",
        ),
        (
            "llvm.mlir.global @g([1 : i32]) : !llvm.array<2 x i32>",
            "'llvm.mlir.global' op has a value of 1 elements, and its type '!llvm.array<2 x i32>' has 2",
        ),
        (
            "llvm.mlir.global @g([dense<1.0> : tensor<2xf32>]) : !llvm.array<1 x array<2 x i32>>",
            "'llvm.mlir.global' op has the value 'dense<1.000000e+00> : tensor<2xf32>', which is not a constant of "
            "type '!llvm.array<2 x i32>'",
        ),
        (
            "llvm.mlir.global @g([dense<1> : tensor<3xi32>]) : !llvm.array<1 x array<2 x i32>>",
            "'llvm.mlir.global' op has the value 'dense<1> : tensor<3xi32>', which is not a constant of type "
            "'!llvm.array<2 x i32>'",
        ),
        (
            "llvm.mlir.global @g({a}) : i32",
            "'llvm.mlir.global' op has the value '{a}', which is not a constant of type 'i32'",
        ),
    ],
)  # fmt: skip
def test_a_symbol_that_llvm_ir_does_not_have_is_refused(text: str, says: str):
    assert refused(text) == f"test.mlir:1:1: error: {says}"


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ("llvm.mlir.constant(1 : i32) : !llvm.ptr",
         "llvm.mlir.constant' op has the value '1 : i32', which is not a constant of type '!llvm.ptr'"),
        ("llvm.mlir.constant([1 : i32, 2 : i32]) : !llvm.struct<(i32, ptr)>",
         "llvm.mlir.constant' op has the value '2 : i32', which is not a constant of type '!llvm.ptr'"),
        ("llvm.mlir.constant(1.0 : f8E4M3FN) : f8E4M3FN",
         "llvm.mlir.constant' op has the type 'f8E4M3FN', which has no counterpart in LLVM IR"),
        ("llvm.load %p {alias_scopes = [1 : i32]} : !llvm.ptr -> i32",
         "llvm.load' op has the attribute '1 : i32', which has no metadata in LLVM IR"),
    ],
)  # fmt: skip
def test_a_constant_or_metadata_that_llvm_ir_does_not_have_is_refused(op: str, says: str):
    text = f"llvm.func @f(%p: !llvm.ptr) {{\n  %0 = {op}\n  llvm.return\n}}"
    assert refused(text) == f"test.mlir:2:8: error: '{says}"


@pytest.mark.parametrize(
    ("value", "type", "says"),
    [
        ("llvm.load %p : !llvm.ptr -> i32", "i32",
         "llvm.load' op is not a constant expression; a global's initial value must be one"),
        ("llvm.insertvalue %i, %s[0, 0] : !llvm.struct<(struct<(i32)>)>", "!llvm.struct<(struct<(i32)>)>",
         "llvm.insertvalue' op inserts into a nested aggregate, which a global's initial value cannot express"),
    ],
)  # fmt: skip
def test_an_initial_value_that_is_no_constant_is_refused(value: str, type: str, says: str):
    text = f"""llvm.mlir.global @g() : {type} {{
  %p = llvm.mlir.addressof @g : !llvm.ptr
  %i = llvm.mlir.constant(1 : i32) : i32
  %s = llvm.mlir.undef : !llvm.struct<(struct<(i32)>)>
  %v = {value}
  llvm.return %v : {type}
}}"""
    assert refused(text) == f"test.mlir:5:8: error: '{says}"


def test_debug_information_that_llvm_ir_does_not_have_is_refused():
    text = """llvm.func @f() {
  llvm.return
} loc(fused<#llvm.di_subprogram<scope = 7 : i32, name = "f", file = <"f.c" in "/">>>["f.c":3:1])"""
    assert refused(text, debug="full") == (
        "f.c:3:1: error: 'llvm.func' op has the debug information '7 : i32', which has no translation to LLVM IR"
    )


def test_only_a_module_is_translated():
    function = parse_module("llvm.func @f() {\n  llvm.return\n}", "test.mlir").regions[0].entry.first_op
    assert function is not None
    with pytest.raises(DiagnosticError) as caught:
        emit_llvm_ir(function)
    assert str(caught.value) == (
        "test.mlir:1:1: error: 'llvm.func' op is not a module to translate; expected builtin.module or gpu.module"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("llvm.mlir.global @g(5 : i32) : !llvm.ptr", "expected integer type for integer attribute"),
        (
            "llvm.mlir.global @g(1.0 : f64) : f32",
            "attribute and type have different float semantics: f64 and f32",
        ),
        (
            "llvm.mlir.global @g([1 : i64]) : !llvm.struct<(i32)>",
            "struct element at index 0 is of wrong type",
        ),
        *[
            (
                f"llvm.mlir.global @g({value} : {given}) : {wanted}",
                f"has an initial value of type '{given}', but its own type is '{wanted}'; write the value as "
                f"'{wanted}'",
            )
            for value, given, wanted in [
                ("1.0", "f32", "i32"),
                ("7", "i64", "i32"),
                ("7", "i32", "i64"),
                ("7", "i32", "f32"),
                ("7", "index", "i32"),
            ]
        ],
        (
            "llvm.mlir.global @g(dense<1.0> : tensor<2xf32>) : !llvm.array<2 x i32>",
            "has an initial value of type 'f32', but its own type is 'i32'; write the value as 'i32'",
        ),
    ],
)
def test_an_initial_value_of_another_type_is_refused(text: str, problem: str):
    """MLIR lets it stand; LLVM has no such constant."""
    with pytest.raises(DiagnosticError) as found:
        emit(text)
    (diagnostic,) = found.value.diagnostics
    assert diagnostic.message == f"'llvm.mlir.global' op {problem}"
    assert diagnostic.location is not None and diagnostic.location.start() == ("test.mlir", 1, 1)
