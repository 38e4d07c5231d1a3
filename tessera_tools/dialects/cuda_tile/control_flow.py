"""Control flow of `cuda_tile`: counted and endless loops, branches, reductions and scans, and what ends their blocks.

The region of each binds its values in the op's own syntax:

    for %i in (%lb to %ub, step %s) : tile<i32> iter_values(%a = %init) -> (tile<f32>) { … continue %x : tile<f32> }
    loop iter_values(%a = %init) : tile<f32> -> tile<i32> { … continue … / break … }
    if %cond -> (tile<f32>) { … yield … } else { … yield … }
    reduce %x dim=1 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32> (%a: tile<f32>, %b: tile<f32>) { … yield … }

A terminator without operands may be omitted if it is the default one: `continue` in loops, `yield` in `if`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile import legacy_ops
from tessera_tools.dialects.cuda_tile.bodies import CarriesValues, Yield, write_body
from tessera_tools.dialects.cuda_tile.constraints import (
    ANY_CUDA_TILE,
    ANY_TILE,
    SCALAR_I1,
    SCALAR_INT,
    shape_of,
    types_text,
)
from tessera_tools.dialects.cuda_tile.formats import short_types, value_types
from tessera_tools.dialects.cuda_tile.structure import LEAVES_IF
from tessera_tools.dialects.cuda_tile.types import TensorViewType, TileType, TileViewType, scalar, short_text
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, FloatAttr, IntegerAttr
from tessera_tools.ir.core import Block, BlockArgument, Operation, Region, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import BF16, F16, I1, I32, element_type
from tessera_tools.opdef import (
    ARRAY_ATTR,
    BOOL_ATTR,
    ONE_REGION_RUNS,
    RECURSIVE_MEMORY_EFFECTS,
    RETURN_LIKE,
    SINGLE_BLOCK,
    TERMINATOR,
    UNIT_ATTR,
    AttrKind,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    attribute,
    operand,
    region,
    same_as,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class Continue(
    CarriesValues,
    name="cuda_tile.continue",
    traits=(TERMINATOR, LEAVES_IF, HasParent("cuda_tile.for", "cuda_tile.if", "cuda_tile.loop")),
):
    """Continues with the next iteration of the innermost loop and passes its carried values."""

    def verify_op(self) -> None:
        loop = _enclosing_loop(self, (For, Loop))
        given = value_types(self.values)
        if isinstance(loop, Loop):
            expected, word, noun = value_types(loop.initValues), "loop", "iter_values"
        else:
            expected, word, noun = loop.result_types, "for", "return types"
        if given != expected:
            raise self.error(
                f"`{word}` is missing a valid terminator. `continue` op should have operand types that match the "
                f"parent loop {noun}: ({types_text(expected)}), but found: ({types_text(given)})"
            )


class Break(
    CarriesValues,
    name="cuda_tile.break",
    traits=(RETURN_LIKE, LEAVES_IF, HasParent("cuda_tile.if", "cuda_tile.loop")),
):
    """Exits the innermost loop and passes its results."""

    def verify_op(self) -> None:
        loop = _enclosing_loop(self, (Loop,))
        given = value_types(self.values)
        if given != loop.result_types:
            raise self.error(
                "operand types must correspond to the parent loop result types: "
                f"({types_text(given)}) vs ({types_text(loop.result_types)})"
            )


LoopT = TypeVar("LoopT", bound=Operation)


def _enclosing_loop(op: Operation, loops: tuple[type[LoopT], ...]) -> LoopT:
    parent = op.parent_op
    while not isinstance(parent, loops):
        if not isinstance(parent, If):
            names = "', '".join([*(loop.name for loop in loops), "cuda_tile.if"])
            failure = op.error(f"can only be nested within a ancestor chain of '{names}' operations")
            if parent is not None:
                failure.diagnostics[0].note("see unexpected ancestor operation", parent.location)
            raise failure
        parent = parent.parent_op
    return parent


def _check_carried(op: For | Loop, arguments: Sequence[Value]) -> None:
    inits = op.initValues
    if len(arguments) != len(inits):
        raise op.error(
            f"mismatch in number of region iterator values and loop iterator inits: {len(arguments)} vs {len(inits)}"
        )
    for index, (init, argument) in enumerate(zip(inits, arguments, strict=True)):
        _refuse_view(op, argument.type, f"loop-carried value {index} is a")
        if init.type is not argument.type:
            raise op.error(
                f"init value {index} and region iter_value {index} have different type: "
                f"'{init.type}' != '{argument.type}'"
            )
    for index, found in enumerate(op.results):
        _refuse_view(op, found.type, f"result type {index} is a")


def _refuse_view(op: Operation, found: Type, noun: str) -> None:
    if isinstance(found, TensorViewType):
        raise op.error(f"{noun} tensor_view, which is not supported")
    if isinstance(found, TileViewType):
        raise op.error(f"{noun} tile view, which is not supported")


class ForSyntax(CustomDirective, name="ForSyntax"):
    """Today's counted loop, and the older `for %k = %lb to %ub step %s iter_args(%a = %init) -> tile<f32> { … }`."""

    grammar = """
    custom: [custom_unsigned] VALUE "in" custom_range ":" TYPE [custom_carried] region attr_dict -> today
        | VALUE "=" VALUE "to" VALUE "step" VALUE [custom_older] region attr_dict -> older
    custom_unsigned: "unsigned"
    custom_range: "(" VALUE "to" VALUE "," "step" VALUE ")"
    custom_carried: "iter_values" assignments "->" "(" types ")"
    custom_older: "iter_args" assignments "->" types
        | "iter_args" assignments "->" "(" types ")"
    """

    def read(self, state: OpState, node: Node) -> None:
        form, children = node
        unsigned = None
        if form == "today":
            unsigned, induction, (lower, upper, step), kind, carried, body, attributes = children
        else:
            state.definition = legacy_ops.LegacyFor.definition
            induction, lower, upper, step, carried, body, attributes = children
            kind = I32
        for name, token in (("lowerBound", lower), ("upperBound", upper), ("step", step)):
            state.operand(name, token)
            state.types(name, [kind])
        pairs, types = carried or ([], [])
        if len(pairs) != len(types):
            raise state.error(None, "mismatch in number of loop-carried values and defined values")
        state.operands("initValues", [init for _, init in pairs])
        state.types("initValues", types)
        state.types("resultValues", types)
        if unsigned is not None:
            from tessera_tools.ir.builtin_attributes import UNIT

            state.attribute("unsignedCmp", UNIT)
        for key, value in attributes.items():
            state.attribute(key, value)
        bound = [(induction, kind), *zip((name for name, _ in pairs), types, strict=True)]
        state.region("body", body, bound)

    def write(self, p: Printer, op: For) -> None:
        index, *carried = op.body.entry.arguments
        unsigned = " unsigned" if op.unsignedCmp is not None else ""
        lower, upper, step = map(p.name, (op.lowerBound, op.upperBound, op.step))
        p.write(f"{unsigned} {p.name(index)} in ({lower} to {upper}, step {step}) : {short_text(index.type)}")
        if op.initValues:
            _write_carried(p, carried, op.initValues)
            p.write(f" -> ({short_types(value_types(op.initValues))})")
        write_body(p, op, op.body)
        p.attr_dict(op, elide={"unsignedCmp", "operandSegmentSizes"})


