"""Broken text: each error with its line, column and message, and every independent error of a file."""

from __future__ import annotations

import re
import time

import pytest

from tessera_tools.diagnostics import DiagnosticError, Sources, render
from tessera_tools.parser import parse_module
from tessera_tools.parser.lexical import MAX_DIGITS

FUNCTION = "func.func @f(%a: i32, %b: i64) {\n  BODY\n  func.return\n}\n"
UNREGISTERED = "--allow-unregistered-dialect"


def errors(text: str | bytes, **options: bool) -> list[tuple[int, int, str]]:
    """(line, column, message) of each error."""
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "in.mlir", **options)
    found: list[tuple[int, int, str]] = []
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.severity == "error" and diagnostic.location is not None
        start = diagnostic.location.start()
        assert start is not None and start[0] == "in.mlir"
        found.append((start[1], start[2], diagnostic.message))
    return found


def in_function(body: str) -> list[tuple[int, int, str]]:
    """The errors of a function with that body, which starts at line 2, column 3."""
    return errors(FUNCTION.replace("BODY", body))


@pytest.mark.parametrize(
    ("body", "line", "column", "message"),
    [
        ("%0 = arith.adi %a, %a : i32", 2, 8, "unknown op 'arith.adi'; did you mean 'arith.addi'?"),
        ("%0 = arith.adddi %a, %a : i32", 2, 8, "unknown op 'arith.adddi'; did you mean 'arith.addi'?"),
        ("%0 = arit.addi %a, %a : i32", 2, 8, "unknown dialect 'arit' of op 'arit.addi'; did you mean 'arith"),
        ("%0 = nowhere.op %a : i32", 2, 8, "unknown dialect 'nowhere' of op 'nowhere.op'"),
        ('"nowhere.op"() : () -> ()', 2, 3, f"op 'nowhere.op' has unregistered dialect 'nowhere'; use {UNREGISTERED}"),
        ('"func.nothing"() : () -> ()', 2, 3, "unregistered operation 'func.nothing' found in dialect ('func')"),
        ('"scf.nothing"() : () -> ()', 2, 3, f"unknown op 'scf.nothing'; use {UNREGISTERED}"),
        ("llvm.intr.sadd.with.overflow %a", 2, 3, "op 'llvm.intr.sadd.with.overflow' has no custom form; write it"),
        ("%0 = arith.addi %a, %b : i32", 2, 23, "use of value '%b' expects different type than prior uses"),
        ("%0 = arith.addi %a, %c : i32", 2, 23, "use of undeclared SSA value name '%c'"),
        ("%0 = arith.addi %a, %c4 : i32", 2, 23, "define it ('%c4 = arith.constant 4 : index')"),
        ("%a = arith.addi %a, %a : i32", 2, 3, "redefinition of SSA value '%a'"),
        ("%0:2 = arith.addi %a, %a : i32", 2, 3, "operation defines 1 results but was provided 2 to bind"),
        ("%0, %1 = arith.addi %a, %a : i32", 2, 3, "operation defines 1 results but was provided 2 to bind"),
        ("%0 = arith.addi %a#1, %a : i32", 2, 19, "reference to invalid result number: '%a' has 1 results"),
        (f"%0 = arith.addi %a#{'9' * 9999}, %a : i32", 2, 19, "reference to invalid result number"),
        (f"%0:{'9' * 9999} = arith.addi %a, %a : i32", 2, 3, "operation defines 1 results but was provided"),
        ("cf.br ^bb7", 2, 9, "reference to an undefined block '^bb7'"),
        ("cf.br ^a\n^a:\n  cf.br ^a\n^a:\n  cf.br ^a", 5, 1, "redefinition of block '^a'"),
        ('"test.x"() {a = 1, a = 2} : () -> ()', 2, 22, "duplicate key 'a' in dictionary attribute"),
        ('%0 = "arith.addi"(%a) : (i32, i32) -> i32', 2, 8, "expected 1 operand types but had 2"),
        ("%0 = arith.addi %a %a : i32", 2, 22, "expected ',', found '%'"),
        ("%0 = arith.addi %a, %a : i3x", 2, 28, "expected a type, found 'i3x'"),
        ("%0 = arith.addi %a, %a {a = } : i32", 2, 31, "expected an attribute, found '}'"),
        ("%0 = arith.constant 300 : i8", 2, 23, "integer constant out of range for type i8: 300"),
        ("%0 = arith.constant #none", 2, 23, "undefined attribute alias '#none'; define it with '#none = …'"),
        ("%0 = arith.constant 1 : !none", 2, 27, "undefined type alias '!none'; define it with '!none = …'"),
        ("%0 = arith.constant #foo.bar", 2, 23, f"dialect 'foo' is not registered; use {UNREGISTERED}"),
        ("%0 = arith.constant 1 : !foo.bar", 2, 27, f"dialect 'foo' is not registered; use {UNREGISTERED}"),
        ("%0 = arith.constant 1 : !llvm.bar", 2, 27, "unknown type '!llvm.bar' in dialect 'llvm'"),
        ("%0 = arith.constant dense<256> : tensor<2xi8>", 2, 29, "integer constant out of range for type i8: 256"),
        ("%0 = arith.constant dense<-129> : tensor<2xi8>", 2, 29, "integer constant out of range for type i8: -129"),
        ("%0 = arith.constant dense<[1,[2]]> : tensor<2xi32>", 2, 29, "ranks are not consistent between elements"),
        ("%0 = arith.constant dense<[1]> : tensor<2xi32>", 2, 23, "shape of elements literal (1) does not match"),
        ("%0 = arith.constant 1 : tensor<99999999999999999999xi32>", 2, 34, "dimension is too large"),
        (f"%0 = arith.constant {'1' * 1_000_000} : i32", 2, 23, "number is too long"),
        (f"%0 = arith.constant 0x{'1' * 1_000_000} : i32", 2, 23, "number is too long"),
        (f"%0 = arith.constant 1.{'1' * 1_000_000} : f32", 2, 23, "number is too long"),
        (f'"test.x"() {{a = {"1" * 1_000_000}}} : () -> ()', 2, 19, "number is too long"),
        ('%0 = arith.constant "\\zz"', 2, 23, "unknown escape in string literal"),
        ('"abc', 2, 3, "the string is not closed on its line"),
        ("\x01", 2, 3, "found character U+0001"),
        ("é", 2, 3, "unexpected character 'é'"),
        ("scf.for %i = %a to %a stp %a { }", 2, 25, "expected 'step', found 'stp'"),
        ('"test.x"() {a = affine_map<(d0) -> (d1)>} : () -> ()', 2, 39, "use of undeclared identifier 'd1'"),
        ('"test.x"() {a = affine_map<(d0, d0) -> ()>} : () -> ()', 2, 35, "redefinition of affine identifier 'd0'"),
        ('"test.x"() {a = affine_map<(d0)[d0] -> ()>} : () -> ()', 2, 35, "redefinition of affine identifier 'd0'"),
        ('"test.x"() {a = affine_map<(d0, d1) -> (d0 * d1)>} : () -> ()', 2, 46,
         "non-affine expression: one factor must be a symbol or constant"),
        ('"test.x"() {a = affine_map<(d0, d1) -> (d0 mod d1)>} : () -> ()', 2, 46,
         "non-affine expression: right operand of mod must be a symbol or constant"),
        ('"test.x"() {a = affine_map<(d0) -> (+)>} : () -> ()', 2, 39, "expected an affine expression, found '+'"),
        ('"test.x"() {a = affine_set<(d0) : (d0 < 1)>} : () -> ()', 2, 41, "expected '>=', '<=' or '==', found '<'"),
        ('"test.x"() {a = -} : () -> ()', 2, 19, "expected a number, found '-'"),
        ('"test.x"() {a = 1.5 : i32} : () -> ()', 2, 19, "floating point value not valid for type i32"),
        ('"test.x"() {a = #} : () -> ()', 2, 20, "expected a dialect attribute or alias name after '#'"),
        ('"test.x"() {a = !} : () -> ()', 2, 20, "expected a dialect type or alias name after '!'"),
        ('"test.x"() {a = #gpu<foo x>} : () -> ()', 2, 19, "unknown attribute '#gpu<foo …>' in dialect 'gpu'"),
        ('"test.x"() {a = #gpu<1>} : () -> ()', 2, 24, "expected valid keyword, found '1'"),
        ('"test.x"() {a = #llvm.foo} : () -> ()', 2, 19, "unknown attribute '#llvm.foo' in dialect 'llvm'"),
        ('"test.x"() {a = {1}} : () -> ()', 2, 20, "expected an attribute name, found '1'"),
        ('"test.x"() {a = @a::b} : () -> ()', 2, 23, "expected a symbol '@name', found 'b'"),
        ('"test.x"() {a = () -> i32 -> i32} : () -> ()', 2, 29, "a function type as result must be in parentheses"),
        ('"test.x"() : i32', 2, 16, "custom op 'test.x' expected a function type '(…) -> …', found 'i32'"),
        ('"test.x"() {a = i9999999999} : () -> ()', 2, 19, "integer bitwidth is limited to 16777215 bits"),
        ('"test.x"() {a = memref<2xi32, 1, 2>} : () -> ()', 2, 19, "unexpected memref parameter '2 : i64'"),
        ('"test.x"() {a = !llvm.array<x i32>} : () -> ()', 2, 31, "expected an extent and 'x', found 'x'"),
        (f'"test.x"() {{a = !llvm.ptr<{"1" * 9999}>}} : () -> ()', 2, 29,
         "integer literal is too long (limit 4000 digits)"),
        (f'"test.x"() {{a = {"[" * 999}}} : () -> ()', 2, 275, "types and attributes nest deeper than 256 levels"),
        (f"cf.switch %a : i32, [default: ^b, {'1' * 9999}: ^b]\n^b:", 2, 37, "number is too long (limit 4000 digits)"),
        ("%0 = func.return", 2, 3, "cannot name an operation with no results"),
        ("%0:0, %1 = arith.addi %a, %a : i32", 2, 3, "expected named operation to have at least 1 result"),
        ("%0 = arith.constant dense<1> : i32", 2, 23, "elements literal must have a static shaped type, found i32"),
        ("%0 = arith.constant sparse<[[0]], [1]> : tensor<?xi32>", 2, 23,
         "elements literal must have a static shaped type, found tensor<?xi32>"),
        ("%0 = arith.constant dense<x> : tensor<2xi32>", 2, 29,
         "expected element literal of primitive type, found 'x'"),
        ("%0 = arith.constant dense<true> : tensor<2xi32>", 2, 29,
         "expected i1 type for 'true' or 'false' values, found i32"),
        (f"%0 = arith.constant dense<{'1' * 9999}> : tensor<2xi32>", 2, 29, "number is too long (limit 4000 digits)"),
        ('%0 = arith.constant dense<"0x1"> : tensor<2xi32>', 2, 23,
         "elements hex string must start with '0x' and hold pairs of hex digits"),
        ('"test.x"() {a = array<index: 1>} : () -> ()', 2, 19,
         "expected an integer or float element type for array, found index"),
        ('"cf.br"()[^b(%a : i32)] : () -> ()\n^b:', 2, 13,
         "successor operands are operands of the operation in the generic form"),
        ('"arith.constant"() <{value = 1 : i32}> {value = 1 : i32} : () -> i32', 2, 3,
         "'value' is given both as property and attribute"),
        ('"test.x"() {a = strided<[1], offset: x>} : () -> ()', 2, 40, "expected an integer, found 'x'"),
        ('"test.x"() {a = #llvm.di_file<1 in "x">} : () -> ()', 2, 33, "expected a string, found '1'"),
        ('"test.x"() {a = !llvm.array<99999999999999999999 x i32>} : () -> ()', 2, 31,
         "dimension is too large: it must fit in 63 bits"),
        ("cf.br ^b(%a, %b : i32)\n^b(%c: i32):", 2, 3, "2 operands present for 'dest_operands', but expected 1"),
        ("func.func @g(%z: i32) { ^c(%y: i32): return }", 2, 27,
         "the entry block's arguments are already bound by the operation"),
    ],
)  # fmt: skip
def test_one_error_with_its_place(body: str, line: int, column: int, message: str) -> None:
    found = in_function(body)
    assert found[0][:2] == (line, column), found
    assert message in found[0][2]
    assert len(found) == 1, found


