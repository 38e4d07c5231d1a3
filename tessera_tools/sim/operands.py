"""Parses the operands of one instruction: the text after its opcode.

    "{%r1,%r2}, [%rd3+16], !%p1" ──read_operands()──▶ (Vector, Address, Name)

Source: PTX ISA, "Instruction Operands" and "Constant Expressions" (literals, and sums of them with a symbol).
"""

from __future__ import annotations

import re
from functools import lru_cache

from tessera_tools.sim.program import Address, Group, Immediate, Name, Operand, Pair, Vector

__all__ = ["OperandError", "number", "read_operands"]

_TOKEN = re.compile(
    r"\s*(?:(?P<float>0[fFdD][0-9a-fA-F]{8,16}|\d+\.\d*(?:[eE][+-]?\d+)?)"
    r"|(?P<int>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)"
    r"|(?P<name>[%$A-Za-z_][\w$]*(?:\.[\w]+)*(?:::\w+)*)"
    r"|(?P<sign>[\[\](){},|!+\-;]))"
)
_MAX = 1 << 64
_MOST_DIGITS = 2 + 64
"""A 64-bit binary literal, with the prefix."""


class OperandError(ValueError):
    """An error in the text of an operand list."""


def number(text: str) -> int:
    """A PTX integer literal: decimal, 0x, 0b, or octal with a leading 0; a trailing U is dropped."""
    text = text.rstrip("U")
    if len(text) > _MOST_DIGITS:
        raise OperandError(f"'{text[:20]}…' has {len(text)} digits, and does not fit 64 bits")
    lowered = text.lower()
    if lowered.startswith("0x"):
        return int(lowered, 16)
    if lowered.startswith("0b"):
        return int(lowered, 2)
    if len(text) > 1 and text[0] == "0" and text.isdigit():
        if not set(text) <= set("01234567"):
            raise OperandError(f"'{text}' is not an octal number")
        return int(text, 8)
    return int(text)


def _floating(text: str) -> Immediate:
    kind = text[:2].lower()
    if kind in ("0f", "0d"):
        bits = 32 if kind == "0f" else 64
        if len(text) != 2 + bits // 4:
            raise OperandError(f"'{text}' needs {bits // 4} hexadecimal digits after {text[:2]}")
        return Immediate(int(text[2:], 16), bits)
    return Immediate(float(text), -64)


@lru_cache(maxsize=16384)
def read_operands(text: str) -> tuple[Operand, ...]:
    """The operands in `text`. Raises OperandError. Equal texts share their (immutable) operands."""
    reader = _Operands(text)
    if reader.done():
        return ()
    operands = [reader.operand()]
    while reader.take(","):
        operands.append(reader.operand())
    if not reader.done():
        raise OperandError(f"found '{reader.found()}', expected ',' or ';'")
    return tuple(operands)


class _Operands:
    def __init__(self, text: str) -> None:
        tokens: list[tuple[str, str]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise OperandError(f"found '{text[position:].strip()[:20]}', expected an operand")
            kind = match.lastgroup or ""
            tokens.append((kind, match.group(kind)))
            position = match.end()
        tokens.append(("end", "the end"))
        self.tokens = tokens
        self.at = 0

    def done(self) -> bool:
        return self.tokens[self.at][0] == "end"

    def found(self) -> str:
        return self.tokens[self.at][1]

    def take(self, sign: str) -> bool:
        if self.tokens[self.at] == ("sign", sign):
            self.at += 1
            return True
        return False

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise OperandError(f"found '{self.found()}', expected '{sign}'")

    def sequence(self, close: str) -> tuple[Operand, ...]:
        items: list[Operand] = []
        if self.take(close):
            return ()
        while True:
            items.append(self.operand())
            if self.take(close):
                return tuple(items)
            self.expect(",")

    def operand(self) -> Operand:
        if self.take("{"):
            elements = self.sequence("}")
            if not elements:
                raise OperandError("found an empty vector, expected at least one element")
            return Vector(elements)
        if self.take("["):
            return self.address()
        if self.take("("):
            return Group(self.sequence(")"))
        first = self.simple()
        if self.take("|"):
            return Pair(first, self.simple())
        return first

    def simple(self) -> Name | Immediate:
        negated = self.take("!")
        kind, text = self.tokens[self.at]
        if kind == "name":
            self.at += 1
            return Name(text, negated, self.offset())
        return self.literal()

    def literal(self) -> Immediate:
        minus = self.take("-")
        kind, text = self.tokens[self.at]
        if kind == "int":
            self.at += 1
            value = number(text)
            if value >= _MAX:
                raise OperandError(f"'{text}' does not fit 64 bits")
            return Immediate((-value if minus else value) + self.offset())
        if kind == "float":
            self.at += 1
            literal = _floating(text)
            if not minus:
                return literal
            if literal.bits > 0:
                return Immediate(int(literal.value) ^ 1 << literal.bits - 1, literal.bits)
            return Immediate(-literal.value, literal.bits)
        raise OperandError(f"found '{text}', expected an operand")

    def offset(self) -> int:
        """The sum of the following `+4`, `+-8`, `-4`."""
        total = 0
        while self.tokens[self.at] in (("sign", "+"), ("sign", "-")):
            sign = -1 if self.found() == "-" else 1
            self.at += 1
            if self.take("-"):
                sign = -sign
            kind, text = self.tokens[self.at]
            if kind != "int":
                raise OperandError(f"found '{text}', expected a number after the sign")
            self.at += 1
            total += sign * number(text)
        return total

    def address(self) -> Address:
        base = self.simple()
        offset = 0
        if isinstance(base, Name):
            offset, base = base.offset, Name(base.name)
        coordinates: tuple[Operand, ...] = ()
        if self.take(","):
            rest = self.operand()
            coordinates = rest.elements if isinstance(rest, Vector) else (rest,)
        self.expect("]")
        return Address(base, offset, coordinates)
