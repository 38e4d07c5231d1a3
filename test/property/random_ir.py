"""Random IR from the declarations: types that satisfy the constraints, attributes of the declared kinds, regions.

    Generator(seed).op("arith.addf") ─▶ an op with operands made by "test.source", or None where no choice verified

Choices are made at random and kept when the op's own verifier accepts them, so that nothing here knows any op by name.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import types as ty
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Block, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.traits import HasParent, NoTerminator, Symbol, SymbolTable, Terminator, Trait
from tessera_tools.opdef.attribute_kinds import EnumAttr
from tessera_tools.opdef.constraints import Derived, SameAs
from tessera_tools.opdef.dialect import all_dialects, find_op
from tessera_tools.parser import parse_attribute, parse_type

TYPE_TEXTS = """
memref<4x8xf32,5> memref<4xf32,5> memref<4x8xf16,5> memref<64x64xf16,3>
memref<64xf32,3> memref<64x64xf16> memref<64xf32>
memref<?x?xf32>
i1 i8 i16 i32 i64 i128 index f16 bf16 f32 f64 tf32 f8E4M3FN f8E5M2 none complex<f32> tuple<i32,f32> si8 ui16
vector<4xi1> vector<4xi32> vector<4xf32> vector<8xf16> vector<2x4xf32> vector<4xindex> vector<[4]xf32>
vector<2xf16> vector<16xf32> vector<4x8xf32> vector<i32> vector<2xbf16> vector<2xf32> vector<4xi8> vector<2xi16>
vector<4xi64> tensor<4xi1> tensor<4xi32> tensor<4xf32> tensor<?x4xf32> tensor<*xf32> tensor<2x4xf16>
tensor<4xindex> tensor<16x16xf16> tensor<4xi64> tensor<16x16xf32> memref<4xf32> memref<4x8xf32> memref<?xf32>
memref<?x?xf32> memref<*xf32> memref<4xi32> memref<f32> memref<4xi64> memref<4x8xf32,strided<[?,1],offset:?>>
memref<16xf16,3> memref<4xf32,#gpu.address_space<workgroup>> memref<8xi8> !llvm.ptr !llvm.ptr<1> !llvm.ptr<3>
!llvm.ptr<7> !llvm.struct<(i32,f32)> !llvm.array<4xi32> !llvm.struct<(i32,i32,i32,i32)>
!llvm.struct<(f32,f32,f32,f32)> !llvm.struct<(i32,i32)> !llvm.struct<(i32,i1)> !llvm.struct<"name",(i32)>
!llvm.token !llvm.metadata !llvm.struct<(i64,i1)> !llvm.struct<(vector<2xf16>,vector<2xf16>)>
!llvm.struct<(f64,f64)> !llvm.ptr<6> !llvm.ptr<4> !llvm.ptr<5> !llvm.struct<(f32,i1)> !llvm.struct<(i8,i1)>
!llvm.ptr<2> !llvm.void !llvm.func<i32(i32)> !cuda_tile.tile<i32> !cuda_tile.tile<i1> !cuda_tile.tile<f32>
!cuda_tile.tile<4xi32> !cuda_tile.tile<4xf32> !cuda_tile.tile<4xi1> !cuda_tile.tile<16x16xf16>
!cuda_tile.tile<16x16xf32> !cuda_tile.tile<ptr<f32>> !cuda_tile.token !cuda_tile.tile<4xptr<f32>>
!cuda_tile.tile<4xptr<i32>> !cuda_tile.tile<i64> !cuda_tile.tile<4xi64> !cuda_tile.tile<f16>
!cuda_tile.tile<16x16xi8> !cuda_tile.tile<16x16xi32> !cuda_tile.tile<4xf16> !cuda_tile.tile<ptr<i32>>
!cuda_tile.tile<i16> !cuda_tile.tile<4x4xf32> !cuda_tile.tile<4xi8> !cuda_tile.tile<8xf32>
!cuda_tile.tile<ptr<i8>> !cuda_tile.tile<4xf64> !cuda_tile.tensor_view<?xf32,strides=[1]>
!cuda_tile.tensor_view<64x64xf32,strides=[64,1]> !cuda_tile.tile<8xi32>
!cuda_tile.partition_view<tile=(4x4),tensor_view<64x64xf32,strides=[64,1]>> !gpu.async.token
!nv_tileaa.mem_token !nv_tileaa.memref<4xf32>
"""
"""Types that operands and results are drawn from, without white space inside."""

ATTRIBUTE_TEXTS = """
unit; true; false; "text"; "@odd \\"name\\""; ""; [1, 2]; [0]; [1]; []; [0, 1]; [1, 0]; [[0, 1], [2]]; {a = 1, b}; {};
@f; @f::@g; @"odd name"; i32; f32; (i32) -> f32; () -> (); !llvm.ptr; memref<4xf32>; !llvm.func<void ()>; vector<4xf32>;
[@a, @b]; ["a", "b"]; [i32]; tensor<4xf32>; !llvm.array<4 x i32>; !llvm.struct<(i32, f32)>; vector<4xi32>;
1.0 : f32; -0.0 : f32; 2.5 : f64; 1.0 : f16; 1.0e10 : bf16; 0x7F800000 : f32; 0x7FC00001 : f32; 4.0 : f8E4M3FN;
array<i32>; array<i32: 1>; array<i32: 0>; array<i32: 1, 0>; array<i32: 0, 1>; array<i32: 1, -2>; array<i64: 0>;
array<i64: 1>; array<i64: 4>; array<i64: 4, 8>; array<i64>; array<i64: 0, 1>; array<i1: true, false>; array<f32: 1.0>;
array<i32: 16, 16, 16>; array<i64: 2, 4>; array<i32: 2, 4>; array<i8: 1>; array<i32: 1, 1>; array<i32: 4, 4>;
array<i64: 1, 0>; array<i64: 3, 2, 1, 0>;
dense<1> : tensor<4xi32>; dense<[1, 2, 3, 4]> : tensor<4xi32>; dense<1.0> : vector<4xf32>; dense<true> : vector<4xi1>;
dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : vector<2x4xf32>; dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>;
dense<1.0> : tensor<4xf32>; dense<0> : vector<4xi32>; dense<0> : tensor<1xi64>; dense<0> : tensor<2xi64>;
dense<0> : vector<4xindex>; dense<[1, 0]> : tensor<2xi32>; dense<1> : vector<4xi64>; dense<> : tensor<0xi32>;
dense<1> : tensor<i32>; dense<[0, 1, 0]> : tensor<3xi32>; dense<1> : vector<4xi8>; dense<1.0> : vector<8xf16>;
affine_map<(d0) -> (d0)>; affine_map<(d0, d1)[s0] -> (d1 + s0 * 4, d0 floordiv 2)>; affine_set<(d0) : (d0 >= 0)>;
affine_map<(d0, d1) -> (d1, d0)>; affine_map<(d0, d1) -> (d0, d1)>; affine_map<(d0)[s0] -> (d0 + s0)>;
strided<[1], offset: ?>; dense_resource<key> : tensor<4xf32>; loc("file":1:2); opaque<"a">;
#llvm.constant_range<i32, 0, 32>; #llvm.target_features<["+a"]>; #llvm.dereferenceable<bytes = 4>;
#llvm.vscale_range<minRange = 1 : i32, maxRange = 16 : i32>; #llvm.zero; #llvm.undef; #llvm.poison; #ub.poison;
#llvm.memory_effects<other = none, argMem = read, inaccessibleMem = none>;
[#llvm.mlir.module_flag<error, "a", 1 : i32>];
[#gpu.address_space<global>]; #cuda_tile.same_elements<[1]>; #cuda_tile.bounded<0, 4>; #cuda_tile.div_by<16>;
#cuda_tile.optimization_hints<sm_100 = {num_cta_in_cga = 2}>; #nvvm.shape<m = 16, n = 8, k = 16>;
#nvvm.shape<m = 16, n = 8, k = 8>; #nvvm.shape<m = 16, n = 8, k = 32>; #nvvm.shape<m = 64, n = 8, k = 16>;
#nvvm.ld_st_matrix_shape<m = 8, n = 8>; [#nvvm.mma_layout<row>, #nvvm.mma_layout<col>];
#llvm.loop_annotation<disableNonforced = true>; #llvm.loop_unroll<disable = true>; [#vector.iterator_type<parallel>];
#llvm.di_file<"a.mlir" in "dir">; distinct[0]<1>
"""
"""Attributes, one between semicolons; those that some dialect does not know are left out."""


@cache
def type_pool() -> tuple[Type, ...]:
    """The types to draw from."""
    return tuple(parse_type(text) for text in TYPE_TEXTS.split())


def _enumerations(cls: type[EnumAttr]) -> list[type[EnumAttr]]:
    found = [cls] if cls.cases else []
    for sub in cls.__subclasses__():
        found += _enumerations(sub)
    return found


@cache
def attribute_pool() -> tuple[Attribute, ...]:
    """The attributes to draw from: `ATTRIBUTE_TEXTS`, small integers of every type, all enumerations' cases."""
    list(all_dialects())
    pool: list[Attribute] = []
    for text in ATTRIBUTE_TEXTS.split(";"):
        try:
            pool.append(parse_attribute(text.strip()))
        except DiagnosticError:
            continue
    for value in (0, 1, 2, 3, 4, 7, 8, 15, 16, 32, 64, -1):
        for type in (ty.I32, ty.I64, ty.INDEX, ty.IntegerType(8), ty.IntegerType(16)):
            pool.append(ba.IntegerAttr(value, type))
    for cls in _enumerations(EnumAttr):
        pool += [cls(case) for case in cls.cases]
        if cls.separator and len(cls.cases) > 2:
            pool.append(parse_attribute(f"#{cls.name}<{cls.separator.join(cls.cases[1:3])}>"))
    return tuple(pool)


@cache
def readable_attributes() -> tuple[Attribute, ...]:
    """Those of the pool that stand on their own; some are only read by their op's format."""
    found: list[Attribute] = []
    for attribute in attribute_pool():
        try:
            if parse_attribute(str(attribute)) is attribute:
                found.append(attribute)
        except DiagnosticError:
            continue
    return tuple(found)


OLDER = {"nv_tileas.func", "nv_tileas.return"}
"""Ops of an older spelling, which are read as others."""


@cache
def _terminators(dialect: str) -> tuple[str, ...]:
    found = [d for d in all_dialects() if d.name == dialect]
    names = [
        n
        for d in found
        for n, c in d.ops.items()
        if c.has_trait(Terminator) and not c.definition.successors and n not in OLDER
    ]
    return tuple(names)


class Generator:
    """Makes ops; equal seeds make equal ops."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.attributes = attribute_pool()
        self.notes = readable_attributes()
        self.types = type_pool()
        self._accepted: dict[Any, list[Any]] = {}

    def module(self, names: list[str], tries: int = 60) -> tuple[Operation, list[str]]:
        """A module that holds the named ops, and the names of those that could not be made."""
        module_class: Any = find_op("builtin.module")
        block = Block()
        missing: list[str] = []
        module = module_class.create(regions=[Region([block])])
        for name in names:
            made = self.op(name, tries)
            if made is None:
                missing.append(name)
            else:
                block.append(made)
        return module, missing

    def op(self, name: str, tries: int = 60) -> Operation | None:
        """`"test.region"({ "test.source"; the op; … })`, or None if no choice verified."""
        for _ in range(tries):
            made = self._attempt(name)
            if made is not None:
                return made
        return None

    # -- one attempt

    def _attempt(self, name: str) -> Operation | None:
        op_class: Any = find_op(name)
        region = Region()
        block = region.append(Block())
        holder = UnregisteredOp.named("test.region", [], [], {}, [region], [])
        try:
            op = self._make(op_class, block)
            if op is None:
                return None
            block.append(op)
            for successor in op.successors:
                if successor.parent is None:
                    region.append(successor)
                    successor.append(UnregisteredOp.named("test.end", [], [], {}, [], []))
            _verify(op)
        except (DiagnosticError, ValueError, TypeError, AttributeError, IndexError, KeyError, AssertionError):
            # The choice makes no sense to the verifier; one that trips over it says the same.
            return None
        return holder

    def _make(self, op_class: Any, block: Block) -> Operation | None:
        definition = op_class.definition
        types = self._choose_types(definition)
        if types is None:
            return None
        attributes: dict[str, Attribute] = {}
        for field in definition.attributes:
            if field.arity == "optional" and self.random.random() < 0.6:
                continue
            if field.key.endswith("_attrs"):
                continue  # one dictionary an argument, which the format writes beside it
            value = self._attribute(field.kind)
            if value is None and field.arity == "single":
                return None
            if value is not None and value is not field.default:
                attributes[field.key] = value
        operand_types = [t for f in definition.operands for t in types[f.name]]
        source = UnregisteredOp.named("test.source", [], operand_types, {}, [], [])
        block.append(source)
        values: list[Value] = list(source.results)
        for value in values:
            if self.random.random() < 0.3:
                value.name_hint = self.random.choice(["x", "a", "arg0", "_1", "v.w", "x_0"])
        for fields, segmented, key in (
            (definition.operands, definition.operand_segments, "operandSegmentSizes"),
            (definition.results, definition.result_segments, "resultSegmentSizes"),
        ):
            if segmented:
                sizes = tuple(len(types[f.name]) for f in fields)
                attributes[key] = ba.DenseArrayAttr(ty.I32, sizes)
        if self.random.random() < 0.3:
            attributes[self.random.choice(["test.note", "odd key", "zz"])] = self.random.choice(self.notes)
        return op_class.create(
            values,
            [t for f in definition.results for t in types[f.name]],
            attributes,
            self._regions(op_class, operand_types),
            self._successors(definition, types),
        )

    def _choose_types(self, definition: Any) -> dict[str, list[Type]] | None:
        """Of each operand and result field: its types, by its constraint or inferred from the others."""
        chosen: dict[str, list[Type]] = {}
        known: dict[str, Any] = {}
        fields = [*definition.operands, *definition.results]
        favorite = self.random.choice(self.types)
        for field in sorted(fields, key=lambda f: isinstance(f.constraint, SameAs | Derived)):
            count = 1
            if field.arity != "single":
                count = self.random.choice([0, 1] if field.arity == "optional" else [0, 1, 1, 2, 4])
            inferred = (
                definition.infer(field, known) if isinstance(field.constraint, SameAs | Derived) else None
            )
            accepted = [inferred] if inferred is not None else self._accepts(field.constraint)
            if not accepted:
                return None
            first = favorite if favorite in accepted else self.random.choice(accepted)
            same = self.random.random() < 0.7
            chosen[field.name] = [first if same else self.random.choice(accepted) for _ in range(count)]
            found = chosen[field.name]
            known[field.name] = found if field.arity == "variadic" else (found[0] if found else None)
        return chosen

    def _accepts(self, constraint: Any) -> list[Type]:
        if constraint not in self._accepted:
            found = [t for t in self.types if constraint.accepts(t)]
            exact = getattr(constraint, "type", None)
            self._accepted[constraint] = found or ([exact] if isinstance(exact, Type) else [])
        return self._accepted[constraint]

    def _attribute(self, kind: Any) -> Attribute | None:
        if kind not in self._accepted:
            self._accepted[kind] = [a for a in self.attributes if kind.check(a)]
        found = self._accepted[kind]
        return self.random.choice(found) if found else None

    def _regions(self, op_class: Any, operand_types: list[Type]) -> list[Region]:
        regions: list[Region] = []
        for field in op_class.definition.regions:
            for _ in range(1 if field.arity == "single" else self.random.choice([0, 1, 2])):
                region = Region()
                regions.append(region)
                if (
                    op_class.has_trait(Symbol)
                    and not op_class.has_trait(SymbolTable)
                    and self.random.random() < 0.2
                ):
                    continue  # a declaration
                pool = [[], [], [ty.INDEX], operand_types, [ty.INDEX, *operand_types[3:]], operand_types[:1]]
                block = region.append(Block(self.random.choice(pool)))
                names = _terminators(op_class.name.partition(".")[0])
                if names and not (op_class.has_trait(NoTerminator) and self.random.random() < 0.5):
                    terminator: Any = find_op(self.random.choice(names))
                    values = list(block.arguments) if self.random.random() < 0.3 else []
                    block.append(terminator.create(values))
        return regions

    def _successors(self, definition: Any, types: dict[str, list[Type]]) -> list[Block]:
        variadic = [f for f in definition.operands if f.arity == "variadic"]
        blocks: list[Block] = []
        for i, field in enumerate(definition.successors):
            for _ in range(1 if field.arity == "single" else self.random.choice([0, 1, 2])):
                passed = types[variadic[i].name] if i < len(variadic) else []
                blocks.append(Block(passed if field.arity == "single" else []))
        return blocks


def _verify(op: Operation) -> None:
    """The op's declared constraints, its traits but for what its parent must be, its own check; then what it holds."""
    declared: Any = getattr(op, "verify_declared", None)
    if declared is not None:
        declared()
    for trait in op.traits:
        if type(trait).verify is not Trait.verify and not isinstance(trait, HasParent):
            trait.verify(op)
    op.verify_op()
    for inner in op.walk():
        if not isinstance(inner, UnregisteredOp):
            _verify(inner)
