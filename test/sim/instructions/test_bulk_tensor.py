"""Tensor copies against brute force: boxes, strides, edges, swizzles, im2col, element types, reductions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from sim.kernels import HEADER, REGISTERS

from tessera_tools import sim
from tessera_tools.sim.tensor_map import TensorMap

DTYPES: dict[str, Any] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.uint16, "tf32": np.float32,
}  # fmt: skip

LOAD = """
  mov.u32 %r0, bar; mov.u32 %r1, s;
  mbarrier.init.shared::cta.b64 [%r0], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd20, [%r0], {expected};
  cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes
    [%r1], [map, {{{place}}}], [%r0]{offsets};
AGAIN: mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd20; @!%p0 bra AGAIN;
  mov.u32 %r2, 0;
COPY: add.u32 %r3, %r1, %r2; ld.shared.u8 %h0, [%r3];
  cvt.u64.u32 %rd3, %r2; add.s64 %rd4, %rd0, %rd3; st.global.u8 [%rd4], %h0;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, {total}; @%p0 bra COPY;
"""
STORE = """
  mov.u32 %r1, s; mov.u32 %r2, 0;
COPY: add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd3, %r2; add.s64 %rd4, %rd0, %rd3; ld.global.u8 %h0, [%rd4];
  st.shared.u8 [%r3], %h0;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, {total}; @%p0 bra COPY;
  fence.proxy.async.shared::cta;
  {operation} [map, {{{place}}}], [%r1];
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
"""


def module(body: str) -> sim.Module:
    text = f"""{HEADER}.shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 p0) {{{REGISTERS}
  ld.param.u64 %rd0, [p0];
{body}
  ret;
}}"""
    return sim.load(text.replace("[map,", "[%rd10,").replace("ld.param.u64 %rd0", "mov.b64 %rd11, map; "
                    "cvta.param.u64 %rd10, %rd11; ld.param.u64 %rd0"))  # fmt: skip


def load(made: Any, tensor: Any, place: tuple[int, ...], total: int, expected: int, **more: Any) -> Any:
    """The shared bytes that a load of a box leaves; `made(buffer)` gives the map."""
    rank = more.pop("rank", len(place))
    body = LOAD.format(
        rank=rank, mode=more.get("mode", "tile"), place=", ".join(map(str, place)), total=total,
        expected=expected, offsets=more.get("offsets", ""),
    )  # fmt: skip
    loaded = module(body)
    buffer = loaded.memory.allocate(tensor, "tensor")
    out = loaded.memory.allocate(np.zeros(total, np.uint8), "out")
    result = loaded.launch("k", (1,), (1,), [made(buffer), out], max_instructions=1_000_000)
    return result, out.array()


def swizzle(at: int, mode: str) -> int:
    """PTX ISA, "Swizzling modes": 16-byte chunks of a row change places by the number of the 128-byte line, or pairs of
    chunks."""
    line, chunk = at // 128, at // 16
    if mode == "128B_atom_32B":
        pair = at // 32
        return (pair // 4 * 4 + (pair % 4 ^ line % 4)) * 32 + at % 32
    if mode == "128B":
        chunk = chunk // 8 * 8 + (chunk % 8 ^ line % 8)
    elif mode == "64B":
        chunk = chunk // 4 * 4 + (chunk % 4 ^ line % 4)
    elif mode == "32B":
        chunk = chunk // 2 * 2 + (chunk % 2 ^ line % 2)
    return chunk * 16 + at % 16


def boxed(
    tensor: Any, place: tuple[int, ...], box: tuple[int, ...], steps: tuple[int, ...], fill: Any
) -> list[Any]:
    """The elements of a box, one by one; dimensions innermost first."""
    found: list[Any] = []
    counts = [
        -(-extent // (step if axis else 1))
        for axis, (extent, step) in enumerate(zip(box, steps, strict=True))
    ]
    for index in product(*(range(count) for count in reversed(counts))):
        at = [
            p + i * (s if n else 1)
            for n, (p, i, s) in enumerate(zip(place, reversed(index), steps, strict=True))
        ]
        inside = all(0 <= a < extent for a, extent in zip(at, reversed(tensor.shape), strict=True))
        found.append(tensor[tuple(reversed(at))] if inside else fill)
    return found


CASES = [
    ("u8", (64,), (32,), (5,), (1,)),
    ("u16", (64,), (32,), (-3,), (1,)),
    ("f32", (24, 10), (8, 4), (-2, 8), (1, 1)),
    ("f64", (24, 10), (4, 5), (22, -1), (1, 2)),
    ("s64", (6, 5, 4), (4, 3, 2), (3, 3, 3), (1, 1, 1)),
    ("s32", (8, 5, 4, 3), (4, 4, 2, 3), (6, -1, 1, 1), (1, 3, 1, 2)),
    ("bf16", (16, 3, 4, 3, 2), (8, 2, 2, 3, 2), (4, 2, -1, 1, 1), (1, 1, 1, 1, 1)),
    ("u64", (4, 3, 4, 3, 2), (2, 2, 2, 2, 2), (0, 0, 3, 2, -1), (1, 1, 1, 1, 1)),
]


@pytest.mark.parametrize(("type", "dims", "box", "place", "steps"), CASES)
def test_a_tile_has_each_element_of_its_box_and_zeros_outside(
    type: str, dims: tuple[int, ...], box: tuple[int, ...], place: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    dtype = np.dtype(DTYPES[type])
    tensor = np.arange(1, np.prod(dims) + 1).astype(dtype).reshape(dims[::-1])
    wanted = np.array(boxed(tensor, place, box, steps, dtype.type(0)), dtype)

    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map(type, buffer, dims, box, element_strides=steps)

    result, out = load(made, tensor, place, wanted.nbytes, wanted.nbytes)
    assert not result.findings, result.findings.text()
    assert out.view(dtype).tolist() == wanted.tolist()


@pytest.mark.parametrize("mode", ["32B", "64B", "128B", "128B_atom_32B"])
def test_a_swizzle_permutes_the_chunks_of_each_line(mode: str) -> None:
    words = {"32B": 8, "64B": 16}.get(mode, 32)
    tensor = np.arange(16 * words, dtype=np.uint32).reshape(16, words)

    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map("u32", buffer, (words, 16), (words, 16), swizzle=mode)

    result, out = load(made, tensor, (0, 0), tensor.nbytes, tensor.nbytes)
    assert not result.findings
    plain = tensor.view(np.uint8).reshape(-1)
    assert all(out[swizzle(at, mode)] == plain[at] for at in range(tensor.nbytes))


def test_outside_elements_are_nan_on_request() -> None:
    tensor = np.ones((4, 8), np.float16)

    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map("f16", buffer, (8, 4), (8, 2), fill="nan")

    _, out = load(made, tensor, (0, 3), 32, 32)
    rows = out.view(np.float16).reshape(2, 8)
    assert (rows[0] == 1).all()
    assert np.isnan(rows[1]).all()


def test_ftz_types_flush_subnormal_numbers() -> None:
    tensor = np.array([1, 1e-40, -1e-40, 2], np.float32)

    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map("f32.ftz", buffer, (4,), (4,))

    _, out = load(made, tensor, (0,), 16, 16)
    assert out.view(np.uint32).tolist() == np.array([1, 0, -0.0, 2], np.float32).view(np.uint32).tolist()


ROUNDED = {
    "below the middle": (0x3F800FFF, 0x3F800000),
    "the middle, to even": (0x3F801000, 0x3F800000),
    "the middle, from odd": (0x3F803000, 0x3F804000),
    "above the middle": (0x3F801001, 0x3F802000),
    "into the exponent": (0x3FFFFFFF, 0x40000000),
    "the largest number": (0xFF7FFFFF, 0xFF800000),
    "infinity": (0x7F800000, 0x7F800000),
    "a NaN": (0x7F800001, 0x7F800001),
    "the largest NaN": (0xFFFFFFFF, 0xFFFFFFFF),
    "a subnormal number": (0x00001800, 0x00002000),
}


@pytest.mark.parametrize("number", ROUNDED)
def test_tf32_types_round_to_nearest_even(number: str) -> None:
    before, after = ROUNDED[number]

    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map("tf32", buffer, (4,), (4,))

    _, out = load(made, np.full(4, before, np.uint32), (0,), 16, 16)
    assert out.view(np.uint32).tolist() == [after] * 4


def test_tf32_without_subnormal_numbers() -> None:
    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map("tf32.ftz", buffer, (4,), (4,))

    _, out = load(made, np.array([0x007FFFFF, 0x80001800, 0x00800001, 0x3F801001], np.uint32), (0,), 16, 16)
    assert out.view(np.uint32).tolist() == [0, 0x80000000, 0x00800000, 0x3F802000]


def columns(
    tensor: Any, place: tuple[int, ...], lower: tuple[int, ...], upper: tuple[int, ...],
    steps: tuple[int, ...], shift: tuple[int, ...], channels: int, pixels: int,
) -> Iterator[list[Any]]:  # fmt: skip
    """im2col, from the convolution's side: all base pixels of all images in order, from the given one on."""
    extents = tensor.shape[::-1]
    spatial = len(lower)
    axes = [
        range(lower[n], extents[1 + n] + upper[n], steps[1 + n]) for n in range(spatial)
    ]  # base positions of each axis
    order = [(n, *reversed(p)) for n in range(extents[-1] + 9) for p in product(*reversed(axes))]
    start = order.index((place[-1], *place[1:-1]))
    for image, *base in order[start : start + pixels]:
        at = [b + s for b, s in zip(base, shift, strict=True)]
        inside = all(0 <= a < extents[1 + n] for n, a in enumerate(at)) and image < extents[-1]
        for channel in range(place[0], place[0] + channels):
            good = inside and channel < extents[0]
            yield tensor[(image, *reversed(at), channel)] if good else 0


