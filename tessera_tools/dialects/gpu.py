"""The `gpu` dialect: kernels, their modules, the place of a thread in the grid, and launches.

Indices are `index` values; `upper_bound` promises that the value is below it.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.func import SIGNATURE_GRAMMAR, FunctionLike, read_signature
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i64,
    symbol_text,
)
from tessera_tools.ir.core import BlockArgument, Value
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import I1, I32, INDEX, MemRefType
from tessera_tools.opdef import (
    ANY_FLOAT,
    ANY_INTEGER,
    ANY_MEMREF,
    ANY_TYPE,
    ARRAY_ATTR,
    I32_ATTR,
    INDEX_ATTR,
    ISOLATED_FROM_ABOVE,
    NO_TERMINATOR,
    PURE,
    READ_WRITE,
    RETURN_LIKE,
    SINGLE_BLOCK,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_REF,
    SYMBOL_TABLE,
    TERMINATOR,
    UNIT_ATTR,
    AttrKind,
    CustomDirective,
    Dialect,
    EnumAttr,
    HasParent,
    Op,
    attribute,
    by_word,
    enum,
    exactly,
    of,
    operand,
    ops_of,
    optional_operand,
    optional_result,
    region,
    result,
    same_as,
    variadic_operand,
)


class _ShortEnum(EnumAttr):
    """The base of enumerations that stand whole inside the brackets: `#gpu<dim x>`."""

    def text(self) -> str:
        return f"#gpu<{self.name[4:]} {self.value}>"

    @classmethod
    def parse_inside(cls, scanner: Any) -> Any:
        """The case, behind `#gpu<dim`."""
        return cls(scanner.word())


class DimensionAttr(_ShortEnum, name="gpu.dim"):
    """`#gpu<dim x>`: a dimension of grid or block."""

    cases = ("x", "y", "z")


class AllReduceOperationAttr(_ShortEnum, name="gpu.all_reduce_op"):
    """`#gpu<all_reduce_op add>`: how a group's values are combined."""

    cases = (
        "add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf", "and", "or", "xor", "minimumf",
        "maximumf",
    )  # fmt: skip


class ShuffleModeAttr(_ShortEnum, name="gpu.shuffle_mode"):
    """`#gpu<shuffle_mode xor>`: how the source lane is found."""

    cases = ("xor", "down", "up", "idx")


def short(attribute: type[_ShortEnum]) -> AttrKind:
    """The kind of such an enumeration: upstream's formats write two spaces before its keyword."""
    kind = enum(attribute)
    kind.text = lambda a: f" {a.value}"
    return kind


class AddressSpaceAttr(EnumAttr, name="gpu.address_space"):
    """`#gpu.address_space<workgroup>`: the memory of a grid, a block, or a thread."""

    cases = ("global", "workgroup", "private")


class AsyncTokenType(Type, name="gpu.async.token"):
    """`!gpu.async.token`: that an asynchronous operation was issued."""

    def text(self) -> str:
        return "!gpu.async.token"

    @classmethod
    def parse(cls, scanner: Any) -> AsyncTokenType:
        """Nothing follows the word."""
        return cls()


class ModuleSyntax(CustomDirective, name="GpuModule"):
    """`@name <handler> [targets] attributes {…} {…}`"""

    grammar = 'custom: SYMBOL ["<" ATTRIBUTE ">"] custom_targets attr_dict_with_keyword region\n' + (
        'custom_targets: "[" ATTRIBUTE ("," ATTRIBUTE)* "]" -> present | -> absent\n'
    )

    def read(self, state: Any, node: Any) -> None:
        symbol, handler, (form, targets), attributes, body = node
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        if handler is not None:
            state.attribute("offloadingHandler", handler)
        if form == "present":
            state.attribute("targets", ArrayAttr(tuple(targets)))
        for key, value in attributes.items():
            state.attribute(key, value)
        state.region("body", body)

    def write(self, p: Any, op: Module) -> None:
        p.write(f" {symbol_text(op.sym_name.value)}")
        if op.offloading_handler is not None:
            p.write(f" <{op.offloading_handler}>")
        if op.targets is not None:
            p.write(f" {op.targets}")
        p.attr_dict(op, ("sym_name", "targets", "offloadingHandler"), keyword=True)
        p.write(" ")
        p.region(op.body)


