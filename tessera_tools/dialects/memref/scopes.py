"""`memref.alloca_scope`: where the memory of `memref.alloca` ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.interfaces import Flow, HasFlow
from tessera_tools.opdef import (
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    RETURN_LIKE,
    SINGLE_BLOCK,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    region,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class AllocaScopeReturn(
    Op, name="memref.alloca_scope.return", traits=(RETURN_LIKE, PURE, HasParent("memref.alloca_scope"))
):
    """The results of an `alloca_scope`."""

    results_ = variadic_operand()
    assembly = "attr-dict ($results^ `:` type($results))?"


IMPLICIT_RETURN = ImplicitTerminator(AllocaScopeReturn)


class ScopeSyntax(CustomDirective, name="AllocaScope"):
    """` -> (i32, f32) {…}`"""

    grammar = """custom: [custom_outputs] region
custom_outputs: "->" TYPE -> single | "->" "(" types ")" -> several
"""

    def read(self, state: OpState, node: Node) -> None:
        outputs, body = node
        if outputs is not None:
            form, children = outputs
            state.types("results", list(children) if form == "single" else list(children[0]))
        state.region("body", body)

    def write(self, p: Printer, op: AllocaScope) -> None:
        p.write(f"  -> ({', '.join(map(p.type, op.result_types))}) " if op.results else "  ")
        p.region(op.body, terminator=bool(op.results))


class AllocaScope(
    HasFlow, Op, name="memref.alloca_scope", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK, IMPLICIT_RETURN)
):
    """Memory of `memref.alloca` inside ends with the region."""

    results_ = variadic_result()
    body = region()
    assembly = "custom<AllocaScope>($results, $body) attr-dict"

    def flow(self) -> Flow:
        """A result is what the region returns."""
        last = self.body.entry.last_op
        return [(r, [value]) for r, value in zip(self.results, last.operands if last else (), strict=True)]

    def verify_op(self) -> None:
        last = self.body.entry.last_op
        if last is not None and last.operand_types != self.result_types:
            raise last.error(
                f"returns ({', '.join(map(str, last.operand_types))}), but the scope's results are "
                f"({', '.join(map(str, self.result_types))})"
            )
