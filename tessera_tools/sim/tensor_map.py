"""Tensor maps: the arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, in 128 bytes of a private layout.

    tensor_map("f16", address, dims, strides, box, …) ──▶ TensorMap ──encode()──▶ 128 bytes: a kernel's parameter
                                                                   ◀──decode()──

The driver's encoding is not public, so the simulated GPU has its own; kernels treat both as opaque.
Dimensions are innermost first, as in the driver API. Little endian:

| byte | what | | byte | what |
| --- | --- | --- | --- | --- |
| 0 | `TSRA` | | 44 | 4 × 5 bytes: strides of dimensions 1 to 4 in bytes |
| 4 | mode: 0 tile, 1 im2col | | 64 | 5 × u16: box |
| 5 | element type (PTX numbers) | | 74 | 5 × u8: element strides |
| 6 | rank | | 80 | 3 × s16: lower corner of the pixel box |
| 7 | interleave: 0, 1 16B, 2 32B | | 86 | 3 × s16: upper corner |
| 8 | swizzle: 0, 1 32B, 2 64B, 3 128B | | 92 | u16: channels per pixel |
| 9 | L2 promotion | | 94 | u16: pixels per column |
| 10 | fill: 0 zeros, 1 NaN | | 96 | zeros |
| 11 | swizzle atomicity | | | |
| 16 | u64: global address | | 24 | 5 × u32: dimensions less 1 |

Sources: CUDA Driver API, "Tensor Map Object Management"; PTX ISA, "Tensors", "tensormap.replace".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessera_tools.sim.memory import Buffer

__all__ = ["ELEMENTS", "Element", "TensorMap", "TensorMapError", "tensor_map", "tensor_map_im2col"]

MAGIC = b"TSRA"
"""The first bytes of every map."""
SIZE = 128
INTERLEAVES = ("none", "16B", "32B")
SWIZZLES = ("none", "32B", "64B", "128B", "128B_atom_32B")
"""As the driver API names them.  The last one is the mode of the one before, with atomicity 1."""
SPANS = (16, 32, 64, 128)
"""Span of each swizzle in bytes."""
FILLS = ("zeros", "nan")
PROMOTIONS = ("none", "64B", "128B", "256B")


class TensorMapError(ValueError):
    """A tensor map that the driver would reject, or bytes that are not a tensor map."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element type. `size` bytes in memory and `shared` in shared memory hold `group` elements."""

    name: str
    size: int
    shared: int
    group: int = 1
    is_float: bool = False


ELEMENTS = (
    Element("u8", 1, 1),
    Element("u16", 2, 2),
    Element("u32", 4, 4),
    Element("s32", 4, 4),
    Element("u64", 8, 8),
    Element("s64", 8, 8),
    Element("f16", 2, 2, is_float=True),
    Element("f32", 4, 4, is_float=True),
    Element("f32.ftz", 4, 4, is_float=True),
    Element("f64", 8, 8, is_float=True),
    Element("bf16", 2, 2, is_float=True),
    Element("tf32", 4, 4, is_float=True),
    Element("tf32.ftz", 4, 4, is_float=True),
    Element("b4x16", 8, 8, 16),
    Element("b4x16_p64", 8, 16, 16),
    Element("b6x16_p32", 12, 16, 16),
)
"""By their number (PTX ISA, "tensormap.replace", .elemtype)."""
_NAMES = {element.name: number for number, element in enumerate(ELEMENTS)}


