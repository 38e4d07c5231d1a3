"""Arithmetic across the elements of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.arith.attributes import fastmath_field
from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.dialects.vector.attributes import (
    KIND,
    CombiningKindAttr,
    IteratorTypeAttr,
    dims_of,
    vector_of,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import (
    AffineMapAttr,
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
)
from tessera_tools.ir.types import IntegerType, ShapedType, VectorType, element_type
from tessera_tools.opdef import (
    ANY_TYPE,
    ANY_VECTOR,
    ARRAY_ATTR,
    BOOL_ATTR,
    FLOAT_LIKE,
    I64_ARRAY,
    I64_ATTR,
    PURE,
    AttrKind,
    CustomDirective,
    Op,
    attribute,
    derived,
    operand,
    optional_operand,
    result,
    same_as,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

# -- arithmetic


class Fma(Op, name="vector.fma", traits=(PURE,)):
    """lhs · rhs + acc, elementwise, rounded once."""

    lhs = operand(ANY_VECTOR & FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    acc = operand(same_as("lhs"))
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)"


class Reduction(Op, name="vector.reduction", traits=(PURE,)):
    """All elements of a vector combined, and an accumulator if there is one."""

    kind = attribute(KIND)
    vector = operand(ANY_VECTOR)
    acc = optional_operand(derived("the type of the result", lambda t: t, "dest"))
    fastmath = fastmath_field()
    dest = result(ANY_TYPE)
    assembly = (
        "` ` $kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($vector) `into` type($dest)"
    )

    def verify_op(self) -> None:
        if len(self.vector.type.shape) > 1:
            raise self.error(f"unsupported reduction rank: {len(self.vector.type.shape)}")
        if self.dest.type is not self.vector.type.element:
            raise self.error("failed to verify that source operand and result have same element type")
        _verify_kind(self, self.kind.value, self.dest.type)


def _verify_kind(op: Op, kind: str, type: Type) -> None:
    element = element_type(type)
    is_float = FLOAT_LIKE.accepts(element)
    if kind not in ("add", "mul") and is_float != kind.endswith("f"):
        raise op.error(f"unsupported reduction type '{element}' for kind '{kind}'")


class MultiReduction(Op, name="vector.multi_reduction", traits=(PURE,)):
    """The elements along some dimensions combined."""

    kind = attribute(KIND)
    source = operand(ANY_VECTOR)
    acc = operand(derived("the type of the result", lambda t: t, "dest"))
    reduction_dims = attribute(I64_ARRAY)
    dest = result(ANY_TYPE)
    assembly = "` ` $kind `,` $source `,` $acc attr-dict $reduction_dims `:` type($source) `to` type($dest)"

    def verify_op(self) -> None:
        reduced = set(self.reduction_dims.values)
        rest = [dim for i, dim in enumerate(dims_of(self.source.type)) if i not in reduced]
        element = self.source.type.element
        expected = vector_of(rest, element) if rest else element
        if self.dest.type is not expected:
            raise self.error(
                f"destination type '{self.dest.type}' is incompatible with source type '{self.source.type}'"
            )


class Scan(Op, name="vector.scan", traits=(PURE,)):
    """The elements along a dimension combined with those before them, and at last all of them."""

    kind = attribute(KIND)
    source = operand(ANY_VECTOR)
    initial_value = operand(ANY_VECTOR)
    reduction_dim = attribute(I64_ATTR)
    inclusive = attribute(BOOL_ATTR)
    dest = result(same_as("source"))
    accumulated_value = result(same_as("initial_value"))
    assembly = "` ` $kind `,` $source `,` $initial_value attr-dict `:` type($source) `,` type($initial_value)"

    def verify_op(self) -> None:
        dims, initial = dims_of(self.source.type), dims_of(self.initial_value.type)
        axis = self.reduction_dim.value
        if not 0 <= axis < len(dims):
            raise self.error(f"reduction dimension {axis} has to be less than {len(dims)}")
        if len(initial) != len(dims) - 1:
            raise self.error(f"initial value rank {len(initial)} has to be equal to {len(dims) - 1}")
        if initial != dims[:axis] + dims[axis + 1 :]:
            raise self.error("incompatible input/initial value shapes")
        _verify_kind(self, self.kind.value, self.source.type)


class OuterProduct(Op, name="vector.outerproduct", traits=(PURE,)):
    """The products of all pairs of elements, combined with an accumulator if there is one."""

    lhs = operand(ANY_VECTOR)
    rhs = operand(ANY_TYPE)
    acc = optional_operand(derived("the type of the result", lambda t: t, "result"))
    kind = attribute(KIND, default=CombiningKindAttr("add"))
    result = result(
        derived(
            "the shapes of 'lhs' and 'rhs' together",
            lambda a, b: (
                vector_of([*dims_of(a), *dims_of(b)], a.element) if isinstance(a, VectorType) else None
            ),
            "lhs",
            "rhs",
        )
    )
    assembly = "$lhs `,` $rhs (`,` $acc^)? attr-dict `:` type($lhs) `,` type($rhs)"

    def verify_op(self) -> None:
        first, second = dims_of(self.lhs.type), dims_of(self.rhs.type)
        if len(first) != 1 or len(second) > 1:
            raise self.error("expected 1-d vectors, the second one or a scalar")
        if first[0][1] and second and not second[0][1]:
            raise self.error("expected either both or only #2 operand dim to be scalable")


class ContractSyntax(CustomDirective, name="Contract"):
    """`{indexing_maps = […], iterator_types = ["parallel", …], kind = …} %a, %b, %c : …, … into …`"""

    grammar = (
        'custom: (ATTR_DICT | ATTRIBUTE) VALUE "," VALUE "," VALUE attr_dict ":" TYPE "," TYPE "into" TYPE'
    )

    def read(self, state: OpState, node: Node) -> None:
        attributes, lhs, rhs, acc, rest, *types = node
        if isinstance(attributes, DictionaryAttr):
            attributes = dict(attributes.entries)
        if not isinstance(attributes, dict):
            raise state.error(lhs, f"expected a dictionary of attributes, found {attributes}")
        for key, value in {**attributes, **rest}.items():
            if key == "iterator_types" and isinstance(value, ArrayAttr):
                words = (IteratorTypeAttr(a.value) if isinstance(a, StringAttr) else a for a in value)
                value = ArrayAttr(tuple(words))
            state.attribute(key, value)
        for field, token, type in zip(("lhs", "rhs", "acc"), (lhs, rhs, acc), types, strict=True):
            state.operand(field, token)
            state.types(field, [type])
        state.types("result", types[2:])

    def write(self, p: Printer, op: Contract) -> None:
        shown = dict(op.attributes)
        iterators = (StringAttr(a.value) for a in op.iterator_types)
        shown["iterator_types"] = ArrayAttr(tuple(iterators))
        shown["kind"] = op.kind
        known = ("indexing_maps", "iterator_types", "kind")
        p.write(f" {p.dictionary({k: shown[k] for k in known})} {p.names([op.lhs, op.rhs, op.acc])}")
        p.attr_dict(op, known)
        p.write(f" : {p.type(op.lhs.type)}, {p.type(op.rhs.type)}")
        p.write(f" into {p.type(op.result.type)}")


ITERATOR_TYPES: AttrKind[ArrayAttr[IteratorTypeAttr]] = AttrKind(
    "array of iterator types",
    lambda a: isinstance(a, ArrayAttr) and all(isinstance(e, IteratorTypeAttr) for e in a),
)


class Contract(Op, name="vector.contract", traits=(PURE,)):
    """Products of elements of two vectors, summed over the reduction dimensions of a nest that the maps index."""

    lhs = operand(ANY_VECTOR)
    rhs = operand(ANY_VECTOR)
    acc = operand(ANY_TYPE)
    indexing_maps = attribute(ARRAY_ATTR)
    iterator_types = attribute(ITERATOR_TYPES)
    kind = attribute(KIND, default=CombiningKindAttr("add"))
    result = result(same_as("acc"))
    assembly = "custom<Contract>"

    def verify_op(self) -> None:
        lhs, rhs = self.lhs.type, self.rhs.type
        if isinstance(lhs.element, IntegerType) and lhs.element.signedness != "signless":
            raise self.error("only supports signless integer types")
        if lhs.element is not rhs.element:
            raise self.error("failed to verify that lhs and rhs have same element type")
        left, right, sums = self._verify_maps()
        iterators = enumerate(self.iterator_types)
        pairs = {i: (left.index(i), right.index(i)) for i, _ in iterators if i in left and i in right}
        summed = [pairs[i] for i in pairs if self.iterator_types.elements[i].value == "reduction"]
        shared = [pairs[i] for i in pairs if self.iterator_types.elements[i].value == "parallel"]
        if not summed:
            raise self.error("expected at least one contracting dimension pair")
        for noun, dims in (("contracting", summed), ("batch", shared)):
            if any(lhs.shape[a] != rhs.shape[b] for a, b in dims):
                raise self.error(f"invalid {noun} dimension map")
        self._verify_result(left, right, sums, len(summed), len(shared))

    def _verify_maps(self) -> tuple[list[int], list[int], list[int]]:
        """Check the maps; the dimensions of the nest that each indexes."""
        if len(self.indexing_maps) != 3:
            raise self.error("expected an indexing map for each vector operand")
        count = len(self.iterator_types)
        found: list[list[int]] = []
        for i, (entry, value) in enumerate(zip(self.indexing_maps, self.operands, strict=True)):
            rank = value.type.rank if isinstance(value.type, ShapedType) else 0
            if isinstance(entry, AffineMapAttr) and entry.map.num_symbols:
                raise self.error(f"expected indexing map {i} to have no symbols")
            if not isinstance(entry, AffineMapAttr) or entry.map.num_dims != count:
                raise self.error(f"expected indexing map {i} to have {count} number of inputs")
            results = entry.map.results
            if len(results) != rank:
                raise self.error(f"expected indexing map {i} to have {rank} number of outputs")
            dims = [result.value for result in results if result.kind == "dim"]
            if len(set(dims)) != len(results):
                raise self.error(f"expected indexing map {i} to be a projected permutation of its inputs")
            found.append(dims)
        left, right, sums = found
        return left, right, sums

    def _verify_result(
        self, left: list[int], right: list[int], sums: list[int], summed: int, shared: int
    ) -> None:
        """Check the shape of the sums, which the factors and the maps determine."""
        type, lhs, rhs = self.result.type, self.lhs.type, self.rhs.type
        if len(left) - summed + len(right) - summed - shared == 0:
            if isinstance(type, VectorType):
                raise self.error("invalid accumulator/result vector shape")
            return
        if not isinstance(type, VectorType):
            raise self.error("invalid accumulator/result vector shape")
        if set(left) | set(right) != set(range(len(self.iterator_types))):
            raise self.error("expected all dimensions to be either a LHS or a RHS dimension")
        extents = dict(zip(right, rhs.shape, strict=True)) | dict(zip(left, lhs.shape, strict=True))
        expected = VectorType(tuple(extents[i] for i in sums), type.element, type.scalable)
        if type is not expected:
            raise self.error(f"invalid accumulator/result vector shape, expected: '{expected}'")
