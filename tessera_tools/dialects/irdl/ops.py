"""The ops of `irdl`: a dialect, its operations, types and attributes, and the constraints on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera_tools.dialects.irdl.attributes import (
    OPTIONAL,
    SINGLE,
    VARIADIC,
    AttributeType,
    RegionType,
    VariadicityArrayAttr,
)
from tessera_tools.ir.builtin_attributes import UNIT, ArrayAttr, IntegerAttr, StringAttr, quote, symbol_text
from tessera_tools.ir.core import Block, Operation
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import I32
from tessera_tools.opdef import (
    ANY_ATTR,
    I32_ATTR,
    ISOLATED_FROM_ABOVE,
    NO_TERMINATOR,
    PURE,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_REF,
    SYMBOL_TABLE,
    UNIT_ATTR,
    AttrKind,
    CustomDirective,
    HasParent,
    Op,
    Trait,
    attribute,
    exactly,
    of_class,
    region,
    result,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.ir.builtin_attributes import SymbolRefAttr
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

ATTRIBUTE = exactly(AttributeType())
REGION = exactly(RegionType())
STRING_ARRAY: AttrKind[ArrayAttr[StringAttr]] = AttrKind(
    "string array attribute",
    lambda a: isinstance(a, ArrayAttr) and all(isinstance(name, StringAttr) for name in a),
)


class AtMostOneChildOf(Trait):
    """The body has at most one op of each of `names`."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def verify(self, op: Operation) -> None:
        seen: set[str] = set()
        for child in op.regions[0].block.operations if op.regions[0].blocks else ():
            if child.name in seen:
                raise op.error(
                    "failed to verify AtMostOneChildOf trait: the operation contains at least two operations of type "
                    f"{child.name}"
                )
            if child.name in self.names:
                seen.add(child.name)


_OF_DEFINITIONS = HasParent("irdl.type", "irdl.attribute", "irdl.operation")
_OF_OPERATION = HasParent("irdl.operation")


def _check_name(op: Operation, label: str, name: str) -> None:
    """Names of dialects and of what is in them: lowercase letters, digits, and single underscores between them."""
    if not name:
        raise op.error(f"name of {label} is empty")
    underscore_allowed = False
    for char in name:
        if char == "_":
            if not underscore_allowed:
                raise op.error(f"name of {label} should not contain leading or double underscores")
        elif not (char.isascii() and char.isalnum()):
            raise op.error(f"name of {label} must contain only lowercase letters, digits and underscores")
        elif char.isupper():
            raise op.error(f"name of {label} should not contain uppercase letters")
        underscore_allowed = char != "_"


def _check_names(op: Operation, kind: str, names: ArrayAttr[StringAttr], count: int) -> None:
    if count != len(names):
        raise op.error(
            f"the number of {kind}s and their names must be the same, but got {count} and {len(names)} respectively"
        )
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        _check_name(op, f"{kind} #{i}", name.value)
        if name.value in first:
            raise op.error(f"name of {kind} #{i} is a duplicate of the name of {kind} #{first[name.value]}")
        first[name.value] = i


# -- definitions


