"""The TextMate grammar of MLIR text, made from the declarations of the dialects.

    python -m tessera_tools.editor.textmate          rewrites editors/vscode/syntaxes/mlir.tmLanguage.json

    ops      Dialect.ops ─▶ names by their role: functions, control flow, others
    keywords dialect_grammar() ─▶ the words of all assembly formats; EnumAttr.cases ─▶ their constants
    types    Dialect.types, parser/types.py ─▶ names of types; Dialect.attributes ─▶ names of attributes

An operation is declared if its name has a scope other than `entity.name.function.undeclared`. Regular expressions see
a line at a time: a name without its dialect is an operation only where a statement begins.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tessera_tools.ir.traits import Symbol, Terminator
from tessera_tools.opdef.attribute_kinds import EnumAttr
from tessera_tools.opdef.dialect import Dialect, all_dialects
from tessera_tools.opdef.op import Op
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.parser.grammar import dialect_grammar, grammar_folder
from tessera_tools.parser.types import SHAPED_TYPES, SHORT_TYPES, WORD_TYPES

__all__ = ["COMMAND", "grammar", "text", "write"]

COMMAND = "python -m tessera_tools.editor.textmate"
"""The command that writes the grammar."""

PATH = Path(__file__).resolve().parents[2] / "editors" / "vscode" / "syntaxes" / "mlir.tmLanguage.json"

Rule = dict[str, Any]

_NAME = r"(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)"
_VALUE = rf"%{_NAME}"
_RESULTS = rf"(?:{_VALUE}(?:\s*:\s*[0-9]+)?\s*,\s*)*{_VALUE}(?:\s*:\s*[0-9]+)?\s*="
_END = r"(?![\w$.])"
_START = r"(?<![\w$.#!%^@])"
_WORD = re.compile(r'"([A-Za-z_]\w*)"')
_COMMENT = re.compile(r"//.*")

_BUILTIN_ATTRIBUTES = (
    "affine_map", "affine_set", "array", "dense", "dense_resource", "distinct", "loc", "offset", "strided", "unit",
)  # fmt: skip
_TRUTHS = ("true", "false")

_ROLES = {
    "function": "storage.type.function",
    "control": "keyword.control",
    "other": "support.function",
}
"""The scope of an operation by its role."""


def _dialects() -> list[Dialect]:
    """The dialects of the registry, without those that a plugin has added."""
    return [dialect for dialect in all_dialects() if dialect.name in DIALECT_MODULES]


def _role(op_class: type[Op]) -> str:
    definition = op_class.definition
    if op_class.has_trait(Symbol):
        return "function"
    if op_class.has_trait(Terminator) or definition.regions or definition.successors:
        return "control"
    return "other"


def _any(words: Iterable[str]) -> str:
    """A regular expression for one of the words; the longest comes first."""
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


def _by_role(dialects: Iterable[Dialect]) -> dict[str, dict[str, list[str]]]:
    """Role → dialect → names without the dialect."""
    found: dict[str, dict[str, list[str]]] = {role: {} for role in _ROLES}
    for dialect in dialects:
        for name, op_class in dialect.ops.items():
            owner, _, short = name.partition(".")
            if short:
                found[_role(op_class)].setdefault(owner, []).append(short)
    return found


def _short_names(dialects: Iterable[Dialect]) -> frozenset[str]:
    """The dialects whose prefix may be omitted: those that are the default of some region."""
    return frozenset(
        op_class.default_dialect
        for dialect in dialects
        for op_class in dialect.ops.values()
        if op_class.default_dialect is not None
    )


def _keywords(dialects: Iterable[Dialect]) -> set[str]:
    """The words of the structure of the text and of all assembly formats."""
    texts = [(grammar_folder() / "structure.lark").read_text("utf-8")]
    texts += [made for dialect in dialects if (made := dialect_grammar(dialect)) is not None]
    return {word for one in texts for word in _WORD.findall(_COMMENT.sub("", one))}


def _cases(dialects: Iterable[Dialect], base: type[EnumAttr] = EnumAttr) -> set[str]:
    """The words of all enumerations: those of attributes, and of integers that formats spell as words."""
    words = set(base.cases)
    for cls in base.__subclasses__():
        if ".dialects." in cls.__module__:
            words |= _cases((), cls)
    for dialect in dialects:
        for op_class in dialect.ops.values():
            details = (field.kind.detail for field in op_class.definition.attributes)
            words.update(*(detail for detail in details if isinstance(detail, dict)))
    return {word for word in words if re.fullmatch(r"[A-Za-z_]\w*", word)}


def _match(name: str, pattern: str) -> Rule:
    return {"name": f"{name}.mlir", "match": pattern}


def _captures(pattern: str, *names: str | Rule) -> Rule:
    """A match whose groups have scopes, or rules of their own."""
    groups = {
        str(number): {"name": f"{name}.mlir"} if isinstance(name, str) else name
        for number, name in enumerate(names, 1)
        if name
    }
    return {"match": pattern, "captures": groups}


def _include(*names: str) -> Rule:
    return {"patterns": [{"include": f"#{name}"} for name in names]}


def _operations(dialects: list[Dialect]) -> list[Rule]:
    """Names where a statement begins, then names with their dialect anywhere."""
    roles = _by_role(dialects)
    begins = rf"(?:^|(?<=[{{}}]))\s*({_RESULTS})?\s*"
    results = _include("values", "numbers", "punctuation")
    short = _short_names(dialects)
    rules: list[Rule] = []
    for role, scope in _ROLES.items():
        names = {name for owner in short for name in roles[role].get(owner, ())}
        # A keyword of a format may begin a line, too: an operation has no `=` behind it.
        if names:
            rules.append(_captures(rf"{begins}({_any(names)}){_END}(?!\s*=)", results, scope))
    rules.append(
        _captures(rf'{begins}("(?:[^"\\]|\\.)*")(?=\s*\()', results, "string.quoted.double.operation")
    )
    # Attributes with a dialect begin lines, too: in a dictionary, where `=`, a comma or its end follows.
    dotted = r"([A-Za-z_]\w*(?:\.[\w$]+)+)"
    named = _include("declared-operations", "undeclared-operations")
    rules.append(_captures(rf"^\s*({_RESULTS})?\s*{dotted}{_END}(?!\s*[=,}}])", results, named))
    rules.append(_captures(rf"(?<=[{{}}])\s*({_RESULTS})\s*{dotted}{_END}", results, named))
    rules.append({"include": "#declared-operations"})
    return rules


def _declared_operations(dialects: list[Dialect]) -> list[Rule]:
    """Names with their dialect."""
    scopes = ("entity.name.namespace", "punctuation.separator.dialect")
    return [
        _captures(rf"{_START}({re.escape(owner)})(\.)({_any(names)}){_END}", *scopes, _ROLES[role])
        for role, owners in _by_role(dialects).items()
        for owner, names in sorted(owners.items())
    ]


def _types(dialects: list[Dialect]) -> list[Rule]:
    words = rf"(?:{_any(WORD_TYPES)}|[su]?i[0-9]+)"
    shaped = rf"(?:{_any((*SHAPED_TYPES, *SHORT_TYPES))})(?=<)"
    rules: list[Rule] = [
        {
            # `0xF` is a number, but `<0xf32` has a dimension.
            "match": r"(?:(?<=<)|(?<![\w$.%])(?!0x))((?:(?:[0-9]+|\?|\*)x)+(?:[0-9]+|\?)?)([A-Za-z_]\w*)?",
            "captures": {
                "1": {"name": "constant.numeric.dimension.mlir"},
                "2": {
                    "patterns": [
                        _match("support.type.builtin", rf"{words}\b"),
                        _match("support.type", r"\w+"),
                    ]
                },
            },
        },
        _match("support.type.builtin", rf"{_START}{words}{_END}"),
        _match("support.type.composite", rf"{_START}{shaped}"),
        _match("support.type", rf"{_START}token{_END}"),
    ]
    for sigil, scope in (("!", "support.type"), ("#", "support.constant.attribute")):
        for dialect in dialects:
            declared = dialect.types if sigil == "!" else dialect.attributes
            if declared:
                rules.append(
                    _captures(
                        rf"({sigil})({re.escape(dialect.name)})(\.)({_any(declared)}){_END}",
                        "punctuation.definition", "entity.name.namespace", "punctuation.separator.dialect", scope,
                    )
                )  # fmt: skip
    return rules


def grammar() -> Rule:
    """The grammar as a value of JSON."""
    dialects = _dialects()
    keywords = _keywords(dialects)
    cases = _cases(dialects) - keywords
    words = [
        _match("constant.language", rf"{_START}(?:{_any(_TRUTHS)}){_END}"),
        _match("support.constant.attribute", rf"{_START}(?:{_any(_BUILTIN_ATTRIBUTES)})(?=\s*[<(\[:]){_END}"),
        _match("keyword.other", rf"{_START}(?:{_any(keywords - set(_TRUTHS))}){_END}"),
        _match("entity.other.attribute-name", rf"{_START}[A-Za-z_][\w$.]*(?=\s*=(?!=))"),
        _match("support.constant", rf"{_START}(?:{_any(cases)}){_END}"),
        _match("entity.other.attribute-name", rf"{_START}[A-Za-z_][\w$]*(?:\.[\w$]+)*{_END}"),
    ]
    return {
        "information_for_contributors": [f"Generated by `{COMMAND}`; do not edit."],
        "name": "MLIR",
        "scopeName": "source.mlir",
        "fileTypes": ["mlir"],
        **_include(
            "comments", "operations", "strings", "values", "names", "types", "words", "numbers", "punctuation"
        ),
        "repository": {
            "comments": {
                "patterns": [
                    _match("comment.line.double-slash.separator", r"^// -----.*$"),
                    {
                        "name": "comment.line.double-slash.mlir",
                        **_captures(
                            r"(//)\s*(RUN:)(.*)$",
                            "punctuation.definition.comment",
                            "keyword.other.run",
                            {
                                "name": "meta.embedded.run.mlir",
                                "patterns": [
                                    _match("string.quoted", r"'[^']*'|\"[^\"]*\""),
                                    _match("variable.parameter.option", r"(?<=\s)--?[\w-]+"),
                                    _match("variable.language.substitution", r"%(?:%|[A-Za-z]\b)"),
                                    _match("keyword.operator.pipe", r"\|"),
                                    _match(
                                        "support.function.program",
                                        r"(?<=\s)(?:tessera-[a-z]+|FileCheck|not)\b",
                                    ),
                                ],
                            },
                        ),
                    },
                    {
                        "name": "comment.line.double-slash.mlir",
                        **_captures(
                            r"(//)(\s*(?:[A-Z][A-Z0-9_-]*(?:-(?:NEXT|SAME|DAG|NOT|LABEL|COUNT-[0-9]+|EMPTY))?:"
                            r"|expected-[a-z]+)(?=\s|@|\{|$))?.*$",
                            "punctuation.definition.comment",
                            "keyword.other.directive",
                        ),
                    },
                ]
            },
            "strings": {
                "patterns": [
                    {
                        "name": "string.quoted.double.mlir",
                        "begin": '"',
                        "end": r'"|$',
                        "patterns": [_match("constant.character.escape", r"\\(?:[0-9A-Fa-f]{2}|.)")],
                    }
                ]
            },
            "operations": {"patterns": _operations(dialects)},
            "declared-operations": {"patterns": _declared_operations(dialects)},
            "undeclared-operations": {"patterns": [_match("entity.name.function.undeclared", r"\S+")]},
            "values": {
                "patterns": [_captures(rf"({_VALUE})((?:#|:)[0-9]+)?", "variable.other", "constant.numeric")]
            },
            "names": {
                "patterns": [
                    _match("entity.name.function", rf'@(?:{_NAME}|"(?:[^"\\]|\\.)*")'),
                    _match("entity.name.label", r"\^[\w$.-]+"),
                ]
            },
            "types": {
                "patterns": [
                    *_types(dialects),
                    _match("entity.name.type.alias", r"![A-Za-z_$][\w$]*(?:\.[\w$]+)*"),
                    _match("entity.name.constant.alias", r"#[A-Za-z_$][\w$]*(?:\.[\w$]+)*"),
                ]
            },
            "words": {"patterns": words},
            "numbers": {
                "patterns": [
                    _match(
                        "constant.numeric",
                        r"(?<![\w.$])-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)(?![\w$])",
                    )
                ]
            },
            "punctuation": {
                "patterns": [
                    _match("keyword.operator.arrow", r"->"),
                    _match("keyword.operator.assignment", r"=(?!=)"),
                    _match("punctuation.separator", r"[,:]"),
                ]
            },
        },
    }


def text() -> str:
    """The file."""
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


def write(path: Path = PATH) -> bool:
    """Write the file as a whole; True if it has changed."""
    made = text()
    if path.exists() and path.read_text("utf-8") == made:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(made, "utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


if __name__ == "__main__":
    if write():
        print(f"wrote {PATH}")