@pytest.mark.parametrize(
    ("shape", "place", "lower", "upper", "steps", "shift"),
    [
        ((2, 9, 8), (0, -1, 0), (-1,), (-1,), (1, 1, 1), (2,)),
        ((2, 5, 6, 8), (4, 1, 2, 0), (-1, -1), (-1, -1), (1, 1, 1, 1), (1, 2)),
        ((2, 7, 8, 8), (0, 1, -1, 1), (-1, -1), (-1, -2), (1, 2, 2, 1), (2, 0)),
        ((2, 3, 4, 5, 8), (0, 0, 1, -1, 0), (-1, 0, -1), (-1, -2, -1), (1, 1, 1, 1, 1), (0, 2, 1)),
    ],
)
def test_im2col_walks_the_pixel_box(
    shape: tuple[int, ...], place: tuple[int, ...], lower: tuple[int, ...], upper: tuple[int, ...],
    steps: tuple[int, ...], shift: tuple[int, ...],
) -> None:  # fmt: skip
    tensor = np.arange(1, np.prod(shape) + 1, dtype=np.int32).reshape(shape)
    wanted = np.array(list(columns(tensor, place, lower, upper, steps, shift, 4, 24)), np.int32)

    def made(buffer: sim.Buffer) -> bytes:
        dims = shape[::-1]
        return sim.tensor_map_im2col("s32", buffer, dims, lower, upper, 4, 24, element_strides=steps)

    offsets = f", {{{', '.join(map(str, shift))}}}"
    result, out = load(made, tensor, place, wanted.nbytes, wanted.nbytes, mode="im2col", offsets=offsets)
    assert not result.findings, result.findings.text()
    assert out.view(np.int32).tolist() == wanted.tolist()