_MODULE_TRAITS = (ISOLATED_FROM_ABOVE, SYMBOL_TABLE, SYMBOL, NO_TERMINATOR, SINGLE_BLOCK)


class Module(Op, name="gpu.module", traits=_MODULE_TRAITS):
    """The code for one device."""

    sym_name = attribute(SYMBOL_NAME)
    targets = attribute(ARRAY_ATTR, optional=True)
    offloading_handler = attribute(
        AttrKind("any attribute", lambda a: True), optional=True, key="offloadingHandler"
    )
    body = region()
    assembly = "custom<GpuModule>"

    def verify_op(self) -> None:
        if self.targets is not None and not len(self.targets):
            raise self.error("the targets array must not be empty")


class FuncSyntax(CustomDirective, name="GpuFunc"):
    """`@f(%a: f32) -> f32 workgroup(%w : memref<…>) private(%p : memref<…>) kernel attributes {…} {…}`"""

    grammar = (
        """custom: SYMBOL custom_arguments [custom_results] custom_workgroup custom_private custom_kernel attr_dict_with_keyword custom_body
custom_workgroup: "workgroup" arguments -> present | -> absent
custom_private: "private" arguments -> present | -> absent
custom_kernel: "kernel" -> present | -> absent
custom_body: region -> present | -> absent
"""
        + SIGNATURE_GRAMMAR
    )

    def read(self, state: Any, node: Any) -> None:
        symbol, arguments, results, workgroup, private, kernel, attributes, body = node
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        for key, value in attributes.items():
            state.attribute(key, value)
        named = read_signature(state, arguments, results)
        for key, (form, children) in (
            ("workgroup_attrib_attrs", workgroup),
            ("private_attrib_attrs", private),
        ):
            entries = children[0] if form == "present" else []
            named += [(entry[0], entry[1]) for entry in entries]
            if any(entry[2] for entry in entries):
                state.attribute(key, ArrayAttr(tuple(DictionaryAttr.of(entry[2] or {}) for entry in entries)))
            if key.startswith("workgroup"):
                state.attribute("workgroup_attributions", i64(len(entries)))
        if kernel[0] == "present":
            state.attribute("gpu.kernel", UNIT)
        form, children = body
        if form == "present":
            if arguments[0] == "typed":
                raise state.error(
                    symbol, "a function with a body needs a name for each argument, as in '%arg0: i32'"
                )
            state.region("body", children[0], named)

    def write(self, p: Any, op: Func) -> None:
        from tessera_tools.dialects.func import write_signature

        p.write(f" {symbol_text(op.sym_name.value)}")
        write_signature(p, op, op.arguments, op.signature.inputs)
        for word, values, attributes in (
            ("workgroup", op.workgroup_attributions, op.workgroup_attrib_attrs),
            ("private", op.private_attributions, op.private_attrib_attrs),
        ):
            if values:
                parts = []
                for i, value in enumerate(values):
                    entry = attributes.elements[i] if attributes is not None else None
                    suffix = f" {entry}" if entry is not None and entry.entries else ""
                    parts.append(f"{p.name(value)} : {p.type(value.type)}{suffix}")
                p.write(f" {word}({', '.join(parts)})")
        p.write(" kernel" if op.is_kernel else "")
        p.attr_dict(op, _FUNC_KEYS, keyword=True)
        if op.body.blocks:
            p.write(" ")
            p.region(op.body, arguments=False)


_FUNC_KEYS = (
    "sym_name", "function_type", "arg_attrs", "res_attrs", "workgroup_attributions", "workgroup_attrib_attrs",
    "private_attrib_attrs", "gpu.kernel",
)  # fmt: skip