class DefinitionSyntax(CustomDirective, name="IrdlDefinition"):
    """`@name attributes {…} {…}`; an empty body is not written."""

    grammar = """custom: SYMBOL attr_dict_with_keyword custom_body
custom_body: region -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        symbol, attributes, (form, children) = node
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        for key, value in attributes.items():
            state.attribute(key, value)
        state.region("body", children[0] if form == "present" else [])

    def write(self, p: Printer, op: Definition) -> None:
        p.write(f" {symbol_text(op.sym_name.value)}")
        p.attr_dict(op, ("sym_name",), keyword=True)
        if op.body.blocks and op.body.entry.first_op is not None:
            p.write(" ")
            p.region(op.body)


class Definition(Op):
    """The base of definitions: a symbol with one block."""

    sym_name = attribute(SYMBOL_NAME)
    body = region()
    noun = ""
    sigil = ""

    def verify_op(self) -> None:
        if len(self.body.blocks) != 1:
            raise self.error("region #0 ('body') failed to verify constraint: region with 1 blocks")
        _check_name(self, self.noun, self.sym_name.value.removeprefix(self.sigil))
        if self.body.entry.arguments and self.name != "irdl.dialect":
            raise self.error("region should have no arguments")

    @property
    def block(self) -> Block:
        """The body."""
        return self.body.entry

    def child(self, kind: type[Op]) -> Any:
        """The op of that class in the body; None if there is none."""
        return next((op for op in self.block.operations if isinstance(op, kind)), None)


class DialectOp(
    Definition, name="irdl.dialect", traits=(ISOLATED_FROM_ABOVE, NO_TERMINATOR, SYMBOL, SYMBOL_TABLE)
):
    """A dialect: its operations, types and attributes.

    `--irdl-file` makes them known, and programs may use them.
    """

    assembly = "custom<IrdlDefinition>"
    noun = "dialect"


_IN_DIALECT = (HasParent("irdl.dialect"), NO_TERMINATOR, SYMBOL)


class TypeOp(Definition, name="irdl.type", traits=(*_IN_DIALECT, AtMostOneChildOf("irdl.parameters"))):
    """A type of the dialect: `!dialect.name<parameters>`."""

    assembly = "custom<IrdlDefinition>"
    noun = "type"
    sigil = "!"


class AttributeOp(
    Definition, name="irdl.attribute", traits=(*_IN_DIALECT, AtMostOneChildOf("irdl.parameters"))
):
    """An attribute of the dialect: `#dialect.name<parameters>`."""

    assembly = "custom<IrdlDefinition>"
    noun = "attribute"
    sigil = "#"


class OperationOp(
    Definition,
    name="irdl.operation",
    traits=(
        *_IN_DIALECT,
        AtMostOneChildOf("irdl.operands", "irdl.results", "irdl.attributes", "irdl.regions"),
    ),
):
    """An operation of the dialect, in generic form: `"dialect.name"(…) : (…) -> …`."""

    assembly = "custom<IrdlDefinition>"
    noun = "operation"

    def verify_op(self) -> None:
        super().verify_op()
        lists = [op for op in self.block.operations if isinstance(op, Operands | Results | Regions)]
        for i, one in enumerate(lists):
            own = {name.value for name in one.names}
            for other in lists[i + 1 :]:
                for name in other.names:
                    if name.value in own:
                        kinds = f"{one.name[5:]} and {other.name[5:]}"
                        raise self.error(f"contains a value named '{name.value}' for both its {kinds}")


# -- the parts of a definition


class NamedValuesSyntax(CustomDirective, name="IrdlNamedValues"):
    """`(name: %value, other: optional %value)`"""

    grammar = """custom: "(" custom_entry ("," custom_entry)* ")" -> some | "(" ")" -> none
custom_entry: KEYWORD ":" VALUE -> plain | KEYWORD ":" KEYWORD VALUE -> counted
"""

    def read(self, state: OpState, node: Node) -> None:
        _, entries = node
        names: list[StringAttr] = []
        counts: list[str] = []
        counted = issubclass(state.definition.op_class, Operands | Results)
        for form, parts in entries:
            name, value = parts[0], parts[-1]
            count = SINGLE
            if form == "counted":
                count = parts[1].text
                if not counted or count not in (SINGLE, OPTIONAL, VARIADIC):
                    expected = "'single', 'optional', 'variadic', or a value" if counted else "a value"
                    raise state.error(parts[1], f"expected {expected}, found '{count}'")
            names.append(StringAttr(name.text))
            counts.append(count)
            state.operand("args", value)
        state.attribute("names", ArrayAttr(tuple(names)))
        if counted:
            state.attribute("variadicity", VariadicityArrayAttr(tuple(counts)))

    def write(self, p: Printer, op: Parameters | Regions | Operands | Results) -> None:
        counts = op.variadicity.values if isinstance(op, Operands | Results) else [SINGLE] * len(op.args)
        entries = [
            f"{name.value}: {'' if count == SINGLE else count + ' '}{p.name(value)}"
            for name, count, value in zip(op.names, counts, op.args, strict=True)
        ]
        p.write(f"({', '.join(entries)})")


class Parameters(Op, name="irdl.parameters", traits=(HasParent("irdl.attribute", "irdl.type"),)):
    """The parameters of a type or an attribute, by name."""

    args = variadic_operand(ATTRIBUTE)
    names = attribute(STRING_ARRAY)
    assembly = "custom<IrdlNamedValues>($args, $names) attr-dict"

    def verify_op(self) -> None:
        _check_names(self, "parameter", self.names, len(self.args))


def _verify_counted(op: Operands | Results, kind: str) -> None:
    count, variadicities = len(op.args), len(op.variadicity.values)
    if count != variadicities:
        raise op.error(
            f"the number of {kind}s and their variadicities must be the same, but got {count} and {variadicities} "
            "respectively"
        )
    _check_names(op, kind, op.names, count)


class Operands(Op, name="irdl.operands", traits=(_OF_OPERATION,)):
    """The operands of an operation, by name; each is `single` (default), `optional` or `variadic`.

    With two or more that are not single, the operation has an attribute `operandSegmentSizes`.
    """

    args = variadic_operand(ATTRIBUTE)
    names = attribute(STRING_ARRAY)
    variadicity = attribute(of_class(VariadicityArrayAttr))
    assembly = "custom<IrdlNamedValues>($args, $names, $variadicity) attr-dict"

    def verify_op(self) -> None:
        _verify_counted(self, "operand")


class Results(Op, name="irdl.results", traits=(_OF_OPERATION,)):
    """The results of an operation, by name; as `irdl.operands`, with `resultSegmentSizes`."""

    args = variadic_operand(ATTRIBUTE)
    names = attribute(STRING_ARRAY)
    variadicity = attribute(of_class(VariadicityArrayAttr))
    assembly = "custom<IrdlNamedValues>($args, $names, $variadicity) attr-dict"

    def verify_op(self) -> None:
        _verify_counted(self, "result")


class AttributesSyntax(CustomDirective, name="IrdlAttributes"):
    """`{"name" = %value}`, or nothing"""

    grammar = """custom: "{" custom_entry ("," custom_entry)* "}" attr_dict -> some | -> none
