"""mma.sync: every shape and type against NumPy, with fragments built element by element from the ISA's sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.instructions.matrices import KINDS, a_place, b_place, c_place_mma, collect, distribute
from sim.kernels import kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.layout import atoms
from tessera_tools.sim import fragments
from tessera_tools.sim.instructions.mma import extents
from tessera_tools.sim.instructions.mma_runs import Run
from tessera_tools.sim.products import fma_chain, multiply_accumulate

DTYPES: dict[str, tuple[Any, Any]] = {
    "f16": (np.float16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
    "s32": (np.int32, np.uint32),
}
BY_TYPE = {
    "f16": ["m16n8k8", "m16n8k16"],
    "bf16": ["m16n8k8", "m16n8k16"],
    "tf32": ["m16n8k4", "m16n8k8"],
    "f64": ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"],
    "s8": ["m8n8k16", "m16n8k16", "m16n8k32"],
    "s4": ["m8n8k32", "m16n8k32", "m16n8k64"],
    "e4m3": ["m16n8k16", "m16n8k32"],
}
PAIRS = {
    "f16": [("f16", "f16")],
    "bf16": [("bf16", "bf16")],
    "tf32": [("tf32", "tf32")],
    "f64": [("f64", "f64")],
    "s8": [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")],
    "s4": [("s4", "s4"), ("s4", "u4"), ("u4", "s4"), ("u4", "u4")],
    "e4m3": [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")],
}
RESULTS = {"f16": ["f32", "f16"], "e4m3": ["f32", "f16"], "f64": ["f64"], "s8": ["s32"], "s4": ["s32"]}
CASES = [
    (shape, a, b, d)
    for family, shapes in BY_TYPE.items()
    for shape in shapes
    for a, b in PAIRS[family]
    for d in RESULTS.get(family, ["f32"])
]


def program(instruction: str, counts: tuple[int, int, int, int], bits: tuple[int, int, int, int]) -> str:
    """Load A, B, C (parameters 0 to 2), run `instruction` on %a, %b, %c, %d, store D (parameter 3)."""
    declared = [
        f".reg .b{size} %{name}<{count}>;"
        for name, count, size in zip(("a", "b", "c", "d"), counts, bits, strict=True)
    ]
    lines = [" ".join(declared).replace("%d<", "%z<"), "mov.u32 %r0, %tid.x;"]
    for place, (name, count, size) in enumerate(zip("abcz", counts, bits, strict=True)):
        lines.append(f"mul.wide.u32 %rd10, %r0, {size // 8}; add.s64 %rd{11 + place}, %rd{place}, %rd10;")
        if name != "z":
            lines += [
                f"ld.global.b{size} %{name}{i}, [%rd{11 + place}+{4 * size * i}];" for i in range(count)
            ]
    lines.append(instruction)
    lines += [f"st.global.b{bits[3]} [%rd14+{4 * bits[3] * i}], %z{i};" for i in range(counts[3])]
    text = kernel("\n".join(lines), 4)
    return text.replace("sm_90a", "sm_120a") if "kind::" in instruction else text


def names(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def draw(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.integers(-9, 9, shape).astype(np.int32) if kind == "s32" else rng.standard_normal(shape).astype(
        DTYPES[kind][0]
    )  # fmt: skip


def multiply(
    head: str, shape: str, a: Any, b: Any, c: Any, kinds: tuple[str, str, str, str], **options: Any
) -> Any:
    """Run one mma on patterns A and B and values C; D as values, and the launch's result."""
    kind_a, kind_b, kind_c, kind_d = kinds
    m, n, _k = extents(shape)
    ka, kb = KINDS[kind_a], KINDS[kind_b]
    wide = [max(32, bits) for bits in (ka.bits, kb.bits)]
    size_c, size_d = (np.dtype(DTYPES[kind][0]).itemsize * 8 for kind in (kind_c, kind_d))
    words_a = distribute(a, a.size // 32, ka.bits, lambda lane, i: a_place(m, ka.bits, lane, i))
    words_b = distribute(b, b.size // 32, kb.bits, lambda lane, i: b_place(kb.bits, lane, i))
    words_c = distribute(c.view(DTYPES[kind_c][1]), c.size // 32, size_c, c_place_mma)
    count_d = m * n * size_d // (32 * max(32, size_d))
    counts = len(words_a), len(words_b), len(words_c), count_d
    operands = ", ".join(
        names(name, count) for name, count in zip("zabc", (counts[3], *counts[:3]), strict=True)
    )
    text = program(f"{head} {operands};", counts, (wide[0], wide[1], max(32, size_c), max(32, size_d)))
    out = np.zeros((count_d, 32), f"<u{max(32, size_d) // 8}")
    result, arrays = run(text, words_a, words_b, words_c, out, **options)
    return collect(arrays[3], (m, n), size_d, c_place_mma).view(DTYPES[kind_d][0]), result


def check(found: Any, expected: Any, kind: str) -> None:
    if kind == "s32":
        assert np.array_equal(found, expected.astype(np.int64).astype(np.int32))
    else:
        bits = {"f16": 11, "f32": 24, "f64": 52}[kind]
        assert np.abs(found.astype(np.float64) - expected).max() <= np.abs(expected).max() * 2.0 ** (1 - bits)


@pytest.mark.parametrize(("shape", "a", "b", "d"), CASES)
def test_every_shape_and_type(shape: str, a: str, b: str, d: str):
    rng = np.random.default_rng(len(shape) + ord(a[0]))
    m, n, k = extents(shape)
    left, right = KINDS[a].draw(rng, (m, k)), KINDS[b].draw(rng, (k, n))
    c = draw(d, rng, (m, n))
    found, result = multiply(
        f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}", shape, left, right, c, (a, b, d, d), stats=True
    )
    assert not result.findings
    assert result.stats.flops["mma.sync"] == 2 * m * n * k
    check(found, KINDS[a].value(left) @ KINDS[b].value(right) + c.astype(np.float64), d)


@pytest.mark.parametrize("a", ["e3m2", "e2m3", "e2m1", "e4m3"])
@pytest.mark.parametrize("b", ["e3m2", "e2m1", "e5m2"])
@pytest.mark.parametrize("d", ["f32", "f16"])
def test_narrow_floats(a: str, b: str, d: str):
    rng = np.random.default_rng(5)
    left, right, c = KINDS[a].draw(rng, (16, 32)), KINDS[b].draw(rng, (32, 8)), draw(d, rng, (16, 8))
    head = f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}"
    found, _ = multiply(head, "m16n8k32", left, right, c, (a, b, d, d))
    check(found, KINDS[a].value(left) @ KINDS[b].value(right) + c.astype(np.float64), d)


@pytest.mark.parametrize("operation", ["xor", "and"])
@pytest.mark.parametrize("shape", ["m8n8k128", "m16n8k128", "m16n8k256"])
def test_single_bits(shape: str, operation: str):
    rng = np.random.default_rng(3)
    m, n, k = extents(shape)
    left, right, c = KINDS["b1"].draw(rng, (m, k)), KINDS["b1"].draw(rng, (k, n)), draw("s32", rng, (m, n))
    head = f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{operation}.popc"
    found, _ = multiply(head, shape, left, right, c, ("b1", "b1", "s32", "s32"))
    combine = np.bitwise_xor if operation == "xor" else np.bitwise_and
    expected = combine(left[:, :, None], right[None]).sum(axis=1, dtype=np.int64) + c
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("d", "c"), [("f16", "f16"), ("f32", "f32"), ("f32", "f16")])
@pytest.mark.parametrize("layouts", ["row.row", "row.col", "col.row", "col.col"])
def test_m8n8k4_of_f16_is_one_product_for_each_quad_pair(layouts: str, d: str, c: str):
    rng = np.random.default_rng(8)
    a = rng.standard_normal((4, 8, 4)).astype(np.float16)
    b = rng.standard_normal((4, 4, 8)).astype(np.float16)
    start = draw(c, rng, (32, 8)).reshape(4, 8, 8)
    rows_a, rows_b = (layout == "row" for layout in layouts.split("."))

    def spread(matrix: Any, place: Any, count: int) -> Any:
        lanes = [[matrix[lane // 4 % 4][place(lane, i)] for i in range(count)] for lane in range(32)]
        return np.ascontiguousarray(np.ascontiguousarray(np.array(lanes)).view(np.uint32).T)

    high = lambda lane: 4 if lane >= 16 else 0  # noqa: E731
    place_a = (
        (lambda lane, i: (lane % 4 + high(lane), i))
        if rows_a
        else (lambda lane, i: (i + high(lane), lane % 4))
    )
    place_b = (
        (lambda lane, i: (lane % 4, i + high(lane)))
        if rows_b
        else (lambda lane, i: (i, lane % 4 + high(lane)))
    )
    place_c = {
        "f16": lambda lane, i: (lane % 4 + high(lane), i),
        "f32": lambda lane, i: ((lane & 1) + (i & 2) + high(lane), (i & 4) + (lane & 2) + (i & 1)),
    }
    words_c, count_d = spread(start, place_c[c], 8), 4 if d == "f16" else 8
    counts = (2, 2, len(words_c), count_d)
    operands = ", ".join(
        names(name, count) for name, count in zip("zabc", (count_d, *counts[:3]), strict=True)
    )
    text = program(f"mma.sync.aligned.m8n8k4.{layouts}.{d}.f16.f16.{c} {operands};", counts, (32,) * 4)
    out = np.zeros((count_d, 32), np.uint32)
    result, arrays = run(text, spread(a, place_a, 4), spread(b, place_b, 4), words_c, out)
    assert not result.findings
    lanes = np.ascontiguousarray(arrays[3].T).view(DTYPES[d][0])
    expected = a.astype(np.float64) @ b.astype(np.float64) + start.astype(np.float64)
    for lane in range(32):
        for i in range(8):
            wanted = expected[lane // 4 % 4][place_c[d](lane, i)]
            assert abs(float(lanes[lane, i]) - wanted) <= 2.0 ** (-9 if d == "f16" else -21)


@pytest.mark.parametrize("satfinite", [True, False])
def test_integers_saturate_or_wrap(satfinite: bool):
    left, right = np.full((16, 32), 127, np.uint8), np.full((32, 8), 127, np.uint8)
    c = np.full((16, 8), 2**31 - 10, np.int32)
    head = "mma.sync.aligned.m16n8k32.row.col" + ".satfinite" * satfinite + ".s32.s8.s8.s32"
    found, _ = multiply(head, "m16n8k32", left, right, c, ("s8", "s8", "s32", "s32"))
    total = 2**31 - 10 + 32 * 127 * 127
    assert (found == (2**31 - 1 if satfinite else total - 2**32)).all()


def test_nan_is_canonical():
    left, right = np.full((16, 16), 0xFE00, np.uint16), np.full((16, 8), 0x3C00, np.uint16)
    head = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    kinds = ("f16", "f16", "f32", "f32")
    found, _ = multiply(head, "m16n8k16", left, right, np.zeros((16, 8), np.float32), kinds)
    assert (found.view(np.uint32) == 0x7FFFFFFF).all()


def test_the_sum_goes_over_k_in_order_in_float64():
    rng = np.random.default_rng(11)
    for m, n, k in ((16, 8, 16), (8, 8, 4), (16, 256, 32)):
        a, b, c = rng.standard_normal((k, m)), rng.standard_normal((k, n)), rng.standard_normal((m, n))
        expected = c.copy()
        for step in range(k):
            expected += a[step][:, None] * b[step][None]
        assert np.array_equal(multiply_accumulate(a, b, c), expected)


def test_f64_is_a_chain_of_fused_multiply_adds():
    a = np.array([[1 + 2.0**-30], [1.0]])
    assert fma_chain(a, a * [[1], [0]], np.array([[-1 - 2.0**-29]])) == 2.0**-60


@pytest.mark.parametrize(
    ("found", "expected"),
    [(fragments.mma_a(16, 256 // bits, 32 // bits), atoms.mma_a(bits)) for bits in (4, 8, 16, 32)]
    + [(fragments.mma_a(16, 128 // bits, 32 // bits), atoms.mma_a(bits, 128 // bits)) for bits in (4, 8, 16)]
    + [(fragments.mma_b(256 // bits, 8, 32 // bits), atoms.mma_b(bits)) for bits in (4, 8, 16, 32)]
    + [(fragments.mma_a(16, 4, 1), atoms.mma_a(64)), (fragments.mma_b(4, 8, 1), atoms.mma_b(64))]
    + [(fragments.accumulator(16, 8, packed), atoms.mma_accumulator()) for packed in (1, 2)],
)
def test_the_fragments_are_those_of_the_compilers_layouts(found: fragments.Fragment, expected: Any):
    assert found.shape == tuple(size for _, size in expected.outs)
    count, _, packed = found.scatter.shape
    for register in range(count * packed):
        for lane in range(32):
            place = expected.apply({"register": register, "lane": lane})
            flat = found.scatter[register // packed, lane, register % packed]
            assert flat == place["row"] * found.shape[1] + place["col"]


@pytest.mark.parametrize("n", [8, 64, 256])
def test_the_wgmma_accumulator_is_that_of_the_compilers_layouts(n: int):
    expected, found = atoms.wgmma_accumulator_atom(n), fragments.wgmma_accumulator(n, 1)
    for register in range(n // 2):
        for lane in range(32):
            for warp in range(4):
                place = expected.apply({"register": register, "lane": lane, "warp": warp})
                assert found.scatter[register, lane, 0] == (place["row"] - 16 * warp) * n + place["col"]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32", "has .m16n8k4 with .f16"),
        ("mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32", "expected .row.col"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", "multiplies .f16 by .bf16"),
        ("mma.sync.aligned.m16n8k16.row.col.s32.f16.f16.s32", "has D of .s32"),
        ("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", "only integers"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32", "without .kind::f8f6f4"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "has 1 registers for A"),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sparse"),
        ("mma.sync.m16n8k16.row.col.f32.f16.f16.f32", "needs .aligned"),
    ],
)
def test_what_is_no_mma_is_refused(head: str, message: str):
    text = kernel(f".reg .b32 %a<4>; {head} {{%a0}}, {{%a0}}, {{%a0}}, {{%a0}};")
    with pytest.raises(DiagnosticError, match=message):
        sim.load(text, file="k.ptx")


def test_half_a_warp_cannot_multiply():
    head = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    kinds = ("f16", "f16", "f32", "f32")
    zeros = np.zeros((16, 8), np.uint16), np.zeros((8, 8), np.uint16), np.zeros((16, 8), np.float32)
    _, result = multiply(head, "m16n8k8", *zeros, kinds, block=(16,))
    assert result.findings.kinds() == {"illegal"}


def mma(d: int, a: int, b: int, c: int) -> str:
    """A product of the registers from %r`d` = %r`a` · %r`b` + %r`c` on."""
    parts = f"{{%r{d}, %r{d + 1}}}, {{%r{a}, %r{a + 1}}}, {{%r{b}}}, {{%r{c}, %r{c + 1}}}"
    return f"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {parts};"


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        (mma(0, 4, 6, 8) + mma(2, 4, 7, 8) + mma(10, 4, 7, 8), [3]),
        (mma(0, 4, 6, 8) + mma(2, 0, 6, 8), []),
        (mma(0, 4, 6, 8) + mma(2, 4, 1, 8), []),
        (mma(0, 4, 6, 8) + mma(0, 4, 6, 0), []),
        (mma(0, 4, 6, 8) + "L: " + mma(2, 4, 6, 8), []),
        (mma(0, 4, 6, 8) + "mov.u32 %r12, 0;" + mma(2, 4, 6, 8), []),
        (mma(0, 4, 6, 8) + "@%p0 " + mma(2, 4, 6, 8), []),
        (mma(0, 4, 6, 8) + mma(2, 4, 6, 8) + "wgmma.fence.sync.aligned;", []),
        (mma(0, 4, 6, 8) + mma(1, 4, 6, 8), []),
    ],
)
def test_mmas_that_need_nothing_of_each_other_are_computed_at_once(
    monkeypatch: pytest.MonkeyPatch, body: str, runs: list[int]
) -> None:
    """They follow each other, no code jumps between them, and no wgmma is watched."""
    found: list[int] = []
    execute = Run.execute

    def watched(self: Run, registers: Any) -> int:
        found.append(len(self))
        return execute(self, registers)

    monkeypatch.setattr(Run, "execute", watched)
    clear = "setp.ne.u32 %p0, 0, 0;" + "".join(f"mov.u32 %r{n}, 0;" for n in range(13))
    result, _ = run(kernel(clear + body, 0))
    assert found == runs
    assert result.instructions == body.count(";") + 13 + 2