class Func(FunctionLike, name="gpu.func", traits=(ISOLATED_FROM_ABOVE, SYMBOL, HasParent("gpu.module"))):
    """A function of a GPU module, a kernel where the attribute `gpu.kernel` stands.

    The entry block's arguments are the parameters, then a buffer for each workgroup and each private attribution.
    """

    workgroup_attrib_attrs = attribute(ARRAY_ATTR, optional=True)
    private_attrib_attrs = attribute(ARRAY_ATTR, optional=True)
    assembly = "custom<GpuFunc>"

    @property
    def is_kernel(self) -> bool:
        return "gpu.kernel" in self.attributes

    @property
    def workgroup_count(self) -> int:
        """The number of workgroup attributions."""
        found = self.attributes.get("workgroup_attributions")
        return found.value if isinstance(found, IntegerAttr) else 0

    @property
    def workgroup_attributions(self) -> list[BlockArgument]:
        """Buffers in the memory of the block."""
        start = len(self.signature.inputs)
        return self.body.entry.arguments[start : start + self.workgroup_count] if self.body.blocks else []

    @property
    def private_attributions(self) -> list[BlockArgument]:
        """Buffers in the memory of the thread."""
        start = len(self.signature.inputs) + self.workgroup_count
        return self.body.entry.arguments[start:] if self.body.blocks else []

    def verify_op(self) -> None:
        if self.is_kernel and self.signature.results:
            raise self.error("expected void return type for kernel function")
        super().verify_op()
        for argument in (*self.workgroup_attributions, *self.private_attributions):
            if not isinstance(argument.type, MemRefType):
                raise self.error(f"expected memref type in attribution, got '{argument.type}'")

    def verify_entry(self, count: int) -> None:
        """The entry block has an argument more for each attribution."""
        least = count + self.workgroup_count
        found = len(self.body.entry.arguments)
        if found < least:
            raise self.error(f"expected at least {least} arguments to body region")
        super().verify_entry(found)


# Upstream keeps the name of a gpu.func among the discardable attributes; the generic form shows it.
Func.inherent_attributes -= {"sym_name"}


class Return(Op, name="gpu.return", traits=(RETURN_LIKE, PURE, HasParent("gpu.func"))):
    """Ends a GPU function with its results."""

    operands_ = variadic_operand()
    assembly = "attr-dict ($operands^ `:` type($operands))?"

    def verify_op(self) -> None:
        function = self.parent_op
        if not isinstance(function, Func):
            return
        results, given = function.signature.results, self.operand_types
        if len(results) != len(given):
            raise self.error(f"expected {len(results)} result operands")
        for i, (found, expected) in enumerate(zip(given, results, strict=True)):
            if found is not expected:
                raise self.error(f"unexpected type `{found}' for operand #{i}")


class _IndexOp(Op, traits=(PURE,)):
    """The base of coordinates and extents along a dimension."""

    dimension = attribute(short(DimensionAttr))
    upper_bound = attribute(INDEX_ATTR, "the value is below it", optional=True)
    result = result(exactly(INDEX))
    assembly = "$dimension (`upper_bound` $upper_bound^)? attr-dict"


class ThreadId(_IndexOp, name="gpu.thread_id"):
    """The thread's coordinate in its block."""


class BlockId(_IndexOp, name="gpu.block_id"):
    """The block's coordinate in the grid."""


class BlockDim(_IndexOp, name="gpu.block_dim"):
    """The extent of a block, in threads."""


class GridDim(_IndexOp, name="gpu.grid_dim"):
    """The extent of the grid, in blocks."""


class GlobalId(_IndexOp, name="gpu.global_id"):
    """The thread's coordinate in the grid."""


class ClusterId(_IndexOp, name="gpu.cluster_id"):
    """The cluster's coordinate in the grid."""


class ClusterDim(_IndexOp, name="gpu.cluster_dim"):
    """The extent of the grid, in clusters."""


class ClusterBlockId(_IndexOp, name="gpu.cluster_block_id"):
    """The block's coordinate in its cluster."""


class ClusterDimBlocks(_IndexOp, name="gpu.cluster_dim_blocks"):
    """The extent of a cluster, in blocks."""


class LaneId(Op, name="gpu.lane_id", traits=(PURE,)):
    """The thread's number in its subgroup (warp)."""

    upper_bound = attribute(INDEX_ATTR, "the value is below it", optional=True)
    result = result(exactly(INDEX))
    assembly = "(`upper_bound` $upper_bound^)? attr-dict"


class _SubgroupIndex(Op, traits=(PURE,)):
    """The base of numbers about subgroups."""

    upper_bound = attribute(INDEX_ATTR, "the value is below it", optional=True)
    result = result(exactly(INDEX))
    assembly = "(`upper_bound` $upper_bound^)? attr-dict `:` type($result)"


class SubgroupId(_SubgroupIndex, name="gpu.subgroup_id"):
    """The subgroup's number in its block."""


class NumSubgroups(_SubgroupIndex, name="gpu.num_subgroups"):
    """The number of subgroups in a block."""


