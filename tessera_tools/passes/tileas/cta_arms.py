"""The arms of plan-cta: how the CTA layout of one value of an op determines those of its others.

    backward    a result has these parts ──▶ the parts of the operands that a CTA then needs
    forward     an operand has these parts ──▶ the parts of the results, and of the other operands

Each row of `ARMS` is one arm.  An op on tiles that no arm of a direction takes has whole tiles in all CTAs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LayoutError, LinearLayout
from tessera_tools.passes.tileas.cta_layouts import Blocks, blocks_of, layout_for, part_shape
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.planning.layout_rules import copies, is_tile
from tessera_tools.records import dataclass

BACKWARD, FORWARD = "backward", "forward"
DIRECTION = "plancta.direction"
"""The attribute of a conversion: where the layout that it asks for goes."""

Need = tuple[Value, Blocks]
"""A value, and the parts of it that the CTAs need or have."""
Step = Callable[..., Iterator[Need]]


class Conflict(Missed):
    """Why a value cannot have the parts that an op needs."""


@dataclass(frozen=True)
class Arm:
    """One arm."""

    name: str
    direction: str
    takes: Callable[[Operation], bool]
    step: Step


def _is(*names: str) -> Callable[[Operation], bool]:
    return lambda op: op.name in names


def _tiles(values: Sequence[Value], value: Value) -> list[Value]:
    return [v for v in values if is_tile(v) and v is not value]


def _same(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    """All tiles of the op have the same shape, and a CTA has the same part of each."""
    for other in _tiles([*op.operands, *op.results], value):
        yield other, blocks


def _nothing(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    """An access reaches any part."""
    return iter(())


def _made(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    """Every part of a constant, an iota or a splat can be made."""
    if isinstance(op, arith.Constant) and splat_of(constant_value(value)) is None:
        raise Conflict(op, "has different elements; a CTA of a cluster would need its own part of them")
    return iter(())


def _copied(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    """The operand's elements from which a part of the result is copied."""
    for copy in copies(op):
        if copy.result is value:
            yield copy.source, _mapped(op, copy.backward, value, blocks, copy.source)