custom_entry: STRING "=" VALUE
"""

    def read(self, state: OpState, node: Node) -> None:
        form, parts = node
        entries = parts[:-1] if form == "some" else []
        for key, value in parts[-1].items() if form == "some" else ():
            state.attribute(key, value)
        state.operands("values", [value for _, value in entries])
        names = tuple(StringAttr(name.text) for name, _ in entries)
        state.attribute("attributeValueNames", ArrayAttr(names))

    def write(self, p: Printer, op: Attributes) -> None:
        if op.values:
            pairs = zip(op.names, op.values, strict=True)
            p.write(f" {{{', '.join(f'{quote(name.value)} = {p.name(value)}' for name, value in pairs)}}}")
            p.attr_dict(op, ("attributeValueNames",))


class Attributes(Op, name="irdl.attributes", traits=(_OF_OPERATION,)):
    """The attributes that an operation must have, by name."""

    values = variadic_operand(ATTRIBUTE)
    names = attribute(STRING_ARRAY, key="attributeValueNames")
    assembly = "custom<IrdlAttributes>($values, $names)"

    def verify_op(self) -> None:
        if len(self.names) != len(self.values):
            raise self.error(
                "the number of attribute names and their constraints must be the same but got "
                f"{len(self.names)} and {len(self.values)} respectively"
            )


class RegionSyntax(CustomDirective, name="IrdlRegion"):
    """`(%argument, …) with size 3`; without parentheses, any arguments"""

    grammar = """custom: custom_arguments ["with" "size" INTEGER]
