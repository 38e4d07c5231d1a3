"""Launches and asynchronous tokens, on the host's side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera_tools.dialects.gpu.attributes import AsyncTokenType
from tessera_tools.dialects.gpu.structure import Func, Module, verify_attributions
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, SymbolRefAttr, i64
from tessera_tools.ir.core import BlockArgument, Value
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import I32, INDEX
from tessera_tools.opdef import (
    READ_WRITE,
    SYMBOL_REF,
    CustomDirective,
    Op,
    attribute,
    exactly,
    of,
    operand,
    optional_operand,
    optional_result,
    region,
    same_as,
    variadic_operand,
)
from tessera_tools.opdef.directive import Token

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

_TOKEN = of(AsyncTokenType, summary="async token type")
_LAUNCH_INT = of(
    type(INDEX), type(I32), summary="index or 32-bit signless integer or 64-bit signless integer"
)


_WITHOUT_TOKEN = {
    "gpu.wait": "",
    "gpu.launch": "",
    "gpu.alloc": " ",
    "gpu.create_2to4_spmat": " ",
    "gpu.spgemm_work_estimation_or_compute": " ",
}
"""What upstream's formats write without a token, which differs from op to op: two spaces by default."""


class AsyncSyntax(CustomDirective, name="Async"):
    """`async [%t0, %t1]`: a token as result, and those to wait for."""

    grammar = """custom: custom_async custom_tokens
custom_async: "async" -> present | -> absent
custom_tokens: "[" values "]" -> present | "[" "]" -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        asynchronous, (_, children) = node
        tokens = list(children[0]) if children else []
        state.operands("async_dependencies", tokens)
        state.types("async_dependencies", [AsyncTokenType()] * len(tokens))
        state.types("async_token", [AsyncTokenType()] if asynchronous[0] == "present" else [])

    def write(self, p: Printer, op: Any) -> None:
        without = _WITHOUT_TOKEN.get(op.name, "  ")
        p.write(without if op.async_token is None else " async")
        if op.async_dependencies:
            p.write(f" [{p.names(op.async_dependencies)}]")


class Wait(Op, name="gpu.wait", traits=(READ_WRITE,)):
    """Waits for tokens on the host, or returns one token for all."""

    async_dependencies = variadic_operand(_TOKEN)
    async_token = optional_result(_TOKEN)
    assembly = "custom<Async>($async_dependencies, type($async_token)) attr-dict"


class LaunchSyntax(CustomDirective, name="LaunchFunc"):
    """`clusters in (…) blocks in (…) threads in (…) : i64 dynamic_shared_memory_size %s args(%a : f32)`"""

    grammar = (
        'custom: [custom_clusters] "blocks" "in" "(" values ")" "threads" "in" "(" values ")" '
        '[":" TYPE] [custom_shared] [custom_object] custom_args\n'
        """custom_clusters: "clusters" "in" "(" values ")"
