"""Documentation pages of the dialects, generated from their declarations.

    python -m tessera_tools.opdef.documentation          rewrites docs/dialects/*.md

    Dialect ─dialect_page()─▶ docs/dialects/<name>.md       all_dialects() ─index_page()─▶ docs/dialects/README.md

The assembly format is shown as a template (`template`): literal words and punctuation, `%name` for a value,
`$name` for an attribute, square brackets around optional parts; the index page has the complete key.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera_tools.ir.effects import MemoryEffects, Pure
from tessera_tools.ir.traits import HasParent, ImplicitTerminator, Trait
from tessera_tools.opdef.attribute_kinds import EnumAttr
from tessera_tools.opdef.dialect import Dialect, all_dialects, find_dialect
from tessera_tools.opdef.fields import AttributeField
from tessera_tools.opdef.format import (
    AllOperands,
    AttrDict,
    AttributeRef,
    Custom,
    Directive,
    FunctionalType,
    Group,
    Literal,
    OperandRef,
    RegionRef,
    Space,
    SuccessorRef,
    TypeOf,
    TypesOfAll,
    walk,
)

if TYPE_CHECKING:
    from tessera_tools.ir.attributes import Attribute
    from tessera_tools.opdef.op import Op, OpDefinition

__all__ = [
    "COMMAND",
    "attribute_section",
    "dialect_page",
    "index_page",
    "op_section",
    "overview",
    "pages",
    "template",
    "write_pages",
]

COMMAND = "python -m tessera_tools.opdef.documentation"
"""The command that generates the pages."""

HEADER = "<!-- Generated from {source} by `" + COMMAND + "`; do not edit. -->"

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "dialects"

_VALUES = {"single": "", "optional": "optional", "variadic": "any number"}
_CLOSED_UP = frozenset(",)>]")


# -- syntax


def template(op_class: type[Op]) -> str | None:
    """The custom form of an op with its results, on one line; None for an op with the generic form only."""
    definition = op_class.definition
    if definition.format is None:
        return None
    body = _sequence(definition.format.directives)
    space = "" if body.startswith("(") else " "
    return f"{_results(definition)}{op_class.name}{space}{body}".rstrip()


def _results(definition: OpDefinition) -> str:
    named = [f"%{f.name}{_MARKS[f.arity]}" for f in definition.results]
    return f"{', '.join(named)} = " if named else ""


_MARKS = {"single": "", "optional": "?", "variadic": ", …"}


def _sequence(directives: Iterable[Directive]) -> str:
    """The elements with usual spacing, which may differ from the printer's."""
    text = ""
    glue = True
    for directive in directives:
        if isinstance(directive, Space):
            glue = not directive.text
            continue
        piece = _element(directive)
        if not piece:
            continue
        opens = isinstance(directive, Literal) and piece in ("(", "[", "<")
        follows = opens and text[-1:] not in tuple(",:=>")
        text += piece if glue or follows or piece[0] in _CLOSED_UP else f" {piece}"
        glue = opens
    return text


def _element(directive: Directive) -> str:
    match directive:
        case Literal():
            return directive.text
        case OperandRef():
            return f"%{directive.field.name}{_MARKS[directive.field.arity]}"
        case AllOperands():
            return "%operands, …"
        case AttributeRef():
            return _attribute(directive)
        case RegionRef():
            return "{ … }" if directive.field.arity == "single" else "{ … }, …"
        case SuccessorRef():
            return f"^{directive.field.name}{_MARKS[directive.field.arity]}"
        case TypeOf():
            return f"type({directive.field.name})"
        case TypesOfAll():
            return f"type({directive.noun}s)"
        case FunctionalType():
            return f"({_element(directive.inputs)}) -> {_element(directive.outputs)}"
        case AttrDict():
            return "[attributes {…}]" if directive.keyword else "[{…}]"
        case Custom():
            return _custom(directive)
        case Group():
            inner = _sequence(directive.elements)
            other = _sequence(directive.otherwise)
            return f"[{inner} | {other}]" if other else f"[{inner}]" if inner else ""
        case _:
            return "…"


def _custom(directive: Custom) -> str:
    """Its name, and its fields unless its explanation is an example that shows them."""
    own = directive.directive
    fields = [] if _own_doc(type(own)).startswith("`") else own.arguments
    return f"<{type(own).name}{': ' if fields else ''}{', '.join(fields)}>"


def _attribute(directive: AttributeRef) -> str:
    if directive.silent:
        return ""
    if directive.unit:
        return directive.field.key
    name = f"${directive.field.name}"
    return f"<{name}>" if directive.field.kind.symbol == "angled_keywords" else name