custom_arguments: "(" values ")" -> some | "(" ")" -> none | -> any
"""

    def read(self, state: OpState, node: Node) -> None:
        (form, children), size = node
        if form != "any":
            state.attribute("constrainedArguments", UNIT)
        if form == "some":
            state.operands("arguments", children[0])
        if size is not None:
            state.attribute("numberOfBlocks", IntegerAttr(integer_of(size.text), I32))

    def write(self, p: Printer, op: RegionOp) -> None:
        if op.constrained is not None:
            p.write(f"({p.names(op.arguments)})")
        if op.block_count is not None:
            p.write(f" with size {op.block_count.value}")


class RegionOp(Op, name="irdl.region", traits=(_OF_OPERATION,)):
    """A constraint on a region: the types of the arguments of its first block, and its number of blocks."""

    arguments = variadic_operand(ATTRIBUTE)
    block_count = attribute(I32_ATTR, optional=True, key="numberOfBlocks")
    constrained = attribute(UNIT_ATTR, optional=True, key="constrainedArguments")
    output = result(REGION)
    assembly = "custom<IrdlRegion>($arguments, $block_count, $constrained) attr-dict"

    def verify_op(self) -> None:
        if self.block_count is not None and self.block_count.value <= 0:
            raise self.error(f"the number of blocks is expected to be >= 1 but got {self.block_count.value}")


class Regions(Op, name="irdl.regions", traits=(_OF_OPERATION,)):
    """The regions of an operation, by name."""

    args = variadic_operand(REGION)
    names = attribute(STRING_ARRAY)
    assembly = "custom<IrdlNamedValues>($args, $names) attr-dict"

    def verify_op(self) -> None:
        _check_names(self, "region", self.names, len(self.args))


# -- constraints


class Is(Op, name="irdl.is", traits=(_OF_DEFINITIONS, PURE)):
    """One attribute or type."""

    expected = attribute(ANY_ATTR)
    output = result(ATTRIBUTE)
    assembly = "$expected attr-dict"


def definition_of(op: Operation, reference: SymbolRefAttr) -> Operation | None:
    """What a constraint refers to, by the names from outside of its dialect."""
    around: Operation | None = op
    while around is not None and not isinstance(around, DialectOp):
        around = around.parent_op
    outside = around.parent_op if around is not None else None
    return lookup_symbol(outside, reference) if outside is not None else None


def _check_reference(op: Op, reference: SymbolRefAttr) -> None:
    found = definition_of(op, reference)
    if found is None:
        raise op.error(f"symbol '{reference}' not found")
    if not isinstance(found, TypeOp | AttributeOp):
        raise op.error(
            f"symbol '{reference}' does not refer to a type or attribute definition (refers to '{found.name}')"
        )


class Base(Op, name="irdl.base", traits=(_OF_DEFINITIONS,)):
    """Any type or attribute of one definition, by symbol (`@cmath::@complex`) or by name (`"!builtin.integer"`)."""

    base_ref = attribute(SYMBOL_REF, optional=True)
    base_name = attribute(STRING_ATTR, optional=True)
    output = result(ATTRIBUTE)
    assembly = "($base_ref^)? ($base_name^)? attr-dict"

    def verify_op(self) -> None:
        if (self.base_name is None) == (self.base_ref is None):
            raise self.error("the base type or attribute should be specified by either a name or a reference")
        if self.base_name is not None and self.base_name.value[:1] not in ("!", "#"):
            raise self.error("the base type or attribute name should start with '!' or '#'")
        if self.base_ref is not None:
            _check_reference(self, self.base_ref)


class ParametricSyntax(CustomDirective, name="IrdlParametric"):
    """`@cmath::@complex<%0, %1>`"""

    grammar = 'custom: SYMBOL "<" value_list ">"'

    def read(self, state: OpState, node: Node) -> None:
        symbol, values = node
        state.attribute("base_type", SYMBOL_REF.build(symbol))
        state.operands("args", values)

    def write(self, p: Printer, op: Parametric) -> None:
        p.write(f" {op.base_type}<{p.names(op.args)}>")


class Parametric(Op, name="irdl.parametric", traits=(_OF_DEFINITIONS, PURE)):
    """A type or an attribute of one definition, with a constraint on each parameter."""

    base_type = attribute(SYMBOL_REF)
    args = variadic_operand(ATTRIBUTE)
    output = result(ATTRIBUTE)
    assembly = "custom<IrdlParametric>($base_type, $args) attr-dict"

    def verify_op(self) -> None:
        _check_reference(self, self.base_type)


class Any_(Op, name="irdl.any", traits=(_OF_DEFINITIONS,)):
    """Any attribute or type."""

    output = result(ATTRIBUTE)
    assembly = "attr-dict"


class _OneOrMore(Trait):
    def verify(self, op: Operation) -> None:
        if not op.op_operands:
            raise op.error("expected 1 or more operands, but found 0")


class AnyOf(Op, name="irdl.any_of", traits=(_OF_DEFINITIONS, _OneOrMore())):
    """What satisfies one of the constraints. They may not overlap: the first that is satisfied is taken."""

    args = variadic_operand(ATTRIBUTE)
    output = result(ATTRIBUTE)
    assembly = "`(` $args `)` attr-dict"


class AllOf(Op, name="irdl.all_of", traits=(_OF_DEFINITIONS, _OneOrMore())):
    """What satisfies all of the constraints."""

    args = variadic_operand(ATTRIBUTE)
    output = result(ATTRIBUTE)
    assembly = "`(` $args `)` attr-dict"


class CPred(Op, name="irdl.c_pred"):
    """What a predicate in C++ accepts. It cannot be loaded: no C++ is compiled here."""

    pred = attribute(STRING_ATTR)
    output = result(ATTRIBUTE)
    assembly = "$pred attr-dict"