def test_gather4_takes_four_rows_by_number() -> None:
    tensor = np.arange(80, dtype=np.int32).reshape(10, 8)

    def made(buffer: sim.Buffer) -> bytes:
        return sim.tensor_map("s32", buffer, (8, 10), (4, 1))

    result, out = load(made, tensor, (2, 7, 0, 12, 3), 64, 64, mode="tile::gather4", rank=2)
    assert not result.findings, result.findings.text()
    rows = out.view(np.int32).reshape(4, 4)
    assert rows.tolist() == [
        tensor[7, 2:6].tolist(),
        tensor[0, 2:6].tolist(),
        [0] * 4,
        tensor[3, 2:6].tolist(),
    ]


def store(made: Any, target: Any, tile: Any, place: tuple[int, ...], operation: str) -> Any:
    raw = np.ascontiguousarray(tile).view(np.uint8).reshape(-1)
    loaded = module(STORE.format(total=raw.nbytes, place=", ".join(map(str, place)), operation=operation))
    buffer = loaded.memory.allocate(target, "tensor")
    result = loaded.launch(
        "k", (1,), (1,), [made(buffer), loaded.memory.allocate(raw)], max_instructions=1_000_000
    )
    return result, buffer.array()


def test_a_store_leaves_out_what_is_outside() -> None:
    target = np.zeros((3, 6, 8), np.int32)
    tile = np.arange(1, 33, dtype=np.int32).reshape(2, 4, 4)
    operation = "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
    result, out = store(
        lambda buffer: sim.tensor_map("s32", buffer, (8, 6, 3), (4, 4, 2)),
        target,
        tile,
        (-1, 4, 2),
        operation,
    )
    assert not result.findings, result.findings.text()
    target[2, 4:6, 0:3] = tile[0, 0:2, 1:4]
    assert out.tolist() == target.tolist()


