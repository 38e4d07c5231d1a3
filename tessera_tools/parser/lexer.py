"""The lexer and the table-driven parser: one loop.  Each token is made for what the parser's state can take.

    source text ──Lexer.next(row)──▶ (terminal, value) ──shift/reduce──▶ light tree

The light tree is made of plain lists: a rule's node is the list of its children without literals, an alternative with
an alias is `(alias, children)`, a statement is a `Statement`.  `[x]` that is absent leaves None.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.location import Location
from tessera_tools.opdef.directive import Token
from tessera_tools.parser.aliases import Aliases
from tessera_tools.parser.lexical import MAX_NESTING
from tessera_tools.parser.scanner import Scanner
from tessera_tools.parser.source import Source
from tessera_tools.parser.types import WORD_TYPES

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_GENERIC_HEAD = re.compile(r"\s*\(")
_FIRST_KEY = re.compile(r'\{\s*([A-Za-z_][\w.$]*|"[^"\n]*")\s*(=(?!=)|,|\})')
_TOKEN = re.compile(
    r"(%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:\#[0-9]+)?)"  # 1 value
    r"|([A-Za-z_][\w$.]*)"  # 2 word
    r"|(-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?))"  # 3 number
    r'|("(?:[^"\\\n]|\\.)*")'  # 4 string
    r"|(\^[\w$.-]+)"  # 5 block name
    r"|(@)"  # 6 symbol
    r"|([!#])"  # 7 dialect type or attribute
    r"|(->|::|[^\s\w])"  # 8 punctuation
)
_RESULTS = re.compile(
    r"%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:[ \t]*:[ \t]*[0-9]+)?"
    r"(?:\s*,\s*%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:[ \t]*:[ \t]*[0-9]+)?)*\s*=(?!=)"
)
_ALIAS = re.compile(r"[#!][A-Za-z_$][\w$]*[ \t]*=(?!=)")
_METADATA = re.compile(r"\{-#.*?#-\}", re.DOTALL)

_WORDS_FOR_USER = {
    "VALUE": "an SSA value '%name'", "TYPE": "a type", "FUNCTION_TYPE": "a function type '(…) -> …'",
    "ATTRIBUTE": "an attribute", "SYMBOL": "a symbol '@name'", "CARET": "a block '^name'", "LABEL": "a block label '^name:'",
    "RESULTS": "an operation", "INTEGER": "an integer", "FLOAT": "a number", "STRING": "a string", "KEYWORD": "a keyword",
    "ATTR_DICT": "an attribute dictionary '{…}'", "LOC": "a location 'loc(…)'", "PROPS": "properties '<{…}>'",
    "$END": "end of file", "GENERIC": "an operation",
}  # fmt: skip


class Statement(NamedTuple):
    """One operation of the light tree."""

    results: Token | None
    """The result list with its `=`, as text; None for no results."""
    name: str
    """The full name of the op."""
    start: int
    """Character offset of the op's name."""
    children: list[Any] | None
    """What the format's directives read; None for the generic form."""
    generic: list[Any] | None
    location: Location | None


