"""Random types and attributes, as deep as told; printing and parsing each gives the same object."""

from __future__ import annotations

import random
from collections.abc import Callable

from property.random_ir import readable_attributes, type_pool

from tessera_tools.ir import affine
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import types as ty
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.location import (
    CallSiteLoc,
    FileLineColLoc,
    FileRangeLoc,
    FusedLoc,
    Location,
    NameLoc,
    UnknownLoc,
)

FLOATS = tuple(ty.FloatType(keyword) for keyword in ty.FLOAT_WIDTHS)
NUMBERS = (*(ty.IntegerType(w) for w in (1, 3, 8, 32, 64, 128)), ty.INDEX, *FLOATS)
"""Element types of numbers."""

ANY_BITS = tuple(t for t in NUMBERS if t not in (ty.FloatType("f80"), ty.FloatType("f128")))
"""Those of which every bit pattern can be written; decimals are read as f64, as MLIR does, which is less than these."""

STRINGS = (
    "",
    "plain",
    'quo"te',
    "back\\slash",
    "new\nline",
    "\ttab",
    "ünïcode ∀",
    "\udcff",
    "a.b$c_d",
    "\x00",
    "0x1F",
)


class RandomValues:
    """Equal seeds give equal values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: Callable[[], object]) -> object:
        return self.random.choice(choices)()

    def extents(self, dynamic: bool = True) -> tuple[int, ...]:
        choices = [0, 1, 2, 3, 4, 8] + ([ty.DYNAMIC] if dynamic else [])
        return tuple(self.random.choice(choices) for _ in range(self.random.randrange(4)))

    def number(self) -> Type:
        return self.random.choice(NUMBERS)

    def type(self, depth: int = 3) -> Type:
        """A type; at depth 0 one without parameters."""
        if depth == 0:
            return self.random.choice(
                [*NUMBERS, ty.NONE, ty.IntegerType(7, "signed"), ty.IntegerType(9, "unsigned")]
            )
        found = self.pick(
            lambda: self.type(0),
            lambda: self.random.choice(type_pool()),
            lambda: ty.TupleType(self.types(depth)),
            lambda: ty.FunctionType(self.types(depth), self.types(depth)),
            lambda: ty.ComplexType(self.number()),
            self.vector,
            lambda: ty.RankedTensorType(self.extents(), self.number(), self.encoding(depth)),
            lambda: ty.UnrankedTensorType(self.number()),
            lambda: self.memref(depth),
            lambda: ty.UnrankedMemRefType(self.number(), self.random.choice([None, ba.i64(3)])),
        )
        assert isinstance(found, Type)
        return found

    def types(self, depth: int) -> tuple[Type, ...]:
        return tuple(self.type(depth - 1) for _ in range(self.random.randrange(4)))

    def vector(self) -> Type:
        shape = tuple(max(1, extent) for extent in self.extents(dynamic=False))
        flags = tuple(self.random.random() < 0.3 for _ in shape)
        return ty.VectorType(shape, self.number(), flags if any(flags) else ())

    def encoding(self, depth: int) -> Attribute | None:
        return self.attribute(depth - 1) if self.random.random() < 0.3 else None

    def memref(self, depth: int) -> Type:
        shape = self.extents()
        layout = self.random.choice(
            [None, ba.StridedLayoutAttr(tuple(ty.DYNAMIC for _ in shape), ty.DYNAMIC)]
        )
        if self.random.random() < 0.2 and shape:
            dims = [affine.dim(i) for i in range(len(shape))]
            layout = ba.AffineMapAttr(
                affine.AffineMap(len(shape), 1, (*dims[::-1], dims[0] + affine.symbol(0) * 4))
            )
        space = self.random.choice([None, ba.i64(3), ba.i32(1), ba.StringAttr("local")])
        return ty.MemRefType(shape, self.number(), layout, space)

    # -- attributes

    def attribute(self, depth: int = 3) -> Attribute:
        """An attribute; at depth 0 one without others inside."""
        leaves = (self.integer, self.float, self.string, self.symbol, self.dense_array, lambda: ba.UNIT)
        if depth == 0:
            found = self.pick(*leaves)
        else:
            found = self.pick(
                *leaves,
                self.dense,
                self.location,
                lambda: self.random.choice(readable_attributes()),
                lambda: ba.TypeAttr(self.type(depth - 1)),
                lambda: ba.ArrayAttr(
                    tuple(self.attribute(depth - 1) for _ in range(self.random.randrange(4)))
                ),
                lambda: ba.DictionaryAttr.of({s: self.attribute(depth - 1) for s in self.keys()}),
            )
        assert isinstance(found, Attribute)
        return found

    def keys(self) -> list[str]:
        return self.random.sample([s for s in STRINGS if s], self.random.randrange(4))

    def integer(self) -> Attribute:
        type = self.random.choice([t for t in NUMBERS if isinstance(t, ty.IntegerType | ty.IndexType)])
        return ba.IntegerAttr.wrap(self.random.getrandbits(130), type)

    def float(self) -> Attribute:
        type = self.random.choice([t for t in ANY_BITS if isinstance(t, ty.FloatType)])
        return ba.FloatAttr(self.random.getrandbits(ty.bit_width(type)), type)

    def string(self) -> Attribute:
        value = self.random.choice(STRINGS)
        return ba.StringAttr(value) if self.random.random() < 0.8 else ba.StringAttr(value, self.number())

    def symbol(self) -> Attribute:
        names = [s for s in STRINGS if s]
        return ba.SymbolRefAttr(
            self.random.choice(names), tuple(self.random.sample(names, self.random.randrange(3)))
        )

    def dense_array(self) -> Attribute:
        type = self.random.choice([ty.I1, ty.IntegerType(8), ty.I32, ty.I64, ty.F32, ty.F64])
        bits = [self.random.getrandbits(ty.bit_width(type)) for _ in range(self.random.randrange(5))]
        if not isinstance(type, ty.FloatType):
            bits = [ba.wrap_int(b, type) for b in bits]
        return ba.DenseArrayAttr(type, tuple(bits))

    def dense(self) -> Attribute:
        element = self.random.choice(ANY_BITS)
        width = ty.bit_width(element)
        if self.random.random() < 0.2:
            element = ty.ComplexType(element)
            width = 0
        shape = self.extents(dynamic=False) if self.random.random() < 0.9 else (11, 13)
        shaped = ty.RankedTensorType(shape, element)
        count = shaped.num_elements
        bits = [self.random.getrandbits(width) if width else 0 for _ in range(count)]
        if self.random.random() < 0.3 and bits:
            bits = bits[:1] * count
        return ba.DenseElementsAttr.of(shaped, bits)

    def location(self, depth: int = 2) -> Location:
        if depth == 0:
            return self.random.choice(
                [UnknownLoc(), FileLineColLoc("a b.mlir", 3, 4), FileRangeLoc("a", 1, 2, 1, 9)]
            )
        found = self.pick(
            lambda: self.location(0),
            lambda: NameLoc(self.random.choice(STRINGS), self.location(depth - 1)),
            lambda: CallSiteLoc(self.location(depth - 1), self.location(depth - 1)),
            lambda: FusedLoc(
                tuple(self.location(depth - 1) for _ in range(self.random.randrange(1, 4))),
                self.random.choice([None, ba.StringAttr("meta")]),
            ),
        )
        assert isinstance(found, Location)
        return found
