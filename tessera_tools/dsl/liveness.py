"""Which variables a statement assigns, and which of them are read after it.

A loop carries the variables that it assigns and that are live at its head; an `if` merges those that it assigns and
that are live behind it. Both follow from one walk backwards over the syntax.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

__all__ = ["Liveness", "assigned", "leaves"]

_SCOPES = (ast.FunctionDef, ast.Lambda)
Names = frozenset[str]


def targets(node: ast.expr) -> list[str]:
    """The names that a target of an assignment binds."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Tuple | ast.List):
        return [name for part in node.elts for name in targets(part)]
    if isinstance(node, ast.Starred):
        return targets(node.value)
    return []


def assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """The names that statements assign, each once, in order; without those of functions defined in them."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in _own(statement):
            if isinstance(node, ast.Assign):
                found |= dict.fromkeys(name for target in node.targets for name in targets(target))
            elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
                found |= dict.fromkeys(targets(node.target))
            elif isinstance(node, ast.FunctionDef):
                found[node.name] = None
    return list(found)


def _own(node: ast.AST) -> Iterable[ast.AST]:
    """A node and all in it, without the bodies of functions."""
    yield node
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def leaves(statements: Iterable[ast.stmt]) -> bool:
    """Whether a loop with this body has a `break` of its own, or a `return`."""
    for node in statements:
        if isinstance(node, ast.Break | ast.Return):
            return True
        if isinstance(node, ast.If) and (leaves(node.body) or leaves(node.orelse)):
            return True
        if isinstance(node, ast.For | ast.While) and _returns(node.body):
            return True
    return False


def _returns(statements: Iterable[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for statement in statements for node in _own(statement))


def _reads(node: ast.AST | None) -> Names:
    """The names that an expression reads; functions in it read what their bodies do."""
    if node is None:
        return frozenset()
    return frozenset(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)
    )


class Liveness:
    """The live variables of one function: `after[statement]`, and `head[loop]` before each iteration."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        # What functions inside read may be read whenever they are called.
        self._always: Names = frozenset[str]().union(
            *(_reads(node) for statement in body for node in ast.walk(statement) if isinstance(node, _SCOPES))
        )
        self._block(body, frozenset(), frozenset(), frozenset())

    def _block(self, body: Sequence[ast.stmt], out: Names, breaks: Names, continues: Names) -> Names:
        live = out
        for statement in reversed(body):
            self.after[statement] = self.after.get(statement, frozenset()) | live | self._always
            live = self._before(statement, live, breaks, continues)
        return live

    def _before(self, node: ast.stmt, live: Names, breaks: Names, continues: Names) -> Names:
        match node:
            case ast.Return():
                return _reads(node.value)
            case ast.Break():
                return breaks
            case ast.Continue():
                return continues
            case ast.If():
                then = self._block(node.body, live, breaks, continues)
                other = self._block(node.orelse, live, breaks, continues)
                return _reads(node.test) | then | other
            case ast.For():
                return _reads(node.iter) | self._loop(
                    node, live, frozenset(targets(node.target)), frozenset()
                )
            case ast.While():
                return self._loop(node, live, frozenset(), _reads(node.test))
            case ast.Assign():
                killed = frozenset(name for target in node.targets for name in targets(target))
                return (live - killed) | _reads(node.value) | _reads_of_targets(node.targets)
            case ast.AnnAssign():
                return (live - frozenset(targets(node.target))) | _reads(node.value)
            case ast.AugAssign():
                return live | _reads(node.value) | frozenset(targets(node.target))
            case ast.FunctionDef():
                return live - {node.name}
            case _:
                return live | _reads(node)

    def _loop(self, node: ast.For | ast.While, after: Names, bound: Names, test: Names) -> Names:
        """The live variables at the head of a loop: the least set that the body agrees with."""
        head = after | test
        while True:
            body = self._block(node.body, head, after, head) - bound
            if body <= head:
                break
            head |= body
        self.head[node] = head | self._always
        return head


def _reads_of_targets(nodes: Iterable[ast.expr]) -> Names:
    return frozenset[str]().union(*(_reads(node) for node in nodes))
