"""tcgen05.mma: every kind, type, shape, operand place and swizzle against NumPy float64, and invalid ones."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pytest
from programs import assembled
from sim.instructions.tensor_memory_kernel import A_AT, B_AT, kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim.instruction_descriptor import SCALED, encode
from tessera_tools.sim.matrix_descriptor import encode_blackwell

SEED = secrets.randbits(32)
BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "u8": 8,
    "s8": 8,
    "e2m3": 6,
    "e3m2": 6,
    "e2m1": 4,
}
FLOATS = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e2m1": (2, 1, 1)}
"""Bits of the exponent and the fraction, and the bias."""


def small(patterns: np.ndarray, name: str) -> np.ndarray:
    """The values of small floats, by the definition of their format; only finite ones."""
    exponent, fraction, bias = FLOATS[name]
    bits = patterns.astype(np.int64)
    e, f = bits >> fraction & (1 << exponent) - 1, bits & (1 << fraction) - 1
    magnitude = np.where(
        e == 0, f * 2.0 ** (1 - bias - fraction), (1 + f * 2.0**-fraction) * 2.0 ** (e - bias)
    )
    return np.where(bits >> exponent + fraction & 1, -magnitude, magnitude)


def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Random patterns (unsigned, one an element) and their values."""
    if name == "f16":
        half = rng.standard_normal(shape).astype(np.float16)
        return half.view(np.uint16), half.astype(np.float64)
    if name in ("bf16", "tf32"):
        word = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
        word &= np.uint32(0xFFFF0000 if name == "bf16" else 0xFFFFE000)
        values = word.view(np.float32).astype(np.float64)
        return ((word >> 16).astype(np.uint16), values) if name == "bf16" else (word, values)
    if name in ("u8", "s8"):
        octets = rng.integers(0, 256, shape).astype(np.uint8)
        return octets, octets.astype(np.float64) if name == "u8" else octets.view(np.int8).astype(np.float64)
    patterns = rng.integers(0, 1 << BITS[name], shape).astype(np.uint8)
    if name in ("e4m3", "e5m2"):
        patterns &= 0xBF
    return patterns, small(patterns, name)


def octets(patterns: np.ndarray, name: str, kind: str) -> np.ndarray:
    """Rows of patterns → rows of bytes in shared memory."""
    rows = patterns.shape[0]
    if kind in ("mxf4", "mxf4nvf4"):
        return patterns[:, ::2] | patterns[:, 1::2] << 4
    if BITS[name] >= 8:
        return np.ascontiguousarray(patterns).view(np.uint8).reshape(rows, -1)
    groups = patterns.reshape(rows, -1, 16)
    bits = np.unpackbits(groups[..., None], axis=-1, bitorder="little")[..., : BITS[name]]
    packed = np.packbits(bits.reshape(rows, groups.shape[1], -1), axis=-1, bitorder="little")
    return np.pad(packed, ((0, 0), (0, 0), (0, 16 - packed.shape[-1]))).reshape(rows, -1)