@pytest.mark.parametrize("brackets", ["(]", "[)", "{)", "(}", "[}", "{]"])
def test_a_bracket_closed_by_another_kind_is_refused(brackets: str) -> None:
    text = f'"test.x"() {{a = #test.b<{brackets}>}} : () -> ()'
    assert errors(text, allow_unregistered=True)[0] == (1, 26, f"unbalanced '{brackets[1]}'")


def test_a_region_never_closed() -> None:
    ((line, column, message),) = errors("module {\n  module {\n  }\n")
    assert (line, column) in ((3, 4), (4, 1))
    assert "'}'" in message and "end of file" in message


def test_a_region_closed_twice() -> None:
    assert errors("module {\n}\n}\n") == [(3, 1, "expected an operation or end of file, found '}'")]


def test_an_operand_defined_only_inside_the_op() -> None:
    text = '"test.a"(%x) ({\n  %x = arith.constant 1 : i32\n}) : (i32) -> ()'
    ((line, column, message),) = errors(text, allow_unregistered=True)
    assert (line, column) == (1, 10) and "inside the operation's regions" in message


def test_a_value_of_an_isolated_region_is_not_seen_outside() -> None:
    text = "func.func @f() {\n  %x = arith.constant 1 : i32\n  return\n}\n%y = arith.addi %x, %x : i32\n"
    assert errors(text) == [(5, 17, "use of undeclared SSA value name '%x'")]


