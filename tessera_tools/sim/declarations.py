"""Reads the declarations of a PTX module: registers, variables with initializers, parameters.

Source: PTX ISA, "State Spaces", "Variables", "Initializers", "Kernel and Function Directives: .entry, .func".
"""

from __future__ import annotations

from tessera_tools.diagnostics import DiagnosticError, Position, error
from tessera_tools.sim.operands import OperandError, number
from tessera_tools.sim.program import Function, Program, RegisterDeclaration, Scope, Variable
from tessera_tools.sim.syntax import Token, Tree
from tessera_tools.sim.types import TYPES, Type

__all__ = ["Declarations"]

_MOST_BYTES = {"local": 512 << 10, "shared": 1 << 20, "const": 1 << 26, "global": 1 << 32}
"""Maximum bytes of one variable. Local memory: the limit of a thread; otherwise far above the memory of a GPU."""


class Declarations:
    """The part of the builder that declares names in scopes; `program` is the program under construction."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def fault(self, token: Token, message: str, *notes: str) -> DiagnosticError:
        return error(Position(self.program.file, token.line or 0, token.column or 0), message, *notes)

    def number(self, token: Token, text: str | None = None) -> int:
        """The integer value of a token, or of its part `text`."""
        try:
            return number(token if text is None else text)
        except OperandError as failure:
            raise self.fault(token, str(failure)) from None

    def type(self, token: Token) -> Type:
        found = TYPES.get(token[1:])
        if found is None:
            raise self.fault(token, f"variables of type '{token}' are not simulated")
        return found

    def new_slots(self, type: Type, count: int) -> int:
        counts = self.program.register_counts
        first = counts.get(type.bits, 0)
        counts[type.bits] = first + count
        return first

    def registers(self, tree: Tree, scope: Scope) -> None:
        """`.reg .b32 %r<10>, %SP;`"""
        children = tree.children
        if children[0].type == "VECTOR":
            raise self.fault(children[0], "vector registers are not simulated; declare scalar registers")
        type = self.type(children[0])
        for register in children[1:]:
            name, span = register.children
            self.register(str(name), span, type, scope)

    def register(self, name: str, span: Token | None, type: Type, scope: Scope) -> None:
        if span is not None:
            count = self.number(span, str(span)[1:-1].strip())
            if count > 1 << 20:
                raise self.fault(span, f"{count} registers; expected at most {1 << 20}")
            scope.ranges[name] = (count, type, self.new_slots(type, count))
        else:
            scope.registers[name] = RegisterDeclaration(name, type, self.new_slots(type, 1))

    def parameters(self, tree: Tree, function: Function, into: list[Variable]) -> None:
        """The parameters or results of a function. An entry's parameters get their offset in the parameter block."""
        for child in tree.children:
            if child is None:
                continue
            align, type, name, sizes = 0, None, None, []
            register = False
            for part in child.children:
                if part is None:
                    continue
                if isinstance(part, Token):
                    if part.type == "TYPE":
                        type = self.type(part)
                    elif part.type == "PARAMETER_SPACE":
                        register = part == ".reg"
                    elif part.type == "NAME":
                        name = part
                elif part.data == "attribute" and str(part.children[0]) == ".align":
                    align = self.number(part.children[1])
                elif part.data == "dimension":
                    sizes.append(self.number(part.children[0]) if part.children[0] is not None else 0)
            assert type is not None
            if register:
                self.register(str(name), None, type, function.scope)
                function.parameter_registers.append(str(name))
                continue
            size = type.bytes
            for extent in sizes:
                size *= extent
            line = name.line if name is not None else function.line
            variable = Variable(
                str(name or f"_{len(into)}"), "param", type, size, align or type.bytes, line or 0,
                function=function.name, is_array=bool(sizes),
            )  # fmt: skip
            into.append(variable)
            function.scope.variables[variable.name] = variable
        if function.is_entry:
            offset = 0
            for variable in into:
                offset = -(-offset // variable.align) * variable.align
                variable.offset = offset
                offset += variable.size

    def variables(
        self,
        tree: Tree,
        scope: Scope,
        function: str,
        *,
        extern: bool = False,
        declared: list[Variable] | None = None,
    ) -> None:
        """`.shared .align 4 .b8 a[1024], b[16] = {…};` declared in `scope`."""
        space, align, type, vector = "", 0, None, 1
        for part in tree.children:
            if isinstance(part, Token):
                if part.type == "TYPE":
                    type = self.type(part)
            elif part.data == "variable_space":
                space = str(part.children[0])[1:]
            elif part.data == "attribute":
                words = part.children
                if words[0] == ".align":
                    align = self.number(words[1])
                elif words[0].startswith(".v"):
                    vector = int(words[0][2:])
            elif part.data == "declarator":
                assert type is not None
                variable = self.declarator(part, space, type, vector, align, function, extern)
                scope.variables[variable.name] = variable
                if declared is not None:
                    declared.append(variable)

    def declarator(
        self, tree: Tree, space: str, type: Type, vector: int, align: int, function: str, extern: bool
    ) -> Variable:
        name = tree.children[0]
        extents = [child.children[0] for child in tree.children[1:-1]]
        values = self.flatten(tree.children[-1]) if tree.children[-1] is not None else []
        element = type.bytes * vector
        count = 1
        for index, extent in enumerate(extents):
            if extent is not None:
                count *= self.number(extent)
            elif index == 0 and values:
                count *= len(values)
            else:
                count = 0
        if space == "shared" and extents and count == 0:
            extern = True
        variable = Variable(
            str(name), space, type, element * count, align or element, name.line or 0, extern=extern,
            initializer=values, function=function, is_array=bool(extents),
        )  # fmt: skip
        most = _MOST_BYTES.get(space, _MOST_BYTES["global"])
        if variable.size > most:
            raise self.fault(name, f"'{name}' has {variable.size} bytes; expected at most {most} in .{space}")
        if variable.align & (variable.align - 1) or variable.align < 1:
            raise self.fault(name, f"'{name}' is aligned to {variable.align}; expected a power of two")
        return variable

    def flatten(self, tree: Tree) -> list[object]:
        """The initializer as a flat list of values."""
        flat: list[object] = []
        for child in tree.children:
            if child is None:
                continue
            if child.data == "initializer":
                flat.extend(self.flatten(child))
            else:
                flat.append(self.initial_value(child))
        return flat

    def offset(self, token: Token | None) -> int:
        """`+ 16` after a symbol."""
        if token is None:
            return 0
        value = self.number(token, token[1:].strip())
        return -value if token[0] == "-" else value

    def initial_value(self, tree: Tree) -> object:
        children = tree.children
        if tree.data == "number":
            sign = -1 if children[0] == "-" else 1
            token = children[1]
            if token.type == "INTEGER":
                return sign * self.number(token)
            if token.type == "FLOAT":
                return sign * float(token)
            digits = str(token)[2:]
            return int(digits, 16).to_bytes(len(digits) // 2, "little")
        if tree.data == "address":
            return (str(children[0]), self.offset(children[1]), False, 0)
        if tree.data == "address_in":
            if str(children[0]) != "generic":
                raise self.fault(children[0], f"found '{children[0]}', expected 'generic'")
            return (str(children[1]), self.offset(children[2]), True, 0)
        # `0xFF00(symbol)`: one byte of an address (PTX ISA, "Initializers").
        mask = self.number(children[0])
        shift = (mask & -mask).bit_length() - 1
        return (str(children[1]), self.offset(children[2]), True, shift)
