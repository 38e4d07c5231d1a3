"""How an index changes between iterations of a loop.

scf.for %i = %c0 to %n step %c4      %a = arith.muli %i, %c8 : advances by 32
  %b = arith.addi %a, %t             32, if %t is defined outside: the sum of both
  %c = arith.muli %i, %t             LINEAR: by a constant but unknown step
  %d = tile.load_shared …            None: unknown
"""

from __future__ import annotations

from tessera_tools.dialects import arith, scf, tile
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.folding import constant_integer

LINEAR = "linear"
"""By a constant but unknown step."""
Advance = int | str | None


def advance(value: Value, loop: scf.For) -> Advance:
    """The increment of a value per iteration of a loop: a number, LINEAR, or None."""
    if value is loop.induction[0]:
        step = constant_integer(loop.step)
        return step if step is not None else LINEAR
    if not _is_inside(value, loop):
        return 0
    op = value.defining_op
    if isinstance(op, arith.Constant | tile.ThreadId | tile.WarpId | tile.LaneId | tile.BlockId):
        return 0
    if isinstance(op, arith.IndexCast | arith.ExtSI | arith.ExtUI | arith.TruncI):
        return advance(op.operands[0], loop)
    if isinstance(op, arith.AddI | arith.SubI):
        a, b = (advance(v, loop) for v in op.operands)
        if isinstance(a, int) and isinstance(b, int):
            return a + b if isinstance(op, arith.AddI) else a - b
        return None if a is None or b is None else LINEAR
    if isinstance(op, arith.MulI):
        for moving, factor in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
            if advance(factor, loop) == 0:
                moved, number = advance(moving, loop), constant_integer(factor)
                if moved == 0 or moved is None:
                    return moved
                return moved * number if isinstance(moved, int) and number is not None else LINEAR
        return None
    moved = (
        [advance(v, loop) for v in op.operands] if op is not None and op.name.startswith("arith.") else [None]
    )
    return 0 if all(m == 0 for m in moved) else None


def _is_inside(value: Value, loop: Operation) -> bool:
    """True if a value is defined in a loop's body."""
    op = value.block.parent_op if isinstance(value, BlockArgument) else value.defining_op
    if isinstance(value, BlockArgument) and op is loop:
        return True
    while op is not None:
        parent = op.parent_op
        if parent is loop:
            return True
        op = parent
    return False