@dataclass(slots=True)
class TensorMap:
    """A tensor map, decoded. Tuples are innermost dimension first; `strides` (bytes) begin with dimension 1."""

    element: int
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0
    atomicity: int = 0
    im2col: bool = False
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def type(self) -> Element:
        return ELEMENTS[self.element]

    def encode(self) -> bytes:
        """The 128 bytes."""
        corners = [*self.lower, 0, 0, 0][:3] + [*self.upper, 0, 0, 0][:3]
        pad = [*range(5)]
        head = struct.pack(
            "<4s8B4xQ",
            MAGIC, int(self.im2col), self.element, self.rank, self.interleave, self.swizzle, self.promotion,
            self.fill, self.atomicity, self.address,
        )  # fmt: skip
        dims = struct.pack("<5I", *(self.dims[n] - 1 if n < self.rank else 0 for n in pad))
        strides = b"".join(
            (self.strides[n] if n < self.rank - 1 else 0).to_bytes(5, "little") for n in range(4)
        )
        box = struct.pack("<5H", *(self.box[n] if n < len(self.box) else 0 for n in pad))
        steps = struct.pack("<5B", *(self.element_strides[n] if n < self.rank else 1 for n in pad))
        tail = struct.pack("<x6h2H", *corners, self.channels, self.pixels)
        return (head + dims + strides + box + steps + tail).ljust(SIZE, b"\0")

    @staticmethod
    def decode(raw: bytes) -> TensorMap:
        """Decode the map in 128 bytes. Raises TensorMapError if they are not a map."""
        if len(raw) != SIZE or raw[:4] != MAGIC:
            raise TensorMapError("not a tensor map; create one with sim.tensor_map(…)")
        mode, element, rank, interleave, swizzle, promotion, fill, atomicity = raw[4:12]
        if element >= len(ELEMENTS) or not 1 <= rank <= 5 or interleave > 2 or swizzle > 3 or fill > 1:
            raise TensorMapError(
                f"a tensor map with element type {element}, rank {rank}, interleave {interleave}, "
                f"swizzle {swizzle}, fill {fill}"
            )
        (address,) = struct.unpack_from("<Q", raw, 16)
        dims = tuple(n + 1 for n in struct.unpack_from("<5I", raw, 24)[:rank])
        strides = tuple(int.from_bytes(raw[44 + 5 * n : 49 + 5 * n], "little") for n in range(rank - 1))
        box = struct.unpack_from("<5H", raw, 64)[:rank]
        steps = tuple(raw[74 : 74 + rank])
        corners = struct.unpack_from("<6h2H", raw, 80)
        im2col = mode == 1
        spatial = rank - 2 if im2col else 0
        return TensorMap(
            element, address, dims, strides, box, steps, interleave, swizzle, promotion, fill, atomicity,
            im2col, corners[:spatial], corners[3 : 3 + spatial], corners[6], corners[7],
        )  # fmt: skip

    def check(self) -> None:
        """All checks of the driver. Raises TensorMapError."""
        rank, element = self.rank, self.type
        _require(1 <= rank <= 5, f"rank {rank}; expected 1 to 5")
        _require(not self.im2col or rank >= 3, f"rank {rank} for im2col; expected 3 to 5")
        _require(not self.interleave or rank >= 3, f"rank {rank} with an interleave; expected 3 to 5")
        align = 32 if self.interleave == 2 or element.shared != element.size else 16
        _require(self.address % align == 0, f"address {self.address:#x}; expected a multiple of {align}")
        _require(all(1 <= n <= 1 << 32 for n in self.dims), f"dimensions {self.dims}; expected 1 to 2^32")
        _require(len(self.strides) == rank - 1, f"{len(self.strides)} strides for rank {rank}; one less")
        for stride in self.strides:
            _require(
                stride % align == 0 and 0 <= stride < 1 << 40,
                f"a stride of {stride} bytes; expected a multiple of {align} below 2^40",
            )
        _require(
            len(self.element_strides) == rank, f"{len(self.element_strides)} element strides for rank {rank}"
        )
        _require(
            all(1 <= n <= 8 for n in self.element_strides),
            f"element strides {self.element_strides}; expected 1 to 8",
        )
        if self.im2col:
            inner = self._check_im2col()
        else:
            _require(len(self.box) == rank, f"{len(self.box)} box dimensions for rank {rank}")
            _require(all(1 <= n <= 256 for n in self.box), f"a box of {self.box}; expected 1 to 256 in each")
            inner = self.box[0]
        _require(
            inner % element.group == 0 and self.dims[0] % element.group == 0,
            f"{element.name} elements come in groups of {element.group}",
        )
        size = inner // element.group * element.shared
        if self.interleave == 0:
            _require(size % 16 == 0, f"an innermost box dimension of {size} bytes; expected a multiple of 16")
            wide = self.atomicity == 1 and self.swizzle == 3
            _require(
                self.atomicity == 0 or wide,
                f"swizzle atomicity {self.atomicity}; expected 16 bytes (0), or 32 bytes (1) with the 128B swizzle",
            )
            if self.swizzle:
                span = SPANS[self.swizzle]
                _require(
                    size <= span,
                    f"an innermost box dimension of {size} bytes; with the {span}B swizzle at most {span}",
                )
        else:
            slice_size = 16 * self.interleave
            _require(size == slice_size, f"a slice of {size} bytes; the interleave has {slice_size}")
        _require(self.interleave != 2 or self.swizzle == 1, "the 32B interleave needs the 32B swizzle")
        _require(
            self.fill == 0 or element.is_float,
            f"NaN fill for {element.name}, which is not a floating-point type",
        )

    def _check_im2col(self) -> int:
        spatial = self.rank - 2
        limit = {1: 1 << 15, 2: 1 << 7, 3: 1 << 4}[spatial]
        for name, corner in (("lower", self.lower), ("upper", self.upper)):
            _require(
                len(corner) == spatial, f"{len(corner)} numbers for the {name} corner; expected {spatial}"
            )
            _require(
                all(-limit <= n < limit for n in corner),
                f"the {name} corner {corner}; expected {-limit} to {limit - 1}",
            )
        _require(1 <= self.channels <= 256, f"{self.channels} channels per pixel; expected 1 to 256")
        _require(1 <= self.pixels <= 1024, f"{self.pixels} pixels per column; expected 1 to 1024")
        return self.channels