def swizzled(address: int, swizzle: int | str) -> int:
    """The figures of the ISA: 16-byte chunks (or 32-byte ones) are permuted by the row of 128 bytes."""
    if swizzle == "128b32":
        return address ^ (address >> 7 & 3) << 5
    return address if not swizzle else address ^ (address >> 7 & (int(swizzle) // 16 - 1)) << 4


def place(
    rows: np.ndarray, at: int, swizzle: int | str, image: np.ndarray, *, transposed: bool = False
) -> int:
    """Put rows of bytes into the image of shared memory; the descriptor. Transposed: the rows are those of K."""
    count, chunks = rows.shape[0], rows.shape[1] // 16
    if not transposed:
        step = int(swizzle) or 16
        leading, stride = (16, 8 * step) if swizzle else (16 * count, 128)
        where = {
            (row, chunk): row % 8 * step + row // 8 * stride + chunk * (16 if swizzle else leading)
            for row in range(count)
            for chunk in range(chunks)
        }
    elif not swizzle:
        stride, leading = 128, 128 * chunks
        where = {
            (k, c): c * stride + k % 8 * 16 + k // 8 * leading for k in range(count) for c in range(chunks)
        }
    else:
        span, group = (128, 4) if swizzle == "128b32" else (int(swizzle), 8)
        wide = span // 16
        leading = group * span * (count // group)
        stride = group * span
        where = {
            (k, c): c % wide * 16 + c // wide * leading + k % group * span + k // group * stride
            for k in range(count)
            for c in range(chunks)
        }
    for (row, chunk), offset in where.items():
        to = swizzled(at + offset, swizzle) - A_AT
        image[to : to + 16] = rows[row, 16 * chunk : 16 * chunk + 16]
    return encode_blackwell(at, leading, stride, swizzle)


def rows_of_d(m: int, n: int, group: int, stationary: bool) -> tuple[np.ndarray, np.ndarray]:
    """The lane and the column of each element of D in its CTA [rows, n], by the figures of the ISA."""
    rows = m // group
    row, column = np.mgrid[:rows, :n]
    if rows == 128:
        return row, column
    if rows == 32:
        return row + 32 * (column // (n // 4)), column % (n // 4)
    if stationary or group == 2:
        return row + 64 * (column // (n // 2)), column % (n // 2)
    return row % 16 + 32 * (row // 16), column


class Case:
    """One product: random operands, images of the memories, and the expected D."""

    def __init__(self, kind: str, a: str, b: str, d: str = "f32", m: int = 128, n: int = 32, *, group: int = 1,
                 swizzles: tuple[int | str, int | str] = (128, 128), transposed: tuple[bool, bool] = (False, False),
                 from_tmem: bool = False, stationary: bool = False, accumulate: bool = True, shift: int = 0,
                 negate: tuple[bool, bool] = (False, False), disabled: bool = False, scale: str = "ue8m0",
                 vector: str = "", lane: int = 0, saturate: bool = False, shifts_a: bool = False,
                 zero_columns: tuple[int, list[int], int] | None = None,
                 instruction: int | None = None) -> None:  # fmt: skip
        # zero_columns: descriptor, a 1 for each column of D that it makes zero, first column of B that is used
        rng = np.random.default_rng(SEED)
        k = {"f16": 16, "tf32": 8, "mxf4": 64, "mxf4nvf4": 64}.get(kind, 32)
        first = zero_columns[2] if zero_columns is not None else 0
        (pa, va), (pb, vb) = draw(rng, a, (m, k)), draw(rng, b, (n + first, k))
        self.image = np.zeros((group, 65536), np.uint8)
        self.words = np.zeros((group, 128, 128), np.uint32)
        self.group, self.d, self.lane = group, d, lane
        rows, columns = m // group, n // group
        for cta in range(group):
            mine = pa[rows * cta : rows * cta + rows]
            if from_tmem:
                self._a_in_tmem(cta, mine, a, kind, stationary or (group == 2 and rows == 64), rows)
                da = 0
            elif transposed[0]:
                da = place(octets(mine.T, a, kind), A_AT, swizzles[0], self.image[cta], transposed=True)
            else:
                da = place(octets(mine, a, kind), A_AT, swizzles[0], self.image[cta])
            other = pb[columns * cta : columns * cta + columns + first]
            other = octets(other.T if transposed[1] else other, b, kind)
            db = place(other, B_AT, swizzles[1], self.image[cta], transposed=transposed[1])
        before = self._before(rng, m, n)
        for cta in range(group):
            lanes, at = rows_of_d(m, n, group, stationary)
            self.words[cta][lanes + lane, at] = before[1][rows * cta : rows * cta + rows]
        if kind in SCALED:
            va, vb = self._scales(rng, kind, vector, scale, va, vb, rows, group)
        if shifts_a:
            # Each row is the next one, but for the last of each CTA.
            following = [min(row + 1, row // rows * rows + rows - 1) for row in range(m)]
            va = va[following]
        if zero_columns is not None:
            vb = vb[first:] * (1 - np.array(zero_columns[1]))[:, None]
        signs = (-1 if negate[0] else 1) * (-1 if negate[1] else 1)
        held = before[0] * 2.0**-shift if accumulate else 0
        self.exact = signs * (va @ vb.T) + held
        if saturate:
            self.exact = np.clip(self.exact, -(2.0**31), 2.0**31 - 1)
        self.scale_of_error = np.abs(va) @ np.abs(vb).T + np.abs(held)
        self.places = rows_of_d(m, n, group, stationary)
        self.rows = rows
        name = instruction if instruction is not None else encode(
            kind, m, n, a, b, d, negate=negate, transposed=transposed, scale=scale, saturate=saturate
        )  # fmt: skip
        self.parameters = (da, db, zero_columns[0] if zero_columns is not None else 0, int(accumulate))
        block = f".block_scale{'.' + vector if vector else ''}" if kind in SCALED else ""
        text = f"tcgen05.mma{'.ws' if stationary else ''}.cta_group::{group}.kind::{kind}{block}"
        text += f"{'.ashift' if shifts_a else ''} [%t+{lane << 16}], "
        text += f"{'[%t+96]' if from_tmem else '%x0'}, %x1, {name}"
        if kind in SCALED:
            text += ", [%t+112], [%t+116]"
        self.mask = np.zeros((group, 128), np.bool_)
        if disabled:
            self.mask = rng.random((group, 128)) < 0.3
            mask = np.packbits(self.mask.reshape(-1), bitorder="little").view(np.uint32)
            text += f", {{{', '.join(map(str, mask))}}}"
        text += (
            ", %p4" + (f", {shift}" if shift else "") + (", %x2" if zero_columns is not None else "") + ";"
        )
        if disabled:
            moves = "".join(f"mov.u32 %d{i + 100}, {word};\n" for i, word in enumerate(map(int, mask)))
            named = ", ".join(f"%d{i + 100}" for i in range(len(mask)))
            text = moves + text.replace(f"{{{', '.join(map(str, mask))}}}", f"{{{named}}}")
        self.text = f"mov.u32 %r10, {name};\n" + text.replace(f", {name}", ", %r10", 1)

    def _before(self, rng: np.random.Generator, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        if self.d == "s32":
            held = rng.integers(-(1 << 31), 1 << 31, (m, n)).astype(np.int32)
            return held.astype(np.float64), held.view(np.uint32)
        if self.d == "f16":
            half = rng.standard_normal((m, n)).astype(np.float16)
            return half.astype(np.float64), half.view(np.uint16).astype(np.uint32)
        single = rng.standard_normal((m, n)).astype(np.float32)
        return single.astype(np.float64), single.view(np.uint32)

    def _a_in_tmem(
        self, cta: int, rows: np.ndarray, name: str, kind: str, repeated: bool, count: int
    ) -> None:
        if BITS[name] < 8 and kind not in ("mxf4", "mxf4nvf4"):
            raw = rows << 2 if name == "e2m1" else rows
        else:
            raw = octets(rows, name, kind)
        words = np.ascontiguousarray(raw).view(np.uint32)
        row = np.arange(count)
        for copy in range(128 // count if repeated else 1):
            lanes = (
                row + count * copy if repeated or count == 128 else row % 16 + 32 * (row // 16) + self.lane
            )
            self.words[cta][lanes, 96:104] = words

    def _scales(self, rng: np.random.Generator, kind: str, vector: str, scale: str, va: np.ndarray, vb: np.ndarray,
                rows: int, group: int) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        block = 16 if vector in ("scale_vec::4X", "block16") else 32
        count = va.shape[1] // block
        result = []
        for values, at, own in ((va, 112, True), (vb, 116, False)):
            low, high = (120, 134) if scale == "ue8m0" else (0, 127)
            factors = rng.integers(low, high, (len(values), count)).astype(np.uint8)
            worth = 2.0 ** (factors.astype(int) - 127) if scale == "ue8m0" else small(factors, "e4m3")
            for cta in range(group):
                mine = factors[rows * cta : rows * cta + rows] if own else factors
                halves = 2 if not own and group == 2 and rows == 64 else 1
                extent = len(mine) // halves
                for lane in range(128):
                    for column in range(-(-extent // 32)):
                        row = extent * (lane // 64 if halves == 2 else 0) + 32 * column + lane % 32
                        if 32 * column + lane % 32 < extent:
                            word = np.zeros(4, np.uint8)
                            word[:count] = mine[row]
                            self.words[cta, lane, at + column] = word.view(np.uint32)[0]
            result.append(values * np.repeat(worth, block, axis=1))
        return result[0], result[1]

    def check(self, **options: Any) -> None:
        """Run the product; it has no findings, and the result is right."""
        result, after = run(self.text, self.image, self.words, self.parameters, group=self.group, **options)
        assert not result.findings, result.findings.text("k.ptx") + f"seed {SEED}"
        lanes, columns = self.places
        for cta in range(self.group):
            part = slice(self.rows * cta, self.rows * cta + self.rows)
            found = np.ascontiguousarray(after[cta][lanes + self.lane, columns])
            old = self.words[cta][lanes + self.lane, columns]
            kept = self.mask[cta][lanes + self.lane]
            assert (found[kept] == old[kept]).all()
            exact, error = self.exact[part], self.scale_of_error[part]
            if self.d == "s32":
                assert (found == exact.astype(np.int64).astype(np.uint32)).all(), f"seed {SEED}"
                continue
            values = (
                found.astype(np.uint16).view(np.float16) if self.d == "f16" else found.view(np.float32)
            ).astype(np.float64)
            limit = error * (2.0**-10 if self.d == "f16" else 2.0**-22) + 1e-30
            assert (np.abs(values - exact)[~kept] <= limit[~kept]).all(), f"seed {SEED}"


PLAIN = [
    ("f16", "f16", "f16", "f32"),
    ("f16", "f16", "f16", "f16"),
    ("f16", "bf16", "bf16", "f32"),
    ("tf32", "tf32", "tf32", "f32"),
    ("i8", "s8", "u8", "s32"),
    ("f8f6f4", "e4m3", "e5m2", "f32"),
    ("f8f6f4", "e2m3", "e3m2", "f16"),
    ("f8f6f4", "e2m1", "e4m3", "f32"),
]


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(("kind", "a", "b", "d"), PLAIN)
def test_each_kind_multiplies_its_types(kind: str, a: str, b: str, d: str, mode: str) -> None:
    Case(kind, a, b, d).check(mode=mode)


@pytest.mark.parametrize(("m", "n"), [(64, 8), (64, 64), (128, 16), (128, 96)])
def test_each_shape_of_one_cta(m: int, n: int) -> None:
    Case("f16", "bf16", "bf16", m=m, n=n).check()


def test_d_of_64_rows_can_begin_at_lane_16() -> None:
    Case("f16", "f16", "f16", m=64, lane=16).check()


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_each_swizzle(swizzle: int) -> None:
    Case("f16", "f16", "f16", n=64, swizzles=(swizzle, swizzle)).check()


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize(
    ("kind", "name"), [("f16", "f16"), ("f8f6f4", "e5m2"), ("i8", "s8"), ("tf32", "tf32")]
)
def test_mn_major_matrices(kind: str, name: str, swizzle: int) -> None:
    d = "s32" if kind == "i8" else "f32"
    Case(
        kind,
        name,
        name,
        d,
        n=128 if kind != "tf32" else 32,
        swizzles=(swizzle, swizzle),
        transposed=(True, True),
    ).check()


def test_parts_of_32_bytes_in_a_swizzle_of_128() -> None:
    Case("tf32", "tf32", "tf32", n=32, swizzles=("128b32", "128b32"), transposed=(True, True)).check()


@pytest.mark.parametrize(("kind", "name", "d"), [("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("i8", "s8", "s32"),
                                                 ("f8f6f4", "e4m3", "f32"), ("f8f6f4", "e2m1", "f32"),
                                                 ("f8f6f4", "e3m2", "f32")])  # fmt: skip
@pytest.mark.parametrize("m", [64, 128])
def test_a_in_tensor_memory(kind: str, name: str, d: str, m: int) -> None:
    Case(kind, name, name, d, m=m, from_tmem=True).check()


@pytest.mark.parametrize(("m", "n"), [(32, 64), (64, 64), (128, 64), (32, 256)])
@pytest.mark.parametrize("from_tmem", [False, True])
def test_stationary_weights(m: int, n: int, from_tmem: bool) -> None:
    Case("f16", "f16", "f16", m=m, n=n, stationary=True, from_tmem=from_tmem).check()


@pytest.mark.parametrize(("m", "n"), [(128, 32), (256, 32), (256, 96)])
@pytest.mark.parametrize("from_tmem", [False, True])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_pairs_of_ctas(m: int, n: int, from_tmem: bool, mode: str) -> None:
    Case("f16", "bf16", "bf16", m=m, n=n, group=2, from_tmem=from_tmem).check(mode=mode)


SCALES = [
    ("mxf8f6f4", "e4m3", "e4m3", "ue8m0", ""),
    ("mxf8f6f4", "e5m2", "e2m1", "ue8m0", "scale_vec::1X"),
    ("mxf8f6f4", "e3m2", "e2m3", "ue8m0", "block32"),
    ("mxf4", "e2m1", "e2m1", "ue8m0", "scale_vec::2X"),
    ("mxf4nvf4", "e2m1", "e2m1", "ue8m0", "scale_vec::2X"),
    ("mxf4nvf4", "e2m1", "e2m1", "ue4m3", "scale_vec::4X"),
    ("mxf4nvf4", "e2m1", "e2m1", "ue4m3", "block16"),
]


@pytest.mark.parametrize(("kind", "a", "b", "scale", "vector"), SCALES)
@pytest.mark.parametrize("n", [32, 64])
def test_block_scales(kind: str, a: str, b: str, scale: str, vector: str, n: int) -> None:
    Case(kind, a, b, n=n, scale=scale, vector=vector).check()


@pytest.mark.parametrize(
    ("m", "kind", "vector"), [(256, "mxf8f6f4", "scale_vec::1X"), (256, "mxf4", ""), (128, "mxf4", "")]
)
def test_block_scales_of_pairs(m: int, kind: str, vector: str) -> None:
    name = "e4m3" if kind == "mxf8f6f4" else "e2m1"
    Case(kind, name, name, m=m, n=64, group=2, vector=vector).check()


def test_options_of_the_descriptor_and_operands() -> None:
    Case("f16", "f16", "f16", accumulate=False).check()
    Case("f16", "f16", "f16", negate=(True, False)).check()
    Case("f16", "f16", "f16", negate=(True, True)).check()
    Case("tf32", "tf32", "tf32", shift=5).check()
    Case("i8", "s8", "s8", "s32", saturate=True).check()


@pytest.mark.parametrize("group", [1, 2])
def test_disabled_lanes_keep_d(group: int) -> None:
    Case("f16", "f16", "f16", m=128 * group, group=group, disabled=True).check()


@pytest.mark.parametrize(("m", "group"), [(128, 1), (256, 2)])
@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4", "i8"])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_ashift_takes_the_next_row_of_a(m: int, group: int, kind: str, mode: str) -> None:
    name, d = {
        "f16": ("bf16", "f32"),
        "tf32": ("tf32", "f32"),
        "f8f6f4": ("e4m3", "f16"),
        "i8": ("s8", "s32"),
    }[kind]
    Case(kind, name, name, d, m=m, group=group, from_tmem=True, shifts_a=True).check(mode=mode)


def test_ashift_needs_all_lanes() -> None:
    refused(Case("f16", "f16", "f16", m=64, from_tmem=True, shifts_a=True), "illegal", "M of 64 with .ashift")
    refused(
        Case("f16", "f16", "f16", m=128, group=2, from_tmem=True, shifts_a=True),
        "illegal",
        "M of 128 with .ashift; expected 256",
    )


def refused(case: Case, kind: str, message: str) -> None:
    """The launch has this finding."""
    result, _ = run(case.text, case.image, case.words, case.parameters, group=case.group)
    text = result.findings.text("k.ptx")
    assert any(finding.kind == kind and message in finding.message for finding in result.findings), text


def test_invalid_descriptors_are_reported() -> None:
    good = encode("f16", 128, 32, "f16", "f16")
    for change, message in (
        (
            1 << 2,
            f"the instruction descriptor {good | 4:#010x} is for a sparse matrix, which the simulated GPU does not "
            "multiply; expected bit 2 clear",
        ),
        (2 << 7, "type of A"),
        (3 << 4, "type of D"),
        (1 << 3, "saturates"),
    ):
        refused(Case("f16", "f16", "f16", instruction=good | change), "illegal", message)
    refused(
        Case("f16", "f16", "f16", instruction=encode("f16", 256, 32, "f16", "f16")), "illegal", "M of 256"
    )
    refused(Case("f16", "f16", "f16", instruction=encode("f16", 128, 40, "f16", "f16")), "illegal", "N of 40")
    case = Case("f16", "f16", "f16", instruction=good | 1 << 15, from_tmem=True)
    refused(case, "illegal", "A in tensor memory is MN-major; expected bit 15 of the descriptor clear")
    case = Case("f16", "f16", "f16")
    case.text = case.text.replace("[%t+0]", f"[%t+{16 << 16}]")
    refused(case, "illegal", "begins at lane 16")
    case = Case("f16", "f16", "f16")
    case.parameters = (case.parameters[0] & ~(7 << 46), *case.parameters[1:])
    refused(case, "illegal", "bits 46 to 48")
    case.parameters = (case.parameters[0] | 1 << 46 | 0x3FFF, *case.parameters[1:])
    refused(case, "out-of-bounds", "the descriptor of A")


@pytest.mark.parametrize(("m", "n", "group"), [(64, 40, 1), (128, 40, 1), (256, 48, 2)])
def test_integers_take_fewer_shapes(m: int, n: int, group: int) -> None:
    instruction = encode("i8", m, n, "s8", "s8", "s32")
    refused(
        Case("i8", "s8", "s8", "s32", m, 32, group=group, instruction=instruction), "illegal", f"N of {n}"
    )


@pytest.mark.parametrize("n", [8, 24, 48])
def test_integers_of_few_columns(n: int) -> None:
    Case("i8", "s8", "s8", "s32", m=64, n=n).check()


def test_scale_factors_must_be_in_every_group_of_32_lanes() -> None:
    case = Case("mxf4", "e2m1", "e2m1")
    case.words[0, 40, 112] ^= 0xFF
    refused(case, "illegal", "the scale factors of A differ")


@pytest.mark.parametrize(
    ("kind", "vector", "scale_bytes", "operand"),
    [
        ("mxf4", "scale_vec::2X", (1, 0), "1 as the first byte of 2 scale factors of A"),
        ("mxf4nvf4", "scale_vec::4X", (0, 2), "2 as the first byte of 4 scale factors of B"),
    ],
)
def test_scale_factors_begin_at_a_byte_of_their_number(
    kind: str, vector: str, scale_bytes: tuple[int, int], operand: str
) -> None:
    """PTX ISA, "Scale Factor A Layout": SFA_ID is 0 or 2 with two factors, and 0 with four."""
    wrong = encode(kind, 128, 32, "e2m1", "e2m1", scale_bytes=scale_bytes)
    refused(Case(kind, "e2m1", "e2m1", vector=vector, instruction=wrong), "illegal", operand)


def test_the_column_of_scale_factors_must_have_been_written() -> None:
    case = Case("mxf4", "e2m1", "e2m1")
    case.text = case.text.replace("[%t+116]", "[%t+128]")
    refused(case, "uninitialized", "column 128 of tensor memory: never written")


def test_scale_factors_begin_at_lane_0() -> None:
    case = Case("mxf4", "e2m1", "e2m1")
    case.text = case.text.replace("[%t+116]", f"[%t+{116 + (32 << 16)}]")
    refused(case, "illegal", "the scale factors of B begin at lane 32")


def test_sums_are_no_scale_factors() -> None:
    """The second product reads the columns of the first one's sums."""
    case = Case("mxf4", "e2m1", "e2m1", n=32)
    wrong = case.text.replace("[%t+0]", "[%t+32]").replace("[%t+112]", "[%t+8]")
    case.text += wrong.split("\n", 1)[1]
    refused(
        case, "illegal", "scale factors of A, from column 8 of tensor memory on, what a tcgen05.mma has left"
    )


def test_ptxas_takes_the_forms() -> None:
    """Each form of the grammar that this simulates, in one kernel."""
    descriptor = "[%t], %x0, %x1, %r10"
    from_tmem = "[%t], [%t+96], %x1, %r10"
    lanes = "{%d0, %d1, %d2, %d3}"
    forms = [
        f"tcgen05.mma{stationary}.cta_group::1.kind::{kind}{shift}{collector} {operands}{rest}, %p4{last};"
        for kind in ("f16", "tf32", "f8f6f4", "i8")
        for stationary, shift, collector, operands, rest, last in (
            ("", "", "", descriptor, "", ""),
            ("", "", "", descriptor, f", {lanes}", ", 3" if kind in ("f16", "tf32") else ""),
            ("", "", ".collector::a::fill", from_tmem, f", {lanes}", ""),
            ("", ".ashift", "", from_tmem, "", ""),
            ("", ".ashift", ".collector::a::lastuse", from_tmem, f", {lanes}", ""),
            (".ws", "", "", descriptor, "", ", %x2"),
            (".ws", "", ".collector::b3::lastuse", from_tmem, "", ", %x2"),
        )
    ]
    forms += [
        f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale{vector}.collector::a::use {operands}, [%t], [%t], %p4;"
        for kind, vector in (
            ("mxf8f6f4", ".scale_vec::1X"),
            ("mxf4", ".block32"),
            ("mxf4nvf4", ".scale_vec::4X"),
        )
        for operands in (descriptor, from_tmem)
    ]
    text = kernel("\n  ".join(forms), 8)
    assembled(text, "sm_100a")
    sim.load(text, file="k.ptx")


INVALID = [
    ("tcgen05.mma.cta_group::1.kind::f16.ashift [%t], %x0, %x1, %r10, %p4;", "A in shared memory"),
    ("tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::fill [%t], [%t], %x1, %r10, %p4;", "expected ::lastuse"),
    ("tcgen05.mma.ws.cta_group::1.kind::f16.ashift [%t], [%t], %x1, %r10, %p4;", ".ws does not have"),
    ("tcgen05.mma.ws.cta_group::1.kind::f16 [%t], %x0, %x1, %r10, %p4, %x2, 3;", "operands too many"),
    ("tcgen05.mma.sp.cta_group::1.kind::f16 [%t], %x0, %x1, [%t], %r10, %p4;", "sparse"),
    ("tcgen05.mma.ws.cta_group::2.kind::f16 [%t], %x0, %x1, %r10, %p4;", "needs .cta_group::1"),
    ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X [%t], %x0, %x1, %r10, [%t], [%t], %p4;",
     r"has .kind::mxf8f6f4 with .scale_vec::2X; expected none or .scale_vec::1X or .block32"),
    ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%t], %x0, %x1, %r10, [%t], [%t], %p4;", "scale vector"),
    ("tcgen05.mma.cta_group::1.kind::f16 [%t], %x0, %x1, %r10, %p4, 16;", "0 to 15"),
    ("tcgen05.mma.cta_group::1.kind::f16 [%t], %x0, %x1, %r10, %p4, 1.5;", "0 to 15"),
    ("tcgen05.mma.cta_group::1.kind::i8 [%t], %x0, %x1, %r10, %p4, 1;", "scale-input-d"),
    ("tcgen05.mma.cta_group::1.kind::f16.collector::b0::fill [%t], %x0, %x1, %r10, %p4;", "collector::a"),
    ("tcgen05.mma.cta_group::1.kind::f16 [%t], %x0, %x1, %r10, {%d0, %d1}, %p4;", "disabled lanes"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_what_is_not_supported_is_refused_at_its_line(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        sim.load(kernel(text, 8), file="k.ptx").launch("k", (1,), (128,), [0] * 6)
    line = next(number for number, line in enumerate(kernel(text, 8).splitlines(), 1) if text in line)
    assert f"k.ptx:{line}:" in str(caught.value)


@pytest.mark.parametrize("arch", ["sm_103a", "sm_100f"])
def test_products_of_integers_need_their_feature(arch: str) -> None:
    text = "tcgen05.mma.cta_group::1.kind::i8 [%t], %x0, %x1, %r10, %p4;"
    with pytest.raises(
        DiagnosticError, match=f"kind::i8, which {arch} does not have; expected one of sm_100a"
    ):
        sim.load(kernel(text, 8, arch=arch), file="k.ptx").launch("k", (1,), (128,), [0] * 6)


def test_other_architectures_have_no_tensor_memory() -> None:
    for arch in ("sm_90a", "sm_120a"):
        with pytest.raises(DiagnosticError, match="needs tensor memory"):
            sim.load(kernel("", 8, arch=arch), file="k.ptx").launch("k", (1,), (128,), [0] * 6)