class SubgroupSize(_SubgroupIndex, name="gpu.subgroup_size"):
    """The number of threads in a subgroup."""


class Barrier(Op, name="gpu.barrier", traits=(READ_WRITE,)):
    """All threads of a block wait for each other; memory written before is seen after."""

    assembly = "attr-dict"


class Terminator(
    Op,
    name="gpu.terminator",
    traits=(TERMINATOR, PURE, HasParent("gpu.launch", "gpu.warp_execute_on_lane_0")),
):
    """Ends the region of `gpu.launch`."""

    assembly = "attr-dict"


class Yield(Op, name="gpu.yield", traits=(RETURN_LIKE, PURE)):
    """Ends a region with values."""

    values = variadic_operand()
    assembly = "attr-dict ($values^ `:` type($values))?"


class Shuffle(Op, name="gpu.shuffle", traits=(PURE,)):
    """A value from another lane of the subgroup, and whether that lane took part."""

    value = operand(ANY_TYPE)
    offset = operand(exactly(I32))
    width = operand(exactly(I32))
    mode = attribute(short(ShuffleModeAttr))
    shuffle_result = result(same_as("value"))
    valid = result(exactly(I1))
    assembly = "$mode $value `,` $offset `,` $width attr-dict `:` type($value)"


class _Reduction(Op):
    """The base of reductions over a group of threads."""

    def verify_kind(self, type: Type, kind: str) -> None:
        """Check that the operation suits the element type."""
        is_float = kind.endswith("f")
        element = getattr(type, "element", type)
        if is_float and not ANY_FLOAT.accepts(element):
            raise self.error(f"`{kind}` reduction operation is not compatible with type '{type}'")
        if kind not in ("add", "mul") and not is_float and not ANY_INTEGER.accepts(element):
            raise self.error(f"`{kind}` reduction operation is not compatible with type '{type}'")


class AllReduceSyntax(CustomDirective, name="AllReduceBody"):
    """The operation by name, the value, `uniform`, and the region of one's own."""

    grammar = """custom: custom_operation VALUE custom_uniform region attr_dict ":" FUNCTION_TYPE
custom_operation: KEYWORD -> present | -> absent
custom_uniform: "uniform" -> present | -> absent
"""

    def read(self, state: Any, node: Any) -> None:
        (form, names), value, uniform, body, attributes, function = node
        if form == "present":
            name = names[0]
            if name[0] not in AllReduceOperationAttr.cases:
                expected = ", ".join(AllReduceOperationAttr.cases)
                raise state.error(name, f"unknown operation '{name[0]}'; expected one of {expected}")
            state.attribute("op", AllReduceOperationAttr(name[0]))
        if uniform[0] == "present":
            state.attribute("uniform", UNIT)
        for key, entry in attributes.items():
            state.attribute(key, entry)
        state.operand("value", value)
        state.types("value", list(function.inputs))
        state.region("body", body)

    def write(self, p: Any, op: AllReduce) -> None:
        p.write(f"  {op.op.value}" if op.op is not None else " ")
        p.write(f" {p.name(op.value)}")
        p.write(" uniform " if op.uniform is not None else " ")
        p.region(op.body)
        p.attr_dict(op, ("op", "uniform"))
        p.write(f" : {p.function_type([op.value.type], [op.result.type])}")


class AllReduce(_Reduction, name="gpu.all_reduce", traits=(ISOLATED_FROM_ABOVE,)):
    """The values of all threads of a block combined, by a named operation or a region of two arguments."""

    value = operand(ANY_TYPE)
    op = attribute(short(AllReduceOperationAttr), optional=True)
    uniform = attribute(UNIT_ATTR, "all threads of the block arrive", optional=True)
    result = result(same_as("value"))
    body = region()
    assembly = "custom<AllReduceBody>"

    def verify_op(self) -> None:
        if (self.op is not None) == bool(self.body.blocks and self.body.entry.first_op is not None):
            raise self.error("expected either an op attribute or a non-empty body")
        if self.op is not None:
            self.verify_kind(self.value.type, self.op.value)