def _customs(op_class: type[Op]) -> list[tuple[str, str]]:
    """Name and explanation of each custom directive in the format, once each."""
    found: dict[str, str] = {}
    if op_class.definition.format is not None:
        for directive in walk(op_class.definition.format.directives):
            if isinstance(directive, Custom):
                kind = type(directive.directive)
                found.setdefault(kind.name, _own_doc(kind).split("\n\n")[0])
    return list(found.items())


# -- text


def _own_doc(cls: type) -> str:
    """The class's own docstring, without indentation; "" if there is none."""
    return inspect.cleandoc(cls.__dict__.get("__doc__") or "")


def _documentation(cls: type) -> str:
    """The class's docstring, or its nearest base's inside the dialects."""
    for base in cls.__mro__:
        if ".dialects." in base.__module__ and (text := _own_doc(base)):
            return text
    return ""


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table without the columns that are empty in every row."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    kept = [i for i in range(len(head)) if i < 2 or any(row[i] for row in cells)]
    lines = [[head[i] for i in kept], ["---"] * len(kept), *([row[i] for i in kept] for row in cells)]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _prose(text: str) -> list[str]:
    """A docstring as Markdown; indented lines are code blocks."""
    return [text, ""] if text else []


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", ":", "!", "?")) else f"{text}."


def trait_text(trait: Trait) -> str:
    """The text of a trait: its class's name, with its parameters."""
    if isinstance(trait, HasParent):
        return f"HasParent({', '.join(trait.names)})"
    if isinstance(trait, ImplicitTerminator):
        return f"ImplicitTerminator({trait.terminator.name})"
    if isinstance(trait, MemoryEffects) and not isinstance(trait, Pure):
        return str(trait)
    return type(trait).__name__


def _default(field: AttributeField) -> str:
    if field.default is None:
        return "optional" if field.arity == "optional" else ""
    return f"default `{_code(field.kind.text(field.default))}`"