def _write_carried(p: Printer, arguments: Sequence[Value], inits: Sequence[Value]) -> None:
    pairs = (f"{p.name(a)} = {p.name(init)}" for a, init in zip(arguments, inits, strict=True))
    p.write(f" iter_values({', '.join(pairs)})")


IMPLICIT_CONTINUE = ImplicitTerminator(Continue)


class For(
    LoopLike, Op, name="cuda_tile.for", traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, IMPLICIT_CONTINUE)
):
    """Counts from `lowerBound` to `upperBound` (exclusive) in steps; values are carried between iterations."""

    lowerBound = operand(SCALAR_INT)
    upperBound = operand(same_as("lowerBound"))
    step = operand(same_as("lowerBound"))
    initValues = variadic_operand(ANY_CUDA_TILE)
    unsignedCmp = attribute(UNIT_ATTR, optional=True)
    resultValues = variadic_result(ANY_CUDA_TILE)
    body = region()
    default_dialect = "cuda_tile"
    assembly = "custom<ForSyntax>"

    @property
    def inits(self) -> list[Value]:
        """The initial values of the carried values."""
        return self.initValues

    @property
    def induction(self) -> list[BlockArgument]:
        """The induction variable."""
        return self.body.entry.arguments[:1]

    @property
    def iter_args(self) -> list[BlockArgument]:
        """The block arguments for the carried values."""
        return self.body.entry.arguments[1:]

    def verify_op(self) -> None:
        arguments = self.body.entry.arguments if self.body.blocks else []
        if not arguments:
            raise self.error("expected at least one block argument for induction variable")
        if arguments[0].type is not self.lowerBound.type:
            raise self.error(
                "expected induction variable to be same type as bounds and step: "
                f"'{arguments[0].type}' vs '{self.lowerBound.type}'"
            )
        _check_carried(self, arguments[1:])
        if value_types(self.initValues) != self.result_types:
            raise self.error("failed to verify that all of {initValues, resultValues} have same type")


