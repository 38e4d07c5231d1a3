"""Transfers from and to memory, and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.dialects.memref.layouts import strided
from tessera_tools.dialects.memref.lists import ALIGNMENT
from tessera_tools.dialects.vector.attributes import SHAPED, PunctuationAttr, dims_of, vector_of
from tessera_tools.ir.affine import AffineMap, dim
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    AffineMapAttr,
    ArrayAttr,
)
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    I1,
    INDEX,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    RankedTensorType,
    ShapedType,
    UnrankedTensorType,
    VectorType,
)
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_MEMREF,
    ANY_RANKED_TENSOR,
    ANY_TYPE,
    ANY_VECTOR,
    ARRAY_ATTR,
    BOOL_ATTR,
    I64_ARRAY,
    PURE,
    READ,
    WRITE,
    AttrKind,
    CustomDirective,
    MemoryEffects,
    Op,
    Reach,
    TypeConstraint,
    attribute,
    enum,
    operand,
    optional_operand,
    optional_result,
    read,
    result,
    same_as,
    variadic_operand,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

# -- memory


class _Memory(Op):
    """The base of accesses at indices into a buffer."""

    def verify_op(self) -> None:
        base = self.base.type  # type: ignore[attr-defined]
        count = len(self.indices)  # type: ignore[attr-defined]
        if count != len(base.shape):
            raise self.error(f"requires {len(base.shape)} indices")


def _verify_rows(op: Op, buffer: MemRefType, vector: VectorType) -> None:
    """Check that the last dimension is contiguous; a single element may be anywhere."""
    if not any(vector.scalable) and vector.num_elements == 1:
        return
    layout = strided(buffer)
    if buffer.shape and (layout is None or layout.strides[-1] != 1):
        raise op.error("most minor memref dim must have unit stride")


def _verify_elements(op: Op, buffer: MemRefType, vector: VectorType, noun: str) -> None:
    """Check that elements of the buffer are those of the vector, or are such vectors."""
    element = buffer.element
    if isinstance(element, VectorType):
        if element is not vector:
            raise op.error(f"base memref and {noun} vector types should match")
    elif element is not vector.element:
        plural = "types" if noun == "result" else "type"
        raise op.error(f"base and {noun} element {plural} should match")


class Load(_Memory, name="vector.load", traits=(MemoryEffects(read("base", reach=Reach.BY_THREAD)),)):
    """A vector of consecutive elements of a buffer."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result = result(ANY_VECTOR)
    assembly = "$base `[` $indices `]` attr-dict `:` type($base) `,` type($result)"

    def verify_op(self) -> None:
        base, vector = self.base.type, self.result.type
        _verify_rows(self, base, vector)
        if len(base.shape) < len(vector.shape):
            raise self.error("destination memref has lower rank than the result vector")
        _verify_elements(self, base, vector, "result")
        super().verify_op()


class Store(_Memory, name="vector.store", traits=(MemoryEffects(write("base", reach=Reach.BY_THREAD)),)):
    """Writes a vector to consecutive elements of a buffer."""

    value_to_store = operand(ANY_VECTOR)
    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    assembly = (
        "$value_to_store `,` $base `[` $indices `]` attr-dict `:` type($base) `,` type($value_to_store)"
    )

    def verify_op(self) -> None:
        base, vector = self.base.type, self.value_to_store.type
        _verify_rows(self, base, vector)
        if len(base.shape) < len(vector.shape):
            raise self.error("source memref has lower rank than the vector to store")
        _verify_elements(self, base, vector, "valueToStore")
        super().verify_op()


