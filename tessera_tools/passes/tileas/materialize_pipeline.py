"""tileas-materialize-pipeline: moves dot operands through swizzled shared memory, asynchronously in loops.

    for k: a = convert(load A[k]); b = convert(load B[k]); acc = dot(a, b, acc)
      ──▶
    for s in 0..S-2: copy A[s], B[s] → stage s; commit                     (prologue)
    for k: wait for the oldest group; barrier                              (also frees the stage read last)
           copy A[k+S-1], B[k+S-1] → the freed stage; commit
           for each slice of K: load the fragments (ldmatrix), dot

A load with accesses too narrow for cp.async, or with nonzero padding, passes through registers instead, with a store.
dot_operands.py chooses the operands and slices the products; barriers.py inserts the barriers.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple, cast

from tessera_tools.analysis.counting import may_pass, may_wrap
from tessera_tools.analysis.facts import Facts
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, i32
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I32
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tileas.dot_operands import DotOperand, dot_operands, slice_dot
from tessera_tools.passes.tileas.explain import explain_loads
from tessera_tools.passes.tileas.fills import SIDES
from tessera_tools.passes.tileas.memory_order import writes_memory
from tessera_tools.passes.tileas.missed import place_of
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.planning.shared_memory import allocate
from tessera_tools.records import dataclass, replace
from tessera_tools.target import Target

MOST_STAGES = 4
LARGE_STAGE = 24 * 1024
"""Stages larger than this are limited to three: with more, only one CTA would fit on a multiprocessor."""


@dataclass(frozen=True)
class MaterializePipeline(Pass):
    """Make the buffers and copies of dot operands explicit."""

    name: ClassVar = "tileas-materialize-pipeline"
    summary: ClassVar = "convert loads in loops to multi-buffered asynchronous copies"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "layouts on every tensor"
    ensures: ClassVar = (
        "dot operands that come from global memory are read from shared-memory buffers, slice by slice"
    )
    statistics: ClassVar = {
        "pipelined": "loads turned into asynchronous copies",
        "staged": "loads staged through registers",
    }

    num_stages: int = option(0, "number of pipeline stages per loop; 0 chooses as many as fit")

    def run(self, op: Operation, context: PassContext) -> bool:
        if self.num_stages < 0:
            raise op.error(
                f"option num-stages={self.num_stages} is invalid; expected a number of stages, or 0"
            )
        target = target_of(op)
        changed = False
        for function in kernels(op):
            if context.explains:
                explain_loads(function, context)
            changed |= self.run_on_kernel(function, target, context)
        return changed

    def run_on_kernel(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> bool:
        """Materialize with as many stages as fit in shared memory with the kernel's other buffers, and in less room
        where one stage does not fit.  False if the kernel has no products with operands in memory."""
        room = _Room(1 if self.num_stages else MOST_STAGES)
        while operands := dot_operands(function, target):
            backup = cast(nv_tileaa.Func, function.clone())
            smaller = room.smaller([o for block in operands for o in block], target, bool(self.num_stages))
            pipelined = staged = 0
            chosen: list[_Stages] = []
            slow: list[_Detour] = []
            try:
                for same_block in operands:
                    counts = self.materialize(same_block, target, room, chosen, slow)
                    pipelined, staged = pipelined + counts[0], staged + counts[1]
                allocate(function, target)
            except DiagnosticError:
                if smaller is None:
                    raise
                assert function.parent is not None
                function.parent.insert_before(function, backup)
                function.erase()
                function, room = backup, smaller
                continue
            context.count("pipelined", pipelined)
            context.count("staged", staged)
            for stages in (*chosen, *slow):
                stages.explain(context, function)
            return True
        return False

    def materialize(
        self,
        operands: list[DotOperand],
        target: Target,
        room: _Room,
        chosen: list[_Stages],
        slow: list[_Detour],
    ) -> tuple[int, int]:
        """Materialize one block; returns the numbers of loads that were pipelined and staged through registers. Adds to
        `chosen` and `slow`."""
        loop = operands[0].dot.parent_op
        # Products that read the same tile share a buffer.
        owners: dict[Hashable, DotOperand] = {}
        direct: dict[Operation, DotOperand] = {}
        buffered: list[DotOperand] = []
        converted: set[Hashable] = set()
        for operand in operands:
            if room.has(operand):
                owners.setdefault(operand.tile_key, operand)
                buffered.append(operand)
                continue
            if operand.load is None:
                if operand.tile_key not in converted:
                    text = f"is converted part by part: no buffer of {operand.bytes} bytes fits"
                    slow.append(_Detour(operand, text))
                converted.add(operand.tile_key)
                continue
            operand.read_directly(direct.get(operand.load))
            if operand.load not in direct:
                text = f"is read from global memory, fragment by fragment: no buffer of {operand.bytes} bytes fits"
                slow.append(_Detour(operand, text))
            direct.setdefault(operand.load, operand)
            buffered.append(operand)
        reasons = {o: _not_ahead(o, loop) for o in owners.values()}
        pipelined = [o for o, reason in reasons.items() if not reason]
        staged = [o for o, reason in reasons.items() if reason]
        if pipelined:
            assert isinstance(loop, scf.For)
            chosen.append(self.stages(pipelined, staged, target, loop, room.stages))
            _pipeline(loop, pipelined, chosen[-1].number)
        for operand in staged:
            text = f"goes to shared memory through registers, not by cp.async: {reasons[operand]}"
            slow.append(_Detour(operand, text))
            operand.stage_through_registers(room.each_iteration)
        for operand in buffered:
            owner = owners.get(operand.tile_key, operand)
            if operand is not owner:
                operand.share(owner)
        for dot in dict.fromkeys(o.dot for o in buffered):
            slice_dot(dot, {o.position: o for o in buffered if o.dot is dot}, operands[0].warps, target)
        return len(pipelined), len(staged)

    def stages(
        self,
        pipelined: list[DotOperand],
        staged: list[DotOperand],
        target: Target,
        loop: Operation,
        most: int,
    ) -> _Stages:
        """The number of stages that fit in the target's shared memory, at most `most`.  Raises an error if none
        fits."""
        each = sum(o.bytes for o in pipelined)
        room = target.max_shared_per_block - sum(o.bytes for o in staged)
        fitting = room // each
        if fitting < 1:
            what = ", ".join(f"{o.bytes} bytes for {o.tile_text()}" for o in (*pipelined, *staged))
            raise loop.error(
                f"needs {each} bytes of shared memory for one stage of its buffers ({what}), but {target.name} has "
                f"{target.max_shared_per_block} per CTA; use smaller tiles"
            )
        if self.num_stages:
            if self.num_stages > fitting:
                raise loop.error(
                    f"has shared memory for {fitting} stages on {target.name}, but num-stages={self.num_stages}"
                )
            return _Stages(loop, self.num_stages, each, "as set by num-stages")
        usual = 3 if each > LARGE_STAGE else MOST_STAGES
        if usual <= min(fitting, most):
            larger = f" for stages of more than {LARGE_STAGE} bytes" if each > LARGE_STAGE else ""
            return _Stages(loop, usual, each, f"the maximum is {usual}{larger}")
        if fitting < most:
            return _Stages(loop, fitting, each, f"one more does not fit in {room} bytes of shared memory")
        why = "with one more, the buffers of the kernel do not fit in shared memory together"
        return _Stages(loop, most, each, why)


@dataclass(frozen=True)
class _Room:
    """How much shared memory the operands take."""

    stages: int = MOST_STAGES
    """The maximum number of stages of a loop's copies."""
    each_iteration: bool = False
    """Tiles that pass through registers have their bytes from the store to the last product only, so that others have
    the same bytes in the rest of the iteration, at the cost of barriers."""
    loaded: int = sys.maxsize
    """Loaded tiles of so many bytes or more have no buffer: they are read from global memory, fragment by fragment."""
    computed: int = sys.maxsize
    """Computed tiles of so many bytes or more have no buffer: conversions, in parts, bring them to the product."""

    def has(self, operand: DotOperand) -> bool:
        """True if the operand has a buffer."""
        return operand.bytes < (self.computed if operand.load is None else self.loaded)

    def smaller(self, operands: Sequence[DotOperand], target: Target, is_fixed: bool) -> _Room | None:
        """The next choice if this one does not fit; None if there is none.

        is_fixed: an option sets the number of stages, which loaded tiles have.
        """
        if self.stages > 1 and any(o.load is not None for o in operands):
            return replace(self, stages=self.stages - 1)
        if not self.each_iteration:
            return replace(self, stages=1 if is_fixed else MOST_STAGES, each_iteration=True)
        buffered = [o for o in operands if self.has(o)]
        if alone := [o.bytes for o in buffered if o.load is None and o.bytes > target.max_shared_per_block]:
            return replace(self, stages=1 if is_fixed else MOST_STAGES, computed=min(alone))
        loaded = [o.bytes for o in buffered if o.load is not None]
        if loaded and not is_fixed:
            return replace(self, loaded=max(loaded))
        if computed := [o.bytes for o in buffered if o.load is None]:
            return replace(self, computed=max(computed))
        return None


