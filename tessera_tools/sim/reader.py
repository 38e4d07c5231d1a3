"""Reads PTX text into a `Program`.

    text ──syntax.py (grammar/ptx.lark: directives, one token per instruction)──▶ light tree
         ──_Builder: scopes, registers, variables, labels──▶ Program

Every error is a DiagnosticError with the PTX line and column. Source: PTX ISA, "Syntax", "Directives".
"""

from __future__ import annotations

import re
from dataclasses import replace

from tessera_tools.diagnostics import Position, error
from tessera_tools.sim.declarations import Declarations
from tessera_tools.sim.operands import OperandError, read_operands
from tessera_tools.sim.program import Function, Instruction, Name, Operand, Program, Scope, SourceLocation
from tessera_tools.sim.syntax import Token, Tree, parse

__all__ = ["read", "read_instruction"]

_INSTRUCTION = re.compile(r"(?:@\s*(!?)\s*([%$\w]+)\s+)?([a-z][a-z0-9_]*)((?:\.[\w:]+)*)(.*);", re.DOTALL)
_NUMBER = r"(\d{1,18})(?!\d)"
_LOC = re.compile(
    rf"\.loc\s+(\d+)\s+{_NUMBER}(?:\s+{_NUMBER})?"
    rf"(?:\s*,\s*function_name\s+[^,]+,\s*inlined_at\s+(\d+)\s+{_NUMBER}\s+{_NUMBER})?"
)
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')


def read(text: str, file: str = "<ptx>") -> Program:
    """The module in `text`; `file` is its name in messages. Raises DiagnosticError for a syntax error."""
    return _Builder(file).module(parse(text, file))


def read_instruction(text: str, file: str, place: Instruction) -> Instruction:
    """The instruction in `text`, at the place of another one. Raises DiagnosticError for a syntax error."""
    opcode, modifiers, operands, guard = _parts(text.strip(), Position(file, place.line, place.column))
    return replace(place, opcode=opcode, modifiers=modifiers, operands=operands, predicate=guard)


def _parts(text: str, place: Position) -> tuple[str, tuple[str, ...], tuple[Operand, ...], Name | None]:
    match = _INSTRUCTION.fullmatch(text)
    if match is None:
        raise error(place, f"cannot read the instruction '{text}'")
    bang, predicate, opcode, dotted, rest = match.groups()
    try:
        operands = read_operands(rest)
    except OperandError as failure:
        raise error(place, f"'{opcode}{dotted}': {failure}") from None
    modifiers = tuple(dotted[1:].split(".")) if dotted else ()
    return opcode, modifiers, operands, Name(predicate, bool(bang)) if predicate else None


