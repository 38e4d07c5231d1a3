"""tile-collective-insertion: partitions a program on whole tensors into the program of one rank of a mesh.

    %A: memref<128x64xf16> {sharding = #tile.sharding<[{}, {x}]>}    ──▶  memref<128x16xf16>, if x has 4 ranks
    a product with partial sums on every rank                        ──▶  tile.allreduce, or tile.reduce_scatter
    a tensor that an op needs with another sharding                  ──▶  tile.allgather, tile.all_to_all, …

Types before the pass are those of whole tensors; after it, those of a rank's parts, and the function has
`tile.per_rank`. sharding_rules.py has the sharding rules of ops, analysis/sharding.py the conversions between
shardings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tessera_tools.analysis.sharding import Sharding, Step, cost, local_shape, steps
from tessera_tools.diagnostics import Refusal, error
from tessera_tools.dialects import arith, memref
from tessera_tools.dialects.func import Call, Func, Return
from tessera_tools.dialects.tile import collectives as exchange
from tessera_tools.dialects.tile.attention import FlashAttention
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.dialects.tile.mesh import (
    MESH,
    PER_RANK,
    SHARDING,
    WHOLE,
    MeshAttr,
    ShardingAttr,
    is_kernel,
)
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i64
from tessera_tools.ir.builtin_attributes import index as index_attribute
from tessera_tools.ir.core import Block, Builder, Operation, Value
from tessera_tools.ir.effects import EffectsOf, Kind
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import DYNAMIC, MemRefType, bit_width
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.passes.tile.attention_sharding import attention
from tessera_tools.passes.tile.host_values import as_values
from tessera_tools.passes.tile.ignored import IMPLEMENTATION
from tessera_tools.passes.tile.sharding_rules import Rule, contraction_of, cut_by, is_fresh, is_zero, rule_of
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.ir.location import Location

SUM = StringAttr("sum")


@dataclass(frozen=True)
class CollectiveInsertion(Pass):
    """Shard tensors, and insert the necessary exchanges between ranks."""

    name: ClassVar = "tile-collective-insertion"
    title: ClassVar = "CollectiveInsertion"
    summary: ClassVar = "shard tensors over a device mesh, and insert the collectives that this requires"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "types of whole tensors; shardings on arguments and results"
    ensures: ClassVar = "functions that run on one rank (tile.per_rank), if any tensor is sharded"
    statistics: ClassVar = {
        "allreduce": "tile.allreduce inserted",
        "allgather": "tile.allgather inserted",
        "reduce_scatter": "tile.reduce_scatter inserted",
        "all_to_all": "tile.all_to_all inserted",
        "all_slice": "tile.all_slice inserted",
    }

    mesh: str = option(
        "", "the mesh of a module without one, as in tensor_parallel=4 (default: one rank along each axis)"
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        functions = [f for f in op.regions[0].entry if isinstance(f, Func) and not is_kernel(f)]
        given = [f for f in functions if _is_cut(f) and PER_RANK not in f.attributes]
        if not given:
            return False
        mesh = self._mesh(op, given)
        op.attributes[MESH] = mesh
        Partition(mesh, context).run(functions, given)
        return True

    def _mesh(self, module: Operation, given: list[Func]) -> MeshAttr:
        """The module's mesh, the option's, or one rank along each axis that is named."""
        found = module.attributes.get(MESH)
        if found is not None:
            if not isinstance(found, MeshAttr):
                raise module.error(
                    f"has {MESH} = {found}; expected a mesh, as in #tile.mesh<tensor_parallel = 4>"
                )
            return found
        if self.mesh:
            try:
                pairs = [part.split("=") for part in self.mesh.replace(" ", "").split(",")]
                return MeshAttr(tuple(name for name, _ in pairs), tuple(int(extent) for _, extent in pairs))
            except ValueError:
                raise PassFailure(
                    f"option 'mesh' is '{self.mesh}'; expected axes and extents, as in tensor_parallel=4"
                ) from None
        names: dict[str, None] = {}
        for function in given:
            for spec in [*_specs(function, True), *_specs(function, False)]:
                if isinstance(spec, StringAttr):
                    names[spec.value] = None
                elif isinstance(spec, ShardingAttr):
                    names.update(dict.fromkeys(axis for axis in spec.axes if axis is not None))
        if not names:
            return MeshAttr(("ranks",), (1,))
        return MeshAttr(tuple(names), (1,) * len(names))


def _specs(function: Func, arguments: bool) -> list[Attribute | None]:
    """The declared sharding of each argument, or of each result."""
    if arguments:
        return [function.argument_attributes(i).get(SHARDING) for i in range(len(function.signature.inputs))]
    return [function.result_attributes(i).get(SHARDING) for i in range(len(function.signature.results))]


def _is_cut(function: Func) -> bool:
    return any(spec is not None for spec in [*_specs(function, True), *_specs(function, False)])


class Partition:
    """The partitioning of one module's functions."""

    def __init__(self, mesh: MeshAttr, context: PassContext) -> None:
        self.mesh = mesh
        self.extents: Mapping[str, int] = dict(zip(mesh.names, mesh.extents, strict=True))
        self.context = context
        self.states: dict[Value, Sharding] = {}
        """The sharding of each tensor; others are replicated."""
        self.shapes: dict[Value, tuple[int, ...]] = {}
        """The extents of each whole tensor."""
        self.bare: set[Value] = set()
        """Arguments that declare only the axis of the contraction, as in the listing."""
        self.made: dict[tuple[Value, Sharding, Block | None], Value] = {}
        """The results of earlier exchanges, valid while the tensor is not written."""
        self.results: dict[Func, list[Sharding]] = {}
        """Results of the partitioned functions."""
        self.within: list[Func] = []
        self.effects = EffectsOf()

    def run(self, functions: list[Func], given: list[Func]) -> None:
        """Partition the given functions, and their callers."""
        calls = {
            function: [
                callee
                for op in function.walk()
                if isinstance(op, Call) and isinstance(callee := lookup_symbol(op, op.callee), Func)
            ]
            for function in functions
        }
        chosen = dict.fromkeys(given)
        while more := [f for f in functions if f not in chosen and any(c in chosen for c in calls[f])]:
            chosen.update(dict.fromkeys(more))
        called = {callee for function in chosen for callee in calls[function]}
        for function in [*(f for f in chosen if f not in called), *chosen]:
            if function not in self.results:
                self.function(function, None)

    # -- functions

    def function(self, function: Func, given: Sequence[Sharding] | None) -> list[Sharding]:
        """Partition a function; the call gives the sharding of arguments without a declaration."""
        if PER_RANK in function.attributes:
            raise function.error("is called with whole tensors, but is written for one rank (tile.per_rank)")
        self.within.append(function)
        as_values(function)
        types = function.signature.inputs
        cut: list[Sharding] = []
        for number, spec in enumerate(_specs(function, True)):
            type, argument = types[number], function.arguments[number] if function.arguments else None
            location = argument.location if argument is not None else function.location
            declared = self.declared_sharding(
                spec, type, f"argument {number} of @{function.sym_name.value}", location, argument
            )
            if declared is None:
                declared = given[number] if given is not None else Sharding.whole(_rank(type))
            cut.append(declared)
            if argument is not None and isinstance(type, MemRefType):
                self.shapes[argument] = type.shape
                self.states[argument] = declared
        inputs = [
            self.local(function, type, state, f"argument {number} of @{function.sym_name.value}")
            for number, (type, state) in enumerate(zip(types, cut, strict=True))
        ]
        for argument, type in zip(function.arguments, inputs, strict=False):
            argument.type = type
        wanted = [
            self.declared_sharding(
                spec, type, f"result {number} of @{function.sym_name.value}", function.location, None
            )
            for number, (spec, type) in enumerate(
                zip(_specs(function, False), function.signature.results, strict=True)
            )
        ]
        if given is None or function.is_declaration:
            wanted = [
                state or Sharding.whole(_rank(type))
                for state, type in zip(wanted, function.signature.results, strict=True)
            ]
        outputs = list(function.signature.results)
        self.results[function] = [state or Sharding.whole(0) for state in wanted]
        if function.body.blocks:
            if len(function.body.blocks) > 1:
                raise function.error(
                    "has unstructured control flow; only scf loops and branches are supported"
                )
            self.wanted = wanted
            self.block(function.body.entry)
            last = function.body.entry.terminator
            assert last is not None
            self.results[function] = [self.state(value) for value in last.operands]
            outputs = [value.type for value in last.operands]
        else:
            outputs = [
                self.local(function, type, state or Sharding.whole(_rank(type)), "a result")
                for type, state in zip(outputs, wanted, strict=True)
            ]
        function.set_signature(inputs, outputs)
        function.arg_attrs = _attributes(function.argument_attributes, cut)
        function.res_attrs = _attributes(function.result_attributes, self.results[function])
        function.attributes[PER_RANK] = UNIT
        self.within.pop()
        return self.results[function]

    def declared_sharding(
        self, spec: Attribute | None, type: Type, what: str, location: Location, argument: Value | None
    ) -> Sharding | None:
        """The declared sharding of a tensor; None if there is none."""
        if spec is None:
            return None
        if not isinstance(type, MemRefType):
            raise error(location, f"{what} has a sharding, but is not a tensor: {type}")
        if isinstance(spec, StringAttr):
            self.axis(spec.value, what, location)
            dim = contraction_of(argument) if argument is not None else None
            if dim is None or argument is None:
                raise error(
                    location,
                    f'{what} has sharding = "{spec.value}", which means the contracted dimension of a product, '
                    "but there is no such product",
                    "specify the dimension, as in sharding = #tile.sharding<[{}, {tensor_parallel}]>",
                )
            self.bare.add(argument)
            return Sharding.whole(type.rank).cut(dim, spec.value)
        if not isinstance(spec, ShardingAttr):
            raise error(
                location, f"{what} has sharding = {spec}; expected an axis's name or a #tile.sharding<…>"
            )
        if len(spec.axes) != type.rank:
            raise error(
                location, f"{what} has a sharding of {len(spec.axes)} dimensions, but {type} has {type.rank}"
            )
        for axis in spec.axes:
            if axis is not None:
                self.axis(axis, what, location)
        return Sharding(spec.axes)

    def axis(self, name: str, what: str, location: Location) -> None:
        if name not in self.extents:
            raise error(
                location,
                f"{what} is sharded along the unknown mesh axis '{name}'; the mesh has {self.mesh.described()}",
            )

    def local(self, op: Operation, type: Type, state: Sharding, what: str) -> Type:
        """The type of a rank's part; raises an error at the op if an extent is not divisible."""
        if not isinstance(type, MemRefType) or not any(state.axes):
            return type
        if type.layout is not None:
            raise op.error(f"has {what} of type {type}; only contiguous tensors can be sharded")
        for dim, axis in enumerate(state.axes):
            if axis is not None and type.shape[dim] == DYNAMIC:
                raise op.error(
                    f"has {what} of type {type}; sharded dimension {dim} must have a static extent"
                )
        try:
            shape = local_shape(type.shape, state, self.extents)
        except Refusal as problem:
            raise op.error(f"has {what} of type {type}: {problem}") from None
        return MemRefType(shape, type.element, None, type.memory_space)

    # -- tensors

    def state(self, value: Value) -> Sharding:
        """The sharding of a tensor."""
        return self.states.get(value) or Sharding.whole(_rank(value.type))

    def shape(self, value: Value) -> tuple[int, ...]:
        """The extents of the whole tensor."""
        found = self.shapes.get(value)
        return found if found is not None else value.type.shape  # type: ignore[attr-defined]

    def bytes(self, value: Value) -> int:
        """The size of the whole tensor; dynamic extents count as 1."""
        total = bit_width(value.type.element) // 8 or 1  # type: ignore[attr-defined]
        for extent in self.shape(value):
            total *= extent if extent != DYNAMIC else 1
        return total

    def give(self, op: Operation, value: Value, state: Sharding, what: str) -> None:
        """Set the sharding of an op's result."""
        if isinstance(value.type, MemRefType):
            self.shapes[value] = value.type.shape
            self.states[value] = state
            value.type = self.local(op, value.type, state, what)

    def need(self, op: Operation, number: int, target: Sharding) -> None:
        """Convert operand `number` of an op to a sharding, by exchanges before the op if necessary."""
        value = op.operand(number)
        if self.state(value) == target:
            return
        if self.state(value).is_whole and is_fresh(value):
            maker = value.defining_op
            assert maker is not None
            self.give(maker, value, target, "a buffer")
            return
        found = self.nearest(op, value, target)
        for step in steps(self.state(found), target):
            found = self.exchange(op, found, step)
            self.made[value, step.after, op.parent] = found
        op.set_operand(number, found)

    def nearest(self, op: Operation, value: Value, target: Sharding) -> Value:
        """The best source for a sharding: the tensor, or an earlier exchange of it, with the fewest bytes to transfer.
        An exchange before a loop is not used in its body, which may modify the tensor."""
        around = [op.parent]
        outer = op.parent_op
        while outer is not None and not isinstance(outer, LoopLike):
            around.append(outer.parent)
            outer = outer.parent_op
        made = [v for (source, _, block), v in self.made.items() if source is value and block in around]
        return min(
            [*made, value],
            key=lambda v: (
                self.state(v) != target,
                cost(self.state(v), target, self.bytes(value), self.extents),
            ),
        )

    def exchange(self, op: Operation, value: Value, step: Step, combine: StringAttr = SUM) -> Value:
        """Insert one exchange before an op; returns its result."""
        whole = value.type_as(MemRefType)
        shape = self.shape(value)
        whole = MemRefType(shape, whole.element, whole.layout, whole.memory_space)
        type = self.local(op, whole, step.after, "an operand")
        if not any(step.after.axes):
            type = MemRefType(shape, whole.element, None, whole.memory_space)
        axis = StringAttr(step.axis)
        common: dict[str, Any] = {"mesh_axis": axis, "res": type}
        if step.kind != "all_slice":
            common["implementation"] = IMPLEMENTATION
        made: Any
        match step.kind:
            case "all_reduce":
                made = exchange.AllReduce(value, reduction_kind=combine, **common)
            case "reduce_scatter":
                made = exchange.ReduceScatter(value, dim=i64(step.split or 0), reduction_kind=SUM, **common)
            case "all_gather":
                made = exchange.AllGather(value, dim=i64(step.gather or 0), **common)
            case "all_to_all":
                made = exchange.AllToAll(
                    value, split_dim=i64(step.split or 0), gather_dim=i64(step.gather or 0), **common
                )
            case _:
                made = exchange.AllSlice(value, dim=i64(step.split or 0), **common)
        self.context.count(made.name.removeprefix("tile."))
        Builder.before(op).insert(made)
        self.shapes[made.res] = shape
        self.states[made.res] = step.after
        return made.res

    # -- operations

    def block(self, block: Block) -> None:
        for op in list(block):
            self.op(op)

    def op(self, op: Operation) -> None:
        rule = rule_of(op)
        tensors = [n for n, value in enumerate(op.operands) if isinstance(value.type, MemRefType)]
        if isinstance(op, Return):
            self.leave(op, tensors)
        elif isinstance(op, Call):
            self.call(op, tensors)
        elif isinstance(op, exchange.Collective):
            raise op.error(
                "is in a program on whole tensors, where collectives are inserted automatically",
                "mark the function with tile.per_rank if it is written for one rank",
            )
        elif isinstance(op, FlashAttention):
            attention(self, op)
        elif rule is not None:
            self.together(op, rule)
        elif isinstance(op, memref.Dim):
            self.extent(op)
        else:
            self.other(op, tensors)

    def leave(self, op: Return, tensors: list[int]) -> None:
        for number in tensors:
            wanted = self.wanted[number]
            if wanted is None:
                wanted = Sharding(self.state(op.operand(number)).axes)
            self.need(op, number, wanted)

    def call(self, op: Call, tensors: list[int]) -> None:
        callee = lookup_symbol(op, op.callee)
        states = [self.state(value) for value in op.operands]
        if not isinstance(callee, Func):
            return
        if callee not in self.results and is_kernel(callee):
            raise op.error(f"calls the kernel @{op.callee.root}; launch it with tile.launch")
        if callee not in self.results:
            if not _is_cut(callee) and all(state.is_whole for state in states):
                return
            kept, memo = self.wanted, self.made
            self.made = {}
            self.function(callee, [Sharding(state.axes) for state in states])
            self.wanted, self.made = kept, memo
        elif callee in self.within:
            raise op.error("calls itself; recursion is not supported")
        for number in tensors:
            spec = callee.argument_attributes(number).get(SHARDING)
            axes = spec.axes if isinstance(spec, ShardingAttr) else (None,) * _rank(op.operand(number).type)
            self.need(op, number, Sharding(axes))
        for value, state in zip(op.results, self.results[callee], strict=True):
            self.give(op, value, state, "a result")
        self.made.clear()  # the function may write it

    def extent(self, op: memref.Dim) -> None:
        """The extent of a whole tensor: the extent of a rank's part, times the number of ranks."""
        value, place = op.operand(0), op.operand(1).defining_op
        state = self.state(value)
        if not any(state.axes):
            return
        attribute = place.attributes.get("value") if isinstance(place, arith.Constant) else None
        if not isinstance(attribute, IntegerAttr):
            raise op.error("queries an extent of a sharded tensor; expected a constant dimension")
        axis = state.axes[attribute.value] if 0 <= attribute.value < len(state.axes) else None
        if axis is None:
            return
        builder = Builder.after(op)
        ranks = builder.insert(arith.Constant(index_attribute(self.extents[axis]))).result
        whole = builder.insert(arith.MulI(op.results[0], ranks))
        op.results[0].replace_all_uses_with(whole.results[0], lambda use: use.owner is whole)

    def other(self, op: Operation, tensors: list[int]) -> None:
        """An unknown op: its tensors must be replicated, unless it modifies a tensor without other uses."""
        effects = self.effects(op)
        writes = effects is None or Kind.WRITE in effects
        states = {self.state(op.operand(n)) for n in tensors}
        if writes and any(not state.is_whole for state in states):
            fills = op.name == "tile.fill" and not next(iter(states)).partial
            if not fills:
                raise op.error(
                    "modifies a sharded tensor; only products, launches, calls and elementwise ops are supported"
                )
        elif not writes or not op.regions:
            for number in tensors:
                self.need(op, number, Sharding.whole(_rank(op.operand(number).type)))
        for region in op.regions:
            for block in region.blocks:
                self.block(block)
        if writes:
            self.made.clear()

    # -- ops that can be sharded

    def together(self, op: Operation, rule: Rule) -> None:
        """Shard an op along its named dimensions: each along at most one axis, and each axis for one name."""
        if isinstance(op, Product) and (
            op.res.type.shape != self._product_shape(op)
            and any(not self.state(v).is_whole for v in op.operands)
        ):
            raise op.error("returns a fragment; only products that return a whole tile can be sharded")
        chosen = self.choose(op, rule)
        for name in sorted(rule.summed & set(chosen)):
            if not self.keeps(op, rule, chosen, name):
                del chosen[name]
        for number, names in enumerate(rule.operands):
            self.need(op, number, cut_by(names, chosen))
        summands = frozenset(chosen[name] for name in rule.summed if name in chosen)
        for value, names in zip(op.results, rule.results, strict=True):
            self.give(op, value, Sharding(cut_by(names, chosen).axes, summands), "a result")

    def _product_shape(self, op: Product) -> tuple[int, ...]:
        a, b = self.shape(op.lhs), self.shape(op.rhs)
        return (a[1 if op.transposes_a else 0], b[0 if op.transposes_b else 1])

    def choose(self, op: Operation, rule: Rule) -> dict[str, str]:
        """The axis of each name: the one that shards most bytes of the operands already."""
        votes: dict[tuple[str, str], int] = {}
        for value, names in zip(op.operands, rule.operands, strict=True):
            for name, axis in zip(names, self.state(value).axes, strict=True):
                if axis is not None and name != WHOLE:
                    votes[name, axis] = votes.get((name, axis), 0) + self.bytes(value)
        chosen: dict[str, str] = {}
        for name, axis in sorted(votes, key=lambda vote: -votes[vote]):
            if name not in chosen and axis not in chosen.values():
                chosen[name] = axis
        return chosen

    def keeps(self, op: Operation, rule: Rule, chosen: dict[str, str], name: str) -> bool:
        """Chooses by received bytes: true to sum over a sharded dimension and exchange partial sums, false to gather it
        first."""
        if rule.addend is not None and not is_zero(rule.addend):
            return False
        axis = chosen[name]
        having = [
            (value, names) for value, names in zip(op.operands, rule.operands, strict=True) if name in names
        ]
        cut = [value for value, names in having if self.state(value).axes[names.index(name)] == axis]
        if len(cut) == len(having):
            return True
        if isinstance(op, Product) and any(value in self.bare for value in cut):
            return (
                op.lhs in cut
            )  # as in the listing: if A is sharded, reduce the product; if B is sharded, gather B
        without = {n: a for n, a in chosen.items() if n != name}
        reduced = sum(
            self.reduction(value, names, chosen, axis)
            for value, names in zip(op.results, rule.results, strict=True)
        )
        return reduced + self.exchanged(having, chosen) <= self.exchanged(having, without)

    def exchanged(self, having: list[tuple[Value, tuple[str, ...]]], chosen: dict[str, str]) -> float:
        """Bytes that a rank receives to convert the operands to the chosen shardings."""
        return sum(
            cost(self.state(value), cut_by(names, chosen), self.bytes(value), self.extents)
            for value, names in having
        )

    def reduction(self, value: Value, names: tuple[str, ...], chosen: dict[str, str], axis: str) -> float:
        """Bytes that a rank receives to reduce a result's partial sums to the sharding that its only user needs."""
        before = Sharding(cut_by(names, chosen).axes, frozenset((axis,)))
        wanted = Sharding(before.axes)
        uses = list(value.uses)
        if len(uses) == 1 and isinstance(uses[0].owner, Return):
            wanted = self.wanted[uses[0].index] or wanted
        return cost(before, wanted, self.bytes(value), self.extents)


def _rank(type: Type) -> int:
    return type.rank if isinstance(type, MemRefType) else 0


def _attributes(entry: Any, states: Sequence[Sharding]) -> ArrayAttr | None:
    """Attributes of arguments or results, with their shardings."""
    entries: list[dict[str, Attribute]] = []
    for number, state in enumerate(states):
        found = {key: value for key, value in entry(number).items() if key != SHARDING}
        if any(state.axes):
            found[SHARDING] = ShardingAttr(state.axes)
        entries.append(found)
    return ArrayAttr(tuple(map(DictionaryAttr.of, entries))) if any(entries) else None


__all__ = ["CollectiveInsertion", "Partition"]