class _Stages(NamedTuple):
    """The stages of a loop's copies."""

    loop: Operation
    number: int
    bytes: int
    """The size of one stage."""
    why: str
    """Why there are not more."""

    def explain(self, context: PassContext, function: Operation) -> None:
        """The remark at the loop."""
        plural = "s" if self.number != 1 else ""
        text = f"{self.number} stage{plural} of {self.bytes} bytes by cp.async: {self.why}"
        context.passed(self.loop, text, "stages", "schedule", function=function)


class _Detour(NamedTuple):
    """An operand that no asynchronous copy brings."""

    operand: DotOperand
    text: str

    def explain(self, context: PassContext, function: Operation) -> None:
        """The remark at the load, or at the product of what no load makes."""
        operand = self.operand
        at = operand.load if operand.load is not None else operand.dot
        text = f"{SIDES[operand.position]} operand of {operand.tile_text()} {self.text}"
        context.missed(at, text, "staging", "memory", function=function)


def _not_ahead(operand: DotOperand, loop: Operation | None) -> str:
    """Why the load may not be an asynchronous copy that starts iterations early; "" if it may.

    Its indices must follow from the induction variable alone, no memory op of the loop may be ordered before it, and
    nothing in the loop may write global memory.
    """
    if operand.obstacle:
        return operand.obstacle
    if not isinstance(loop, scf.For):
        return "it is not loaded in a loop, where the copies of later iterations would run ahead"
    write = next((op for op in loop.walk() if not op.regions and writes_memory(op)), None)
    if write is not None:
        return f"'{write.name}'{place_of(write)} writes global memory in the loop"
    token = operand.loaded.token.defining_op
    while isinstance(token, nv_tileas.TiledLoad):
        token = token.token.defining_op
    if token is not None and loop.is_ancestor_of(token):
        return f"its token orders it after '{token.name}'{place_of(token)} in the loop"
    if operand.loaded.token in loop.iter_args or any(
        u.owner.name == "scf.yield" for u in operand.loaded.out_token.uses
    ):
        return "its token orders it after the iteration before"
    if operand.loaded.view.owner_block is loop.body.entry:
        return "its view is made in the loop"
    if _index_slice(operand.loaded, loop) is None:
        return "its indices do not follow from the induction variable alone"
    return ""


