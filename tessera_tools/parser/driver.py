"""The table-driven parser: shifts and reduces over the lexer's tokens; recovers from syntax errors if possible.

    Lexer.next(row) ──▶ terminal ──table──▶ shift, or reduce a rule ──▶ light tree (rules.py)

After a syntax error, the statement is dropped (its results become unknown values), and the parser continues at the next
line that starts a statement, with the braces since the error balanced.
"""

from __future__ import annotations

import re

from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.lalr import Node
from tessera_tools.opdef.directive import Token
from tessera_tools.parser.lexer import Lexer
from tessera_tools.parser.rules import Statement, Table
from tessera_tools.parser.source import Source

MAX_ERRORS = 20
"""The maximum number of syntax errors."""

_MARKS = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|//[^\n]*|[{}\n]')
_STATEMENT = re.compile(r"\s*(?:%[^\n=]*=(?!=)|\}|\^[\w$.-]+\s*[(:]|\"[\w$.]+\"\s*\(|([A-Za-z_][\w$.]*))")

_VALUE_NAME = re.compile(r"%[\w$.-]+(?!\s*,)")
_CODE_END = re.compile(r"\s*(//[^\n]*)?$")
_SHORT_TYPE = "valid keyword (a type)"
_WORDS_FOR_USER = {
    "VALUE": "an SSA value '%name'",
    "TYPE": "a type",
    "FUNCTION_TYPE": "a function type '(…) -> …'",
    "ATTRIBUTE": "an attribute",
    "SYMBOL": "valid '@'-identifier for symbol name",
    "CARET": "a block '^name'",
    "LABEL": "a block label '^name:'",
    "RESULTS": "an operation",
    "INTEGER": "an integer",
    "FLOAT": "a number",
    "STRING": "a string",
    "KEYWORD": "valid keyword",
    "ATTR_DICT": "an attribute dictionary '{…}'",
    "LOC": "a location 'loc(…)'",
    "PROPS": "properties '<{…}>'",
    "$END": "end of file",
    "GENERIC": "an operation",
}