@pytest.mark.parametrize(
    ("name", "type", "function"),
    [
        ("add", "s32", np.add),
        ("min", "s64", np.minimum),
        ("max", "f16", np.maximum),
        ("xor", "u32", np.bitwise_xor),
        ("add", "f64", np.add),
        ("inc", "u32", lambda old, new: np.where(old >= new, 0, old + 1)),
        ("dec", "u32", lambda old, new: np.where((old == 0) | (old > new), new, old - 1)),
    ],
)
def test_a_reduction_combines_what_is_there_with_the_tile(name: str, type: str, function: Any) -> None:
    random = np.random.default_rng(3)
    dtype = DTYPES[type]
    target, tile = (random.integers(0, 9, shape).astype(dtype) for shape in ((8, 16), (4, 16)))
    operation = f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{name}.tile.bulk_group"
    result, out = store(
        lambda buffer: sim.tensor_map(type, buffer, (16, 8), (16, 4)), target, tile, (0, 2), operation
    )
    assert not result.findings, result.findings.text()
    wanted = target.copy()
    wanted[2:6] = function(target[2:6], tile)
    assert out.tolist() == wanted.tolist()


def test_a_tensor_larger_than_its_allocation_is_out_of_bounds() -> None:
    tensor = np.zeros((4, 8), np.float32)
    result, _ = load(lambda b: sim.tensor_map("f32", b, (8, 8), (8, 8)), tensor, (0, 0), 256, 256)
    assert "out-of-bounds" in result.findings.kinds()


def test_bytes_that_do_not_match_expect_tx_deadlock_and_say_how_many_are_missing() -> None:
    tensor = np.zeros((4, 8), np.float32)
    result, _ = load(lambda b: sim.tensor_map("f32", b, (8, 4), (8, 4)), tensor, (0, 0), 128, 160)
    mismatch, finding = result.findings
    assert mismatch.kind == "mbarrier"
    assert "expect_tx announced 160 bytes" in mismatch.message and "transferred 128:" in mismatch.message
    assert finding.kind == "deadlock"
    assert "phase 0 (parity 0) is incomplete: 0 of 1 arrivals and 32 bytes missing" in finding.notes[0]


def test_a_stride_of_0_repeats_a_row() -> None:
    tensor = np.arange(8, dtype=np.float32)
    result, out = load(
        lambda b: sim.tensor_map("f32", b, (8, 4), (8, 4), strides=(0,)), tensor, (0, 0), 128, 128
    )
    assert not result.findings, result.findings.text()
    assert np.asarray(out).view(np.float32)[:32].tolist() == [*range(8)] * 4


def _interleaved(kind: str, **changed: Any) -> dict[str, Any]:
    """Arguments of a tensor map of rank 3 with an interleave."""
    found = {"dims": (16, 8, 4), "box": (8, 1, 1), "strides": (64, 1024), "interleave": kind, **changed}
    return found if "box" in changed else {**found, "swizzle": "32B"}