def _copies(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    """The result's elements that are copied from a part of the operand; not where they are repeated, because the
    result may then be in more parts."""
    for copy in copies(op):
        if copy.source is value and copy.result.type.num_elements <= value.type.num_elements:  # type: ignore[attr-defined]
            yield copy.result, _mapped(op, copy.forward, value, blocks, copy.result)


def _mapped(
    op: Operation,
    move: Callable[[LinearLayout], LinearLayout | None],
    value: Value,
    blocks: Blocks,
    to: Value,
) -> Blocks:
    type = value.type_as(RankedTensorType)
    other = to.type_as(RankedTensorType)
    try:
        found = move(layout_for(type.shape, blocks))
    except LayoutError:
        found = None
    moved = None if found is None else blocks_of(found)
    if moved is None or part_shape(other.shape, moved) is None:
        raise Conflict(op, f"takes {other} apart in a way that no CTA of a cluster has a whole part of it")
    return moved


def _reduced(op: nv_tileaa.Reduce, value: Value, blocks: Blocks) -> Iterator[Need]:
    """Whole lines of the operands."""
    axis = op.axis.value
    for source in op.sources:
        yield source, tuple((*basis[:axis], 0, *basis[axis:]) for basis in blocks)
    yield from ((other, blocks) for other in _tiles(op.results, value))


def _reduces(op: nv_tileaa.Reduce, value: Value, blocks: Blocks) -> Iterator[Need]:
    """The lines of which a CTA has elements; if it has parts of lines, CTAs exchange what they come to."""
    axis = op.axis.value
    for other in _tiles(op.sources, value):
        yield other, blocks
    for res in op.results:
        if is_tile(res):
            yield res, tuple((*basis[:axis], *basis[axis + 1 :]) for basis in blocks)


def _scanned(op: nv_tileaa.Scan, value: Value, blocks: Blocks) -> Iterator[Need]:
    """Whole lines."""
    axis = op.axis.value
    if any(basis[axis] for basis in blocks):
        raise Conflict(op, f"scans along axis {axis}, of which each CTA of a cluster would have a part")
    yield from _same(op, value, blocks)


def _joined(op: nv_tileaa.Cat, value: Value, blocks: Blocks) -> Iterator[Need]:
    """Parts along the other axes."""
    axis = op.axis.value
    if any(basis[axis] for basis in blocks):
        raise Conflict(op, f"joins tiles along axis {axis}, of which each CTA of a cluster would have a part")
    yield from _same(op, value, blocks)


def _sliced(op: nv_tileaa.Extract | nv_tileaa.Insert, value: Value, blocks: Blocks) -> Iterator[Need]:
    """Parts along axes that the slice has whole."""
    whole, part = (op.source, op.res) if isinstance(op, nv_tileaa.Extract) else (op.dest, op.source)
    cut = [axis for axis, (n, m) in enumerate(zip(whole.type.shape, part.type.shape, strict=True)) if n != m]
    if any(basis[axis] for basis in blocks for axis in cut):
        raise Conflict(op, f"takes slices along axes {cut}, of which each CTA of a cluster would have a part")
    yield from _same(op, value, blocks)


def _product(op: nv_tileas.Dot, value: Value, blocks: Blocks) -> Iterator[Need]:
    """From the sums: rows of A where rows are split, columns of B where columns are; the other factor is shared."""
    yield from ((v, blocks) for v in (op.c, op.res) if v is not value)
    yield op.a, tuple((*basis[:-1], 0) for basis in blocks)
    yield op.b, tuple((*basis[:-2], 0, basis[-1]) for basis in blocks)
    if op.scales:
        yield op.scales[0], tuple((*basis[:-1], 0) for basis in blocks)
        yield op.scales[1], tuple((*basis[:-2], 0, basis[-1]) for basis in blocks)


def _whole(op: nv_tileas.ClusterReduceScatter, value: Value, blocks: Blocks) -> Iterator[Need]:
    """All CTAs have the whole tile that they add."""
    yield op.source, tuple((0,) * len(basis) for basis in blocks)


def _factor(op: nv_tileas.Dot, value: Value, blocks: Blocks) -> Iterator[Need]:
    """From a factor: its rows, or its columns, are those of the sums."""
    if value is op.c:
        yield from _product(op, value, blocks)
        return
    side = 0 if value is op.a else 1 if value is op.b else None
    if side is None:
        return
    along_k = -1 if side == 0 else -2
    if any(basis[along_k] for basis in blocks):
        raise Conflict(op, "adds along an axis of which each CTA of a cluster would have a part")
    yield op.res, blocks


def _flows_back(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    """What a loop carries, a branch gives, a region's argument is."""
    for target, found in flow_of(op):
        if target is value:
            yield from ((source, blocks) for source in found)


def _flows_on(op: Operation, value: Value, blocks: Blocks) -> Iterator[Need]:
    for target, found in flow_of(op):
        if value in found:
            yield target, blocks


def agree(op: Operation, have: Blocks, needed: Blocks) -> bool:
    """Whether an op can work with these parts of an operand where it needs others: a reduction with parts of lines."""
    if have == needed:
        return True
    if not isinstance(op, nv_tileaa.Reduce):
        return False
    axis = op.axis.value
    return all(
        (*a[:axis], *a[axis + 1 :]) == (*b[:axis], *b[axis + 1 :]) for a, b in zip(have, needed, strict=True)
    )


POINTERS = ("nv_tileaa.load", "nv_tileaa.store")
_PACKING = ("nv_tileaa.pack", "nv_tileaa.unpack")
_SLICES = ("nv_tileaa.extract", "nv_tileaa.insert")
_SCATTER = "nv_tileas.cluster_reduce_scatter"
_LOOPS = ("nv_tileaa.loop",)
_BRANCHES = ("scf.if", "nv_tileaa.if")


def _is_for(op: Operation) -> bool:
    return isinstance(op, scf.For)


ARMS = (
    # what makes tiles
    Arm("tiled load", BACKWARD, _is("nv_tileas.tiled_load"), _nothing),
    Arm("load through pointers", BACKWARD, _is(*POINTERS), _same),
    Arm("constant, iota, splat", BACKWARD, _is("arith.constant", "nv_tileaa.iota", "nv_tileaa.splat"), _made),
    # element by element
    Arm("elementwise", BACKWARD, is_elementwise, _same),
    Arm("elementwise", FORWARD, is_elementwise, _same),
    Arm("access through pointers", FORWARD, _is(*POINTERS), _same),
    Arm("tiled store", FORWARD, _is("nv_tileas.tiled_store"), _nothing),
    # shapes
    Arm("broadcast", BACKWARD, _is("nv_tileaa.broadcast"), _copied),
    Arm("broadcast", FORWARD, _is("nv_tileaa.broadcast"), _copies),
    Arm("permute", BACKWARD, _is("nv_tileaa.permute"), _copied),
    Arm("permute", FORWARD, _is("nv_tileaa.permute"), _copies),
    Arm("reshape", BACKWARD, _is("nv_tileaa.reshape"), _copied),
    Arm("reshape", FORWARD, _is("nv_tileaa.reshape"), _copies),
    Arm("bytes", BACKWARD, _is(*_PACKING), _copied),
    Arm("bytes", FORWARD, _is(*_PACKING), _copies),
    Arm("slice", BACKWARD, _is(*_SLICES), _sliced),
    Arm("slice", FORWARD, _is(*_SLICES), _sliced),
    Arm("cat", BACKWARD, _is("nv_tileaa.cat"), _joined),
    Arm("cat", FORWARD, _is("nv_tileaa.cat"), _joined),
    # along axes
    Arm("reduce", BACKWARD, _is("nv_tileaa.reduce"), _reduced),
    Arm("reduce", FORWARD, _is("nv_tileaa.reduce"), _reduces),
    Arm("scan", BACKWARD, _is("nv_tileaa.scan"), _scanned),
    Arm("scan", FORWARD, _is("nv_tileaa.scan"), _scanned),
    Arm("product", BACKWARD, _is("nv_tileas.dot"), _product),
    Arm("factor", FORWARD, _is("nv_tileas.dot"), _factor),
    Arm("sum over the cluster", BACKWARD, _is(_SCATTER), _whole),
    Arm("sum over the cluster", FORWARD, _is(_SCATTER), _nothing),
    # control flow
    Arm("counted loop", BACKWARD, _is_for, _flows_back),
    Arm("counted loop", FORWARD, _is_for, _flows_on),
    Arm("loop", BACKWARD, _is(*_LOOPS), _flows_back),
    Arm("loop", FORWARD, _is(*_LOOPS), _flows_on),
    Arm("branch", BACKWARD, _is(*_BRANCHES), _flows_back),
    Arm("branch", FORWARD, _is(*_BRANCHES), _flows_on),
)
"""Every arm, one a row."""


def arm_of(op: Operation, direction: str) -> Arm | None:
    """The arm of a direction that takes an op."""
    return next((arm for arm in ARMS if arm.direction == direction and arm.takes(op)), None)


def maker_of(value: Value) -> Operation | None:
    """The op that makes a value, or in whose region it is an argument."""
    if isinstance(value, OpResult):
        return value.op
    assert isinstance(value, BlockArgument)
    return value.block.parent_op