class Parser(Lexer):
    """Parses one source."""

    def __init__(self, source: Source, table: Table, *, allow_unregistered: bool = False) -> None:
        super().__init__(source, table, allow_unregistered=allow_unregistered)
        self.stack = [table.start]
        self.values: list[Node] = []
        self.errors: list[Diagnostic] = []
        """The syntax errors."""
        self._resumed = -1

    def parse(self) -> list[Statement]:
        """The statements of the file, without those with errors, which are in `errors`.  None if the parser had to
        stop: other errors would be consequences of the missing rest."""
        while True:
            try:
                return self._run()
            except DiagnosticError as failure:
                if not self._recover(failure):
                    return []

    def _run(self) -> list[Statement]:
        table, stack, values = self.table, self.stack, self.values
        states, gotos, rules, end = table.states, table.gotos, table.rules, table.end
        next_token = self.next
        state = stack[-1]
        while True:
            row = states[state]
            terminal, value = next_token(row)
            if terminal == "$OP":
                state = gotos[state]["op"]
                stack.append(state)
                values.append(value)
                continue
            while True:
                action = row.get(terminal)
                if action is None:
                    raise self.unexpected(row, self.token_start)
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

    # -- errors

    def unexpected(self, row: dict[str, int], at: int) -> DiagnosticError:
        """A syntax error: the token at `at`, and the expected ones if there are few.  Only behind the end of the file
        nothing is expected, and no token comes there."""
        if "RESULTS" in row and (name := _VALUE_NAME.match(self.source.text, at)) is not None:
            # An operation may begin here, and only the names of results begin one with '%'.
            return self.source.error(name.end(), "expected '=' after SSA name")
        names = {name: text for text, name in self.table.literals.items()}
        literals = sorted(f"'{names[t]}'" for t in row if t in names)
        words = list(dict.fromkeys(_WORDS_FOR_USER[t] for t in row if t in _WORDS_FOR_USER))
        if "an operation" in words:
            words = ["an operation"] + [w for w in words if w in (_WORDS_FOR_USER["LABEL"], "end of file")]
            literals = [text for text in literals if text == "'}'"] or literals[:3]
        op = self._op_in_error()
        if "TYPE" in row and op.startswith("cuda_tile."):
            # Its types are keywords if the prefix may be omitted.
            words = [_SHORT_TYPE if word == _WORDS_FOR_USER["TYPE"] else word for word in words]
        words.sort(key=lambda word: not word.startswith("valid"))
        first = words and words[0].startswith("valid")
        choices = ((literals + words) if len(literals) <= 4 and not first else words + literals[:3])[:5]
        expected = " or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices)
        self.scanner.at = at
        found = self.scanner.found()
        if choices == literals:
            at = self._after_previous_line(at)
        prefix = f"custom op '{op}' " if op else ""
        return self.source.error(at, f"{prefix}expected {expected}, found {found}")

    def _op_in_error(self) -> str:
        """The name of the op that is being parsed; empty between operations."""
        stack, states = self.stack, self.table.states
        for height in range(len(stack) - 1, 0, -1):
            if stack[height] == self.table.after_results:
                head = self.values[height] if height < len(self.values) else None
                return head.text if isinstance(head, Token) else ""
            if states[stack[height]].get("RESULTS", -1) >= 0:
                return ""
        return ""

    def _after_previous_line(self, at: int) -> int:
        """The position of missing punctuation: after the previous token, if that ends its line; otherwise `at`."""
        line = self.text.rfind("\n", 0, at) + 1
        if line == 0 or self.text[line:at].strip():
            return at
        before = _CODE_END.sub("", self.text[:line].rstrip().rsplit("\n", 1)[-1])
        return (
            self.text.rfind("\n", 0, len(self.text[:line].rstrip())) + 1 + len(before)
            if before.strip()
            else at
        )

    def _recover(self, failure: DiagnosticError) -> bool:
        """Record the error, drop its statement, and find where to continue; False if there is no such place."""
        at = self.token_start
        ended = self.at_end(at)
        stray = ended or (self.text[at] == "}" and not self.defaults)
        if not self.errors or not (stray or failure.diagnostics[0] in self.errors):
            # After an earlier error, unbalanced regions are no new information, and neither is an invalid alias that is
            # used several times.
            self.errors += failure.diagnostics
        if ended or len(self.errors) >= MAX_ERRORS:
            return False
        self._drop_statement()
        resumed = self._resume(at)
        if self.text[resumed : resumed + 1] == "}" and not self.defaults:
            resumed += 1
        if resumed <= self._resumed or resumed >= len(self.text):
            return False
        self.at = self._resumed = resumed
        return True

    def _drop_statement(self) -> None:
        """Unwind to the start of the statement with the error; its results are kept as a statement without a name."""
        stack, values, states = self.stack, self.values, self.table.states
        after_results = self.table.after_results
        height = len(stack)
        while height > 1 and stack[height - 1] != after_results:
            if states[stack[height - 1]].get("RESULTS", -1) >= 0:
                # The error is between statements.
                del stack[height:]
                del values[height - 1 :]
                return
            height -= 1
        results: Token | None = values[height - 2] if height > 1 else None
        del stack[max(height - 1, 1) :]
        del values[max(height - 2, 0) :]
        while self.defaults and self.defaults[-1][1] > len(stack):
            self.defaults.pop()
        self.default = self.defaults[-1][0] if self.defaults else ""
        if results is not None:
            values.append(Statement(results, "", results.start, None, None, None))
            stack.append(self.table.gotos[stack[-1]]["statement"])

    def _resume(self, at: int) -> int:
        """The next position from `at` where a statement can start: a following line, with balanced braces, or the line
        that begins at `at`, if what precedes it is incomplete."""
        line = self.text.rfind("\n", 0, at) + 1
        if line > self._resumed and not self.text[line:at].strip() and self._starts_statement(line):
            return line
        depth = 0
        for match in _MARKS.finditer(self.text, at):
            mark = match.group()
            if mark == "{":
                depth += 1
            elif mark == "}":
                if depth == 0:
                    return match.start()
                depth -= 1
            elif mark == "\n" and depth == 0 and self._starts_statement(match.end()):
                return match.end()
        return len(self.text)

    def _starts_statement(self, line: int) -> bool:
        """True if the line at a position looks like a statement."""
        match = _STATEMENT.match(self.text, line)
        return match is not None and (match.group(1) is None or self.names_op(match.group(1)))