def _index_slice(load: nv_tileas.TiledLoad, loop: scf.For) -> list[Operation] | None:
    """The scalar operations of the body that compute the load's indices, in order; None if they need carried values."""
    induction = loop.induction[0]
    needed: set[Operation] = set()
    work = list(load.indices)
    while work:
        value = work.pop()
        if value is induction:
            continue
        op = value.defining_op
        if op is None:
            if value.owner_block is loop.body.entry:
                return None
            continue
        if not loop.is_ancestor_of(op) or op in needed:
            continue
        if op.regions or op.name.partition(".")[0] not in ("arith", "nv_tileaa") or not is_pure(op):
            return None
        if not _may_run_early(op, loop):
            return None
        needed.add(op)
        work += op.operands
    return [op for op in loop.body.entry if op in needed]


def _may_run_early(op: Operation, loop: scf.For) -> bool:
    """True if an index computation may be executed for iterations that do not exist.

    A division may not, unless its divisor is a safe constant, or is defined outside the loop and positive.  Facts about
    a divisor inside the loop may not hold after the last iteration.
    """
    if op.is_speculatable():
        return True
    divisor = op.operand(1)
    home = divisor.owner_block
    if home is None or loop.is_ancestor_of(home.parent_op):
        return False
    lower = Facts().lower(divisor)
    return lower is not None and lower > 0


