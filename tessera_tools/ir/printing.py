"""IR to text: custom forms where ops have them, else the generic form; value names, block labels, locations.

Values keep the names from the text.  The others are numbered as in MLIR: a region's own operations first, then its
nested regions; numbering continues from the parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tessera_tools.ir.attribute_aliases import with_aliases
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, attribute_key, dictionary_text, elements_elided, quote
from tessera_tools.ir.core import Block, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.location_aliases import LocationAliases, pretty
from tessera_tools.ir.resources import External, resource_section
from tessera_tools.ir.style import PLAIN, Style
from tessera_tools.ir.traits import IsolatedFromAbove
from tessera_tools.ir.types import FunctionType
from tessera_tools.ir.user_comments import argument_comment, name_of_location, users_comment


def print_op(
    op: Operation,
    *,
    generic: bool = False,
    debuginfo: bool = False,
    local_scope: bool = False,
    style: Style | None = None,
    aliases: dict[str, str] | None = None,
    external: External | None = None,
) -> str:
    """The text of an operation, with a newline at the end.

    generic, debuginfo, local_scope: as the fields of `Style`; `style` sets all of them. Layouts are printed as aliases
    unless `local_scope`; `aliases` are those of earlier texts, which are used again. `external` are resources of other
    tools to print.
    """
    printer = Printer(style or Style(generic, debuginfo, local_scope))
    printer.top(op)
    text = printer.text()
    if not printer.style.local_scope:
        text = "".join(with_aliases(text, aliases))
    if "dense_resource<" not in text and not external:
        return text
    return text + resource_section(op, printer.style.most_resource, external)


def op_text(op: Operation, *, generic: bool = False) -> str:
    """The text of one operation (for debugging and messages), numbered within its isolated parent."""
    printer = Printer(Style(generic=generic))
    root = op
    while root.parent_op is not None and not root.has_trait(IsolatedFromAbove):
        root = root.parent_op
    printer.scope.number_op(root)
    printer.operation(op)
    return printer.text()


class Names:
    """Unique names of values and blocks.

    With `unique`, numbers are unique in the whole unit, and so are names of the text. With `ids`, ops without results
    have a number, in `ids`. With `by_location`, a location that is a name takes precedence over the name in the text.
    """

    def __init__(self, *, unique: bool = False, ids: bool = False, by_location: bool = False) -> None:
        self.values: dict[Value, str] = {}
        self.blocks: dict[Block, str] = {}
        self.ids: dict[Operation, str] = {}
        self._used: list[set[str]] = [set()]
        self._unique_ids = unique
        self._with_ids = ids
        self._by_location = by_location
        # Upstream has only numbers and names by location, which it does not keep apart.
        self._everywhere = unique and not by_location

    def number_op(self, op: Operation) -> None:
        """Name the results of `op`, and all values and blocks nested in it."""
        counters = [0, 0, 0]
        if op.results:
            self._results(op, counters)
        elif self._with_ids:
            self._id(op, counters)
        self._regions(op, counters if self._unique_ids else [0, 0, 0])

    def _regions(self, op: Operation, counters: list[int]) -> None:
        # MLIR's parser keeps the names of enclosing regions in scope: a nested isolated op may not reuse them.
        for region in reversed(op.regions) if self._unique_ids else op.regions:
            self._region(region, counters if self._unique_ids else list(counters))

    def _id(self, op: Operation, counters: list[int]) -> None:
        self.ids[op] = f"%{counters[0]}"
        counters[0] += 1

    def _hint(self, value: Value) -> str | None:
        return (name_of_location(value.location) if self._by_location else None) or value.name_hint

    def _region(self, region: Region, counters: list[int]) -> None:
        self._used.append(self._used[0] if self._everywhere else set())
        nested: list[Operation] = []
        entry = True
        named: set[str] = set()
        for number, block in enumerate(region.blocks):
            label = block.label if block.label and block.label not in named else f"bb{number}"
            while label in named:
                label += "_"
            named.add(label)
            self.blocks[block] = "^" + label
            for argument in block.arguments:
                hint = self._hint(argument)
                if hint is None and entry:
                    self.values[argument] = self._unique(f"arg{counters[1]}", counters)
                    counters[1] += 1
                elif hint is None:
                    self._number(argument, counters)
                else:
                    self.values[argument] = self._unique(hint, counters)
            entry = False
            op = block._first
            while op is not None:
                if op.results:
                    self._results(op, counters)
                elif self._with_ids:
                    self._id(op, counters)
                if op.regions:
                    nested.append(op)
                op = op._next
        # MLIR visits nested regions from the last to the first, which shows where their numbers are unique.
        for op in reversed(nested) if self._unique_ids else nested:
            self._regions(op, counters)
        self._used.pop()

    def _number(self, value: Value, counters: list[int]) -> None:
        self.values[value] = f"%{counters[0]}"
        counters[0] += 1

    def _results(self, op: Operation, counters: list[int]) -> None:
        results = op.results
        if len(results) == 1:
            hint = self._hint(results[0])
            if hint is None:
                self.values[results[0]] = f"%{counters[0]}"
                counters[0] += 1
            else:
                self.values[results[0]] = self._unique(hint, counters)
            return
        for start, count in result_groups(op):
            first = results[start]
            hint = self._hint(first)
            if hint is None:
                name = f"%{counters[0]}"
                counters[0] += 1
            else:
                name = self._unique(hint, counters)
            if count == 1:
                self.values[first] = name
            else:
                for i in range(count):
                    self.values[results[start + i]] = f"{name}#{i}"

    def _unique(self, hint: str, counters: list[int]) -> str:
        name = hint
        while any(name in used for used in self._used):
            name = f"{hint}_{counters[2]}"
            counters[2] += 1
        self._used[-1].add(name)
        return "%" + name


def result_groups(op: Operation) -> list[tuple[int, int]]:
    """(first index, count) of results that print as one name: a named result and the unnamed ones after it."""
    groups: list[tuple[int, int]] = []
    for i, result in enumerate(op.results):
        if i == 0 or result.name_hint is not None:
            groups.append((i, 1))
        else:
            groups[-1] = (groups[-1][0], groups[-1][1] + 1)
    return groups


class Printer:
    """Writes operations.  The methods from `write` on are what formats and custom directives use (docs/ops.md)."""

    def __init__(self, style: Style = PLAIN) -> None:
        self.style = style
        self.scope = Names(unique=style.unique_ids, ids=style.value_users, by_location=style.name_locations)
        self.short_dialect = ""
        """The dialect whose types are currently printed without prefix."""
        self.default_dialect = "builtin"
        self._out: list[str] = []
        self._indent = 0
        self._space = True
        self._punctuation = False
        self._types: dict[tuple[Type, str], str] = {}
        self._aliases: LocationAliases | None = None
        """Set while a whole unit is printed with location aliases."""

    def text(self) -> str:
        """The text so far."""
        text = "".join(self._out)
        return self._aliases.resolve(text) if self._aliases is not None else text

    def top(self, op: Operation) -> None:
        """Print a whole unit: the operation, a newline, location aliases."""
        with elements_elided(self.style.most_elements):
            self._top(op)

    def _top(self, op: Operation) -> None:
        self.scope.number_op(op)
        if self.style.debuginfo and not self.style.local_scope:
            self._aliases = LocationAliases(pretty=self.style.pretty_debuginfo)
            self._aliases.meet(op)
        bare = not self.style.generic and not self.style.skip_regions
        if bare and op.name == "builtin.module" and _prints_bare(op):
            for inner in op.regions[0].blocks[0]:
                self.operation(inner)
                self.write("\n")
        else:
            self.operation(op)
            self.write("\n")

    # -- operations

    def operation(self, op: Operation, *, name_results: bool = True) -> None:
        """One operation, without indentation and newline."""
        out = self._out
        results = op.results if name_results else ()
        if results:
            names = self.scope.values
            if len(results) == 1:
                out.append(f"{names[results[0]]} = ")
            else:
                parts = []
                for start, count in result_groups(op):
                    name = names[results[start]]
                    parts.append(name if count == 1 else f"{name.partition('#')[0]}:{count}")
                out.append(", ".join(parts) + " = ")
        definition = None if self.style.generic else getattr(op, "definition", None)
        if definition is None or definition.format is None:
            self._generic(op)
        else:
            name = op.name
            dialect = name.partition(".")[0]
            default = self.default_dialect
            bare = (dialect == default or dialect in _BARE_NAMES) and name not in _ALWAYS_PREFIXED
            out.append(name[len(dialect) + 1 :] if bare else name)
            outer = self.short_dialect
            self.short_dialect = dialect
            self.default_dialect = (op.default_dialect or "") if op.regions else default  # type: ignore[attr-defined]
            self._space, self._punctuation = True, False
            definition.format.write(self, op)
            self.short_dialect, self.default_dialect = outer, default
        if self.style.debuginfo:
            out.append(f" {self.location(op.location)}")
        if self.style.value_users:
            out.append(users_comment(self.scope, op))

    def _generic(self, op: Operation) -> None:
        self.write(f"{quote(op.name)}({', '.join(self.name(v) for v in op.operands)})")
        if op.successors:
            self.write(f"[{', '.join(self.block_name(b) for b in op.successors)}]")
        if isinstance(op, UnregisteredOp):
            inherent, discardable = op.properties, op.attributes
        else:
            keys = op.inherent_attributes
            inherent = {k: v for k, v in op.attributes.items() if k in keys}
            # Upstream also prints properties that have their default value.
            definition = getattr(op, "definition", None)
            for field in definition.attributes if definition is not None else ():
                if field.default is not None:
                    inherent.setdefault(field.key, field.default)
            discardable = {k: v for k, v in op.attributes.items() if k not in keys}
        if inherent:
            self.write(f" <{self.dictionary(inherent)}>")
        if op.regions:
            self.write(" (")
            outer, self.short_dialect = self.short_dialect, ""
            for i, region in enumerate(op.regions):
                self.write(", " if i else "")
                self.region(region, empty_label=True)
            self.short_dialect = outer
            self.write(")")
        if discardable:
            self.write(f" {self.dictionary(discardable)}")
        outer, self.short_dialect = self.short_dialect, ""
        self.write(" : ")
        self.write(self.function_type(op.operand_types, op.result_types))
        self.short_dialect = outer

    def dictionary(self, attributes: dict[str, Attribute]) -> str:
        return dictionary_text(sorted(attributes.items()))

    # -- what directives use

    def write(self, text: str) -> None:
        """Append text as it is; the next element is separated by a space unless it ends with an opening bracket."""
        if text:
            self._out.append(text)
            self._space = text[-1] not in " <({["
            self._punctuation = False

    def newline(self) -> None:
        """A new line, indented as the current operation."""
        self._out.append("\n" + "  " * self._indent)
        self._space, self._punctuation = False, False

    def literal(self, text: str) -> None:
        """A keyword or punctuation of a format, with MLIR's rules for the space before it."""
        front = text[0]
        if self._space and (len(text) != 1 or front not in (">)}]," if self._punctuation else "<>(){}[],")):
            self._out.append(" ")
        self._out.append(text)
        self._space = len(text) != 1 or front not in "<({["
        self._punctuation = not (front == "_" or front.isalpha())

    def spacing(self, text: str) -> None:
        """`` ` ` `` forces a space, an empty literal forbids one."""
        if text:
            self._out.append(text)
        self._space = False
        self._punctuation = False

    def space(self) -> None:
        """The space before an element that is not a literal; the element is written next."""
        if self._space:
            self._out.append(" ")
        self._space = True

    def name(self, value: Value) -> str:
        """`%name` of a value."""
        found = self.scope.values.get(value)
        return found if found is not None else "<<UNKNOWN SSA VALUE>>"

    def names(self, values: Iterable[Value]) -> str:
        """`%a, %b`."""
        return ", ".join(self.name(v) for v in values)

    def block_name(self, block: Block) -> str:
        return self.scope.blocks.get(block, "<<UNKNOWN BLOCK>>")

    def kind_text(self, kind: Any, value: Any) -> str:
        """An attribute as its kind writes it."""
        return kind.text(value)

    def type(self, type: Type) -> str:
        """A type; in its short form, if it has one, and the current op is of the type's dialect."""
        key = (type, self.short_dialect)
        known = self._types.get(key)
        if known is None:
            short = getattr(type, "short_text", None)
            use_short = short is not None and type.name.partition(".")[0] == self.short_dialect
            known = self._types[key] = short() if use_short and short is not None else type.text()
        return known

    def types(self, types: Sequence[Type]) -> str:
        """`i32, f32`."""
        return ", ".join(map(self.type, types))

    def attribute(self, attribute: Attribute) -> str:
        return str(attribute)

    def function_type(self, inputs: Sequence[Type], results: Sequence[Type]) -> str:
        """`(inputs) -> results`."""
        text = self.types(results)
        if len(results) != 1 or isinstance(results[0], FunctionType):
            text = f"({text})"
        return f"({self.types(inputs)}) -> {text}"

    def attr_dict(self, op: Operation, elide: Iterable[str] = (), *, keyword: bool = False) -> None:
        """The attributes that the format does not print, ` {a = 1}`, sorted by name; nothing if there are none."""
        attributes = op.attributes
        if not attributes:
            return
        shown = [(k, v) for k, v in sorted(attributes.items()) if k not in elide]
        if shown:
            parts = [attribute_key(k) if v is UNIT else f"{attribute_key(k)} = {v}" for k, v in shown]
            self.write(f" {'attributes ' if keyword else ''}{{{', '.join(parts)}}}")

    def location(self, location: Location, *, argument: bool = False) -> str:
        """`loc(…)` of an operation or argument, through aliases unless in local scope."""
        if self._aliases is None:
            return pretty(location) if self.style.pretty_debuginfo else str(location)
        return self._aliases.mark(location, argument=argument)

    def argument_location(self, value: Any) -> str:
        """` loc(…)` of a region's argument in debug output, else nothing."""
        return f" {self.location(value.location, argument=True)}" if self.style.debuginfo else ""

    def argument(self, value: Any) -> None:
        """`%a: type`, with its location in debug output."""
        self.write(f"{self.name(value)}: {self.type(value.type)}{self.argument_location(value)}")

    def successor(self, block: Block, operands: Sequence[Value] = ()) -> None:
        """`^bb1(%a : i32)`."""
        self.write(self.block_name(block))
        if operands:
            self.write(f"({self.names(operands)} : {self.types([v.type for v in operands])})")

    def region(
        self, region: Region, *, arguments: bool = True, terminator: bool = True, empty_label: bool = False
    ) -> None:
        """`{ … }`.  Entry arguments are printed as a label unless `arguments` is False; a terminator without operands
        and attributes is omitted if `terminator` is False."""
        if self.style.skip_regions:
            self.write("{...}")
            return
        self.write("{\n")
        self._indent += 1
        indent = "  " * self._indent
        predecessors = _predecessors(region)
        for number, block in enumerate(region.blocks):
            if (
                number
                or (arguments and block.arguments)
                or block
                in predecessors  # no verified op branches to its entry, but the text must still show it
                or (empty_label and block.first_op is None)
            ):
                self._label(block, arguments or number != 0, predecessors.get(block, []) if number else None)
            if self.style.value_users:
                for argument in block.arguments:
                    self.write(f"{indent}{argument_comment(self.scope, argument)}\n")
            last = block.last_op
            for op in block:
                if (
                    op is last
                    and not terminator
                    and not op.op_operands
                    and not op.attributes
                    and _is_terminator(op)
                ):
                    continue
                self.write(indent)
                self.operation(op)
                self.write("\n")
        self._indent -= 1
        self.write("  " * self._indent + "}")

    def _label(self, block: Block, arguments: bool, predecessors: list[Block] | None) -> None:
        """`^bb1(%a : i32):  // pred: ^bb0`, the predecessors unless None."""
        self.write("  " * (self._indent - 1) + self.block_name(block))
        if block.arguments and arguments:
            self.write("(")
            for i, argument in enumerate(block.arguments):
                self.write(", " if i else "")
                self.argument(argument)
            self.write(")")
        self.write(":")
        if predecessors is not None:
            if not predecessors:
                self.write("  // no predecessors")
            elif len(predecessors) == 1:
                self.write(f"  // pred: {self.block_name(predecessors[0])}")
            else:
                self.write(f"  // {len(predecessors)} preds: {', '.join(map(self.block_name, predecessors))}")
        self.write("\n")


_BARE_NAMES = frozenset({"cuda_tile"})
"""Dialects whose ops are printed without their prefix everywhere, as in the dialects' own tools."""

_ALWAYS_PREFIXED = frozenset({"cuda_tile.module"})
"""Ops of these dialects whose bare name is ambiguous."""


def _prints_bare(module: Operation) -> bool:
    """True if a module has no attributes and holds only ops of a bare dialect; it is then printed as a file."""
    if module.attributes or not module.regions or len(module.regions[0].blocks) != 1:
        return False
    block = module.regions[0].blocks[0]
    return block.first_op is not None and all(op.name.partition(".")[0] in _BARE_NAMES for op in block)


def _predecessors(region: Region) -> dict[Block, list[Block]]:
    """The predecessors of each block that has any, once each, in order; empty if the region has one block."""
    found: dict[Block, list[Block]] = {}
    if len(region.blocks) > 1:
        for block in region.blocks:
            for target in dict.fromkeys(block.successors):
                found.setdefault(target, []).append(block)
    return found


def _is_terminator(op: Operation) -> bool:
    from tessera_tools.ir.traits import Terminator

    return op.has_trait(Terminator)