def test_a_forward_reference_of_another_type_names_both() -> None:
    text = (
        'func.func @f() {\n  cf.br ^b\n^a:\n  "test.use"(%x) : (i32) -> ()\n  return\n^b:\n'
        "  %x = arith.constant 1 : i64\n  cf.br ^a\n}"
    )
    ((line, column, message),) = errors(text, allow_unregistered=True)
    assert (line, column) == (4, 14) and "'i32' vs 'i64'" in message


def test_the_redefinition_points_at_the_first_definition() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(FUNCTION.replace("BODY", "%a = arith.addi %a, %a : i32"), "in.mlir")
    (note,) = caught.value.diagnostics[0].notes
    assert note.message == "previously defined here"
    assert note.location is not None and note.location.start() == ("in.mlir", 1, 14)


@pytest.mark.parametrize(
    "text",
    [
        "tile.cp_wait_group NUMBER",
        '"test.x"() {a = NUMBER} : () -> ()',
        '"test.x"() {a = dense<NUMBER> : tensor<i32>} : () -> ()',
        '"test.x"() {a = affine_map<() -> (NUMBER)>} : () -> ()',
        '"test.x"() : () -> () loc("f":NUMBER:1)',
    ],
)
def test_a_number_may_have_as_many_digits_as_the_limit(text: str) -> None:
    """What it is too large for is another error."""
    longest = FUNCTION.replace("BODY", text.replace("NUMBER", "1" * MAX_DIGITS))
    try:
        parse_module(longest, allow_unregistered=True)
    except DiagnosticError as problem:
        assert "too long" not in problem.diagnostics[0].message
    longer = FUNCTION.replace("BODY", text.replace("NUMBER", "1" * (MAX_DIGITS + 1)))
    ((_, _, message),) = errors(longer, allow_unregistered=True)
    assert f"too long (limit {MAX_DIGITS} digits)" in message