def _code(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


# -- pages


def op_section(op_class: type[Op]) -> list[str]:
    """The lines of the section of an op."""
    definition = op_class.definition
    lines = [f"## `{op_class.name}`", ""]
    lines += _prose(_documentation(op_class))
    syntax = template(op_class)
    if syntax is None:
        lines += ["Generic form only.", ""]
    else:
        lines += ["```text", syntax, "```", ""]
        explained = [(name, text) for name, text in _customs(op_class) if text]
        lines += [f"- `<{name}>`: {_sentence(' '.join(text.split()))}" for name, text in explained]
        lines += [""] if explained else []
    values = [
        (
            f"`%{f.name}`{' (result)' if noun == 'result' else ''}",
            f.constraint.summary,
            _VALUES[f.arity],
            f.doc,
        )
        for noun, fields in (("operand", definition.operands), ("result", definition.results))
        for f in fields
    ]
    if values:
        lines += _table(("value", "type", "count", ""), values)
    attributes = [(f"`{f.key}`", f.kind.summary, _default(f), f.doc) for f in definition.attributes]
    if attributes:
        lines += _table(("attribute", "kind", "if absent", ""), attributes)
    for noun, fields in (("Regions", definition.regions), ("Successors", definition.successors)):
        if fields:
            many = {f.name: " (any number)" if f.arity == "variadic" else "" for f in fields}
            named = [f"`{f.name}`{many[f.name]}{f' ({f.doc})' if f.doc else ''}" for f in fields]
            lines += [f"{noun}: {', '.join(named)}.", ""]
    traits = list(dict.fromkeys(trait_text(trait) for trait in op_class.traits))
    if traits:
        lines += [f"Traits: {', '.join(traits)}.", ""]
    return lines


def attribute_section(sigil: str, word: str, cls: type[Attribute], dialect: str) -> list[str]:
    """The lines of the section of a type (`!`) or attribute (`#`)."""
    lines = [f"### `{sigil}{dialect}.{word}`", "", *_prose(_documentation(cls))]
    if issubclass(cls, EnumAttr):
        separator = cls.separator
        several = f", or several with `{separator}` between" if separator else ""
        lines += [f"One of {', '.join(f'`{case}`' for case in cls.cases)}{several}.", ""]
    elif cls._fields:
        notes: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            notes.update(inspect.get_annotations(base))
        rows = [(f"`{name}`", f"`{notes.get(name, 'Any')}`") for name in cls._fields]
        lines += _table(("parameter", "is"), rows)
    return lines


def _source(dialect: Dialect) -> str:
    """The folder or module that declares the dialect, from the root of the checkout."""
    from tessera_tools.opdef.registry import DIALECT_MODULES

    path = DIALECT_MODULES[dialect.name].replace(".", "/")
    return path if (_DOCS.parents[1] / path).is_dir() else f"{path}.py"


def own_ops(dialect: Dialect) -> dict[str, type[Op]]:
    """The ops with the dialect's prefix, by full name in alphabetical order."""
    return {name: op for name, op in sorted(dialect.ops.items()) if name.startswith(f"{dialect.name}.")}


def dialect_page(dialect: Dialect) -> str:
    """The page of one dialect."""
    lines = [HEADER.format(source=_source(dialect)), "", f"# {dialect.name}", ""]
    lines += [_sentence(dialect.summary[:1].upper() + dialect.summary[1:]), ""]
    ops = own_ops(dialect)
    if ops:
        names = ", ".join(f"[`{name.partition('.')[2]}`](#{anchor(name)})" for name in ops)
        lines += [f"Operations: {names}.", ""]
    for op_class in ops.values():
        lines += op_section(op_class)
    for title, sigil, classes in (("Types", "!", dialect.types), ("Attributes", "#", dialect.attributes)):
        if classes:
            lines += [f"## {title}", ""]
            for word, cls in classes.items():
                lines += attribute_section(sigil, word, cls, dialect.name)
    return "\n".join(lines).rstrip() + "\n"


def anchor(name: str) -> str:
    """The fragment of a heading that is the op's name: lower case, of letters, digits, `_` and `-` only."""
    return "".join(c for c in name.lower() if c.isalnum() or c in "_-")


def index_page(dialects: Iterable[Dialect]) -> str:
    """The list of dialects."""
    rows = [
        (f"[{d.name}]({d.name}.md)", d.summary, *map(str, (len(own_ops(d)), len(d.types), len(d.attributes))))
        for d in dialects
    ]
    lines = [HEADER.format(source="tessera_tools/dialects"), "", "# Dialects", ""]
    lines += _table(("dialect", "what it is", "ops", "types", "attributes"), rows)
    lines += [
        "In the syntax of an op, words and punctuation are typed as they stand; `%name` is a value, `%name, …` any",
        "number of values with commas, `%name?` one or none, `$name` an attribute in the form of its kind (a number, a",
        "keyword, `@symbol`, …), `^name` a block, `<Name: fields>` a part explained below, `type(name)` the type of",
        "that operand or result, `[…]` what may be absent, `[a | b]` one of two, `{ … }` a region, `[{…}]` the",
        "dictionary of the remaining attributes.",
        "",
        "Every op can also be written in the generic form,",
        '`%r = "dialect.op"(%a) <{properties}> ({region}) {attributes} : (type) -> type`.',
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """File name → text of every page."""
    return {name: page(name) for name in names()}


def names() -> list[str]:
    """The file names of the pages."""
    return [*(f"{dialect.name}.md" for dialect in _registered()), "README.md"]


def page(name: str) -> str:
    """The text of the page with this file name."""
    if name == "README.md":
        return index_page(_registered())
    dialect = find_dialect(name.removesuffix(".md"))
    assert dialect is not None, f"no dialect has the page '{name}'"
    return dialect_page(dialect)


def _registered() -> list[Dialect]:
    """The dialects of the registry, without those that a test or an extension has added."""
    from tessera_tools.opdef.registry import DIALECT_MODULES

    return [dialect for dialect in all_dialects() if dialect.name in DIALECT_MODULES]


def overview() -> str:
    """One line per dialect: its name, the numbers of ops, types and attributes it declares, and its summary."""
    rows = [
        (d.name, f"{len(own_ops(d))} ops, {len(d.types)} types, {len(d.attributes)} attributes", d.summary)
        for d in _registered()
    ]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    return "".join(
        f"  {name:<{widths[0]}}  {counts:<{widths[1]}}  {summary}\n" for name, counts, summary in rows
    )


def write_pages(folder: Path = _DOCS) -> list[str]:
    """Write every changed page atomically, and remove pages of dialects that no longer exist.

    Returns the names of the files that changed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    changed: list[str] = []
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            temporary = path.with_name(f"{name}.{os.getpid()}.tmp")
            try:
                temporary.write_text(text, "utf-8")
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
            changed.append(name)
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()
            changed.append(path.name)
    return changed


if __name__ == "__main__":
    for changed_name in write_pages():
        print(f"wrote docs/dialects/{changed_name}")
