"""Atoms: the hardware primitives of copies and products, and their requirements.

    copies     ldg  stg  lds  sts  cp_async  ldmatrix  ldmatrix_trans  stmatrix  stmatrix_trans  tma_load  tma_store
    products   fma  mma  wgmma  umma

`COPIES`, `PRODUCT_PRIMITIVES` and `PRODUCTS` are the one table: a primitive → the feature that a target must have, the
sizes and types that the hardware has, the layouts of what it moves or multiplies, and the ops whose lowering emits it.
The attributes that name atoms are `#cute.copy_atom`,
`#cute.mma_atom` (cute.py), `#cute_nvgpu.mma_atom` and `#cute_nvgpu.atom_copy_field_tma…` (cute_nvgpu.py); a primitive
that is not in the table is rejected when it is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    FLOAT_WIDTHS,
    I8,
    I32,
    TF32,
    FloatType,
    IntegerType,
    bit_width,
)
from tessera_tools.layout import (
    LinearLayout,
    MatrixAccess,
    Refused,
    VectorAccess,
    coalesced,
    matrix_access,
    products,
    swizzled,
    vector_access,
)
from tessera_tools.records import dataclass
from tessera_tools.target import Feature

if TYPE_CHECKING:
    from tessera_tools.dialects import nv_tileaa, nv_tileas

F8E4M3FN, F8E5M2, F4E2M1FN = (FloatType(word) for word in ("f8E4M3FN", "f8E5M2", "f4E2M1FN"))
F8E8M0FNU = FloatType("f8E8M0FNU")
_INTEGER = re.compile(r"([su]?)i(\d+)")
_SIGNS = {"": "signless", "s": "signed", "u": "unsigned"}


def element_named(word: str) -> Type:
    """The element type that an atom spells: f16, i8, si8, f8E4M3FN.  ValueError for others."""
    if word in FLOAT_WIDTHS:
        return FloatType(word)
    match = _INTEGER.fullmatch(word)
    if match is None:
        raise ValueError(f"unknown element type '{word}'")
    return IntegerType(int(match[2]), _SIGNS[match[1]])


# -- copies

_BITS = tuple(1 << n for n in range(8))


@dataclass(frozen=True, slots=True)
class CopyPrimitive:
    """One way to move a tile."""

    since: int
    """The first architecture that has it, as the atom spells it: 80 for sm80."""
    size: str
    """How the atom spells its size: `{}` in bits, `x{}` in matrices of 8 rows of 16 bytes, `{}d` in dimensions."""
    sizes: tuple[int, ...]
    emitters: tuple[str, ...]
    """The ops that may carry the atom, and whose lowering emits the primitive."""
    feature: Feature | None = None
    alignment: int = 0
    """Required alignment of the address in global memory, and of all strides except the innermost, in bytes; 0 stands
    for the width of one access."""
    swizzles: tuple[int, ...] = (0,)
    """Bytes of the patterns in which it can write or read shared memory."""
    threads: Callable[[Sequence[int], int, int, int | None], LinearLayout] | None = None
    """For primitives that access global memory thread by thread: (shape, neighbors, warps, axis) →
    which thread moves which element."""
    access: Callable[[LinearLayout, LinearLayout, int, int], VectorAccess | MatrixAccess | Refused] | None = (
        None
    )
    """For primitives between registers and shared memory: (registers, memory, bits of an element, of an access) → the
    instructions."""
    memory: Callable[[Sequence[int], int, Sequence[int] | None, int, int], LinearLayout] | None = None
    """For primitives that copy whole tiles: (tile, bits of an element, order of axes, bytes of the swizzle and of its
    atomicity) → the place of each element in shared memory."""


_TMA_SWIZZLES = (0, 32, 64, 128)


def _by_matrix(
    registers: LinearLayout, memory: LinearLayout, element_bits: int, access_bits: int
) -> MatrixAccess | Refused:
    return matrix_access(registers, memory, element_bits)


def _to_matrix(
    registers: LinearLayout, memory: LinearLayout, element_bits: int, access_bits: int, trans: bool = False
) -> MatrixAccess | Refused:
    if registers.free_variable_masks().get("lane"):
        return Refused("stmatrix stores what each lane holds, and lanes hold the same elements")
    return matrix_access(registers, memory, element_bits, trans)


def _to_matrix_trans(
    registers: LinearLayout, memory: LinearLayout, element_bits: int, access_bits: int
) -> MatrixAccess | Refused:
    return _to_matrix(registers, memory, element_bits, access_bits, trans=True)


COPIES: Mapping[str, CopyPrimitive] = {
    "ldg": CopyPrimitive(
        80,
        "{}",
        _BITS,
        ("nv_tileas.tiled_load", "nv_tileaa.tiled_load", "nv_tileaa.load"),
        threads=coalesced,
    ),
    "stg": CopyPrimitive(
        80,
        "{}",
        _BITS,
        ("nv_tileas.tiled_store", "nv_tileaa.tiled_store", "nv_tileaa.store"),
        threads=coalesced,
    ),
    "lds": CopyPrimitive(80, "{}", _BITS, ("nv_tileas.load",), access=vector_access),
    "sts": CopyPrimitive(80, "{}", _BITS, ("nv_tileas.store",), access=vector_access),
    "cp_async": CopyPrimitive(
        80, "{}", _BITS, ("nv_tileas.async.tiled_copy",), Feature.CP_ASYNC, threads=coalesced
    ),
    "ldmatrix": CopyPrimitive(75, "x{}", (1, 2, 4), ("nv_tileas.load",), Feature.LDMATRIX, access=_by_matrix),
    "ldmatrix_trans": CopyPrimitive(
        75, "x{}", (1, 2, 4), ("nv_tileas.load",), Feature.LDMATRIX, access=_by_matrix
    ),
    "stmatrix": CopyPrimitive(
        90, "x{}", (1, 2, 4), ("nv_tileas.store",), Feature.STMATRIX, access=_to_matrix
    ),
    "stmatrix_trans": CopyPrimitive(
        90, "x{}", (1, 2, 4), ("nv_tileas.store",), Feature.STMATRIX, access=_to_matrix_trans
    ),
    "tma_load": CopyPrimitive(
        90,
        "{}d",
        (1, 2, 3, 4, 5),
        ("nv_tileas.make_tiled_tma_desc", "nv_tileas.async.tiled_tma_load"),
        Feature.TMA,
        16,
        _TMA_SWIZZLES,
        memory=swizzled,
    ),
    "tma_store": CopyPrimitive(
        90,
        "{}d",
        (1, 2, 3, 4, 5),
        ("nv_tileas.make_tiled_tma_desc", "nv_tileas.async.tiled_tma_store"),
        Feature.TMA,
        16,
        _TMA_SWIZZLES,
        memory=swizzled,
    ),
}
"""Every primitive of copies, by the word in its spelling."""

_COPY = re.compile(r"sm(\d+)_(.*)_(x\d+|\d+d|\d+)_(\w+?)")


def read_copy(spelling: str) -> tuple[int, str, int, Type]:
    """(architecture, primitive, size, element type) of an atom as `sm80_cp_async_128_f16`; raises ValueError if it is
    invalid."""
    match = _COPY.fullmatch(spelling)
    primitive = COPIES.get(match[2]) if match is not None else None
    if match is None or primitive is None:
        raise ValueError(
            f"unknown copy atom '{spelling}'; expected e.g. sm80_ldg_128_f16, sm80_cp_async_128_f16, "
            "sm75_ldmatrix_x4_f16 or sm90_tma_load_2d_f16"
        )
    try:
        element = element_named(match[4])
    except ValueError as problem:
        raise ValueError(f"{problem} in copy atom '{spelling}'") from None
    number = re.sub(r"\D", "", match[3])
    if match[3] != primitive.size.format(number):
        raise ValueError(
            f"copy atom '{spelling}' has size '{match[3]}'; {match[2]} is spelled with "
            f"{primitive.size.format(primitive.sizes[-1])}"
        )
    return int(match[1]), match[2], int(number), element


def check_copy(since: int, word: str, size: int) -> None:
    """ValueError unless the hardware has the primitive in that size, on that architecture."""
    primitive = COPIES.get(word)
    if primitive is None:
        raise ValueError(f"unknown copy primitive '{word}'; expected one of {', '.join(COPIES)}")
    if size not in primitive.sizes:
        raise ValueError(f"{word} has no size {size}; expected one of {', '.join(map(str, primitive.sizes))}")
    if since < primitive.since:
        raise ValueError(f"{word} is spelled with sm{primitive.since}, not sm{since}")


# -- products


@dataclass(frozen=True, slots=True)
class Product:
    """An instruction for operands of one of `operands`; PTX ISA, "mma", "wgmma.mma_async" and "tcgen05.mma"."""

    primitive: str
    since: int
    operands: tuple[Type, ...]
    accumulators: tuple[Type, ...]
    m: int
    n: tuple[int, ...]
    k: int
    feature: Feature | None
    whole: bool = False
    """Whether it is used only for tiles of at least its shape. For smaller tiles, another instruction wastes less."""
    scaled: bool = False
    """Whether it is mma.sync that multiplies by scales of blocks itself: see `SCALE_VECTORS`."""


MMA, WGMMA, UMMA, FMA = "mma", "wgmma", "umma", "fma"
_COLUMNS = tuple(range(8, 257, 8))
_INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))
_WIDE_COLUMNS = tuple(range(16, 257, 16))
"""N of tcgen05.mma with 128 rows."""
PRODUCTS = (
    Product(MMA, 120, (F8E4M3FN, F8E5M2), (F32,), 16, (8,), 32, Feature.MMA_SYNC_BLOCK_SCALE, scaled=True),
    Product(MMA, 120, (F4E2M1FN,), (F32,), 16, (8,), 64, Feature.MMA_SYNC_BLOCK_SCALE, scaled=True),
    Product(MMA, 80, (F16,), (F16, F32), 16, (8,), 16, Feature.MMA_SYNC),
    Product(MMA, 80, (BF16,), (F32,), 16, (8,), 16, Feature.MMA_SYNC),
    Product(MMA, 80, (TF32,), (F32,), 16, (8,), 8, Feature.MMA_SYNC),
    Product(MMA, 90, (F64,), (F64,), 16, (8,), 16, Feature.MMA_SYNC_F64, whole=True),
    Product(MMA, 80, (F64,), (F64,), 8, (8,), 4, Feature.MMA_SYNC),
    Product(MMA, 80, (I8,), (I32,), 16, (8,), 32, Feature.MMA_SYNC),
    Product(MMA, 89, (F8E4M3FN, F8E5M2), (F16, F32), 16, (8,), 32, Feature.MMA_SYNC_FP8),
    # Converted to f16 in registers.
    Product(MMA, 80, (F8E4M3FN, F8E5M2), (F16, F32), 16, (8,), 16, Feature.MMA_SYNC),
    Product(MMA, 80, (F4E2M1FN,), (F32,), 16, (8,), 16, Feature.MMA_SYNC),
    Product(WGMMA, 90, (F16,), (F16, F32), 64, _COLUMNS, 16, Feature.WGMMA),
    Product(WGMMA, 90, (BF16,), (F32,), 64, _COLUMNS, 16, Feature.WGMMA),
    Product(WGMMA, 90, (TF32,), (F32,), 64, _COLUMNS, 8, Feature.WGMMA),
    Product(WGMMA, 90, (F8E4M3FN, F8E5M2), (F16, F32), 64, _COLUMNS, 32, Feature.WGMMA),
    Product(WGMMA, 90, (I8,), (I32,), 64, _INTEGER_COLUMNS, 32, Feature.WGMMA),
    Product(UMMA, 100, (F16,), (F16, F32), 128, _WIDE_COLUMNS, 16, Feature.TCGEN05),
    Product(UMMA, 100, (BF16,), (F32,), 128, _WIDE_COLUMNS, 16, Feature.TCGEN05),
    Product(UMMA, 100, (TF32,), (F32,), 128, _WIDE_COLUMNS, 8, Feature.TCGEN05),
    Product(UMMA, 100, (F8E4M3FN, F8E5M2), (F16, F32), 128, _WIDE_COLUMNS, 32, Feature.TCGEN05),
    Product(UMMA, 100, (F4E2M1FN,), (F32,), 128, _WIDE_COLUMNS, 64, Feature.TCGEN05),
    Product(UMMA, 100, (I8,), (I32,), 128, _WIDE_COLUMNS, 32, Feature.TCGEN05_INT8),
    Product(UMMA, 100, (F16,), (F16, F32), 64, _COLUMNS, 16, Feature.TCGEN05),
    Product(UMMA, 100, (BF16,), (F32,), 64, _COLUMNS, 16, Feature.TCGEN05),
    Product(UMMA, 100, (TF32,), (F32,), 64, _COLUMNS, 8, Feature.TCGEN05),
    Product(UMMA, 100, (F8E4M3FN, F8E5M2), (F16, F32), 64, _COLUMNS, 32, Feature.TCGEN05),
    Product(UMMA, 100, (I8,), (I32,), 64, _INTEGER_COLUMNS, 32, Feature.TCGEN05_INT8),
    Product(FMA, 0, (F32,), (F32,), 1, (1,), 1, None),
)
"""Every instruction for products. Of those of a primitive, the first that the target supports is used."""


class ScaleVector(NamedTuple):
    """How mma.sync with scales of blocks is spelled: its kind, the blocks along K, and the type of the scales."""

    kind: str
    blocks: int
    format: str


SCALE_VECTORS: Mapping[tuple[int, int, Type], ScaleVector] = {
    (32, 32, F8E8M0FNU): ScaleVector("mxf8f6f4", 1, "ue8m0"),
    (64, 32, F8E8M0FNU): ScaleVector("mxf4", 2, "ue8m0"),
    (64, 16, F8E4M3FN): ScaleVector("mxf4nvf4", 4, "ue4m3"),
}
"""(k of the instruction, elements of a block, type of the scales) → the form of mma.sync with scales of blocks.

