"""Statements of a kernel: assignments, loops, branches, as the structured control flow of `cuda_tile`.

    for k in range(lo, hi, step)    ──▶  for, or loop if the body has a break or a return
    while condition                 ──▶  loop { if condition { } else { break … } … }
    if condition … else …           ──▶  if, or one of the two if the condition is known at compile time

A loop carries the variables that it assigns and that are live at its head, with the tokens of the memory that it
accesses. An `if` yields those that it assigns and that are live behind it. Each has one type: a number before a loop
becomes what the body makes of it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dsl import ops
from tessera_tools.dsl.branches import Exit, Unrolled
from tessera_tools.dsl.emitter import Emitter
from tessera_tools.dsl.expressions import Closure, Frame
from tessera_tools.dsl.liveness import assigned
from tessera_tools.dsl.loops import Break, Continue, Loops
from tessera_tools.dsl.source import Source
from tessera_tools.dsl.values import Runtime, Tile, describe

__all__ = ["Interpreter"]


class _Returned(Exception):
    """The value of an inlined function."""

    def __init__(self, value: object) -> None:
        self.value = value


class Interpreter(Loops):
    """Builds the body of one kernel."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        emitter.interpreter = self
        self.frames: list[Frame] = []

    def kernel(self, source: Source, arguments: dict[str, object]) -> None:
        """Compile a kernel, whose parameters have these values."""
        self.frames.append(Frame(source, None, dict(arguments), is_kernel=True))
        assert isinstance(source.node, ast.FunctionDef)
        ended = self.statements(source.node.body)
        if not ended:
            self.emitter.insert(ct.Return())
        self.frames.pop()

    def body(self, statements: Sequence[ast.stmt]) -> object:
        """Compile the body of an inlined function; its value."""
        try:
            self.statements(statements)
        except _Returned as found:
            return found.value
        return None

    def statements(self, statements: Sequence[ast.stmt]) -> bool:
        """Compile statements; True if the last one leaves the block."""
        return any(self._statement(node) for node in statements)

    def _statement(self, node: ast.stmt) -> bool:
        handler = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if handler is None:
            raise self.refuse(node, f"{_noun(node)} statements are not supported in kernels")
        with self.at(node):
            return bool(handler(node))

    # -- plain statements

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node.target, "found an assignment to a part, expected a variable")
        before = self.evaluate(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        product = node.value
        if (
            isinstance(node.op, ast.Add)
            and isinstance(product, ast.BinOp)
            and isinstance(product.op, ast.MatMult)
        ):
            value = self.add_product(product, before)
        else:
            value = self.operate(node.op, before, self.evaluate(node.value))
        self.bind(node.target, value)

    def bind(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Runtime) and value.ir.name_hint is None:
                value.ir.name_hint = target.id
            self.frame.variables[target.id] = value
            return
        if isinstance(target, ast.Tuple | ast.List):
            if not isinstance(value, tuple | list | range):
                raise self.refuse(target, f"found {describe(value)}, expected {len(target.elts)} values")
            if starred := [part for part in target.elts if isinstance(part, ast.Starred)]:
                raise self.refuse(starred[0], "'*' is not supported in assignments; name each value")
            if len(value) != len(target.elts):
                raise self.refuse(target, f"found {len(value)} values, expected {len(target.elts)}")
            for part, one in zip(target.elts, value, strict=True):
                self.bind(part, one)
            return
        raise self.refuse(
            target, "found an assignment to a part, expected a variable; values of a kernel do not change"
        )

    def _do_assert(self, node: ast.Assert) -> None:
        test = self.test(node.test)
        message = self.evaluate(node.msg) if node.msg is not None else f"{ast.unparse(node.test)} is false"
        if not isinstance(message, str):
            raise self.refuse(node, f"found {describe(message)}, expected text")
        if isinstance(test, Tile):
            ops.call("assert_", test, message)
        elif not test:
            raise self.refuse(node, f"the assertion fails: {message}")

    def _do_functiondef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.refuse(node, "functions in a kernel have no decorators")
        self.frame.variables[node.name] = Closure(self.frame.source.inner(node, self._visible()))

    def _do_return(self, node: ast.Return) -> bool:
        frame = self.frame
        if not frame.is_kernel:
            if frame.branches or any(isinstance(exit, Exit) for exit in frame.exits):
                raise self.refuse(
                    node, "found a 'return' in a loop or under a condition that is known only when the kernel runs",
                    "assign the value to a variable, and return it at the end",
                )  # fmt: skip
            raise _Returned(self.evaluate(node.value) if node.value is not None else None)
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            raise self.refuse(node, "a kernel returns nothing; store the result")
        self.emitter.insert(ct.Return())
        return True

    def _do_break(self, node: ast.Break) -> bool:
        loop = self._loop(node, "break", Break)
        self.emitter.insert(ct.Break(self.carried(node, loop)))
        return True

    def _do_continue(self, node: ast.Continue) -> bool:
        loop = self._loop(node, "continue", Continue)
        self.next_iteration(node, loop)
        return True

    def _loop(self, node: ast.stmt, word: str, unrolled: type[Exception]) -> Exit:
        """The loop that a `break` or `continue` is of; raises `unrolled` for one that is unrolled."""
        found = self.frame.exits[-1]
        if isinstance(found, Unrolled):
            if found.branches == self.frame.branches:
                raise unrolled
            raise self.refuse(
                node, f"found a '{word}' of an unrolled loop under a condition that is known only when the kernel runs",
                "use range() for the loop",
            )  # fmt: skip
        return found

    # -- branches

    def _do_if(self, node: ast.If) -> bool:
        test = self.test(node.test)
        if not isinstance(test, Runtime):
            return self.statements(node.body if test else node.orelse)
        condition = self.condition(node.test, test)
        live = self.frame.source.liveness.after[node]
        names = [name for name in assigned([*node.body, *node.orelse]) if name in live]
        sides = [self.branch(lambda body=body: self.statements(body)) for body in (node.body, node.orelse)]
        return self.join(node, condition, sides, names)


def _noun(node: ast.stmt) -> str:
    words: dict[type[ast.AST], str] = {
        ast.With: "'with'", ast.Try: "'try'", ast.Raise: "'raise'", ast.Import: "'import'", ast.ImportFrom: "'import'",
        ast.Global: "'global'", ast.Nonlocal: "'nonlocal'", ast.Delete: "'del'", ast.ClassDef: "'class'",
        ast.Match: "'match'", ast.AsyncFunctionDef: "'async'",
    }  # fmt: skip
    return words.get(type(node), type(node).__name__)
