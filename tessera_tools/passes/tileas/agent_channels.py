"""Numbers that one agent sends to another: a buffer of single elements, with a pipeline of its own.

    send %v, channel = 0         ──▶  produce_one { acquire; write { store_element %v, %buffer }; commit }; inc_iter
    %w = receive channel = 0     ──▶  %w = consume_one { wait; read { load_element %buffer }; release }; inc_iter

The sender may be ahead of the receiver by the stages of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.dialects import arith, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import I32, bit_width
from tessera_tools.layout.shared import swizzled
from tessera_tools.passes.tileas.materialize_pipeline import with_carried, with_results

STAGES = 2
"""Numbers under way."""
_ITERATOR = nv_tileas.PipelineIterType(I32)


def resolve_channels(switch: nv_tileas.AgentSwitch) -> int:
    """Makes pipelines of the channels between the agents of an agent_switch; how many.  DiagnosticError where a channel
    has not one end in each of two agents."""
    ends: dict[int, tuple[list[nv_tileas.SendValue], list[nv_tileas.ReceiveValue]]] = {}
    for op in switch.walk():
        if isinstance(op, nv_tileas.SendValue | nv_tileas.ReceiveValue):
            sends, receives = ends.setdefault(op.channel.value, ([], []))
            if isinstance(op, nv_tileas.SendValue):
                sends.append(op)
            else:
                receives.append(op)
    for number, (sends, receives) in sorted(ends.items()):
        first = [*sends, *receives][0]
        if len(sends) != 1 or len(receives) != 1:
            raise first.error(
                f"is on channel {number} with {len(sends)} sends and {len(receives)} receives; expected one of each"
            )
        _resolve(switch, sends[0], receives[0])
    return len(ends)


def _resolve(
    switch: nv_tileas.AgentSwitch, send: nv_tileas.SendValue, receive: nv_tileas.ReceiveValue
) -> None:
    type = send.value.type
    if receive.res.type is not type:
        raise receive.error(f"receives {receive.res.type}, but {type} is sent")
    agents = [nv_tileas.agent_of(op) for op in (send, receive)]
    if agents[0] is agents[1]:
        raise receive.error("receives what its own agent sends; use the value")
    warps = switch.num_warps.values[next(i for i, r in enumerate(switch.regions) if r is agents[1])]
    before = Builder.before(switch)
    layout = SharedAttr(swizzled((1,), bit_width(type), None, 0))
    alloc = nv_tileas.AllocTensor(res=SmemType((STAGES, 1), type, layout), location=send.location)
    buffer = before.insert(alloc).res
    made = nv_tileas.CreatePipeline(
        i32(STAGES), i32(1), i32(warps), res=nv_tileas.PipelineTokenType(), location=send.location
    )
    pipeline = before.insert(made).res
    _write(send, _iterator(send, pipeline), pipeline, buffer)
    _read(receive, _iterator(receive, pipeline), pipeline, buffer)


def _iterator(op: Operation, pipeline: Value) -> Value:
    """The iterator at an op, which the loops and branches around it carry, and which is advanced behind it."""
    around: list[scf.For | scf.If] = []
    place: Operation = op
    while not isinstance(outer := place.parent_op, nv_tileas.AgentSwitch):
        if not isinstance(outer, scf.For | scf.If):
            name = outer.name if outer is not None else "no agent"
            raise op.error(f"stands in '{name}'; expected loops of scf.for and branches up to its agent")
        around.append(outer)
        place = outer
    assert place.parent is not None
    first = Builder.at_start(place.parent, op.location)
    iterator = first.insert(nv_tileas.CreateIterator(pipeline, res=_ITERATOR)).res
    carrying: list[tuple[scf.For | scf.If, Value]] = []
    for outer in reversed(around):
        if isinstance(outer, scf.For):
            outer = with_carried(outer, [iterator])
            iterator = outer.iter_args[-1]
        else:
            old, outer = outer, with_results(outer, [_ITERATOR])
            old.erase()
        carrying.append((outer, iterator))
    assert op.parent is not None
    advanced = nv_tileas.IncIter(iterator, location=op.location)
    op.parent.insert_after(op, advanced)
    following: Value = advanced.res
    for outer, before in reversed(carrying):
        for region in outer.regions:
            end = region.entry.last_op
            assert end is not None
            # In the other branch, nothing is sent.
            runs = region.is_ancestor_of(op.parent.parent)
            end.set_operands([*end.operands, following if runs else before])
        following = outer.results[-1]
    return iterator


def _write(send: nv_tileas.SendValue, iterator: Value, pipeline: Value, buffer: Value) -> None:
    def store(builder: Builder) -> None:
        stage, zero = stage_of(buffer, iterator, builder)
        builder.insert(nv_tileas.StoreElement(send.value, stage, zero, [zero], location=send.location))

    fill_one(pipeline, iterator, Builder.before(send), store, send.location)
    send.erase()


def _read(receive: nv_tileas.ReceiveValue, iterator: Value, pipeline: Value, buffer: Value) -> None:
    def load(builder: Builder) -> Value:
        stage, zero = stage_of(buffer, iterator, builder)
        loaded = nv_tileas.LoadElement(stage, zero, [zero], res=receive.res.type, location=receive.location)
        return builder.insert(loaded).res

    found = read_one(pipeline, iterator, Builder.before(receive), load, receive.location)
    found.name_hint = receive.res.name_hint
    receive.res.replace_all_uses_with(found)
    receive.erase()


def fill_one(
    pipeline: Value, iterator: Value, builder: Builder, write: Callable[[Builder], None], location: Location
) -> None:
    """Fill the stage of an iterator by what `write` inserts."""
    one = nv_tileas.ProduceOne.create([pipeline, iterator], [], {}, [Region([Block()])], location=location)
    builder.insert(one)
    inside = Builder.at_end(one.regions[0].entry, location)
    acquired = nv_tileas.ProducerAcquire(pipeline, iterator, res=nv_tileas.ProducerTokenType())
    token = inside.insert(acquired).res
    filled = nv_tileas.ProducerWrite.create(
        [token, iterator], [nv_tileas.ProducerTokenType()], {}, [Region([Block()])], location=location
    )
    inside.insert(filled)
    within = Builder.at_end(filled.regions[0].entry, location)
    write(within)
    within.insert(nv_tileas.Yield([]))
    inside.insert(nv_tileas.ProducerCommit(filled.results[0]))
    inside.insert(nv_tileas.Yield([]))


def read_one(
    pipeline: Value, iterator: Value, builder: Builder, read: Callable[[Builder], Value], location: Location
) -> Value:
    """What `read` gives for the stage of an iterator, which is released behind it."""
    region = Region([Block()])
    within = Builder.at_end(region.entry, location)
    value = read(within)
    within.insert(nv_tileas.Yield([value]))
    one = nv_tileas.ConsumeOne.create(
        [pipeline, iterator], [value.type], {"consumer_idx": i32(0)}, [Region([Block()])], location=location
    )
    builder.insert(one)
    inside = Builder.at_end(one.regions[0].entry, location)
    waited = nv_tileas.ConsumerWait(pipeline, iterator, i32(0), res=nv_tileas.ConsumerTokenType())
    token = inside.insert(waited).res
    found = nv_tileas.ConsumerRead.create(
        [token, iterator], [nv_tileas.ConsumerTokenType(), value.type], {}, [region], location=location
    )
    inside.insert(found)
    inside.insert(nv_tileas.ConsumerRelease(found.results[0]))
    inside.insert(nv_tileas.Yield([found.results[1]]))
    return one.results[0]


def stage_of(buffer: Value, iterator: Value, builder: Builder) -> tuple[Value, Value]:
    """The iterator's stage as a buffer of one, and 0."""
    old = buffer.type_as(SmemType)
    view = nv_tileas.View(buffer, iterator, res=SmemType((1, *old.tile), old.element, old.layout))
    zero = builder.insert(arith.Constant(i32(0))).results[0]
    return builder.insert(view).res, zero