class MaskedLoad(
    _Memory, name="vector.maskedload", traits=(MemoryEffects(read("base", reach=Reach.BY_THREAD)),)
):
    """Consecutive elements if a mask is set, otherwise those of another vector."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    mask = operand(ANY_VECTOR)
    pass_thru = operand(ANY_VECTOR)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result = result(ANY_VECTOR)
    assembly = (
        "$base `[` $indices `]` `,` $mask `,` $pass_thru attr-dict "
        "`:` type($base) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )

    def verify_op(self) -> None:
        vector = self.result.type
        if vector.element is not self.base.type.element:
            raise self.error("base and result element type should match")
        super().verify_op()
        if vector.shape != self.mask.type.shape:
            raise self.error("expected result shape to match mask shape")
        if vector is not self.pass_thru.type:
            raise self.error("expected pass_thru of same type as result type")


class MaskedStore(
    _Memory, name="vector.maskedstore", traits=(MemoryEffects(write("base", reach=Reach.BY_THREAD)),)
):
    """Writes the elements for which a mask is set."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    mask = operand(ANY_VECTOR)
    value_to_store = operand(ANY_VECTOR)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    assembly = (
        "$base `[` $indices `]` `,` $mask `,` $value_to_store attr-dict "
        "`:` type($base) `,` type($mask) `,` type($value_to_store)"
    )

    def verify_op(self) -> None:
        vector = self.value_to_store.type
        if vector.element is not self.base.type.element:
            raise self.error("base and valueToStore element type should match")
        super().verify_op()
        if vector.shape != self.mask.type.shape:
            raise self.error("expected valueToStore shape to match mask shape")


_FIXED_MASK: TypeConstraint[VectorType] = TypeConstraint(
    "fixed-length vector of 1-bit signless integer values",
    lambda t: isinstance(t, VectorType) and t.element is I1 and not any(t.scalable),
)


def _verify_packed(op: ExpandLoad | CompressStore, vector: VectorType, noun: str) -> None:
    if op.base.type.element is not vector.element:
        raise op.error(f"base and {noun} element type should match")
    if op.mask.type.shape != vector.shape:
        raise op.error(f"expected {noun} dim to match mask dim")


class ExpandLoad(
    _Memory, name="vector.expandload", traits=(MemoryEffects(read("base", reach=Reach.BY_THREAD)),)
):
    """The next element of a buffer for each set element of a mask, otherwise that of another vector."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    mask = operand(_FIXED_MASK)
    pass_thru = operand(ANY_VECTOR)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result = result(ANY_VECTOR)
    assembly = (
        "$base `[` $indices `]` `,` $mask `,` $pass_thru attr-dict "
        "`:` type($base) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )

    def verify_op(self) -> None:
        _verify_packed(self, self.result.type, "result")
        super().verify_op()
        if self.pass_thru.type is not self.result.type:
            raise self.error("expected pass_thru of same type as result type")


class CompressStore(
    _Memory, name="vector.compressstore", traits=(MemoryEffects(write("base", reach=Reach.BY_THREAD)),)
):
    """Writes the elements for which a mask is set one after the other."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    mask = operand(_FIXED_MASK)
    value_to_store = operand(ANY_VECTOR)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    assembly = (
        "$base `[` $indices `]` `,` $mask `,` $value_to_store attr-dict "
        "`:` type($base) `,` type($mask) `,` type($value_to_store)"
    )

    def verify_op(self) -> None:
        _verify_packed(self, self.value_to_store.type, "valueToStore")
        super().verify_op()


class Gather(Op, name="vector.gather", traits=(READ,)):
    """Elements at the offsets of an index vector if a mask is set, otherwise those of another vector."""

    base = operand(SHAPED)
    offsets = variadic_operand(ANY_INDEX)
    indices = operand(ANY_VECTOR)
    mask = operand(ANY_VECTOR)
    pass_thru = operand(ANY_VECTOR)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result = result(same_as("pass_thru"))
    assembly = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict "
        "`:` type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )

    def verify_op(self) -> None:
        _verify_scattered(self, self.result.type)


class Scatter(Op, name="vector.scatter", traits=(WRITE,)):
    """Writes the elements for which a mask is set to the offsets of an index vector; returns the updated tensor."""

    base = operand(SHAPED)
    offsets = variadic_operand(ANY_INDEX)
    indices = operand(ANY_VECTOR)
    mask = operand(ANY_VECTOR)
    value_to_store = operand(ANY_VECTOR)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result_ = optional_result(ANY_RANKED_TENSOR)
    assembly = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $value_to_store attr-dict "
        "`:` type($base) `,` type($indices) `,` type($mask) `,` type($value_to_store) (`->` type($result)^)?"
    )

    def verify_op(self) -> None:
        kind = self.base.type
        if self.result_types != ([kind] if isinstance(kind, RankedTensorType) else []):
            raise self.error("expected one result of the type of 'base' for a tensor, and none for a memref")
        _verify_scattered(self, self.value_to_store.type)