class LoopSyntax(CustomDirective, name="LoopSyntax"):
    """`iter_values(%a = %init) : tile<f32> -> tile<i32> { … }`; each part may be absent."""

    grammar = """
    custom: ["iter_values" assignments] [":" types ["->" types]] region attr_dict
    """

    def read(self, state: OpState, node: Node) -> None:
        pairs, first, second, body, attributes = node
        carried = first or []
        outputs = second or []
        if pairs is None:
            carried, outputs = [], carried
        elif len(pairs) != len(carried):
            raise state.error(None, "found different number of iter_values and types")
        pairs = pairs or []
        state.operands("initValues", [init for _, init in pairs])
        state.types("initValues", carried)
        state.types("resultValues", outputs)
        state.region("body", body, list(zip((name for name, _ in pairs), carried, strict=True)))
        for key, value in attributes.items():
            state.attribute(key, value)

    def write(self, p: Printer, op: Loop) -> None:
        inits, outputs = op.initValues, op.result_types
        if inits:
            _write_carried(p, op.body.entry.arguments, inits)
        parts = [short_types(types) for types in (value_types(inits), outputs) if types]
        if parts:
            p.write(f" : {' -> '.join(parts)}")
        write_body(p, op, op.body)
        p.attr_dict(op)


class Loop(
    LoopLike, Op, name="cuda_tile.loop", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK, IMPLICIT_CONTINUE)
):
    """Repeats until `break`."""

    initValues = variadic_operand(ANY_CUDA_TILE)
    resultValues = variadic_result(ANY_CUDA_TILE)
    body = region()
    default_dialect = "cuda_tile"
    assembly = "custom<LoopSyntax>"

    @property
    def inits(self) -> list[Value]:
        """The initial values of the carried values."""
        return self.initValues

    @property
    def iter_args(self) -> list[BlockArgument]:
        """The block arguments for the carried values."""
        return self.body.entry.arguments

    def verify_op(self) -> None:
        _check_carried(self, self.body.entry.arguments if self.body.blocks else [])


class IfSyntax(CustomDirective, name="IfSyntax"):
    """`%cond -> (tile<f32>) { … } else { … }`."""

    grammar = 'custom: VALUE ["->" "(" types ")"] region ["else" region] attr_dict'

    def read(self, state: OpState, node: Node) -> None:
        condition, types, then, other, attributes = node
        state.operand("condition", condition)
        state.types("condition", [scalar(I1)])
        state.types("outputs", types or [])
        state.region("thenRegion", then)
        if other is not None:
            state.region("elseRegion", other)
        for key, value in attributes.items():
            state.attribute(key, value)

    def write(self, p: Printer, op: If) -> None:
        p.write(f" {p.name(op.condition)}")
        if op.results:
            p.write(f" -> ({short_types(op.result_types)})")
        write_body(p, op, op.thenRegion)
        if op.elseRegion.blocks:
            p.write(" else")
            write_body(p, op, op.elseRegion)
        p.attr_dict(op)


class If(
    Op,
    name="cuda_tile.if",
    traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK, ONE_REGION_RUNS, ImplicitTerminator(Yield)),
):
    """One of two regions, by a scalar condition."""

    condition = operand(SCALAR_I1)
    outputs = variadic_result(ANY_CUDA_TILE)
    thenRegion = region()
    elseRegion = region()
    default_dialect = "cuda_tile"
    assembly = "custom<IfSyntax>"

    def verify_op(self) -> None:
        for index, found in enumerate(self.result_types):
            _refuse_view(self, found, f"result type {index} is a")
        if not self.thenRegion.blocks:
            raise self.error("must define then branch")
        self._check_yield(self.thenRegion, "then")
        if self.elseRegion.blocks:
            self._check_yield(self.elseRegion, "else")
        elif self.results:
            raise self.error("has non-empty return type, must define else branch")

    def _check_yield(self, branch: Region, noun: str) -> None:
        last = branch.entry.last_op
        if not isinstance(last, Yield):
            return
        given, expected = value_types(last.values), self.result_types
        if expected and not given:
            raise self.error(
                f"has return type of {types_text(expected)} but {noun} branch does not yield anything"
            )
        if given and not expected:
            raise self.error(f"does not return a value, but {noun} branch yields {types_text(given)}")
        if given != expected:
            raise self.error(
                f"type does not match yield type, {noun} branch yields {types_text(given)} but op result type is "
                f"{types_text(expected)}"
            )