Source: PTX ISA, "Block Scaling for mma.sync"."""


@dataclass(frozen=True, slots=True)
class ProductPrimitive:
    """One way to multiply tiles."""

    emitters: tuple[str, ...]
    """The ops that may carry an atom of the primitive, and whose lowering emits it."""
    layouts: Callable[[Sequence[int], int, int, tuple[int, int, int], Sequence[int]], products.ProductLayouts]
    """(shape of the accumulator, K, bits of an operand's element, the instruction's shape, the grid of warps) → which
    thread holds which element of A, B and the accumulator."""


PRODUCT_PRIMITIVES: Mapping[str, ProductPrimitive] = {
    MMA: ProductPrimitive(("nv_tileas.dot",), products.mma_layouts),
    FMA: ProductPrimitive(("nv_tileas.dot",), products.fma_layouts),
    WGMMA: ProductPrimitive(("nv_tileas.async.dot",), products.wgmma_layouts),
    UMMA: ProductPrimitive(("nv_tileas.async.umma",), products.umma_layouts),
}
"""Every primitive of products, by the word in its spelling."""

_SHAPE = re.compile(r"sm(\d+)_(?:(\w+)_)?m(\d+)n(\d+)k(\d+)")


def read_shape(word: str) -> tuple[str, int, tuple[int, int, int]]:
    """(primitive, architecture, (m, n, k)) of `sm80_m16n8k16`, `sm90_wgmma_m64n128k16`, `sm100_umma_m128n256k16` or
    `fma`; ValueError for others."""
    if word == FMA:
        return FMA, 0, (1, 1, 1)
    match = _SHAPE.fullmatch(word)
    if match is None or (match[2] or MMA) not in PRODUCT_PRIMITIVES or match[2] == FMA:
        raise ValueError(
            f"unknown mma shape '{word}'; expected e.g. sm80_m16n8k16, sm90_wgmma_m64n128k16, "
            "sm100_umma_m128n256k16, or fma"
        )
    return match[2] or MMA, int(match[1]), (int(match[3]), int(match[4]), int(match[5]))


_SUPPORTED = {
    WGMMA: "wgmma supports m = 64, n a multiple of 8 from 8 to 256, and 32 bytes of k",
    UMMA: "tcgen05.mma supports m = 64 with n a multiple of 8 from 8 to 256, m = 128 with n a multiple of 16 from 16 "
    "to 256, and 32 bytes of k",
}
"""What the instructions of a primitive support, where it is not what a row of the table says."""


class MmaAtom(Attribute):
    """The base of atoms of products: the primitive, its shape, and the types of A, B and the accumulator."""

    primitive: str
    since: int
    mnk: tuple[int, int, int]
    a: Type
    b: Type
    accumulator: Type

    def verify(self) -> None:
        supported = _SUPPORTED.get(self.primitive)
        if supported is not None and not self.rows():
            raise ValueError(
                f"no instruction computes {self.shape} with {self.a} and {self.b} into {self.accumulator}; {supported}"
            )

    @property
    def shape(self) -> str:
        """The text of the primitive and its shape: sm80_m16n8k16."""
        if self.primitive == FMA:
            return FMA
        m, n, k = self.mnk
        word = "" if self.primitive == MMA else f"{self.primitive}_"
        return f"sm{self.since}_{word}m{m}n{n}k{k}"

    def rows(self) -> list[Product]:
        """The table entries of the atom; empty if it is not an instruction."""
        m, n, k = self.mnk
        a, b = (signless(t) for t in (self.a, self.b))
        return [
            row
            for row in PRODUCTS
            if (row.primitive, row.since, row.m, row.k) == (self.primitive, self.since, m, k)
            and n in row.n
            and a in row.operands
            and b in row.operands
            and self.accumulator in row.accumulators
        ]

    @property
    def row(self) -> ProductPrimitive:
        """The table entry of the primitive."""
        return PRODUCT_PRIMITIVES[self.primitive]

    @property
    def is_scaled(self) -> bool:
        """True if the instruction is mma.sync that multiplies by scales of blocks itself."""
        return any(row.scaled for row in self.rows())

    @property
    def is_fma(self) -> bool:
        """True if the atom does not use tensor cores."""
        return self.primitive == FMA


def signless(type: Type) -> Type:
    """The type in tiles of an atom's element: only atoms specify the signedness of integers."""
    return IntegerType(type.width) if isinstance(type, IntegerType) else type


def scale_vector(dot: nv_tileaa.Dot | nv_tileas.Dot, k: int) -> ScaleVector | None:
    """How mma.sync of depth `k` takes the scales of a product, of either stage; None if it does not."""
    if not dot.scales:
        return None
    depth, (scale, other) = dot.a.type.shape[-1], (value.type for value in dot.scales)
    if depth < k or scale.element is not other.element:
        return None
    return SCALE_VECTORS.get((k, depth // scale.shape[-1], scale.element))


def least_bits(element: Type) -> int:
    """Bits of the smallest access that moves one element."""
    width = bit_width(element)
    return 8 if width == 1 else 1 << (width - 1).bit_length()


def check_emitter(op: Operation, emitters: tuple[str, ...], atom: Attribute) -> None:
    """An error for an op whose lowering does not emit the atom that it carries."""
    if op.name not in emitters:
        takers = " or ".join(emitters) or "no op in this version"
        raise op.error(f"has the atom {atom}, which its lowering does not emit; expected on {takers}")