custom_shared: "dynamic_shared_memory_size" VALUE
custom_object: "<" VALUE ":" TYPE ">"
custom_args: "args" "(" custom_typed ("," custom_typed)* ")" -> present | -> absent
custom_typed: VALUE ":" TYPE
"""
    )

    def read(self, state: OpState, node: Node) -> None:
        clusters, blocks, threads, type, shared, async_object, (_, arguments) = node
        kind = type or INDEX
        groups = [("grid_size", blocks), ("block_size", threads)]
        if clusters is not None:
            groups.append(("cluster_size", clusters[0]))
        for prefix, tokens in groups:
            if len(tokens) != 3:
                raise state.error(tokens[0], f"expected three numbers, for x, y and z, found {len(tokens)}")
            for letter, token in zip("xyz", tokens, strict=True):
                state.operand(f"{prefix}_{letter}", token)
                state.types(f"{prefix}_{letter}", [kind])
        if shared is not None:
            state.operand("dynamic_shared_memory_size", shared[0])
            state.types("dynamic_shared_memory_size", [I32])
        if async_object is not None:
            state.operand("async_object", async_object[0])
            state.types("async_object", [async_object[1]])
        state.operands("kernel_operands", [token for token, _ in arguments])
        state.types("kernel_operands", [t for _, t in arguments])

    def write(self, p: Printer, op: LaunchFunc) -> None:
        if op.cluster_size_x is not None:
            p.write(f" clusters in ({p.names(op.cluster_size)})")
        p.write(f" blocks in ({p.names(op.grid_size)}) threads in ({p.names(op.block_size)}) ")
        if op.grid_size_x.type is not INDEX:
            p.write(f": {p.type(op.grid_size_x.type)} ")
        if op.dynamic_shared_memory_size is not None:
            p.write(f" dynamic_shared_memory_size {p.name(op.dynamic_shared_memory_size)}")
        if op.async_object is not None:
            p.write(f" <{p.name(op.async_object)} : {p.type(op.async_object.type)}>")
        if op.kernel_operands:
            p.write(" args(" + ", ".join(f"{p.name(v)} : {p.type(v.type)}" for v in op.kernel_operands) + ")")


class LaunchFunc(Op, name="gpu.launch_func", traits=(READ_WRITE,)):
    """Launches a kernel of a GPU module on a grid of blocks of threads."""

    async_dependencies = variadic_operand(_TOKEN)
    grid_size_x = operand(_LAUNCH_INT)
    grid_size_y = operand(same_as("grid_size_x"))
    grid_size_z = operand(same_as("grid_size_x"))
    block_size_x = operand(same_as("grid_size_x"))
    block_size_y = operand(same_as("grid_size_x"))
    block_size_z = operand(same_as("grid_size_x"))
    cluster_size_x = optional_operand(same_as("grid_size_x"))
    cluster_size_y = optional_operand(same_as("grid_size_x"))
    cluster_size_z = optional_operand(same_as("grid_size_x"))
    dynamic_shared_memory_size = optional_operand(exactly(I32))
    kernel_operands = variadic_operand()
    async_object = optional_operand()
    kernel = attribute(SYMBOL_REF)
    async_token = optional_result(_TOKEN)
    assembly = (
        "custom<Async>($async_dependencies, type($async_token)) $kernel "
        "custom<LaunchFunc>($grid_size_x, $grid_size_y, $grid_size_z, $block_size_x, $block_size_y, $block_size_z, "
        "$cluster_size_x, $cluster_size_y, $cluster_size_z, $dynamic_shared_memory_size, $kernel_operands, "
        "$async_object) attr-dict"
    )

    @property
    def callee(self) -> SymbolRefAttr:
        """The kernel's name."""
        return self.kernel

    @property
    def call_operands(self) -> list[Value]:
        """The values that become the kernel's arguments, in order."""
        return self.kernel_operands

    @property
    def grid_size(self) -> list[Value]:
        """The extent of the grid in blocks: x, y, z."""
        return [self.grid_size_x, self.grid_size_y, self.grid_size_z]

    @property
    def block_size(self) -> list[Value]:
        """The extent of a block in threads: x, y, z."""
        return [self.block_size_x, self.block_size_y, self.block_size_z]

    @property
    def cluster_size(self) -> list[Value]:
        """The extent of a cluster in blocks, or nothing."""
        found = [self.cluster_size_x, self.cluster_size_y, self.cluster_size_z]
        return [value for value in found if value is not None]

    def _verify_container(self) -> None:
        """Check that the enclosing module is marked as a container, and that the kernel exists."""
        module = self.parent_op
        while module is not None and module.name != "builtin.module":
            module = module.parent_op
        if module is None:
            return
        if "gpu.container_module" not in module.attributes:
            raise self.error(
                "expected the closest surrounding module to have the 'gpu.container_module' attribute"
            )
        container = lookup_symbol(self, self.kernel.root)
        if container is None:
            raise self.error(f"kernel container '{self.kernel.root}' is undefined")
        if container.name == "builtin.module":
            raise self.error(f"kernel module '{self.kernel.root}' is undefined")
        if not isinstance(container, Module):
            # A binary holds its kernels in another form; other containers are unknown here.
            return
        function = lookup_symbol(self, self.kernel)
        if function is None:
            raise self.error(f"kernel function '{self.kernel}' is undefined")
        if "function_type" not in function.attributes:
            failure = self.error(f"referenced kernel '{self.kernel}' is not a function")
            failure.diagnostics[0].note("see the kernel definition here", function.location)
            raise failure

    def verify_op(self) -> None:
        if len(self.cluster_size) not in (0, 3):
            raise self.error("cluster size must be all present")
        if not self.kernel.nested:
            raise self.error(
                f"kernel '{self.kernel}' must name a module and a function, as in @module::@kernel"
            )
        self._verify_container()
        found = lookup_symbol(self, self.kernel)
        if not isinstance(found, Func):
            return
        if not found.is_kernel:
            raise self.error("kernel function is missing the 'gpu.kernel' attribute")
        expected = list(found.signature.inputs)
        if len(expected) != len(self.kernel_operands):
            raise self.error(f"got {len(self.kernel_operands)} kernel operands but expected {len(expected)}")
        for i, (value, type) in enumerate(zip(self.kernel_operands, expected, strict=True)):
            if value.type is not type:
                raise self.error(f"type of function argument {i} does not match")


