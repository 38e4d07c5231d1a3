"""The host functions of a `tile` module, as plans in the launch manifest.

    func.func @main(…) of tile.launch, tile.allreduce, …  ──take_plans()──▶  Plan("main", …)

The functions are removed from the module. Sharded tensors require --tile-collective-insertion first.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.arith import Constant
from tessera_tools.dialects.func import Call, Func, Return
from tessera_tools.dialects.tile import collectives as exchange
from tessera_tools.dialects.tile.base import SHARED, space_of
from tessera_tools.dialects.tile.memory import AllocRegister, Fill
from tessera_tools.dialects.tile.mesh import SHARDING, ShardingAttr, is_kernel, mesh_of
from tessera_tools.emit.host_kernels import launch_ops
from tessera_tools.emit.plan import Exchange, Launch, Plan, Tensor
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import MemRefType
from tessera_tools.passes.tile.host_values import CHANGES
from tessera_tools.passes.tile.ignored import remark_ignored

__all__ = ["has_host", "host_functions", "take_plans"]

_TYPES = ("f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "i8", "i16", "i32", "i64")
_KINDS = {
    "tile.allreduce": "all_reduce",
    "tile.allgather": "all_gather",
    "tile.reduce_scatter": "reduce_scatter",
    "tile.all_to_all": "all_to_all",
    "tile.all_slice": "all_slice",
}


def has_host(module: Operation) -> bool:
    """True if the module has host functions."""
    return any(exchange.is_host(op) for op in module.regions[0].entry if isinstance(op, Func))


def host_functions(module: Operation) -> list[Func]:
    """The functions that launch kernels, exchange tensors or compute on whole tensors, directly or by calls, and
    their callees."""
    functions = [op for op in module.regions[0].entry if isinstance(op, Func) and not is_kernel(op)]
    found = {f: exchange.is_host(f) for f in functions}
    changed = True
    while changed:
        changed = False
        for function in functions:
            for callee in _called(function):
                if isinstance(callee, Func) and callee in found and found[function] != found[callee]:
                    found[function] = found[callee] = changed = True
    return [function for function in functions if found[function]]


def _called(function: Func) -> list[Operation | None]:
    return [lookup_symbol(op, op.callee) for op in function.walk() if isinstance(op, Call)]


def take_plans(module: Operation) -> tuple[Plan, ...]:
    """The plans of a module's host functions (those without callers). The functions are removed from the module.

    Raises DiagnosticError for an op that a plan cannot represent.
    """
    hosts = host_functions(module)
    called = {callee for function in hosts for callee in _called(function)}
    launch_ops(module, hosts)
    plans = tuple(_Reader(function).plan() for function in hosts if function not in called)
    if hosts and not plans:
        raise hosts[0].error("calls itself; recursion is not supported in host functions")
    for function in hosts:
        function.erase()
    return plans


class _Reader:
    """Converts one host function to a plan; its callees become part of it."""

    def __init__(self, function: Func) -> None:
        self.function = function
        self.tensors: list[Tensor] = []
        self.places: dict[Value, int] = {}
        self.steps: list[Launch | Exchange] = []
        self.within: list[Func] = []

    def plan(self) -> Plan:
        function = self.function
        cut = [function.argument_attributes(i).get(SHARDING) for i in range(len(function.arguments))]
        arguments = tuple(
            self.tensor(function, value, value.name_hint or f"arg{number}", spec)
            for number, (value, spec) in enumerate(zip(function.arguments, cut, strict=True))
        )
        returned = self.body(function)
        results: list[int] = []
        for number, value in enumerate(returned):
            place = self.places[value]
            spec = function.result_attributes(number).get(SHARDING)
            described = self.described(function, value, f"result{number}", spec)
            if place not in arguments and place not in results:
                self.tensors[place] = described
            elif self.tensors[place].cut != described.cut:
                raise function.error(
                    f"returns the same tensor twice with different shardings (result {number})"
                )
            results.append(place)
        mesh = mesh_of(function)
        axes = tuple(zip(mesh.names, mesh.extents, strict=True)) if mesh is not None else (("ranks", 1),)
        return Plan(
            function.sym_name.value, axes, tuple(self.tensors), arguments, tuple(results), tuple(self.steps)
        )

    def body(self, function: Func) -> list[Value]:
        """Append the steps of a function; return the values that it returns."""
        if function in self.within:
            raise function.error("calls itself; recursion is not supported in host functions")
        if function.is_declaration:
            raise function.error("is called by a host function, but has no body")
        if len(function.body.blocks) != 1:
            raise function.error("contains control flow; host functions must be straight-line code")
        self.within.append(function)
        for op in function.body.entry:
            if isinstance(op, Return):
                self.within.pop()
                for value in op.operands:
                    self.place(op, value)
                return op.operands
            self.step(op)
        raise function.error("does not return")

    def step(self, op: Operation) -> None:
        if isinstance(op, exchange.Launch):
            operands = tuple(self.place(op, value) for value in op.operands)
            results = tuple(self.tensor(op, value, value.name_hint or "") for value in op.results)
            self.steps.append(Launch(op.callee.root, op.blocks(), operands, results))
        elif isinstance(op, exchange.Collective):
            self.exchange(op)
        elif isinstance(op, Call):
            callee = lookup_symbol(op, op.callee)
            if not isinstance(callee, Func) or is_kernel(callee):
                raise op.error(
                    f"calls @{op.callee.root}, which is not a host function; launch kernels with tile.launch"
                )
            for argument, value in zip(callee.arguments, op.operands, strict=False):
                self.places[argument] = self.place(op, value)
            for result, value in zip(op.results, self.body(callee), strict=True):
                self.places[result] = self.places[value]
        elif isinstance(op, CHANGES):
            raise op.error("modifies an argument in a host function; return a new tensor instead")
        elif not isinstance(
            op, AllocRegister | Fill | Constant
        ):  # created by the lowering of products and fills
            raise op.error(
                "is not supported in a host function; launches, products, elementwise ops, reductions of rows, "
                "attention, collectives and calls are supported"
            )

    def exchange(self, op: Any) -> None:
        kind = _KINDS[op.name]
        remark_ignored(op, "host-plan")
        if mesh_of(op) is None:
            raise op.error("is a collective, but the module has no tile.mesh")
        split = gather = None
        if kind == "all_to_all":
            split, gather = op.split_dim.value, op.gather_dim.value
        elif kind == "all_gather":
            gather = op.dim.value
        elif kind != "all_reduce":
            split = op.dim.value
        combine = op.attributes.get("reduction_kind")
        self.steps.append(
            Exchange(
                kind,
                op.mesh_axis.value,
                self.place(op, op.source),
                self.tensor(op, op.res, op.res.name_hint or ""),
                split,
                gather,
                combine.value if combine is not None else None,
            )
        )

    def place(self, op: Operation, value: Value) -> int:
        found = self.places.get(value)
        if found is None:
            raise op.error(f"uses a value of type {value.type}, which is not defined by an earlier step")
        return found

    def tensor(self, op: Operation, value: Value, name: str, spec: Attribute | None = None) -> int:
        """Add a tensor; return its number."""
        number = len(self.tensors)
        self.tensors.append(self.described(op, value, name or f"t{number}", spec))
        self.places[value] = number
        return number

    def described(self, op: Operation, value: Value, name: str, spec: Attribute | None) -> Tensor:
        type = value.type
        if (
            not isinstance(type, MemRefType)
            or space_of(type) == SHARED
            or not type.is_static
            or type.layout is not None
        ):
            raise op.error(
                f"has a value of type {type}; host functions take contiguous tensors in global memory with "
                "static extents"
            )
        if str(type.element) not in _TYPES:
            raise op.error(f"has a tensor of {type.element}; supported: {', '.join(_TYPES)}")
        axes = spec.axes if isinstance(spec, ShardingAttr) else (None,) * type.rank
        if spec is not None and (not isinstance(spec, ShardingAttr) or len(axes) != type.rank):
            raise op.error(
                f"has sharding = {spec} for {type}; expected #tile.sharding of {type.rank} dimensions"
            )
        mesh = mesh_of(op)
        for axis in axes:
            if axis is not None and (mesh is None or mesh.extent(axis) is None):
                there = mesh.described() if mesh is not None else "none"
                raise op.error(
                    f"has a tensor that is sharded along the unknown mesh axis '{axis}'; the mesh has {there}"
                )
        return Tensor(name, str(type.element), type.shape, axes)