class Aggregate(CustomDirective, name="Aggregate"):
    """`%x dim=1 identities=[…] : types -> types`, then on a separate line `(%a: type, …) { … }`."""

    grammar = """
    custom: [values] attr_dict "dim" "=" INTEGER [custom_reverse] "identities" "=" ATTRIBUTE custom_body
    custom_reverse: "reverse" "=" custom_flag
    custom_body: ":" types "->" types arguments region
    custom_flag: KEYWORD
    """

    def read(self, state: OpState, node: Node) -> None:
        values, attributes, dim, reverse, identities, (inputs, outputs, arguments, body) = node
        values = values or []
        if len(values) != len(inputs):
            raise state.error(
                None,
                f"number of operands and types do not match: got {len(values)} operands and {len(inputs)} types",
            )
        state.operands("inputs", values)
        state.types("inputs", inputs)
        state.types("outputs", outputs)
        for key, value in attributes.items():
            state.attribute(key, value)
        state.attribute("dim", IntegerAttr(integer_of(dim.text), I32))
        scan = "reverse" in state.definition.fields
        if (reverse is not None) != scan:
            noun = state.definition.name.partition(".")[2]
            raise state.error(None, f"'{noun}' takes {'a' if scan else 'no'} 'reverse' flag")
        if reverse is not None:
            ((word,),) = reverse
            if word.text not in ("true", "false"):
                raise state.error(word, f"expected 'true' or 'false', found '{word.text}'")
            state.attribute("reverse", BOOL_ATTR.build(word))
        state.attribute("identities", identities)
        state.region("body", body, [(entry[0], entry[1]) for entry in arguments])

    def write(self, p: Printer, op: Reduce | Scan) -> None:
        p.write(" ")
        p.write(p.names(op.inputs))
        p.attr_dict(op, elide={"dim", "reverse", "identities"})
        p.write(f" dim={op.dim.value}")
        if isinstance(op, Scan):
            p.write(f" reverse={op.reverse}")
        p.write(
            f" identities={op.identities} : {short_types(value_types(op.inputs))} -> {short_types(op.result_types)} "
        )
        p.newline()
        bound = (f"{p.name(a)}: {short_text(a.type)}" for a in op.body.entry.arguments)
        p.write(f"({', '.join(bound)})")
        write_body(p, op, op.body)


NON_NEGATIVE_I32: AttrKind[IntegerAttr] = AttrKind(
    "32-bit signless integer attribute whose value is non-negative",
    lambda a: isinstance(a, IntegerAttr) and a.type is I32 and a.value >= 0,
    detail=I32,
)