def _verify_scattered(op: Gather | Scatter, vector: VectorType) -> None:
    """Check the offsets of a gather or scatter, and that its vectors have one shape."""
    base = op.base.type
    if vector.element is not base.element:
        what = "valueToStore" if isinstance(op, Scatter) else "result"
        raise op.error(f"base and {what} element type should match")
    if len(op.offsets) != len(base.shape):
        raise op.error(f"requires {len(base.shape)} indices")
    noun = "valueToStore" if isinstance(op, Scatter) else "result"
    if dims_of(op.indices.type) != dims_of(vector):
        raise op.error(f"expected {noun} dim to match indices dim")
    if dims_of(op.mask.type) != dims_of(vector):
        raise op.error(f"expected {noun} dim to match mask dim")


def _transferred(shaped: ShapedType, vector: VectorType) -> int:
    """The number of dimensions of a transfer: those of the vector, without those of elements that are vectors."""
    return vector.rank - (shaped.element.rank if isinstance(shaped.element, ShapedType) else 0)


def minor_identity(shaped: ShapedType, vector: VectorType) -> AffineMapAttr:
    """The default map of a transfer: the vector is along the last dimensions."""
    rank, count = len(shaped.shape), _transferred(shaped, vector)
    return AffineMapAttr(AffineMap(rank, 0, tuple(dim(rank - count + i) for i in range(count))))


def _transfer_defaults(state: OpState, shaped: Type, vector: Type) -> None:
    """Set `permutation_map` and `in_bounds` to their defaults if the text has none."""
    if isinstance(vector, VectorType) and isinstance(shaped, ShapedType):
        if len(shaped.shape) >= _transferred(shaped, vector):
            state.attributes.setdefault("permutation_map", minor_identity(shaped, vector))
        state.attributes.setdefault("in_bounds", ArrayAttr((FALSE,) * _transferred(shaped, vector)))


def _transfer_elide(op: TransferRead | TransferWrite) -> tuple[str, ...]:
    hidden = ["operandSegmentSizes"]
    if op.permutation_map is minor_identity(op.base.type, op.vector.type):
        hidden.append("permutation_map")
    if all(flag is FALSE for flag in op.in_bounds):
        hidden.append("in_bounds")
    return tuple(hidden)


def _verify_transfer(op: TransferRead | TransferWrite) -> None:
    shaped, vector, entry = op.base.type, op.vector.type, op.permutation_map
    if len(op.indices) != len(shaped.shape):
        raise op.error(f"requires {len(shaped.shape)} indices")
    if not isinstance(entry, AffineMapAttr) or entry.map.num_symbols:
        raise op.error("requires permutation_map without symbols")
    if entry.map.num_dims != len(shaped.shape):
        raise op.error("requires a permutation_map with input dims of the same rank as the source type")
    _verify_minor(op, shaped.element, vector)
    if len(entry.map.results) != _transferred(shaped, vector):
        raise op.error("requires a permutation_map with result dims of the same rank as the vector type")
    if len(op.in_bounds) != len(entry.map.results):
        raise op.error(
            f"expects the in_bounds attr of same rank as permutation_map results: {entry} vs inBounds of size: "
            f"{len(op.in_bounds)}"
        )
    if op.mask is not None:
        if isinstance(shaped.element, VectorType):
            raise op.error("does not support masks with vector element type")
        expected = transfer_mask(entry, vector)
        if op.mask.type is not expected:
            raise op.error(
                f"inferred mask type ('{expected}') and mask operand type ('{op.mask.type}') don't match"
            )
    seen: set[int] = set()
    for part in entry.map.results:
        if part.kind != "dim" and not (part.kind == "constant" and not part.value):
            raise op.error(
                "requires a projected permutation_map (at most one dim or the zero constant can appear in each result)"
            )
        if part.kind == "dim":
            if part.value in seen:
                raise op.error(
                    "requires a permutation_map that is a permutation (found one dim used more than once)"
                )
            seen.add(part.value)