class Parser:
    """Runs the table over one source."""

    def __init__(self, source: Source, table: Table, *, allow_unregistered: bool = False) -> None:
        self.source = source
        self.text = source.text
        self.table = table
        self.aliases = Aliases(source, allow_unregistered)
        self.scanner = Scanner(source, aliases=self.aliases, allow_unregistered=allow_unregistered)
        self.allow_unregistered = allow_unregistered
        self.at = 0
        self.depth = 0
        self.defaults: list[str] = []
        self.default = ""
        self.pending = ""
        self.stack: list[int] = []
        self._types: dict[str, Any] = {}

    # -- the LALR loop

    def parse(self) -> list[Statement]:
        """The statements of the file; raises DiagnosticError at the first syntax error."""
        table = self.table
        states, gotos, rules, end = table.states, table.gotos, table.rules, table.end
        stack = self.stack = [table.start]
        values: list[Any] = []
        state = table.start
        while True:
            row = states[state]
            terminal, value = self.next(row)
            while True:
                action = row.get(terminal)
                if action is None:
                    raise self.unexpected(row, self.at if terminal == "$END" else self.token_start)
                if action >= 0:
                    stack.append(action)
                    values.append(value)
                    state = action
                    break
                rule = rules[-1 - action]
                size = rule.size
                if size:
                    node = rule.reduce(values[-size:])
                    del values[-size:]
                    del stack[-size:]
                else:
                    node = rule.reduce([])
                values.append(node)
                state = gotos[stack[-1]][rule.origin]
                stack.append(state)
                row = states[state]
                if state == end and terminal == "$END":
                    return values[-1]

    # -- tokens

    def next(self, row: dict[str, int]) -> tuple[str, Any]:
        """The next token as (terminal, value), for a state with that row of actions."""
        text = self.text
        at = _SPACE.match(text, self.at).end()  # type: ignore[union-attr]
        self.token_start = at
        match = _TOKEN.match(text, at)
        if match is None:
            if at >= len(text):
                self.at = at
                return "$END", None
            raise self.source.error(at, f"unexpected character {text[at]!r}")
        kind = match.lastindex
        if kind == 1:
            if "RESULTS" in row and (results := _RESULTS.match(text, at)) is not None:
                self.at = results.end()
                return "RESULTS", Token(results.group(), at)
            if "VALUE" in row:
                self.at = match.end()
                return "VALUE", Token(match.group(), at)
        elif kind == 2:
            return self._word(row, match.group(), at)
        elif kind == 8:
            return self._punctuation(row, match.group(), at)
        elif kind == 3:
            for terminal in ("INTEGER", "FLOAT"):
                if terminal in row and (terminal == "FLOAT" or "." not in match.group()):
                    self.at = match.end()
                    if len(match.group()) > 4000:
                        raise self.source.error(at, "number is too long (limit 4000 digits)")
                    return terminal, Token(match.group(), at)
            if "ATTRIBUTE" in row:
                return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        elif kind == 4:
            if "RESULTS" in row and _GENERIC_HEAD.match(text, match.end()):
                self.at = at
                return "RESULTS", None
            if "STRING" in row:
                self.at = match.end()
                return "STRING", Token(self.scanner.unescape(match.group()[1:-1], at), at)
            if "ATTRIBUTE" in row:
                return self._scan("ATTRIBUTE", at, self.scanner.attribute)
            if "GENERIC" in row:
                self.at = match.end()
                self.pending = self.table.defaults.get(match.group()[1:-1], self.default)
                return "GENERIC", Token(self.scanner.unescape(match.group()[1:-1], at), at)
            if "RESULTS" in row:
                self.at = at
                return "RESULTS", None
        elif kind == 5:
            for terminal in ("CARET", "LABEL"):
                if terminal in row:
                    self.at = match.end()
                    return terminal, Token(match.group(), at)
        elif kind == 6:
            if "SYMBOL" in row:
                terminal, symbol = self._scan("SYMBOL", at, self.scanner.symbol)
                return terminal, ((symbol.root, *symbol.nested), at)
            if "ATTRIBUTE" in row:
                return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        elif kind == 7:
            if match.group() == "!" and "TYPE" in row:
                return self._type(at)
            if "ATTRIBUTE" in row:
                return self._scan("ATTRIBUTE", at, self.scanner.attribute)
            if "RESULTS" in row and _ALIAS.match(text, at):
                return self._alias(row, at)
        raise self.unexpected(row, at)

    def _shifts(self, terminal: str) -> bool:
        """Whether the terminal can really come next: an LALR state merges contexts, so that a row alone may allow more."""
        table, stack = self.table, list(self.stack)
        while True:
            action = table.states[stack[-1]].get(terminal)
            if action is None or action >= 0:
                return action is not None
            rule = table.rules[-1 - action]
            if rule.size:
                del stack[-rule.size :]
            stack.append(table.gotos[stack[-1]][rule.origin])

    def _scan(self, terminal: str, at: int, read: Any) -> tuple[str, Any]:
        scanner = self.scanner
        scanner.at = at
        scanner.depth = 0
        value = read()
        self.at = scanner.at
        return terminal, value

    def _word(self, row: dict[str, int], word: str, at: int) -> tuple[str, Any]:
        literal = self.table.literals.get(word)
        if literal is not None and literal in row:
            self.at = at + len(word)
            return literal, word
        if "TYPE" in row:
            known = WORD_TYPES.get(word)
            if (
                known is not None
                and self.text[self.token_start + len(word) : self.token_start + len(word) + 1] != "<"
            ):
                self.at = at + len(word)
                return "TYPE", known
            scanned = self._optional_type(at)
            if scanned is not None:
                return scanned
        dot = word.partition(".")[0]
        head = self.table.literals.get(dot)
        if head is not None and head in row and dot != word:
            self.at = at + len(dot)
            return head, dot
        if "LOC" in row and word == "loc":
            return self._scan("LOC", at, self.scanner.location)
        if "KEYWORD" in row and ("RESULTS" not in row or self._shifts("KEYWORD")):
            self.at = at + len(word)
            return "KEYWORD", Token(word, at)
        if "ATTRIBUTE" in row and not ("RESULTS" in row and self._names_op(word)):
            return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        if "RESULTS" in row:
            self.at = at
            return "RESULTS", None
        if "GENERIC" in row:
            return self._op_head(word, at)
        raise self.unexpected(row, at)

    def _names_op(self, word: str) -> bool:
        """Whether a word starts a statement.  Behind an optional dictionary the table expects what any format has there,
        an attribute too, because LALR tables merge the states of all formats."""
        return "." in word or any(
            f"{d}.{word}" in self.table.ops for d in (self.default, "builtin", "cuda_tile", "func")
        )

    def _op_head(self, word: str, at: int) -> tuple[str, Any]:
        """The head of a custom-form op: its full name, through the default dialect where the prefix is left out."""
        ops = self.table.ops
        for name in (word, f"{self.default}.{word}", f"builtin.{word}", f"cuda_tile.{word}", f"func.{word}"):
            head = ops.get(name)
            if head is not None:
                self.at = at + len(word)
                self.pending = self.table.defaults.get(name, self.default)
                return head, Token(name, at)
        raise self.source.error(at, self._unknown_op(word))

    def _unknown_op(self, word: str) -> str:
        import difflib

        from tessera_tools.opdef.dialect import find_dialect, find_op
        from tessera_tools.opdef.registry import DIALECT_MODULES

        if find_op(word) is not None:
            return f"op '{word}' has no custom form; write it in the generic form '\"{word}\"(…) : (…) -> …'"
        prefix = word.partition(".")[0]
        names = list(self.table.ops)
        close = difflib.get_close_matches(word if "." in word else f"{self.default}.{word}", names, 1, 0.75)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        if "." in word and prefix not in DIALECT_MODULES and find_dialect(prefix) is None:
            near = difflib.get_close_matches(prefix, list(DIALECT_MODULES), 1, 0.6)
            hint = hint or (f"; did you mean '{near[0]}'?" if near else "")
            return f"unknown dialect '{prefix}' of op '{word}'{hint}"
        return f"unknown op '{word}'{hint}"

    def _is_dictionary(self, at: int) -> bool:
        """Whether `{` starts an attribute dictionary, not a region: a key, then `=`, `,` or the end of it."""
        match = _FIRST_KEY.match(self.text, at)
        return match is not None and (match.group(2) != "}" or not self._names_op(match.group(1)))

    def _punctuation(self, row: dict[str, int], mark: str, at: int) -> tuple[str, Any]:
        if mark == "<" and "PROPS" in row and self.text.startswith("<{", at):
            return self._scan("PROPS", at, self._props)
        if mark == "{" and "ATTR_DICT" in row and self._is_dictionary(at):
            return self._scan("ATTR_DICT", at, self.scanner.dictionary)
        literal = self.table.literals.get(mark)
        if literal is not None and literal in row:
            self.at = at + len(mark)
            if mark == "{":
                self._open(at)
            elif mark == "}":
                self.pending = self.defaults.pop() if self.defaults else ""
                self.default = self.defaults[-1] if self.defaults else ""
                self.depth -= 1
            return literal, mark
        if mark == "{":
            metadata = _METADATA.match(self.text, at)
            if metadata is not None and "RESULTS" in row:
                self.at = metadata.end()
                return self.next(row)
            if "ATTR_DICT" in row:
                return self._scan("ATTR_DICT", at, self.scanner.dictionary)
        if mark == "(":
            if "FUNCTION_TYPE" in row:
                return self._scan("FUNCTION_TYPE", at, self.scanner.function_type)
            if "TYPE" in row:
                return self._type(at)
        if "ATTRIBUTE" in row and mark in "[{(-":
            return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        # `::` and `->` are read as two marks where only those fit (`[%a:: %b]` does not occur, `- >` neither).
        if len(mark) == 2 and (literal := self.table.literals.get(mark[0])) is not None and literal in row:
            self.at = at + 1
            return literal, mark[0]
        raise self.unexpected(row, at)

    def _props(self) -> Any:
        self.scanner.at += 1
        entries = self.scanner.dictionary()
        self.scanner.expect(">")
        return entries

    def _open(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.source.error(at, f"regions nest deeper than {MAX_NESTING} levels")
        self.defaults.append(self.pending)
        self.default = self.pending

    def _type(self, at: int) -> tuple[str, Any]:
        return self._scan("TYPE", at, self.scanner.type)

    def _optional_type(self, at: int) -> tuple[str, Any] | None:
        """A composite type; remembered by its text where that is easy to delimit."""
        text = self.text
        match = _PLAIN_COMPOSITE.match(text, at)
        if match is not None:
            known = self._types.get(match.group())
            if known is not None:
                self.at = match.end()
                self.scanner.implied = known
                return "TYPE", known
        terminal, value = self._scan("TYPE", at, self.scanner.optional_type)
        if value is None:
            return None
        self.scanner.implied = value
        if match is not None and match.end() == self.at:
            self._types[match.group()] = value
        return terminal, value

    def _alias(self, row: dict[str, int], at: int) -> tuple[str, Any]:
        """Check an alias definition and skip it; its uses find it through `Aliases`."""
        match = _ALIAS.match(self.text, at)
        assert match is not None
        name = match.group()[1:-1].strip()
        table = self.aliases.types if self.text[at] == "!" else self.aliases.attributes
        if table.get(name) != match.end() and isinstance(table.get(name), int):
            raise self.source.error(at, f"redefinition of alias '{self.text[at]}{name}'")
        self.scanner.at, self.scanner.depth = match.end(), 0
        if self.text[at] == "!":
            self.scanner.type()
        else:
            self.scanner.attribute()
        self.at = self.scanner.at
        return self.next(row)

    # -- errors

    def unexpected(self, row: dict[str, int], at: int) -> DiagnosticError:
        """A syntax error: what stands at `at`, and the few things that could have."""
        names = {name: text for text, name in self.table.literals.items()}
        literals = sorted(f"'{names[t]}'" for t in row if t in names)
        words = list(dict.fromkeys(_WORDS_FOR_USER[t] for t in row if t in _WORDS_FOR_USER))
        if "an operation" in words:
            words = ["an operation"] + [w for w in words if w in (_WORDS_FOR_USER["LABEL"], "end of file")]
            literals = [text for text in literals if text == "'}'"] or literals[:3]
        choices = (literals + words) if len(literals) <= 4 else words + literals[:3]
        choices = choices[:5]
        expected = " or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices)
        self.scanner.at = at
        return self.source.error(at, f"expected {expected or 'nothing more'}, found {self.scanner.found()}")


_PLAIN_COMPOSITE = re.compile(r'[a-z_]\w*<[^<>"]*(?:<[^<>"]*>[^<>"]*)*>(?!>)')


class Rule:
    """One grammar rule: how its children become a node."""

    __slots__ = ("expand", "alias", "keep", "origin", "placeholders", "plain", "reduce", "size")

    def __init__(
        self, origin: str, size: int, keep: list[int], alias: str | None, placeholders: list[int], expand: int
    ):
        self.origin = origin
        self.size = size
        self.keep = keep
        self.alias = alias
        self.placeholders = placeholders
        self.expand = expand
        self.plain = not placeholders and all(i >= 0 for i in keep)
        self.reduce = self._reducer()

    def _reducer(self) -> Any:
        special = getattr(_Reducers, self.origin, None)
        if special is not None:
            return special
        if self.origin.startswith("__"):
            return self._helper
        if self.alias is not None and self.origin in _OPTIONAL_LISTS:
            return self._optional_list
        if self.alias is not None:
            alias = self.alias
            return lambda values: (alias, self._children(values))
        if self.expand and self.size == 1:
            return lambda values: values[0]
        if self.plain and self.keep == [0] and self.origin in ("type", "keyword", "boolean"):
            return lambda values: values[0]
        if self.plain and len(self.keep) == self.size:
            return lambda values: values
        return self._children

    def _children(self, values: list[Any]) -> list[Any]:
        if self.plain:
            return [values[i] for i in self.keep]
        children: list[Any] = []
        if not self.placeholders:
            for i in self.keep:
                if i >= 0:
                    children.append(values[i])
                else:
                    children += values[-1 - i]
            return children
        # A placeholder bit stands for each optional child that this alternative leaves out, in order.
        keep = iter(self.keep)
        kept = {(-1 - i if i < 0 else i): i for i in keep}
        position = 0
        for bit in self.placeholders:
            if bit:
                children.append(None)
                continue
            if position in kept:
                i = kept[position]
                if i >= 0:
                    children.append(values[i])
                else:
                    children += values[-1 - i]
            position += 1
        return children

    def _helper(self, values: list[Any]) -> list[Any]:
        """Lark's rule for a repetition: `x* : x | x* x`; the list is built in place."""
        first = self.keep[0] if self.keep else 0
        if self.keep and first < 0:
            head = values[-1 - first]
            for i in self.keep[1:]:
                if i >= 0:
                    head.append(values[i])
                else:
                    head += values[-1 - i]
            return head
        return self._children(values)

    def _optional_list(self, values: list[Any]) -> Any:
        if self.alias == "absent":
            return {} if self.origin.startswith("attr_dict") else []
        children = self._children(values)
        if self.origin in ("value_list", "type_list"):
            return children[0]
        return children[0] if self.origin.startswith("attr_dict") else children


_OPTIONAL_LISTS = {
    "value_list", "optional_value", "type_list", "optional_type", "caret_list", "region_list",
    "attr_dict", "attr_dict_with_keyword",
}  # fmt: skip


class _Reducers:
    """Rules whose node is not just the list of their children."""

    @staticmethod
    def statement(values: list[Any]) -> Statement:
        op = values[1]
        head = op[0]
        location = values[2] if len(values) > 2 else None
        if isinstance(head, tuple) and len(op) == 2 and op[0].text == "":
            token, generic = op[1]
            return Statement(values[0], token.text, token.start, None, generic, location)
        return Statement(values[0], head.text, head.start, op[1:], None, location)


class Table:
    """The parse table in the form the loop wants."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.start: int = data["start"]
        self.end: int = data["end"]
        self.states: list[dict[str, int]] = data["states"]
        self.gotos: list[dict[str, int]] = data["gotos"]
        self.rules = [Rule(*rule) for rule in data["rules"]]
        self.literals: dict[str, str] = data["literals"]
        self.ops: dict[str, str] = data["ops"]
        self.defaults: dict[str, str] = data["defaults"]
        for rule in self.rules:
            if rule.origin == "generic":
                rule.reduce = _generic(rule)


def _generic(rule: Rule) -> Any:
    def reduce(values: list[Any]) -> list[Any]:
        children = rule._children(values)
        return [Token("", children[0].start), (children[0], children[1:])]

    return reduce


_table: Table | None = None


def default_table() -> Table:
    """The table of all registered ops; loaded once."""
    global _table
    if _table is None:
        from tessera_tools.parser.table import load

        _table = Table(load())
    return _table
