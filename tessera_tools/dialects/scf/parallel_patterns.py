"""Canonicalization patterns of `scf.parallel`."""

from __future__ import annotations

from tessera_tools.dialects.scf.ops import known_trips
from tessera_tools.dialects.scf.parallel import Parallel, Reduce
from tessera_tools.ir.core import Block, Region, Value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter


class ParallelOfKnownDimensions(RewritePattern[Parallel]):
    """A dimension that runs once is its lower bound; one that never runs leaves the initial values."""

    # parallel (i, j) = (x, y) to (x + 1, z) {a} = parallel (j) = (y) to (z) {a with x for i}

    def match_and_rewrite(self, op: Parallel, rewriter: Rewriter) -> bool | str | None:
        counts = [known_trips(*bounds) for bounds in zip(op.lower, op.upper, op.step, strict=True)]
        if 0 in counts:
            rewriter.replace_op(op, op.inits)
            return True
        if 1 not in counts:
            return "no dimension is known to run once"
        kept = [i for i, count in enumerate(counts) if count != 1]
        if not kept:
            self._inline(op, rewriter)
            return True
        made = Parallel(
            *([bounds[i] for i in kept] for bounds in (op.lower, op.upper, op.step)),
            op.inits,
            results=op.result_types,
            body=Region([Block()]),
            attributes={k: v for k, v in op.attributes.items() if k != "operandSegmentSizes"},
        )
        target = made.body.entry
        rewriter.insert(made)
        numbers: list[Value] = list(op.lower)
        for i in kept:
            numbers[i] = target.add_argument(op.body.entry.arguments[i].type)
        rewriter.inline_block_at_end(op.body.entry, target, numbers)
        rewriter.replace_op(op, made)
        return True

    @staticmethod
    def _inline(op: Parallel, rewriter: Rewriter) -> None:
        """The body once, and each reduction of its value with the initial one."""
        reduce = op.body.entry.last_op
        assert isinstance(reduce, Reduce)
        rewriter.inline_block_before(op.body.entry, op, op.lower)
        results: list[Value] = []
        for init, value, body in zip(op.inits, reduce.operands, reduce.regions, strict=True):
            last = body.entry.last_op
            assert last is not None
            rewriter.inline_block_before(body.entry, op, [init, value])
            results.append(last.operand(0))
            rewriter.erase_op(last)
        rewriter.erase_op(reduce)
        rewriter.replace_op(op, results)


class NestedParallel(RewritePattern[Parallel]):
    """Merges a parallel loop that is the only op in the body of another one with it."""

    # parallel (i) { parallel (j) {a} } = parallel (i, j) {a}

    def match_and_rewrite(self, op: Parallel, rewriter: Rewriter) -> bool | str | None:
        block = op.body.entry
        inner, last = block.first_op, block.last_op
        if not isinstance(inner, Parallel) or inner.next_op is not last:
            return "it does more"
        if op.results or inner.results:
            return "values are reduced"
        bounds = [
            [*outer, *within]
            for outer, within in ((op.lower, inner.lower), (op.upper, inner.upper), (op.step, inner.step))
        ]
        if any(argument in values for argument in block.arguments for values in bounds):
            return "the bounds of the inner one change"
        made = Parallel(*bounds, [], results=[], body=Region([Block()]))
        target = made.body.entry
        rewriter.insert(made)
        outer_numbers = [target.add_argument(a.type) for a in block.arguments]
        numbers = [target.add_argument(a.type) for a in inner.body.entry.arguments]
        for old, new in zip(block.arguments, outer_numbers, strict=True):
            rewriter.replace_all_uses(old, new)
        rewriter.inline_block_at_end(inner.body.entry, target, numbers)
        rewriter.erase_op(op)
        return True


patterns = (ParallelOfKnownDimensions, NestedParallel)
"""The patterns for parallel loops."""
