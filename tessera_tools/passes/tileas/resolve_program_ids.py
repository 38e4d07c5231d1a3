"""tileas-resolve-program-ids: which programs a CTA runs, and in which order these go through the grid.

    scf.while (%pid = first_program_id)    static     scf.for %pid = %cta to %programs step %ctas { body }
      is_valid_program_id %pid        ──▶  counter    scf.for %pid = %cta to %programs step %ctas { body } {dealt}
      body                                 cancel     scf.for %pid = %cta to %programs step %programs { body } {dealt}
      cancel_next_program_id

With a static stride, the loop is one with bounds, so that agents, pipelines and clusters work as in any loop: the
producer loads the first tiles of the next program while the consumer stores those of this one.  CTAs deal out the
iterations of the other loops among each other, which tileas-deal-programs makes of them: with a counter, or with
cluster launch control, a CTA that is done early runs more programs.  For a stride and a counter, the launcher starts as
many CTAs as run at once, and passes the extents of the grid that it was asked for as hidden parameters
(`nv_tileaa.persistent`), and a zeroed counter.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.persistent import (
    CANCEL,
    CLUSTER_PROGRAMS,
    COUNTER,
    DEALT,
    NEVER,
    PERSISTENT,
    ROWS_FIRST,
    SCHEDULERS,
    STATIC,
    WANTED,
    Persistent,
)
from tessera_tools.dialects import nv_tileaa, scf
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr, StringAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, Operation, OpT, Value
from tessera_tools.ir.types import I32
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tileas.cluster_programs import (
    own_place,
    programs_of,
    store_only_if,
)
from tessera_tools.passes.tileas.raster import (
    GROUPED,
    ROWS,
    Numbers,
    Raster,
    priced_raster,
    program_at,
    read_raster,
)
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.records import dataclass
from tessera_tools.target import Feature
from tessera_tools.target.grids import MOST_PROGRAMS, MOST_RESIDENT

_NUMBER_OPS = (nv_tileaa.FirstProgramId, nv_tileaa.IsValidProgramId, nv_tileaa.CancelNextProgramId)
AUTO, _WIDTH = "auto", 8
_LARGEST = (MOST_PROGRAMS, 65535, 65535)
"""Extents of a grid."""


@dataclass(frozen=True)
class ResolveProgramIds(Pass):
    """Decide how CTAs get the numbers of their programs."""

    name: ClassVar = "tileas-resolve-program-ids"
    summary: ClassVar = "lower the loops of persistent kernels, and choose the order of programs"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = "no op asks for the number of a program"
    statistics: ClassVar = {"resolved": "kernels that get numbers of programs"}

    scheduler: str = option(
        STATIC,
        "what gives persistent CTAs their next programs; auto: what plan-cta has chosen for a kernel",
        choices=(*SCHEDULERS, AUTO),
    )
    raster: str = option(
        ROWS,
        "the order of programs: rows, reversed:N, grouped:N or hilbert:N; auto: grouped for clusters of tile blocks, "
        "reversed where programs with higher numbers multiply more",
    )

    def run(self, op: Operation, context: PassContext) -> None:
        raster = read_raster(ROWS if self.raster == AUTO else self.raster)
        if raster is None:
            raise op.error(
                f"option raster={self.raster} is invalid; expected rows, reversed, reversed:N, grouped, grouped:N, "
                "hilbert, or hilbert:N with N a power of two"
            )
        for function in kernels(op):
            loop = _loop_of(function)
            wanted = _wanted(function, keep=self.scheduler == AUTO and loop is not None)
            order = raster
            if self.raster == AUTO:
                in_clusters = programs_of(function) is not None
                order = Raster(GROUPED, _WIDTH) if in_clusters else priced_raster(function)
            if loop is None and programs_of(function) is not None:
                _once(function, order)
            elif loop is None:
                _reorder(function, order)
            else:
                _counted(function, loop, order, wanted if self.scheduler == AUTO else self.scheduler)
            context.count("resolved", int(loop is not None))


def _wanted(function: nv_tileaa.Func, keep: bool) -> str:
    """What plan-cta has chosen to give the CTAs their next programs; a stride if it has not.

    keep: tickets stay a wish, with which tileas-deal-programs may dispense.
    """
    found = function.attributes.pop(WANTED, None)
    if found is None:
        return STATIC
    if not isinstance(found, StringAttr) or found.value not in SCHEDULERS:
        raise function.error(f"has {WANTED} = {found}; expected one of {', '.join(SCHEDULERS)}")
    if keep and found.value != STATIC:
        function.attributes[WANTED] = found
    return found.value


def _loop_of(function: nv_tileaa.Func) -> scf.While | None:
    """The loop over programs; None if the kernel is not persistent.  DiagnosticError for any other use of its ops."""
    found = [op for op in function.walk() if isinstance(op, _NUMBER_OPS)]
    if not found:
        return None
    valid = next((op for op in found if isinstance(op, nv_tileaa.IsValidProgramId)), None)
    loop = valid.parent_op if valid is not None else None
    if (
        valid is None
        or len(found) != 3
        or not isinstance(loop, scf.While)
        or loop.parent_op is not function
        or len(loop.inits) != 1
        or not isinstance(loop.inits[0].defining_op, nv_tileaa.FirstProgramId)
        or [*loop.before.entry] != [valid, loop.condition]
        or valid.program is not loop.iter_args[0]
        or loop.condition.condition is not valid.res
        or [*loop.condition.args] != [loop.iter_args[0]]
        or not isinstance(loop.yielded[0].defining_op, nv_tileaa.CancelNextProgramId)
        or loop.results[0].has_uses
    ):
        raise found[0].error(
            "is not in a loop as tileas-dynamic-persistent makes it: expected one scf.while from "
            "nv_tileaa.first_program_id on, with nv_tileaa.is_valid_program_id as its condition, which yields "
            "nv_tileaa.cancel_next_program_id"
        )
    return loop


class _Grid:
    """The grid that the caller asked for: its extents as values at the start of a kernel.  No op of the kernel is
    erased before all is built there."""

    def __init__(self, function: nv_tileaa.Func, hidden: bool) -> None:
        self.asked: list[nv_tileaa.GetNumPrograms] = _queries(function, nv_tileaa.GetNumPrograms)
        self.builder = Builder.at_start(function.body.entry, function.location)
        self.numbers = Numbers(self.builder)
        if hidden:
            self.extents = [
                self.assumed(add_parameter(function, I32, f"programs_{axis}"), most)
                for axis, most in zip("xyz", _LARGEST, strict=True)
            ]
        else:
            self.extents = [
                self.builder.insert(nv_tileaa.GetNumPrograms(i32(axis), res=I32)).res for axis in range(3)
            ]
        self.cluster = programs_of(function)
        """The programs of a cluster, if its CTAs run one each."""
        self.rows_first = ROWS_FIRST in function.attributes
        self.places = self.extents
        """The extents of the grid in clusters."""
        if self.cluster is not None:
            n, (x, y, z) = self.numbers, self.extents
            self.places = [*(self._in_clusters(n, *of) for of in zip((x, y), self.cluster, strict=True)), z]

    def assumed(self, value: Value, most: int, least: int = 1) -> Value:
        """A number with its bounds."""
        made = nv_tileaa.Assume(value, lower=i64(least), upper=i64(most), res=I32)
        return self.builder.insert(made).res

    def answer(self) -> None:
        """Replace the queries of the kernel."""
        for op in self.asked:
            _replace(op, [self.extents[op.axis.value]])

    def own(self, place: tuple[Value, Value], builder: Builder, scope: Operation) -> tuple[Value, Value]:
        """The place of the program of this CTA, for that of its cluster. The stores of a scope are only executed if
        there is such a program."""
        assert self.cluster is not None
        extents = (self.extents[0], self.extents[1])
        x, y, exists = own_place(builder, place, self.cluster, extents, self.rows_first)
        store_only_if(scope, exists)
        return x, y

    @staticmethod
    def _in_clusters(n: Numbers, extent: Value, count: int) -> Value:
        return n.div(n.add(extent, n.constant(count - 1)), n.constant(count)) if count > 1 else extent

    @property
    def programs(self) -> Value:
        x, y, z = self.places
        plane = self.numbers.mul(x, y)
        return self.assumed(self.numbers.mul(plane, z), MOST_PROGRAMS)


def add_parameter(function: nv_tileaa.Func, type: Type, name: str) -> Value:
    """One more parameter of a kernel, which its launcher knows of."""
    added = function.body.entry.add_argument(type, function.location)
    added.name_hint = name
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr((*function.arg_attrs.elements, DictionaryAttr(())))
    function.set_signature([*function.signature.inputs, type], function.signature.results)
    return added


def _replace(op: Operation, values: list[Value]) -> None:
    op.replace_all_uses_with(values)
    op.erase()


def _queries(function: nv_tileaa.Func, kind: type[OpT]) -> list[OpT]:
    return [op for op in function.walk() if isinstance(op, kind)]


def _reorder(function: nv_tileaa.Func, raster: Raster) -> None:
    """The programs of a grid in another order: a kernel that is not persistent."""
    queries: list[nv_tileaa.GetProgramId] = _queries(function, nv_tileaa.GetProgramId)
    if raster.kind == ROWS or not any(op.axis.value == 1 for op in queries):
        return
    grid = _Grid(function, hidden=False)
    x, y = (grid.builder.insert(nv_tileaa.GetProgramId(i32(axis), res=I32)).res for axis in (0, 1))
    columns, rows, _ = grid.extents
    number = grid.numbers.add(x, grid.numbers.mul(y, columns))
    at = program_at(raster, number, columns, rows, grid.builder)
    for op in queries:
        if op.axis.value < 2:
            _replace(op, [at[op.axis.value]])


def _once(function: nv_tileaa.Func, raster: Raster) -> None:
    """The programs of clusters that run several, one in each CTA: a kernel that is not persistent."""
    queries: list[nv_tileaa.GetProgramId] = _queries(function, nv_tileaa.GetProgramId)
    grid = _hidden_grid(function, NEVER)
    places: list[Value] = [
        grid.builder.insert(nv_tileaa.GetProgramId(i32(axis), res=I32)).res for axis in range(3)
    ]
    columns, rows, _ = grid.places
    if raster.kind != ROWS:
        number = grid.numbers.add(places[0], grid.numbers.mul(places[1], columns))
        places[:2] = program_at(raster, number, columns, rows, grid.builder)
    at = grid.own((places[0], places[1]), grid.builder, function)
    for op in queries:
        _replace(op, [(*at, places[2])[op.axis.value]])
    grid.answer()
    for name in (CLUSTER_PROGRAMS, ROWS_FIRST):
        function.attributes.pop(name, None)


def _coordinates(loop: Operation, program: Value, grid: _Grid, raster: Raster) -> None:
    """Replace the queries of a loop over programs by arithmetic on the number of one."""
    queries = [op for op in loop.walk() if isinstance(op, nv_tileaa.GetProgramId)]
    used = {op.axis.value for op in queries} | ({0, 1} if grid.cluster is not None else set[int]())
    builder = Builder.at_start(program.owner_block, loop.location)  # type: ignore[arg-type]
    n = Numbers(builder)
    columns, rows, _ = grid.places
    at: dict[int, Value] = {}
    if 2 in used:
        at[2] = n.div(program, grid.numbers.mul(columns, rows))
    if raster.kind != ROWS and 1 in used:
        within = n.rem(program, grid.numbers.mul(columns, rows))
        at[0], at[1] = program_at(raster, within, columns, rows, builder)
    else:
        if 0 in used:
            at[0] = n.rem(program, columns)
        if 1 in used:
            at[1] = n.rem(n.div(program, columns), rows)
    if grid.cluster is not None:
        at[0], at[1] = grid.own((at[0], at[1]), builder, loop)
    for op in queries:
        _replace(op, [at[op.axis.value]])


def _hidden_grid(function: nv_tileaa.Func, scheduler: str) -> _Grid:
    """The grid as parameters."""
    count = len(function.signature.inputs)
    grid = _Grid(function, hidden=True)
    blocks = programs_of(function) or (1, 1)
    made = Persistent(scheduler, (count, count + 1, count + 2), None, blocks)
    function.attributes[PERSISTENT] = made.attribute()
    return grid


def _hidden(function: nv_tileaa.Func, scheduler: str) -> tuple[_Grid, Value, Value]:
    """The grid as parameters, the number of the first program, and the CTAs of the launch."""
    grid = _hidden_grid(function, scheduler)
    own = grid.builder.insert(nv_tileaa.GetProgramId(i32(0), res=I32)).res
    ctas = grid.builder.insert(nv_tileaa.GetNumPrograms(i32(0), res=I32)).res
    own, ctas = grid.assumed(own, MOST_RESIDENT, 0), grid.assumed(ctas, MOST_RESIDENT)
    if scheduler == COUNTER:
        add_parameter(function, PointerType(1), "program_counter")
        at, blocks = len(function.signature.inputs) - 1, programs_of(function) or (1, 1)
        function.attributes[PERSISTENT] = Persistent(
            COUNTER, (at - 3, at - 2, at - 1), at, blocks
        ).attribute()
    return grid, own, ctas


def _launched(function: nv_tileaa.Func) -> tuple[_Grid, Value, None]:
    """The grid, and the number of the first program: that of this CTA, or cluster.  The grid is the one that is
    launched, unless clusters run several programs."""
    target = target_of(function.parent_op or function)
    if not target.has(Feature.LAUNCH_CONTROL):
        raise function.error(
            f"is compiled for {target.name}, which has no cluster launch control; it requires sm_100 or later",
            "use the scheduler static, or counter",
        )
    in_clusters = programs_of(function) is not None
    if in_clusters:
        grid = _hidden_grid(function, CANCEL)
    else:
        grid = _Grid(function, hidden=False)
        function.attributes[PERSISTENT] = Persistent(CANCEL, None).attribute()
    n = grid.numbers
    x, y, z = (grid.builder.insert(nv_tileaa.GetProgramId(i32(axis), res=I32)).res for axis in range(3))
    columns, rows, _ = grid.places
    return grid, n.add(x, n.mul(n.add(y, n.mul(z, rows)), columns)), None


def _moved(loop: scf.While, body: Block) -> tuple[Value, Operation]:
    """Move the body of a loop over programs, without its end, to a block; returns the block's first argument, and the
    op that asks for the next program."""
    (old,) = loop.after.entry.arguments
    new = body.arguments[0]
    new.name_hint = old.name_hint
    old.replace_all_uses_with(new)
    following = loop.yielded[0].defining_op
    assert following is not None
    loop.after.entry.last_op.erase()  # type: ignore[union-attr]
    for op in list(loop.after.entry):
        op.detach()
        body.append(op)
    return new, following


def _counted(function: nv_tileaa.Func, loop: scf.While, raster: Raster, scheduler: str) -> None:
    """A loop over the programs of a CTA with a static stride; marked, if CTAs deal out its iterations."""
    first = loop.inits[0].defining_op
    assert first is not None
    grid, own, stride = _launched(function) if scheduler == CANCEL else _hidden(function, scheduler)
    programs = grid.programs
    made = scf.For(own, programs, stride or programs, [], results=[], location=loop.location)
    if scheduler != STATIC:
        made.attributes[DEALT] = StringAttr(scheduler)
    body = Block([I32], [loop.location])
    made.body.append(body)
    Builder.before(loop).insert(made)
    program, following = _moved(loop, body)
    Builder.at_end(body, made.location).insert(scf.Yield([]))
    _coordinates(made, program, grid, raster)
    grid.answer()
    for op in (loop, following, first):
        op.erase()
    for name in (CLUSTER_PROGRAMS, ROWS_FIRST):
        function.attributes.pop(name, None)