def _verify_minor(op: Op, element: Type, vector: VectorType) -> None:
    """Check that the last dimension of the vector is whole elements of the source."""
    inner = element if isinstance(element, VectorType) else None
    source = _bits(inner.element if inner is not None else element)
    found = _bits(vector.element)
    if source is None or found is None:
        return
    found *= vector.shape[-1] if vector.shape else 1
    if inner is not None and inner.shape:
        source *= inner.shape[-1]
    if found % source:
        what = "minor 1-D vector of the source" if inner is not None else "source element type"
        raise op.error(
            f"requires the bitwidth of the minor 1-D vector to be an integral multiple of the bitwidth of the {what}"
        )


def _bits(type: Type) -> int | None:
    """The bits of a number; None for other types, and for i0."""
    if isinstance(type, IndexType):
        return 64
    return (type.width or None) if isinstance(type, IntegerType | FloatType) else None


_MAP: AttrKind[AffineMapAttr] = AttrKind("AffineMap attribute", lambda a: isinstance(a, AffineMapAttr))


class ReadSyntax(CustomDirective, name="TransferRead"):
    """`%m[%i], %pad, %mask {…} : memref<…>, vector<…>`"""

    grammar = """custom: VALUE "[" value_list "]" "," VALUE custom_mask attr_dict ":" TYPE "," TYPE
custom_mask: "," VALUE -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        base, indices, padding, (form, mask), attributes, shaped, vector = node
        for key, value in attributes.items():
            state.attribute(key, value)
        _transfer_defaults(state, shaped, vector)
        state.operand("base", base)
        state.types("base", [shaped])
        state.operands("indices", indices)
        state.types("indices", [INDEX] * len(indices))
        state.operand("padding", padding)
        state.types("vector", [vector])
        if form == "present":
            state.operand("mask", mask[0])
            state.types("mask", [transfer_mask(state.attributes.get("permutation_map"), vector)])

    def write(self, p: Printer, op: TransferRead) -> None:
        mask = f", {p.name(op.mask)}" if op.mask is not None else ""
        p.write(f" {p.name(op.base)}[{p.names(op.indices)}], {p.name(op.padding)}{mask}")
        p.attr_dict(op, _transfer_elide(op))
        p.write(f" : {p.type(op.base.type)}, {p.type(op.vector.type)}")


def transfer_mask(entry: Attribute | None, vector: VectorType) -> Type:
    """The mask of a transfer by a permutation map: i1 for each element that is read, before broadcasts and
    transpositions. A single element without dimensions has a mask with one."""
    if not isinstance(entry, AffineMapAttr):
        return vector_of(dims_of(vector), I1)
    pairs = [
        (e.value, d) for e, d in zip(entry.map.results, dims_of(vector), strict=False) if e.kind == "dim"
    ]
    return vector_of([dim for _, dim in sorted(pairs)] or [(1, False)], I1)


class TransferRead(Op, name="vector.transfer_read", traits=(READ,)):
    """A vector from a buffer or tensor; elements out of bounds or masked off are the padding value."""

    base = operand(SHAPED)
    indices = variadic_operand(ANY_INDEX)
    padding = operand(ANY_TYPE)
    mask = optional_operand(ANY_VECTOR)
    permutation_map = attribute(_MAP)
    in_bounds = attribute(ARRAY_ATTR)
    vector = result(ANY_VECTOR)
    assembly = "custom<TransferRead>"

    def verify_op(self) -> None:
        _verify_transfer(self)
        element = self.base.type.element
        if self.padding.type is not element:
            raise self.error(
                "requires source element type and padding type to match."
                if isinstance(element, VectorType)
                else "requires formal padding and source of the same elemental type"
            )


class WriteSyntax(CustomDirective, name="TransferWrite"):
    """`%v, %m[%i], %mask {…} : vector<…>, memref<…>`"""

    grammar = """custom: VALUE "," VALUE "[" value_list "]" custom_mask attr_dict ":" TYPE "," TYPE
