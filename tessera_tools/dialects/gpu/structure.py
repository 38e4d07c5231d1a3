"""Modules, functions and their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera_tools.dialects.func import SIGNATURE_GRAMMAR, FunctionLike, read_signature
from tessera_tools.dialects.gpu.attributes import AddressSpaceAttr
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    ArrayAttr,
    DenseArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    i64,
    symbol_text,
)
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.types import I32, MemRefType
from tessera_tools.opdef import (
    ARRAY_ATTR,
    ISOLATED_FROM_ABOVE,
    NO_TERMINATOR,
    PURE,
    RETURN_LIKE,
    SINGLE_BLOCK,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_TABLE,
    AttrKind,
    CustomDirective,
    HasParent,
    Op,
    OpRule,
    attribute,
    region,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class ModuleSyntax(CustomDirective, name="GpuModule"):
    """`@name <handler> [targets] attributes {…} {…}`"""

    grammar = 'custom: SYMBOL ["<" ATTRIBUTE ">"] custom_targets attr_dict_with_keyword region\n' + (
        'custom_targets: "[" ATTRIBUTE ("," ATTRIBUTE)* "]" -> present | -> absent\n'
    )

    def read(self, state: OpState, node: Node) -> None:
        symbol, handler, (form, targets), attributes, body = node
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        if handler is not None:
            state.attribute("offloadingHandler", handler)
        if form == "present":
            state.attribute("targets", ArrayAttr(tuple(targets)))
        for key, value in attributes.items():
            state.attribute(key, value)
        state.region("body", body)

    def write(self, p: Printer, op: Module) -> None:
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
        if self.targets is not None and (
            not len(self.targets)
            or any(
                target.name.startswith("builtin.") and not isinstance(target, OpaqueAttr)
                for target in self.targets
            )
        ):
            raise self.error(
                "attribute 'targets' failed to satisfy constraint: array of GPU target attributes with at least 1 "
                "elements"
            )
        for target in self.targets or ():
            verify: Any = getattr(target, "verify_target", None)
            if verify is not None:
                verify(self)


class FuncSyntax(CustomDirective, name="GpuFunc"):
    """`@f(%a: f32) -> f32 workgroup(%w : memref<…>) private(%p : memref<…>) kernel attributes {…} {…}`"""

    grammar = (
        "custom: SYMBOL custom_arguments [custom_results] custom_workgroup custom_private custom_kernel "
        """attr_dict_with_keyword custom_body
custom_workgroup: "workgroup" arguments -> present | -> absent
custom_private: "private" arguments -> present | -> absent
custom_kernel: "kernel" -> present | -> absent
custom_body: region -> present | -> absent
""" + SIGNATURE_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
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
                    None, "a function with a body needs a name for each argument, as in '%arg0: i32'"
                )
            state.region("body", children[0], named)

    def write(self, p: Printer, op: Func) -> None:
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
                    suffix = f" {entry}" if isinstance(entry, DictionaryAttr) and entry.entries else ""
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


_EXTENTS: AttrKind[DenseArrayAttr] = AttrKind(
    "i32 dense array attribute with 3 elements (if present)",
    lambda a: isinstance(a, DenseArrayAttr) and a.element is I32 and len(a) == 3,
)


def _extents(name: str) -> OpRule:
    """The rule of an attribute with the size of a kernel's blocks, grid or clusters, on any function."""

    def rule(op: Operation, value: Attribute) -> str | None:
        if not isinstance(value, DenseArrayAttr) or value.element is not I32:
            return f"'{op.name}' op {name} must be a dense i32 array"
        return None if len(value) == 3 else f"'{op.name}' op {name} must contain exactly 3 elements"

    return rule


OP_ATTRIBUTES: dict[str, OpRule] = {
    name: _extents(name) for name in ("gpu.known_block_size", "gpu.known_grid_size", "gpu.known_cluster_size")
}


class Func(FunctionLike, name="gpu.func", traits=(ISOLATED_FROM_ABOVE, SYMBOL, HasParent("gpu.module"))):
    """A function of a GPU module, a kernel if it has the attribute `gpu.kernel`.

    The entry block's arguments are the parameters, then a buffer for each workgroup and each private attribution.
    """

    workgroup_attrib_attrs = attribute(ARRAY_ATTR, optional=True)
    private_attrib_attrs = attribute(ARRAY_ATTR, optional=True)
    known_block_size = attribute(_EXTENTS, optional=True)
    known_grid_size = attribute(_EXTENTS, optional=True)
    known_cluster_size = attribute(_EXTENTS, optional=True)
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
        if not self.body.blocks:
            raise self.error("expected body with at least one block")
        verify_attributions(self, self.workgroup_attributions, self.private_attributions)

    def verify_entry(self, count: int) -> None:
        """The entry block has an argument more for each attribution."""
        least = count + self.workgroup_count
        found = len(self.body.entry.arguments)
        if found < least:
            raise self.error(f"expected at least {least} arguments to body region")
        super().verify_entry(found)


def verify_attributions(op: Op, workgroup: Sequence[Value], private: Sequence[Value]) -> None:
    """Check that attributions are buffers in the memory of their block or thread."""
    for space, argument in [
        *(("workgroup", one) for one in workgroup),
        *(("private", one) for one in private),
    ]:
        if not isinstance(argument.type, MemRefType):
            raise op.error(f"expected memref type in attribution, got '{argument.type}'")
        found = argument.type.memory_space
        if isinstance(found, AddressSpaceAttr) and found.value != space:
            raise op.error(f"expected memory space {space} in attribution")


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
            failure = self.error(f"expected {len(results)} result operands")
            failure.diagnostics[0].note("return type declared here", function.location)
            raise failure
        for i, (found, expected) in enumerate(zip(given, results, strict=True)):
            if found is not expected:
                failure = self.error(f"unexpected type `{found}' for operand #{i}")
                failure.diagnostics[0].note("return type declared here", function.location)
                raise failure