class LaunchRegionSyntax(CustomDirective, name="Launch"):
    """`clusters(%x, %y, %z) in (%sx = %a, …) blocks(…) in (…) threads(…) in (…) … {…}`"""

    grammar = (
        'custom: [custom_clusters] "blocks" custom_group "threads" custom_group [custom_shared] [custom_module] '
        "[custom_function] custom_workgroup custom_private region attr_dict\n"
        """custom_clusters: "clusters" custom_group
custom_group: "(" values ")" "in" assignments
custom_shared: "dynamic_shared_memory_size" VALUE
custom_module: "module" "(" SYMBOL ")"
custom_function: "function" "(" SYMBOL ")"
custom_workgroup: "workgroup" arguments -> present | -> absent
custom_private: "private" arguments -> present | -> absent
"""
    )

    def read(self, state: OpState, node: Node) -> None:
        clusters, blocks, threads, shared, module, function, workgroup, private, body, attributes = node
        groups = [("grid_size", blocks), ("block_size", threads)]
        if clusters is not None:
            groups.append(("cluster_size", clusters[0]))
        places: list[tuple[Token, Type | None]] = []
        extents: list[tuple[Token, Type | None]] = []
        cluster: list[tuple[Token, Type | None]] = []
        for prefix, (names, sizes) in groups:
            if len(names) != 3 or len(sizes) != 3:
                raise state.error(
                    names[0],
                    f"expected three names and sizes, for x, y and z, found {len(names)} and {len(sizes)}",
                )
            for letter, (_, token) in zip("xyz", sizes, strict=True):
                state.operand(f"{prefix}_{letter}", token)
                state.types(f"{prefix}_{letter}", [INDEX])
            first, second = (cluster, cluster) if prefix == "cluster_size" else (places, extents)
            first += [(name, INDEX) for name in names]
            second += [(name, INDEX) for name, _ in sizes]
        if shared is not None:
            state.operand("dynamic_shared_memory_size", shared[0])
            state.types("dynamic_shared_memory_size", [I32])
        for key, given in (("module", module), ("function", function)):
            if given is not None:
                state.attribute(key, SymbolRefAttr(given[0][0][0]))
        buffers: list[tuple[Token, Type | None]] = []
        for form, children in (workgroup, private):
            buffers += [(entry[0], entry[1]) for entry in (children[0] if form == "present" else [])]
        count = len(workgroup[1][0]) if workgroup[0] == "present" else 0
        for key, value in attributes.items():
            state.attribute(key, value)
        state.attribute("workgroup_attributions", i64(count))
        state.region("body", body, [*places, *extents, *cluster, *buffers])

    def write(self, p: Printer, op: Launch) -> None:
        arguments = op.body.entry.arguments
        if op.cluster_size:
            self.group(p, "clusters", arguments[12:15], arguments[15:18], op.cluster_size)
        self.group(p, "blocks", arguments[:3], arguments[6:9], op.grid_size)
        self.group(p, "threads", arguments[3:6], arguments[9:12], op.block_size)
        if op.dynamic_shared_memory_size is not None:
            p.write(f" dynamic_shared_memory_size {p.name(op.dynamic_shared_memory_size)}")
        for word, symbol in (("module", op.module), ("function", op.function)):
            if symbol is not None:
                p.write(f" {word}({symbol})")
        for word, values in (("workgroup", op.workgroup_attributions), ("private", op.private_attributions)):
            if values:
                p.write(f" {word}({', '.join(f'{p.name(v)} : {p.type(v.type)}' for v in values)})")
        p.write(" ")
        p.region(op.body, arguments=False)
        p.attr_dict(op, ("workgroup_attributions", "operandSegmentSizes", "module", "function"))

    def group(
        self, p: Printer, word: str, names: Sequence[Value], extents: Sequence[Value], sizes: Sequence[Value]
    ) -> None:
        given = ", ".join(f"{p.name(a)} = {p.name(b)}" for a, b in zip(extents, sizes, strict=True))
        p.write(f" {word}({p.names(names)}) in ({given})")