def _pipeline(loop: scf.For, operands: list[DotOperand], stages: int) -> None:
    """Convert the loop's loads to copies that run `stages - 1` iterations ahead."""
    before = Builder.before(loop)
    for operand in operands:
        operand.allocate(before, stages)
    ahead = stages - 1
    lower, upper, step = loop.lower, loop.upper, loop.step
    type = lower.type

    def constant(builder: Builder, value: int, of: Type = I32) -> Value:
        return builder.insert(arith.Constant(IntegerAttr(value, of))).results[0]

    def less(builder: Builder, a: Value, b: Value) -> Value:
        return builder.insert(arith.CmpI.of(loop.less_than, a, b)).results[0]

    unsigned, facts = loop.unsigned_cmp is not None, Facts()
    guard = may_wrap(upper, step, unsigned, facts, ahead)
    # A loop without iterations may begin at any number.
    guard_start = guard or may_pass(lower, step, unsigned, facts, ahead - 1)

    def following_iteration(
        builder: Builder, value: Value, exists: Value | None, guarded: bool = True
    ) -> tuple[Value, Value | None]:
        """The next value of the induction variable, and whether no value so far has wrapped around (None: cannot
        wrap)."""
        later = builder.insert(arith.AddI(value, step)).results[0]
        if guarded:
            grew = less(builder, value, later)
            exists = grew if exists is None else builder.insert(arith.AndI(exists, grew)).results[0]
        return later, exists

    def in_range(builder: Builder, value: Value, exists: Value | None) -> Value:
        when = less(builder, value, upper)
        return when if exists is None else builder.insert(arith.AndI(exists, when)).results[0]

    iteration, exists = lower, None
    for s in range(ahead):
        _issue(before, loop, operands, iteration, constant(before, s), in_range(before, iteration, exists))
        if s + 1 < ahead:
            iteration, exists = following_iteration(before, iteration, exists, guard_start)
    zero = constant(before, 0)
    slots = [zero] if stages == 1 else [zero, constant(before, ahead)]
    body = with_carried(loop, slots if stages > 1 else [])
    block = body.body.entry
    at = Builder.at_start(block, loop.location)
    induction = block.arguments[0]
    if stages == 1:
        read: Value = zero
        at.insert(nv_tileas.Barrier())
        _issue(at, body, operands, induction, zero, None)
        at.insert(nv_tileas.AsyncWaitGroup(i32(0)))
        at.insert(nv_tileas.Barrier())
    else:
        read, write = block.arguments[-2], block.arguments[-1]
        read.name_hint, write.name_hint = "read_stage", "write_stage"
        at.insert(nv_tileas.AsyncWaitGroup(i32(stages - 2)))
        at.insert(nv_tileas.Barrier())
        if guard:
            future, exists = induction, None
            for _ in range(ahead):
                future, exists = following_iteration(at, future, exists)
        else:
            scaled = at.insert(arith.MulI(step, constant(at, ahead, type))).results[0]
            future, exists = at.insert(arith.AddI(induction, scaled)).results[0], None
        _issue(at, body, operands, future, write, in_range(at, future, exists))
        terminator = block.last_op
        assert terminator is not None
        end = Builder.before(terminator)
        one, count, start = constant(end, 1), constant(end, stages), constant(end, 0)
        following: list[Value] = []
        for slot in (read, write):
            moved = end.insert(arith.AddI(slot, one)).results[0]
            wraps = end.insert(arith.CmpI.of("eq", moved, count)).results[0]
            following.append(end.insert(arith.Select(wraps, start, moved)).results[0])
        terminator.set_operands([*terminator.operands, *following])
    Builder.after(body).insert(nv_tileas.AsyncWaitGroup(i32(0)))
    for operand in operands:
        operand.stage = read
        operand.finish_load()


def _issue(
    builder: Builder,
    loop: scf.For,
    operands: list[DotOperand],
    iteration: Value,
    stage: Value,
    when: Value | None,
):
    """The copies of one iteration as one group: the index computations with `iteration` for the induction variable."""
    mapping = IRMapping({loop.induction[0]: iteration})
    for op in dict.fromkeys(o for operand in operands for o in _index_slice(operand.loaded, loop) or ()):
        copy = builder.insert(op.clone(mapping))
        # Assumptions about the loop's iterations may not hold after the last one.
        copy.attributes.pop("overflowFlags", None)
    for operand in operands:
        operand.copy(builder, [mapping.value(v) for v in operand.loaded.indices], stage, when)
    builder.insert(nv_tileas.AsyncCommitGroup())


def with_carried(loop: scf.For, extra: list[Value]) -> scf.For:
    """The loop with more carried values; the caller adds their yields. The body is moved."""
    if not extra:
        return loop
    new = scf.For(
        loop.lower, loop.upper, loop.step, [*loop.inits, *extra],
        results=[*loop.result_types, *(v.type for v in extra)], location=loop.location,
    )  # fmt: skip
    new.attributes.update({k: v for k, v in loop.attributes.items() if k not in new.attributes})
    new.body.take_blocks(loop.body)
    for value in extra:
        new.body.entry.add_argument(value.type, loop.location)
    Builder.before(loop).insert(new)
    for old, fresh in zip(loop.results, new.results[: len(loop.results)], strict=True):
        fresh.name_hint = old.name_hint
        old.replace_all_uses_with(fresh)
    loop.erase()
    return new


def with_results(branch: scf.If, types: list[Type]) -> scf.If:
    """A branch before another, with more results (their yields are the caller's to add); the regions move over."""
    new = scf.If.create(
        [branch.condition], [*branch.result_types, *types], {}, [Region(), Region()], location=branch.location
    )
    new.attributes.update(branch.attributes)
    for old, region in zip(branch.regions, new.regions, strict=True):
        region.take_blocks(old)
        if not region.blocks:
            region.append(Block())
            Builder.at_end(region.entry, branch.location).insert(scf.Yield([]))
    Builder.before(branch).insert(new)
    for old, fresh in zip(branch.results, new.results[: len(branch.results)], strict=True):
        fresh.name_hint = old.name_hint
        old.replace_all_uses_with(fresh)
    return new