custom_mask: "," VALUE -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        value, base, indices, (form, mask), attributes, vector, shaped = node
        for key, entry in attributes.items():
            state.attribute(key, entry)
        _transfer_defaults(state, shaped, vector)
        state.operand("value_to_store", value)
        state.types("value_to_store", [vector])
        state.operand("base", base)
        state.types("base", [shaped])
        state.operands("indices", indices)
        state.types("indices", [INDEX] * len(indices))
        state.types("result", [shaped] if isinstance(shaped, RankedTensorType) else [])
        if form == "present":
            state.operand("mask", mask[0])
            state.types("mask", [transfer_mask(state.attributes.get("permutation_map"), vector)])

    def write(self, p: Printer, op: TransferWrite) -> None:
        mask = f", {p.name(op.mask)}" if op.mask is not None else ""
        p.write(f" {p.name(op.value_to_store)}, {p.name(op.base)}[{p.names(op.indices)}]{mask}")
        p.attr_dict(op, _transfer_elide(op))
        p.write(f" : {p.type(op.vector.type)}, {p.type(op.base.type)}")


class TransferWrite(Op, name="vector.transfer_write", traits=(WRITE,)):
    """Writes a vector to a buffer, or returns a tensor with it; elements out of bounds or masked off are unchanged."""

    value_to_store = operand(ANY_VECTOR)
    base = operand(SHAPED)
    indices = variadic_operand(ANY_INDEX)
    mask = optional_operand(ANY_VECTOR)
    permutation_map = attribute(_MAP)
    in_bounds = attribute(ARRAY_ATTR)
    result_ = optional_result(ANY_TYPE)
    assembly = "custom<TransferWrite>"

    @property
    def vector(self) -> Value[VectorType]:
        """The vector that is written."""
        return self.value_to_store

    def verify_op(self) -> None:
        entry = self.permutation_map
        if isinstance(entry, AffineMapAttr) and any(e.kind == "constant" for e in entry.map.results):
            raise self.error("should not have broadcast dimensions")
        _verify_transfer(self)
        kind = self.base.type
        if self.result_types != ([kind] if isinstance(kind, RankedTensorType) else []):
            raise self.error(
                "expected one result of the destination's type for a tensor, and none for a memref"
            )


# -- masks


class CreateMask(Op, name="vector.create_mask", traits=(PURE,)):
    """i1 that is set below a bound in each dimension."""

    mask_operands = variadic_operand(ANY_INDEX)
    result = result(ANY_VECTOR)
    assembly = "$mask_operands attr-dict `:` type($result)"

    def verify_op(self) -> None:
        rank = len(self.result.type.shape)
        if rank == 0 and len(self.mask_operands) != 1:
            raise self.error("must specify exactly one operand for 0-D create_mask")
        if rank and len(self.mask_operands) != rank:
            raise self.error("must specify an operand for each result vector dimension")


class ConstantMask(Op, name="vector.constant_mask", traits=(PURE,)):
    """i1 that is set below a constant bound in each dimension."""

    mask_dim_sizes = attribute(I64_ARRAY)
    result = result(ANY_VECTOR)
    assembly = "$mask_dim_sizes attr-dict `:` type($result)"

    def verify_op(self) -> None:
        sizes, dims = self.mask_dim_sizes.values, dims_of(self.result.type)
        if not dims:
            if len(sizes) != 1:
                raise self.error("array attr must have length 1 for 0-D vectors")
            if sizes[0] not in (0, 1):
                raise self.error("mask dim size must be either 0 or 1 for 0-D vectors")
            return
        if len(sizes) != len(dims):
            raise self.error("must specify array attr of size equal vector result rank")
        for size, (extent, scalable) in zip(sizes, dims, strict=True):
            if not 0 <= size <= extent:
                raise self.error("array attr of size out of bounds of vector result dimension size")
            if scalable and size not in (0, extent):
                raise self.error("only supports 'none set' or 'all set' scalable dimensions")
        if 0 in sizes and any(sizes):
            raise self.error(
                "expected all mask dim sizes to be zeros, as a result of conjunction with zero mask dim"
            )


_PRINTED = TypeConstraint(
    "scalar or vector",
    lambda t: isinstance(t, VectorType) or not isinstance(t, ShapedType | UnrankedTensorType),
)


class Print(Op, name="vector.print", traits=(WRITE,)):
    """Prints a value, on the host."""

    source = operand(_PRINTED)
    punctuation = attribute(enum(PunctuationAttr), default=PunctuationAttr("newline"))
    assembly = "$source (`punctuation` `<` $punctuation^ `>`)? attr-dict `:` type($source)"