class Launch(Op, name="gpu.launch", traits=(READ_WRITE,)):
    """Runs its region on a grid of blocks of threads.

    The region's arguments are the block's place in the grid, the thread's place in the block, the extents of both,
    the cluster's place and extents if there are clusters, and a buffer for each attribution.
    """

    async_dependencies = variadic_operand(_TOKEN)
    grid_size_x = operand(exactly(INDEX))
    grid_size_y = operand(exactly(INDEX))
    grid_size_z = operand(exactly(INDEX))
    block_size_x = operand(exactly(INDEX))
    block_size_y = operand(exactly(INDEX))
    block_size_z = operand(exactly(INDEX))
    cluster_size_x = optional_operand(exactly(INDEX))
    cluster_size_y = optional_operand(exactly(INDEX))
    cluster_size_z = optional_operand(exactly(INDEX))
    dynamic_shared_memory_size = optional_operand(exactly(I32))
    module = attribute(SYMBOL_REF, optional=True)
    function = attribute(SYMBOL_REF, optional=True)
    async_token = optional_result(_TOKEN)
    body = region()
    assembly = (
        "custom<Async>($async_dependencies, type($async_token)) "
        "custom<Launch>($grid_size_x, $grid_size_y, $grid_size_z, $block_size_x, $block_size_y, $block_size_z, "
        "$cluster_size_x, $cluster_size_y, $cluster_size_z, $dynamic_shared_memory_size, $module, $function, $body)"
    )

    grid_size = LaunchFunc.grid_size
    block_size = LaunchFunc.block_size
    cluster_size = LaunchFunc.cluster_size

    @property
    def _first_buffer(self) -> int:
        """The number of arguments before the attributions."""
        return 18 if self.cluster_size else 12

    @property
    def workgroup_attributions(self) -> list[BlockArgument]:
        """Buffers in the memory of the block."""
        found = self.attributes.get("workgroup_attributions")
        count = found.value if isinstance(found, IntegerAttr) else 0
        return self.body.entry.arguments[self._first_buffer : self._first_buffer + count]

    @property
    def private_attributions(self) -> list[BlockArgument]:
        """Buffers in the memory of the thread."""
        return self.body.entry.arguments[self._first_buffer + len(self.workgroup_attributions) :]

    def verify_op(self) -> None:
        if len(self.cluster_size) not in (0, 3):
            raise self.error("cluster size must be all present")
        if not self.body.blocks:
            raise self.error("expected body with at least one block")
        if len(self.body.entry.arguments) < self._first_buffer:
            raise self.error("unexpected number of region arguments")
        verify_attributions(self, self.workgroup_attributions, self.private_attributions)

    def verify_regions(self) -> None:
        for block in self.body.blocks:
            last = block.last_op
            if last is None or (
                not last.successors and last.name not in ("gpu.terminator", "ub.unreachable")
            ):
                failure = (last or self).error(
                    "expected 'gpu.terminator' or a terminator with successors", named=False
                )
                failure.diagnostics[0].note("in 'gpu.launch' body region", self.location)
                raise failure