class SubgroupReduce(_Reduction, name="gpu.subgroup_reduce"):
    """The values of a subgroup's threads (or of clusters in it) combined."""

    value = operand(ANY_TYPE)
    op = attribute(short(AllReduceOperationAttr))
    uniform = attribute(UNIT_ATTR, "all threads of the subgroup arrive", optional=True)
    cluster_size = attribute(I32_ATTR, "lanes in a cluster", optional=True)
    cluster_stride = attribute(I32_ATTR, "lanes between two of a cluster", default=IntegerAttr(1, I32))
    result = result(same_as("value"))
    assembly = (
        "$op $value (`uniform` $uniform^)? "
        "(`cluster` `(` `size` `=` $cluster_size^ (`,` `stride` `=` $cluster_stride^)? `)`)? "
        "attr-dict `:` functional-type($value, $result)"
    )

    def verify_op(self) -> None:
        size = self.cluster_size
        if size is not None and (size.value <= 0 or size.value.bit_count() != 1):
            raise self.error(f"cluster size {size.value} is not a power of two")
        stride = self.cluster_stride.value
        if stride != 1 and size is None:
            raise self.error("cluster stride can only be specified if cluster size is specified")
        if stride <= 0 or stride.bit_count() != 1:
            raise self.error(f"cluster stride {stride} is not a power of two")
        self.verify_kind(self.value.type, self.op.value)


class Printf(Op, name="gpu.printf", traits=(READ_WRITE,)):
    """Prints from the device, by a format string as in C."""

    format = attribute(STRING_ATTR)
    args = variadic_operand(ANY_TYPE)
    assembly = "$format attr-dict (`,` $args^ `:` type($args))?"


class DynamicSharedMemory(Op, name="gpu.dynamic_shared_memory", traits=(PURE,)):
    """The shared memory whose size the launch gives."""

    result_memref = result(ANY_MEMREF)
    assembly = "attr-dict `:` type($result_memref)"


_TOKEN = of(AsyncTokenType, summary="async token type")
_LAUNCH_INT = of(
    type(INDEX), type(I32), summary="index or 32-bit signless integer or 64-bit signless integer"
)


class AsyncSyntax(CustomDirective, name="Async"):
    """`async [%t0, %t1]`: a token as result, and those to wait for."""

    grammar = """custom: custom_async custom_tokens
custom_async: "async" -> present | -> absent
custom_tokens: "[" values "]" -> present | "[" "]" -> present | -> absent
"""

    def read(self, state: Any, node: Any) -> None:
        asynchronous, (_, children) = node
        tokens = list(children[0]) if children else []
        state.operands("async_dependencies", tokens)
        state.types("async_dependencies", [AsyncTokenType()] * len(tokens))
        state.types("async_token", [AsyncTokenType()] if asynchronous[0] == "present" else [])

    def write(self, p: Any, op: Any) -> None:
        p.write(" async" if op.results else "" if isinstance(op, Wait) else "  ")
        if op.async_dependencies:
            p.write(f" [{p.names(op.async_dependencies)}]")


class Wait(Op, name="gpu.wait", traits=(READ_WRITE,)):
    """Waits for tokens, on the host, or gives one token for all."""

    async_dependencies = variadic_operand(_TOKEN)
    async_token = optional_result(_TOKEN)
    assembly = "custom<Async>($async_dependencies, type($async_token)) attr-dict"


class LaunchSyntax(CustomDirective, name="LaunchFunc"):
    """`clusters in (…) blocks in (…) threads in (…) : i64 dynamic_shared_memory_size %s args(%a : f32)`"""

    grammar = """custom: [custom_clusters] "blocks" "in" "(" values ")" "threads" "in" "(" values ")" [":" TYPE] [custom_shared] [custom_object] custom_args
custom_clusters: "clusters" "in" "(" values ")"
custom_shared: "dynamic_shared_memory_size" VALUE
custom_object: "<" VALUE ":" TYPE ">"
custom_args: "args" "(" custom_typed ("," custom_typed)* ")" -> present | -> absent
custom_typed: VALUE ":" TYPE
"""

    def read(self, state: Any, node: Any) -> None:
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

    def write(self, p: Any, op: LaunchFunc) -> None:
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

    def verify_op(self) -> None:
        if not self.kernel.nested:
            raise self.error(
                f"kernel '{self.kernel}' must name a module and a function, as in @module::@kernel"
            )
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


DIALECT = Dialect(
    "gpu",
    "kernels and launches",
    ops_of(globals()),
    types=by_word(AsyncTokenType),
    attributes=by_word(DimensionAttr, AllReduceOperationAttr, ShuffleModeAttr, AddressSpaceAttr),
)