class _Aggregate(Op):
    inputs = variadic_operand(ANY_TILE)
    dim = attribute(NON_NEGATIVE_I32)
    identities = attribute(ARRAY_ATTR)
    outputs = variadic_result(ANY_TILE)
    body = region()
    default_dialect = "cuda_tile"
    assembly = "custom<Aggregate>"

    def _check(self) -> None:
        tiles = [value.type for value in self.inputs]
        if not tiles:
            raise self.error("expect at least 1 operand")
        if len(tiles) != len(self.results):
            raise self.error("expect same number of operands and results")
        if any(shape_of(value) != tiles[0].shape for value in self.inputs):
            raise self.error("requires the same shape for all operands")
        self._check_identities(tiles, self.identities)
        rank, dim = len(tiles[0].shape), self.dim.value
        if not 0 <= dim < rank:
            raise self.error(f"dimension ({dim}) is out of bound [0, {rank})")

    def _check_identities(self, tiles: Sequence[TileType], identities: ArrayAttr) -> None:
        if len(identities) != len(tiles):
            raise self.error(
                f"expect identities to match the number of operands but got: {len(tiles)} operands and "
                f"{len(identities)} identities"
            )
        for index, (tile, identity) in enumerate(zip(tiles, identities, strict=True)):
            if not isinstance(identity, FloatAttr | IntegerAttr):
                raise self.error(f"expects a number as identity at index: {index}, but got: {identity}")
            if {tile.element, identity.type} != {F16, BF16} and tile.element is not identity.type:
                raise self.error(
                    f"expect same type for operand at index: {index} and identity at index: {index} but got: "
                    f"'{tile.element}' and '{identity.type}'"
                )

    def _check_body(self) -> None:
        if not self.body.blocks:
            raise self.error("region #0 ('body') failed to verify constraint: region with 1 blocks")
        if self.body.entry.first_op is None:
            raise self.error("expect non-empty block")
        block, count = self.body.entry, len(self.inputs)
        found = [argument.type for argument in block.arguments]
        if len(found) != 2 * count:
            raise self.error(f"expect {2 * count} block arguments but got: {len(found)}")
        scalars: list[TileType] = []
        for index, kind in enumerate(found):
            if not isinstance(kind, TileType) or kind.shape:
                raise self.error(f"expect 0-rank tile type at index: {index} but got: '{kind}'")
            scalars.append(kind)
        for index in range(count):
            element, (left, right) = self.inputs[index].type.element, scalars[2 * index : 2 * index + 2]
            if left is not right:
                raise self.error(
                    f"expect same element type for block argument at index: {2 * index} and {2 * index + 1} but got: "
                    f"'{left.element}' and '{right.element}'"
                )
            if left.element is not element:
                raise self.error(
                    f"expect same type for operand at index: {index} and block argument at index: {2 * index} but got: "
                    f"'{element}' and '{left.element}'"
                )
        self._check_yield(block)
        for inner in block.operations:
            # Divisions have no effects, though they are not pure.
            effects = inner.effects()
            if inner.next_op is not None and (effects is None or effects.own):
                raise inner.error(f"only memory-effect-free operations are allowed inside '{self.name}'")

    def _check_yield(self, block: Block) -> None:
        last = block.last_op
        if not isinstance(last, Yield):
            raise self.error("expects a region that ends with 'cuda_tile.yield'")
        if len(last.values) != len(self.inputs):
            raise self.error(
                f"expect number of terminators operands ({len(last.values)}) to match number of operands "
                f"({len(self.inputs)})"
            )
        for index, (value, given) in enumerate(zip(self.inputs, last.values, strict=True)):
            element = element_type(given.type)
            if value.type.element is not element:
                raise self.error(
                    f"expect same type for operand at index: {index} and terminator argument at index: {index} "
                    f"but got: '{value.type.element}' and '{element}'"
                )


class Reduce(_Aggregate, name="cuda_tile.reduce", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK)):
    """Combines the elements along one dimension, which disappears.

    The order of combination is not specified: the region receives any two partial results, in any order.  A region that
    is associative but not commutative may give any of several results."""

    inputs = variadic_operand(ANY_TILE)

    def verify_op(self) -> None:
        self._check()
        dim, expected = self.dim.value, []
        for value in self.inputs:
            shape = value.type.shape
            expected.append(TileType((*shape[:dim], *shape[dim + 1 :]), value.type.element))
        if expected != self.result_types:
            failure = self.error(
                f"inferred type(s) {types_text(expected)} are incompatible with return type(s) of operation "
                f"{types_text(self.result_types)}"
            )
            raise DiagnosticError(
                *failure.diagnostics, *self.error("failed to infer returned types").diagnostics
            )
        self._check_body()


class Scan(_Aggregate, name="cuda_tile.scan", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK)):
    """Combines every prefix of the elements along one dimension, from the front or (`reverse`) from the back.

    The first of each pair of region arguments is the running prefix, the second the current element.  The region must
    be associative; it need not be commutative.  The running prefix starts as the first element: the identity, combined
    with an element, gives that element.
    """

    inputs = variadic_operand(ANY_TILE)
    reverse = attribute(BOOL_ATTR)

    def verify_op(self) -> None:
        self._check()
        for index, (value, found) in enumerate(zip(self.inputs, self.result_types, strict=True)):
            if value.type is not found:
                raise self.error(
                    f"expect same type for operand at index: {index} and result at index: {index}"
                )
        self._check_body()