class _Builder(Declarations):
    """Walks the tree once, in order."""

    def __init__(self, file: str) -> None:
        super().__init__(Program(file))
        self.files: dict[str, str] = {}
        self.location: SourceLocation | None = None
        self.places: dict[tuple[str | None, ...], SourceLocation] = {}
        """The last `.loc` of a file, line and column."""

    def module(self, tree: Tree) -> Program:
        program = self.program
        # `.file` may appear at the end of the module, after the `.loc` directives that use it.
        for item in tree.children:
            if item.data == "file" and (match := _FILE.match(item.children[0])):
                self.files[match.group(1)] = match.group(2)
        for item in tree.children:
            kind, children = item.data, item.children
            if kind == "version":
                major, _, minor = str(children[0]).partition(".")
                if not (major + (minor or "0")).isdigit() or len(children[0]) > 8:
                    raise self.fault(
                        children[0], f"found the version '{children[0][:20]}', expected one such as 8.0"
                    )
                program.version = (int(major), int(minor or 0))
            elif kind == "target":
                program.targets = tuple(map(str, children))
            elif kind == "address_size":
                program.address_size = self.number(children[0])
                if program.address_size != 64:
                    raise self.fault(children[0], f"the address size is {children[0]}; expected 64")
            elif kind == "module_variable":
                linkage = {str(child.children[0]) for child in children[:-1]}
                self.variables(children[-1], program.scope, "", extern=".extern" in linkage)
            elif kind == "alias":
                program.aliases[str(children[0])] = str(children[1])
            elif kind == "item":
                self.function(children[-1])
            elif kind == "function":
                self.function(item)
        if program.version == (0, 0):
            raise error(Position(program.file, 1, 1), "the PTX has no .version directive; expected it first")
        if not program.targets:
            raise error(Position(program.file, 1, 1), "the PTX has no .target directive")
        if program.address_size != 64:
            raise error(
                Position(program.file, 1, 1),
                "the PTX has no .address_size directive, so addresses have 32 bits; expected .address_size 64",
            )
        return program

    def function(self, tree: Tree) -> None:
        program = self.program
        children = list(tree.children)
        kind = str(children.pop(0))
        results = parameters = body = None
        name = None
        function = Function("", kind == ".entry", [], [], Scope(program.scope), 0)
        for child in children:
            if child is None:
                continue
            if isinstance(child, Token):
                if child.type == "NAME":
                    name = child
            elif child.data == "results":
                results = child
            elif child.data == "parameters":
                parameters = child
            elif child.data == "body":
                body = child
            elif child.data == "blocksareclusters":
                function.blocks_are_clusters = True
            elif child.data in ("reqntid", "maxntid", "reqnctapercluster"):
                sizes = tuple(self.number(size) for size in child.children)
                sizes += (1,) * (3 - len(sizes))
                if child.data == "reqntid":
                    function.required_block = sizes
                elif child.data == "maxntid":
                    function.maximum_block = sizes
                else:
                    function.required_cluster = sizes
        assert name is not None
        function.name, function.line = str(name), name.line
        for part, into in ((results, function.results), (parameters, function.parameters)):
            if part is not None:
                self.parameters(part, function, into)
        earlier = program.functions.get(function.name)
        if earlier is not None and earlier.is_defined:
            if body is None:
                return
            raise self.fault(name, f"function '{name}' is defined twice", f"first at line {earlier.line}")
        program.functions[function.name] = function
        if body is not None:
            self.location = None
            function.start = len(program.instructions)
            self.block(body, function.scope, function)
            # A body may end without `ret`; its last label then represents the return.
            self.append("ret", (), (), None, function.scope, name.line, 1)
            function.end = len(program.instructions)

    def block(self, tree: Tree, scope: Scope, function: Function) -> None:
        pending: Token | None = None
        for child in tree.children:
            data = child.data
            if data == "instruction":
                self.instruction(child.children[0], scope)
            elif data == "label":
                token = child.children[0]
                label = token.rstrip(": \t\r\n")
                if label in scope.labels:
                    raise self.fault(token, f"label '{label}' is defined twice in this block")
                scope.labels[label] = len(self.program.instructions)
                pending = token
            elif data == "loc":
                self.loc(child.children[0])
            elif data == "registers":
                self.registers(child, scope)
            elif data == "local_variable":
                self.variables(child.children[0], scope, function.name, declared=function.variables)
            elif data in ("block", "body"):
                inner = child.children[0] if data == "block" else child
                self.block(inner, Scope(scope), function)
            elif data == "branch_targets" and pending is not None:
                names = re.sub(r"^\.\w+", "", child.children[0]).rstrip(";").split(",")
                scope.targets[pending.rstrip(": \t\r\n")] = tuple(name.strip() for name in names)

    def loc(self, token: Token) -> None:
        match = _LOC.match(token)
        if match is None:
            raise self.fault(token, f"cannot read the location '{token[:40]}'")
        file = self.files.get(match.group(1), f"file {match.group(1)}")
        line = int(match.group(2))
        if not line:
            self.location = None
            return
        # The location of the call precedes the inlined code, and states where the call itself was inlined.
        caller = self.places.get((match.group(4), match.group(5), match.group(6)))
        if caller is None and match.group(4):
            name = self.files.get(match.group(4), f"file {match.group(4)}")
            caller = SourceLocation(name, int(match.group(5)), int(match.group(6)))
        self.location = SourceLocation(file, line, int(match.group(3) or 0), caller)
        self.places[match.group(1), match.group(2), match.group(3)] = self.location

    def instruction(self, token: Token, scope: Scope) -> None:
        opcode, modifiers, operands, guard = _parts(
            token, Position(self.program.file, token.line, token.column)
        )
        self.append(opcode, modifiers, operands, guard, scope, token.line, token.column)

    def append(
        self,
        opcode: str,
        modifiers: tuple[str, ...],
        operands: tuple[Operand, ...],
        guard: Name | None,
        scope: Scope,
        line: int | None,
        column: int | None,
    ) -> None:
        self.program.instructions.append(
            Instruction(opcode, modifiers, operands, guard, scope, line or 0, column or 0, self.location)
        )