def test_bytes_that_are_no_tensor_map_are_a_finding() -> None:
    result, _ = load(lambda _: bytes(128), np.zeros(4, np.float32), (0,), 16, 16)
    assert "illegal" in result.findings.kinds()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"element": "f33"}, "element type is 'f33'"),
        ({"dims": (8, 0)}, "dimensions"),
        ({"box": (2, 2)}, "multiple of 16"),
        ({"box": (8, 257)}, "1 to 256"),
        ({"strides": (20,)}, "stride of 20"),
        ({"address": 8}, "address 0x8"),
        ({"swizzle": "32B", "box": (16, 2)}, "at most 32"),
        ({"interleave": "16B"}, "rank 2 with an interleave"),
        ({"fill": "nan", "element": "u32"}, "NaN fill"),
        ({"element_strides": (1, 9)}, "1 to 8"),
        ({"element_strides": (1, 0)}, "1 to 8"),
        ({"element_strides": (1,)}, "1 element strides for rank 2"),
        ({"dims": (), "box": (), "strides": ()}, "rank 0"),
        ({"dims": (4,) * 6, "box": (4,) * 6}, "rank 6"),
        ({"dims": (16, (1 << 32) + 1)}, "dimensions"),
        ({"box": (8, 0)}, "1 to 256"),
        ({"box": (8,)}, "1 box dimensions for rank 2"),
        ({"strides": (64, 512)}, "2 strides for rank 2"),
        ({"strides": ()}, "0 strides for rank 2"),
        ({"strides": (1 << 40,)}, "below 2\\^40"),
        ({"strides": (-64,)}, "stride of -64"),
        ({"swizzle": "64B", "box": (32, 2)}, "at most 64"),
        ({"swizzle": "128B", "box": (64, 2)}, "at most 128"),
        ({"swizzle": "48B"}, "swizzle is '48B'"),
        (_interleaved("16B", box=(8, 1, 1)), "a slice of 32 bytes; the interleave has 16"),
        (_interleaved("32B", box=(8, 1, 1)), "needs the 32B swizzle"),
        (_interleaved("32B", address=16), "multiple of 32"),
        (_interleaved("32B", strides=(48, 1024)), "multiple of 32"),
    ],
)
def test_what_the_driver_refuses_is_refused(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"element": "f32", "address": 0, "dims": (16, 8), "box": (8, 4), **arguments}
    with pytest.raises(sim.TensorMapError, match=message):
        sim.tensor_map(
            given.pop("element"), given.pop("address"), given.pop("dims"), given.pop("box"), **given
        )


@pytest.mark.parametrize(("place", "byte"), [(5, 200), (6, 0), (6, 6), (7, 3), (8, 4), (10, 2)])
def test_bytes_that_are_no_tensor_map_are_refused(place: int, byte: int) -> None:
    raw = bytearray(sim.tensor_map("f32", 0, (16, 8), (8, 4)))
    assert TensorMap.decode(bytes(raw)).box == (8, 4)
    raw[place] = byte
    with pytest.raises(sim.TensorMapError, match="a tensor map with element type"):
        TensorMap.decode(bytes(raw))


# -- prefetches of tensor maps


def prefetched(text: str) -> Any:
    """The findings of a kernel that prefetches with %rd10 = &map and %rd0 = a buffer of numbers."""
    loaded = module(f"  {text};\n  cp.async.bulk.prefetch.tensor.1d.L2.global [map, {{%r0}}];")
    buffer = loaded.memory.allocate(np.zeros(64, np.float32), "tensor")
    tensor = sim.tensor_map("f32", buffer, (64,), (64,))
    return loaded.launch("k", (1,), (1,), [tensor, buffer], max_instructions=100).findings


@pytest.mark.parametrize("space", ["", ".param"])
def test_a_prefetch_of_a_tensor_map_has_no_effect(space: str) -> None:
    assert not prefetched(f"mov.u32 %r0, 0; prefetch{space}.tensormap [%rd10]")


@pytest.mark.parametrize(
    ("address", "problem", "severity"),
    [
        ("%rd0", "not a tensor map", "warning"),
        ("%rd10+64", "no tensor map of 128 bytes", "error"),
        ("0", "unmapped memory", "error"),
    ],
)
def test_a_prefetch_of_something_else_is_found(address: str, problem: str, severity: str) -> None:
    """CUTLASS prefetches the map of a matrix that it does not have."""
    (found,) = prefetched(f"mov.u32 %r0, 0; prefetch.tensormap [{address}]")
    assert problem in found.message
    assert found.severity == severity


