"""Constant tiles as text: `<f32: [1.0, 2.0]> : tile<2xf32>`, and the names that constants get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.constraints import NUMBER_TILE
from tessera_tools.dialects.cuda_tile.types import FLOATS, INTEGERS, TileType, short_text
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, element_bytes
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I1, FloatType, bit_width
from tessera_tools.opdef import CustomDirective

if TYPE_CHECKING:
    from tessera_tools.dialects.cuda_tile.core_ops import Constant
    from tessera_tools.dialects.cuda_tile.structure import Global
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState, Token

ELEMENTS_GRAMMAR = """
custom_elements: INTEGER -> number
    | FLOAT -> number
    | KEYWORD -> number
    | STRING -> hex
    | "[" custom_elements ("," custom_elements)* "]" -> list
"""


class Elements(CustomDirective, name="Elements"):
    """`<i32: 1> : tile<i32>`, and (as it was spelled before) `dense<1> : !cuda_tile.tile<i32>`.

    The argument is the attribute; a result, if any, gets the type.
    """

    grammar = (
        """
    custom: "<" TYPE ":" custom_elements ">" ":" TYPE -> typed
        | ATTRIBUTE -> dense
    """
        + ELEMENTS_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        kind, children = node
        if kind == "dense":
            value = children[0]
            if not isinstance(value, DenseElementsAttr) or not isinstance(value.type, TileType):
                raise state.error(
                    None, f"expected '<' (the elements of a tile, '<type: …> : tile<…>'), found '{value}'"
                )
        else:
            value = read_elements(state, *children)
        state.attribute(self.arguments[0], value)
        if state.definition.results:
            state.types(state.definition.results[0].name, [value.type])

    def write(self, p: Printer, op: Constant | Global) -> None:
        value = op.value
        p.write(f" <{value.shaped.element}: {value.body_text()}> : {short_text(value.type)}")

    def covers(self) -> tuple[set[str], set[str]]:
        return {self.arguments[0]}, {"result"}


def read_elements(state: OpState, element: Type, node: Node, type: Type) -> DenseElementsAttr:
    """The attribute of `<element: node> : type`; errors in the reference's words."""
    if element not in INTEGERS and element not in FLOATS:
        kinds = NUMBER_TILE.summary.removeprefix("tile of ")
        raise state.error(None, f"expect element type to be one of {kinds}, but got '{element}'")
    if not isinstance(type, TileType):
        raise state.error(None, f"result #0 must be {NUMBER_TILE.summary}, but got '{type}'")
    if type.element is not element:
        raise state.error(
            None, f"mismatch between the element type: '{element}' and the tile element type '{type.element}'"
        )
    if node[0] == "hex":
        return _from_hex(state, node[1][0], type)
    literals: list[Token] = []
    shape = _flatten(state, node, literals)
    bits = [_bits(state, token, element) for token in literals]
    if shape and shape != type.shape:
        found, expected = (", ".join(map(str, s)) for s in (shape, type.shape))
        raise state.error(
            literals[0], f"inferred shape of elements literal ([{found}]) does not match type ([{expected}])"
        )
    return DenseElementsAttr.of(type, bits)


def _flatten(state: OpState, node: Node, literals: list[Token]) -> tuple[int, ...]:
    """Append the literals in row-major order; the shape of the brackets."""
    kind, children = node
    if kind == "number":
        literals.append(children[0])
        return ()
    if kind == "hex":
        raise state.error(
            children[0], "a hex string must contain all elements; it is not allowed inside brackets"
        )
    shapes = [_flatten(state, child, literals) for child in children]
    if any(shape != shapes[0] for shape in shapes):
        raise state.error(
            literals[-1], "tensor literal is invalid; ranks are not consistent between elements"
        )
    return (len(shapes), *shapes[0])


def _bits(state: OpState, token: Token, element: Type) -> int:
    text = token.text
    if isinstance(element, FloatType):
        try:
            if "." not in text and "x" not in text:
                failure = state.error(token, "unexpected decimal integer literal for a floating point value")
                failure.diagnostics[0].note(
                    "add a trailing dot to make the literal a float", failure.diagnostics[0].location
                )
                raise failure
            return floats.parse(text, element.keyword)
        except ValueError as problem:
            raise state.error(token, str(problem)) from None
    if text in ("true", "false") and element is I1:
        return int(text == "true")
    try:
        value = integer_of(text)
    except ValueError:
        raise state.error(token, f"expected integer value, found '{text}'") from None
    width = bit_width(element)
    if not -(1 << width >> 1) <= value < 1 << width:
        raise state.error(token, f"integer constant out of range for type '{element}'")
    return value & ((1 << width) - 1)


def _from_hex(state: OpState, token: Token, type: TileType) -> DenseElementsAttr:
    expected = element_bytes(type.element) * type.num_elements
    try:
        data = bytes.fromhex(token.text.removeprefix("0x"))
    except ValueError:
        raise state.error(
            token, "elements hex string must start with '0x' and hold pairs of hex digits"
        ) from None
    if len(data) not in (expected, element_bytes(type.element)):
        raise state.error(token, f"elements hex data has {len(data)} bytes, '{type}' needs {expected}")
    return DenseElementsAttr(type, data)