def _require(condition: bool, found: str) -> None:
    if not condition:
        raise TensorMapError(f"the tensor map has {found}")


def _index(names: Sequence[str], value: str, what: str) -> int:
    if value not in names:
        raise TensorMapError(f"the {what} is '{value}'; expected one of {', '.join(names)}")
    return names.index(value)


def _swizzle(name: str) -> tuple[int, int]:
    """The mode of a swizzle, and its atomicity."""
    found = _index(SWIZZLES, name, "swizzle")
    return (found, 0) if found < len(SPANS) else (len(SPANS) - 1, 1)


def _number(element: str) -> int:
    if element not in _NAMES:
        raise TensorMapError(f"the element type is '{element}'; expected one of {', '.join(_NAMES)}")
    return _NAMES[element]


def _strides(element: Element, dims: Sequence[int], strides: Sequence[int] | None) -> tuple[int, ...]:
    """The given strides, or those of a dense tensor."""
    if strides is not None:
        return tuple(strides)
    found: list[int] = []
    size = dims[0] // element.group * element.size
    for extent in dims[1:]:
        found.append(size)
        size *= extent
    return tuple(found)


def tensor_map(
    element: str,
    address: Buffer | int,
    dims: Sequence[int],
    box: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    element_strides: Sequence[int] | None = None,
    interleave: str = "none",
    swizzle: str = "none",
    l2_promotion: str = "none",
    fill: str = "zeros",
) -> bytes:
    """A tensor map for tiles, like that of cuTensorMapEncodeTiled, as 128 bytes for a kernel's argument.

    `dims` (elements), `box` (elements) and `element_strides` are innermost first; `strides` (bytes) begin with
    dimension 1 and default to those of a dense tensor. `element` is one of ELEMENTS. Raises TensorMapError.
    """
    number = _number(element)
    mode, atomicity = _swizzle(swizzle)
    made = TensorMap(
        number,
        address if isinstance(address, int) else address.address,
        tuple(dims),
        _strides(ELEMENTS[number], dims, strides),
        tuple(box),
        tuple(element_strides or [1] * len(dims)),
        _index(INTERLEAVES, interleave, "interleave"),
        mode,
        _index(PROMOTIONS, l2_promotion, "L2 promotion"),
        _index(FILLS, fill, "fill"),
        atomicity,
    )
    made.check()
    return made.encode()


def tensor_map_im2col(
    element: str,
    address: Buffer | int,
    dims: Sequence[int],
    lower: Sequence[int],
    upper: Sequence[int],
    channels: int,
    pixels: int,
    *,
    strides: Sequence[int] | None = None,
    element_strides: Sequence[int] | None = None,
    interleave: str = "none",
    swizzle: str = "none",
    l2_promotion: str = "none",
    fill: str = "zeros",
) -> bytes:
    """A tensor map for columns of pixels, like that of cuTensorMapEncodeIm2col.

    `dims` are (C, W, N), (C, W, H, N) or (C, W, H, D, N); `lower` and `upper` are the corners of the pixel box,
    (W), (W, H) or (W, H, D): base pixels run from `lower` to the last pixel plus `upper`. Raises TensorMapError.
    """
    number = _number(element)
    mode, atomicity = _swizzle(swizzle)
    made = TensorMap(
        number,
        address if isinstance(address, int) else address.address,
        tuple(dims),
        _strides(ELEMENTS[number], dims, strides),
        (),
        tuple(element_strides or [1] * len(dims)),
        _index(INTERLEAVES, interleave, "interleave"),
        mode,
        _index(PROMOTIONS, l2_promotion, "L2 promotion"),
        _index(FILLS, fill, "fill"),
        atomicity,
        im2col=True,
        lower=tuple(lower),
        upper=tuple(upper),
        channels=channels,
        pixels=pixels,
    )
    made.check()
    return made.encode()