# -- stores by more than one thread, and stores that outlive their CTA


def stored(
    store: str, *, threads: int = 32, wait: str = "cp.async.bulk.wait_group 0;", mode: str = "late"
) -> tuple[list[tuple[str, str]], list[int]]:
    """The severities and messages of the findings, and the words: each of `threads` executes `store` of 32 words,
    which are 0 to 31; %r3 is the number of the thread."""
    body = f"""mov.u32 %r1, s; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; add.u32 %r4, %r4, %r1;
  st.shared.u32 [%r4], %r3; fence.proxy.async.shared::cta; bar.sync 0;
  mov.u32 %r5, 0; setp.ge.u32 %p0, %r3, {threads}; @%p0 bra DONE;
  {store};
  cp.async.bulk.commit_group; {wait}
DONE:"""
    loaded = module(body)
    buffer = loaded.memory.allocate(np.zeros(64, np.uint32), "tensor")
    tensor = sim.tensor_map("u32", buffer, (64,), (32,))
    result = loaded.launch("k", (1,), (32,), [tensor, buffer], max_instructions=1000, mode=mode)
    return [(one.severity, one.message) for one in result.findings], buffer.array().tolist()


STORES = {
    "of a box": "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {%r5}], [%r1]",
    "of bytes": "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 128",
}


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("store", STORES)
def test_a_store_that_a_warp_starts_with_the_same_operands_happens_once(store: str, mode: str) -> None:
    """ptxas issues it once for the warp, and CUTLASS's epilogues rely on that."""
    ((severity, message),), words = stored(STORES[store], mode=mode)
    assert severity == "warning"
    assert message.endswith("32 threads of the warp start the same copy; elect one (elect.sync)")
    assert words == [*range(32), *[0] * 32]


@pytest.mark.parametrize("store", STORES)
def test_a_store_by_one_thread_has_no_finding(store: str) -> None:
    assert stored(STORES[store], threads=1) == ([], [*range(32), *[0] * 32])


def test_stores_of_a_warp_to_different_places_are_several() -> None:
    store = "and.b32 %r5, %r3, 1; shl.b32 %r5, %r5, 5; " + STORES["of a box"]
    findings, words = stored(store, threads=2)
    assert not findings
    assert words == [*range(32), *range(32)]


def test_a_reduction_that_a_warp_starts_with_the_same_operands_happens_for_each_thread() -> None:
    add = "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [map, {%r5}], [%r1]"
    findings, words = stored(add, threads=4)
    assert not findings
    assert words[:32] == [4 * number for number in range(32)]


def test_a_cta_that_exits_before_its_store_has_read_shared_memory_is_warned() -> None:
    """CUTLASS's kernels for Blackwell do not wait for their last stores."""
    ((severity, message),), words = stored(STORES["of a box"], threads=1, wait="")
    assert severity == "warning"
    assert "exited while" in message and "still reads its shared memory" in message
    assert words[:32] == [*range(32)]


@pytest.mark.parametrize(
    ("element", "box", "copy", "message"),
    [
        ("u32", (4, 2), "3d.L2.global.tile [map, {0, 0, 0}]", ": the tensor map is for 2d tile copies"),
        (
            "u32", (4, 2), "2d.L2.global.tile::gather4 [map, {0, 0, 1, 2, 3}]",
            ": the box has 2 rows; .tile::gather4 needs 1",
        ),
        ("b4x16", (128, 2), "2d.L2.global.tile [map, {8, 0}]", ": coordinate 8 is inside a group of elements"),
    ],
)  # fmt: skip
def test_a_copy_that_does_not_fit_its_map_is_a_finding(
    element: str, box: tuple[int, int], copy: str, message: str
) -> None:
    name = "cp.async.bulk.prefetch.tensor"
    loaded = module(f"{name}.{copy};")
    buffer = loaded.memory.allocate(np.zeros(1024, np.uint32), "tensor")
    made = sim.tensor_map(element, buffer, (128, 4), box)
    result = loaded.launch("k", (1,), (1,), [made, buffer])
    (found,) = result.findings
    assert found.kind == "illegal"
    assert found.message.startswith(f"'{name}.{copy.split(' ', maxsplit=1)[0]}' at PTX line ")
    assert found.message.endswith(message)
