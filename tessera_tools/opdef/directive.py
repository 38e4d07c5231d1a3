"""The parts of format directives: `OpState` (the parts of an op during parsing) and
`CustomDirective` (dialect-specific syntax).  See docs/ops.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from tessera_tools.ir.attributes import Attribute, Type

if TYPE_CHECKING:
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.location import Location
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.op import OpDefinition


Node: TypeAlias = Any
"""What a grammar rule read: a token, a type or an attribute, a list of such, or a pair of an alternative's name and its
parts.  The rule determines which; Python's types cannot express it, so a directive takes the parts as they are."""


class Token(NamedTuple):
    """A piece of source text; `start` is its character offset."""

    text: str
    start: int


class RegionState(NamedTuple):
    """A parsed region: its light tree, and names and types of entry arguments that the op's syntax binds."""

    node: Node
    arguments: Sequence[tuple[Token, Type | None]]


class OpParser(Protocol):
    """What directives ask of the parser."""

    @property
    def errors(self) -> Sequence[DiagnosticError]:
        """The errors so far."""
        ...

    def error_at(self, start: int, message: str) -> DiagnosticError:
        """An error at an offset of the text."""
        ...

    def bound_type(self, tokens: list[Token]) -> Type | None:
        """The type of the first of some values that is defined before the op."""
        ...

    def nested_op(self, name: Token, operands: list[Token]) -> Token:
        """Build an op that is written in place of an operand; its result's name."""
        ...


Known: TypeAlias = "Type | list[Type] | Attribute | None"
"""What is known of a field: the type of its value, a list of types if it is variadic, or its attribute."""


class OpState:
    """The parts of one op, filled by its format's directives, then resolved and built by the parser.

    Types are looked up by field name; types that a format omits are inferred (`OpDefinition.infer`).
    """

    __slots__ = (
        "argument_locations", "attributes", "block_arguments", "definition", "operand_tokens", "parser",
        "regions", "start", "successors", "value_types",
    )  # fmt: skip

    def __init__(self, definition: OpDefinition, parser: OpParser, start: int) -> None:
        self.definition = definition
        self.parser = parser
        self.start = start
        self.operand_tokens: dict[str, list[Token]] = {}
        self.value_types: dict[str, list[Type]] = {}
        """Explicit types of operand and result fields."""
        self.attributes: dict[str, Attribute] = {}
        self.regions: dict[str, list[RegionState]] = {}
        self.successors: dict[str, list[Token]] = {}
        self.block_arguments: list[tuple[Token, Type | None]] = []
        """Entry arguments of the op's first region that are bound by the syntax before the region."""
        self.argument_locations: dict[int, Location] = {}
        """Explicit locations of entry arguments, by the offset of their names."""

    def operand(self, field: str, token: Token) -> None:
        """Append one operand to a field."""
        self.operand_tokens.setdefault(field, []).append(token)

    def operands(self, field: str, tokens: list[Token]) -> None:
        self.operand_tokens.setdefault(field, []).extend(tokens)

    def types(self, field: str, types: list[Type]) -> None:
        """The explicit types of an operand or result field."""
        self.value_types.setdefault(field, []).extend(types)

    def attribute(self, key: str, value: Attribute) -> None:
        self.attributes[key] = value

    def region(
        self, field: str, node: Node, arguments: Sequence[tuple[Token, Type | None]] | None = None
    ) -> None:
        self.regions.setdefault(field, []).append(RegionState(node, arguments or []))

    def argument_types(self, field: str, types: list[Type]) -> None:
        """Set the types of a region's entry arguments that were bound without types."""
        old = self.regions[field][-1]
        bound: list[tuple[Token, Type | None]] = [
            (token, type) for (token, _), type in zip(old.arguments, types, strict=True)
        ]
        self.regions[field][-1] = RegionState(old.node, bound)

    def argument_location(self, token: Token, location: Location | None) -> None:
        """The location written after an entry argument (None for none: the position of its name)."""
        if location is not None:
            self.argument_locations[token.start] = location

    def successor(self, field: str, token: Token) -> None:
        self.successors.setdefault(field, []).append(token)

    def error(self, token: Token | None, message: str) -> DiagnosticError:
        """An error at a token (at the op if None): `raise state.error(token, "…")`."""
        start = self.start if token is None else token.start
        return self.parser.error_at(start, f"custom op '{self.definition.name}' {message}")


class CustomDirective:
    """Syntax that the declarative format cannot express; subclasses are declared with `name="…"` and used as
    `custom<Name>($a, type($b))`.  `arguments` has the words between the parentheses.

    `grammar` is a Lark fragment that defines the rule `custom`.
    """

    grammar: ClassVar[str] = ""
    name: ClassVar[str] = ""
    classes: ClassVar[dict[str, type[CustomDirective]]] = {}

    def __init_subclass__(cls, *, name: str | None = None) -> None:
        super().__init_subclass__()
        if name is not None:
            cls.name = name
            CustomDirective.classes[f"{cls.__module__}:{name}"] = cls

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments

    def read(self, state: OpState, node: Node) -> None:
        """Fill `state` from the children of the grammar rule."""
        raise AssertionError(f"{type(self).__name__} does not implement read()")

    def write(self, p: Printer, op: Any) -> None:
        """Write what `read` reads."""
        raise AssertionError(f"{type(self).__name__} does not implement write()")

    def present(self, op: Operation) -> bool:
        """Whether the syntax stands in the text if it anchors an optional group."""
        return True

    def covers(self) -> tuple[set[str], set[str]]:
        """Names of the attributes (by key) and of the value fields whose types this directive parses: by default, all
        that its arguments name."""
        return set(self.arguments), set(self.arguments)

    @classmethod
    def find(cls, module: str, name: str) -> type[CustomDirective]:
        """The directive `name` in the scope of a module: its own, then those of its package, then any."""
        package = module
        while package:
            found = cls.classes.get(f"{package}:{name}")
            if found is not None:
                return found
            package = package.rpartition(".")[0]
        matches = [c for key, c in cls.classes.items() if key.endswith(f":{name}")]
        if not matches:
            raise ValueError(f"custom<{name}> is not defined")
        near = [c for c in matches if c.__module__.rpartition(".")[0] == module.rpartition(".")[0]]
        return (near or matches)[0]
