"""The dialect `toy`."""

from __future__ import annotations

from tessera_tools.opdef import PURE, Dialect, Op, operand, ops_of, result


class Twice(Op, name="toy.twice", traits=(PURE,)):
    """Twice an integer."""

    value = operand()
    result = result()
    assembly = "$value attr-dict `:` type($result)"

    def verify_op(self) -> None:
        if self.value.type is not self.result.type:
            raise self.error("requires the same type for its operand and its result")


DIALECT = Dialect("toy", "an example of a dialect", ops_of(globals()), is_complete=True)