def test_the_caret_stands_below_the_column() -> None:
    text = FUNCTION.replace("BODY", "%0 = arith.addi %a, %c : i32")
    sources = Sources()
    sources.add("in.mlir", text)
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "in.mlir")
    _, line, caret = render(caught.value.diagnostics[0], sources).splitlines()
    assert line[caret.index("^") :].startswith("%c")


def test_every_independent_error_is_told() -> None:
    text = """func.func @f(%a: i32) {
  %0 = arith.addi %c, %a : i32
  %1 = arith.adddi %a, %a : i32
  %2 = arith.addi %1, %a : i32
  %3 = arith.addi %a %a : i32
  %4 = arith.addi %0, %3 : i32
  scf.if %zz {
    %5 = arith.addi %d, %a : i32
    foo.bar
  }
  return
}
func.func @g( {
  return
}
func.func @h() {
  %6 = arith.addi %e, %e : i32
  return
}
"""
    assert [line for line, _, _ in errors(text)] == [2, 3, 5, 7, 8, 9, 13, 17]


def test_users_of_a_value_in_error_are_not_errors_themselves() -> None:
    body = "%0 = arith.adddi %a, %a : i32\n  %1 = arith.addi %0, %a : i32\n  %2 = arith.addi %1, %1 : i32"
    assert [line for line, _, _ in in_function(body)] == [2]


