"""Reading, changing and printing IR: `parse`, `run_passes`, `rewrite`, `to_text`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tessera_tools.api.inputs import is_binary, parse_input
from tessera_tools.diagnostics import plain_errors
from tessera_tools.ir.core import Operation
from tessera_tools.ir.rewriter import RewritePattern

__all__ = ["parse", "parse_file", "rewrite", "run_passes", "to_text"]


def parse(source: str | bytes, name: str = "<text>") -> Operation:
    """The verified module that MLIR text, MLIR bytecode or cuda_tile bytecode describes; `name` denotes it in messages.

    Raises DiagnosticError with the position of the error.

    >>> module = parse("func.func @f(%a: i32) -> i32 { return %a : i32 }")
    >>> [op.name for op in module.walk()]
    ['func.func', 'func.return']
    """
    from tessera_tools.ir.verifier import verify_or_raise

    with plain_errors():
        data = source.encode() if isinstance(source, str) else source
        module = parse_input(data, name)
        if not is_binary(data):
            verify_or_raise(module)
        return module


def parse_file(path: str | os.PathLike[str]) -> Operation:
    """The module in a file. Raises OSError, and DiagnosticError as `parse` does."""
    with open(path, "rb") as file:
        return parse(file.read(), os.fspath(path))


def run_passes(module: Operation, pipeline: str, *, verify_each: bool = True) -> Operation:
    """Run a pipeline on the module in place; returns the module.

    pipeline: as for `tessera-opt --pass-pipeline`, or names of passes separated by commas.

    Raises DiagnosticError for an unknown pass or option, and for IR that a pass refuses.

    >>> text = "%a = arith.constant 1 : i32 %b = arith.addi %a, %a : i32 return %b : i32"
    >>> module = parse(f"func.func @f() -> i32 {{ {text} }}")
    >>> print(to_text(run_passes(module, "canonicalize")), end="")
    module {
      func.func @f() -> i32 {
        %0 = arith.constant 2 : i32
        return %0 : i32
      }
    }
    """
    from tessera_tools.passes.manager import PassManager
    from tessera_tools.passes.pipeline import parse_pipeline

    with plain_errors():
        text = pipeline if pipeline.lstrip().startswith("builtin.module") else f"builtin.module({pipeline})"
        PassManager(parse_pipeline(text), verify_each=verify_each).run(module)
        return module


def rewrite(module: Operation, patterns: Sequence[RewritePattern]) -> bool:
    """Apply patterns to the ops inside `module` in place until none applies; returns True if anything changed.

    Also folds, and removes ops without uses and effects. The module is verified at the end. Raises DiagnosticError.

    >>> from tessera_tools.dialects.arith import AddI, MulI
    >>> class DoubleIsSum(RewritePattern[MulI]):
    ...     def match_and_rewrite(self, op, rewriter):
    ...         if op.lhs is not op.rhs:
    ...             return "the factors differ"
    ...         rewriter.replace_op(op, rewriter.insert(AddI(op.lhs, op.lhs)))
    ...         return True
    >>> module = parse("func.func @f(%a: i32) -> i32 { %b = arith.muli %a, %a : i32 return %b : i32 }")
    >>> rewrite(module, [DoubleIsSum()])
    True
    >>> [op.name for op in module.walk()]
    ['func.func', 'arith.addi', 'func.return']
    """
    from tessera_tools.ir.greedy import apply_greedily
    from tessera_tools.ir.verifier import verify_or_raise

    result = apply_greedily(module, patterns)
    verify_or_raise(module)
    return result.changed


def to_text(op: Operation, *, generic: bool = False, locations: bool = False) -> str:
    """The op as MLIR text that `parse` reads. generic: without custom syntax; locations: with `loc(…)`.

    Raises TypeError for text, such as that of a stage of a kernel.
    """
    if not isinstance(op, Operation):
        raise TypeError(f"to_text takes an op, not {type(op).__name__}; parse(text) reads MLIR text")
    from tessera_tools.ir.printing import print_op

    return print_op(op, generic=generic, debuginfo=locations)
