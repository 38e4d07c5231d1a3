"""Assembly formats: what they compile to, and what is refused when they are compiled."""

from __future__ import annotations

import itertools

import pytest

from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.opdef import (
    ANY_TYPE,
    I32_ATTR,
    UNIT_ATTR,
    CustomDirective,
    Op,
    attribute,
    operand,
    optional_operand,
    region,
    same_as,
    variadic_operand,
)
from tessera_tools.opdef import result as output
from tessera_tools.opdef.elements import Helpers
from tessera_tools.opdef.format import Format, FormatError

_numbers = itertools.count()


def compile(text: str) -> Format:
    """The format of an op with an operand, an optional and a variadic one, two attributes, a region and a result."""

    class Sample(Op, name=f"unit.sample{next(_numbers)}"):
        a = operand()
        maybe = optional_operand(ANY_TYPE)
        rest = variadic_operand(ANY_TYPE)
        number = attribute(I32_ATTR, optional=True)
        flag = attribute(UNIT_ATTR, optional=True)
        body = region()
        r = output(same_as("a"))
        assembly = text

    return Sample.definition.format


ALL = "$a $maybe `,` $rest"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ALL} $nothing", "names '\\$nothing', which is not declared"),
        ("$a", "does not name operand '\\$maybe'"),
        (f"{ALL} $r", "result '\\$r' is only allowed in type"),
        (f"{ALL} (`x` $number^", "a group is not closed"),
        (f"{ALL} (`x` $number)?", "an optional group needs an anchor"),
        (f"{ALL} unknown-word", "unknown directive 'unknown-word'"),
        (f"{ALL} ^", "unexpected '\\^'"),
        (f"{ALL} custom<NoSuchDirective>($a)", "custom<NoSuchDirective> is not defined"),
        (f"{ALL} type $a", "expected '\\(' in the format"),
        (f"{ALL} ;", "cannot read the format at ';'"),
        (f"{ALL} type($nothing)", "names '\\$nothing', which is not declared"),
        (f"{ALL} functional-type(operands)", "expected ',' in the format"),
        ("$a $rest $maybe", "where '\\$rest' ends and '\\$maybe' begins is ambiguous"),
        ("$rest `,` $a $maybe", "where '\\$rest' ends and '\\$a' begins is ambiguous"),
        (f"{ALL} type($maybe) type($rest)", "where '\\$maybe' ends and '\\$rest' begins is ambiguous"),
        (f"{ALL} custom<Sample($a)", "cannot read|unknown directive"),
    ],
)
def test_a_bad_format_is_refused_with_the_ops_name(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        compile(text)
    assert str(caught.value).startswith("unit.sample")


def test_a_result_whose_type_nothing_gives_is_refused() -> None:
    class Untyped(Op, name="unit.untyped"):
        a = operand()
        r = output()
        assembly = "$a attr-dict `:` type($a)"

    with pytest.raises(FormatError, match="unit.untyped: the type of result 'r' cannot be inferred"):
        _ = Untyped.definition.format


def test_the_grammar_symbols_of_each_element() -> None:
    helpers = Helpers("unit")
    format = compile(
        "$a `,` $maybe `(` $rest `)` (`x` `=` $number^)? $body attr-dict-with-keyword `:` type($a)"
    )
    assert format.symbols(helpers) == (
        'VALUE "," optional_value "(" value_list ")" unit_group_0 region attr_dict_with_keyword ":" TYPE'
    )
    assert helpers.rules == {'"x" "=" INTEGER -> present |  -> absent': "unit_group_0"}


def test_equal_groups_share_a_rule() -> None:
    helpers = Helpers("unit")
    compile(f"{ALL} (`x` $number^)?").symbols(helpers)
    compile(f"{ALL} (`x` $number^)?").symbols(helpers)
    assert len(helpers.rules) == 1


def test_a_unit_attribute_beside_a_keyword_is_told_by_the_groups_presence() -> None:
    helpers = Helpers("unit")
    compile(f"{ALL} (`fast` $flag^)?").symbols(helpers)
    assert list(helpers.rules) == ['"fast" -> present |  -> absent']


def test_attributes_written_elsewhere_are_left_out_of_the_dictionary() -> None:
    from tessera_tools.opdef.elements import AttrDict

    format = compile(f"{ALL} (`x` $number^)? attr-dict")
    (dictionary,) = [d for d in format.directives if isinstance(d, AttrDict)]
    assert dictionary.elide == {"number", "operandSegmentSizes", "resultSegmentSizes"}


def test_a_custom_directive_is_found_in_its_own_module_first() -> None:
    class Mine(CustomDirective, name="Groups"):
        grammar = "custom: VALUE"

    assert CustomDirective.find(__name__, "Groups") is Mine


def test_a_custom_directive_takes_the_names_between_its_parentheses() -> None:
    given: list[list[str]] = []

    class Named(CustomDirective, name="Named"):
        grammar = "custom: VALUE"

        def __init__(self, arguments: list[str]) -> None:
            super().__init__(arguments)
            given.append(arguments)

    compile(f"{ALL} custom<Named>($a, type($rest), ref($number)) $body")
    compile(f"{ALL} custom<Named> $body")
    assert given == [["a", "rest", "number"], []]
    with pytest.raises(FormatError, match=r"custom<Named>\( is not closed"):
        compile(f"{ALL} custom<Named>($a, type($rest) $body")


def test_a_keyword_enumeration_says_what_it_expects() -> None:
    from tessera_tools.opdef import integer_enum

    kind = integer_enum("direction", {"up": 0, "down": 1})
    assert kind.build(("up", 0)) is ba.i64(0)
    with pytest.raises(ValueError, match="'left'.*expected one of up, down|expected one of up, down"):
        kind.build(("left", 0))