def test_no_more_than_twenty_syntax_errors() -> None:
    assert len(errors("module {\n" + "  foo.bar\n" * 1000 + "}\n")) == 20


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("#a = [#a]\n", 1, 7), ("#a = [#b]\n#b = [#a]\n", 2, 7), ("!a = tuple<!a>\n", 1, 12)],
)
def test_an_alias_defined_by_itself(text: str, line: int, column: int) -> None:
    ((*place, message),) = errors(text + "module {}")
    assert place == [line, column] and "is defined recursively" in message


def test_an_alias_defined_twice() -> None:
    assert errors("#a = 1 : i32\n#a = 2 : i32\n") == [(2, 1, "redefinition of alias '#a'")]


def test_invalid_utf8_is_found_at_its_byte() -> None:
    ((line, column, message),) = errors(b"module {\n  \xff\n}")
    assert (line, column) == (2, 3)
    assert message == "invalid UTF-8: byte 0xFF at offset 11; expected MLIR text"


DEEP = {
    "generic regions": '"a"() ({' * 5000 + "}) : () -> ()" * 5000,
    "modules": "module {\n" * 5000 + "}\n" * 5000,
    "types": "func.func private @f(" + "tuple<" * 5000 + ">" * 5000 + ")",
    "function types": "func.func private @f(" + "(" * 5000 + ")",
    "arrays": "module attributes {x.y = " + "[" * 5000 + "]" * 5000 + "} {}",
    "dictionaries": "module attributes {x.y = " + "{a=" * 5000 + "1" + "}" * 5000 + "} {}",
    "affine parentheses": "module attributes {x.y = affine_map<(d0)->(" + "(" * 5000 + ")>} {}",
    "affine minus signs": "module attributes {x.y = affine_map<(d0)->(" + "-" * 50000 + "d0)>} {}",
    "locations": "module {} loc(" + '"a"(' * 5000 + ")" * 5001,
    "dense brackets": "module attributes {x.y = dense<" + "[" * 5000 + "]" * 5000 + "> : tensor<1xi32>} {}",
    "aliases": "".join(f"#a{i} = [#a{i + 1}]\n" for i in range(5000)) + "module attributes {x.y = #a0} {}",
    "braces": "{" * 100_000,
    "parentheses": "(" * 100_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_too_deep_nesting_is_an_error_soon(name: str) -> None:
    before = time.monotonic()
    assert errors(DEEP[name], allow_unregistered=True)
    assert time.monotonic() - before < 10


def test_a_long_unclosed_string_is_an_error_soon() -> None:
    before = time.monotonic()
    assert errors('module attributes {x.y = "' + "a\\n" * 3_000_000)
    assert time.monotonic() - before < 10


SMALL = {
    "function": 'func.func @f(%a: i32 {x.y = "s"}) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n',
    "blocks": (
        "func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^b\n^a:  // one\n  return\n^b:\n"
        '  cf.br ^a\n} loc(#l)\n#l = loc("f":1:2)\n'
    ),
    "generic": (
        '%0:2 = "t.a"() <{p = dense<[1, 2]> : tensor<2xi32>}> ({\n^b(%x: i1):\n'
        '  "t.b"(%x)[^b] : (i1) -> ()\n}) {k} : () -> (i1, f32)\n'
    ),
    "types": (
        "#m = affine_map<(d0, d1)[s0] -> (d0 * 2 + d1 + s0)>\n"
        "func.func private @f(memref<?x4xf32, #m, 3>, vector<[4]xf32>, tensor<*xf32>, !llvm.struct<(i32)>)\n"
    ),
    "loop": (
        "func.func @f(%n: index) {\n  scf.for %i = %n to %n step %n {\n"
        "    %x = arith.constant 1.5e0 : f32\n  }\n  return\n}\n"
    ),
    "tile": (
        "cuda_tile.module @m {\n  entry @k(%p: tile<ptr<f32>>) {\n"
        "    %c = constant <i32: 4> : tile<i32>\n    return\n  }\n}\n"
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_file_cut_at_every_byte_is_valid_or_an_error(name: str) -> None:
    data = SMALL[name].encode()
    parse_module(data, allow_unregistered=True)
    for length in range(len(data)):
        try:
            parse_module(data[:length], "in.mlir", allow_unregistered=True)
        except DiagnosticError as failure:
            assert all(d.location is not None for d in failure.diagnostics)


@pytest.mark.parametrize("name", SMALL)
def test_a_file_with_any_character_replaced_is_valid_or_an_error(name: str) -> None:
    text = SMALL[name]
    for at in range(len(text)):
        for wrong in '"{(%':
            try:
                parse_module(text[:at] + wrong + text[at + 1 :], "in.mlir", allow_unregistered=True)
            except DiagnosticError:
                continue


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse_module(b"\xef\xbb\xbfmodule {\n}\n", "bom.mlir").name == "builtin.module"


def test_a_name_of_the_region_around_is_not_defined_again_in_an_isolated_op() -> None:
    text = "%0 = arith.constant 1 : i32\nfunc.func @f(%0: i32) {\n  return\n}\n"
    assert errors(text) == [(2, 14, "redefinition of SSA value '%0'")]
    text = "func.func @f(%a: i32) {\n  return\n}\nfunc.func @g(%a: i32) {\n  return\n}\n%a = arith.constant 1 : i32\n"
    assert parse_module(text).regions[0].entry.last_op is not None


def test_a_statement_that_lacks_its_end_does_not_hide_the_next_one() -> None:
    text = "entry @k(%a: tile<i32>) {\n  %x = assume\n  %y = addi %a %a : tile<i32>\n  return\n}\n"
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text)
    assert ["assume" in one.message for one in caught.value.diagnostics] == [True, False]
    assert "custom op 'cuda_tile.addi' expected ','" in caught.value.diagnostics[1].message


def test_a_region_goes_on_after_an_error_in_its_first_statement() -> None:
    """The arguments of the function are reduced only after its brace is read."""
    text = "entry @k(%a: tile<i32>) {\n  assume\n  return\n}\nentry @l() {\n  assume\n  return\n}\n"
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text)
    places = [one.location.start() for one in caught.value.diagnostics if one.location is not None]
    assert [place[1] for place in places if place is not None] == [3, 7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#foo.bar<[1, (2", "unbalanced brackets: end of file before the closing one"),
        ("#foo.bar<[1, (2>", "unbalanced '>'"),
    ],
)
def test_brackets_of_unregistered_attributes_are_balanced(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=f"error: {re.escape(message)}$"):
        parse_module(f"module attributes {{x.y = {text}", "f.mlir", allow_unregistered=True)
