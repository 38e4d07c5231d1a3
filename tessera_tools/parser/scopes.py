"""Names of values while IR is built: scopes, forward references, and values whose definition is in error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Value
from tessera_tools.ir.types import INDEX, NONE, IntegerType
from tessera_tools.opdef.dialect import find_op
from tessera_tools.opdef.directive import Token
from tessera_tools.parser.source import Source


class Forward(Value):
    """Stands for a value used before its definition."""

    __slots__ = ("resolved", "start", "untyped")

    def __init__(self, type: Type, start: int) -> None:
        super().__init__(type)
        self.start = start
        self.untyped = False
        self.resolved = False


class Unknown(Value):
    """Stands for a value whose definition is in error."""

    __slots__ = ()


class Skip(Exception):
    """An operation that uses an unknown value: nothing more is to be said about it."""


class Scope:
    """The names visible in one isolated region.

    Those of the regions around it cannot be used in it, nor defined again: `around` is the nearest scope with names.
    """

    __slots__ = ("around", "constants", "forward", "implicit", "starts", "top", "values")

    def __init__(self, around: Scope | None = None) -> None:
        self.around = around if around is None or around.values else around.around
        self.top: Block | None = None
        """The outermost block, which dominates all of them."""
        self.implicit: set[str] = set()
        """Names of implicit constants, which the text may define later."""
        self.constants: dict[tuple[str, Type], Value] = {}
        """Those constants, by name and type."""
        self.values: dict[str, list[Value]] = {}
        self.starts: dict[str, int] = {}
        self.forward: dict[str, Forward] = {}


class Scopes:
    """The values that names stand for at the place where the builder is."""

    def __init__(self, source: Source, implicit_index_constants: bool) -> None:
        self.source = source
        self.implicit_index_constants = implicit_index_constants
        self.errors: list[Diagnostic] = []
        self.scope = Scope()
        self.block: Block | None = None
        """The block that is being filled."""

    def error_at(self, start: int, message: str) -> DiagnosticError:
        """An error at a character offset (the interface that `OpState` uses)."""
        return self.source.error(start, message)

    def close_scope(self, scope: Scope) -> None:
        for name, forward in scope.forward.items():
            message = f"use of undeclared SSA value name '{name}'"
            if _looks_like_a_constant(name):
                constant = f"{name} = arith.constant {name[2:]} : index"
                message += f"; define it ('{constant}') or pass --implicit-index-constants"
            self.errors.append(self.source.diagnostic(forward.start, message))

    def value(self, token: Token, type: Type | None) -> Value:
        """The value a token names.  `type` is what the use expects; None takes the value's own."""
        name, _, number = token.text.partition("#")
        found = self.scope.values.get(name)
        if found is None:
            return self._forward_value(token, type)
        index = int(number) if number and len(number) < 10 else 0
        if index >= len(found) or len(number) >= 10:
            raise self.error_at(
                token.start, f"reference to invalid result number: '{name}' has {len(found)} results"
            )
        value = found[index]
        if value.__class__ is Unknown:
            raise Skip
        if type is not None and value.type is not type and name in self.scope.implicit:
            constant = self._implicit_constant(token, type)
            if constant is not None:
                return constant
        if type is not None and value.type is not type:
            failure = self.error_at(
                token.start,
                f"use of value '{token.text}' expects different type than prior uses: '{type}' vs '{value.type}'",
            )
            prior = self.scope.starts.get(name)
            if prior is not None:
                failure.diagnostics[0].note("prior use here", self.source.position(prior))
            raise failure
        return value

    def _forward_value(self, token: Token, type: Type | None) -> Value:
        forward = self.scope.forward.get(token.text)
        if forward is not None:
            if forward.untyped:
                raise Skip
            if type is not None and forward.type is not type:
                raise self.error_at(
                    token.start,
                    f"use of value '{token.text}' expects different type than prior uses: '{type}' vs '{forward.type}'",
                )
            return forward
        if self.implicit_index_constants and _looks_like_a_constant(token.text):
            constant = self._implicit_constant(token, type)
            if constant is not None:
                return constant
        forward = Forward(type or NONE, token.start)
        forward.untyped = type is None
        self.scope.forward[token.text] = forward
        if type is None:
            # Without a type there is nothing to build; what is wrong is known when the scope closes.
            raise Skip
        return forward

    def bound_type(self, tokens: Sequence[Token]) -> Type | None:
        """The type of a loop's bounds that the text leaves out, where implicit constants may stand for some of them:
        that of the first one that the text defines as an integer.  None where nothing says so."""
        if not self.implicit_index_constants:
            return None
        for token in tokens:
            found = self.scope.values.get(token.text)
            if found and token.text not in self.scope.implicit and isinstance(found[0].type, IntegerType):
                return found[0].type
        return None

    def _implicit_constant(self, token: Token, type: Type | None) -> Value | None:
        """The constant that a name like `%c64` stands for, of the integer type that the use expects, or index."""
        from tessera_tools.diagnostics import emit
        from tessera_tools.ir.builtin_attributes import IntegerAttr, index

        number = int(token.text[2:])
        wanted = type if isinstance(type, IntegerType) and number < 1 << max(0, type.width - 1) else INDEX
        known = self.scope.constants.get((token.text, wanted))
        if known is not None:
            return known
        constant_class: Any = find_op("arith.constant")
        top = self.scope.top if self.scope.top is not None else self.block
        assert top is not None
        value = index(number) if wanted is INDEX else IntegerAttr(number, wanted)
        op = constant_class(value, location=self.source.location(token.start))
        top.insert_before(top.first_op, op)
        self.scope.values.setdefault(token.text, [op.results[0]])
        self.scope.constants[token.text, wanted] = op.results[0]
        self.scope.implicit.add(token.text)
        op.results[0].name_hint = token.text[1:]
        emit(
            Diagnostic(
                "warning",
                self.source.position(token.start),
                f"undefined '{token.text}' is taken as an {wanted} constant",
            )
        )
        return op.results[0]

    def define(self, name: str, values: list[Value], start: int, names: list[str]) -> None:
        """Bind a name; `names` gathers the names to unbind when the region ends."""
        scope = self.scope
        holder: Scope | None = scope
        while holder is not None:
            if name in holder.values and name not in holder.implicit:
                failure = self.error_at(start, f"redefinition of SSA value '{name}'")
                failure.diagnostics[0].note(
                    "previously defined here", self.source.position(holder.starts.get(name, start))
                )
                self.errors += failure.diagnostics
                return
            holder = holder.around
        scope.implicit.discard(name)
        scope.values[name] = values
        scope.starts[name] = start
        names.append(name)
        if scope.forward:
            self._resolve_forward(name, values, start)

    def _resolve_forward(self, name: str, values: list[Value], start: int) -> None:
        forwards = self.scope.forward
        for i, value in enumerate(values):
            for key in (f"{name}#{i}", name) if i == 0 else (f"{name}#{i}",):
                forward = forwards.pop(key, None)
                if forward is None:
                    continue
                if forward.untyped:
                    message = f"'{key}' is used before its definition, where its type is not yet known"
                    if _looks_like_a_constant(key):
                        message += "; define it earlier, or pass --implicit-index-constants"
                    self.errors.append(self.source.diagnostic(forward.start, message))
                elif forward.has_uses and forward.type is not value.type and value.__class__ is not Unknown:
                    failure = self.error_at(
                        forward.start,
                        f"use of value '{key}' expects different type than its definition: "
                        f"'{forward.type}' vs '{value.type}'",
                    )
                    failure.diagnostics[0].note("defined here", self.source.position(start))
                    self.errors += failure.diagnostics
                forward.resolved = True
                forward.replace_all_uses_with(value)


def _looks_like_a_constant(name: str) -> bool:
    """True if a name is like `%c64`, which --implicit-index-constants takes as a number."""
    return name.startswith("%c") and name[2:].isdigit()
